// Package peers says which slaves are asked, for who asks all of them: each by its latest start, and none for a while
// that did not answer.
package peers

import (
	"sync"
	"time"

	"henro/cluster"
)

// Slaves are the slaves that are asked. The zero value leaves none out. Any goroutine may use it.
type Slaves struct {
	mu   sync.Mutex
	mute map[string]time.Time // until when who is not asked, by boot
}

// Mute leaves a start of a slave out for a while.
func (s *Slaves) Mute(m cluster.Member, span time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mute == nil {
		s.mute = map[string]time.Time{}
	}
	s.mute[m.Boot] = time.Now().Add(span)
}

// Of returns those of the members that are asked, by name.
func (s *Slaves) Of(members []cluster.Member) map[string]cluster.Member {
	found := map[string]cluster.Member{}
	for _, m := range members {
		if m.Role == cluster.Slave && m.Boot > found[m.Name].Boot {
			found[m.Name] = m
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, m := range found {
		if until, is := s.mute[m.Boot]; is && time.Now().Before(until) {
			delete(found, name)
		} else if is {
			delete(s.mute, m.Boot)
		}
	}
	return found
}
