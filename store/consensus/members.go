package consensus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Status is how one member stands.
type Status struct {
	Name    string `json:"name"`
	Leader  string `json:"leader,omitempty"` // as far as it knows; empty: nobody leads
	Term    uint64 `json:"term"`
	Applied uint64 `json:"applied"` // index of the last entry that its state has
	Last    uint64 `json:"last"`    // index of the last entry that is committed, as far as it knows

	Identity identity `json:"identity"`
	Fresh    bool     `json:"fresh"` // its log is empty
}

// Status is how this member stands.
func (g *Group) Status() Status {
	_, leader := g.raft.LeaderWithID()
	return Status{Name: g.o.Name, Leader: string(leader), Term: g.raft.CurrentTerm(), Applied: g.raft.AppliedIndex(),
		Last: g.raft.CommitIndex(), Identity: g.own.identity, Fresh: g.raft.LastIndex() == 0}
}

// Member is one master of a group, as its leader sees it.
type Member struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`          // it may lead, and counts for a majority
	Leads   bool   `json:"leads"`          // it is the leader
	Lost    string `json:"lost,omitempty"` // why it is not there: no answer, or a wrong one; empty: it is
	Behind  uint64 `json:"behind"`         // entries that its state lacks
}

// Members lists all members of the group, and asks each how it stands.
func (g *Group) Members(ctx context.Context) ([]Member, error) {
	f := g.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return nil, err
	}
	own := g.Status()
	var all []Member
	for _, server := range f.Configuration().Servers {
		all = append(all, Member{Name: string(server.ID), Address: string(server.Address),
			Voter: server.Suffrage == raft.Voter, Leads: own.Leader == string(server.ID)})
	}
	var asked sync.WaitGroup
	for i := range all {
		asked.Go(func() {
			m := &all[i]
			s, err := own, error(nil)
			if m.Name != own.Name {
				s, err = g.port.Ask(ctx, m.Address)
			}
			switch {
			case err != nil:
				m.Lost = err.Error()
			case s.Name != m.Name:
				m.Lost = "another master is there: " + s.Name
			case g.machine.differs(m.Name, s):
				m.Lost = errAnotherDisk.Error()
			default:
				m.Behind = own.Last - min(own.Last, s.Applied)
			}
		})
	}
	asked.Wait()
	return all, nil
}

// caughtUp is how many entries a member may lack and become a voter: less than a second brings.
const caughtUp = 64

// goneAfter is how long a voter may be away until another one takes its place: longer than a restart of its machine.
const goneAfter = 5 * time.Minute

// Tend keeps the group as it should be; the leader calls it now and then. present are the masters that are there, with
// their addresses. One that is no member is added, without a vote. The number of voters is kept odd, as one more
// survives no more deaths: two members that have caught up become voters together, or one takes the place of a voter
// that has been gone for a while. That voter is removed only when three others are there: with fewer nothing would be
// won. Tend goes on if a master may not become a member, and returns why in the end.
func (l *Leadership) Tend(ctx context.Context, present []Member) (refused error) {
	all, err := l.Members(ctx)
	if err != nil {
		return err
	}
	l.seen.Store(&all)
	now := time.Now()
	for _, p := range present {
		i := slices.IndexFunc(all, func(m Member) bool { return m.Name == p.Name })
		if i >= 0 && all[i].Address == p.Address {
			continue
		}
		s, err := l.port.Ask(ctx, p.Address)
		add := l.raft.AddNonvoter
		switch {
		case err != nil:
		case i < 0:
			err = l.admit(p.Name, s)
		case s.Name == p.Name && l.machine.differs(p.Name, s):
			err = errAnotherDisk
		case all[i].Voter: // it was started again at another address
			add = l.raft.AddVoter
		}
		if err == nil {
			return l.await(add(raft.ServerID(p.Name), raft.ServerAddress(p.Address), 0, enqueueTimeout))
		}
		refused = errors.Join(refused, fmt.Errorf("%s: %w", p.Name, err))
	}
	var spare, gone []Member
	voters, there := 0, 0
	for _, m := range all {
		if m.Lost == "" {
			delete(l.lostAt, m.Name)
		} else if l.lostAt[m.Name].IsZero() {
			l.lostAt[m.Name] = now
		}
		switch {
		case !m.Voter && m.Lost == "" && m.Behind <= caughtUp:
			spare = append(spare, m)
		case m.Voter && m.Lost != "" && now.Sub(l.lostAt[m.Name]) >= goneAfter:
			gone = append(gone, m)
		}
		if m.Voter {
			voters++
			if m.Lost == "" {
				there++
			}
		}
	}
	add := 0
	switch {
	case len(gone) > 0, voters%2 == 0:
		add = 1
	case voters == there && len(spare) >= 2:
		add = 2
	}
	for _, m := range spare[:min(add, len(spare))] {
		if err := l.await(l.raft.AddVoter(raft.ServerID(m.Name), raft.ServerAddress(m.Address), 0,
			enqueueTimeout)); err != nil {
			return err
		}
	}
	if len(gone) > 0 && there >= 3 {
		return l.Remove(gone[0].Name)
	}
	return refused
}

// Leads reports whether this member leads, as far as it knows.
func (g *Group) Leads() bool { return g.raft.State() == raft.Leader }

// Leads reports whether this leadership lasts, as far as this member knows.
func (l *Leadership) Leads() bool {
	return l.raft.State() == raft.Leader && l.raft.CurrentTerm() == l.Term
}

// Leave hands the leadership over to the voter that has caught up best.
func (g *Group) Leave() error { return g.await(g.raft.LeadershipTransfer()) }

// Remove ends a membership. It is called on the leader.
func (g *Group) Remove(name string) error {
	if name == g.o.Name {
		return errors.New("the master that leads cannot be removed: move the leadership first")
	}
	return g.await(g.raft.RemoveServer(raft.ServerID(name), 0, enqueueTimeout))
}

// Move hands the leadership over to another voter that has caught up.
func (g *Group) Move(name string) error {
	server, ok := g.member(named(name))
	if !ok {
		return errors.New("there is no master " + name)
	}
	return g.await(g.raft.LeadershipTransferToServer(server.ID, server.Address))
}
