// Command henro-master hands out the work of a crawl to slaves that it finds through the gossip.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/cmd/service"
	"henro/master"
)

// version is set by the linker (-X main.version=…) in releases.
var version = "dev"

func main() {
	config.SetVersion(version)
	os.Exit(service.Main("henro-master", func(ctx context.Context) error { return newCommand().ExecuteContext(ctx) }))
}

// flags are all flags of henro-master.
type flags struct {
	crawl config.Crawl
	peers config.Peers
	log   config.Log
	run   config.Run
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "henro-master [flags] SEED…",
		Short: "Lead a crawl: state, schedules and leases",
		Long: `Lead a crawl: keep its state under --dir, lend hosts to the slaves that join, and store what they find.
It ends when nothing is left to visit, or runs on with --continuous. The same --dir resumes.`,
		Example: "  henro-master --dir crawl --contact you@example.org --seeds seeds.txt --gossip " +
			"127.0.0.1:7781 --actors 127.0.0.1:7782",
		Version:       config.Version(),
		Args:          cobra.ArbitraryArgs, // seeds
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := config.Load(cmd.Flags(), f.run.Config, config.Settings()); err != nil {
				return err
			}
			return f.lead(cmd, arguments)
		},
	}
	cmd.SetFlagErrorFunc(config.FlagError)
	config.AddFlags(cmd, append(f.crawl.Groups(),
		config.Group{Title: "How nodes meet", Register: func(s *pflag.FlagSet) {
			f.peers.Register(s, "127.0.0.1:7781",
				"127.0.0.1:7782")
		}},
		config.Group{Title: "What to show",
			Register: func(s *pflag.FlagSet) { f.run.Register(s); f.log.Register(s) }})...)
	cmd.AddCommand(config.NewManCommand())
	cmd.AddCommand(service.Commands("henro-master")...)
	return cmd
}

// lead checks everything before it touches anything, then leads the crawl to its end.
func (f *flags) lead(cmd *cobra.Command, arguments []string) error {
	seeds, err := f.crawl.Seeds(arguments, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := f.crawl.Begins(seeds, f.crawl.Continuous); err != nil { // which may wait for its seeds
		return err
	}
	o, err := f.crawl.Options(cmd.Flags())
	if err != nil {
		return err
	}
	log, err := f.log.Logger()
	if err != nil {
		return err
	}
	f.crawl.Resume(cmd.Flags(), &o)
	endNames, err := f.crawl.Names(&o)
	if err != nil {
		return err
	}
	defer endNames()
	if err := f.run.Traces.Check(); err != nil {
		return err
	}
	endpoint, err := f.run.HTTP.Open()
	if err != nil {
		return err
	}
	defer endpoint.Close()
	pings, err := f.crawl.OpenPings()
	if err != nil {
		return err
	}
	defer pings.Close()
	if err := config.Dir(o.Dir); err != nil {
		return err
	}
	defer config.KeepLog(log, o.Dir, "henro-master").Close()
	o.Name, o.Boot, o.Version = f.peers.Name, cluster.NewBoot(), config.Version()
	status, err := f.crawlWith(cmd.Context(), o, seeds, endpoint, pings, log.WithField("node", f.peers.Name))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(cmd.OutOrStdout()).Encode(master.SummaryOf(status)); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return config.EndError(cmd.Context(), status)
}

func (f *flags) crawlWith(ctx context.Context, o master.Options, seeds []master.Seed,
	endpoint, pings *config.Endpoint, log *logrus.Entry) (master.Status, error) {
	telemetry := config.NewTelemetry(o.Name, o.Name, log, floor.SystemOptions{})
	endTraces, err := telemetry.Export(ctx, &f.run.Traces, o.Name)
	if err != nil {
		return master.Status{}, err
	}
	defer endTraces()
	system := telemetry.System
	var node *master.Node
	joined, err := f.peers.Meet(system, cluster.Options{
		Role: cluster.Master, Boot: o.Boot,
		Notify: func(event cluster.Event) {
			tell(system, node.PID(), event)
		},
	}, func(string) (err error) {
		if _, err := floor.StartTracing(system, telemetry.Tracer); err != nil {
			return err
		}
		telemetry.OfMaster(&o)
		node, err = master.Start(system, o, log)
		return config.StateError(o.Dir, err)
	}, log)
	if err != nil {
		return master.Status{}, err
	}
	log.WithFields(logrus.Fields{"actors": joined.Remote.Address(),
		"gossip": joined.Node.Self().GossipAddress}).Info("master ready")
	status, err := attend(ctx, node, telemetry, seeds, endpoint, pings, o.Dir)
	err = errors.Join(err, node.Close())
	joined.Leave()
	return status, err
}

// tell gives the master the news of slaves.
func tell(system *actor.ActorSystem, pid *actor.PID, event cluster.Event) {
	switch e := event.(type) {
	case *cluster.MemberDown:
		if e.Member.Role == cluster.Slave {
			system.Root.Send(pid, &master.SlaveLost{Slave: e.Member.Name, Boot: e.Member.Boot})
		}
	case *cluster.MemberRefused:
		if s := e.Member; s.Role == cluster.Slave {
			system.Root.Send(pid, &master.SlaveRefused{
				Slave: s.Name, Boot: s.Boot, Version: s.Version, Address: s.ActorAddress, Protocol: s.Protocol,
				Gone: e.Gone,
			})
		}
	}
}

// attend answers HTTP and waits for the end.
func attend(ctx context.Context, node *master.Node, telemetry *config.Telemetry, seeds []master.Seed,
	endpoint, pings *config.Endpoint, dir string) (master.Status, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer endpoint.Note(dir)()
	group, inner := errgroup.WithContext(inner)
	telemetry.Go(group, "HTTP", func() error { return endpoint.Lead(inner, node, telemetry) })
	telemetry.Go(group, "pings", func() error { return pings.ReceivePings(inner, node) })
	telemetry.Go(group, "the watch of mailboxes", func() error { return telemetry.Watch(inner) })
	var status master.Status
	telemetry.Go(group, "the crawl", func() (err error) {
		defer cancel()
		status, err = node.Run(ctx, inner, seeds)
		return err
	})
	return status, group.Wait()
}
