package lending

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"henro/master/ledger"
	"henro/messages"
)

// What a Desk is told of one slave.
type (
	// SlaveLost reports that the gossip lost a slave: nothing more is sent to it, and its leases go on until they run
	// out.
	SlaveLost struct{ Slave, Boot string }
	// SlaveRefused reports that a slave is there whose protocol is not understood, or that such a slave is gone. It is
	// shown, and lent nothing.
	SlaveRefused struct {
		Slave, Boot, Version, Address string
		Protocol                      int
		Gone                          bool
	}
	// DrainSlave takes the leases of a slave back and lends it nothing, until ResumeSlave or a new start of the slave.
	DrainSlave struct{ Slave string }
	// ResumeSlave ends DrainSlave. SlaveAnswered answers both.
	ResumeSlave struct{ Slave string }
	// SlaveAnswered is how the slave stands; nil: none of that name was ever welcomed.
	SlaveAnswered struct{ Slave *SlaveStatus }
)

// SlaveState is what a slave is doing, as far as the Master knows.
type SlaveState string

// The states of a slave.
const (
	Working  SlaveState = "working"
	Draining SlaveState = "draining" // it gives its leases back
	Drained  SlaveState = "drained"  // it holds nothing and is lent nothing: its machine may be switched off
	Silent   SlaveState = "silent"   // it sent nothing for 3 s: it is lent nothing
	Lost     SlaveState = "lost"     // the gossip reports that it is gone
	Waiting  SlaveState = "waiting"  // it takes on no hosts, and says why
	Barred   SlaveState = "barred"   // it reported what cannot be true: this start of it is lent nothing
	Refused  SlaveState = "refused"  // its protocol is not understood
)

// SlaveStatus is what the Master knows of one slave.
type SlaveStatus struct {
	Name        string     `json:"name"`
	State       SlaveState `json:"state"`
	Version     string     `json:"version"`
	Protocol    int        `json:"protocol,omitempty"` // of one that is refused
	Address     string     `json:"address,omitempty"`
	Connections int        `json:"connections"` // requests that it has under way at most
	UnderWay    int        `json:"under_way"`   // requests
	Queued      int        `json:"queued"`      // hosts that may be asked and for which no connection is free
	Busy        float64    `json:"busy"`        // part of its connections in use in the last minutes: Σe/(C·τ)
	Slots       int        `json:"slots"`       // hosts that it is willing to hold now
	Leases      int        `json:"leases"`      // hosts that it holds, also those that rest and need no connection
	Unstored    int        `json:"unstored"`    // results that it keeps until they are stored
	Memory      uint64     `json:"memory_bytes"`
	Goroutines  int        `json:"goroutines"`
	Silent      string     `json:"silent"` // since its last message
	// reports of this start of it that cannot be true, and what was wrong with the latest, or why it waits
	Impossible int    `json:"impossible,omitempty"`
	Why        string `json:"why,omitempty"`
	Declined   int    `json:"declined,omitempty"` // hosts that it did not take on, in a row
	// of its process, by kind of actor; nothing: it is in the master's own process
	Mailboxes []Mailboxes `json:"mailboxes,omitempty"`
}

// Mailboxes are those of one kind of actor of a process.
type Mailboxes struct {
	Kind    string `json:"kind"`
	Actors  int    `json:"actors"`  // that live
	Waiting int    `json:"waiting"` // messages in all of their mailboxes
	Longest int    `json:"longest"` // of these mailboxes
	Taken   uint64 `json:"taken"`   // messages begun with since the process started
}

const (
	// mailboxesShown bounds SlaveStatus.Mailboxes, however many a slave reports.
	mailboxesShown = 32
	// silentAfter is how long a slave, which asks for work every second, may be silent until it is lent nothing more.
	// The gossip takes 7 to 8 s to declare it dead, and a host lent meanwhile to a slave that is dead or frozen waits
	// for a whole lease.
	silentAfter = 3 * time.Second
	// impossibleBorne is how many reports that cannot be true a slave may make until it is barred.
	impossibleBorne = 3
	// declinedBorne is how many hosts in a row a slave may decline until it rests: for a second, then for twice as long
	// each time, up to restLongest.
	declinedBorne = 3
	restLongest   = time.Minute
)

// slave is one slave as the Master talks to it.
type slave struct {
	at      Address // nil: the gossip lost it
	from    Address // the actor that registered: messages of others in its name are refused
	version string
	address string

	connections int
	usage       usage
	serial      uint64                  // of its latest WorkRequested
	asked       *messages.WorkRequested // the latest
	acks        *messages.Stored        // not sent yet; nil: none

	doubted    string // the boot that impossible, why and declined are of
	impossible int    // reports that cannot be true
	why        string // what was wrong with the latest
	declined   int    // hosts that it was lent in vain, in a row; those during a rest do not count
	restUntil  time.Time
}

// barred reports whether a boot of a slave has made too many reports that cannot be true.
func (s *slave) barred(boot string) bool {
	return s != nil && s.doubted == boot && s.impossible >= impossibleBorne
}

// rest counts a host that a slave was lent in vain, and has the slave rest if these are too many.
func (s *slave) rest(now time.Time) {
	if now.Before(s.restUntil) {
		return
	}
	if s.declined++; s.declined >= declinedBorne {
		s.restUntil = now.Add(min(time.Second<<min(s.declined-declinedBorne, 10), restLongest))
	}
}

// slaves are those that were ever welcomed, and those whose protocol is not understood. What they hold and when they
// last asked for work is in the ledger.
type slaves struct {
	*base
	known   map[string]*slave
	refused map[string]*SlaveRefused
	drained map[string]string   // boots of the slaves that are to be lent nothing, by name
	owed    map[*slave]struct{} // slaves with acks that were not sent
	changed bool                // connections have come or gone: the resources are to be counted
}

func newSlaves(b *base) slaves {
	s := slaves{b, map[string]*slave{}, map[string]*SlaveRefused{}, map[string]string{}, map[*slave]struct{}{},
		false}
	maps.Copy(s.drained, b.o.Drained)
	return s
}

// welcome notes a slave, or a newer start of one.
func (s *slaves) welcome(from Address, m *messages.SlaveRegistered) {
	known := s.known[m.Slave]
	if known == nil {
		known = &slave{}
		s.known[m.Slave] = known
	}
	if known.doubted != m.Boot {
		known.doubted, known.impossible, known.why, known.declined, known.restUntil = m.Boot, 0, "", 0, time.Time{}
	}
	known.at, known.from, known.version, known.address = from, from, m.Version, m.Address
	known.connections, known.usage, s.changed = int(m.Connections), usage{}, true
	if s.drained[m.Slave] != m.Boot {
		delete(s.drained, m.Slave)
	}
}

// idle reports whether a boot of a slave is to be lent nothing.
func (s *slaves) idle(name, boot string) bool {
	return boot != "" && s.drained[name] == boot || s.known[name].barred(boot)
}

// lendable reports whether a slave is there and wants hosts.
func (s *slaves) lendable(in *ledger.Slave) bool { return in.Slots > 0 && s.there(in) }

// there reports whether a slave is there and may be lent hosts.
func (s *slaves) there(in *ledger.Slave) bool {
	known := s.known[in.Name]
	return known != nil && known.at != nil && s.now.Sub(in.At) <= silentAfter &&
		!s.idle(in.Name, in.Boot) && !s.now.Before(known.restUntil)
}

// withMostRoom is the slave that holds the smallest share of what it is willing to hold; "": none has room.
func (s *slaves) withMostRoom() string {
	best, share := "", 1.0
	for in := range s.ledger.EachSlave {
		if in.Held >= in.Slots {
			continue
		}
		held := float64(in.Held) / float64(in.Slots)
		if (held < share || held == share && in.Name < best) && s.lendable(&in) {
			best, share = in.Name, held
		}
	}
	return best
}

// ack notes that facts of a lease are stored up to a number.
func (s *slaves) ack(known *slave, lease, seq uint64) {
	if known.acks == nil {
		known.acks = &messages.Stored{Term: s.o.Claim.Term}
		s.owed[known] = struct{}{}
	}
	known.acks.Leases, known.acks.Seqs = append(known.acks.Leases, lease), append(known.acks.Seqs, seq)
}

// flush sends every slave what was acknowledged since the last time.
func (s *slaves) flush() {
	for known := range s.owed {
		s.sendTo(known.at, known.acks)
		known.acks = nil
	}
	clear(s.owed)
}

// recall asks a lease back, and renews it no more.
func (s *slaves) recall(lease *ledger.Lease) {
	s.book(ledger.LeaseRecalled{ID: lease.ID})
	s.revoke(lease.Slave, []ledger.Lease{*lease}, false)
}

// revoke asks a slave to give leases back, after the request under way, or without it.
func (s *slaves) revoke(name string, leases []ledger.Lease, cut bool) {
	known := s.known[name]
	if known == nil || known.at == nil || len(leases) == 0 {
		return
	}
	batch := &messages.TaskBatch{Serial: known.serial, Term: s.o.Claim.Term, Cut: cut}
	for _, lease := range leases {
		batch.Revoked = append(batch.Revoked, lease.ID)
	}
	s.sendTo(known.at, batch)
}

// revokeAll asks for every lease back, after the request under way, or without it.
func (s *slaves) revokeAll(cut bool) {
	revoked := map[string][]ledger.Lease{}
	for _, lease := range s.ledger.All() {
		revoked[lease.Slave] = append(revoked[lease.Slave], lease)
	}
	for name, leases := range revoked {
		s.revoke(name, leases, cut)
	}
}

// lose notes that the gossip lost a slave, unless that is an older start of it.
func (s *slaves) lose(m *SlaveLost) {
	in, _ := s.ledger.Slave(m.Slave)
	known := s.known[m.Slave]
	if known != nil && in.Boot == m.Boot {
		known.at, s.changed = nil, true
	}
}

// refuse notes that a slave whose protocol is not understood is there, or is gone.
func (s *slaves) refuse(m *SlaveRefused) {
	if !m.Gone {
		s.refused[m.Slave] = m
	} else if known := s.refused[m.Slave]; known != nil && known.Boot == m.Boot {
		delete(s.refused, m.Slave)
	}
}

func (s *slaves) connections() (total int, busy float64) {
	for _, known := range s.known {
		if known.at != nil && !known.barred(known.doubted) {
			total += known.connections
			busy += known.usage.share(known.connections) * float64(known.connections)
		}
	}
	total = max(1, total)
	return total, busy / float64(total)
}

func (s *slaves) statuses() (all []SlaveStatus) {
	for _, known := range s.ledger.Slaves() {
		all = append(all, s.status(known))
	}
	for _, name := range slices.Sorted(maps.Keys(s.refused)) {
		refused := s.refused[name]
		all = append(all, SlaveStatus{Name: name, State: Refused, Version: refused.Version, Protocol: refused.Protocol,
			Address: refused.Address})
	}
	return all
}

// status is how one slave stands.
func (s *slaves) status(in ledger.Slave) SlaveStatus {
	line := SlaveStatus{Name: in.Name, State: Lost, Slots: in.Slots, Leases: in.Held}
	if !in.At.IsZero() {
		line.Silent = s.now.Sub(in.At).Round(time.Millisecond).String()
	}
	known := s.known[in.Name]
	if known == nil {
		return line // it held leases when the master was started, and has not registered
	}
	switch {
	case known.at == nil:
	case s.now.Sub(in.At) > silentAfter:
		line.State = Silent
	case known.barred(in.Boot):
		line.State = Barred
	case s.idle(in.Name, in.Boot) && in.Held == 0:
		line.State = Drained
	case s.idle(in.Name, in.Boot):
		line.State = Draining
	case known.asked.GetWaits() != "":
		line.State, line.Why = Waiting, known.asked.Waits
	default:
		line.State = Working
	}
	line.Impossible, line.Why, line.Declined = known.impossible, cmp.Or(line.Why, known.why), known.declined
	line.Version, line.Address, line.Connections = known.version, known.address, known.connections
	line.UnderWay, line.Queued = int(known.asked.GetUnderWay()), int(known.asked.GetQueued())
	line.Busy = known.usage.share(known.connections)
	line.Unstored, line.Memory, line.Goroutines = int(known.asked.GetUnstored()), known.asked.GetMemoryBytes(),
		int(known.asked.GetGoroutines())
	boxes := known.asked.GetMailboxes()
	for _, of := range boxes[:min(mailboxesShown, len(boxes))] {
		line.Mailboxes = append(line.Mailboxes, Mailboxes{of.Kind, int(of.Actors), int(of.Waiting), int(of.Longest),
			of.Taken})
	}
	return line
}

// speaker is the slave in whose name a message was sent; nil: it was not welcomed, or another actor sent the message. A
// slave that has the key of the cluster may not end the leases of another, or have it barred.
func (s *slaves) speaker(from Address, name, boot string) *slave {
	known := s.known[name]
	if known == nil {
		return nil
	}
	if !same(known.from, from) {
		s.distrustSender(from, name)
		return nil
	}
	if in, _ := s.ledger.Slave(name); in.Boot != boot {
		return nil
	}
	return known
}

// distrustSender distrusts the slave that sent a message in the name of another.
func (s *slaves) distrustSender(from Address, name string) {
	for other, known := range s.known {
		if other != name && same(known.from, from) {
			in, _ := s.ledger.Slave(other)
			s.distrust(other, in.Boot, "a message in the name of another slave")
			return
		}
	}
}

// distrust notes that a slave reported what cannot be true. After a few times it is barred: it is lent nothing until it
// is started again, and its leases end when they run out, as if it had died. They do not end sooner, since it may still
// ask those hosts.
func (s *slaves) distrust(name, boot, why string) {
	known := s.known[name]
	in, _ := s.ledger.Slave(name)
	if known == nil || in.Boot != boot || known.barred(boot) {
		return
	}
	known.doubted, known.impossible, known.why = boot, known.impossible+1, why
	fields := map[string]any{"slave": name, "why": why, "count": known.impossible}
	s.say("warning", "a slave reported what cannot be; it is not stored", fields)
	if known.barred(boot) {
		s.say("error", "slave barred: find out what it is, then start it again", fields)
		s.changed = true
	}
}
