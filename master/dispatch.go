package master

import (
	"container/heap"
	"time"
)

// readyHosts orders the hosts that may be lent by the moment from which on they may.
//
// Invariant: a host is in it at most once; a later word about it replaces the earlier.
type readyHosts struct {
	queue readyQueue
	index map[string]*readyHost
}

type readyHost struct {
	host string
	at   time.Time
	slot int
}

func newReadyHosts() *readyHosts { return &readyHosts{index: map[string]*readyHost{}} }

// put says that a host may be lent from a moment on.
func (r *readyHosts) put(host string, at time.Time) {
	if known := r.index[host]; known != nil {
		known.at = at
		heap.Fix(&r.queue, known.slot)
		return
	}
	h := &readyHost{host: host, at: at}
	r.index[host] = h
	heap.Push(&r.queue, h)
}

// take hands out the host that has been ready longest, if it is ready by now.
func (r *readyHosts) take(by time.Time) (string, bool) {
	if len(r.queue) == 0 || r.queue[0].at.After(by) {
		return "", false
	}
	h := heap.Pop(&r.queue).(*readyHost)
	delete(r.index, h.host)
	return h.host, true
}

// next is when the next host becomes ready.
func (r *readyHosts) next() (time.Time, bool) {
	if len(r.queue) == 0 {
		return time.Time{}, false
	}
	return r.queue[0].at, true
}

func (r *readyHosts) count() int { return len(r.queue) }

type readyQueue []*readyHost

func (q readyQueue) Len() int           { return len(q) }
func (q readyQueue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q readyQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}
func (q *readyQueue) Push(x any) {
	h := x.(*readyHost)
	h.slot = len(*q)
	*q = append(*q, h)
}
func (q *readyQueue) Pop() any {
	old := *q
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return h
}
