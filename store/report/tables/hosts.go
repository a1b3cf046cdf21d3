package tables

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"henro/messages"
	"henro/store"
)

// Hosts are all hosts that have a page.
func Hosts() *Table {
	return &Table{
		Name: "hosts", Doc: "every host with a page", HostColumn: 0, URLColumn: -1,
		Indexes: []string{"host"},
		Columns: []Column{
			{"host", Text, "scheme://name[:port]"},
			{"known", Integer, "URLs"},
			{"visited", Integer, "pages visited at least once, or given up"},
			{"waiting", Integer, "pages waiting for their first visit"},
			{"load_per_second", Real, "L = Σ 1/T: visits that its pages' timetable asks for"},
			{"next_allowed", Moment, "no request may start earlier"},
			{"robots_until", Moment, "when its robots.txt is asked for again; empty: never asked"},
			{"asked", Moment, "end of its last request; empty: never asked"},
			{"given_up", Integer, "pages given up"},
			{"errors", Integer, "visits that failed"},
			{"cause", Text, "the word for why it failed a request last"},
			{"failed", Moment, "when that was"},
			{"says", Text, "what the system said of it"},
		},
		each: eachHost,
	}
}

type host struct{ store.HostRecord }

func (h *host) Value(column int) Value {
	switch column {
	case 0:
		return text(h.Name)
	case 1:
		return integer(h.Known)
	case 2:
		return integer(h.Visited)
	case 3:
		return integer(h.Waiting)
	case 4:
		return Value{Kind: Real, Real: h.Load}
	case 5:
		return moment(h.NextAllowed)
	case 6:
		return moment(h.RobotsUntil)
	case 7:
		return moment(h.AskedAt)
	case 8:
		return integer(h.GivenUp)
	case 9:
		return integer(h.ErrorCount())
	case 10:
		return text(h.Failure.Cause().Word)
	case 11:
		return moment(h.Failure.At)
	case 12:
		return text(h.Failure.Says)
	}
	return Value{}
}

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

// StopList is what is not visited, and why: what was listed, and the URLs that were broken at their last visit, which
// are on the list by their own record.
func StopList() *Table {
	return &Table{
		Name: "stoplist", Doc: "URLs, folders and hosts that are not visited", HostColumn: -1, URLColumn: -1,
		Columns: []Column{
			{"prefix", Text, "a URL, a folder ending in /, or a host"},
			{"reason", Text, "why"},
			{"evidence", Text, "what was seen"},
			{"at", Moment, "since when"},
			{"until", Moment, "when it is tried again; empty: never"},
			{"rounds", Integer, "how often it was listed in a row"},
			{"what", Text, "url, folder or host"},
		},
		each: func(s *Source, q Query, fn func(Row) error) error {
			return s.partitions(q, func(p *store.Partition) error {
				if s.Stops != nil {
					err := s.Stops(p, func(e Stop) error { return fn(&stop{e, whatIs(e.Prefix)}) })
					if err != nil {
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

func (e *stop) Value(column int) Value {
	switch column {
	case 0:
		return text(e.Prefix)
	case 1:
		return text(e.Reason)
	case 2:
		return text(e.Evidence)
	case 3:
		return moment(e.At)
	case 4:
		return moment(e.Until)
	case 5:
		return integer(e.Rounds)
	case 6:
		return text(e.what)
	}
	return Value{}
}
