// Package forecast says when a crawl will have ended, and what keeps it from going faster.
//
// A host needs as many cycles of its clock as pages wait there, after the rest that it is in. Hosts that share a clock
// need that one after another. The crawl needs as long as its slowest clock, or, if the slaves have too few
// connections, as long as these take for all requests.
//
// URLs yet to be found are foreseen from how the visits of a host bring ever fewer new URLs: the latest visits fewer
// than those before. As in a graph whose links point anywhere, each further visit is taken to bring the same share
// fewer than the one before, so what is yet to come is a geometric series. The less the yield of visits declines, the
// less the series says, and the less of it counts; if it does not decline, what waits is a lower bound, and is called
// one. (W·(1+g), with g the new URLs of a visit lately and W what waits, was 60 to 300 % too long at a quarter of a web
// of trees, and so was the whole series: there visits bring as many new URLs as ever, until suddenly none are left.)
//
// Invariant: a forecast is a function of what is given to it; it knows no clock.
package forecast

import (
	"math"
	"time"

	"henro/messages/speech"
)

// Host is a host as a forecast needs it.
type Host struct {
	Name    string
	Waiting uint64        // pages that wait for their first visit
	Cycle   time.Duration // from the start of one request to that of the next
	Took    time.Duration // part of Cycle: the time that a request takes
	Rest    time.Duration // until it may be asked
	// of a host that has failed every request: from the end of Rest until its pages are given up; 0: they are not
	GivenUp time.Duration
	Yet     float64 // URLs that it will still find
	Grows   bool    // its visits bring as many new URLs as they did before: more than Yet may come
	Failing bool
	Clock   string // the clock that it shares with other hosts; empty: it has its own
}

// Figures are what is known of a host at one moment.
type Figures struct{ Known, Visited uint64 }

// Add adds the figures of another host.
func (f *Figures) Add(other Figures) {
	f.Known, f.Visited = f.Known+other.Known, f.Visited+other.Visited
}

// grown is the ratio of new URLs a visit, lately to before, above which no end of a host's growth is in sight.
const grown = 0.9

// late is the share of a host's visits that must have come since an earlier moment for the moment to say anything.
const late = 0.25

// Yet foresees how many URLs a host will still find, from its figures of now and of earlier moments: the least that any
// of them says. Before such a moment the host must have been visited, and a quarter of its visits must have come since;
// a moment of which that is not true says nothing. If none says anything, nothing is foreseen.
func Yet(waiting uint64, now Figures, moments ...Figures) (yet float64, grows bool) {
	said := false
	for _, before := range moments {
		if before.Visited == 0 || before.Known == 0 || now.Known < before.Known ||
			float64(now.Visited) <= float64(before.Visited)+late*float64(now.Visited) {
			continue
		}
		y, g := yetSince(waiting, before, now)
		if !said {
			yet, grows, said = y, g, true
		}
		yet, grows = min(yet, y), grows && g
	}
	return yet, grows
}

func yetSince(waiting uint64, before, now Figures) (yet float64, grows bool) {
	a, b := float64(before.Visited), float64(now.Visited-before.Visited)
	found := float64(now.Known - before.Known)
	if found == 0 {
		return 0, false
	}
	decline := found / b / (float64(before.Known-1) / a) // over (a+b)/2 visits; the first URL was found by none
	if decline > grown {
		return 0, true
	}
	next := math.Pow(decline, 2*b/(a+b)) // of what was found, what as many visits more will find
	return (1 - decline) * min(found*next/(1-next), float64(waiting)), false
}

// left is how long the host needs by itself.
func (h *Host) left() time.Duration {
	if h.GivenUp > 0 {
		return h.Rest + h.GivenUp
	}
	return h.Rest + h.work(h.Cycle)
}

// work is how long all pages that it has left take, if one page takes so long.
func (h *Host) work(one time.Duration) time.Duration {
	return time.Duration(min((float64(h.Waiting)+h.Yet)*float64(one), 1<<62))
}

// Crawl is what is known of the rest.
type Crawl struct {
	Connections int           // requests that the slaves have under way at most; 0: no slave takes hosts
	Busy        float64       // part of the connections that is in use
	Most        time.Duration // the crawl ends after so long whatever waits; 0: it does not
}

// Forecast is what is foreseen of a crawl.
type Forecast struct {
	Left     time.Duration `json:"left_ns"`           // until the end
	Endless  bool          `json:"endless,omitempty"` // the crawl revisits: it does not end
	Grows    bool          `json:"grows,omitempty"`   // links are found as fast as they are visited: it may be more
	Host     string        `json:"host,omitempty"`    // the host that needs the longest
	HostLeft time.Duration `json:"host_left_ns,omitempty"`
	// hosts with pages left that share the clock of Host, and its time
	Sharing int `json:"sharing,omitempty"`
	Hosts   int `json:"hosts"` // hosts that have pages left
	// what bounds the pace, in a sentence; nothing: no page waits
	Bound speech.Sentence `json:"bound,omitzero"`
}

// Of foresees the end of a crawl from its hosts that have pages left.
func Of(hosts []Host, c Crawl) *Forecast {
	f := &Forecast{Hosts: len(hosts)}
	var all, cycles time.Duration
	failing, growing := 0, 0
	next := time.Duration(0)
	shared := map[string]*sharing{}
	for i := range hosts {
		h := &hosts[i]
		if left := h.left(); left > f.HostLeft || f.Host == "" {
			f.Host, f.HostLeft = h.Name, left
		}
		if h.GivenUp == 0 {
			all = time.Duration(min(float64(all)+float64(h.work(h.Took)), 1<<62))
			if h.Clock != "" {
				share(shared, h)
			}
		}
		if h.Grows {
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
	for _, s := range shared {
		if s.hosts > 1 && (s.left > f.HostLeft || s.left == f.HostLeft && s.most.Name < f.Host) {
			f.Host, f.HostLeft, f.Sharing = s.most.Name, s.left, s.hosts-1
		}
	}
	f.Left = f.HostLeft
	if c.Connections > 0 {
		f.Left = max(f.Left, all/time.Duration(c.Connections))
	}
	f.Grows = growing > len(hosts)/2
	if c.Most > 0 && c.Most < f.Left {
		f.Left, f.Grows = c.Most, false
	}
	f.Bound = bound(len(hosts), failing, cycles, next, &c)
	return f
}

// sharing are hosts that share a clock.
type sharing struct {
	hosts int
	left  time.Duration // of all of them, one after another
	most  *Host         // the one with most to do
}

func share(shared map[string]*sharing, h *Host) {
	s := shared[h.Clock]
	if s == nil {
		s = &sharing{most: h}
		shared[h.Clock] = s
	}
	s.hosts++
	s.left = time.Duration(min(float64(s.left)+float64(h.work(h.Cycle)), 1<<62))
	if h.work(h.Cycle) > s.most.work(s.most.Cycle) {
		s.most = h
	}
}

// taken is the part of the connections in use from which on all of them are called taken. They are never all in use: a
// host rests for (S/C)·e from the end of a request, where (10) has it rest from the beginning, and between two requests
// its slave has other things to do.
const taken = 0.7

// bound says what keeps the crawl from going faster.
func bound(hosts, failing int, cycles, next time.Duration, c *Crawl) speech.Sentence {
	asked := hosts - failing
	switch {
	case hosts == 0:
		return speech.Sentence{}
	case c.Connections == 0:
		return speech.Say("no slave takes hosts: none is there, or none can archive")
	case asked == 0:
		return speech.Say("all %d hosts with pages left rest after failures, the first for another %s", hosts, next)
	}
	cycle := cycles / time.Duration(asked)
	says := speech.Say("%d hosts have pages left, and each gives one page in %s", asked, cycle)
	switch {
	case c.Busy >= taken && asked > c.Connections:
		says = speech.Say("all %d connections are taken, and %d hosts have pages left: more of them would help",
			c.Connections, asked)
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
	case f.Sharing > 0 && f.HostLeft >= f.Left-f.Left/10:
		return speech.Say("about %s more: %s and %d hosts that share its clock need that", f.Left, f.Host, f.Sharing)
	case f.Hosts > 1 && f.HostLeft >= f.Left-f.Left/10:
		return speech.Say("about %s more: %s alone needs that", f.Left, f.Host)
	}
	return speech.Say("about %s more", f.Left)
}
