// Package forecast says when a crawl will have ended, and what keeps it from going faster.
//
// A host needs what waits there times what its clock takes for one page, after the rest that it is in. The crawl needs
// as long as its slowest host, or, if the slaves have fewer connections than there are hosts, as long as all hosts take
// one after another on those connections. Links yet to be found are foreseen from how many new URLs the latest visits
// of a host brought: with g of them a visit, W waiting pages become W·(1+g), and at most 2W. (W/(1−g), as if g stayed
// as it is, was ten times too long at a quarter of a crawl: g falls while a host is being read.)
//
// Invariant: a forecast is a function of what is given to it; it knows no clock.
package forecast

import (
	"time"

	"henro/messages/speech"
)

// Host is a host as a forecast needs it.
type Host struct {
	Name    string
	Waiting uint64        // pages that wait for their first visit
	Cycle   time.Duration // from the begin of one request to that of the next
	Rest    time.Duration // until it may be asked
	// of a host that fails and was never well: until its pages are given up
	GivenUp time.Duration
	Growth  float64 // g: new URLs that a visit brought of late
	Failing bool
}

// grown is the Growth from which on a host grows without a visible end.
const grown = 0.9

// left is how long the host needs by itself.
func (h *Host) left() time.Duration {
	if h.GivenUp > 0 {
		return h.Rest + h.GivenUp
	}
	return h.Rest + h.work()
}

// work is how long it is asked.
func (h *Host) work() time.Duration {
	pages := float64(h.Waiting) * (1 + min(max(h.Growth, 0), 1))
	return time.Duration(min(pages*float64(h.Cycle), 1<<62))
}

// Crawl is what is known of the rest.
type Crawl struct {
	Slots  int           // hosts that the slaves can ask at once
	Leases int           // hosts that are lent
	Most   time.Duration // the crawl ends after so long whatever waits; 0: it does not
}

// Forecast is what is foreseen of a crawl.
type Forecast struct {
	Left     time.Duration `json:"left_ns"`           // until the end
	Endless  bool          `json:"endless,omitempty"` // the crawl revisits: it does not end
	Grows    bool          `json:"grows,omitempty"`   // links are found as fast as they are visited: it may be more
	Host     string        `json:"host,omitempty"`    // that needs the longest
	HostLeft time.Duration `json:"host_left_ns,omitempty"`
	Hosts    int           `json:"hosts"` // that have pages left
	// what bounds the pace, in a sentence; nothing: no page waits
	Bound speech.Sentence `json:"bound,omitzero"`
}

// Of foresees the end of a crawl from its hosts that have pages left.
func Of(hosts []Host, c Crawl) *Forecast {
	f := &Forecast{Hosts: len(hosts)}
	var all, cycles time.Duration
	failing, growing := 0, 0
	next := time.Duration(0)
	for i := range hosts {
		h := &hosts[i]
		if left := h.left(); left > f.HostLeft || f.Host == "" {
			f.Host, f.HostLeft = h.Name, left
		}
		if h.GivenUp == 0 {
			all = time.Duration(min(float64(all)+float64(h.work()), 1<<62))
		}
		if h.Growth > grown {
			growing++
		}
		if h.Failing && h.Rest > 0 {
			if failing++; next == 0 || h.Rest < next {
				next = h.Rest
			}
			continue
		}
		cycles += h.Cycle
	}
	f.Left = f.HostLeft
	if c.Slots > 0 {
		f.Left = max(f.Left, all/time.Duration(c.Slots))
	}
	f.Grows = growing > len(hosts)/2
	if c.Most > 0 && c.Most < f.Left {
		f.Left, f.Grows = c.Most, false
	}
	f.Bound = bound(len(hosts), failing, cycles, next, &c)
	return f
}

// bound says what keeps the crawl from going faster.
func bound(hosts, failing int, cycles, next time.Duration, c *Crawl) speech.Sentence {
	asked := hosts - failing
	switch {
	case hosts == 0:
		return speech.Sentence{}
	case c.Slots == 0:
		return speech.Say("no slave takes hosts: none is there, or none can archive")
	case asked == 0:
		return speech.Say("all %d hosts with pages left rest after failures, the first for another %s", hosts, next)
	}
	cycle := cycles / time.Duration(asked)
	says := speech.Say("%d hosts have pages left, and each gives one page in %s", asked, cycle)
	switch {
	case c.Leases >= c.Slots && asked > c.Slots:
		says = speech.Say(
			"all %d connections are taken, and %d hosts have pages left: more of them would help",
			c.Slots,
			asked,
		)
	case asked == 1:
		says = speech.Say("one host has pages left, and gives one in %s", cycle)
	}
	if failing > 0 {
		return speech.Say("%s; %d more rest after failures", says, failing)
	}
	return says
}

// Says is the forecast in a sentence.
func (f *Forecast) Says() speech.Sentence {
	switch {
	case f.Endless:
		return speech.Say("it does not end, since it revisits")
	case f.Hosts == 0:
		return speech.Say("nothing waits")
	case f.Grows:
		return speech.Say("at least %s more, and new links are found as fast as pages are visited", f.Left)
	case f.Hosts > 1 && f.HostLeft >= f.Left-f.Left/10:
		return speech.Say("about %s more: %s alone needs that", f.Left, f.Host)
	}
	return speech.Say("about %s more", f.Left)
}
