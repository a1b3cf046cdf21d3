// Package survey counts a crawl: what the thesis of the link collector reports of its runs (table 4.8 and section
// 4.2.1: pages parsed, links collected, mean, standard deviation and range, links per page, share of pages on the stop
// list, correlation of pages and links), and the hosts, status codes, depths, media types and sizes behind it.
//
// # Invariants
//
//   - One pass over each table, and memory that grows with hosts, status codes and media types, not with pages.
//   - The numbers are those that SQL gives over the same tables.
package survey

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"henro/store/archive/cdxj"
	"henro/store/report/tables"
)

// Survey is the numbers of one crawl. Its JSON is an interface: names stay.
type Survey struct {
	Known      int64 `json:"known"`      // URLs in scope, pages and requisites
	Requisites int64 `json:"requisites"` // of these, URLs that are known only because a page is shown with them
	Parsed     int64 `json:"parsed"`     // that gave an answer: the thesis' parsed URLs
	Failed     int64 `json:"failed"`     // visited, or refused by robots.txt, and never answered
	Waiting    int64 `json:"waiting"`    // for their first visit
	Links      int64 `json:"links"`      // collected, also those out of scope
	Linking    int64 `json:"linking"`    // pages with a link
	Hosts      int64 `json:"hosts"`      // with a page
	Stopped    int64 `json:"stopped"`    // URLs in scope that the stop list covers
	StopList   int64 `json:"stop_list"`  // its folders and hosts
	Broken     int64 `json:"broken"`     // single URLs on it, which were broken at their last visit
	Captures   int64 `json:"captures"`   // archived answers
	Revisits   int64 `json:"revisits"`   // of these, of content that was stored before, of this URL or another
	WARCBytes  int64 `json:"warc_bytes"` // of the records of answers, compressed

	SameText int64 `json:"same_text"` // pages whose main text another page had first (--near mark)
	NearText int64 `json:"near_text"` // whose main text is nearly that of another page that had it first

	StoppedShare float64 `json:"stopped_share"` // of the URLs in scope
	Correlation  float64 `json:"correlation"`   // Pearson's r of pages parsed and links collected, over hosts

	LinksPerPage Spread `json:"links_per_page"`
	PagesPerHost Spread `json:"pages_per_host"` // parsed
	LinksPerHost Spread `json:"links_per_host"`
	RecordBytes  Spread `json:"record_bytes"` // of answers that are no revisits, compressed

	Statuses   []Count `json:"statuses"`    // of the last visits, and reasons where there was no answer
	Depths     []Count `json:"depths"`      // pages known by the links from a seed
	Kinds      []Count `json:"kinds"`       // of links
	MediaTypes []Count `json:"media_types"` // of captures
	Languages  []Count `json:"languages"`   // of the sample, counted where the archive is
	TopHosts   []Host  `json:"top_hosts"`   // with most pages parsed

	Sample []cdxj.Entry `json:"-"` // some of the archived pages, spread evenly over the archive
}

// Count is how many there are of something.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Host is what was found on one.
type Host struct {
	Name   string `json:"host"`
	Known  int64  `json:"known"`
	Parsed int64  `json:"parsed"`
	Links  int64  `json:"links"`
}

// Spread is how numbers are spread.
type Spread struct {
	N     int64   `json:"n"`
	Total float64 `json:"total"`
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"` // of the sample: n − 1 below the root
	Least float64 `json:"least"`
	Most  float64 `json:"most"`

	squares float64 // sum of squared distances from the mean (Welford)
}

// Add counts one value.
func (s *Spread) Add(x float64) {
	if s.N == 0 || x < s.Least {
		s.Least = x
	}
	if s.N == 0 || x > s.Most {
		s.Most = x
	}
	s.N++
	s.Total += x
	before := x - s.Mean
	s.Mean += before / float64(s.N)
	s.squares += before * (x - s.Mean)
	if s.N > 1 {
		s.SD = math.Sqrt(s.squares / float64(s.N-1))
	}
}

// topHosts is how many hosts are listed.
const topHosts = 20

// Take counts, and keeps so many archived pages as a sample. progress is called now and then with what was read; it may
// be nil.
func Take(ctx context.Context, source *tables.Source, sample int, progress func(table string, rows int64)) (*Survey,
	error) {
	t := taker{ctx: ctx, source: source, progress: progress, hosts: map[string]*Host{}, stops: map[string]bool{},
		sample: sampler{most: sample, every: 1}}
	for _, read := range []func() error{t.stopList, t.pages, t.links, t.captures} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	t.finish()
	return &t.Survey, nil
}

type taker struct {
	Survey
	ctx      context.Context
	source   *tables.Source
	progress func(string, int64)
	hosts    map[string]*Host
	stops    map[string]bool
	sample   sampler
}

// sampler keeps some of many, spread evenly, whose number is not known before: each every-th, and of these every other
// one whenever they become too many.
type sampler struct {
	most, every, seen int
	kept              []cdxj.Entry
}

// add offers the next one, which copied makes if it is to be kept.
func (s *sampler) add(copied func() cdxj.Entry) {
	if s.most > 0 && s.seen%s.every == 0 {
		s.kept = append(s.kept, copied())
	}
	s.seen++
	if s.most > 0 && len(s.kept) == 2*s.most {
		s.kept, s.every = thinned(s.kept, s.most), 2*s.every
	}
}

// thinned keeps at most so many, spread evenly.
func thinned(all []cdxj.Entry, most int) []cdxj.Entry {
	if len(all) <= most {
		return all
	}
	kept := all[:0]
	for i := range most {
		kept = append(kept, all[i*len(all)/most])
	}
	return kept
}

// each reads the columns named; value returns that of the i-th of them.
func (t *taker) each(table *tables.Table, columns []string, fn func(value func(i int) tables.Value)) error {
	at, q := make([]int, len(columns)), tables.Query{Passing: true}
	for i, name := range columns {
		at[i] = table.Column(name)
		q.Columns |= 1 << at[i]
	}
	var current tables.Row
	value := func(i int) tables.Value { return current.Value(at[i]) }
	return table.Watched(t.ctx, t.source, q, t.progress, func(row tables.Row) error {
		current = row
		fn(value)
		return nil
	})
}

func (t *taker) host(name string) *Host {
	h := t.hosts[name]
	if h == nil {
		h = &Host{Name: strings.Clone(name)}
		t.hosts[h.Name] = h
	}
	return h
}

func (t *taker) stopList() error {
	return t.each(tables.StopList(), []string{"prefix", "what"}, func(value func(int) tables.Value) {
		if value(1).Text == "url" {
			t.Broken++
			return
		}
		t.stops[value(0).Text] = true
		t.StopList++
	})
}

// stopped reports whether the stop list has a URL, a folder above it or its host.
func (t *taker) stopped(url string) bool {
	if len(t.stops) == 0 {
		return false
	}
	if t.stops[url] {
		return true
	}
	path := strings.Index(url, "://") + 3
	for i := path; i < len(url); i++ {
		switch url[i] {
		case '/':
			if t.stops[url[:i]] || t.stops[url[:i+1]] {
				return true
			}
		case '?':
			return false
		}
	}
	return false
}

func (t *taker) pages() error {
	statuses, depths := map[string]int64{}, map[int64]int64{}
	err := t.each(tables.Pages(), []string{"url", "host", "status", "reason", "depth", "last_visit", "captured_at",
		"role", "same_as", "near"},
		func(value func(int) tables.Value) {
			t.Known++
			h := t.host(value(1).Text)
			h.Known++
			if value(7).Text == "requisite" {
				t.Requisites++
			}
			if value(8).Kind != tables.Empty {
				t.SameText++
			}
			if value(9).Kind != tables.Empty {
				t.NearText++
			}
			depths[value(4).Int]++
			if t.stopped(value(0).Text) {
				t.Stopped++
			}
			if value(5).Kind == tables.Empty {
				t.Waiting++
				return
			}
			if value(6).Kind == tables.Empty {
				t.Failed++
			} else {
				t.Parsed++
				h.Parsed++
			}
			if reason := value(3); reason.Kind != tables.Empty {
				statuses[reason.Text]++
			} else {
				statuses[strconv.FormatInt(value(2).Int, 10)]++
			}
		})
	t.Statuses = Ranked(statuses)
	for _, depth := range slices.Sorted(maps.Keys(depths)) {
		t.Depths = append(t.Depths, Count{strconv.FormatInt(depth, 10), depths[depth]})
	}
	return err
}

func (t *taker) links() error {
	kinds := map[string]int64{}
	page, count := int64(-1), 0
	end := func() {
		if count > 0 {
			t.Linking++
			t.LinksPerPage.Add(float64(count))
		}
		count = 0
	}
	err := t.each(tables.Links(), []string{"number", "kind", "from_host"}, func(value func(int) tables.Value) {
		if number := value(0).Int; number != page {
			end()
			page = number
		}
		count++
		t.Links++
		kinds[value(1).Text]++
		t.host(value(2).Text).Links++
	})
	end()
	for range t.Parsed - t.Linking { // the others have none, and count in the mean
		t.LinksPerPage.Add(0)
	}
	t.Kinds = Ranked(kinds)
	return err
}

func (t *taker) captures() error {
	types := map[string]int64{}
	err := t.each(tables.Captures(), []string{"mime", "revisit", "length", "status", "url", "filename", "offset"},
		func(value func(int) tables.Value) {
			t.Captures++
			length := value(2).Int
			t.WARCBytes += length
			if value(1).Int != 0 {
				t.Revisits++
				return
			}
			types[value(0).Text]++
			t.RecordBytes.Add(float64(length))
			if value(0).Text == "text/html" && value(3).Int == http.StatusOK {
				t.sample.add(func() cdxj.Entry {
					return cdxj.Entry{URL: strings.Clone(value(4).Text), Mime: "text/html", Status: http.StatusOK,
						Filename: strings.Clone(value(5).Text), Offset: value(6).Int, Length: length}
				})
			}
		})
	t.MediaTypes, t.Sample = Ranked(types), thinned(t.sample.kept, t.sample.most)
	return err
}

func (t *taker) finish() {
	t.Hosts = int64(len(t.hosts))
	all := slices.SortedFunc(maps.Values(t.hosts), func(a, b *Host) int {
		return cmp.Or(cmp.Compare(b.Parsed, a.Parsed), cmp.Compare(b.Links, a.Links), cmp.Compare(a.Name, b.Name))
	})
	for i, h := range all {
		t.PagesPerHost.Add(float64(h.Parsed))
		t.LinksPerHost.Add(float64(h.Links))
		if i < topHosts {
			t.TopHosts = append(t.TopHosts, *h)
		}
	}
	products := 0.0
	for _, h := range all {
		products += (float64(h.Parsed) - t.PagesPerHost.Mean) * (float64(h.Links) - t.LinksPerHost.Mean)
	}
	if spread := math.Sqrt(t.PagesPerHost.squares * t.LinksPerHost.squares); spread > 0 {
		t.Correlation = products / spread
	}
	if t.Known > 0 {
		t.StoppedShare = float64(t.Stopped) / float64(t.Known)
	}
}

// Ranked lists the most frequent first.
func Ranked(counts map[string]int64) []Count {
	list := make([]Count, 0, len(counts))
	for name, n := range counts {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Name, b.Name))
	})
	return list
}
