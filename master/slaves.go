package master

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/console"
	"henro/master/ledger"
	"henro/messages"
)

// Commands about one slave; both are answered by SlaveAnswered.
type (
	// DrainSlave takes the leases of a slave back and lends it nothing, until ResumeSlave or a new start of the slave.
	DrainSlave struct{ Slave string }
	// ResumeSlave ends DrainSlave.
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
	Barred   SlaveState = "barred"   // it reported what cannot be: this start of it is lent nothing
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
	Slots       int        `json:"slots"`       // hosts it is willing to hold now
	Leases      int        `json:"leases"`      // hosts that it holds: those that rest too, without a connection
	Unstored    int        `json:"unstored"`    // results that it keeps until they are stored
	Memory      uint64     `json:"memory_bytes"`
	Goroutines  int        `json:"goroutines"`
	Silent      string     `json:"silent"` // since its last message
	// reports of its start that cannot be true, and what the latest was
	Impossible int    `json:"impossible,omitempty"`
	Why        string `json:"why,omitempty"`
	Declined   int    `json:"declined,omitempty"` // hosts that it did not take on, in a row
	// of its process, by kind of actor; nothing: it is the master's own
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

// mailboxesShown bounds SlaveStatus.Mailboxes, however many a slave reports.
const mailboxesShown = 32

// silentAfter is how long a slave, which asks for work every second, may be silent until it is lent nothing more. The
// gossip takes 7 to 8 s to believe a death; a host lent meanwhile to a slave that is dead or frozen waits for a whole
// lease.
const silentAfter = 3 * time.Second

// slave is one slave as the Master talks to it.
type slave struct {
	pid     *actor.PID // nil: the gossip lost it
	from    *actor.PID // that registered: messages of other actors in its name are refused
	version string
	address string

	connections int
	usage       usage
	serial      uint64                  // of its latest request
	asked       *messages.WorkRequested // the latest
	acks        *messages.Stored

	doubted    string // the boot that impossible, why and declined are of
	impossible int    // reports that cannot be true
	why        string // what was wrong with the latest
	declined   int    // hosts that it was lent in vain, in a row; those of one rest count once
	restUntil  time.Time
}

const (
	// impossibleBorne is how many reports that cannot be true a slave may make until it is barred.
	impossibleBorne = 3
	// declinedBorne is how many hosts in a row a slave may not take on until it rests: a second, then twice as long
	// each time, up to restLongest.
	declinedBorne = 3
	restLongest   = time.Minute
)

// barred reports whether a boot of a slave has reported too much that cannot be.
func (s *slave) barred(boot string) bool {
	return s != nil && s.doubted == boot && s.impossible >= impossibleBorne
}

// slaves are those that the Master ever welcomed, and those whose protocol is not understood. What they hold and when
// they last asked for work is in the ledger.
type slaves struct {
	known   map[string]*slave
	barred  map[string]*SlaveRefused
	drained map[string]string   // of slaves that are to be lent nothing, the boot
	term    uint64              // of this master, in what it sends
	owed    map[*slave]struct{} // with acks
}

func newSlaves(term uint64, drained map[string]string) slaves {
	s := slaves{map[string]*slave{}, map[string]*SlaveRefused{}, map[string]string{}, term, map[*slave]struct{}{}}
	maps.Copy(s.drained, drained)
	return s
}

// idle reports whether a boot of a slave is to be lent nothing.
func (s slaves) idle(name, boot string) bool {
	return boot != "" && s.drained[name] == boot || s.known[name].barred(boot)
}

// lendable reports whether a slave is there and wants hosts.
func (s slaves) lendable(in ledger.Slave, now time.Time) bool {
	known := s.known[in.Name]
	return known != nil && known.pid != nil && in.Slots > 0 && now.Sub(in.At) <= silentAfter &&
		!s.idle(in.Name, in.Boot) && !now.Before(known.restUntil)
}

// roomiest is the slave that holds the smallest share of what it is willing to hold; "": none has room.
func (s slaves) roomiest(book ledger.Ledger, now time.Time) string {
	best, share := "", 1.0
	for in := range book.EachSlave {
		if in.Held >= in.Slots {
			continue
		}
		held := float64(in.Held) / float64(in.Slots)
		if (held < share || held == share && in.Name < best) && s.lendable(in, now) {
			best, share = in.Name, held
		}
	}
	return best
}

// ack notes that facts of a lease are stored up to a number.
func (s slaves) ack(known *slave, lease, seq uint64) {
	if known.acks == nil {
		known.acks = &messages.Stored{Term: s.term}
		s.owed[known] = struct{}{}
	}
	known.acks.Leases, known.acks.Seqs = append(known.acks.Leases, lease), append(known.acks.Seqs, seq)
}

// flush sends every slave what was acknowledged since the last time.
func (s slaves) flush(ctx actor.Context) {
	for known := range s.owed {
		if known.pid != nil {
			ctx.Request(known.pid, known.acks)
		}
		known.acks = nil
	}
	clear(s.owed)
}

// speaker is the slave in whose name a message was sent; nil: it was not welcomed, or another actor sent the message.
// Of several slaves that have the key, none may end the leases of another or have it barred.
func (l *lending) speaker(ctx actor.Context, name, boot string) *slave {
	s := l.slaves.known[name]
	if s == nil {
		return nil
	}
	if !s.from.Equal(ctx.Sender()) {
		l.unmask(ctx, name)
		return nil
	}
	if known, _ := l.ledger.Slave(name); known.Boot != boot {
		return nil
	}
	return s
}

// unmask distrusts the slave that sent a message in the name of another.
func (l *lending) unmask(ctx actor.Context, name string) {
	for other, s := range l.slaves.known {
		if other != name && s.from.Equal(ctx.Sender()) {
			known, _ := l.ledger.Slave(other)
			l.distrust(ctx, other, known.Boot, "a message in the name of another slave")
			return
		}
	}
}

// distrust notes that a slave reported what cannot be. After a few times it is barred: it is lent nothing until it is
// started again, and its leases end when they run out, as if it had died. They do not end sooner, since it may still
// ask those hosts.
func (l *lending) distrust(ctx actor.Context, name, boot, why string) {
	s := l.slaves.known[name]
	known, _ := l.ledger.Slave(name)
	if s == nil || known.Boot != boot || s.barred(boot) {
		return
	}
	s.doubted, s.impossible, s.why = boot, s.impossible+1, why
	log := l.log.WithFields(logrus.Fields{"slave": name, "why": why, "count": s.impossible})
	log.Warn("a slave reported what cannot be; it is not stored")
	if !s.barred(boot) {
		return
	}
	log.Error("slave barred: find out what it is, then start it again")
	l.countResources(ctx)
}

// recall asks a lease back, and renews it no more.
func (l *lending) recall(ctx actor.Context, lease ledger.Lease) {
	l.ledger = l.ledger.Updated(ledger.LeaseRecalled{ID: lease.ID})
	l.slaves.revoke(ctx, lease.Slave, []ledger.Lease{lease})
}

// recallIdle recalls the leases under which nothing was stored for longer than any visit takes. Without it a slave that
// renews and reports nothing would keep a host for ever.
func (l *lending) recallIdle(ctx actor.Context, now time.Time) {
	for _, lease := range l.ledger.Idle(now) {
		l.log.WithFields(logrus.Fields{"slave": lease.Slave, "host": lease.Host,
			"lease": lease.ID}).Warn("nothing was reported under a lease for too long: it is taken back")
		l.recall(ctx, lease)
		if s := l.slaves.known[lease.Slave]; s != nil {
			s.restUntil = l.o.factBy(now) // as long as it cost; others get the host
		}
	}
}

// factBy is until when a fact of a lease must be stored whose host may be asked from a moment on: ten leases, and two
// visits that take as long as they may. A slave waits for its disk, its processor and for room of other leases, too.
func (o *Options) factBy(from time.Time) time.Time {
	if now := time.Now(); from.Before(now) {
		from = now
	}
	return from.Add(10*o.LeaseFor + 2*time.Duration(o.Fetch.FetchTimeoutNs))
}

// decline takes a host back that its slave does not take on. A slave that declines again and again rests, so that
// others get the host; so does one whose leases run out again and again.
func (l *lending) decline(ctx actor.Context, msg *messages.TaskRefused) {
	lease, ok := l.ledger.Lease(msg.Lease)
	s := l.speaker(ctx, msg.Slave, msg.Boot)
	if !ok || s == nil {
		return
	}
	if lease.Slave != msg.Slave || lease.Boot != msg.Boot {
		l.distrust(ctx, msg.Slave, msg.Boot, "a lease of another slave declined")
		return
	}
	l.void(ctx, msg.Lease)
	s.rest(time.Now())
}

// rest counts a host that a slave was lent in vain.
func (s *slave) rest(now time.Time) {
	if now.Before(s.restUntil) {
		return
	}
	if s.declined++; s.declined >= declinedBorne {
		s.restUntil = now.Add(min(time.Second<<min(s.declined-declinedBorne, 10), restLongest))
	}
}

// drain takes the leases of a slave back, or ends that.
func (m *Master) drain(ctx actor.Context, name string, on bool) {
	known, ok := m.ledger.Slave(name)
	if !ok || m.slaves.known[name] == nil {
		ctx.Respond(&SlaveAnswered{})
		return
	}
	delete(m.slaves.drained, name)
	if on {
		m.slaves.drained[name] = known.Boot
		m.slaves.revoke(ctx, name, m.ledger.HeldBy(name, known.Boot))
	}
	m.keepRun()
	status := m.slaves.status(known)
	ctx.Respond(&SlaveAnswered{Slave: &status})
	m.dispatch(ctx)
}

// revoke asks a slave to give leases back, after the request under way.
func (s slaves) revoke(ctx actor.Context, name string, leases []ledger.Lease) {
	known := s.known[name]
	if known == nil || known.pid == nil || len(leases) == 0 {
		return
	}
	batch := &messages.TaskBatch{Serial: known.serial, Term: s.term}
	for _, lease := range leases {
		batch.Revoked = append(batch.Revoked, lease.ID)
	}
	ctx.Request(known.pid, batch)
}

// revokeAll asks for every lease back, after the request under way.
func (s slaves) revokeAll(ctx actor.Context, book ledger.Ledger) {
	revoked := map[string][]ledger.Lease{}
	for _, lease := range book.All() {
		revoked[lease.Slave] = append(revoked[lease.Slave], lease)
	}
	for name, leases := range revoked {
		s.revoke(ctx, name, leases)
	}
}

// lose notes that the gossip lost a slave, unless that is an older start of it.
func (s slaves) lose(msg *SlaveLost, book ledger.Ledger) (lost bool) {
	in, _ := book.Slave(msg.Slave)
	known := s.known[msg.Slave]
	if known == nil || in.Boot != msg.Boot {
		return false
	}
	known.pid = nil
	return true
}

// refuse notes that a slave is there that is not understood, or is gone.
func (s slaves) refuse(msg *SlaveRefused) {
	if !msg.Gone {
		s.barred[msg.Slave] = msg
	} else if known := s.barred[msg.Slave]; known != nil && known.Boot == msg.Boot {
		delete(s.barred, msg.Slave)
	}
}

// statuses are all slaves, and behind them those that are refused, which may have names of slaves that are gone.
func (s slaves) statuses(book ledger.Ledger) (all []SlaveStatus) {
	for _, known := range book.Slaves() {
		all = append(all, s.status(known))
	}
	for _, name := range slices.Sorted(maps.Keys(s.barred)) {
		barred := s.barred[name]
		all = append(all, SlaveStatus{Name: name, State: Refused, Version: barred.Version, Protocol: barred.Protocol,
			Address: barred.Address})
	}
	return all
}

// connections is C of equation (9): those of all slaves that are there; busy is the part of them that was in use of
// late.
func (s slaves) connections() (total int, busy float64) {
	for _, known := range s.known {
		if known.pid != nil && !known.barred(known.doubted) {
			total += known.connections
			busy += known.usage.share(known.connections) * float64(known.connections)
		}
	}
	total = max(1, total)
	return total, busy / float64(total)
}

// status is how one slave stands.
func (s slaves) status(in ledger.Slave) SlaveStatus {
	line := SlaveStatus{Name: in.Name, State: Lost, Slots: in.Slots, Leases: in.Held}
	if !in.At.IsZero() {
		line.Silent = time.Since(in.At).Round(time.Millisecond).String()
	}
	known := s.known[in.Name]
	if known == nil {
		return line // it held leases when the master was started, and has not registered
	}
	switch {
	case known.pid == nil:
	case time.Since(in.At) > silentAfter:
		line.State = Silent
	case known.barred(in.Boot):
		line.State = Barred
	case s.idle(in.Name, in.Boot) && in.Held == 0:
		line.State = Drained
	case s.idle(in.Name, in.Boot):
		line.State = Draining
	default:
		line.State = Working
	}
	line.Impossible, line.Why, line.Declined = known.impossible, known.why, known.declined
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

// getSlaves answers GET /api/slaves.
func (n *Node) getSlaves(w http.ResponseWriter, r *http.Request) {
	status, err := Ask[*Status](r.Context(), n, &StatusAsked{})
	if err != nil {
		reply(w, nil, err)
		return
	}
	reply(w, status.Slaves, nil)
}

// postSlave answers POST /api/slaves/drain and /api/slaves/resume with how the slave stands.
func (n *Node) postSlave(order func(name string) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.FormValue("slave")
		answer, err := Ask[*SlaveAnswered](r.Context(), n, order(name))
		switch {
		case err != nil:
			reply(w, nil, err)
		case answer.Slave == nil:
			console.Fail(w, http.StatusNotFound, fmt.Errorf("no slave %q was ever here; henro slaves lists them", name))
		default:
			reply(w, answer.Slave, nil)
		}
	}
}
