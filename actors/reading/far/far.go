// Package far reads an archive in a bucket where otherwise a crawl's directory or a folder of WARC files is read: as
// the tables captures and links, as what is known of a page, and as an earlier archive whose pages or payloads are
// known.
//
// What captures tell is all there is: the state of a crawl is with its master. Lines of the index come by ranges and
// are handed on one at a time; memory and disk are those of store/archive/captures.
package far

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"henro/actors/reading"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/history"
	"henro/store/archive/payloads"
	"henro/store/fingerprint"
	"henro/store/report/tables"
)

// Find reads the address of a bucket, as cmd/config does.
type Find func(address string) (bucket.Where, error)

// In opens the archive at an address for fn; is reports whether that is one of a bucket. unread is told of what cannot
// be read.
func In(address string, find Find, unread func(what string), fn func(*captures.Archive) error) (is bool, err error) {
	if !strings.HasPrefix(address, bucket.Scheme) {
		return false, nil
	}
	a, err := reading.OpenArchive(address, find, unread)
	if err != nil {
		return true, err
	}
	return true, errors.Join(fn(a), a.Close())
}

// Tables are those of an archive: captures, and the links of each page's last answer that is stored; any other is
// tables.ErrNoState.
func Tables(a *captures.Archive) *tables.Source {
	return &tables.Source{
		Lines: func(prefix string, visit func([]byte) bool) error {
			return a.Lines(prefix, func(line []byte) bool {
				return bytes.HasPrefix(line, []byte(prefix)) && visit(line)
			})
		},
		Links: func(q tables.Query, fn func(tables.Row) error) error { return links(a, q, fn) },
	}
}

// link is a row of links: all columns but number, which only a crawl has.
type link [8]tables.Value

// Value returns the value in a column.
func (l *link) Value(i int) tables.Value { return l[i] }

// links shows those of a page from its record, at the cost of that alone, and otherwise those of all pages.
func links(a *captures.Archive, q tables.Query, fn func(tables.Row) error) (err error) {
	var of *cdxj.Entry
	var old []uint64
	if q.URL != nil {
		if of, err = last(a, *q.URL); err != nil || of == nil {
			return err
		}
	}
	if of == nil || of.Length == 0 {
		of = nil
		if old, err = superseded(a); err != nil {
			return err
		}
	}
	return a.Edges(of, func(edge tables.Row) error {
		l := &link{1: edge.Value(1), edge.Value(2), edge.Value(3), edge.Value(4), edge.Value(5), edge.Value(6),
			edge.Value(7)}
		if q.URL != nil && l[1].Text != *q.URL || q.Host != nil && l[6].Text != *q.Host {
			return nil
		}
		if _, is := slices.BinarySearch(old, bucket.FingerprintAt(edge.Value(9).Text, edge.Value(10).Int)); is {
			return nil
		}
		return fn(l)
	})
}

// last is the last capture of a URL that is no revisit; nil: there is none.
func last(a *captures.Archive, raw string) (found *cdxj.Entry, err error) {
	u, bad := weburl.Parse(raw)
	if bad != nil {
		return nil, nil // no page has it
	}
	err = a.Captures(u, func(e cdxj.Entry) bool {
		if method, _ := e.Asked(); method == "" && e.Mime != cdxj.Revisit {
			found = &e
		}
		return true
	})
	return found, err
}

// superseded are the places of all captures that are no revisits and have a later one of their URL, sorted: eight bytes
// for each.
func superseded(a *captures.Archive) (old []uint64, err error) {
	last, key := map[string]uint64{}, "" // by URL, of one key
	err = a.Entries(func(e cdxj.Entry) bool {
		if e.Mime == cdxj.Revisit {
			return true
		}
		if e.Key != key {
			clear(last)
			key = e.Key
		}
		if before, again := last[e.URL]; again {
			old = append(old, before)
		}
		last[e.URL] = bucket.FingerprintAt(e.Filename, e.Offset)
		return true
	})
	slices.Sort(old)
	return old, err
}

// mostCaptures bounds what is kept of the captures of a page: more than are shown.
const mostCaptures = 1000

// Page finds what captures tell of a URL; captures.ErrNotArchived: there are none.
func Page(a *captures.Archive, raw string) (*reading.PageFound, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("page %q: %w", raw, err)
	}
	var entries []cdxj.Entry
	more := false
	err = a.Captures(u, func(e cdxj.Entry) bool {
		if len(entries) == mostCaptures {
			entries, more = slices.Delete(entries, 0, mostCaptures/2), true
		}
		entries = append(entries, e)
		return true
	})
	if err == nil && len(entries) == 0 {
		err = captures.ErrNotArchived
	}
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", u, err)
	}
	slices.Reverse(entries)
	last := entries[0]
	found := &reading.PageFound{Page: store.Page{URL: last.URL, LastVisit: last.At, CapturedAt: last.At,
		Status: uint16(last.Status)}}
	found.Remember(entries, more)
	return found, nil
}

// Read gives the captures of an archive, in a bucket or not, to what gathers those of earlier ones.
func Read(into *history.Collector, from string, find Find, unread func(what string)) error {
	is, err := In(from, find, unread, func(a *captures.Archive) error {
		lines := index(a)
		defer lines.Close()
		return into.Lines(lines, from, cdxj.Parse)
	})
	if is && err != nil {
		return fmt.Errorf("%w: %w", history.ErrSource, err)
	}
	if !is {
		err = into.Read(from)
	}
	return err
}

// Import adds the captures of an archive, in a bucket or not, to an index of payloads, unless it did so when the
// archive had the same files.
func Import(into *payloads.Index, from string, find Find, unread func(what string)) (added int, err error) {
	is, err := In(from, find, unread, func(a *captures.Archive) (err error) {
		state := uint64(0) // of the names, in whatever order: files of an archive do not change
		for _, name := range a.Merged().Files {
			state += fingerprint.URL(name)
		}
		lines := index(a)
		defer lines.Close()
		added, err = into.ImportLines(from, fmt.Sprint(state), lines,
			func(what any) { unread(fmt.Sprint(from, ": ", what)) })
		return err
	})
	if is {
		return added, err
	}
	return into.Import(from, unread)
}

// index are the lines of an archive. Close ends what reads them.
func index(a *captures.Archive) io.ReadCloser {
	in, out := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(out, 64<<10)
		err := a.Lines("", func(line []byte) bool { _, err := b.Write(line); return err == nil })
		out.CloseWithError(errors.Join(err, b.Flush()))
	}()
	return in
}
