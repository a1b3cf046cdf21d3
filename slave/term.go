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
	latest   messages.Claim // of the master that leads the crawl that is worked for; zero: no master of it named a term
	latestAt time.Time      // when that master was last there
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
	if slices.ContainsFunc(g.masters, func(m *MasterSeen) bool { return m.Boot == g.latest.Boot }) {
		g.latestAt = now
	} else if now.Sub(g.latestAt) > away {
		g.latest = messages.Claim{}
	}
	for _, m := range g.masters {
		if m.Term == 0 { // it stands by
			continue
		}
		if g.latest.Term > 0 && m.Boot != g.latest.Boot && !m.Beats(g.latest) {
			continue
		}
		if best == nil || m.Beats(best.Claim) || !best.Beats(m.Claim) && best.Boot != welcomed {
			best = m
		}
	}
	return best
}

// bond is what a slave and the master that it works for have told each other.
type bond struct {
	*gossip
	master   *actor.PID           // nil: none known
	claim    messages.Claim       // of it, as the gossip says
	welcomed bool                 // by it
	term     uint64               // of the messages that are taken: that of the master
	heardAt  time.Time            // of the master
	leaseFor time.Duration        // from the asking on
	serial   uint64               // of the last request for work
	asked    map[uint64]time.Time // when one was sent, by serial; the last few
}

// askedKept is how many requests may be answered: an answer to an older one comes too late.
const askedKept = 16

// newBond begins with a serial that no older boot has used: its batches are answers to none of this one.
func newBond(g *gossip) bond {
	return bond{gossip: g, asked: map[uint64]time.Time{}, serial: uint64(time.Now().UnixNano())}
}

// boot is that of the master that welcomed this slave; empty: none has.
func (b *bond) boot() string {
	if b.welcomed {
		return b.claim.Boot
	}
	return ""
}

// mayWelcome reports that a welcome is the one that is awaited: its master was not given up meanwhile.
func (b *bond) mayWelcome(m *messages.SlaveWelcomed) bool {
	return !b.welcomed && m.MasterBoot == b.claim.Boot && !b.latest.Beats(claimOf(m))
}

func claimOf(m *messages.SlaveWelcomed) messages.Claim {
	return messages.Claim{Crawl: m.Crawl, Term: m.Term, Boot: m.MasterBoot}
}

// tie notes that the master has welcomed this slave.
func (b *bond) tie(m *messages.SlaveWelcomed) {
	b.claim, b.term, b.welcomed = claimOf(m), m.Term, true
	b.heardAt, b.leaseFor = time.Now(), time.Duration(m.LeaseNs)
	b.follow(b.master, b.claim)
}

// ask counts a request for work.
func (b *bond) ask() (serial uint64) {
	b.serial++
	b.asked[b.serial] = time.Now()
	delete(b.asked, b.serial-askedKept)
	return b.serial
}

// answered returns when the request was sent that a batch answers, if it may be answered.
func (b *bond) answered(m *messages.TaskBatch, log *logrus.Entry) (at time.Time, ok bool) {
	if !b.ofThisTerm(m.Term, log) {
		return time.Time{}, false
	}
	b.heardAt = time.Now()
	at, ok = b.asked[m.Serial]
	return at, ok
}

// ofThisTerm reports whether the master that leads sent something, and not another one, which leads no more or not yet.
func (b *bond) ofThisTerm(term uint64, log *logrus.Entry) bool {
	if term == b.term {
		return true
	}
	log.WithFields(logrus.Fields{"its": term, "term": b.term}).Debug("nothing is taken from the master of another term")
	return false
}

// choose registers with the master to work for when that is another than before, or leads in another term.
func (s *Slave) choose(ctx actor.Context) (changed bool) {
	best := s.bond.leader(s.bond.boot(), max(s.bond.leaseFor, farewell))
	switch {
	case best == nil:
		s.bond.master, s.bond.claim, s.bond.welcomed = nil, messages.Claim{}, false
		return false
	case best.Claim == s.bond.claim:
		return false
	}
	s.turnTo(ctx, best)
	return true
}

func (s *Slave) turnTo(ctx actor.Context, m *MasterSeen) {
	s.log.WithFields(logrus.Fields{"master": m.Boot, "term": m.Term}).Debug("registering")
	s.bond.master, s.bond.claim, s.bond.welcomed, s.bond.term = m.PID, m.Claim, false, m.Term
	s.register(ctx)
}

// follow goes to the master that leads by the word of another one, if the gossip knows it. If it does not welcome this
// slave within a tick, the gossip decides again.
func (s *Slave) follow(ctx actor.Context, m *messages.NotLeading) {
	claim := messages.Claim{Crawl: m.Crawl, Term: m.Term, Boot: m.Boot}
	if !claim.Beats(s.bond.claim) || s.bond.latest.Beats(claim) {
		return
	}
	for _, known := range s.bond.masters {
		if known.Boot == m.Boot {
			s.turnTo(ctx, &MasterSeen{known.PID, claim})
		}
	}
}
