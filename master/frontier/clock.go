package frontier

import "time"

// clock is the politeness of one unit: from when on it may be asked again. Its zero value may be asked at once.
type clock struct {
	askAt     time.Duration
	grantedAt time.Duration
	granted   bool // at least once
}

// grant starts the interval T at the moment at which a URL of the unit is handed out.
func (c *clock) grant(now, interval time.Duration, s *Stats) {
	if c.granted {
		s.gap(now - c.grantedAt)
	}
	c.granted, c.grantedAt, c.askAt = true, now, now+interval
}

// rest lets the unit alone for a while from now on, and for what is left of T.
func (c *clock) rest(now, rest time.Duration) { c.askAt = max(c.askAt, now+rest) }
