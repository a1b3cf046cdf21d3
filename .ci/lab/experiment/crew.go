package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"henro/actors/floor"
	"henro/actors/reading"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
)

// crew is a master and its slaves: nodes of a cluster on loopback, in this process.
type crew struct {
	master *master.Node
	group  *group           // of several masters; nil: one
	joined []*config.Joined // of the master, then of the slaves
	slaves []member
}

// member is one slave at work.
type member struct {
	system *actor.ActorSystem
	pid    *actor.PID
}

// work is what a crew is told.
type work struct {
	dir    string
	flags  []string // of henro-master, besides --dir
	tasks  int      // URLs of a task of the thesis; 0: of another crawl
	slaves int
	share  int           // masters that share the crawl; 0: one alone
	flush  time.Duration // what a slave has reported is counted after so long
}

// hire starts a master and its slaves, and returns when all are welcome. Nothing is fetched before begin.
func hire(ctx context.Context, w work, log *logrus.Entry) (c *crew, err error) {
	c = &crew{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.dismiss())
		}
	}()
	o, err := w.options()
	if err != nil {
		return c, err
	}
	if w.share > 0 {
		g, err := unite(ctx, w.dir, w.share, o.Store)
		if err != nil {
			return c, err
		}
		c.group = g
		o.State = c.group.lead.State
	}
	system := floor.NewSystem(o.Name, log, floor.SystemOptions{})
	node, at, err := loopback(o.Name).Lead(system, o, nil, nil, log)
	if err != nil {
		return c, err
	}
	c.master = node
	c.joined = append(c.joined, at)
	for i := range w.slaves {
		if err := c.hireSlave(fmt.Sprintf("slave%d", i+1), &w, log); err != nil {
			return c, err
		}
	}
	for {
		status, err := c.status(ctx)
		if err != nil || len(status.Slaves) == w.slaves {
			return c, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
}

// options are those that henro-master makes out of the flags, and what has none.
func (w *work) options() (master.Options, error) {
	var crawl config.Crawl
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	crawl.Register(flags)
	if err := flags.Parse(append([]string{"--dir", filepath.Join(w.dir, "master")}, w.flags...)); err != nil {
		return master.Options{}, err
	}
	o, err := crawl.Options(flags)
	o.Name, o.Boot = "master", cluster.NewBoot()
	o.Partition.FlushAge = w.flush
	if w.tasks > 0 { // as the thesis has it
		o.TaskURLs, o.Hosts.Admission.MaxRedirects = w.tasks, 0
	}
	return o, err
}

func (c *crew) hireSlave(name string, w *work, log *logrus.Entry) error {
	var work config.Work
	flags := pflag.NewFlagSet("slave", pflag.ContinueOnError)
	work.Register(flags)
	if err := flags.Parse([]string{"--connections", "1"}); err != nil {
		return err
	}
	o, err := work.Options(filepath.Join(w.dir, name), func(string) {})
	if err != nil {
		return err
	}
	o.Parsers = 1
	m := member{system: floor.NewSystem(name, log, floor.SystemOptions{})}
	peers := loopback(name, c.joined[0].Node.Self().GossipAddress)
	var at *config.Joined
	if m.pid, at, err = peers.Enlist(m.system, o, nil, log); err != nil {
		return err
	}
	c.joined, c.slaves = append(c.joined, at), append(c.slaves, m)
	return nil
}

// loopback is where a node of a crew is met.
func loopback(name string, join ...string) *config.Peers {
	return &config.Peers{Name: name, Gossip: "127.0.0.1:0", Actors: "127.0.0.1:0", Join: join}
}

func (c *crew) status(ctx context.Context) (*master.Status, error) {
	return master.Ask[*master.Status](ctx, c.master, &master.StatusAsked{})
}

// begin sets the crew to work; what it returns hears the end.
func (c *crew) begin(ctx context.Context, seeds []reading.Seed) (ended <-chan error) {
	end := make(chan error, 1)
	go func() {
		_, err := c.master.Run(ctx, context.WithoutCancel(ctx), seeds)
		end <- err
	}()
	return end
}

// dismiss ends all that was started.
func (c *crew) dismiss() (err error) {
	for _, m := range c.slaves {
		err = errors.Join(err, m.system.Root.PoisonFuture(m.pid).Wait())
	}
	if c.master != nil {
		err = errors.Join(err, c.master.Close())
	}
	for _, at := range c.joined {
		at.Leave()
	}
	if c.group != nil {
		err = errors.Join(err, c.group.close())
	}
	return err
}
