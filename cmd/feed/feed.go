// Package feed finds what changed in an archive, and writes it down.
//
// A pass goes through the index once, what still grows included. Of each page, captures that follow each other with
// another digest are compared (package watch), and what changed is written down (package changes). How far files were
// looked at is kept, so that the next pass reads what came since. Follow then looks at what comes, as it comes. A
// crash tells no change twice: those that were told last are remembered by their ids.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"henro/cmd/telling"
	"henro/cmd/watch"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/fsync"
	"henro/store/report/changes"
	"henro/store/report/feeds"
)

// Options say which changes are in the feed.
type Options struct {
	Dir      string   // of the feed
	Name     string   // of what is archived, in the feed's title
	Prefixes []string // of URLs; none: all
	Least    int      // letters that must have come or gone
	Crawl    string   // its directory, where the rules of the reader are
	Tell     func(c *changes.Change)

	Receivers []*telling.Receiver                                     // are sent what changed by Once and Follow
	Says      io.Writer                                               // what cannot be sent is said there
	Elsewhere func(url string, before time.Time) (*watch.Copy, error) // see watch.Watcher
}

// Feed tells the changes of one archive.
type Feed struct {
	*watch.Watcher
	o       Options
	archive *captures.Archive
	listed  map[string]bool // ids of the latest changes
	seen    map[string]bool // WARC files that were looked at
	// of WARC files that still grow, by name: where the record of the last change that was looked at begins
	grown  map[string]int64
	lock   *flock.Flock
	teller *telling.Teller // nil: nothing is sent
	asked  chan func()     // is run by Follow
}

// remembered is how many ids of changes are remembered from before a crash.
const remembered = 10_000

// Open makes a feed of an archive, whose changes nobody else tells meanwhile.
func Open(o Options, archive *captures.Archive) (f *Feed, err error) {
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, err
	}
	f = &Feed{o: o, archive: archive, listed: map[string]bool{}, seen: map[string]bool{}, grown: map[string]int64{},
		asked: make(chan func()), lock: flock.New(filepath.Join(o.Dir, "lock"))}
	if held, err := f.lock.TryLock(); err != nil || !held {
		return nil, fmt.Errorf("henro feed or henro watch tells the changes of %s already: dismiss there", o.Crawl)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.lock.Unlock())
		}
	}()
	latest, err := changes.Recent(o.Dir, remembered)
	if err != nil {
		return nil, err
	}
	for i := range latest {
		f.listed[latest[i].ID] = true
	}
	text, err := os.ReadFile(f.seenPath())
	var c cursor
	if err == nil && json.Unmarshal(text, &c) != nil {
		err = json.Unmarshal(text, &c.Files) // as it was before files that grow were in it
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", f.seenPath(), err)
	}
	for _, name := range c.Files {
		f.seen[name] = true
	}
	if c.Grown != nil {
		f.grown = c.Grown
	}
	if f.Watcher, err = watch.Open(o.Crawl, o.Dir, archive); err == nil {
		f.Elsewhere = o.Elsewhere
	}
	return f, err
}

// Close closes what was learnt.
func (f *Feed) Close() error { return errors.Join(f.Watcher.Close(), f.lock.Unlock()) }

// Now runs what it is handed while Follow runs, between two looks.
func (f *Feed) Now(ctx context.Context, run func(folder string, teller *telling.Teller)) error {
	done := make(chan struct{})
	select {
	case f.asked <- func() { run(f.o.Dir, f.teller); close(done) }:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cursor is how far the archive was looked at.
type cursor struct {
	Files []string         `json:"files"` // finished WARC files
	Grown map[string]int64 `json:"grown"` // see Feed
}

func (f *Feed) seenPath() string { return filepath.Join(f.o.Dir, "files.json") }

// Pass tells what changed in the files that came since the last one, and returns how many changes that were.
func (f *Feed) Pass(ctx context.Context) (count int, err error) {
	if err := f.archive.Refresh(); err != nil {
		return 0, err
	}
	files := f.archive.Merged().Files // what is finished from here on is looked at again
	pairs, err := f.pairs()
	if err != nil {
		return 0, err
	}
	if count, err = f.tell(ctx, pairs); err != nil {
		return count, err
	}
	clear(f.seen)
	for _, name := range files {
		f.seen[name] = true
		delete(f.grown, name)
	}
	return count, errors.Join(f.keep(), feeds.WriteAtom(f.o.Dir, f.o.Name, time.Now()))
}

// Once is Pass; Send sends what it told.
func (f *Feed) Once(ctx context.Context) (count int, err error) {
	if f.teller, err = telling.Open(f.o.Crawl, f.o.Receivers); err != nil {
		return 0, err
	}
	return f.Pass(ctx)
}

// Send sends what Once told.
func (f *Feed) Send() error { return f.teller.Flush() }

// tell compares pairs of captures and writes down what changed.
func (f *Feed) tell(ctx context.Context, pairs []watch.Pair) (count int, err error) {
	for begin := 0; begin < len(pairs); begin += 100 {
		var told, quiet []changes.Change
		some := pairs[begin:min(begin+100, len(pairs))]
		end := f.Begin(some)
		for _, p := range some {
			var change, noise *changes.Change
			id := p.ID()
			if !f.listed[id] && f.wants(p.Now.URL) { // a capture that cannot be read is henro check's business
				change, noise, _ = f.Compare(&p)
			}
			if ctx.Err() != nil {
				break // who else has the page may not have been asked
			}
			f.grown[p.Now.Filename] = max(f.grown[p.Now.Filename], p.Now.Offset)
			if noise != nil {
				quiet = append(quiet, *noise)
			}
			if change != nil && change.Letters >= max(1, f.o.Least) {
				told, f.listed[id] = append(told, *change), true
			}
		}
		if err := errors.Join(end(), changes.Append(f.o.Dir, told), changes.AppendNoise(f.o.Dir, quiet)); err != nil {
			return count, err
		}
		if len(f.listed) > 2*remembered {
			clear(f.listed) // the cursor says what was looked at
		}
		for i := range told {
			if count++; f.o.Tell != nil {
				f.o.Tell(&told[i])
			}
			if f.teller != nil {
				f.teller.Tell(&told[i])
			}
		}
		if ctx.Err() != nil {
			return count, ctx.Err()
		}
	}
	return count, nil
}

// keep writes down how far the archive was looked at.
func (f *Feed) keep() error {
	text, err := json.Marshal(cursor{slices.Sorted(maps.Keys(f.seen)), f.grown})
	if err != nil {
		return err
	}
	return fsync.WriteFile(f.seenPath(), text, 0o666)
}

// often is how long Follow waits between two looks.
const often = 200 * time.Millisecond

// Follow makes a pass, and then tells each change as its capture is synced, until the context ends.
func (f *Feed) Follow(ctx context.Context) (err error) {
	if f.teller, err = telling.Open(f.o.Crawl, f.o.Receivers); err != nil {
		return err
	}
	tail, err := watch.NewTail(f.Watcher)
	if err != nil {
		return err
	}
	var sends sync.WaitGroup
	defer sends.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	sends.Go(func() { f.teller.Run(ctx, f.o.Says) })
	finished, told, atom := true, 0, time.Time{}
	for {
		if finished {
			if _, err := f.Pass(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		var pairs []watch.Pair
		if pairs, finished, err = tail.Next(); err != nil {
			return err
		}
		if len(pairs) > 0 {
			count, err := f.tell(ctx, pairs)
			if err = errors.Join(err, f.keep()); err != nil && ctx.Err() == nil {
				return err
			}
			told += count
		}
		if told > 0 && time.Since(atom) > 10*time.Second {
			told, atom = 0, time.Now()
			if err := feeds.WriteAtom(f.o.Dir, f.o.Name, atom); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case do := <-f.asked:
			do()
		case <-time.After(often):
		}
	}
}

// pairs goes through the index, which is sorted by page and moment.
func (f *Feed) pairs() (found []watch.Pair, err error) {
	pages, key := watch.NewPages(f.Watcher), ""
	err = f.archive.Entries(func(e cdxj.Entry) bool {
		if e.Key != key {
			key = e.Key
			pages.Clear()
		}
		if p := pages.Add(e); p != nil && f.isNew(&e) {
			found = append(found, *p)
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b watch.Pair) int { return a.Now.At.Compare(b.Now.At) })
	return found, err
}

// isNew reports whether a capture came since the last pass.
func (f *Feed) isNew(e *cdxj.Entry) bool {
	at, looked := f.grown[e.Filename]
	return !f.seen[e.Filename] && (!looked || e.Offset > at)
}

func (f *Feed) wants(url string) bool {
	return len(f.o.Prefixes) == 0 ||
		slices.ContainsFunc(f.o.Prefixes, func(p string) bool { return strings.HasPrefix(url, p) })
}
