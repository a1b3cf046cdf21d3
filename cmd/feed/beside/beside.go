// Package beside tells what changes on the pages that a slave visits, as long as the slave runs.
package beside

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"

	"henro/actors/floor"
	"henro/cmd/config"
	"henro/cmd/feed"
	"henro/cmd/telling"
	"henro/master/changefeed"
	"henro/store/archive/captures"
	"henro/store/report/changes"
)

// Changes is what the flags of a slave say of telling changes.
type Changes struct{ On bool }

// Register adds the flag.
func (c *Changes) Register(f *pflag.FlagSet) {
	f.BoolVar(&c.On, "changes", false, "find what changes on the pages that this slave visits, by DIR/watch.yaml: "+
		"/api/changes of any master streams it, DIR/tell.yaml sends it")
}

// again is how long passes before what failed is tried again.
const again = time.Second

// Start begins to tell what changes in the archive below dir, among what runs until the context ends. collected:
// finished files leave the archive.
func (c *Changes) Start(ctx context.Context, running *sync.WaitGroup, system *actor.ActorSystem, dir string,
	collected bool, log *logrus.Entry) error {
	if !c.On {
		return nil
	}
	if collected {
		return config.Usage("--changes compares a page with what was archived before: leave --collect out")
	}
	receivers, err := telling.ReadReceivers(dir, config.FromEnvironment)
	if err != nil {
		return config.Usage("%v", err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "warc"), 0o755), changefeed.Start(system, dir)); err != nil {
		return err
	}
	running.Go(func() {
		defer floor.Guard(system, "the finder of changes")
		for {
			err := follow(ctx, dir, receivers, log)
			if ctx.Err() != nil {
				return
			}
			log.WithField("err", err).Warn("changes are not told; trying again")
			select {
			case <-ctx.Done():
			case <-time.After(again):
			}
		}
	})
	return nil
}

// follow tells changes until the context ends.
func follow(ctx context.Context, dir string, receivers []*telling.Receiver, log *logrus.Entry) (err error) {
	archive, err := captures.Open(filepath.Join(dir, "warc"), config.Unread(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	says := log.WriterLevel(logrus.WarnLevel)
	defer says.Close()
	f, err := feed.Open(feed.Options{Crawl: dir, Dir: filepath.Join(dir, changes.Folder), Name: filepath.Base(dir),
		Receivers: receivers, Says: says}, archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Follow(ctx)
}
