package slave

import "sync/atomic"

// window counts what a slave keeps in memory, for its Fetchers to look at before each request. The Slave writes how many facts wait to
// be stored; Fetchers and Parsers write how many responses wait to be parsed.
type window struct {
	facts, responses struct {
		bound int
		count atomic.Int64
	}
}

func newWindow(facts, responses int) *window {
	w := &window{}
	w.facts.bound, w.responses.bound = facts, responses
	return w
}

func (w *window) add(facts int) { w.facts.count.Add(int64(facts)) }
func (w *window) used() int     { return int(w.facts.count.Load()) }
func (w *window) free() int     { return max(0, w.facts.bound-w.used()) }

// filling says that the master should store facts now rather than collect more of them, or the bound will be reached.
func (w *window) filling() bool { return 4*w.used() >= 3*w.facts.bound }

// full says that nothing more may be fetched until facts were stored; what is under way may go beyond the bound by maxAhead pages of
// each lease.
func (w *window) full() bool { return w.used() >= w.facts.bound }

func (w *window) fetched() { w.responses.count.Add(1) }
func (w *window) parsed()  { w.responses.count.Add(-1) }

// behind says that the Parsers have enough to do: a lease with a page among it waits for that page, so that there are at most as many
// more as there are leases.
func (w *window) behind() bool { return int(w.responses.count.Load()) >= w.responses.bound }
