package changefeed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/messages"
	"henro/store/report/changes"
)

// Latest keeps the latest 200 changes of the crawl in a directory and of its slaves, and as many of what was held for
// noise, for pages that show them. Any goroutine may use it.
type Latest struct {
	mu     sync.Mutex
	stream *stream
	kept   feed
	noise  *Latest // nil: this is of noise
	learn  func(address string, asked *messages.ChangeTaught) *messages.ChangeLearnt
}

// NewLatest has read nothing yet.
func NewLatest(dir string, system *actor.ActorSystem, slaves Slaves) *Latest {
	newLatest := func() *Latest {
		l := &Latest{stream: newStream(filepath.Join(dir, changes.Folder), system, slaves)}
		l.stream.cursor, l.stream.fresh, l.stream.take = cursor{}, earliest, l.kept.add
		return l
	}
	l := newLatest()
	l.noise = newLatest()
	l.noise.stream.own.name = changes.NoiseName
	l.noise.stream.slave = func(address, since string) *messages.ChangesTold {
		return told(system, address, &messages.NoiseAsked{Since: since})
	}
	l.learn = func(address string, asked *messages.ChangeTaught) *messages.ChangeLearnt {
		said, _ := system.Root.RequestFuture(actor.NewPID(address, learnerName), asked, learning).Result()
		learnt, _ := said.(*messages.ChangeLearnt)
		return learnt
	}
	return l
}

// learning is how long a slave may take to learn: what it is at is done first.
const learning = 15 * time.Second

// Teach has the slave that found a change learn that it is noise, or that it is news. An error says in English why it
// was not learnt.
func (l *Latest) Teach(ctx context.Context, id string, noise bool) error {
	soon, end := context.WithTimeout(ctx, patience)
	found, err := l.stream.slaves(soon)
	end()
	if err != nil {
		return err
	}
	asked, answers, asks := &messages.ChangeTaught{Id: id, Noise: noise}, make(chan *messages.ChangeLearnt), 0
	for i := range found {
		if at := found[i].Address; at != "" && at != l.stream.system.Address() {
			asks++
			go func() {
				defer floor.Guard(l.stream.system, "a lesson for a slave")
				select {
				case answers <- l.learn(at, asked):
				case <-ctx.Done():
				}
			}()
		}
	}
	silent := 0
	for range asks {
		select {
		case answer := <-answers:
			switch {
			case answer == nil:
				silent++
			case answer.Failed != "":
				err = errors.Join(err, errors.New(answer.Failed))
			case answer.Known:
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err == nil {
		err = fmt.Errorf("none of %d slaves with --changes has this change, %d did not answer: try again", asks, silent)
	}
	return err
}

// Page is what a page of changes shows.
type Page struct {
	Changes []changes.Change // the latest first
	Noise   bool             // they were held for noise
	Teach   bool             // all of them can be taught, not only those of slaves
	Beside  bool             // what went stands beside what came
}

// shown is how many of the latest changes a page shows.
const shown = 50

// Page is the page of the latest changes, or with ?noise=true of what was held for noise. teach: a list is watched
// here.
func (l *Latest) Page(r *http.Request, teach bool) *Page {
	p := &Page{Noise: r.FormValue("noise") == "true", Beside: r.FormValue("beside") == "true", Teach: teach}
	if p.Noise {
		l = l.noise
	}
	p.Changes = l.Get(r.Context())
	p.Changes = p.Changes[:min(len(p.Changes), shown)]
	return p
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
