package cluster

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"henro/messages/ticks"
)

// seekOthers looks for other nodes while any are missing: memberlist by itself forgets a dead member after 30 s and
// never looks for it again. Members that were lost are looked for too, so that two halves of a cluster find each other
// whichever of them held the addresses to join.
func (n *Node) seekOthers() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var failures int
	var healedAt time.Time
	for {
		select {
		case <-n.done:
			return
		case <-pause.C:
		case <-n.seek:
		}
		var targets []string
		doubting := n.doubting()
		seeking := doubting || n.missing()
		if seeking {
			targets = slices.Clone(n.o.JoinAddrs)
		}
		if now := time.Now(); now.Sub(healedAt) >= healPause {
			healedAt = now
			targets = append(targets, n.lostAddresses(now)...)
		}
		var why error
		for _, address := range targets {
			if n.finished() {
				return
			}
			if _, err := n.list.Join([]string{address}); err != nil {
				why = err
			}
		}
		switch {
		case doubting && n.doubting():
			pause.Reset(doubtPause)
		case !seeking || !n.missing():
			if failures > 0 {
				n.log.WithField("attempts", failures).Info("gossip: found the others")
			}
			failures = 0
			if seeking {
				n.wg.Go(n.sayAgain)
			}
			pause.Reset(joinPauseMax)
		default:
			if failures++; failures == 1 || failures%200 == 0 { // at once, then every ten minutes
				n.log.WithFields(logrus.Fields{"join": strings.Join(n.o.JoinAddrs, ","), "attempts": failures,
					"err": why}).
					Warn("gossip: no node found yet, still trying")
			}
			pause.Reset(min(joinPause<<min(failures-1, 10), joinPauseMax))
		}
	}
}

// doubt makes this node look for the others at once and often, since a member at the address perhaps died: memberlist
// takes 5–6 s to notice, and until then a restarted master knows no slave and answers none.
func (n *Node) doubt(address string) {
	n.mu.Lock()
	found := false
	for key, m := range n.alive {
		if m.ActorAddress == address {
			n.doubtful[key] = time.Now().Add(doubtFor)
			found = true
		}
	}
	n.mu.Unlock()
	if found {
		ticks.Nudge(n.seek)
	}
}

// doubting reports whether a member perhaps died that the gossip still holds alive, and once more when that is over.
func (n *Node) doubting() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, some := time.Now(), len(n.doubtful) > 0
	maps.DeleteFunc(n.doubtful, func(_ string, until time.Time) bool { return now.After(until) })
	return some
}

func (n *Node) finished() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// missing reports whether a node that was told where to join stands alone or, unless it is a master, sees no master.
func (n *Node) missing() bool {
	if len(n.o.JoinAddrs) == 0 {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.alive {
		if n.self.Role == Master || m.Role == Master {
			return false
		}
	}
	return true
}

// lostAddresses are where members were lost lately.
func (n *Node) lostAddresses(now time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = slices.DeleteFunc(n.lost, func(l lostMember) bool { return now.Sub(l.at) > healFor })
	var addresses []string
	for _, l := range n.lost {
		addresses = append(addresses, l.address)
	}
	return addresses
}
