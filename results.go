package henro

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"henro/actors/reading"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/archive/captures"
	"henro/store/report/tables"
)

var (
	// ErrNoCrawl is returned by Open for a directory in which there is no crawl.
	ErrNoCrawl = store.ErrNoState
	// ErrNotArchived is returned by Results.Body for a URL that has no capture.
	ErrNotArchived = captures.ErrNotArchived
)

// Page is a known URL, of a page or of what a browser loads to show one.
type Page struct {
	URL       string
	Status    int       // of HTTP at the last visit; 0 without an answer
	Cause     string    // why the last visit failed, as henro page says it: "HTTP 404", "CONNECT_REFUSED" …
	Depth     int       // links followed from a seed, which has 0
	Requisite bool      // what a browser loads to show a page, and no page itself
	Visited   time.Time // when the last visit began; zero: it was never visited
	Captured  time.Time // when the archived content was fetched: at the first visit, or the last that found a change
	Due       time.Time // when it is visited again; zero: no visit is planned
	Digest    string    // SHA-1 of the payload in base32, as in the archive
}

// Link is an outlink that the last visit of a page found.
type Link struct {
	From, To string
	Kind     string // a, img, redirect …: what held it
	Anchor   string // the words shown
}

// Results are what a crawl has left. They are read in place: memory does not grow with the crawl.
type Results struct {
	source  *tables.Source
	archive *captures.Archive
}

// Open opens the directory of a crawl that is not running, and the archive in it. Close the results at the end.
func Open(dir string) (*Results, error) {
	crawl, err := reading.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the crawl in %s: %w", dir, err)
	}
	r := &Results{source: crawl.Tables()}
	if r.archive, err = captures.Open(r.source.Archive, func(string) {}); err != nil {
		return nil, errors.Join(fmt.Errorf("open the archive in %s: %w", dir, err), crawl.Close())
	}
	return r, nil
}

// Close lets go of the directory.
func (r *Results) Close() error { return errors.Join(r.source.State.Close(), r.archive.Close()) }

// Pages are all known URLs, visited or not, in no order.
func (r *Results) Pages() iter.Seq2[Page, error] {
	return each(r.source, tables.Pages(), func(value func(string) tables.Value) Page {
		return Page{URL: value("url").Text, Status: int(value("status").Int), Cause: value("cause").Text,
			Depth: int(value("depth").Int), Requisite: value("role").Text == "requisite", Digest: value("digest").Text,
			Visited: moment(value("last_visit")), Captured: moment(value("captured_at")),
			Due: moment(value("next_visit"))}
	})
}

// Links are the outlinks of all pages, also those that lead out of the crawl, those of a page together.
func (r *Results) Links() iter.Seq2[Link, error] {
	return each(r.source, tables.Links(), func(value func(string) tables.Value) Link {
		return Link{From: value("from").Text, To: value("to").Text, Kind: value("kind").Text,
			Anchor: value("anchor").Text}
	})
}

// each makes one thing of every row of a table.
func each[T any](s *tables.Source, t *tables.Table, of func(value func(string) tables.Value) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		enough := errors.New("enough")
		err := t.Each(s, tables.All, func(row tables.Row) error {
			if !yield(of(func(name string) tables.Value { return row.Value(t.Column(name)) }), nil) {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			var none T
			yield(none, err)
		}
	}
}

func moment(v tables.Value) time.Time {
	if v.Kind == tables.Empty {
		return time.Time{}
	}
	return time.UnixMilli(v.Int).UTC()
}

// Body reads the payload of a URL as its last capture has it, without its content coding, and no more than limit bytes
// of it.
func (r *Results) Body(url string, limit int64) ([]byte, error) {
	u, err := weburl.Parse(url)
	if err != nil {
		return nil, err
	}
	place, err := r.archive.Closest(u, time.Now())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	capture, err := r.archive.Read(place.Entry)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	defer capture.Close()
	body, err := capture.Uncoded()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return io.ReadAll(io.LimitReader(body, limit))
}
