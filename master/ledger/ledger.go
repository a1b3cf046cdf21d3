// Package ledger is the master's book of leases: which slave may ask which host, and until when.
//
// A Ledger is a value. Updated takes a fact and returns the ledger after it, leaving the old one as it was; maps are
// persistent trees, so an update costs the logarithm of the leases open. Nothing here knows of actors, clocks or disks:
// moments come in with the facts.
//
// Invariants:
//   - at most one lease of a host is open;
//   - a lease ends only by LeaseEnded. Expired only tells which have run out: who asks ends them, and does what
//     follows;
//   - a fact about a lease that is not open, or of an older boot than the slave's latest, changes nothing.
package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/immutable"
)

// Lease is the exclusive right of one boot of one slave to ask one host.
type Lease struct {
	ID    uint64
	Host  string
	Slave string
	Boot  string
	Until time.Time // the master's clock; the slave's own end is never later

	Budget   uint64 // visits that it may still make, while the crawl has a limit of pages; otherwise 0
	Old      bool   // granted by an earlier start of the master: it may never have reached its holder
	Moving   bool   // asked back because others have more room; renewed until it comes back
	Recalled bool   // not renewed, since its host or its holder is to have it no longer, or it is being ended

	Heard  uint64    // number of the last fact that was reported since this start of the master
	Seq    uint64    // number of the last fact that was stored
	FactBy time.Time // until then another fact is stored, or the lease is recalled
}

// Of reports whether a boot of a slave holds the lease.
func (l *Lease) Of(slave, boot string) bool { return l.Slave == slave && l.Boot == boot }

// Slave is what the book says of one slave.
type Slave struct {
	Name  string
	Boot  string    // the latest start
	Slots int       // hosts that it is willing to hold at once
	Held  int       // its open leases, those of older boots too
	At    time.Time // when it registered or asked for work last

	leases immutable.Set[uint64] // the open ones
}

// The facts.
type (
	// SlaveWelcomed is the arrival of a slave, or of a newer boot of it. Leases of older boots stay open until ended.
	SlaveWelcomed struct {
		Slave, Boot string
		At          time.Time
	}
	// SlotsSet is how many leases a slave is willing to hold at once.
	SlotsSet struct {
		Slave, Boot string
		Slots       int
		At          time.Time
	}
	// LeaseGranted opens a lease.
	LeaseGranted struct{ Lease Lease }
	// LeasesRenewed moves the end of leases that a boot of a slave holds.
	LeasesRenewed struct {
		Slave, Boot string
		IDs         []uint64
		Until       time.Time
	}
	// LeaseBudgeted is how many visits a lease may make.
	LeaseBudgeted struct{ ID, Visits uint64 }
	// VisitsStored takes visits off the budget of a lease.
	VisitsStored struct{ ID, Visits uint64 }
	// LeaseMoving marks a lease that was asked back because others have more room.
	LeaseMoving struct{ ID uint64 }
	// LeaseHeard is up to which fact the holder of a lease has reported.
	LeaseHeard struct{ ID, Seq uint64 }
	// LeaseAdvanced is up to which fact a lease is stored, and until when another is to be.
	LeaseAdvanced struct {
		ID, Seq uint64
		FactBy  time.Time
	}
	// LeaseRecalled marks a lease that is not to be renewed.
	LeaseRecalled struct{ ID uint64 }
	// LeaseEnded closes a lease.
	LeaseEnded struct{ ID uint64 }
	// SlaveForgotten drops a slave that holds nothing.
	SlaveForgotten struct{ Slave string }
)

// Ledger is the book. The zero Ledger is empty.
type Ledger struct {
	leases *immutable.Map[uint64, Lease]
	hosts  *immutable.Map[string, uint64]
	slaves *immutable.Map[string, Slave]
}

func (l Ledger) whole() Ledger {
	if l.leases == nil {
		l.leases = immutable.NewMap[uint64, Lease](nil)
		l.hosts = immutable.NewMap[string, uint64](nil)
		l.slaves = immutable.NewMap[string, Slave](nil)
	}
	return l
}

// Updated returns the ledger after the fact.
func (l Ledger) Updated(fact any) Ledger {
	l = l.whole()
	switch f := fact.(type) {
	case SlaveWelcomed:
		s, _ := l.slaves.Get(f.Slave)
		if s.Boot != f.Boot {
			s = Slave{Name: f.Slave, Boot: f.Boot, Held: s.Held, leases: s.leases}
		}
		s.At = f.At
		l.slaves = l.slaves.Set(f.Slave, s)
	case SlotsSet:
		if s, ok := l.slaves.Get(f.Slave); ok && s.Boot == f.Boot {
			s.Slots, s.At = f.Slots, f.At
			l.slaves = l.slaves.Set(f.Slave, s)
		}
	case LeaseGranted:
		if _, taken := l.hosts.Get(f.Lease.Host); taken {
			return l
		}
		l.leases = l.leases.Set(f.Lease.ID, f.Lease)
		l.hosts = l.hosts.Set(f.Lease.Host, f.Lease.ID)
		l = l.holding(f.Lease.Slave, f.Lease.ID, true)
	case LeasesRenewed:
		for _, id := range f.IDs {
			if lease, ok := l.leases.Get(id); ok && lease.Of(f.Slave, f.Boot) &&
				lease.Until.Before(f.Until) {
				lease.Until = f.Until
				l.leases = l.leases.Set(id, lease)
			}
		}
	case LeaseBudgeted:
		l = l.changed(f.ID, func(lease *Lease) { lease.Budget = f.Visits })
	case VisitsStored:
		l = l.changed(f.ID, func(lease *Lease) { lease.Budget -= min(lease.Budget, f.Visits) })
	case LeaseMoving:
		l = l.changed(f.ID, func(lease *Lease) { lease.Moving = true })
	case LeaseHeard:
		l = l.changed(f.ID, func(lease *Lease) { lease.Heard = max(lease.Heard, f.Seq) })
	case LeaseAdvanced:
		l = l.changed(f.ID, func(lease *Lease) {
			if f.Seq > lease.Seq {
				lease.Seq, lease.FactBy = f.Seq, f.FactBy
			}
		})
	case LeaseRecalled:
		l = l.changed(f.ID, func(lease *Lease) { lease.Recalled = true })
	case LeaseEnded:
		if lease, ok := l.leases.Get(f.ID); ok {
			l.leases = l.leases.Delete(f.ID)
			l.hosts = l.hosts.Delete(lease.Host)
			l = l.holding(lease.Slave, f.ID, false)
		}
	case SlaveForgotten:
		if s, ok := l.slaves.Get(f.Slave); ok && s.Held == 0 {
			l.slaves = l.slaves.Delete(f.Slave)
		}
	}
	return l
}

// changed returns the ledger with an open lease changed.
func (l Ledger) changed(id uint64, change func(*Lease)) Ledger {
	before, ok := l.leases.Get(id)
	if lease := before; ok {
		if change(&lease); lease != before {
			l.leases = l.leases.Set(id, lease)
		}
	}
	return l
}

func (l Ledger) holding(slave string, id uint64, holds bool) Ledger {
	s, _ := l.slaves.Get(slave)
	s.Name = slave
	switch {
	case s.Held == 0:
		s.leases = immutable.NewSet(nil, id)
	case holds:
		s.leases = s.leases.Add(id)
	default:
		s.leases = s.leases.Delete(id)
	}
	s.Held = s.leases.Len()
	l.slaves = l.slaves.Set(slave, s)
	return l
}

// OpenCount returns how many leases are open.
func (l Ledger) OpenCount() int { return l.whole().leases.Len() }

// Budget returns how many visits the open leases may still make together.
func (l Ledger) Budget() (visits uint64) {
	for it := l.whole().leases.Iterator(); !it.Done(); {
		_, lease, _ := it.Next()
		visits += lease.Budget
	}
	return visits
}

// Lease returns the open lease with this id.
func (l Ledger) Lease(id uint64) (Lease, bool) { return l.whole().leases.Get(id) }

// OfHost returns the open lease of a host.
func (l Ledger) OfHost(host string) (Lease, bool) {
	l = l.whole()
	id, ok := l.hosts.Get(host)
	if !ok {
		return Lease{}, false
	}
	return l.leases.Get(id)
}

// Slave returns what the book says of a slave.
func (l Ledger) Slave(name string) (Slave, bool) { return l.whole().slaves.Get(name) }

// Slaves returns all slaves by name.
func (l Ledger) Slaves() []Slave {
	return slices.SortedFunc(l.EachSlave, func(a, b Slave) int { return strings.Compare(a.Name, b.Name) })
}

// EachSlave calls yield for all slaves, in any order.
func (l Ledger) EachSlave(yield func(Slave) bool) {
	for it := l.whole().slaves.Iterator(); !it.Done(); {
		if _, s, _ := it.Next(); !yield(s) {
			return
		}
	}
}

// HeldBy returns the open leases of one boot of a slave.
func (l Ledger) HeldBy(slave, boot string) []Lease {
	return l.ofSlave(slave, func(lease *Lease) bool { return lease.Boot == boot })
}

// Orphaned returns the open leases of a slave that belong to another boot than its latest: their holder is gone for
// certain.
func (l Ledger) Orphaned(slave string) []Lease {
	s, _ := l.Slave(slave)
	return l.ofSlave(slave, func(lease *Lease) bool { return lease.Boot != s.Boot })
}

// ofSlave reads no leases of others: when another master leads, all slaves register with it within a second.
func (l Ledger) ofSlave(slave string, want func(*Lease) bool) []Lease {
	s, _ := l.Slave(slave)
	if s.Held == 0 {
		return nil
	}
	var out []Lease
	for it := s.leases.Iterator(); !it.Done(); {
		id, _ := it.Next()
		if lease, _ := l.leases.Get(id); want(&lease) {
			out = append(out, lease)
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Expired returns the open leases whose end has passed.
func (l Ledger) Expired(now time.Time) []Lease {
	return l.where(func(lease Lease) bool { return lease.Until.Before(now) })
}

// Idle returns the open leases under which nothing was stored for too long, and which are still renewed.
func (l Ledger) Idle(now time.Time) []Lease {
	return l.where(func(lease Lease) bool { return now.After(lease.FactBy) && !lease.Recalled })
}

// Moving returns the open leases that were asked back because others have more room.
func (l Ledger) Moving() []Lease { return l.where(func(lease Lease) bool { return lease.Moving }) }

// All returns every open lease, by id.
func (l Ledger) All() []Lease { return l.where(func(Lease) bool { return true }) }

func (l Ledger) where(want func(Lease) bool) []Lease {
	l = l.whole()
	var out []Lease
	for it := l.leases.Iterator(); !it.Done(); {
		if _, lease, _ := it.Next(); want(lease) {
			out = append(out, lease)
		}
	}
	slices.SortFunc(out, func(a, b Lease) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
