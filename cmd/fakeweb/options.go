package fakeweb

import (
	"fmt"
	"time"
)

// Options say what kind of web is made. The zero value of every field is harmless: one host, no latency, no faults, no
// changes.
type Options struct {
	Seed  uint64 // names the web; equal options and seed give equal bytes
	Hosts int    // hosts; zero: 1
	// Domains is the number of registrable domains the hosts are spread over; zero: 1, fakeweb.test.
	// A crawler that spreads work by domain needs several: with n > 1 they are called fakeweb00.test, fakeweb01.test …
	Domains int
	Pages   int // pages of a host, in the mean; zero: 1
	// shape of the distribution of host sizes; zero: all equal; otherwise above 1 (1.3 is like the real web), sizes are
	// cut at 100 times the mean
	Pareto float64
	Degree int // links to pages in each page, beside those to pages born later; zero: 12 (the thesis counted 12.16)
	// DegreeSpread is the sd of ln(degree) over pages; zero: all pages have Degree links, or as many as the tree needs.
	DegreeSpread float64
	// CrossShare is the share of links that lead to other hosts; zero: none. With any, every host can be reached from
	// host 0.
	CrossShare float64
	// Depth is the number of layers below the root of a host; zero: whatever Degree gives (half of the links lead
	// down).
	Depth     int
	PageBytes int // bytes of a page, in the mean, spread evenly over ± half; zero: 4096 (the paper measured 21,800)

	// bytes of the style sheet and of the image of every page, which are the same on all hosts; zero: some 100
	TemplateBytes int

	Latency    Latency
	Errors     Errors
	Changes    Changes
	Robots     Robots
	Validators Validators
	Traps      Traps
	Faults     Faults
	Life       Life
	Hints      Hints
	Twins      Twins

	RedirectShare float64 // share of pages that are reached through a redirect from the URL that is linked
	// share of hosts in Japanese: EUC-JP, Shift_JIS and UTF-8 by thirds, named in the header, in a meta element, in
	// both or nowhere
	Japanese     float64
	TrivialShare float64 // share of hosts with a date and a counter in the navigation bar that move without the text

	// Shape, when set, is handed each host as drawn and may change it: to put a fault exactly where a test needs it. It
	// must be a pure function: it is called whenever the host is looked at. Index and the name are not its to change.
	Shape func(*Host)

	Guests []Guest // hosts beside the web's own

	LogEntries int           // requests kept in memory, the newest; zero: 65,536; negative: none
	LogFile    string        // every request is appended to this file as a line; empty: none
	Idle       time.Duration // a connection without a request is closed after this; zero: never
}

// Latency is the time a host takes before it answers.
type Latency struct {
	Mean   time.Duration // mean over hosts; zero: answers at once
	Spread float64       // sd of ln(mean of a host) over hosts; zero: all hosts alike; 0.8: like the paper's figure 6
	Jitter float64       // sd of ln(latency) within one host; zero: none
}

// Errors are the shares of pages that answer an error, always. Such pages are leaves of the tree.
type Errors struct {
	NotFound    float64 // 404
	Gone        float64 // 410
	Internal    float64 // 500
	Unavailable float64 // 503 with Retry-After: 120
	Throttled   float64 // 429 with Retry-After: 60
	Timeout     float64 // reads the request and never answers
	Reset       float64 // resets the connection in the middle of the body
	Cut         float64 // closes the connection before Content-Length is reached
	// Flaky pages, leaves or not, answer 500 half of the time: in every stretch of FlakyFor they are well or ill as a
	// whole.
	Flaky    float64
	FlakyFor time.Duration // zero: 10 minutes
}

func (e *Errors) total() float64 {
	return e.NotFound + e.Gone + e.Internal + e.Unavailable + e.Throttled + e.Timeout + e.Reset + e.Cut
}

// Changes say how the text of pages changes: as Poisson processes, each page with its own rate.
type Changes struct {
	Share float64 // share of pages that ever change; zero: none
	// mean times between changes are spread evenly on the logarithm between these; Fastest zero: an hour; Slowest zero:
	// 100 days, or Fastest if that is more
	Fastest, Slowest time.Duration
}

// Robots are the shares of hosts by what their /robots.txt does; the rest of the hosts allow everything.
type Robots struct {
	Missing     float64       // 404: everything is allowed
	Folders     float64       // disallows /private/ and everything that matches /*/view?
	Closed      float64       // disallows everything
	Delayed     float64       // allows everything with a Crawl-delay
	Delay       time.Duration // that Crawl-delay; zero: 10 s
	Unavailable float64       // 503: RFC 9309 says nothing may be fetched
	Silent      float64       // never answers: the same
	Redirected  float64       // 301 to /robots-moved.txt, which allows everything but /private/
}

// Validators are the shares of hosts that send validators and answer 304; the rest send none.
type Validators struct {
	ETag         float64
	LastModified float64
	Both         float64
}

// Hints are shares of hosts by what they say of their pages. Every host has a sitemap, which its robots.txt names
// unless that is missing.
type Hints struct {
	Indexed float64 // the sitemap is an index of compressed parts
	Part    int     // pages of one part; zero: 1000
	// the root names a feed, /feed.xml, of the pages that changed last: Atom on even hosts, RSS on odd ones
	Feeds float64
	Lying float64 // of every page they say that it changed with the last full hour
	Daily float64 // they say the day of a change only
}

// Traps are shares of hosts that hold pages without end.
type Traps struct {
	// /calendar/YYYY/MM, each month linking to the next, the one before and the same month a year on
	Calendar     float64
	Sessions     float64 // /maze/N?sid=…: a new session id in every link
	SoftNotFound float64 // what does not exist answers 200 and the words "not found"
}

// Faults are shares of hosts that are out of order altogether.
type Faults struct {
	Silent    float64 // accepts connections, reads requests, never answers
	Dead      float64 // refuses connections
	Blackhole float64 // connecting never ends (in memory only; on sockets: refuses)
	Unknown   float64 // the name does not resolve
}

// DefaultOptions is a small web with a bit of everything that ordinary webs have, for a first look.
func DefaultOptions() Options {
	return Options{
		Seed: 1, Hosts: 20, Domains: 8, Pages: 100, Pareto: 1.5, Degree: 12, CrossShare: 0.2, PageBytes: 8 << 10,
		Latency:       Latency{Mean: 20 * time.Millisecond, Spread: 0.8, Jitter: 0.3},
		Errors:        Errors{NotFound: 0.02, Internal: 0.005},
		Changes:       Changes{Share: 0.5, Fastest: time.Hour, Slowest: 100 * 24 * time.Hour},
		Robots:        Robots{Missing: 0.3, Folders: 0.2, Delayed: 0.05, Delay: 2 * time.Second},
		Validators:    Validators{ETag: 0.2, LastModified: 0.2, Both: 0.3},
		RedirectShare: 0.03, Japanese: 0.3, TrivialShare: 0.2,
	}
}

// ThesisOptions is the web of 2002 as the thesis met it, with time running scale times as fast: a slave that fetched
// one page after another made 8.7 pages a minute, so a page took 6.9 s; 12.16 links a page, more on some and fewer on
// others; about 5 % of the URLs broken, moved or never answering; Japanese hosts in three encodings. What the thesis
// does not say (how many hosts, their sizes, how many links leave a host) is set like a web of that time: many small
// hosts and few large ones.
func ThesisOptions(scale float64) Options {
	return Options{
		Seed: 2002, Hosts: 2000, Domains: 600, Pages: 60, Pareto: 1.3, Degree: 12, DegreeSpread: 0.7, CrossShare: 0.25,
		PageBytes:     8 << 10,
		Latency:       Latency{Mean: time.Duration(6.9 / scale * float64(time.Second)), Spread: 0.6, Jitter: 0.3},
		Errors:        Errors{NotFound: 0.02, Internal: 0.005, Timeout: 0.005},
		Robots:        Robots{Missing: 0.8, Folders: 0.1},
		Validators:    Validators{LastModified: 0.6},
		Faults:        Faults{Silent: 0.005, Dead: 0.005, Unknown: 0.005},
		RedirectShare: 0.01, Japanese: 0.9,
	}
}

// filled gives the options with the zeros replaced by what they mean.
func (o Options) filled() Options {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&o.Hosts, 1)
	set(&o.Domains, 1)
	set(&o.Pages, 1)
	set(&o.Degree, 12)
	set(&o.PageBytes, 4096)
	set(&o.LogEntries, 1<<16)
	o.LogEntries = max(o.LogEntries, 0)
	set(&o.Hints.Part, 1000)
	span := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	span(&o.Errors.FlakyFor, 10*time.Minute)
	span(&o.Robots.Delay, 10*time.Second)
	span(&o.Life.Lifetime, 100*24*time.Hour)
	span(&o.Life.Up, 30*24*time.Hour)
	span(&o.Life.Down, 24*time.Hour)
	if o.Life.Since.IsZero() {
		o.Life.Since = epoch
	}
	span(&o.Changes.Fastest, time.Hour)
	span(&o.Changes.Slowest, max(100*24*time.Hour, o.Changes.Fastest))
	return o
}

// Validate reports the first contradiction, wrapped in ErrOptions.
func (o Options) Validate() error {
	o = o.filled()
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...)
	}
	switch {
	case o.Hosts < 0 || o.Hosts > 1e7:
		return bad("%d hosts; at most ten million", o.Hosts)
	case o.Domains < 0 || o.Domains > o.Hosts:
		return bad("%d domains for %d hosts", o.Domains, o.Hosts)
	case o.Pages < 0 || o.Pages > 1e8:
		return bad("%d pages a host; at most a hundred million", o.Pages)
	case o.Pareto != 0 && o.Pareto <= 1:
		return bad("pareto shape %g has no mean; it must be above 1", o.Pareto)
	case o.Degree < 0 || o.Degree > 1e6:
		return bad("degree %d", o.Degree)
	case o.DegreeSpread < 0 || o.DegreeSpread > 2:
		return bad("degree spread %g; at most 2", o.DegreeSpread)
	case o.Depth < 0:
		return bad("depth %d", o.Depth)
	case o.TemplateBytes < 0 || o.TemplateBytes > 1<<30:
		return bad("%d bytes of a template", o.TemplateBytes)
	case o.PageBytes < 0 || o.PageBytes > 1<<30:
		return bad("%d bytes a page", o.PageBytes)
	case o.Latency.Mean < 0 || o.Latency.Spread < 0 || o.Latency.Jitter < 0:
		return bad("negative latency")
	case o.Changes.Fastest < time.Second || o.Changes.Slowest < o.Changes.Fastest:
		return bad("changes between %v and %v; the fastest is a second", o.Changes.Fastest, o.Changes.Slowest)
	}
	if l := &o.Life; l.Growth < 0 || l.Growth > 86400 || l.Lifetime < 0 || l.Up < 0 || l.Down < 0 {
		return bad("growth of %g pages a day, lifetime %v, up %v, down %v", l.Growth, l.Lifetime, l.Up, l.Down)
	}
	r, v, f, t := &o.Robots, &o.Validators, &o.Faults, &o.Twins
	shares := []struct {
		name  string
		parts []float64
	}{
		{"cross share", []float64{o.CrossShare}},
		{"redirect share", []float64{o.RedirectShare}},
		{"japanese", []float64{o.Japanese}},
		{"trivial share", []float64{o.TrivialShare}},
		{"changes", []float64{o.Changes.Share}},
		{"errors", []float64{o.Errors.total()}},
		{"flaky", []float64{o.Errors.Flaky}},
		{"robots", []float64{r.Missing, r.Folders, r.Closed, r.Delayed, r.Unavailable, r.Silent, r.Redirected}},
		{"validators", []float64{v.ETag, v.LastModified, v.Both}},
		{"faults", []float64{f.Silent, f.Dead, f.Blackhole, f.Unknown}},
		{"vanishing", []float64{o.Life.Vanishing}},
		{"outages", []float64{o.Life.Outages}},
		{"calendar", []float64{o.Traps.Calendar}},
		{"sessions", []float64{o.Traps.Sessions}},
		{"indexed sitemaps", []float64{o.Hints.Indexed}},
		{"feeds", []float64{o.Hints.Feeds}},
		{"lying and daily hints", []float64{o.Hints.Lying, o.Hints.Daily}},
		{"soft not found", []float64{o.Traps.SoftNotFound}},
		{"aliases", []float64{t.Aliases}},
		{"moved", []float64{t.Moved}},
		{"counters", []float64{t.Counters}},
		{"mirrors", []float64{t.Mirrors}},
		{"dust", []float64{t.Dust}},
		{"variants", []float64{t.Variants}},
		{"lookalikes", []float64{t.Lookalikes}},
		{"near-duplicates", []float64{t.Near}},
		{"templates", []float64{t.Templates}},
		{"parked hosts and equal fronts", []float64{t.Parked, t.Fronts}},
		{"translations", []float64{t.Translations}},
	}
	for _, s := range shares {
		sum := 0.0
		for _, p := range s.parts {
			if p < 0 {
				return bad("%s: negative share", s.name)
			}
			sum += p
		}
		if sum > 1+1e-9 {
			return bad("%s: shares add up to %g", s.name, sum)
		}
	}
	return nil
}
