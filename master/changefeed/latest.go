package changefeed

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"henro/store/report/changes"
)

// Latest keeps the latest 200 changes of the crawl in a directory and of its slaves, for pages that show them. Any
// goroutine may use it.
type Latest struct {
	mu     sync.Mutex
	stream *stream
	kept   feed
}

// NewLatest has read nothing yet.
func NewLatest(dir string, system *actor.ActorSystem, slaves Slaves) *Latest {
	l := &Latest{}
	l.stream = newStream(filepath.Join(dir, changes.Folder), system, slaves)
	l.stream.cursor, l.stream.fresh, l.stream.take = cursor{}, earliest, l.kept.add
	return l
}

// Each hands over what is kept of all changes: of each node the latest 10,000, those of one node in their order, until
// fn returns false or the context ends. A slave that does not answer within two seconds is left out.
func (l *Latest) Each(ctx context.Context, fn func(*changes.Change) bool) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := newStream(l.stream.own.dir, l.stream.system, l.stream.slaves)
	s.slave, s.cursor, s.fresh = l.stream.slave, cursor{}, earliest
	s.take = func(c *changes.Change) error {
		if !fn(c) {
			return errEnough
		}
		return nil
	}
	s.run(ctx)
}

var errEnough = errors.New("enough was read")

// Get reads what has come since the last call, and returns the latest, the latest first. A slave that does not answer
// within two seconds is asked by the next call.
func (l *Latest) Get(ctx context.Context) []changes.Change {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream.run(context.WithoutCancel(ctx)) // whoever is asked answers, or is silent, in time
	l.kept.settle()
	return slices.Clone(l.kept)
}
