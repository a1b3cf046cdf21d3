// Package captures finds and reads the captures of an archive: by URL and moment, or all in the order of the index.
//
// An archive is a folder of WARC files, on a disk or in a bucket, or a WACZ file. A capture is a line of an index and
// the record where it leads; of a revisit, the record that holds its payload. Reading goes on behind what is damaged,
// and names it.
package captures

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

var (
	// ErrNotArchived is returned when there is no capture of a page.
	ErrNotArchived = errors.New("not in this archive")
	// ErrNoOriginal is returned for a revisit whose original is not in the archive.
	ErrNoOriginal = errors.New("the capture that holds the content is not in this archive")
)

// Archive is a folder of WARC files and its merged index, or a WACZ file. Of files that still grow it has what is
// synced.
type Archive struct {
	dir  string
	root *os.Root        // so that no index leads out of dir
	pack *wacz.Package   // holds the WARC files, and dir, which is temporary, the index; nil: dir holds all
	far  *bucket.Archive // holds the WARC files, and dir the index as far as the bucket has none; nil: dir holds all

	unread func(what string)
	grows  growing
	whole  bool       // it is read without what still grows
	mu     sync.Mutex // guards merged and noted; held while merging
	merged cdxj.Merged
	noted  map[string]bool // what unread was told of
}

// maxNoted is how many notes are remembered, so that unread hears of nothing twice; after that it may.
const maxNoted = 1000

// Open merges the indexes of a folder, or reads that of a WACZ file. Reading goes on behind what cannot be read; unread
// is told of it once, with its file and place, from any goroutine.
func Open(dir string, unread func(what string)) (*Archive, error) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return openPackage(dir, unread)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	a := &Archive{dir: dir, root: root, unread: unread}
	if err := a.Refresh(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return a, nil
}

// openPackage copies the index of a WACZ file into a temporary folder, under the keys by which it is searched here.
func openPackage(file string, unread func(what string)) (_ *Archive, err error) {
	a := &Archive{unread: unread}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.pack, err = wacz.Open(file); err != nil {
		return nil, err
	}
	if a.dir, err = os.MkdirTemp("", "henro-wacz-"); err != nil {
		return nil, err
	}
	if a.root, err = os.OpenRoot(a.dir); err != nil {
		return nil, err
	}
	for _, name := range a.pack.Files("archive") {
		a.merged.Files = append(a.merged.Files, filepath.Base(name))
	}
	unsorted := filepath.Join(a.dir, "unsorted")
	if err = a.unpackIndexes(unsorted); err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", file, err)
	}
	a.merged.Path = filepath.Join(a.dir, cdxj.MergedName)
	return a, errors.Join(cdxj.SortFile(a.merged.Path, unsorted), os.Remove(unsorted))
}

func (a *Archive) unpackIndexes(to string) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	defer func() { err = errors.Join(err, out.Flush(), f.Close()) }()
	return a.pack.EachIndex(func(name string, index io.Reader) error {
		return cdxj.Each(index, cdxj.Parse, func(e cdxj.Entry) error {
			if u, err := weburl.Parse(e.URL); err == nil {
				e.Key = cdxj.Key(u)
				if method, body := e.Asked(); method != "" {
					e.Key = posted.KeyOf(u, method, body)
				}
			}
			_, err := out.Write(e.Append(out.AvailableBuffer()))
			return err
		}, func(line int, err error) { a.note(fmt.Sprintf("%q: line %d: %v", name, line, err)) })
	})
}

// note tells of what cannot be read, once.
func (a *Archive) note(what string) {
	a.mu.Lock()
	known := a.noted[what]
	if len(a.noted) >= maxNoted || a.noted == nil {
		a.noted = map[string]bool{}
	}
	a.noted[what] = true
	a.mu.Unlock()
	if !known {
		a.unread(what)
	}
}

// Close lets go of the folder, or of the file.
func (a *Archive) Close() (err error) {
	if a.root != nil {
		err = a.root.Close()
	}
	if a.pack != nil {
		err = errors.Join(err, a.pack.Close())
	}
	if a.pack != nil || a.far != nil {
		err = errors.Join(err, os.RemoveAll(a.dir))
	}
	return errors.Join(err, a.grows.close())
}

// Refresh takes in the files that were finished since the last time, and those that a process which died left open.
func (a *Archive) Refresh() error {
	switch {
	case a.pack != nil:
		return nil
	case a.far != nil:
		return a.refreshFar()
	}
	_, finished, err := indexes(a.root)
	if err != nil {
		return err
	}
	a.mu.Lock()
	fresh, err := folder.Refresh(a.dir)
	if err == nil {
		a.merged = fresh.Merged
	}
	a.mu.Unlock()
	for _, r := range fresh.Repaired {
		a.note(r.String())
	}
	for _, what := range fresh.Unread {
		a.note(what)
	}
	if err == nil {
		a.grows.merged(finished)
	}
	return err
}

// Dir is the folder in which the archive lies; of a WACZ file a temporary one.
func (a *Archive) Dir() string { return a.dir }

// Merged is what the merged index holds.
func (a *Archive) Merged() cdxj.Merged {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.merged
}

// Lines shows the lines of the index from the first that is not below from, until visit returns false. A line is valid
// until visit returns.
func (a *Archive) Lines(from string, visit func(line []byte) bool) error {
	grown, err := a.grown() // before the merged index: what is finished meanwhile is in both, and not in neither
	if err != nil {
		return err
	}
	f, err := a.root.Open(cdxj.MergedName)
	if err != nil {
		return fmt.Errorf("open the index: %w", err)
	}
	defer f.Close()
	sources := []iter.Seq[[]byte]{bucket.ScanFile(f, from, &err)}
	if grown != nil {
		defer grown.Close()
		sources = append(sources, bucket.ScanFile(grown, from, &err))
	}
	if a.far != nil {
		sources = append(sources, a.far.Lines(from, &err))
	}
	for line := range bucket.Merged(sources...) {
		if !visit(line) {
			break
		}
	}
	return err
}

// grown opens the sorted lines of what still grows; nil: nothing does.
func (a *Archive) grown() (*os.File, error) {
	if a.pack != nil || a.far != nil || a.whole {
		return nil, nil
	}
	finished, err := a.grows.look(a.root)
	if err == nil && finished {
		err = a.Refresh()
	}
	if err != nil {
		return nil, err
	}
	return a.grows.open()
}

// Finished has the archive read without what still grows, as a WACZ packs it.
func (a *Archive) Finished() { a.whole = true }

// Under shows what the lines of the index that begin with a prefix say, until visit returns false; those that cannot be
// read are noted.
func (a *Archive) Under(prefix string, visit func(cdxj.Entry) bool) error {
	return a.Lines(prefix, func(line []byte) bool {
		if !bytes.HasPrefix(line, []byte(prefix)) {
			return false
		}
		e, err := cdxj.Parse(line)
		if err != nil {
			a.note(fmt.Sprintf("%s: %v", cdxj.MergedName, err))
			return true
		}
		return visit(e)
	})
}

// Entries shows the captures of all pages in the order of the index until visit returns false. What was asked for by
// POST is no page.
func (a *Archive) Entries(visit func(cdxj.Entry) bool) error {
	return a.Under("", func(e cdxj.Entry) bool { method, _ := e.Asked(); return method != "" || visit(e) })
}

// Requisites is Entries with what was asked for by other methods than GET.
func (a *Archive) Requisites(visit func(cdxj.Entry) bool) error { return a.Under("", visit) }

// Captures shows the captures of a page in the order of their times. If there are none, it shows those of URLs that
// share its key in the index (another case, www in front).
func (a *Archive) Captures(url weburl.URL, visit func(cdxj.Entry) bool) error {
	want := url.IndexKey() + " "
	exact := false
	if err := a.Under(want, func(e cdxj.Entry) bool { exact = same(e.URL, url); return !exact }); err != nil {
		return err
	}
	return a.Under(want, func(e cdxj.Entry) bool { return exact && !same(e.URL, url) || visit(e) })
}

// same reports whether raw is the URL, perhaps in another form.
func same(raw string, url weburl.URL) bool {
	if raw == url.String() {
		return true
	}
	u, err := weburl.Parse(raw)
	return err == nil && u == url
}

// Place is a capture among all those of its page.
type Place struct {
	cdxj.Entry
	First, Previous, Next, Last time.Time // of the captures; Previous and Next are zero at the ends
	Number, Count               int       // it is the Number-th, from 1, of so many
}

// Closest returns the capture nearest to a moment.
func (a *Archive) Closest(url weburl.URL, at time.Time) (Place, error) {
	var p Place
	var before time.Time // of the entry visited last
	follows := false     // the next entry of another moment comes after the one chosen
	err := a.Captures(url, func(e cdxj.Entry) bool {
		if p.Count++; p.Count == 1 {
			p.First = e.At
		}
		p.Last = e.At
		switch {
		case p.Number == 0 || e.At.Sub(at).Abs() < p.At.Sub(at).Abs():
			p.Entry, p.Number, p.Previous, p.Next, follows = e, p.Count, before, time.Time{}, true
		case follows && e.At.After(p.At):
			p.Next, follows = e.At, false
		}
		before = e.At
		return true
	})
	if err == nil && p.Count == 0 {
		err = ErrNotArchived
	}
	return p, err
}

// Capture is what a capture holds. Close it.
type Capture struct {
	cdxj.Entry
	Status   int
	Header   warc.Header // of the answer
	Body     io.Reader   // its payload, its content coding still on
	Length   int64       // of Body as it is stored, in bytes: without chunks that of Body; 0: not known
	Original *cdxj.Entry // of a revisit, the capture that holds the payload
	files    []io.Closer
}

// Close closes the files.
func (c *Capture) Close() error {
	var err error
	for _, f := range c.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// maxChain bounds revisits of revisits: henro's name the capture that holds the payload, those of others may not.
const maxChain = 16

// Read opens a capture. A revisit gets its payload from the capture it refers to.
func (a *Archive) Read(e cdxj.Entry) (*Capture, error) {
	c := &Capture{Entry: e}
	record, message, err := a.open(c, e)
	for chain := 0; err == nil && record.Type() == warc.Revisit; chain++ {
		if message != nil && c.Header == nil && message.Status != 304 {
			c.Status, c.Header = message.Status, message.Header
		}
		original := e
		if original, err = a.original(e, record); err == nil && chain == maxChain {
			err = ErrNoOriginal
		}
		if err == nil {
			c.Original, e = &original, original
			record, message, err = a.open(c, e)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if message == nil { // a resource has no answer around it
		c.Status, c.Body = 200, record
		c.Header = warc.Header{{Name: "Content-Type", Value: record.Header.Get("Content-Type")}}
		return c, nil
	}
	c.Body, c.Length = message.Payload(), record.BlockLength()-message.HeadLength
	// The head of a revisit may be all there is, or only a few fields of it.
	if c.Header == nil || c.Header.Get("Content-Type") == "" {
		c.Status, c.Header = message.Status, message.Header
	}
	return c, nil
}

func (a *Archive) open(c *Capture, e cdxj.Entry) (*warc.Entry, *warc.Message, error) {
	f, err := a.file(c, filepath.Base(e.Filename))
	if err != nil {
		return nil, nil, fmt.Errorf("open the file of a capture: %w", err)
	}
	var message *warc.Message
	record, err := warc.At(f, e.Offset)
	if err == nil {
		message, err = record.HTTP()
	}
	switch {
	case record != nil && (errors.Is(err, warc.ErrNotHTTP) || record.BlockLength() == 0):
		return record, nil, nil
	case err != nil:
		if away, is := errors.AsType[*bucket.Unread](err); is {
			return nil, nil, away // no damage
		}
		err = fmt.Errorf("%s: the record at %d: %w", e.Filename, e.Offset, err)
		a.note(err.Error())
	}
	return record, message, err
}

// file opens a WARC file, as long as the capture is open.
func (a *Archive) file(c *Capture, name string) (io.ReadSeeker, error) {
	if a.pack != nil {
		return a.pack.Stored("archive/" + name)
	}
	if a.far != nil {
		return a.far.File(name)
	}
	f, err := OpenFile(a.root, name)
	if err == nil {
		c.files = append(c.files, f)
	}
	return f, err
}

// OpenFile opens a WARC file of a folder.
func OpenFile(root *os.Root, name string) (f *os.File, err error) {
	for _, name := range [...]string{name, name + warc.OpenSuffix, name} { // it still grows, or was finished right now
		if f, err = root.Open(name); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return f, err
}

// original finds the capture that a revisit refers to: by URL and date if it says so, otherwise the latest before it
// with the same digest.
func (a *Archive) original(e cdxj.Entry, record *warc.Entry) (cdxj.Entry, error) {
	uri := cmp.Or(strings.Trim(record.Header.Get("WARC-Refers-To-Target-URI"), "<>"), e.URL)
	at, err := time.Parse(time.RFC3339Nano, record.Header.Get("WARC-Refers-To-Date"))
	dated := err == nil
	at = at.UTC().Truncate(time.Second)
	url, err := weburl.Parse(uri)
	if err != nil {
		return e, fmt.Errorf("%w: it refers to %q", ErrNoOriginal, uri)
	}
	var found, dateOnly cdxj.Entry
	err = a.Captures(url, func(o cdxj.Entry) bool {
		switch {
		case o.Filename == e.Filename && o.Offset == e.Offset:
		case dated && o.At.Equal(at) && (o.Mime != cdxj.Revisit || dateOnly.URL == ""):
			dateOnly = o
		case o.Mime != cdxj.Revisit && !o.At.After(e.At) && (e.Digest == "" || o.Digest == e.Digest):
			found = o
		}
		return true
	})
	switch {
	case err != nil:
		return e, err
	case dateOnly.URL != "":
		return dateOnly, nil
	case found.URL != "":
		return found, nil
	}
	return e, fmt.Errorf("%w: it refers to %s of %s", ErrNoOriginal, uri, record.Header.Get("WARC-Refers-To-Date"))
}
