package embedded_test

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/weburl"
	"henro/slave"
)

var hintedPages = flag.Int("hinted-pages", 24, "pages of each host of TestHintsShortenTheLag")

// hintedWeb has as many hosts of each kind: those that tell the truth, in plain and in indexed sitemaps, with and
// without a feed, and those that say of every page that it has just changed.
func hintedWeb() fakeweb.Options {
	return fakeweb.Options{
		Seed: 23, Hosts: 8, Domains: 8, Pages: *hintedPages, PageBytes: 1024,
		Changes:    fakeweb.Changes{Share: 1, Fastest: 4 * day, Slowest: 30 * day},
		Hints:      fakeweb.Hints{Part: 10},
		LogEntries: 1 << 18,
		Shape: func(h *fakeweb.Host) {
			h.Indexed, h.Fed = h.Index&2 != 0, h.Index&4 != 0
			if h.Index&1 != 0 {
				h.Lastmod = fakeweb.LastmodLying
			}
		},
	}
}

// heard is what a continuous crawl made of the hosts of one kind.
type heard struct {
	requests, versions, captured int
	documents                    int           // of the requests, for robots.txt, sitemaps and feeds
	robots                       int           // of these, for robots.txt
	lag                          time.Duration // of the captured
}

func (h *heard) pages() int { return h.requests - h.documents }

func (h *heard) meanLag() time.Duration {
	return (h.lag / time.Duration(max(h.captured, 1))).Round(time.Minute)
}

// tell tells the crawl every ten minutes what has changed, until the context ends: of honest hosts the pages that did,
// of liars all pages at every full hour.
func tell(ctx context.Context, t *testing.T, web *fakeweb.Web, node *master.Node) {
	for from := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Minute):
		}
		now := time.Now()
		changed := master.ChangedPosted{By: "the test"}
		for i := range web.Hosts() {
			host := web.Host(i)
			for n := range host.Pages {
				url := web.PageURL(i, n, 0)
				moments, err := web.Changes(url, from, now)
				if err != nil {
					t.Error(err)
				}
				if lies := host.Lastmod == fakeweb.LastmodLying; lies && now.Truncate(time.Hour).After(from) ||
					!lies && len(moments) > 0 {
					changed.URLs = append(changed.URLs, url)
				}
			}
		}
		if len(changed.URLs) > 0 {
			if _, err := node.Changed(ctx, &changed); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
		from = now
	}
}

// listen crawls the web for so long and counts, after the first third, honest hosts first. For another aim than 1 it
// crawls these alone.
func listen(t *testing.T, sitemaps, told bool, aim float64, length time.Duration) (kinds [2]heard) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(hintedWeb())
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.Sitemaps, o.Hosts.Revisit.Aim, o.For, o.Store.Partitions = true, sitemaps, aim,
				length, 2
			o.LeaseFor, o.TickEvery = 2*time.Hour, 5*time.Minute
		})
		e.Adjust = func(o *slave.Options) { o.AskEvery = 5 * time.Minute }
		kindOf := map[string]int{}
		for i := range web.Hosts() {
			kindOf["http://"+web.Host(i).Name] = i & 1
		}
		e.Seeds = slices.DeleteFunc(e.Seeds, func(s reading.Seed) bool {
			return aim != 1 && kindOf[weburl.HostOf(s.URL.String())] == 1
		})
		begun := time.Now()
		status, err := e.Run(t.Context(), func(ctx context.Context,
			node *master.Node) error {
			if told {
				tell(ctx, t, web, node)
			}
			<-ctx.Done()
			return nil
		})
		if err != nil || status.End != master.TimeLimit {
			t.Fatalf("ended with %q, %v", status.End, err)
		}
		hosts, pages := crawltest.StateIn(t, dir)
		if sitemaps {
			for name, host := range hosts {
				var state politeness.State
				if err := state.UnmarshalBinary(host.Politeness); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: its hints are right with a chance of %.2f, notices with %.2f, and %.2f of changes told",
					name, state.Timetable.Hints().Chance(), state.Timetable.Told().Chance(),
					state.Timetable.Foretold().Chance())
			}
		}
		if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
			t.Errorf("asked twice at once: %v", overlaps)
		}
		for _, pace := range fakeweb.Paces(web.Log()) {
			if pace.Requests > 1 && pace.Shortest < 5*time.Second {
				t.Errorf("%s was asked again after %v", pace.Origin, pace.Shortest)
			}
		}
		from := begun.Add(length / 3)
		last := map[string]time.Time{}
		for _, entry := range web.Log() {
			url := entry.URL()
			kind := &kinds[kindOf[weburl.HostOf(url)]]
			since := last[url]
			last[url] = entry.Start
			if entry.Start.Before(from) || since.IsZero() {
				continue
			}
			kind.requests++
			if strings.HasSuffix(url, "/robots.txt") {
				kind.robots++
			}
			if strings.HasSuffix(url, ".xml") || strings.HasSuffix(url, ".xml.gz") || strings.HasSuffix(url, ".txt") {
				kind.documents++
			}
			moments, err := web.Changes(url, since, entry.Start)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(moments); n > 0 {
				kind.captured++
				kind.lag += entry.Start.Sub(moments[n-1])
			}
		}
		for url := range pages {
			n, err := web.ChangeCount(url, from, begun.Add(length))
			if err != nil {
				t.Fatal(err)
			}
			kinds[kindOf[weburl.HostOf(url)]].versions += n
		}
	})
	return kinds
}

// Honest hosts are visited when they have changed; liars cost little: go test -run TestHintsShortenTheLag -v
// ./cmd/embedded
func TestHintsShortenTheLag(t *testing.T) {
	t.Parallel()
	length := time.Duration(*days) * day
	deaf := listen(t, false, false, 1, length)
	hears := listen(t, true, false, 1, length)
	told := listen(t, true, true, 1, length)
	// As many requests as the hints have cost, spent on visiting all pages more often instead. A sitemap that lies is
	// another page at each visit, and would have most of these.
	equal := listen(t, false, false, float64(deaf[0].requests)/float64(hears[0].requests), length)
	for _, run := range []struct {
		name  string
		kinds [2]heard
	}{{"without hints", deaf}, {"with hints", hears}, {"with notices", told},
		{"without hints, as many requests", equal}} {
		for i, name := range []string{"honest", "lying"} {
			k := &run.kinds[i]
			t.Logf("%s, %s hosts: %d requests, %d of them documents (%d robots.txt), %d of %d versions captured, "+
				"mean lag %v", run.name, name, k.requests, k.documents, k.robots, k.captured, k.versions, k.meanLag())
		}
	}
	if honest, base := &hears[0], &equal[0]; honest.meanLag() > base.meanLag()/2 || honest.captured < base.captured {
		t.Errorf("honest hosts: a lag of %v and %d versions with hints, %v and %d without", honest.meanLag(),
			honest.captured, base.meanLag(), base.captured)
	}
	if honest := &told[0]; honest.captured < hears[0].captured || honest.meanLag() > time.Hour ||
		float64(honest.requests) > 1.6*float64(honest.captured) {
		t.Errorf("honest hosts, with notices: %d requests, %d versions, a lag of %v", honest.requests, honest.captured,
			honest.meanLag())
	}
	if lying, base := &told[1], &deaf[1]; float64(lying.pages()) > 1.5*float64(base.pages()) ||
		lying.requests > base.requests {
		t.Errorf("lying hosts: %d requests, %d for pages, with notices, %d and %d without", lying.requests,
			lying.pages(), base.requests, base.pages())
	}
	if lying, base := &hears[1], &deaf[1]; float64(lying.pages()) > 1.25*float64(base.pages()) ||
		lying.requests > base.requests {
		t.Errorf("lying hosts: %d requests, %d for pages, with hints, %d and %d without", lying.requests, lying.pages(),
			base.requests, base.pages())
	}
}

// Behind a sitemap all pages are two links from the seed of their host: one to the sitemap, which robots.txt names, one
// on.
func TestSitemapsLeadToEveryPage(t *testing.T) {
	for _, c := range []struct {
		sitemaps bool
		depth    int
		all      bool
	}{{false, 2, false}, {true, 2, true}, {true, 1, false}} {
		synctest.Test(t, func(t *testing.T) {
			o := hintedWeb()
			o.Degree, o.Depth, o.Changes = 3, 8, fakeweb.Changes{}
			web, err := fakeweb.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			dir := t.TempDir()
			e := crawltest.Of(t, dir, web, c.depth, func(o *master.Options) { o.Hosts.Sitemaps = c.sitemaps })
			if _, err := e.Run(t.Context(), func(ctx context.Context,
				_ *master.Node) error {
				<-ctx.Done()
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			_, pages := crawltest.StateIn(t, dir)
			visited := 0
			for url, page := range pages {
				if page.LastVisit.IsZero() {
					t.Errorf("%s was never visited", url)
				}
				if int(page.Depth) > c.depth {
					t.Errorf("%s at depth %d", url, page.Depth)
				}
				if strings.HasSuffix(url, ".html") || strings.HasSuffix(url, ".test/") ||
					strings.Contains(url, "view?") {
					visited++
				}
			}
			if all := visited == o.Hosts*o.Pages; all != c.all {
				t.Errorf("with sitemaps %v and depth %d, %d of %d pages were visited", c.sitemaps, c.depth, visited,
					o.Hosts*o.Pages)
			}
			if !c.sitemaps {
				truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: c.depth})
				if err != nil || len(truth.Fetched) != len(pages) {
					t.Errorf("%d pages, want %d, %v", len(pages), len(truth.Fetched), err)
				}
			}
		})
	}
}
