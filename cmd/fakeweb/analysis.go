package fakeweb

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Pace is how one host was visited.
type Pace struct {
	Origin   string // scheme, name and port
	Requests int
	// Shortest is the least time between the starts of two successive requests, robots.txt and redirects included; zero
	// for a single one.
	Shortest      time.Duration
	Before, After Entry // the two requests that were so close
}

// Paces gives the pace of every host, in the order of their names.
func Paces(log []Entry) []Pace {
	var paces []Pace
	for _, visits := range ByHost(log) {
		p := Pace{Origin: visits[0].Origin(), Requests: len(visits)}
		for i := 1; i < len(visits); i++ {
			if gap := visits[i].Start.Sub(visits[i-1].Start); i == 1 || gap < p.Shortest {
				p.Shortest, p.Before, p.After = gap, visits[i-1], visits[i]
			}
		}
		paces = append(paces, p)
	}
	return paces
}

// Shortest gives the pace of the host whose requests came closest to each other; without two requests to any host,
// false.
func Shortest(log []Entry) (Pace, bool) {
	var least Pace
	found := false
	for _, p := range Paces(log) {
		if p.Requests > 1 && (!found || p.Shortest < least.Shortest) {
			least, found = p, true
		}
	}
	return least, found
}

// Overlap is two requests to one host that were in flight at the same time.
type Overlap struct {
	First, Second Entry
	For           time.Duration // how long both were
}

// Overlaps finds every request that began while an earlier one to the same host was in flight, longer than slack. What
// was answered needs no slack: the span noted lies inside the one the client saw. The end of an aborted request is seen
// late, by as much as the scheduler pleases; a slack of some milliseconds forgives that.
func Overlaps(log []Entry, slack time.Duration) []Overlap {
	var list []Overlap
	for _, visits := range ByHost(log) {
		last := visits[0] // of those before, the one that ends last
		for _, v := range visits[1:] {
			if v.Start.Before(last.End) {
				end := last.End
				if v.End.Before(end) {
					end = v.End
				}
				if both := end.Sub(v.Start); both > slack {
					list = append(list, Overlap{First: last, Second: v, For: both})
				}
			}
			if v.End.After(last.End) {
				last = v
			}
		}
	}
	return list
}

// Visits counts the requests of every URL but /robots.txt.
func Visits(log []Entry) map[string]int {
	visits := map[string]int{}
	for i := range log {
		if e := &log[i]; e.Path != "/robots.txt" && e.Path != "/robots-moved.txt" {
			visits[e.URL()]++
		}
	}
	return visits
}

// Repeats counts the requests of every URL that was asked for more than once, but /robots.txt.
func Repeats(log []Entry) map[string]int {
	visits := Visits(log)
	for url, n := range visits {
		if n < 2 {
			delete(visits, url)
		}
	}
	return visits
}

// ByHost sorts the entries of each host by start, hosts by name.
func ByHost(log []Entry) [][]Entry {
	hosts := map[string][]Entry{}
	for _, e := range log {
		hosts[e.Origin()] = append(hosts[e.Origin()], e)
	}
	list := make([][]Entry, 0, len(hosts))
	for _, visits := range hosts {
		slices.SortStableFunc(visits, func(a, b Entry) int {
			return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End))
		})
		list = append(list, visits)
	}
	slices.SortFunc(list, func(a, b []Entry) int { return strings.Compare(a[0].Origin(), b[0].Origin()) })
	return list
}
