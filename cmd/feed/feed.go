// Package feed finds what changed in an archive, and writes it down.
//
// A pass goes through the index once, what still grows included. Of each page, captures that follow each other with
// another digest are read, and what changed in their main text is written down (package changes) when it is large
// enough. The names of the finished WARC files that were looked at are kept, so that the next pass reads what came
// since: a crash tells a change twice rather than never, under the same id.
package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/fsync"
	"henro/store/report/changes"
)

// Options say which changes are in the feed.
type Options struct {
	Dir      string   // of the feed
	Name     string   // of what is archived, in the feed's title
	Prefixes []string // of URLs; none: all
	Least    int      // letters that must have come or gone
}

// Feed tells the changes of one archive.
type Feed struct {
	o       Options
	archive *captures.Archive
	listed  map[string]bool // ids of the latest changes
	seen    map[string]bool // WARC files that were looked at
	// of WARC files that still grow, by name: where the record of the last change that was looked at begins
	grown map[string]int64
}

// remembered is how many ids of changes are remembered from before a crash.
const remembered = 10_000

// Open makes a feed of an archive.
func Open(o Options, archive *captures.Archive) (*Feed, error) {
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, err
	}
	f := &Feed{o: o, archive: archive, listed: map[string]bool{}, seen: map[string]bool{}, grown: map[string]int64{}}
	latest, err := changes.Recent(o.Dir, remembered)
	if err != nil {
		return nil, err
	}
	for i := range latest {
		f.listed[latest[i].ID] = true
	}
	text, err := os.ReadFile(f.seenPath())
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	var names []string
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	for _, name := range names {
		f.seen[name] = true
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.seenPath(), err)
	}
	return f, nil
}

func (f *Feed) seenPath() string { return filepath.Join(f.o.Dir, "files.json") }

// pair is two captures of a page that follow each other.
type pair struct{ before, now cdxj.Entry }

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
	var batch []changes.Change
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		count += len(batch)
		err := changes.Append(f.o.Dir, batch)
		batch = batch[:0]
		return err
	}
	for i := range pairs {
		if err := ctx.Err(); err != nil {
			return count, errors.Join(err, flush())
		}
		change, err := f.compare(&pairs[i])
		if err != nil || change == nil || f.listed[change.ID] {
			continue // a capture that cannot be read is henro check's business
		}
		f.listed[change.ID] = true
		if batch = append(batch, *change); len(batch) >= 100 {
			if err := flush(); err != nil {
				return count, err
			}
		}
	}
	if err := flush(); err != nil {
		return count, err
	}
	if len(f.listed) > 2*remembered {
		clear(f.listed) // the files say what was looked at
	}
	if err := changes.WriteAtom(f.o.Dir, f.o.Name, time.Now()); err != nil {
		return count, err
	}
	for i := range pairs {
		now := &pairs[i].now
		f.grown[now.Filename] = max(f.grown[now.Filename], now.Offset)
	}
	clear(f.seen)
	for _, name := range files {
		f.seen[name] = true
		delete(f.grown, name)
	}
	text, err := json.Marshal(files)
	if err != nil {
		return count, err
	}
	return count, fsync.WriteFile(f.seenPath(), text, 0o666)
}

// pairs goes through the index, which is sorted by page and moment.
func (f *Feed) pairs() (found []pair, err error) {
	last := map[string]cdxj.Entry{} // by URL, of one key
	key := ""
	err = f.archive.Entries(func(e cdxj.Entry) bool {
		if e.Key != key {
			key = e.Key
			clear(last)
		}
		if e.Status != 200 || e.Mime != "text/html" && e.Mime != "application/xhtml+xml" || !f.wants(e.URL) {
			return true
		}
		if before, ok := last[e.URL]; ok && before.Digest != e.Digest && f.isNew(&e) {
			found = append(found, pair{before, e})
		}
		last[e.URL] = e
		return true
	})
	slices.SortStableFunc(found, func(a, b pair) int { return a.now.At.Compare(b.now.At) })
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

// compare reads both captures; nil: their main text is the same, or differs too little.
func (f *Feed) compare(p *pair) (*changes.Change, error) {
	before, err := pagetext.Read(f.archive, p.before)
	if err != nil {
		return nil, err
	}
	now, err := pagetext.Read(f.archive, p.now)
	if err != nil {
		return nil, err
	}
	if before.Main == now.Main && before.Title == now.Title {
		return nil, nil
	}
	c := &changes.Change{ID: changes.IDOf(p.now.URL, p.now.At), URL: p.now.URL, Title: now.Title, At: p.now.At.UTC(),
		Before: p.before.At.UTC()}
	c.Diff = Diff(p.now.URL, before, now, c.Before, c.At)
	for i, line := range strings.Split(c.Diff, "\n") {
		if i >= 2 && line != "" && (line[0] == '+' || line[0] == '-') {
			c.Letters += utf8.RuneCountInString(line) - 1
		}
	}
	if c.Letters == 0 || c.Letters < f.o.Least {
		return nil, nil
	}
	if len(c.Diff) > changes.MaxDiff {
		c.Diff, c.Cut = strings.ToValidUTF8(c.Diff[:changes.MaxDiff], ""), true
	}
	return c, nil
}

// Diff is what changed in the main text of two versions of a page, sentence by sentence; "" if nothing did.
func Diff(url string, before, now *pagetext.Text, from, to time.Time) string {
	return udiff.Unified(url+"\t"+from.Format(time.RFC3339), url+"\t"+to.Format(time.RFC3339), before.Sentences(),
		now.Sentences())
}
