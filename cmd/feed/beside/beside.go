// Package beside tells what changes on the pages that a slave visits, as long as the slave runs.
package beside

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/cmd/feed"
	"henro/cmd/telling"
	"henro/cmd/watch"
	"henro/master/changefeed"
	"henro/messages"
	"henro/store/archive/captures"
	"henro/store/report/changes"
)

// Changes is what the flags of a slave say of telling changes.
type Changes struct {
	On        bool
	receivers []*telling.Receiver
	others    *others                   // there before feed is
	feed      atomic.Pointer[feed.Feed] // nil: it is not open
}

// Register adds the flag.
func (c *Changes) Register(f *pflag.FlagSet) {
	f.BoolVar(&c.On, "changes", false, "find what changes on the pages that this slave visits, by DIR/watch.yaml: "+
		"/api/changes of any master streams it, DIR/tell.yaml sends it")
}

// again is how long passes before what failed is tried again.
const again = time.Second

// Start has other nodes told what changed, and what is archived below dir. collected: finished files leave the archive.
func (c *Changes) Start(system *actor.ActorSystem, dir string, collected bool, log *logrus.Entry) (err error) {
	if !c.On {
		return nil
	}
	if collected {
		return config.Usage("--changes compares pages with what is archived here: leave --collect and --archive out")
	}
	if c.receivers, err = telling.ReadReceivers(dir, config.FromEnvironment); err != nil {
		return config.Usage("%v", err)
	}
	return errors.Join(os.MkdirAll(filepath.Join(dir, "warc"), 0o755), changefeed.Start(system, dir, c.learn),
		c.lend(system, filepath.Join(dir, "warc"), config.Unread(log)))
}

// Noise is slave.Options.Noise.
func (c *Changes) Noise(url string, status int, body []byte) bool {
	f := c.feed.Load()
	return f != nil && f.Quiet(url, status, body)
}

// learn has a page learn what a reader says of a change, here and on the other slaves, to which its host may go.
func (c *Changes) learn(taught *messages.ChangeTaught) *messages.ChangeLearnt {
	f := c.feed.Load()
	if f == nil {
		return &messages.ChangeLearnt{Failed: "changes are not told at this moment: try again"}
	}
	ctx, end := context.WithTimeout(context.Background(), 10*time.Second)
	defer end()
	var url string
	var err error
	away := f.Now(ctx, func(folder string, _ *telling.Teller) {
		url, err = f.TeachByID(folder, taught.Id, taught.Noise, io.Discard)
	})
	switch err = cmp.Or(away, err); {
	case errors.Is(err, watch.ErrNoChange):
		return &messages.ChangeLearnt{}
	case err != nil:
		return &messages.ChangeLearnt{Known: true, Failed: err.Error()}
	default:
		c.others.teach(&messages.ChangeTaught{Id: taught.Id, Noise: taught.Noise, Url: url, Record: f.Learnt(url)})
	}
	return &messages.ChangeLearnt{Known: true}
}

// Go tells what changes, among what runs until the context ends. members are the other nodes.
func (c *Changes) Go(ctx context.Context, running *sync.WaitGroup, system *actor.ActorSystem, dir string,
	members func() []cluster.Member, log *logrus.Entry) {
	if !c.On {
		return
	}
	o := &others{ctx: ctx, members: members}
	o.ask = func(m cluster.Member, asked *messages.CaptureAsked) *messages.CaptureTold {
		said, _ := system.Root.RequestFuture(m.PID(lender), asked, patience).Result()
		told, _ := said.(*messages.CaptureTold)
		return told
	}
	o.tell = func(m cluster.Member, taught *messages.ChangeTaught) {
		_ = system.Root.RequestFuture(m.PID(lender), taught, patience).Wait()
	}
	c.others = o
	running.Go(func() {
		defer floor.Guard(system, "the finder of changes")
		for o.await(); ctx.Err() == nil; o.rest(again) {
			if err := c.follow(dir, o, log); ctx.Err() == nil {
				log.WithField("err", err).Warn("changes are not told; trying again")
			}
		}
	})
}

// follow tells changes until the context ends.
func (c *Changes) follow(dir string, o *others, log *logrus.Entry) (err error) {
	archive, err := captures.Open(filepath.Join(dir, "warc"), config.Unread(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	says := log.WriterLevel(logrus.WarnLevel)
	defer says.Close()
	f, err := feed.Open(feed.Options{Crawl: dir, Dir: filepath.Join(dir, changes.Folder), Name: filepath.Base(dir),
		Receivers: c.receivers, Says: says, Elsewhere: o.last}, archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.feed.Store(f)
	defer c.feed.Store(nil)
	return f.Follow(o.ctx)
}
