package admission

import (
	"strings"
	"sync"

	"henro/actors/scope"
)

// Known are the regions of a crawl. It remembers what the scope says of hosts, for all who judge links in a process:
// most links lead to few hosts, and asking the scope costs a parsed URL. Each judge had a memory of its own, which grew
// with the square of the hosts: 500 of them that link to each other took 45 MB more after an hour than after a minute.
type Known struct {
	scope *scope.Scope

	mu sync.RWMutex
	of map[string]*scope.Part // by host
}

// partsKept bounds the hosts remembered: some 15 MB. When there are more, all are forgotten.
const partsKept = 1 << 16

// Remember makes the regions of a scope.
func Remember(of *scope.Scope) *Known { return &Known{scope: of, of: map[string]*scope.Part{}} }

// Of is what the scope says of a host.
func (k *Known) Of(host string) *scope.Part {
	k.mu.RLock()
	part := k.of[host]
	k.mu.RUnlock()
	if part != nil {
		return part
	}
	part = k.scope.Of(host)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.of) >= partsKept {
		clear(k.of)
	}
	k.of[strings.Clone(host)] = part // the host is a part of a URL, which is not to be kept
	return part
}

// Lent are the regions of a slave that works on one host: no other host is its own to visit.
type Lent struct {
	Host string
	Part *scope.Part
}

// elsewhere is the part of every other host.
var elsewhere = &scope.Part{Outside: scope.OutOfReach}

// Of is what the scope says of a host.
func (l *Lent) Of(host string) *scope.Part {
	if host == l.Host {
		return l.Part
	}
	return elsewhere
}
