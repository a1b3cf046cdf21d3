package bucket

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/messages/ticks"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// LockName is the object of the node that keeps the index and the tables of a bucket, as long as it does.
const LockName = "index.lock"

// ErrHeld is returned while another node keeps the index.
var ErrHeld = errors.New("another node keeps the index of this bucket now; it is free two minutes after that node died")

const (
	keepFiles = 8                // files that are brought before the index takes them
	keepAfter = 15 * time.Minute // or this time, if there are fewer
	settle    = 2 * time.Second  // how long a store that compares no ETags may show the lock of another
	stale     = 2 * time.Minute  // a lock that does not change for so long has nobody
	grace     = 10 * time.Minute // for which a reader may have an older list of parts
	orphaned  = time.Hour        // objects of parts that nothing names are of a node that died
)

// Keeper keeps the index of a bucket and its tables up to date: it merges what was brought, whoever brought it, if no
// other node is at it. Run and Brought may be called from two goroutines.
//
// The node that does so has written LockName, which it writes again now and then. Where a store compares ETags, two
// nodes cannot; elsewhere each looks whose the lock is when some time has passed, and parts have names of their own, so
// that the worst that two at once do is that the work of one of them is done again.
type Keeper struct {
	b       *Bucket
	id      string
	brought chan struct{}
	wait    func(context.Context, time.Duration) error

	held  string // the ETag of our lock
	turn  int    // how often we have written it
	seen  string // the ETag of another's, and since when it is the same
	since time.Time
}

// NewKeeper returns a keeper of a bucket.
func NewKeeper(where Where) (*Keeper, error) {
	b, err := Open(where, nil)
	return keeper(b), err
}

func keeper(b *Bucket) *Keeper {
	return &Keeper{b: b, id: "-" + strings.ToLower(rand.Text()[:6]), brought: make(chan struct{}, 1024),
		wait: ticks.Rest}
}

// Brought says that a file and its index are in the bucket.
func (k *Keeper) Brought() {
	select {
	case k.brought <- struct{}{}:
	default: // enough are
	}
}

// Run makes a pass after each keepFiles files, and keepAfter the first of fewer, until the context ends. told hears of
// each.
func (k *Keeper) Run(ctx context.Context, told func(Added, error)) { k.turns(ctx, k.Pass, told) }

func (k *Keeper) turns(ctx context.Context, pass func(context.Context) (Added, error), told func(Added, error)) {
	n := 0
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-k.brought:
			if n++; n < keepFiles {
				if n == 1 {
					due = time.After(keepAfter)
				}
				continue
			}
		}
		done, err := pass(ctx)
		if n, due = 0, nil; err != nil {
			due = time.After(time.Minute)
		}
		told(done, err)
	}
}

// Pass takes the files that the index does not have into it, writes the tables that are missing, and removes what is no
// longer needed. It may be cut off anywhere; the next one goes on. ErrHeld and ErrLost: another node does it.
func (k *Keeper) Pass(ctx context.Context) (done Added, err error) {
	objects, err := k.b.List(ctx)
	if err != nil {
		return done, err
	}
	if err := k.take(ctx, objects[LockName]); err != nil {
		return done, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() { k.hold(ctx, cancel); close(ended) }()
	dir, err := os.MkdirTemp("", "henro-index-")
	if err == nil {
		done, err = k.pass(ctx, dir)
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	cancel(nil)
	<-ended
	return done, errors.Join(err, k.leave(ctx))
}

// take writes the lock; there is the one that is there.
func (k *Keeper) take(ctx context.Context, there Object) (err error) {
	if there.Name != "" && there.ETag != k.held {
		if now := k.b.now(); there.ETag != k.seen {
			k.seen, k.since = there.ETag, now
			return ErrHeld
		} else if now.Sub(k.since) < stale {
			return ErrHeld
		}
	}
	if err = k.write(ctx, there.ETag); err == nil {
		// A store that compares refuses this; where it does not, another may have written at the same time.
		if _, err = k.b.replace(ctx, LockName, "", []byte("?")); err == nil {
			if err = k.write(ctx, k.held); err == nil {
				err = k.wait(ctx, settle)
			}
		} else if errors.Is(err, ErrLost) {
			err = nil
		}
		err = errors.Join(err, k.mine(ctx))
	}
	if errors.Is(err, ErrLost) {
		err = ErrHeld
	}
	return err
}

// write writes the lock, in place of the one with an ETag.
func (k *Keeper) write(ctx context.Context, etag string) (err error) {
	k.turn++
	text, err := json.Marshal(fmt.Sprint(k.id[1:], " ", k.turn))
	if err == nil {
		k.held, err = k.b.replace(ctx, LockName, etag, text)
	}
	return err
}

// mine returns ErrLost if the lock is another's.
func (k *Keeper) mine(ctx context.Context) error {
	etag, err := k.b.stat(ctx, LockName)
	if err == nil && etag != k.held {
		err = ErrLost
	}
	return err
}

// hold writes the lock again now and then, until the context ends. A lock that cannot be is lost before another takes
// it.
func (k *Keeper) hold(ctx context.Context, cancel context.CancelCauseFunc) {
	last := k.b.now()
	for k.wait(ctx, stale/8) == nil {
		err := k.mine(ctx)
		if err == nil {
			err = k.write(ctx, k.held)
		}
		if err == nil {
			last = k.b.now()
		} else if errors.Is(err, ErrLost) || k.b.now().Sub(last) > stale/2 {
			cancel(err)
		}
	}
}

// leave removes the lock.
func (k *Keeper) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestFor)
	defer cancel()
	if err := k.mine(ctx); errors.Is(err, ErrLost) {
		return nil
	} else if err != nil {
		return err
	}
	return k.b.remove(ctx, LockName)
}

func (k *Keeper) pass(ctx context.Context, dir string) (done Added, err error) {
	objects, err := k.b.List(ctx) // as it is now that nobody else changes it
	if err != nil {
		return done, err
	}
	x, err := k.b.Index(objects)
	if err != nil {
		return done, err
	}
	if err := x.sweep(ctx, objects); err != nil {
		return done, err
	}
	fresh, err := x.Fetch(objects, dir)
	if err != nil {
		return done, err
	}
	all := filepath.Join(dir, cdxj.MergedName)
	var paths []string
	for _, name := range fresh {
		paths = append(paths, filepath.Join(dir, cdxj.Path(name)))
	}
	if err := cdxj.MergeFiles(all, paths...); err != nil {
		return done, err
	}
	f, err := os.Open(all)
	if err != nil {
		return done, err
	}
	defer f.Close()
	var failed error
	done, err = x.add(ctx, dir, k.id, fresh, ScanFile(f, "", &failed), &failed, func() error { return k.mine(ctx) })
	if err != nil {
		return done, err
	}
	if objects, err = k.b.List(ctx); err == nil {
		if x, err = k.b.Index(objects); err == nil {
			err = errors.Join(x.tables(ctx, dir), x.gather(ctx, dir, k.id, func() error { return k.mine(ctx) }))
		}
	}
	return done, err
}

// sweep removes parts that others have taken in, when no reader has the older list any more, and what nodes that died
// have left.
func (x *Index) sweep(ctx context.Context, objects map[string]Object) error {
	now := x.b.now()
	named, known, still := map[string]bool{}, map[string]bool{}, []gone(nil)
	for _, p := range x.parts.Parts {
		named[p.Name] = true
	}
	for _, g := range x.parts.Gone {
		known[g.Name] = true
		if now.Sub(g.At) < grace && !named[g.Name] {
			named[g.Name], still = true, append(still, g)
		}
	}
	for name, o := range objects {
		part, _, _ := strings.Cut(name, ".")
		if strings.HasPrefix(name, "index-") && !named[part] && (known[part] || now.Sub(o.At) > orphaned) {
			if err := x.b.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	if len(still) == len(x.parts.Gone) {
		return nil
	}
	return x.write(ctx, listOfParts{1, x.parts.Parts, still, x.parts.Beside})
}

// tables writes the tables of parts that have none, and removes those of files and parts that others have taken in.
func (x *Index) tables(ctx context.Context, dir string) error {
	there, err := x.b.Tables(ctx)
	if err != nil {
		return err
	}
	parts := map[string]bool{}
	for i, p := range x.parts.Parts {
		if parts[p.Name] = true; there[p.Name].Name != "" {
			continue
		}
		if err := x.tabulate(ctx, dir, i); err != nil {
			return err
		}
	}
	for name := range x.has { // by its part, or by none
		parts[tableOf(name)] = false
	}
	for name, o := range there {
		if is, known := parts[name]; !is && (known || strings.HasPrefix(name, "index-")) {
			if err := x.b.remove(ctx, o.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableOf is what the table of a WARC file is called, without its suffix.
func tableOf(file string) string { return strings.TrimSuffix(cdxj.Path(file), cdxj.Suffix) }

// Untabled are the WARC files with an index whose captures are in no table, by name.
func (x *Index) Untabled(objects, tables map[string]Object) (files []string) {
	for name := range objects {
		_, is := warc.CutSuffix(name)
		if is && objects[cdxj.Path(name)].Name != "" && tables[tableOf(name)].Name == "" &&
			tables[x.has[name]].Name == "" {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}
