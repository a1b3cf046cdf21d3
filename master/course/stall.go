package course

import (
	"errors"
	"time"

	"henro/actors/protocol"
	"henro/master/lending"
	"henro/messages/speech"
	"henro/store"
)

// stalls are why nothing is stored, or nothing was fetched for long though there is work.
type stalls struct {
	unstored   map[int]error // by partition: why it cannot store
	unstoredAt time.Time     // since when one of them cannot

	reportedAt time.Time      // when a slave last reported something, or the crawl last began to run
	reasons    map[string]int // of Lending.Stalled; nil: pages are fetched
	says       speech.Sentence
}

// fail notes that a partition cannot store.
func (s *stalls) fail(now time.Time, msg *protocol.StoreStalled) {
	if len(s.unstored) == 0 {
		s.unstoredAt = now
	}
	s.unstored[msg.Partition] = msg.Err
}

// lasting reports that nothing could be stored for longer than the limit; 0 is no limit. For a damaged state nothing is
// waited for.
func (s *stalls) lasting(now time.Time, limit time.Duration) bool {
	return len(s.unstored) > 0 && (s.end() == Damaged || limit > 0 && now.Sub(s.unstoredAt) >= limit)
}

// end is why a crawl ends whose state cannot be written. What is not stored will be fetched again.
func (s *stalls) end() End {
	end := StoreFault
	for _, err := range s.unstored {
		switch {
		case errors.Is(err, store.ErrCorrupt):
			return Damaged
		case errors.Is(err, store.ErrDiskFull) || errors.Is(err, store.ErrTooLarge):
			end = DiskFull
		}
	}
	return end
}

// fetched notes that something is going on, and reports whether it had stalled.
func (s *stalls) fetched(now time.Time) (stalled bool) {
	stalled = s.reasons != nil
	s.reportedAt, s.reasons, s.says = now, nil, speech.Sentence{}
	return stalled
}

// lookForStall logs it once when nothing has been fetched for long though URLs wait, and keeps the reasons up to date.
// If URLs wait and no Host says that it may be asked, the Partitions look once whether these URLs are there.
func (c *Course) lookForStall(waiting uint64, due int) {
	s := &c.stalls
	switch {
	case waiting == 0 && due == 0:
		s.fetched(c.now)
		return
	case c.o.StallAfter <= 0 || c.now.Sub(s.reportedAt) < c.o.StallAfter:
		return
	}
	first, unready := s.reasons == nil, s.reasons[lending.StallUnready]
	s.reasons, s.says = c.desk.Stalled(c.now, c.now.Sub(s.reportedAt).Round(time.Second), waiting)
	if first {
		fields := map[string]any{"waiting": waiting, "due": due, "why": s.says.String()}
		for reason, n := range s.reasons {
			fields[reason] = n
		}
		c.log("warning", "nothing is fetched though there is work", fields)
	}
	if waiting > 0 && s.reasons[lending.StallUnready] > unready {
		c.say(&protocol.WaitingDoubted{})
	}
}
