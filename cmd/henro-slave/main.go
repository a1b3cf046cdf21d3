// Command henro-slave crawls for a master that it finds through the gossip.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/cmd/config"
	"henro/cmd/feed/beside"
	"henro/cmd/service"
	"henro/master/pictures"
	"henro/slave"
	"henro/slave/render/lenders"
)

// version is set by the linker (-X main.version=…) in releases.
var version = "dev"

// drainFor bounds the giving back of leases after the first signal; a fetch under way may take a minute.
const drainFor = 70 * time.Second

// collectFor bounds the sending of the last files, of 1 GB each at 2 MB/s. A second signal ends it.
const collectFor = 10 * time.Minute

func main() {
	config.SetVersion(version)
	os.Exit(service.Main("henro-slave", func(ctx context.Context) error { return config.Execute(ctx, newCommand()) }))
}

func newCommand() *cobra.Command {
	var peers config.Peers
	var work config.Work
	var logs config.Log
	var http config.HTTP
	var collect config.Collect
	var changes beside.Changes
	var dir, file string
	cmd := &cobra.Command{
		Use:   "henro-slave --join HOST:PORT [flags]",
		Short: "Crawl for a master found through the gossip",
		Long: `Crawl for a master that is found through the gossip. What it fetches is archived under --dir; everything
else lies with the master. The first interrupt gives all hosts back and ends; a second ends at once.`,
		Example: "  henro-slave --join 127.0.0.1:7781 --gossip 127.0.0.1:0 --actors 127.0.0.1:0 --name slave1 " +
			"--dir slave1",
		Version:       config.Version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Load(cmd.Flags(), file, config.Settings()); err != nil {
				return err
			}
			if len(peers.Join) == 0 {
				return config.Usage("where are the others? Give --join with the gossip address of any live node")
			}
			return run(cmd.Context(), dir, &peers, &work, &collect, &changes, &http, &logs)
		},
	}
	cmd.SetFlagErrorFunc(config.FlagError)
	config.AddFlags(cmd,
		config.Group{Title: "How nodes meet", Register: func(f *pflag.FlagSet) {
			peers.Register(f, "127.0.0.1:0", "127.0.0.1:0")
		}},
		config.Group{Title: "How to work", Register: func(f *pflag.FlagSet) {
			f.StringVar(&dir, "dir", "slave", "`DIR` for the archive")
			work.Register(f)
			collect.Register(f)
			changes.Register(f)
		}},
		config.Group{Title: "What to show", Register: func(f *pflag.FlagSet) {
			http.Register(f, "off")
			f.StringVar(&file, "config", "", "settings `FILE` (default henro.yaml, if there is one)")
			logs.Register(f)
		}})
	cmd.AddCommand(config.NewManCommand())
	return cmd
}

func run(ctx context.Context, dir string, peers *config.Peers, work *config.Work, collect *config.Collect,
	changes *beside.Changes, http *config.HTTP, logs *config.Log) error {
	log, err := logs.Logger()
	if err != nil {
		return err
	}
	if err := work.Check(); err != nil {
		return err
	}
	endpoint, err := http.Open()
	if err != nil {
		return err
	}
	defer endpoint.Close()
	if err := config.Dir(dir); err != nil {
		return err
	}
	defer config.KeepLog(log, dir, "henro-slave").Close()
	o, err := work.Options(dir, config.Unread(log))
	if err != nil {
		return err
	}
	log = log.WithField("node", peers.Name)
	sender, waits, err := collect.Sender(ctx, dir, config.WARCPrefix, peers.Key, peers.Name, log)
	if err != nil {
		return err
	}
	if sender != nil {
		o.Archive.Writer.MaxAge, o.Waits = config.CollectAge, waits
	}
	telemetry := config.NewTelemetry(peers.Name, peers.Name, log, floor.SystemOptions{})
	system := telemetry.System
	telemetry.OfSlave(&o)
	o.Mailboxes = telemetry.Tracer.Kinds
	others := lenders.New(system)
	o.Others, o.Noise = others, changes.Noise
	pid, joined, err := peers.Enlist(system, o, func() error {
		_, err := floor.StartTracing(system, telemetry.Tracer)
		return errors.Join(err, changes.Start(system, dir, sender != nil, log), pictures.Start(system, dir))
	}, log)
	if err != nil {
		return err
	}
	log.WithField("actors", joined.Remote.Address()).Info("slave ready")
	others.Know(joined.Node.Members)
	var running sync.WaitGroup
	changes.Go(ctx, &running, system, dir, joined.Node.Members, log)
	if sender != nil {
		collect.Crawl = func() (crawl string) {
			for _, m := range joined.Node.Members() {
				crawl = cmp.Or(m.Crawl, crawl) // masters have one
			}
			return crawl
		}
		running.Go(func() {
			defer floor.Guard(system, "the sender of files")
			sender.Run(ctx)
		})
	}
	api := &slave.API{System: system, PID: pid}
	telemetry.Metrics.Read(api.Figures)
	group, inner := errgroup.WithContext(ctx)
	telemetry.Go(group, "HTTP", func() error {
		return endpoint.Serve(inner, console.Process{Ready: api.Ready, Tail: telemetry.Tail}, api.Routes(),
			api.Traces().Routes(),
			telemetry.Routes())
	})
	telemetry.Go(group, "the watch of mailboxes", func() error { return telemetry.Watch(inner) })
	if err := group.Wait(); err != nil {
		log.WithField("err", err).Error("HTTP is not answered any more")
	}
	<-ctx.Done()
	log.Info("giving the hosts back")
	answer, drained := system.Root.RequestFuture(pid, &slave.Drain{}, drainFor).Result()
	if a, ok := answer.(*slave.Drained); ok && a.Unstored > 0 {
		drained = fmt.Errorf("no master takes %d results, which will be fetched again", a.Unstored)
	}
	ended := floor.End(system, pid)
	joined.Leave()
	running.Wait()
	if sender != nil { // what was open until now
		final, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectFor)
		if _, err := sender.Pass(final); err != nil {
			log.WithField("err", err).
				Error("files are not collected; they stay here, and the next start of this slave sends them")
		}
		cancel()
	}
	config.RefreshMerged(filepath.Join(dir, "warc"), log)
	if err := errors.Join(drained, ended); err != nil {
		return fmt.Errorf("give the hosts back: %w; their leases end by themselves", err)
	}
	return nil
}
