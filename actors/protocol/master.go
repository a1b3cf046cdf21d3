package protocol

import (
	"time"

	"henro/actors/scope"
	"henro/messages"
)

// NoPages is the PageLimit of a lease in a crawl that has all its pages.
const NoPages = -1

// What the Master sends to a Host, and a Host to the Master.
type (
	// Lend asks a ready Host to prepare a lease; it answers Lent once the lease is on disk, or LendRefused.
	Lend struct {
		Lease       uint64
		Slave, Boot string
		Until       time.Time
		Budget      int       // visits, of what the frontier handed out; 0: no limit
		PageLimit   int       // pages that the crawl may still visit; 0: no limit; NoPages: requisites are lent
		NotBefore   time.Time // no request may start earlier, for hosts that share the clock
		Few         bool      // few hosts have pages: the lease may be longer, as nobody waits for its end
	}
	// Lent answers Lend.
	Lent struct {
		Lease       uint64
		Slave, Boot string
		Task        *messages.HostTask
	}
	// LendRefused answers Lend when there was nothing to lend after all.
	LendRefused struct {
		Lease  uint64
		NextAt time.Time // before which the host may not be asked again
	}
	// HostFacts carries what a slave reported under a lease, in order.
	HostFacts struct {
		Lease uint64
		Facts []*messages.Fact
	}
	// FactsRefused tells the Master that the holder of a lease reported what cannot be true, and that it is not stored.
	FactsRefused struct {
		Lease uint64
		Why   string
	}
	// LeaseVoid tells a Host that its lease has ended, though the holder has not reported that.
	LeaseVoid struct{ Lease uint64 }
	// LeaseUnwanted asks the Master to take a lease back: its host was excluded, or is an alias, or some of its URLs
	// are one page.
	LeaseUnwanted struct{ Lease uint64 }
	// HostReady tells the Master that a host may be lent from a moment on. A later one replaces it.
	HostReady struct {
		Host string
		At   time.Time
	}
	// FactsCommitted reports to the Master what one commit stored of all leases.
	FactsCommitted struct{ Facts []*FactsStored }
	// FactsStored says that facts of a lease are on disk, up to a number. A Host gives it to the Partition with its
	// Write; of a lease that is over it is sent to the Master at once.
	FactsStored struct {
		Lease, Seq uint64
		Visits     int
		Closed     bool      // the lease has ended, and that is on disk too
		Pressing   bool      // a slave will soon have no room for more facts
		NextAt     time.Time // of a closed lease: before which the host may not be asked again
		OthersAt   time.Time // likewise, before which no host may be asked that shares its clock
	}
)

// What the Master sends to the Hosts.
type (
	// ScopeChanged gives new rules of the scope to every Host.
	ScopeChanged struct{ Scope *scope.Scope }
	// ToHost carries a message to one Host, awake or not.
	ToHost struct {
		Host    string
		Message any
	}
	// ResourcesChanged says how many hosts are asked side by side on how many connections: S and C of equation (9).
	ResourcesChanged struct{ Servers, Connections int }
)
