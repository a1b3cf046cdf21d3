package lending

import (
	"time"

	"henro/messages/speech"
)

// Reasons of a stall.
const (
	stallNoSlave = "no slave"           // none is there that asked for work in the last seconds
	stallBarred  = "slaves are barred"  // for reports that cannot be true
	stallDecline = "slaves decline"     // they do not take on the hosts that they are lent
	stallWaits   = "slaves wait"        // for a reason that they say, such as a full spool
	stallFull    = "slaves are full"    // hosts are ready, and no slave has room
	stallLent    = "lent, no answer"    // hosts are lent, and nothing comes back
	stallResting = "host rests"         // hosts that may not be asked yet
	StallUnready = "host was not ready" // URLs wait, and no Host has reported that it may be asked
)

// Stalled says why a crawl has fetched nothing for a while though URLs wait: how many slaves or hosts there are for
// each reason, and a sentence about the most important one.
func (d *Desk) Stalled(now time.Time, quiet time.Duration, waiting uint64) (map[string]int, speech.Sentence) {
	reasons := map[string]int{}
	present, why := 0, ""
	for _, s := range d.base.ledger.Slaves() {
		known := d.slaves.known[s.Name]
		switch {
		case now.Sub(s.At) >= silentAfter:
			continue
		case known.barred(s.Boot):
			reasons[stallBarred]++
		case known != nil && known.declined >= declinedBorne:
			reasons[stallDecline]++
		case known != nil && known.asked.GetWaits() != "":
			reasons[stallWaits]++
			why = known.asked.Waits
		}
		present++
	}
	if present == 0 {
		reasons[stallNoSlave] = 1
	}
	for _, h := range d.queue.ready {
		if h.at.After(now) {
			reasons[stallResting]++
		} else {
			reasons[stallFull]++
		}
	}
	if n := d.base.ledger.OpenCount(); n > 0 {
		reasons[stallLent] = n
	}
	if len(reasons) == 0 {
		reasons[StallUnready] = 1
	}
	first, _ := d.queue.next()
	switch {
	case present == 0:
		return reasons, speech.Say("nothing was fetched for %s: no slave is there; start henro-slave --join", quiet)
	case reasons[stallBarred] == present:
		return reasons, speech.Say("nothing was fetched for %s: %d slaves are barred, since they reported what "+
			"cannot be; henro nodes names them", quiet, present)
	case reasons[stallWaits] > 0 && reasons[stallBarred]+reasons[stallDecline]+reasons[stallWaits] == present:
		return reasons, speech.Say("nothing was fetched for %s: %d slaves wait: %s", quiet, reasons[stallWaits], why)
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
			reasons[stallResting], first)
	}
	return reasons,
		speech.Say("nothing was fetched for %s: %d URLs wait, and no host says that it may be asked; henro trace "+
			"shows what goes on", quiet, waiting)
}
