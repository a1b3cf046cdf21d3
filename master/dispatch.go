package master

import (
	"container/heap"
	"time"
)

// readyHosts orders the hosts that may be lent by the moment from which on they may.
//
// Invariant: a host is in it at most once, or in the line of one clock; a later word about it replaces the earlier.
type readyHosts struct {
	queue  readyQueue
	index  map[string]*readyHost
	clocks *clocks // nil: each host has its own
}

type readyHost struct {
	host string
	at   time.Time
	slot int
}

func newReadyHosts() *readyHosts { return &readyHosts{index: map[string]*readyHost{}} }

// put says that a host may be lent from a moment on.
func (r *readyHosts) put(host string, at time.Time) {
	if r.clocks != nil {
		delete(r.clocks.wait, host)
	}
	if known := r.index[host]; known != nil {
		later := at.After(known.at)
		known.at = at
		heap.Fix(&r.queue, known.slot)
		if r.clocks != nil && later { // others need not wait for it
			for _, key := range r.clocks.keys(host) {
				r.follow(key)
			}
		}
		return
	}
	h := &readyHost{host: host, at: at}
	r.index[host] = h
	heap.Push(&r.queue, h)
}

// take hands out the host that has been ready longest, if it is ready by now, and the moment before which its clocks,
// if it shares them, let no host be asked. It holds the clocks until it is given back.
func (r *readyHosts) take(by time.Time) (host string, notBefore time.Time, ok bool) {
	for len(r.queue) > 0 && !r.queue[0].at.After(by) {
		h := heap.Pop(&r.queue).(*readyHost)
		delete(r.index, h.host)
		if r.clocks == nil {
			return h.host, time.Time{}, true
		}
		free, at, waits := r.clocks.may(h.host, by)
		if free {
			r.clocks.hold(h.host)
			return h.host, at, true
		}
		if !waits {
			r.put(h.host, at)
		}
		for _, key := range r.clocks.keys(h.host) { // one of its clocks may be free, and others be waiting for that
			if waits || r.clocks.next([]string{key}).Before(at) {
				r.follow(key)
			}
		}
	}
	return "", time.Time{}, false
}

// follow lets the next host in the line of a clock try, if the clock is free; if another of its clocks makes that one
// wait longer than this one would, also those behind it.
func (r *readyHosts) follow(key string) {
	for {
		host, ok := r.clocks.following(key)
		if !ok {
			return
		}
		at := r.clocks.next(r.clocks.keys(host))
		r.put(host, at)
		if !at.After(r.clocks.next([]string{key})) {
			return
		}
	}
}

// hold takes the clocks of a host that is lent already.
func (r *readyHosts) hold(host string) {
	if r.clocks != nil {
		r.clocks.hold(host)
	}
}

// giveBack says that a host is not lent any more: hosts that share a clock with it may be asked from a moment on.
func (r *readyHosts) giveBack(host string, at time.Time) {
	if r.clocks == nil {
		return
	}
	for _, key := range r.clocks.release(host, at) {
		r.follow(key)
	}
}

// next is when the next host becomes ready.
func (r *readyHosts) next() (time.Time, bool) {
	if len(r.queue) == 0 {
		return time.Time{}, false
	}
	return r.queue[0].at, true
}

// before counts the hosts that are ready before a moment; those that wait for a shared clock are not.
func (r *readyHosts) before(at time.Time) int {
	n := 0
	for _, h := range r.queue {
		if h.at.Before(at) {
			n++
		}
	}
	return n
}

func (r *readyHosts) count() int {
	n := len(r.queue)
	if r.clocks != nil {
		n += len(r.clocks.wait)
	}
	return n
}

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
