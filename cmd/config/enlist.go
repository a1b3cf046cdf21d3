package config

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/cluster"
	"henro/master"
	"henro/slave"
)

// Enlist sets a slave to work in a system, for masters that it finds through the gossip. What is to live in the system
// before it is spawned by before, which may be nil.
func (p *Peers) Enlist(system *actor.ActorSystem, o slave.Options, before func() error,
	log *logrus.Entry) (pid *actor.PID, joined *Joined, err error) {
	o.Name, o.Boot = p.Name, cluster.NewBoot()
	joined, err = p.Meet(system, cluster.Options{
		Role: cluster.Slave, Boot: o.Boot, Capacity: o.Connections,
		Notify: func(event cluster.Event) { tellSlave(system, pid, event) },
	}, func(address string) error {
		o.Address = address
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
			system.Root.Send(pid, &slave.MasterSeen{PID: e.Member.PID(master.ActorName), Boot: e.Member.Boot})
		}
	case *cluster.MemberDown:
		if e.Member.Role == cluster.Master {
			system.Root.Send(pid, &slave.MasterLost{Boot: e.Member.Boot})
		}
	}
}
