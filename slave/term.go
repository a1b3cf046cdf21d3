package slave

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/messages"
)

// mastersKept bounds the masters that a slave remembers.
const mastersKept = 64

// gossip is what the gossip reported of masters. It outlives a Slave that restarts, since the gossip reports everything
// once.
type gossip struct {
	masters  []*MasterSeen  // that are there, the latest seen last
	latest   messages.Claim // of the crawl that is worked for, the one that leads; none: no master of it said a term
	latestAt time.Time      // when its master was there
}

func (g *gossip) see(m *MasterSeen) {
	i := slices.IndexFunc(g.masters, func(known *MasterSeen) bool { return known.Boot == m.Boot })
	switch {
	case i >= 0:
		g.masters[i] = m
	case len(g.masters) == mastersKept:
		g.masters = append(slices.Delete(g.masters, 0, 1), m)
	default:
		g.masters = append(g.masters, m)
	}
	if g.latest.Term > 0 && m.Beats(g.latest) {
		g.latest = m.Claim
	}
}

func (g *gossip) lose(m *MasterLost) {
	g.masters = slices.DeleteFunc(g.masters, func(known *MasterSeen) bool { return known.Boot == m.Boot })
}

// follow notes what the master that is worked for claims: it knows before the gossip.
func (g *gossip) follow(pid *actor.PID, c messages.Claim) {
	if c.Term > 0 {
		g.latest, g.latestAt = c, time.Now()
	}
	g.see(&MasterSeen{pid, c})
}

// leader is the master to work for: of the crawl that is worked for, the one with the greatest term. A smaller term, or
// another crawl, counts when the master with the greatest has been away for the given time, as long as leases of it may
// last: so a crawl goes on from a backup, and a slave is not given away while its master is started again. Where the
// masters of two crawls are there it is the one that has welcomed this slave, or else the latest seen.
func (g *gossip) leader(welcomed string, away time.Duration) (best *MasterSeen) {
	now := time.Now()
	there := slices.ContainsFunc(g.masters, func(m *MasterSeen) bool { return m.Boot == g.latest.Boot })
	if there {
		g.latestAt = now
	} else if now.Sub(g.latestAt) > away {
		g.latest = messages.Claim{}
	}
	for _, m := range g.masters {
		if m.Crawl != "" && m.Term == 0 { // it stands by
			continue
		}
		// an older version, which says nothing, is a crawl that goes on with the programs of before
		known := m.Crawl != "" || there
		if known && g.latest.Term > 0 && m.Boot != g.latest.Boot && !m.Beats(g.latest) {
			continue
		}
		if best == nil || m.Beats(best.Claim) || !best.Beats(m.Claim) && best.Boot != welcomed {
			best = m
		}
	}
	return best
}

// choose registers with the master to work for when that is another than before, or leads in another term.
func (s *Slave) choose(ctx actor.Context) (changed bool) {
	best := s.gossip.leader(s.masterBoot, max(s.leaseFor, farewell))
	switch {
	case best == nil:
		s.master, s.claim, s.masterBoot = nil, messages.Claim{}, ""
		return false
	case best.Claim == s.claim:
		return false
	}
	s.turnTo(ctx, best)
	return true
}

func (s *Slave) turnTo(ctx actor.Context, m *MasterSeen) {
	s.log.WithFields(logrus.Fields{"master": m.Boot, "term": m.Term}).Debug("registering")
	s.master, s.claim, s.masterBoot, s.term = m.PID, m.Claim, "", m.Term
	s.register(ctx)
}

// follow goes to the master that another one says leads, if the gossip knows it. Should that one not welcome this slave
// within a tick, the gossip decides again.
func (s *Slave) follow(ctx actor.Context, m *messages.NotLeading) {
	claim := messages.Claim{Crawl: m.Crawl, Term: m.Term, Boot: m.Boot}
	if !claim.Beats(s.claim) || s.gossip.latest.Beats(claim) {
		return
	}
	for _, known := range s.gossip.masters {
		if known.Boot == m.Boot {
			s.turnTo(ctx, &MasterSeen{known.PID, claim})
		}
	}
}

// ofThisTerm reports whether the master that leads sent something, and not another one, which leads no more or not yet.
func (s *Slave) ofThisTerm(term uint64) bool {
	if term == s.term {
		return true
	}
	s.log.WithFields(logrus.Fields{"its": term,
		"term": s.term}).Debug("nothing is taken from the master of another term")
	return false
}
