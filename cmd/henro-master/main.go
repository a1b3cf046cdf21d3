// Command henro-master hands out the work of a crawl to slaves that it finds through the gossip.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/cluster"
	"henro/cmd/config"
	"henro/cmd/service"
	"henro/master"
	"henro/messages/ticks"
	"henro/store/consensus"
)

// version is set by the linker (-X main.version=…) in releases.
var version = "dev"

func main() {
	config.SetVersion(version)
	os.Exit(service.Main("henro-master", func(ctx context.Context) error { return config.Execute(ctx, newCommand()) }))
}

// flags are all flags of henro-master.
type flags struct {
	crawl   config.Crawl
	peers   config.Peers
	masters config.Masters
	log     config.Log
	run     config.Run
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
			f.peers.Register(s, "127.0.0.1:7781", "127.0.0.1:7782")
			f.masters.Register(s)
		}},
		config.Group{Title: "What to show",
			Register: func(s *pflag.FlagSet) { f.run.Register(s); f.log.Register(s) }})...)
	cmd.AddCommand(config.NewManCommand())
	return cmd
}

// lead checks everything before it touches anything, then leads the crawl to its end.
func (f *flags) lead(cmd *cobra.Command, arguments []string) error {
	log, err := f.log.Logger()
	if err != nil {
		return err
	}
	if err := f.crawl.Define(cmd.Flags(), f.masters.Standby, func(line string) { log.Info(line) }); err != nil {
		return err
	}
	seeds, err := f.crawl.Seeds(arguments, cmd.InOrStdin())
	if err != nil {
		return err
	}
	waits := f.crawl.Continuous || f.masters.Standby // for its seeds
	if err := f.crawl.Begins(seeds, waits); err != nil {
		return err
	}
	if f.masters.Standby && len(f.peers.Join) == 0 {
		return config.Usage("which master is to be followed? Give --join with the gossip address of any live node")
	}
	o, err := f.crawl.Options(cmd.Flags())
	if err != nil {
		return err
	}
	endNames, err := f.crawl.Names(&o)
	if err != nil {
		return err
	}
	defer endNames()
	if err := config.Dir(o.Dir); err != nil {
		return err
	}
	defer config.KeepLog(log, o.Dir, "henro-master").Close()
	o.Name, o.Boot, o.Version = f.peers.Name, cluster.NewBoot(), config.Version()
	end, err := f.crawlWith(cmd.Context(), o, cmd.Flags(), seeds, log.WithField("node", f.peers.Name))
	if err != nil {
		return err
	}
	if err := json.NewEncoder(cmd.OutOrStdout()).Encode(end); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return config.EndError(cmd.Context(), end)
}

func (f *flags) crawlWith(ctx context.Context, o master.Options, given *pflag.FlagSet,
	seeds []reading.Seed, log *logrus.Entry) (end master.Summary, err error) {
	telemetry := config.NewTelemetry(o.Name, o.Name, log, floor.SystemOptions{})
	telemetry.OfMaster(&o)
	m := &masters{flags: f, o: o, given: given, seeds: seeds, telemetry: telemetry, log: log,
		others: newOthers()}
	if m.endpoint, err = f.run.HTTP.Open(); err != nil {
		return end, err
	}
	defer m.endpoint.Close()
	trace := func() error {
		_, err := floor.StartTracing(telemetry.System, telemetry.Tracer)
		return err
	}
	if !f.masters.Standby && !consensus.Started(statePath(&o)) {
		if status, err := m.leadAlone(ctx, trace); !errors.Is(err, errSecond) {
			return master.SummaryOf(status), err
		}
		log.Info("another master is there: keeping the state with it")
		err = m.open(true)
	} else if err = m.follow(); err == nil {
		m.joined, err = f.peers.Meet(telemetry.System, cluster.Options{Role: cluster.Standby, Boot: o.Boot,
			Consensus: m.address, Notify: m.notify}, func(*cluster.Options) error { return trace() }, log)
		if err != nil {
			err = errors.Join(err, m.group.Close())
		}
	}
	if m.joined != nil {
		defer m.joined.Leave()
	}
	if err != nil {
		return end, err
	}
	log.WithFields(logrus.Fields{"actors": m.joined.Remote.Address(), "masters": m.address,
		"gossip": m.joined.Node.Self().GossipAddress}).Info("standby master ready")
	return m.run(ctx)
}

// errSecond says that another master is there, which wants to follow.
var errSecond = errors.New("another master wants to follow")

// leadAlone leads a crawl as its only master, until another one is there.
func (m *masters) leadAlone(ctx context.Context, trace func() error) (master.Status, error) {
	node, joined, err := m.peers.Lead(m.telemetry.System, m.o, func(*master.Options) error { return trace() },
		m.noticeAlone, m.log)
	if err != nil {
		return master.Status{}, err
	}
	m.log.WithFields(logrus.Fields{"actors": joined.Remote.Address(), "gossip": joined.Node.Self().GossipAddress,
		"crawl": node.Claim().Crawl, "term": node.Claim().Term}).Info("master ready")
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer floor.Guard(m.telemetry.System, "the watch for other masters")
		m.awaitSecond(inner, node, end)
	}()
	status, err := m.attend(ctx, inner, node)
	second := errors.Is(context.Cause(inner), errSecond) && errors.Is(err, context.Canceled)
	end(nil)
	<-watched
	closed := node.Close()
	if second && closed == nil {
		m.joined = joined
		return status, errSecond
	}
	if m.listening != nil {
		closed = errors.Join(closed, m.listening.Close())
	}
	joined.Leave()
	return status, errors.Join(err, closed)
}

// awaitSecond waits for a second master, and then has the one that leads alone end with errSecond, once all is there to
// lead with others. What fails is tried again: the other one waits.
func (m *masters) awaitSecond(ctx context.Context, node *master.Node, end context.CancelCauseFunc) {
	select {
	case <-m.others.second:
	case <-ctx.Done():
		return
	}
	var said string
	for range ticks.FromNow(ctx, tendEvery) {
		err := m.makeRoom(ctx, node)
		if err == nil {
			end(errSecond)
			return
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			m.log.WithField("err", err).Warn("another master wants to follow and cannot yet: leading on alone")
		}
	}
}

// makeRoom opens what a master needs to lead with others, and takes the run over from the node that leads alone.
func (m *masters) makeRoom(ctx context.Context, node *master.Node) (err error) {
	if m.listening == nil {
		if err = m.listen(); err != nil {
			return err
		}
	}
	m.begun, err = node.Handover(ctx)
	return err
}

// attend answers HTTP and waits for the end. When asked ends, the crawl is stopped in order; when given ends, the crawl
// is left as it is.
func (m *masters) attend(asked, given context.Context, node *master.Node,
	tables ...[]console.Route) (master.Status, error) {
	defer m.endpoint.Note(m.o.Dir)()
	lead := func(ctx context.Context) error { return m.endpoint.Lead(ctx, node, m.telemetry, tables...) }
	return m.telemetry.Attend(asked, given, node, m.seeds, map[string]func(context.Context) error{"HTTP": lead})
}
