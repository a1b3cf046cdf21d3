package config

import (
	"errors"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/cluster"
	"henro/master"
	"henro/master/lending"
	"henro/messages"
	"henro/slave"
)

// Enlist sets a slave to work in a system, for masters that it finds through the gossip. Before, if it is not nil, is
// called first, to spawn what must live in the system before the slave.
func (p *Peers) Enlist(system *actor.ActorSystem, o slave.Options, before func() error,
	log *logrus.Entry) (pid *actor.PID, joined *Joined, err error) {
	o.Name, o.Boot = p.Name, cluster.NewBoot()
	joined, err = p.Meet(system, cluster.Options{
		Role: cluster.Slave, Boot: o.Boot, Capacity: o.Connections,
		Notify: func(event cluster.Event) { tellSlave(system, pid, event) },
	}, func(self *cluster.Options) error {
		o.Address = self.ActorAddress
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		props, err := slave.Props(o, log)
		if err != nil {
			return Usage("%v", err)
		}
		pid, err = system.Root.SpawnNamed(props, slave.ActorName)
		return err
	}, log)
	return pid, joined, err
}

// tellSlave gives a slave the news of masters.
func tellSlave(system *actor.ActorSystem, pid *actor.PID, event cluster.Event) {
	switch e := event.(type) {
	case *cluster.MemberUp:
		if e.Member.Role == cluster.Master {
			system.Root.Send(pid, masterSeen(e.Member))
		}
	case *cluster.MemberUpdated:
		if e.Member.Role == cluster.Master {
			system.Root.Send(pid, masterSeen(e.Member))
		}
		if e.Member.Role == cluster.Standby && e.Before.Role == cluster.Master {
			system.Root.Send(pid, &slave.MasterLost{Boot: e.Member.Boot})
		}
	case *cluster.MemberDown:
		if e.Member.Role == cluster.Master {
			system.Root.Send(pid, &slave.MasterLost{Boot: e.Member.Boot})
		}
	}
}

func masterSeen(m cluster.Member) *slave.MasterSeen {
	return &slave.MasterSeen{PID: m.PID(master.ActorName), Claim: claimOf(m)}
}

// claimOf is what a master says of itself in the gossip.
func claimOf(m cluster.Member) messages.Claim {
	return messages.Claim{Crawl: m.Crawl, Term: m.Term, Boot: m.Boot}
}

// Lead opens the state of a crawl, sets a master to work on it, and has the gossip show in which term it leads. Before,
// if it is not nil, is called first, to spawn what must live in the system before the master. Notify, if it is not nil,
// is called with each member that appears or is lost, and reports whether the master is to be told.
func (p *Peers) Lead(system *actor.ActorSystem, o master.Options, before func(*master.Options) error,
	notify func(cluster.Event) (tell bool), log *logrus.Entry) (node *master.Node, joined *Joined, err error) {
	joined, err = p.Meet(system, cluster.Options{
		Role: cluster.Master, Boot: o.Boot,
		Notify: func(event cluster.Event) {
			if notify == nil || notify(event) {
				TellMaster(system, node, event)
			}
		},
	}, func(self *cluster.Options) error {
		if before != nil {
			if err := before(&o); err != nil {
				return err
			}
		}
		if node, err = master.Start(system, o, log); err != nil {
			return StateError(o.Dir, err)
		}
		self.Crawl, self.Term = node.Claim().Crawl, node.Claim().Term
		return nil
	}, log)
	if err != nil && node != nil {
		err = errors.Join(err, node.Close())
	}
	return node, joined, err
}

// TellMaster gives a master the news of slaves, and of masters of the same crawl.
func TellMaster(system *actor.ActorSystem, node *master.Node, event cluster.Event) {
	switch e := event.(type) {
	case *cluster.MemberUp:
		tellMasterOfAnother(system, node, e.Member)
	case *cluster.MemberUpdated:
		tellMasterOfAnother(system, node, e.Member)
	case *cluster.MemberDown:
		if e.Member.Role == cluster.Slave {
			system.Root.Send(node.PID(), &lending.SlaveLost{Slave: e.Member.Name, Boot: e.Member.Boot})
		}
	case *cluster.MemberRefused:
		if s := e.Member; s.Role == cluster.Slave {
			system.Root.Send(node.PID(), &lending.SlaveRefused{
				Slave: s.Name, Boot: s.Boot, Version: s.Version, Address: s.ActorAddress, Protocol: s.Protocol,
				Gone: e.Gone,
			})
		}
	}
}

func tellMasterOfAnother(system *actor.ActorSystem, node *master.Node, m cluster.Member) {
	if m.Role == cluster.Master && m.Crawl == node.Claim().Crawl {
		system.Root.Send(node.PID(), &master.RivalSeen{Claim: claimOf(m), Name: m.Name, Address: m.ActorAddress})
	}
}
