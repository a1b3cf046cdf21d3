package actors

import (
	"cmp"
	"strings"
	"sync"

	"henro/actors/scope"
	"henro/actors/skip"
	"henro/messages/weburl"
)

// reaches remembers what one scope says of hosts, for all judges of a process: most links lead to few hosts, and asking
// the scope costs a parsed URL. Each judge had a memory of its own, which grew with the square of the hosts: 500 of
// them that link to each other took 45 MB more after an hour than after a minute.
type reaches struct {
	rules *scope.Rules

	mu sync.RWMutex
	of map[string]reach // by host
}

// reach is what the scope says of a host.
type reach struct {
	prefixes []string    // that are in
	reason   skip.Reason // why none is
}

// reachKept bounds the hosts remembered: some 15 MB. When there are more, all are forgotten.
const reachKept = 1 << 16

func newReaches(rules *scope.Rules) *reaches { return &reaches{rules: rules, of: map[string]reach{}} }

// ask is what the scope says of the host of a URL.
func (r *reaches) ask(url, host string) reach {
	r.mu.RLock()
	answer, known := r.of[host]
	r.mu.RUnlock()
	if known {
		return answer
	}
	if answer.prefixes = r.rules.Prefixes(host); len(answer.prefixes) == 0 {
		answer.reason = skip.Scope
		if u, err := weburl.Parse(url); err == nil {
			answer.reason = cmp.Or(skip.OfScope(r.rules.Decide(u)), answer.reason)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.of) >= reachKept {
		clear(r.of)
	}
	r.of[strings.Clone(host)] = answer // the host is a part of the URL, which is not to be kept
	return answer
}
