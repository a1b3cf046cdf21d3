package tables

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"henro/messages"
	"henro/store"
)

var hostColumns = []column[host]{
	{"host", Text, "scheme://name[:port]", func(h *host) Value { return text(h.Name) }},
	{"known", Integer, "URLs", func(h *host) Value { return integer(h.Known) }},
	{"visited", Integer, "pages visited at least once, or given up", func(h *host) Value { return integer(h.Visited) }},
	{"waiting", Integer, "pages waiting for their first visit", func(h *host) Value { return integer(h.Waiting) }},
	{"load_per_second", Real, "L = Σ 1/T: visits that its pages' timetable asks for",
		func(h *host) Value { return Value{Kind: Real, Real: h.Load} }},
	{"next_allowed", Moment, "no request may start earlier", func(h *host) Value { return moment(h.NextAllowed) }},
	{"robots_until", Moment, "when its robots.txt is asked for again; empty: never asked",
		func(h *host) Value { return moment(h.RobotsUntil) }},
	{"asked", Moment, "end of its last request; empty: never asked", func(h *host) Value { return moment(h.AskedAt) }},
	{"given_up", Integer, "pages given up", func(h *host) Value { return integer(h.GivenUp) }},
	{"errors", Integer, "visits that failed", func(h *host) Value { return integer(h.ErrorCount()) }},
	{"cause", Text, "the word for why it failed a request last",
		func(h *host) Value { return text(h.Failure.Cause().Word) }},
	{"failed", Moment, "when that was", func(h *host) Value { return moment(h.Failure.At) }},
	{"says", Text, "what the system said of it", func(h *host) Value { return text(h.Failure.Says) }},
}

// Hosts are all hosts that have a page.
func Hosts() *Table {
	return &Table{Name: "hosts", Doc: "every host with a page", URLColumn: -1, Indexes: []string{"host"},
		Columns: columnsOf(hostColumns), each: eachHost}
}

type host struct{ store.HostRecord }

func (h *host) Value(i int) Value { return valueAt(hostColumns, h, i) }

func eachHost(s *Source, q Query, fn func(Row) error) error {
	return s.partitions(q, func(p *store.Partition) error {
		if q.Host != nil {
			record, err := p.Hosts.Get(store.IDOf(*q.Host))
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			return fn(&host{record})
		}
		return p.Hosts.Each(func(record store.HostRecord) error { return fn(&host{record}) })
	})
}

var stopColumns = []column[stop]{
	{"prefix", Text, "a URL, a folder ending in /, or a host", func(e *stop) Value { return text(e.Prefix) }},
	{"reason", Text, "why", func(e *stop) Value { return text(e.Reason) }},
	{"evidence", Text, "what was seen", func(e *stop) Value { return text(e.Evidence) }},
	{"at", Moment, "since when", func(e *stop) Value { return moment(e.At) }},
	{"until", Moment, "when it is tried again; empty: never", func(e *stop) Value { return moment(e.Until) }},
	{"rounds", Integer, "how often it was listed in a row", func(e *stop) Value { return integer(e.Rounds) }},
	{"what", Text, "url, folder or host", func(e *stop) Value { return text(e.what) }},
}

// StopList is what is not visited, and why: what was listed, and the URLs that were broken at their last visit, which
// are on the list by their own record.
func StopList() *Table {
	return &Table{
		Name: "stoplist", Doc: "URLs, folders and hosts that are not visited", HostColumn: -1, URLColumn: -1,
		Columns: columnsOf(stopColumns),
		each: func(s *Source, q Query, fn func(Row) error) error {
			return s.partitions(q, func(p *store.Partition) error {
				if s.Stops != nil {
					if err := s.Stops(p, func(e Stop) error { return fn(&stop{e, whatIs(e.Prefix)}) }); err != nil {
						return err
					}
				}
				return p.Pages.Each(func(record store.Page, _ store.Place) error {
					if e := brokenPage(&record); e != nil {
						return fn(e)
					}
					return nil
				})
			})
		},
	}
}

// brokenPage is the entry of a URL that was broken at its last visit; nil: it was not.
func brokenPage(p *store.Page) *stop {
	reason := messages.Reason(p.Reason)
	word := messages.Broken(uint32(p.Status), reason)
	if word == "" || p.LastVisit.IsZero() {
		return nil
	}
	evidence := reason.String()
	if reason == messages.Reason_NONE {
		evidence = fmt.Sprintf("HTTP %d", p.Status)
	}
	return &stop{Stop{Prefix: p.URL, Reason: word, Evidence: evidence, At: p.LastVisit, Until: p.Next,
		Rounds: max(1, int(p.Attempts))}, "url"}
}

// whatIs says what a prefix on the list is.
func whatIs(prefix string) string {
	switch {
	case strings.Count(prefix, "/") <= 3 && strings.HasSuffix(prefix, "/"):
		return "host"
	case strings.HasSuffix(prefix, "/"):
		return "folder"
	}
	return "url"
}

// Stop is an entry of a stop list: URLs that are not visited.
type Stop struct {
	Prefix   string // a URL, a folder ending in "/", or a host
	Reason   string
	Evidence string
	At       time.Time
	Until    time.Time // from then on it is tried again; zero: for good
	Rounds   int       // how often it was listed in a row
}

type stop struct {
	Stop
	what string
}

func (e *stop) Value(i int) Value { return valueAt(stopColumns, e, i) }
