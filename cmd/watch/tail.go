package watch

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// Pages are the captures of pages in the order of their moments, for the pairs that follow each other.
type Pages struct {
	w    *Watcher // counts visits that changed nothing; nil: nobody does
	last map[string]*Pair
}

// NewPages are those of the whole archive, all of whose captures are added next. If others may have archived a page
// too, its first capture makes a pair with no Before.
func NewPages(w *Watcher) Pages {
	w.alike = newAlike(w.db)
	return Pages{w: w}
}

// maxPages is how many pages are remembered that were captured lately; of others the index is asked.
const maxPages = 50_000

// Add takes the next capture of a page, and returns the pair that it makes with the one before; nil: it makes none.
func (p *Pages) Add(e cdxj.Entry) *Pair {
	if p.last == nil {
		p.last = map[string]*Pair{}
	}
	last := p.last[e.URL]
	switch {
	case last == nil && isPage(&e):
		p.last[e.URL] = &Pair{Before: e}
		if p.w != nil && p.w.Elsewhere != nil {
			return &Pair{Now: e}
		}
	case last == nil:
	case isSame(&last.Before, &e):
		if last.Same++; p.w != nil {
			p.w.alike.add(&e)
		}
	case isPage(&e) || e.Mime == cdxj.Revisit:
		made := &Pair{Before: last.Before, Now: e, Same: last.Same}
		*last = Pair{Before: e}
		return made
	}
	return nil
}

// Last is the latest capture of a page with a content that it did not have before; its URL is empty if there is none.
func (p *Pages) Last(url string) (e cdxj.Entry) {
	if last := p.last[url]; last != nil {
		e = last.Before
	}
	return e
}

// Clear forgets all pages.
func (p *Pages) Clear() { clear(p.last) }

func isSame(before, now *cdxj.Entry) bool {
	return now.Status == 304 || now.Mime == cdxj.Revisit && now.Digest == "" ||
		before.Digest == now.Digest && before.Status == now.Status
}

// isPage reports whether a capture is of a page, one that is gone or one that leads to another. Errors of servers are
// not: they pass.
func isPage(e *cdxj.Entry) bool {
	switch e.Status {
	case 200:
		return e.Mime == "text/html" || e.Mime == "application/xhtml+xml"
	case 301, 302, 303, 307, 308, 404, 410:
		return true
	}
	return false
}

// Tail reads what comes into the indexes of files that grow.
type Tail struct {
	w     *Watcher
	read  map[string]int64 // bytes of each index that were read
	pages Pages
	older Pages // what pages had before it was full
}

// NewTail begins where the archive ends at this moment, or before.
func NewTail(w *Watcher) (*Tail, error) {
	t := &Tail{w: w, read: map[string]int64{}, pages: Pages{w: w, last: map[string]*Pair{}}}
	names, err := t.growing()
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil {
			t.read[name] = info.Size()
		}
	}
	return t, err
}

func (t *Tail) growing() ([]string, error) {
	return filepath.Glob(filepath.Join(t.w.archive.Dir(), "*"+cdxj.Suffix+warc.OpenSuffix))
}

// Next returns the pairs whose later capture came since the last call. finished: a file that was read was finished, and
// its last captures may not be among them; they are in the index of the archive.
func (t *Tail) Next() (pairs []Pair, finished bool, err error) {
	names, err := t.growing()
	if err != nil {
		return nil, false, err
	}
	grows := map[string]bool{}
	for _, name := range names {
		grows[name] = true
		err := t.lines(name, func(e cdxj.Entry) error {
			pair, err := t.pair(e)
			if pair != nil {
				pairs = append(pairs, *pair)
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			grows[name] = false
		} else if err != nil {
			return pairs, false, err
		}
	}
	for name := range t.read {
		if !grows[name] {
			delete(t.read, name)
			finished = true
		}
	}
	if len(t.pages.last) > maxPages {
		t.pages, t.older = Pages{w: t.w, last: map[string]*Pair{}}, t.pages
	}
	return pairs, finished, nil
}

// lines reads the whole lines that came to an index.
func (t *Tail) lines(name string, visit func(cdxj.Entry) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() <= t.read[name] {
		return err
	}
	if _, err := f.Seek(t.read[name], io.SeekStart); err != nil {
		return err
	}
	var failed error
	err = cdxj.ScanOpen(f, func(line []byte) bool {
		t.read[name] += int64(len(line))
		if e, err := cdxj.Parse([]byte(strings.TrimRight(string(line), "\n"))); err == nil {
			failed = visit(e)
		}
		return failed == nil
	})
	return errors.Join(err, failed)
}

// pair finds the capture before one that has come.
func (t *Tail) pair(e cdxj.Entry) (*Pair, error) {
	if last := t.older.last[e.URL]; last != nil && t.pages.last[e.URL] == nil {
		t.pages.last[e.URL] = last
		delete(t.older.last, e.URL)
	}
	if t.pages.last[e.URL] == nil && (isPage(&e) || e.Mime == cdxj.Revisit) {
		url, err := weburl.Parse(e.URL)
		if err != nil {
			return nil, nil
		}
		var before Pages
		err = t.w.archive.Captures(url, func(o cdxj.Entry) bool {
			if o.At.Before(e.At) && o.URL == e.URL {
				before.Add(o)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		if last := before.last[e.URL]; last != nil {
			t.pages.last[e.URL] = last
		}
	}
	return t.pages.Add(e), nil
}
