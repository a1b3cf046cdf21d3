package tables

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"henro/messages"
	"henro/messages/weburl"
	"henro/store"
)

var pageColumns = []column[page]{
	{"number", Integer, "unique in the crawl", func(p *page) Value { return integer(p.Number) }},
	{"url", Text, "canonical", func(p *page) Value { return text(p.URL) }},
	{"status", Integer, "of HTTP at the last visit; 0 without an answer",
		func(p *page) Value { return integer(p.Status) }},
	{"reason", Text, "why the last visit has no answer", func(p *page) Value {
		if p.Reason == 0 {
			return Value{}
		}
		return text(messages.Reason(p.Reason).String())
	}},
	{"depth", Integer, "links followed from a seed, which has 0", func(p *page) Value { return integer(p.Depth) }},
	{"visits", Real, "visits that the timetable remembers; old ones count for less",
		func(p *page) Value { return real32(p.Timing.Visits) }},
	{"last_visit", Moment, "when the last visit began; empty: never visited",
		func(p *page) Value { return moment(p.LastVisit) }},
	{"next_visit", Moment, "when the next is due; empty: none is planned",
		func(p *page) Value { return moment(p.Next) }},
	{"interval_seconds", Real, "T: from the last visit to the next",
		func(p *page) Value { return real32(p.Timing.Interval) }},
	{"change_seconds", Real, "1/λ: the mean time between changes",
		func(p *page) Value { return real32(p.Timing.Mean) }},
	{"digest", Text, "SHA-1 of the payload in base32, as in captures", func(p *page) Value {
		if p.Digest == [20]byte{} {
			return Value{}
		}
		return text(digits32.EncodeToString(p.Digest[:]))
	}},
	{"place", Text, "fresh (waits for its first visit), queue (to be visited again) or rest",
		func(p *page) Value { return text(p.place.String()) }},
	{"host", Text, "scheme://name[:port]", func(p *page) Value { return text(weburl.HostOf(p.URL)) }},
	{"found_in", Integer, "number of the page in which it was found first; empty for seeds", func(p *page) Value {
		if p.Depth == 0 {
			return Value{}
		}
		return integer(p.From)
	}},
	{"captured_at", Moment, "when the content now archived was fetched",
		func(p *page) Value { return moment(p.CapturedAt) }},
	{"last_modified", Moment, "as the host says", func(p *page) Value { return moment(p.LastModified) }},
	{"etag", Text, "as the host says", func(p *page) Value { return text(p.ETag) }},
	{"main_digest", Text, "fingerprint of the main text, 16 hexadecimal digits",
		func(p *page) Value { return fingerprintOf(p.MainDigest) }},
	{"simhash", Text, "SimHash of the main text, 16 hexadecimal digits",
		func(p *page) Value { return fingerprintOf(p.SimHash) }},
	{"noindex", Boolean, "the page asks not to be indexed",
		func(p *page) Value { return boolean(p.Flags&store.NoIndex != 0) }},
	{"nofollow", Boolean, "the page asks that its links not be followed",
		func(p *page) Value { return boolean(p.Flags&store.NoFollow != 0) }},
	{"truncated", Boolean, "the last capture is not whole",
		func(p *page) Value { return boolean(p.Flags&store.Truncated != 0) }},
	{"dropped", Boolean, "given up: the cause says why",
		func(p *page) Value { return boolean(p.Flags&store.Dropped != 0) }},
	{"role", Text, "page, or requisite: what a browser loads to show one", func(p *page) Value { return text(p.role) }},
	{"cause", Text, "the word for why the last visit failed or the page was given up: a reason, HTTP 404 …",
		func(p *page) Value { return text(p.Cause().Word) }},
	{"says", Text, "what the system said of the failure", func(p *page) Value { return text(p.Cause().Says) }},
	{"same_as", Text, "the page that had the same main text first", func(p *page) Value { return text(p.SameAs) }},
	{"near", Text, "if there is none: the page that had nearly the same main text first",
		func(p *page) Value { return text(p.Near) }},
	{"scripted", Boolean, "scripts make the page of what they fetch, and they were not run",
		func(p *page) Value { return boolean(p.Flags&store.Scripted != 0) }},
	{"rendered", Boolean, "the scripts were run, in a browser: links and text are those of the page as it is shown",
		func(p *page) Value { return boolean(p.Flags&store.Rendered != 0) }},
}

// Pages are all known URLs, of pages and of their requisites, visited or not; the thesis' input URLs are those of depth
// 0, its parsed URLs those visited.
func Pages() *Table {
	return &Table{Name: "pages", Doc: "every known URL", HostColumn: 12, URLColumn: 1,
		Indexes: []string{"url", "host", "status"}, Columns: columnsOf(pageColumns), each: eachPage}
}

type page struct {
	store.Page
	place store.Place
	role  string // empty when not wanted
}

const roleColumn = 23

var digits32 = base32.StdEncoding

func (p *page) Value(i int) Value { return valueAt(pageColumns, p, i) }

func fingerprintOf(f uint64) Value {
	if f == 0 {
		return Value{}
	}
	return text(fmt.Sprintf("%016x", f))
}

func eachPage(s *Source, q Query, fn func(Row) error) error {
	return s.partitions(q, func(p *store.Partition) error {
		if q.Columns == 0 && q.Host == nil && q.URL == nil {
			stats, err := p.Stats()
			return errors.Join(err, blanks(stats.Known, fn))
		}
		if q.Columns>>roleColumn&1 == 0 {
			return pagesOf(p, q, fn)
		}
		return p.Snapshot(func(p *store.Partition) error {
			return pagesOf(p, q, func(row Row) error {
				record := row.(*page)
				record.role = "requisite"
				if is, err := p.Seen.IsPage(&record.Page); err != nil {
					return err
				} else if is {
					record.role = "page"
				}
				return fn(record)
			})
		})
	})
}

// pagesOf shows the pages of a partition, without their roles.
func pagesOf(p *store.Partition, q Query, fn func(Row) error) error {
	if q.URL != nil {
		entry, place, err := p.Pages.Lookup(*q.URL)
		if errors.Is(err, store.ErrNotFound) || q.Host != nil && weburl.HostOf(*q.URL) != *q.Host {
			return nil
		}
		if err != nil {
			return err
		}
		return fn(&page{Page: entry.Page, place: place})
	}
	return p.Pages.Each(func(record store.Page, place store.Place) error {
		if q.Host != nil && (!strings.HasPrefix(record.URL, *q.Host) || weburl.HostOf(record.URL) != *q.Host) {
			return nil
		}
		return fn(&page{Page: record, place: place})
	})
}
