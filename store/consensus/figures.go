package consensus

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Role is what a member is in its group.
type Role string

// The roles.
const (
	RoleLeader    Role = "leader"
	RoleCandidate Role = "candidate" // it asks for votes: nobody leads
	RoleFollower  Role = "follower"
	RoleCopy      Role = "copy" // without a vote, or not a member yet
)

// Roles are all of them.
var Roles = [...]Role{RoleLeader, RoleCandidate, RoleFollower, RoleCopy}

// Figures are those of one member, for its metrics.
type Figures struct {
	Role      Role
	Term      uint64
	Last      uint64 // index of the last entry in its log
	Committed uint64 // index of the last entry that a majority has, as far as it knows
	Applied   uint64 // index of the last entry that its state has

	Silence       time.Duration // since it heard of the leader; 0: it leads, or never did
	LeaderChanges uint64        // how often another member led than before
	Checkpoints   uint64        // made
	Received      uint64        // copies of the state received, because it was far behind or new
	Sent          uint64        // such copies sent

	Members []Member // while it leads: all members, as of the last Tend
}

// counts are those of Figures, since the start of this process.
type counts struct {
	leaderChanges, checkpoints, received, sent atomic.Uint64
}

// Figures are those of this member.
func (g *Group) Figures() Figures {
	counts := &g.machine.counts
	f := Figures{Role: g.role(), Term: g.raft.CurrentTerm(), Last: g.raft.LastIndex(), Committed: g.raft.CommitIndex(),
		Applied: g.raft.AppliedIndex(), LeaderChanges: counts.leaderChanges.Load(),
		Checkpoints: counts.checkpoints.Load(), Received: counts.received.Load(), Sent: counts.sent.Load()}
	if f.Role == RoleLeader {
		if seen := g.seen.Load(); seen != nil {
			f.Members = *seen
		}
	} else if heard := g.raft.LastContact(); !heard.IsZero() {
		f.Silence = time.Since(heard)
	}
	return f
}

func (g *Group) role() Role {
	switch g.raft.State() {
	case raft.Leader:
		return RoleLeader
	case raft.Candidate:
		return RoleCandidate
	}
	if server, ok := g.member(named(g.o.Name)); ok && server.Suffrage == raft.Voter {
		return RoleFollower
	}
	return RoleCopy
}

// named says which member has a name.
func named(name string) func(raft.Server) bool {
	return func(s raft.Server) bool { return string(s.ID) == name }
}

// member is one of the group, as far as this member knows.
func (g *Group) member(is func(raft.Server) bool) (server raft.Server, ok bool) {
	all := g.raft.GetConfiguration().Configuration().Servers // as this member knows it: there is no error
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return server, false
}

// Has reports whether a master is a member of the group, at that address.
func (g *Group) Has(name, address string) bool {
	server, ok := g.member(named(name))
	return ok && string(server.Address) == address
}

// observe counts changes of the leader, and cuts connections to the one before.
func (g *Group) observe(o *raft.Observation) bool {
	if led, ok := o.Data.(raft.LeaderObservation); ok {
		g.passages.cut(led.LeaderAddr, time.Since(g.raft.LastContact()) >= g.o.Timeout*3/4, g.o.grace)
		if led.LeaderID != "" && g.ledBy.Swap(led.LeaderID) != any(led.LeaderID) {
			g.machine.counts.leaderChanges.Add(1)
		}
	}
	return false
}
