package master

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/protocol"
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
	Silent   SlaveState = "silent"   // it was not heard of for 3 s: it is lent nothing
	Lost     SlaveState = "lost"     // the gossip says that it is gone
	Refused  SlaveState = "refused"  // its protocol is not understood: nobody speaks with it
)

// SlaveStatus is what the Master knows of one slave.
type SlaveStatus struct {
	Name        string     `json:"name"`
	State       SlaveState `json:"state"`
	Version     string     `json:"version"`
	Protocol    int        `json:"protocol,omitempty"` // of one that is refused
	Address     string     `json:"address,omitempty"`
	Connections int        `json:"connections"` // hosts it can ask at once
	Slots       int        `json:"slots"`       // hosts it is willing to hold now
	Leases      int        `json:"leases"`
	Unstored    int        `json:"unstored"` // results that it keeps until they are stored
	Memory      uint64     `json:"memory_bytes"`
	Goroutines  int        `json:"goroutines"`
	Silent      string     `json:"silent"` // since it was heard of last
	// of its process, by kind of actor; nothing: it is the master's own
	Mailboxes []Mailboxes `json:"mailboxes,omitempty"`
}

// Room is how many more hosts it could take on now.
func (s SlaveStatus) Room() int { return max(0, s.Slots-s.Leases) }

// Mailboxes are those of one kind of actor of a process.
type Mailboxes struct {
	Kind    string `json:"kind"`
	Actors  int    `json:"actors"`  // that live
	Waiting int    `json:"waiting"` // messages in all of their mailboxes
	Longest int    `json:"longest"` // of these mailboxes
	Taken   uint64 `json:"taken"`   // messages begun with since the process started
}

// mailboxesShown bounds SlaveStatus.Mailboxes, whatever a slave tells.
const mailboxesShown = 32

// slave is one slave as the Master talks to it.
type slave struct {
	pid     *actor.PID // nil: the gossip lost it
	version string
	address string

	connections int
	serial      uint64                  // of its latest request
	asked       *messages.WorkRequested // the latest
	drained     string                  // the boot that is to be lent nothing
	acks        *messages.Stored
}

// idle reports whether a boot of a slave is to be lent nothing.
func (m *Master) idle(name, boot string) bool {
	s := m.slaves[name]
	return s != nil && s.drained != "" && s.drained == boot
}

// drain takes the leases of a slave back, or ends that.
func (m *Master) drain(ctx actor.Context, name string, on bool) {
	known, ok := m.ledger.Slave(name)
	s := m.slaves[name]
	if !ok || s == nil {
		ctx.Respond(&SlaveAnswered{})
		return
	}
	s.drained = ""
	if on {
		s.drained = known.Boot
		m.revoke(ctx, name, m.ledger.HeldBy(name, known.Boot))
	}
	status := m.slaveStatus(known)
	ctx.Respond(&SlaveAnswered{Slave: &status})
	m.dispatch(ctx)
}

// revoke asks a slave to give leases back, after the request under way.
func (m *Master) revoke(ctx actor.Context, name string, leases []ledger.Lease) {
	s := m.slaves[name]
	if s == nil || s.pid == nil || len(leases) == 0 {
		return
	}
	batch := &messages.TaskBatch{Serial: s.serial}
	for _, lease := range leases {
		batch.Revoked = append(batch.Revoked, lease.ID)
	}
	ctx.Request(s.pid, batch)
}

// lose notes that the gossip lost a slave, unless that is an older start of it.
func (m *Master) lose(ctx actor.Context, msg *SlaveLost) {
	known, _ := m.ledger.Slave(msg.Slave)
	if s := m.slaves[msg.Slave]; s != nil && known.Boot == msg.Boot {
		s.pid = nil
		ctx.Send(m.hosts, &protocol.SlavesChanged{Connections: m.connections()})
	}
}

// refuse notes that a slave is there that is not understood, or is gone.
func (m *Master) refuse(msg *SlaveRefused) {
	if !msg.Gone {
		m.barred[msg.Slave] = msg
	} else if known := m.barred[msg.Slave]; known != nil && known.Boot == msg.Boot {
		delete(m.barred, msg.Slave)
	}
}

// slaveStatuses are all slaves, and behind them those that are refused, which may have names of slaves that are gone.
func (m *Master) slaveStatuses() (all []SlaveStatus) {
	for _, known := range m.ledger.Slaves() {
		all = append(all, m.slaveStatus(known))
	}
	for _, name := range slices.Sorted(maps.Keys(m.barred)) {
		s := m.barred[name]
		all = append(all, SlaveStatus{Name: name, State: Refused, Version: s.Version, Protocol: s.Protocol,
			Address: s.Address})
	}
	return all
}

// connections is C of equation (9): those of all slaves that are there.
func (m *Master) connections() int {
	total := 0
	for _, s := range m.slaves {
		if s.pid != nil {
			total += s.connections
		}
	}
	return max(1, total)
}

func (m *Master) slaveStatus(known ledger.Slave) SlaveStatus {
	line := SlaveStatus{Name: known.Name, State: Lost, Slots: known.Slots, Leases: known.Held}
	if !known.At.IsZero() {
		line.Silent = time.Since(known.At).Round(time.Millisecond).String()
	}
	s := m.slaves[known.Name]
	if s == nil {
		return line // it held leases when the master was started, and has not registered
	}
	switch {
	case s.pid == nil:
	case time.Since(known.At) > silentAfter:
		line.State = Silent
	case m.idle(known.Name, known.Boot) && known.Held == 0:
		line.State = Drained
	case m.idle(known.Name, known.Boot):
		line.State = Draining
	default:
		line.State = Working
	}
	line.Version, line.Address, line.Connections = s.version, s.address, s.connections
	line.Unstored, line.Memory, line.Goroutines = int(s.asked.GetUnstored()), s.asked.GetMemoryBytes(),
		int(s.asked.GetGoroutines())
	for _, told := range s.asked.GetMailboxes()[:min(mailboxesShown, len(s.asked.GetMailboxes()))] {
		line.Mailboxes = append(line.Mailboxes, Mailboxes{told.Kind, int(told.Actors), int(told.Waiting),
			int(told.Longest), told.Taken})
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
