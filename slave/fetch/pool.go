package fetch

import (
	"container/list"
	"sync"
	"time"
)

// pool keeps connections between fetches: of a host as many as were used at once, so many in all, each for so long.
type pool struct {
	max  int
	keep time.Duration

	mu     sync.Mutex
	hosts  map[string]*list.Element // the latest of each host, with those before it behind it
	idle   *list.List               // *connection, longest idle first
	timer  *time.Timer
	closed bool
}

func newPool(o *Options) *pool {
	return &pool{max: o.IdleConnections, keep: o.KeepIdle, hosts: make(map[string]*list.Element), idle: list.New()}
}

// take hands over the connection kept for a host if it is still good, or nil.
func (p *pool) take(host string) *connection {
	c := p.remove(host)
	if c != nil && !c.alive() {
		c.close()
		return nil
	}
	return c
}

func (p *pool) remove(host string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.hosts[host]
	if e == nil {
		return nil
	}
	return p.unlink(e)
}

// unlink takes a connection out of the pool.
func (p *pool) unlink(e *list.Element) *connection {
	c := p.idle.Remove(e).(*connection)
	at := p.hosts[c.host]
	switch {
	case at != e:
		for behind := at.Value.(*connection).earlier; behind != e; behind = at.Value.(*connection).earlier {
			at = behind
		}
		at.Value.(*connection).earlier = c.earlier
	case c.earlier != nil:
		p.hosts[c.host] = c.earlier
	default:
		delete(p.hosts, c.host)
	}
	c.earlier = nil
	return c
}

// put keeps a connection, and closes what is too much.
func (p *pool) put(c *connection) {
	c.idleAt = time.Now()
	p.mu.Lock()
	var surplus *connection
	switch {
	case p.closed || p.max <= 0:
		surplus = c
	default:
		c.earlier = p.hosts[c.host]
		p.hosts[c.host] = p.idle.PushBack(c)
		if p.idle.Len() > p.max {
			surplus = p.unlink(p.idle.Front())
		}
		if p.timer == nil {
			p.timer = time.AfterFunc(p.keep, p.expire)
		}
	}
	p.mu.Unlock()
	if surplus != nil {
		surplus.close()
	}
}

// expire closes what was idle for too long, and comes back for the rest.
func (p *pool) expire() {
	var old []*connection
	p.mu.Lock()
	now := time.Now()
	p.timer = nil
	for e := p.idle.Front(); e != nil && !p.closed; e = p.idle.Front() {
		c := e.Value.(*connection)
		if left := c.idleAt.Add(p.keep).Sub(now); left > 0 {
			p.timer = time.AfterFunc(left, p.expire)
			break
		}
		old = append(old, p.unlink(e))
	}
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	all := p.idle
	p.idle, p.hosts = list.New(), map[string]*list.Element{}
	p.mu.Unlock()
	for e := all.Front(); e != nil; e = e.Next() {
		e.Value.(*connection).close()
	}
}

// alive looks whether a kept connection can carry another request. A socket with something to read has either been
// closed or speaks unasked; both are of no use.
func (c *connection) alive() bool {
	if c.h2 != nil && (c.h2.Err() != nil || c.h2.Available() == 0) {
		return false
	}
	return c.socket == nil || quiet(c.socket)
}
