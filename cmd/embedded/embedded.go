// Package embedded runs a whole crawl, master and slave, in this process.
//
// henro crawl, henro demo and the package at the root of this module, for programs that embed a crawl, are made of it.
// Messages between master and slave are those of a cluster, only not serialised.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/gocolly/colly/v2"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/master/watchlist"
	"henro/messages"
	"henro/slave"
	"henro/store"
	"henro/store/archive/warc"
)

// Settings are all settings of a crawl in one process.
type Settings struct {
	Crawl config.Crawl
	Work  config.Work
	Log   config.Log
	Run   config.Run

	Watched watchlist.List                                 // nil: none is
	Noise   func(url string, status int, body []byte) bool // slave.Options.Noise
}

// Groups returns the flags, in the order in which people look for them.
func (s *Settings) Groups() []config.Group {
	return append(s.Crawl.Groups(),
		config.Group{Title: "The slave within", Register: s.Work.Register},
		config.Group{Title: "What to show",
			Register: func(f *pflag.FlagSet) { s.Run.Register(f); s.Log.Register(f) }})
}

// Start checks everything before it touches anything, and crawls. In c it needs Log, and sets what the settings say.
// Flags are those of Groups. The archive that it leaves says by itself how it was made (KeepAbout).
func (s *Settings) Start(ctx context.Context, flags *pflag.FlagSet, seeds []reading.Seed, c *Crawl) (master.Status,
	error) {
	var none master.Status
	if err := s.Crawl.Begins(seeds, false); err != nil {
		return none, err
	}
	o, err := s.Crawl.Options(flags)
	if err != nil {
		return none, err
	}
	if err := s.Work.Check(); err != nil {
		return none, err
	}
	endNames, err := s.Crawl.Names(&o)
	if err != nil {
		return none, err
	}
	defer endNames()
	endpoint, err := s.Run.HTTP.Open()
	if err != nil {
		return none, err
	}
	defer endpoint.Close()
	if err := config.Dir(o.Dir); err != nil {
		return none, err
	}
	defer config.KeepLog(c.Log, o.Dir, "henro").Close()
	o.Watched, c.Adjust = s.Watched, func(o *slave.Options) { o.Noise = s.Noise }
	c.Options, c.Work, c.Seeds, c.Operator = o, s.Work, seeds, s.Crawl.Contact
	status, err := c.Run(ctx, func(ctx context.Context, node *master.Node) error {
		defer endpoint.Close()
		defer endpoint.Note(o.Dir)()
		return endpoint.Lead(ctx, node, c.Telemetry)
	})
	if err != nil {
		return none, err
	}
	if err := KeepAbout(o.Dir, s.Work, c.info(), seeds, flags); err != nil {
		c.Log.WithField("err", err).Warn("the settings and the log of this run are not in the archive")
	}
	config.Refresh(filepath.Join(o.Dir, "warc"), c.Log)
	return status, nil
}

// Crawl is a crawl whose master and slave share a process.
type Crawl struct {
	Options master.Options
	Work    config.Work
	Seeds   []reading.Seed
	Log     *logrus.Entry
	// Progress shows how the crawl goes until the context ends; nil: nothing does.
	Progress  func(context.Context, *master.Node)
	Operator  string                                                               // named in every WARC file
	Colly     func(*colly.Collector)                                               // nil: there are no callbacks
	Adjust    func(*slave.Options)                                                 // nil: nothing beyond what Work says
	Dial      func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network
	System    floor.SystemOptions                                                  // for tests that make actors fail
	Telemetry *config.Telemetry                                                    // made by Run
	Did       slave.Counts                                                         // by the slave; set at the end
	slave     *slave.API                                                           // set by startSlave
}

// Run crawls to the end of the crawl or of the context. serve runs beside the crawl, until that ends.
func (c *Crawl) Run(ctx context.Context, serve func(context.Context, *master.Node) error) (master.Status, error) {
	boot := cluster.NewBoot()
	o := &c.Options
	o.Name, o.Boot, o.Version, o.StallLimit = "local", boot, config.Version(), stallLimit
	c.Telemetry = config.NewTelemetry("henro", "local", c.Log, c.System)
	system := c.Telemetry.System
	if _, err := floor.StartTracing(system, c.Telemetry.Tracer); err != nil {
		return master.Status{}, err
	}
	c.Telemetry.OfMaster(&c.Options)
	node, err := master.Start(system, c.Options, c.Log)
	if err != nil {
		return master.Status{}, config.StateError(c.Options.Dir, err)
	}
	slavePID, err := c.startSlave(system, node.PID(), node.Claim())
	if err != nil {
		return master.Status{}, errors.Join(err, node.Close())
	}
	status, err := c.attend(ctx, node, serve)
	if did, err := c.slave.Counts(context.WithoutCancel(ctx)); err == nil { // else they are left out
		c.Did = *did
	}
	// The slave ends first: what it has archived is reported, and its files are closed.
	if waited := floor.End(system, slavePID); waited != nil {
		err = errors.Join(err, fmt.Errorf("end the slave: %w", waited))
	}
	err = errors.Join(err, node.Close())
	system.Shutdown()
	return status, err
}

// archivePart is the number of the archive among the partitions that are stalled.
const archivePart = -1

// stallLimit is how long the crawl waits for room on the disk: a person is at hand who makes some, or comes after the
// crawl has ended with a message and an exit code.
const stallLimit = 10 * time.Second

func (c *Crawl) startSlave(system *actor.ActorSystem, masterPID *actor.PID, claim messages.Claim) (*actor.PID, error) {
	o, err := c.Work.Options(c.Options.Dir, config.Unread(c.Log))
	if err != nil {
		return nil, err
	}
	o.Name, o.Boot, o.Version, o.Dial, o.Colly = "local", claim.Boot, config.Version(), c.Dial, c.Colly
	o.Admit = c.Options.Hosts.Admission.Admit
	o.Archive.Writer.Info = c.info()
	c.Telemetry.OfSlave(&o)
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
	if c.Adjust != nil {
		c.Adjust(&o)
	}
	props, err := slave.Props(o, c.Log)
	if err != nil {
		return nil, config.Usage("%v", err)
	}
	pid, err := system.Root.SpawnNamed(props, slave.ActorName)
	if err != nil {
		return nil, fmt.Errorf("spawn the slave: %w", err)
	}
	c.slave = &slave.API{System: system, PID: pid}
	c.Telemetry.Metrics.Read(c.slave.Figures)
	system.Root.Send(pid, &slave.MasterSeen{PID: masterPID, Claim: claim})
	return pid, nil
}

// attend has the node take the seeds, and waits for the end.
func (c *Crawl) attend(ctx context.Context, node *master.Node,
	serve func(context.Context, *master.Node) error) (master.Status, error) {
	beside := map[string]func(context.Context) error{
		"HTTP": func(ctx context.Context) error { return serve(ctx, node) }}
	if c.Progress != nil {
		beside["the progress"] = func(ctx context.Context) error { c.Progress(ctx, node); return nil }
	}
	return c.Telemetry.Attend(ctx, context.WithoutCancel(ctx), node, c.Seeds, beside)
}

// info is what every WARC file of the crawl says of it.
func (c *Crawl) info() warc.Info {
	info := config.ArchiveInfo()
	info.UserAgent, info.Operator = c.Options.Fetch.UserAgent, c.Operator
	return info
}
