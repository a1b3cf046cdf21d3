package slave

import "sync/atomic"

// window counts the facts that a slave keeps until they are stored. The Slave writes it, its Fetchers look before each request;
// what they have under way may go beyond the bound by maxAhead pages each.
type window struct {
	bound int
	count atomic.Int64
}

func newWindow(bound int) *window { return &window{bound: bound} }

func (w *window) add(n int)  { w.count.Add(int64(n)) }
func (w *window) used() int  { return int(w.count.Load()) }
func (w *window) free() int  { return max(0, w.bound-w.used()) }
func (w *window) full() bool { return w.used() >= w.bound }
