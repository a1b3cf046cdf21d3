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

// Pages are all known URLs, of pages and of their requisites, visited or not; the thesis' input URLs are those of depth
// 0, its parsed URLs those visited.
func Pages() *Table {
	return &Table{
		Name: "pages", Doc: "every known URL", HostColumn: 12, URLColumn: 1,
		Indexes: []string{"url", "host", "status"},
		Columns: []Column{
			{"number", Integer, "unique in the crawl"},
			{"url", Text, "canonical"},
			{"status", Integer, "of HTTP at the last visit; 0 without an answer"},
			{"reason", Text, "why the last visit has no answer"},
			{"depth", Integer, "links followed from a seed, which has 0"},
			{"visits", Real, "visits that the timetable remembers; old ones count for less"},
			{"last_visit", Moment, "when the last visit began; empty: never visited"},
			{"next_visit", Moment, "when the next is due; empty: none is planned"},
			{"interval_seconds", Real, "T: from the last visit to the next"},
			{"change_seconds", Real, "1/λ: the mean time between changes"},
			{"digest", Text, "SHA-1 of the payload in base32, as in captures"},
			{"place", Text, "fresh (waits for its first visit), queue (to be visited again) or rest"},
			{"host", Text, "scheme://name[:port]"},
			{"found_in", Integer, "number of the page in which it was found first; empty for seeds"},
			{"captured_at", Moment, "when the content now archived was fetched"},
			{"last_modified", Moment, "as the host says"},
			{"etag", Text, "as the host says"},
			{"main_digest", Text, "fingerprint of the main text, 16 hexadecimal digits"},
			{"simhash", Text, "SimHash of the main text, 16 hexadecimal digits"},
			{"noindex", Boolean, "the page asks not to be indexed"},
			{"nofollow", Boolean, "the page asks that its links not be followed"},
			{"truncated", Boolean, "the last capture is not whole"},
			{"dropped", Boolean, "given up: the cause says why"},
			{"role", Text, "page, or requisite: what a browser loads to show one"},
			{"cause", Text, "the word for why the last visit failed or the page was given up: a reason, HTTP 404 …"},
			{"says", Text, "what the system said of the failure"},
			{"same_as", Text, "the page that had the same main text first"},
			{"near", Text, "if there is none: the page that had nearly the same main text first"},
			{"scripted", Boolean, "scripts make the page of what they fetch, and they were not run"},
		},
		each: eachPage,
	}
}

type page struct {
	store.Page
	place store.Place
	role  string // empty when not wanted
}

const roleColumn = 23

var digits32 = base32.StdEncoding

func (p *page) Value(column int) Value {
	switch column {
	case 0:
		return integer(p.Number)
	case 1:
		return text(p.URL)
	case 2:
		return integer(p.Status)
	case 3:
		if p.Reason == 0 {
			return Value{}
		}
		return text(messages.Reason(p.Reason).String())
	case 4:
		return integer(p.Depth)
	case 5:
		return real32(p.Timing.Visits)
	case 6:
		return moment(p.LastVisit)
	case 7:
		return moment(p.Next)
	case 8:
		return real32(p.Timing.Interval)
	case 9:
		return real32(p.Timing.Mean)
	case 10:
		if p.Digest == [20]byte{} {
			return Value{}
		}
		return text(digits32.EncodeToString(p.Digest[:]))
	case 11:
		return text(p.place.String())
	case 12:
		return text(weburl.HostOf(p.URL))
	case 13:
		if p.Depth == 0 {
			return Value{}
		}
		return integer(p.From)
	case 14:
		return moment(p.CapturedAt)
	case 15:
		return moment(p.LastModified)
	case 16:
		return text(p.ETag)
	case 17:
		return fingerprintOf(p.MainDigest)
	case 18:
		return fingerprintOf(p.SimHash)
	case 19:
		return boolean(p.Flags&store.NoIndex != 0)
	case 20:
		return boolean(p.Flags&store.NoFollow != 0)
	case 21:
		return boolean(p.Flags&store.Truncated != 0)
	case 22:
		return boolean(p.Flags&store.Dropped != 0)
	case roleColumn:
		return text(p.role)
	case 24:
		return text(p.Cause().Word)
	case 25:
		return text(p.Cause().Says)
	case 26:
		return text(p.SameAs)
	case 27:
		return text(p.Near)
	case 28:
		return boolean(p.Flags&store.Scripted != 0)
	}
	return Value{}
}

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
