package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/slave"
	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// crawlFlags are all flags of henro crawl.
type crawlFlags struct {
	crawl config.Crawl
	work  config.Work
	log   config.Log
	run   config.Run
}

func (c *crawlFlags) register(cmd *cobra.Command) {
	config.AddFlags(cmd, append(c.crawl.Groups(),
		config.Group{Title: "The slave within", Register: c.work.Register},
		config.Group{Title: "What to show",
			Register: func(f *pflag.FlagSet) { c.run.Register(f); c.log.Register(f) }})...)
}

func newCrawlCommand() *cobra.Command {
	c := crawlFlags{log: config.Log{Level: "warn"}} // the progress says the rest
	cmd := &cobra.Command{
		Use:   "crawl [flags] SEED…",
		Short: "Crawl from these seeds: master and slave in one process",
		Long: `Crawl from these seeds, with master and slave in one process and nothing else to install.
It ends when nothing is left to visit, or runs on with --continuous. The same --dir resumes.`,
		Example: `  henro crawl --contact you@example.org --depth 2 https://example.org/`,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := config.Load(cmd.Flags(), c.run.Config, config.Settings()); err != nil {
				return err
			}
			seeds, err := c.crawl.Seeds(arguments, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := c.crawl.Begins(seeds, false); err != nil {
				return err
			}
			return c.start(cmd, seeds)
		},
	}
	c.register(cmd)
	return cmd
}

// start checks everything before it touches anything, then crawls.
func (c *crawlFlags) start(cmd *cobra.Command, seeds []master.Seed) error {
	o, err := c.crawl.Options(cmd.Flags())
	if err != nil {
		return err
	}
	if err := cmp.Or(c.work.Check(), c.run.CheckProgress(), c.run.Traces.Check()); err != nil {
		return err
	}
	log, err := c.log.Logger()
	if err != nil {
		return err
	}
	begunBefore := store.Exists(filepath.Join(o.Dir, "state"))
	c.crawl.Resume(cmd.Flags(), &o)
	endNames, err := c.crawl.Names(&o)
	if err != nil {
		return err
	}
	defer endNames()
	endpoint, err := c.run.HTTP.Open(log)
	if err != nil {
		return err
	}
	defer endpoint.Close()
	if err := config.Dir(o.Dir); err != nil {
		return err
	}
	defer config.KeepLog(log, o.Dir, "henro").Close()
	e := &embedded{o: o, work: c.work, operator: c.crawl.Contact, seeds: seeds, log: log, traces: c.run.Traces,
		progress: newProgress(cmd.ErrOrStderr(), c.run.Progress)}
	log.Logger.SetOutput(e.progress.above(log.Logger.Out))
	status, err := e.crawl(cmd.Context(), func(ctx context.Context, node *master.Node) error {
		defer endpoint.Note(o.Dir)()
		return endpoint.Lead(ctx, node, e.telemetry)
	})
	if err != nil {
		return err
	}
	if err := keepAbout(o.Dir, c.work, e.info(), seeds, cmd.Flags()); err != nil {
		log.WithField("err", err).Warn("the settings and the log of this run are not in the archive")
	}
	if _, err := cdxj.MergeDir(filepath.Join(o.Dir, "warc")); err != nil {
		log.WithField("err", err).Warn("the index of the archive is not merged; henro repair does it")
	}
	printSummary(cmd.OutOrStdout(), o.Dir, status, &e.did)
	if begunBefore && status.Round == nil && status.End == master.Finished && status.PerSecond == 0 {
		printNothingDue(cmd.OutOrStdout(), o.Dir)
	}
	return config.EndError(cmd.Context(), status)
}

// embedded is a crawl whose master and slave share a process.
type embedded struct {
	o         master.Options
	work      config.Work
	seeds     []master.Seed
	log       *logrus.Entry
	progress  *progress
	traces    config.Traces
	telemetry *config.Telemetry                                                    // made by crawl
	dial      func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network
	operator  string                                                               // said in every WARC file
	adjust    func(*slave.Options)                                                 // nil: nothing beyond what work says
	system    floor.SystemOptions                                                  // for tests that make actors fail
	slave     *slave.API                                                           // set by startSlave
	did       slave.Counts                                                         // by the slave; set at the end
}

// crawl runs to the end of the crawl or of the context. Whatever else belongs to it runs beside it as serve.
func (e *embedded) crawl(ctx context.Context, serve func(context.Context, *master.Node) error) (master.Status, error) {
	boot := cluster.NewBoot()
	e.o.Name, e.o.Boot, e.o.Version, e.o.StallLimit = "local", boot, version, stallLimit
	e.telemetry = config.NewTelemetry("henro", "local", e.log, e.system)
	endTraces, err := e.telemetry.Export(ctx, &e.traces, e.o.Name)
	if err != nil {
		return master.Status{}, err
	}
	defer endTraces()
	system := e.telemetry.System
	if _, err := floor.StartTracing(system, e.telemetry.Tracer); err != nil {
		return master.Status{}, err
	}
	e.telemetry.OfMaster(&e.o)
	node, err := master.Start(system, e.o, e.log)
	if err != nil {
		return master.Status{}, config.StateError(e.o.Dir, err)
	}
	slavePID, err := e.startSlave(system, node.PID(), boot)
	if err != nil {
		return master.Status{}, errors.Join(err, node.Close())
	}
	status, err := e.attend(ctx, node, serve)
	if did, err := e.slave.Counts(context.WithoutCancel(ctx)); err == nil { // else they are left out
		e.did = *did
	}
	// The slave ends first: what it has archived is reported, and its files are closed.
	if waited := system.Root.PoisonFuture(slavePID).Wait(); waited != nil {
		err = errors.Join(err, fmt.Errorf("end the slave: %w", waited))
	}
	return status, errors.Join(err, node.Close())
}

// archivePart stands for the archive among the parts of the store that are stalled.
const archivePart = -1

// stallLimit is how long the crawl waits for room: somebody who makes some is at hand, or comes after the crawl has
// said in words and exit code what is wrong.
const stallLimit = 10 * time.Second

func (e *embedded) startSlave(system *actor.ActorSystem, masterPID *actor.PID, boot string) (*actor.PID, error) {
	o, err := e.work.Options(e.o.Dir)
	if err != nil {
		return nil, err
	}
	o.Name, o.Boot, o.Version, o.Dial = "local", boot, version, e.dial
	o.Archive.Writer.Info = e.info()
	e.telemetry.OfSlave(&o)
	// The only slave: when it cannot archive, nothing can be done.
	o.ArchiveStopped = func(err error) {
		switch {
		case err == nil:
			system.Root.Send(masterPID, &protocol.StoreResumed{Partition: archivePart})
		case warc.DiskFull(err):
			err = fmt.Errorf("the archive: %w (%w)", store.ErrDiskFull, err)
			fallthrough
		default:
			system.Root.Send(masterPID, &protocol.StoreStalled{Partition: archivePart, Err: err})
		}
	}
	if e.adjust != nil {
		e.adjust(&o)
	}
	props, err := slave.Props(o, e.log)
	if err != nil {
		return nil, config.Usage("%v", err)
	}
	pid, err := system.Root.SpawnNamed(props, slave.ActorName)
	if err != nil {
		return nil, fmt.Errorf("spawn the slave: %w", err)
	}
	e.slave = &slave.API{System: system, PID: pid}
	e.telemetry.Metrics.Register(e.slave.Collector())
	system.Root.Send(pid, &slave.MasterSeen{PID: masterPID, Boot: boot})
	return pid, nil
}

// attend plants the seeds and waits for the end.
func (e *embedded) attend(ctx context.Context, node *master.Node,
	serve func(context.Context, *master.Node) error) (master.Status, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	group, inner := errgroup.WithContext(inner)
	e.telemetry.Go(group, "HTTP", func() error { return serve(inner, node) })
	e.telemetry.Go(group, "the watch of mailboxes", func() error { return e.telemetry.Watch(inner) })
	e.telemetry.Go(group, "the progress", func() error { e.progress.run(inner, node); return nil })
	var status master.Status
	e.telemetry.Go(group, "the crawl", func() (err error) {
		defer cancel()
		status, err = node.Run(ctx, inner, e.seeds)
		return err
	})
	return status, group.Wait()
}

// printSummary says at the end what was done and where it lies.
func printSummary(w io.Writer, dir string, s master.Status, did *slave.Counts) {
	fmt.Fprintf(w, "%d pages, %d requisites and %d revisits of %d hosts, %d links, %s in %s (%.1f/s): %s\n",
		s.Totals.Pages, s.Totals.Requisites, s.Totals.Revisits, s.Hosts, s.Totals.Links, sizeWords(s.Totals.Bytes),
		time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond), s.PerSecond, s.End)
	if r := s.Round; r != nil {
		fmt.Fprintf(w, "  round %d: %d new, %d changed, %d unchanged, %d not to be had\n", r.Number, r.New, r.Changed,
			r.Unchanged, r.Gone)
	}
	if s.Frontier != nil {
		fmt.Fprintf(w, "  frontier %s: %d URLs dropped for want of room, %d taken when they came back\n",
			s.Frontier.Policy, s.Totals.Dropped, s.Totals.Returned)
	}
	printErrors(w, &s)
	if skipped := skipWords(&s.Totals); skipped != "" {
		fmt.Fprintln(w, "skipped ", skipped)
	}
	if did.Identical > 0 {
		fmt.Fprintf(w, "stored once  %d answers had a payload that the archive held already: %s\n", did.Identical,
			sizeWords(uint64(did.IdenticalBytes)))
	}
	fmt.Fprintf(w, "archive  %s\nsummary  %s\nlinks    henro export --what links --to csv --dir %s links.csv\n",
		filepath.Join(dir, "warc"), filepath.Join(dir, "summary.json"), dir)
}

// printNothingDue says why a crawl that was run again has visited nothing, and when it would.
func printNothingDue(w io.Writer, dir string) {
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		return
	}
	defer state.Close()
	var first time.Time
	for _, p := range state.Partitions {
		if at, err := p.NextDue(nil); err == nil && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		fmt.Fprintf(w, "nothing new was left to visit; by its timetable the first known page is due at %s: "+
			"--again makes a round now, --continuous visits pages when they are due\n", moment(first))
	}
}

// info is what every WARC file of the crawl says of it.
func (e *embedded) info() warc.Info {
	info := config.ArchiveInfo()
	info.UserAgent, info.Operator = e.o.Fetch.UserAgent, e.operator
	return info
}
