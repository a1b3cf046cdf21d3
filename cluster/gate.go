package cluster

import (
	"strings"
	"sync"
)

// Gate is the set of actor addresses that the gossip holds alive and whose protocol is understood. Messages to others
// become dead letters at once: every dial of a dead address leaks a connection in protoactor's remote, and what is
// queued for it is held in memory for seconds. A nil Gate lets everything through.
//
// A message that is refused while a member is not known yet is no loss: in our protocol everything is sent again until
// answered.
type Gate struct {
	mu sync.RWMutex
	// actor address → holders (gossip names) that are alive there, and whether they may be spoken to
	open    map[string]map[string]bool
	closed  func(address string) // called when the last holder of an address is gone
	doubted func(address string) // called when there is reason to doubt that its holder lives
}

// NewGate returns a gate that lets nothing through yet.
func NewGate() *Gate { return &Gate{open: make(map[string]map[string]bool)} }

// Open reports whether messages to the address pass.
func (g *Gate) Open(address string) bool {
	if g == nil {
		return true
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	return someOpen(g.open[address])
}

// barred reports whether messages from the address are refused, since no member there is understood.
func (g *Gate) barred(address string) bool {
	if g == nil {
		return false
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.open[address]) > 0 && !someOpen(g.open[address])
}

// holds reports whether a member of this name lives at the address.
func (g *Gate) holds(address, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for holder := range g.open[address] {
		if i := strings.LastIndexByte(holder, '.'); i >= 0 && holder[:i] == name {
			return true
		}
	}
	return false
}

func someOpen(holders map[string]bool) bool {
	for _, open := range holders {
		if open {
			return true
		}
	}
	return false
}

// admit notes that holder lives at the address.
func (g *Gate) admit(address, holder string) { g.note(address, holder, true) }

// bar notes that holder lives at the address; nothing is sent to it, and nothing of it is taken.
func (g *Gate) bar(address, holder string) { g.note(address, holder, false) }

func (g *Gate) note(address, holder string, open bool) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[address] == nil {
		g.open[address] = make(map[string]bool)
	}
	g.open[address][holder] = open
}

// expel notes that holder does not live there any more. A restarted node has the address of its predecessor, hence the
// holders.
func (g *Gate) expel(address, holder string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	open := someOpen(g.open[address])
	delete(g.open[address], holder)
	last := open && !someOpen(g.open[address])
	if len(g.open[address]) == 0 {
		delete(g.open, address)
	}
	closed := g.closed
	g.mu.Unlock()
	if last && closed != nil {
		closed(address)
	}
}

// Doubt says that a connection to the address broke: the process there may have died, and may be back already under a
// newer boot, long before the gossip gives the older one up. It does not wait.
func (g *Gate) Doubt(address string) {
	if g == nil {
		return
	}
	g.mu.RLock()
	doubted := g.doubted
	g.mu.RUnlock()
	if doubted != nil {
		doubted(address)
	}
}
