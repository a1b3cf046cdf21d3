package fakeweb

import (
	"math"
	"slices"
	"time"
)

// Life is how hosts and pages come and go, beside the changes of texts.
type Life struct {
	// from when on; before, the web is as it would be without; zero: 2000-01-01, when a synctest bubble begins
	Since time.Time
	// new pages a day and host; the pages above them link to them from the moment they are born; zero: none
	Growth float64
	// Vanishing is the share of leaves that vanish for good, after a time of mean Lifetime (exponential; zero: 100
	// days). Hosts with even numbers answer 410 then, the others 404. Links to them stay.
	Vanishing float64
	Lifetime  time.Duration
	// Outages is the share of hosts that are up and down in turn, for so long each time; down, they refuse connections
	// (on real sockets: reset them). Up zero: 30 days; Down zero: 1 day.
	Outages  float64
	Up, Down time.Duration
}

// step is the mean time between two births on a host.
func (w *Web) step() time.Duration { return time.Duration(float64(24*time.Hour) / w.o.Life.Growth) }

// birth gives the moment at which page n ≥ Pages is born: once in every step, somewhere in it.
func (w *Web) birth(h *Host, n int) time.Time {
	i := n - h.Pages
	r := draw(w.o.Seed, forBirth, uint64(h.Index), uint64(n))
	step := float64(w.step())
	return w.o.Life.Since.Add(time.Duration(step*float64(i) + step*r.unit()))
}

// live counts the pages of a host at a moment.
func (w *Web) live(h *Host, now time.Time) int {
	if w.o.Life.Growth == 0 || h.guest != nil || !now.After(w.o.Life.Since) {
		return h.Pages
	}
	n := h.Pages + int(now.Sub(w.o.Life.Since)/w.step())
	if !w.birth(h, n).After(now) {
		n++
	}
	return n
}

// newborn gives the children of page p that are born in (from, to], with the moments, in order.
func (w *Web) newborn(h *Host, p int, from, to time.Time) []time.Time {
	var list []time.Time
	if w.o.Life.Growth == 0 {
		return nil
	}
	for c, last := max(h.Pages, p*h.Fanout+1), min(w.live(h, to)-1, p*h.Fanout+h.Fanout); c <= last; c++ {
		if at := w.birth(h, c); at.After(from) && !at.After(to) {
			list = append(list, at)
		}
	}
	return list
}

// grown counts the children of page p born so far, and gives the moment of the last birth.
func (w *Web) grown(h *Host, p int, live int) (count int, last time.Time) {
	from, to := max(h.Pages, p*h.Fanout+1), min(live-1, p*h.Fanout+h.Fanout)
	if to < from {
		return 0, time.Time{}
	}
	return to - from + 1, w.birth(h, to)
}

// vanished reports whether page n is gone at a moment.
func (w *Web) vanished(h *Host, n int, now time.Time) bool {
	l := &w.o.Life
	if l.Vanishing == 0 || n == 0 || !h.leaf(n) || h.guest != nil || !now.After(l.Since) {
		return false
	}
	r := draw(w.o.Seed, forDeath, uint64(h.Index), uint64(n))
	return r.chance(l.Vanishing) && now.Sub(l.Since).Seconds() > -math.Log(r.unit())*l.Lifetime.Seconds()
}

// down reports whether a host is in one of its outages.
func (w *Web) down(h *Host, now time.Time) bool {
	l := &w.o.Life
	if l.Outages == 0 || h.guest != nil || !now.After(l.Since) {
		return false
	}
	r := draw(w.o.Seed, forOutage, uint64(h.Index))
	if !r.chance(l.Outages) {
		return false
	}
	cycle := l.Up + l.Down
	phase := time.Duration(r.unit() * float64(cycle))
	return (now.Sub(l.Since)+phase)%cycle >= l.Up
}

// Down reports whether a host refuses its visitors at a moment because of an outage.
func (w *Web) Down(host int, at time.Time) bool {
	h := w.host(host)
	return w.down(&h, at)
}

// modified gives the newest change of a page at or before a moment, in its text or its links.
func (w *Web) modified(h *Host, n int, pr *process, live int, now time.Time) time.Time {
	at := pr.last(now)
	if n >= h.Pages {
		if born := w.birth(h, n); born.After(at) {
			at = born
		}
	}
	if _, born := w.grown(h, n, live); born.After(at) {
		at = born
	}
	return at
}

// edits gives the changes of a page in (from, to], in text or links, in order.
func (w *Web) edits(h *Host, n int, from, to time.Time) []time.Time {
	pr := w.changes(h, n)
	list := pr.list(from, to)
	if born := w.newborn(h, n, from, to); len(born) > 0 {
		list = append(list, born...)
		slices.SortFunc(list, time.Time.Compare)
	}
	return list
}
