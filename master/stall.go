package master

import (
	"time"

	"github.com/sirupsen/logrus"

	"henro/messages/speech"
)

// stall is why nothing has been fetched for long, though there is work: what each waiting thing waits for, by count.
type stall struct {
	reportedAt time.Time // when a slave last told of something, or the crawl last began to run
	reasons    map[string]int
	says       speech.Sentence
}

// Reasons of a stall.
const (
	stallNoSlave = "no slave"           // none is known, or none was heard of lately
	stallFull    = "slaves are full"    // hosts are ready, and nobody has room
	stallLent    = "lent, no answer"    // hosts are lent, and nothing comes back
	stallResting = "host rests"         // hosts that may not be asked yet
	stallUnready = "host was not ready" // URLs wait, and no Host has said that it may be asked
)

// fetched notes that something is going on.
func (m *Master) fetched(now time.Time) {
	m.lull.reportedAt = now
	if m.lull.reasons != nil {
		m.log.Info("pages are fetched again")
		m.lull.reasons, m.lull.says = nil, speech.Sentence{}
	}
}

// lookForStall says so once when nothing has been fetched for long though URLs wait, and keeps the reasons up to date.
func (m *Master) lookForStall(now time.Time) {
	switch {
	case m.phase != Running || !m.begun || m.last.Waiting == 0 && m.last.Due == 0:
		m.lull.reportedAt, m.lull.reasons, m.lull.says = now, nil, speech.Sentence{}
		return
	case m.o.StallAfter <= 0 || now.Sub(m.lull.reportedAt) < m.o.StallAfter:
		return
	}
	first := m.lull.reasons == nil
	m.lull.reasons, m.lull.says = m.stallReasons(now)
	if first {
		fields := logrus.Fields{"waiting": m.last.Waiting, "due": m.last.Due, "why": m.lull.says.String()}
		for reason, n := range m.lull.reasons {
			fields[reason] = n
		}
		m.log.WithFields(fields).Warn("nothing is fetched though there is work")
	}
}

// stallReasons counts what waits for what, and says the weightiest in words.
func (m *Master) stallReasons(now time.Time) (map[string]int, speech.Sentence) {
	reasons := map[string]int{}
	heard := 0
	for _, s := range m.ledger.Slaves() {
		if now.Sub(s.At) < silentAfter {
			heard++
		}
	}
	if heard == 0 {
		reasons[stallNoSlave] = 1
	}
	for _, h := range m.ready.queue {
		if h.at.After(now) {
			reasons[stallResting]++
		} else {
			reasons[stallFull]++
		}
	}
	if n := m.ledger.OpenCount(); n > 0 {
		reasons[stallLent] = n
	}
	if len(reasons) == 0 {
		reasons[stallUnready] = 1
	}
	quiet := now.Sub(m.lull.reportedAt).Round(time.Second)
	at, _ := m.ready.next()
	switch {
	case heard == 0:
		return reasons, speech.Say("nothing was fetched for %s: no slave is there; start henro-slave --join", quiet)
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
			"shows what goes on", quiet, m.last.Waiting)
}
