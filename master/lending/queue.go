package lending

import (
	"container/heap"
	"time"
)

// queue is where hosts wait to be lent, by the moment from which on they may be asked. If there is a frontier, it puts
// them here; if hosts share clocks, those whose clock is taken wait in the line of that.
//
// Invariant: a host is ready at most once, or in the line of one clock. A later announcement replaces the earlier.
type queue struct {
	*base
	ready  readyHosts
	index  map[string]*readyHost
	clocks *Clocks              // nil: each host has its own
	sought map[string]time.Time // hosts whose addresses are looked up: from when on they are ready
}

type readyHost struct {
	host string
	at   time.Time
	slot int
}

func newQueue(b *base) queue {
	return queue{base: b, index: map[string]*readyHost{}, clocks: b.o.Clocks, sought: map[string]time.Time{}}
}

// announce takes in a host that may be lent from a moment on: at once, or when its addresses are known. The resolver
// remembers names as long as they hold, so it is asked each time.
func (q *queue) announce(host string, at time.Time) {
	if !q.o.Names {
		q.enter(host, at)
		return
	}
	if _, sought := q.sought[host]; !sought {
		q.send(Names, &Sought{host})
	}
	q.sought[host] = at
}

// identify lets a host be ready under the clocks of its addresses.
func (q *queue) identify(m *Named) {
	at := q.sought[m.Host]
	delete(q.sought, m.Host)
	q.clocks.Know(m.Host, m.Keys)
	if q.o.Frontier != nil {
		q.o.Frontier.Identify(m.Host, m.Keys)
	}
	q.enter(m.Host, at)
}

func (q *queue) enter(host string, at time.Time) {
	if q.o.Frontier != nil {
		q.o.Frontier.Announce(host, at, q.put)
	} else {
		q.put(host, at)
	}
}

// may reports whether there may be a host that can be lent by a moment. It is called for each message of a slave,
// before any slave is looked at.
func (q *queue) may(by time.Time) bool {
	at, ok := q.next()
	return q.o.Frontier != nil || ok && !at.After(by)
}

// grant lets the frontier hand out more; false means that it has nothing now.
func (q *queue) grant() bool { return q.o.Frontier != nil && q.o.Frontier.Grant(q.now, q.put) }

// lend says for how many visits the frontier lends a host, limit at most; 0: there is no frontier.
func (q *queue) lend(host string, limit int) int {
	if q.o.Frontier == nil {
		return 0
	}
	return q.o.Frontier.Lend(host, limit)
}

// close takes back a host whose lease has ended, or never began. It may be asked again at nextAt, and others of its
// clocks at othersAt.
func (q *queue) close(host string, nextAt, othersAt time.Time) {
	q.giveBack(host, othersAt)
	if q.o.Frontier != nil {
		q.o.Frontier.Closed(host, q.now, nextAt)
	}
}

// put says that a host may be lent from a moment on.
func (q *queue) put(host string, at time.Time) {
	if q.clocks != nil {
		delete(q.clocks.wait, host)
	}
	if known := q.index[host]; known != nil {
		later := at.After(known.at)
		known.at = at
		heap.Fix(&q.ready, known.slot)
		if q.clocks != nil && later { // hosts in the lines of its clocks need not wait for it
			for _, key := range q.clocks.Of(host) {
				q.follow(key)
			}
		}
		return
	}
	h := &readyHost{host: host, at: at}
	q.index[host] = h
	heap.Push(&q.ready, h)
}

// take hands out the host that has been ready longest, if one is ready by a moment, with the moment before which its
// clocks, if it shares them, let no host be asked. It holds the clocks until it is given back.
func (q *queue) take(by time.Time) (host string, notBefore time.Time, ok bool) {
	for len(q.ready) > 0 && !q.ready[0].at.After(by) {
		h := heap.Pop(&q.ready).(*readyHost)
		delete(q.index, h.host)
		if q.clocks == nil {
			return h.host, time.Time{}, true
		}
		free, at, waits := q.clocks.may(h.host, by)
		if free {
			q.clocks.hold(h.host)
			return h.host, at, true
		}
		if !waits {
			q.put(h.host, at)
		}
		for _, key := range q.clocks.Of(h.host) { // one of its clocks may be free, and other hosts wait for that
			if waits || q.clocks.next([]string{key}).Before(at) {
				q.follow(key)
			}
		}
	}
	return "", time.Time{}, false
}

// follow lets the next host in the line of a clock try, if the clock is free. If another clock makes that host wait
// longer, those behind it may try, too.
func (q *queue) follow(key string) {
	for {
		host, ok := q.clocks.following(key)
		if !ok {
			return
		}
		at := q.clocks.next(q.clocks.Of(host))
		q.put(host, at)
		if !at.After(q.clocks.next([]string{key})) {
			return
		}
	}
}

// hold takes the clocks of a host that is lent already.
func (q *queue) hold(host string) {
	if q.clocks != nil {
		q.clocks.hold(host)
	}
}

// giveBack says that a host is not lent any more. Hosts that share a clock with it may be asked from a moment on.
func (q *queue) giveBack(host string, at time.Time) {
	if q.clocks == nil {
		return
	}
	for _, key := range q.clocks.release(host, at) {
		q.follow(key)
	}
}

// next is when the next host becomes ready.
func (q *queue) next() (time.Time, bool) {
	if len(q.ready) == 0 {
		return time.Time{}, false
	}
	return q.ready[0].at, true
}

// before counts the hosts that are ready before a moment; those that wait for a shared clock are not.
func (q *queue) before(at time.Time) int {
	n := 0
	for _, h := range q.ready {
		if h.at.Before(at) {
			n++
		}
	}
	return n
}

func (q *queue) count() int {
	n := len(q.ready)
	if q.clocks != nil {
		n += len(q.clocks.wait)
	}
	return n
}

type readyHosts []*readyHost

func (q readyHosts) Len() int           { return len(q) }
func (q readyHosts) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q readyHosts) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}
func (q *readyHosts) Push(x any) {
	h := x.(*readyHost)
	h.slot = len(*q)
	*q = append(*q, h)
}
func (q *readyHosts) Pop() any {
	old := *q
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return h
}
