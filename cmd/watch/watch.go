// Package watch tells what changed between two captures of a page, by the watches of a reader and by what was learnt of
// the page: henro feed asks it for each pair of captures that follow each other.
//
// What is learnt (package news) is kept in one file of bbolt, feed/records.db: 1.5 kB for a page at most, 7 kB for a
// template. It is only ever made better by being there: a file that is damaged is set aside, and all is learnt again.
package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/cespare/xxhash/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sync/errgroup"

	"henro/actors/template"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/report/changes"
	"henro/store/report/news"
)

// RecordsName is the name of the file of what was learnt, in the folder of the feed.
const RecordsName = "records.db"

// Watcher compares captures of one archive. One goroutine uses it, but for Quiet.
type Watcher struct {
	// Elsewhere finds what others have archived of a page last before a moment; nil: they have nothing. It may be nil,
	// and is asked by several goroutines.
	Elsewhere func(url string, before time.Time) (*Copy, error)
	// IsPage reports whether changes of a URL are told; nil: those of all are.
	IsPage func(url string) bool

	archive *captures.Archive
	watches *news.Watches
	db      *bbolt.DB
	alike   *alike
	tx      *bbolt.Tx    // of Begin; nil: each pair has one of its own
	open    sync.RWMutex // held while a page is compared by Quiet
	closed  bool
}

// buckets of the file of records. Keys are xxhash64 of the URL, or of the shape of URLs; values the moment of the
// capture that was learnt from last, nanoseconds since 1970 as i64, and the record.
var buckets = [2][]byte{[]byte("pages"), []byte("templates")}

// Open reads the watches of a reader (news.WatchesName in dir, if it is there) and opens what was learnt, in the folder
// of the feed.
func Open(dir, folder string, archive *captures.Archive) (w *Watcher, err error) {
	w = &Watcher{archive: archive}
	switch file, err := os.Open(filepath.Join(dir, news.WatchesName)); {
	case err == nil:
		defer file.Close()
		if w.watches, err = news.ParseWatches(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
	case !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "not a directory"):
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, RecordsName)
	if w.db, err = open(path); errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrChecksum) ||
		errors.Is(err, berrors.ErrVersionMismatch) {
		if err = os.Rename(path, path+".damaged"); err == nil {
			w.db, err = open(path)
		}
	}
	w.alike = newAlike(w.db)
	return w, err
}

func open(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o666, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true})
	if errors.Is(err, berrors.ErrTimeout) {
		err = fmt.Errorf("another henro feed uses %s", path)
	}
	if err != nil {
		return nil, err
	}
	return db, db.Update(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the file of records.
func (w *Watcher) Close() error {
	w.open.Lock()
	defer w.open.Unlock()
	w.closed = true
	return w.db.Close()
}

// Quiet reports that a page, as it is now, differs from its last capture in nothing that its reader wants to know: in
// what was learnt to be noise, or what the watches leave out. body is HTML in UTF-8. Nothing is learnt by it, and any
// goroutine may ask. Of a page that cannot be compared it says no.
func (w *Watcher) Quiet(url string, status int, body []byte) bool {
	w.open.RLock()
	defer w.open.RUnlock()
	watch := w.watches.For(url)
	before, err := latest(w, url, watch)
	if err != nil {
		return false
	}
	c := news.Compare(before, news.Read(body, status, "", watch))
	if watch.Learns() {
		keys, records := recordsOf(url)
		if err := w.db.View(func(tx *bbolt.Tx) error {
			for i, r := range records {
				load(tx, i, keys[i], r)
			}
			return nil
		}); err != nil {
			return false
		}
		news.Judge(c, keys[0], records[0], records[1], news.DefaultLimits())
	}
	return !c.Told(watch)
}

// Misses reports that there is no text in the last capture of a page where its watch looks. Any goroutine may ask.
func (w *Watcher) Misses(url string) (bool, error) {
	w.open.RLock()
	defer w.open.RUnlock()
	watch := w.watches.For(url)
	if watch == nil || len(watch.Only) == 0 {
		return false, nil
	}
	last, err := latest(w, url, watch)
	return err == nil && len(last.Blocks) == 0, err
}

// latest is the last capture of a page, as its watch sees it.
func latest(w *Watcher, url string, watch *news.Watch) (*news.Page, error) {
	u, err := weburl.Parse(url)
	if err != nil || w.closed {
		return nil, errors.Join(err, captures.ErrNotArchived)
	}
	var pages Pages
	if err := w.archive.Captures(u, func(e cdxj.Entry) bool {
		if e.URL == url {
			pages.Add(e)
		}
		return true
	}); err != nil {
		return nil, err
	}
	last := pages.Last(url)
	if last.URL == "" {
		return nil, captures.ErrNotArchived
	}
	return w.read(last, watch)
}

// recordsOf are new records of a page and of the pages that are like it, and under which keys they are.
func recordsOf(url string) ([2]uint64, [2]*news.Record) {
	return [2]uint64{xxhash.Sum64String(url), xxhash.Sum64String(templateOf(url))},
		[2]*news.Record{news.NewRecord(), news.NewTemplate()}
}

// Pair is two captures of a page that follow each other.
type Pair struct {
	Before, Now cdxj.Entry
	Same        int // captures between them that are as Before

	before *Copy // where Before is of another archive
	asked  bool  // the other archives, which have what follows
	last   *Copy
	err    error
}

// ID is the name of the change that the later capture shows.
func (p *Pair) ID() string { return changes.IDOf(p.Now.URL, p.Now.At, p.Now.Digest) }

// Copy is a capture of another archive.
type Copy struct {
	At       time.Time
	Digest   string // as the index of an archive has it
	Status   int
	Location string // of a redirect
	Body     []byte // HTML in UTF-8
	Record   []byte // of the page, as Learnt has it
}

// Compare reads both captures. told is the change; nil: nothing changed that the reader wants to know. What was held
// for noise is in quiet; nil: nothing was.
func (w *Watcher) Compare(p *Pair) (told, quiet *changes.Change, err error) {
	if w.IsPage != nil && !w.IsPage(p.Now.URL) {
		return nil, nil, nil
	}
	if same, err := w.settle(p); same || err != nil {
		return nil, nil, err
	}
	c, title, watch, err := w.change(p)
	if err == nil && watch.Learns() {
		err = w.judge(c, p)
	}
	if err != nil || len(c.Blocks) == 0 {
		return nil, nil, err
	}
	if noise := c.Noise(); len(noise) > 0 {
		quiet = entry(p, title, watch, noise)
	}
	if !c.Told(watch) {
		return nil, quiet, nil
	}
	told = entry(p, title, watch, c.News())
	if quiet != nil {
		told.Noise = len(c.Noise())
	}
	told.PricesWent, told.PricesCame = c.Prices()
	told.DatesWent, told.DatesCame = c.Dates()
	return told, quiet, nil
}

// atOnce bounds how many pages others are asked for at once.
const atOnce = 16

// Begin is called before many pairs are compared. It asks others for the versions before, several at once: one that
// does not answer, or is slow, is waited for once and not by each. What is learnt from the pairs is stored by end.
func (w *Watcher) Begin(pairs []Pair) (end func() error) {
	if w.Elsewhere != nil {
		w.askAll(pairs)
	}
	tx, err := w.db.Begin(true)
	if err != nil {
		return func() error { return err }
	}
	w.tx = tx
	return func() error {
		w.tx = nil
		return tx.Commit()
	}
}

// update has what was learnt changed within Begin's transaction, or in one of its own.
func (w *Watcher) update(change func(*bbolt.Tx) error) error {
	if w.tx != nil {
		return change(w.tx)
	}
	return w.db.Update(change)
}

func (w *Watcher) askAll(pairs []Pair) {
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	for i := range pairs {
		asking.Go(func() error { return w.ask(&pairs[i]) })
	}
	_ = asking.Wait() // Compare returns what failed
}

func (w *Watcher) ask(p *Pair) error {
	if !p.asked {
		p.asked = true
		p.last, p.err = w.Elsewhere(p.Now.URL, p.Now.At)
	}
	return p.err
}

// settle looks for a version before in other archives too, and reports whether there is none that differs.
func (w *Watcher) settle(p *Pair) (same bool, err error) {
	if w.Elsewhere != nil {
		err, last := w.ask(p), p.last
		if err == nil && last != nil {
			err = adopt(w.update, p.Now.URL, last.Record, last.At.After(p.Before.At))
		}
		if err != nil {
			return false, err
		}
		switch {
		case last == nil:
		case last.At.After(p.Before.At):
			p.before, p.Same = last, 0
			p.Before = cdxj.Entry{URL: p.Now.URL, At: last.At, Digest: last.Digest, Status: last.Status}
		case p.Before.Mime == cdxj.Revisit && p.Before.Digest == last.Digest:
			p.before = last // it refers to that one
		}
	}
	return p.Before.URL == "" || isSame(&p.Before, &p.Now), nil
}

// change compares two captures by the watch for their page.
func (w *Watcher) change(p *Pair) (c *news.Change, title string, watch *news.Watch, err error) {
	watch = w.watches.For(p.Now.URL)
	before, err := w.before(p, watch)
	if err != nil {
		return nil, "", nil, err
	}
	now, err := w.read(p.Now, watch)
	if err != nil {
		return nil, "", nil, err
	}
	return news.Compare(before, now), now.Title, watch, nil
}

func (w *Watcher) before(p *Pair, watch *news.Watch) (*news.Page, error) {
	if p.before != nil {
		return news.Read(p.before.Body, p.before.Status, p.before.Location, watch), nil
	}
	return w.read(p.Before, watch)
}

func (w *Watcher) read(e cdxj.Entry, watch *news.Watch) (*news.Page, error) {
	page, err := pagetext.HTML(w.archive, e)
	if err != nil {
		return nil, err
	}
	return news.Read(page.Body, page.Status, page.Location, watch), nil
}

// judge has a change judged by what was learnt, and has that learn from it. A capture is learnt from once.
func (w *Watcher) judge(c *news.Change, p *Pair) error {
	keys, records := recordsOf(p.Now.URL)
	return w.update(func(tx *bbolt.Tx) error {
		var newest time.Time
		for i, r := range records {
			if at := load(tx, i, keys[i], r); i == 0 {
				newest = at
			}
		}
		records[0].Visited(p.Same)
		records[1].Visited(w.alike.take(keys[1], p.Now.At))
		news.Judge(c, keys[0], records[0], records[1], news.DefaultLimits())
		if !p.Now.At.After(newest) {
			return nil
		}
		for i, r := range records {
			if err := save(tx, i, keys[i], p.Now.At, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func load(tx *bbolt.Tx, of int, key uint64, r *news.Record) (at time.Time) {
	value := tx.Bucket(buckets[of]).Get(binary.BigEndian.AppendUint64(nil, key))
	if len(value) < 8 || r.Parse(value[8:]) != nil {
		return time.Time{} // what is damaged is learnt again
	}
	return time.Unix(0, int64(binary.LittleEndian.Uint64(value)))
}

func save(tx *bbolt.Tx, of int, key uint64, at time.Time, r *news.Record) error {
	value := r.Append(binary.LittleEndian.AppendUint64(nil, uint64(at.UnixNano())))
	return tx.Bucket(buckets[of]).Put(binary.BigEndian.AppendUint64(nil, key), value)
}

// templateOf names the pages that are like this one.
func templateOf(url string) string {
	if u, err := weburl.Parse(url); err == nil {
		return u.Host() + template.Shape(u.String())
	}
	return url
}

// Teach notes what a reader says of the change between two captures: it is noise, or news after all. Only the page
// itself learns from it. It returns how many blocks that is of.
func (w *Watcher) Teach(p *Pair, noise bool) (blocks int, err error) {
	c, _, watch, err := w.change(p)
	if err != nil {
		return 0, err
	}
	if noise && !watch.Learns() {
		return 0, fmt.Errorf("whatever changes on %s is told: selectors, or learn: false in %s, say so", p.Now.URL,
			news.WatchesName)
	}
	return len(c.Blocks), w.db.Update(func(tx *bbolt.Tx) error {
		r, key := news.NewRecord(), xxhash.Sum64String(p.Now.URL)
		at := load(tx, 0, key, r)
		if noise {
			r.Dismiss(c)
		} else {
			r.Keep(c)
		}
		if at.IsZero() {
			at = time.Unix(0, 0)
		}
		return save(tx, 0, key, at, r)
	})
}

// Find finds the pair of captures of a change: those of its page at its two moments, of which the first may be
// elsewhere.
func (w *Watcher) Find(c *changes.Change) (*Pair, error) {
	url, err := weburl.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	p := &Pair{}
	err = w.archive.Captures(url, func(e cdxj.Entry) bool {
		switch {
		case e.At.Equal(c.Before):
			p.Before = e
		case e.At.Equal(c.At):
			p.Now = e
		}
		return true
	})
	if err == nil && p.Before.URL == "" && w.Elsewhere != nil {
		if p.before, err = w.Elsewhere(c.URL, c.At); p.before != nil && p.before.At.Equal(c.Before) {
			p.Before = cdxj.Entry{URL: c.URL, At: c.Before}
		}
	}
	if err == nil && (p.Before.URL == "" || p.Now.URL == "") {
		err = captures.ErrNotArchived
	}
	return p, err
}

// entry writes blocks of a change as henro feed writes them down: sentences that went and came.
func entry(p *Pair, title string, watch *news.Watch, blocks []news.Changed) *changes.Change {
	c := &changes.Change{ID: p.ID(), URL: p.Now.URL, Title: title, At: p.Now.At.UTC(), Before: p.Before.At.UTC()}
	if watch != nil {
		c.Tag = watch.Tag
	}
	var went, came strings.Builder
	for i := range blocks {
		b, to := &blocks[i], &went
		if b.Came {
			to = &came
		}
		text := b.Text
		switch b.Kind {
		case news.Text:
			text = pagetext.Sentences([]byte(text))
		case news.Title:
			text += "\n"
		default:
			text = b.Kind.String() + " " + text + "\n"
		}
		to.WriteString(text)
		if why := string(b.Noise); why != "" && !slices.Contains(c.Why, why) {
			c.Why = append(c.Why, why)
		}
		if !slices.Contains(c.Kinds, b.Kind.String()) {
			c.Kinds = append(c.Kinds, b.Kind.String())
		}
	}
	c.Diff = udiff.Unified(c.URL+"\t"+c.Before.Format(time.RFC3339), c.URL+"\t"+c.At.Format(time.RFC3339),
		went.String(), came.String())
	for i, line := range strings.Split(c.Diff, "\n") {
		if i >= 2 && line != "" && (line[0] == '+' || line[0] == '-') {
			c.Letters += utf8.RuneCountInString(line) - 1
		}
	}
	if len(c.Diff) > changes.MaxDiff {
		c.Diff, c.Cut = strings.ToValidUTF8(c.Diff[:changes.MaxDiff], ""), true
	}
	return c
}
