package master

import (
	"errors"
	"maps"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/protocol"
	"henro/master/ledger"
	"henro/messages/speech"
	"henro/store"
)

// stalls are why nothing is stored, or nothing was fetched for long though there is work.
type stalls struct {
	unstored   map[int]error // by partition: why it cannot store
	unstoredAt time.Time     // since when one cannot

	reportedAt time.Time      // when a slave last reported something, or the crawl last began to run
	reasons    map[string]int // what keeps what from being fetched, by count; nil: nothing does
	says       speech.Sentence
}

// work is what there is to do, for those who look for a stall.
type work struct {
	waiting uint64 // URLs in the frontier; 0 while nothing is to be fetched
	due     int    // known URLs in line
	book    ledger.Ledger
	slaves  slaves
	ready   *readyHosts
}

// fail notes that a partition cannot store.
func (s *stalls) fail(msg *protocol.StoreStalled) {
	if len(s.unstored) == 0 {
		s.unstoredAt = time.Now()
	}
	s.unstored[msg.Partition] = msg.Err
}

// lasting reports that nothing could be stored for as long as a crawl waits; a limit of 0 is none. Waiting does not
// mend a damaged state.
func (s *stalls) lasting(now time.Time, limit time.Duration) bool {
	return len(s.unstored) > 0 && (s.end() == Damaged || limit > 0 && now.Sub(s.unstoredAt) >= limit)
}

// end is the end of a crawl whose state cannot be written: what is not stored will be fetched again.
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

// explain says in a status what is stalled: what cannot be stored before what is not fetched.
func (s *stalls) explain(status *Status) {
	status.Stalled, status.Stalls = s.says, maps.Clone(s.reasons)
	for _, err := range s.unstored {
		status.Stalls, status.Stalled = nil, speech.Say("%s", err.Error())
	}
}

// Reasons of a stall.
const (
	stallNoSlave = "no slave"           // none is known, or none asked for work lately
	stallBarred  = "slaves are barred"  // for reports that cannot be true
	stallDecline = "slaves decline"     // they do not take on the hosts that they are lent
	stallFull    = "slaves are full"    // hosts are ready, and no slave has room
	stallLent    = "lent, no answer"    // hosts are lent, and nothing comes back
	stallResting = "host rests"         // hosts that may not be asked yet
	stallUnready = "host was not ready" // URLs wait, and no Host has reported that it may be asked
)

// fetched notes that something is going on.
func (s *stalls) fetched(now time.Time, log *logrus.Entry) {
	s.reportedAt = now
	if s.reasons != nil {
		log.Info("pages are fetched again")
		s.reasons, s.says = nil, speech.Sentence{}
	}
}

// look says so once when nothing has been fetched for long though URLs wait, and keeps the reasons up to date. When
// URLs wait and there is no reason why they should, doubtful is true, once: they may not be there.
func (s *stalls) look(now time.Time, after time.Duration, w work, log *logrus.Entry) (doubtful bool) {
	switch {
	case w.waiting == 0 && w.due == 0:
		s.reportedAt, s.reasons, s.says = now, nil, speech.Sentence{}
		return false
	case after <= 0 || now.Sub(s.reportedAt) < after:
		return false
	}
	first, unready := s.reasons == nil, s.reasons[stallUnready]
	s.reasons, s.says = w.stalled(now, now.Sub(s.reportedAt).Round(time.Second))
	if first {
		fields := logrus.Fields{"waiting": w.waiting, "due": w.due, "why": s.says.String()}
		for reason, n := range s.reasons {
			fields[reason] = n
		}
		log.WithFields(fields).Warn("nothing is fetched though there is work")
	}
	return w.waiting > 0 && s.reasons[stallUnready] > unready
}

// stalled counts what waits for what, and says the weightiest in words.
func (w work) stalled(now time.Time, quiet time.Duration) (map[string]int, speech.Sentence) {
	reasons := map[string]int{}
	present := 0
	for _, s := range w.book.Slaves() {
		known := w.slaves.known[s.Name]
		switch {
		case now.Sub(s.At) >= silentAfter:
			continue
		case known.barred(s.Boot):
			reasons[stallBarred]++
		case known != nil && known.declined >= declinedBorne:
			reasons[stallDecline]++
		}
		present++
	}
	if present == 0 {
		reasons[stallNoSlave] = 1
	}
	for _, h := range w.ready.queue {
		if h.at.After(now) {
			reasons[stallResting]++
		} else {
			reasons[stallFull]++
		}
	}
	if n := w.book.OpenCount(); n > 0 {
		reasons[stallLent] = n
	}
	if len(reasons) == 0 {
		reasons[stallUnready] = 1
	}
	at, _ := w.ready.next()
	switch {
	case present == 0:
		return reasons, speech.Say("nothing was fetched for %s: no slave is there; start henro-slave --join", quiet)
	case reasons[stallBarred] == present:
		return reasons, speech.Say("nothing was fetched for %s: %d slaves are barred, since they reported what "+
			"cannot be; henro slaves names them", quiet, present)
	case reasons[stallBarred]+reasons[stallDecline] == present:
		return reasons, speech.Say("nothing was fetched for %s: %d slaves do not take on what they are lent", quiet,
			reasons[stallDecline])
	case reasons[stallFull] > 0:
		return reasons, speech.Say("nothing was fetched for %s: %d hosts are ready and no slave has room for them",
			quiet, reasons[stallFull])
	case reasons[stallLent] > 0:
		return reasons, speech.Say("nothing was fetched for %s: %d hosts are lent and do not answer", quiet,
			reasons[stallLent])
	case reasons[stallResting] > 0:
		return reasons, speech.Say("nothing was fetched for %s: all %d hosts rest, the first until %s", quiet,
			reasons[stallResting], at)
	}
	return reasons,
		speech.Say("nothing was fetched for %s: %d URLs wait, and no host says that it may be asked; henro trace "+
			"shows what goes on", quiet, w.waiting)
}
