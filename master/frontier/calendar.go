package frontier

import "time"

// calendar is the time of slots and ranked: steps t = 0, 1, 2, …, T apart at least, and for each residue r of the host
// numbers mod H the step n_r that its next URL gets. A residue's URLs get every second step, so those that wait for r
// are due at
//
//	s, s+2, …, n_r − 2    with t < s
//
// and s is implied by their number: s = n_r − 2·count. The paper keeps B queues, one for each step; the same schedule
// is kept here as H lines of waiting URLs, and for each step the list of the residues whose line has its turn then. A
// residue is in one list only, that of step s, so four lists in a ring are enough; putting a URL in touches one cache
// line and one cell instead of three, and a residue can be put off as a whole when its host is still busy, which loses
// nothing.
//
// The paper's crawler waits until all of step t is fetched before it takes step t+1; one host that takes a minute to
// time out would stop them all. Here only the residues concerned wait: one that is out or resting when its turn comes
// is put off by two steps.
//
// Guarantee: a URL of r handed out at any moment of step t leaves before step t+1 begins, so before τ_(t+1); the next
// one of r leaves in step t+2 or later, at τ_(t+2) ≥ τ_(t+1) + T.
type calendar[L any] struct {
	b        int64         // B
	interval time.Duration // T
	lines    []line[L]     // H of them

	t           int64         // current step
	tau         time.Duration // when it began
	begun       bool          // the first step has begun
	first, last [4]uint32     // residues due in step t, t+1, t+2 at index step mod 4, as index + 1
	waiting     int
	stats       Stats
}

// line is one residue r.
type line[L any] struct {
	n     int64  // n_r: step of the next URL to be added
	count uint32 // URLs that wait
	head  uint32 // index of the first of them, for a store that is a ring
	link  uint32 // the next residue in the list of its step, as index + 1
	due   bool   // in the list of a step
	out   bool   // handed out, until done
	store L      // where they wait; here so that what Add needs lies in 48 neighbouring bytes

	clock
}

func newCalendar[L any](o Options) calendar[L] {
	c := calendar[L]{b: int64(o.SlotsB), interval: o.Interval, lines: make([]line[L], o.SlotsH)}
	for r := range c.lines {
		c.lines[r].n = int64(r & 1) // n_2j = 0, n_2j+1 = 1
	}
	return c
}

func (c *calendar[L]) residue(host uint64) uint32 { return uint32(host % uint64(len(c.lines))) }

// full reports whether there is no step left for another URL of the residue: n_r ≥ t + B.
func (c *calendar[L]) full(l *line[L]) bool { return l.n >= c.t+c.b }

// book gives the next step to one more URL of residue r.
//
// Line 8 of the paper's algorithm 2, n_r ← t + 1 + ((t and 1) xor (n_r and 1)), is kept, though the text beside it has
// the two cases the other way round. Both keep the guarantee: n_r ≤ t means that the last URL of r had step n_r − 2 ≤ t
// − 2.
func (c *calendar[L]) book(r uint32, l *line[L]) {
	if l.n <= c.t {
		l.n = c.t + 1 + (c.t&1 ^ l.n&1)
	}
	if !l.due {
		c.enlist(r, l, l.n)
	}
	l.n += 2
	l.count++
	c.waiting++
	c.stats.added(c.waiting)
}

// enlist puts a residue into the list of a step, which is t+1 or t+2.
func (c *calendar[L]) enlist(r uint32, l *line[L], step int64) {
	l.due, l.link = true, 0
	at := step & 3
	if c.first[at] == 0 {
		c.first[at] = r + 1
	} else {
		c.lines[c.last[at]-1].link = r + 1
	}
	c.last[at] = r + 1
}

// turn returns the next residue that may be handed out in step t, which it begins if it is time; ok is false when there
// is none.
func (c *calendar[L]) turn(now time.Duration) (l *line[L], ok bool) {
	if c.first[c.t&3] == 0 {
		if c.begun && now < c.tau+c.interval {
			return nil, false
		}
		c.t, c.tau, c.begun = c.t+1, now, true
		c.stats.Steps++
	}
	at := c.t & 3
	for c.first[at] != 0 {
		r := c.first[at] - 1
		l := &c.lines[r]
		c.first[at] = l.link
		l.due = false
		if l.count == 0 { // More took the rest
			continue
		}
		if l.out || l.askAt > now {
			l.n += 2
			c.enlist(r, l, c.t+2)
			c.stats.LateCount++
			continue
		}
		l.out = true
		l.grant(now, c.interval, &c.stats)
		if l.count > 1 {
			c.enlist(r, l, c.t+2)
		}
		return l, true
	}
	return nil, false
}

// left counts a URL that left its line.
func (c *calendar[L]) left(l *line[L]) {
	l.count--
	c.waiting--
	c.stats.HandedCount++
	c.stats.Waiting = c.waiting
}

// Done implements Frontier.
func (c *calendar[L]) Done(host uint64, now, rest time.Duration) {
	l := &c.lines[c.residue(host)]
	if l.out {
		l.out = false
		l.rest(now, rest)
	}
}

// NextAt implements Frontier.
func (c *calendar[L]) NextAt() (time.Duration, bool) {
	switch {
	case c.waiting == 0:
		return 0, false
	case !c.begun || c.first[c.t&3] != 0:
		return 0, true
	}
	return c.tau + c.interval, true
}

// Len implements Frontier.
func (c *calendar[L]) Len() int { return c.waiting }

// Stats implements Frontier.
func (c *calendar[L]) Stats() Stats { return c.stats }
