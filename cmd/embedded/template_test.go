package embedded_test

import (
	"maps"
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
	"henro/slave"
)

// shopped crawls a shop of 200 pages for 30 days, at a visit an hour: lists that change every eight hours, and items
// that never do. It returns the versions that came into being in the last 20 days, how many of them were captured, with
// how many visits of lists and of items, and the groups of the host at the end.
func shopped(t *testing.T, relief politeness.Relief) (versions, captured, lists, items int, groups []reading.Group) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 1, Domains: 1, Pages: 200, PageBytes: 1024,
			Changes:    fakeweb.Changes{Share: 1, Fastest: 8 * time.Hour, Slowest: 40 * day},
			Validators: fakeweb.Validators{ETag: 1}, Shape: func(h *fakeweb.Host) { h.Templated = true },
			LogEntries: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		begun := time.Now()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.Relief, o.For = true, relief, 30*day
			o.Hosts.Politeness.Floor, o.Hosts.Politeness.LargeHostFloor = time.Hour, time.Hour
			o.LeaseFor, o.TickEvery = 2*time.Hour, 15*time.Minute
		})
		e.Adjust = func(o *slave.Options) { o.AskEvery = 15 * time.Minute }
		crawltest.Run(t, e)
		from, to := begun.Add(10*day), begun.Add(30*day)
		last := map[string]time.Time{}
		for _, entry := range web.Log() {
			url, at := entry.URL(), entry.Start
			if !strings.Contains(url, "/shop/") {
				continue
			}
			before, visited := last[url]
			last[url] = at
			if at.Before(from) {
				continue
			}
			if strings.Contains(url, "/shop/item-") {
				items++
				continue
			}
			lists++
			if visited {
				changes, err := web.Changes(url, before, at)
				if err != nil {
					t.Fatal(err)
				}
				captured += min(1, len(changes))
			}
		}
		for url := range last {
			changes, err := web.Changes(url, from, to)
			if err != nil {
				t.Fatal(err)
			}
			versions += len(changes)
		}
		crawl := crawltest.Open(t, dir)
		defer crawl.Close()
		found, err := crawl.Host(strings.TrimSuffix(web.Seeds()[0], "/"))
		if err != nil {
			t.Fatal(err)
		}
		groups = found.Schedule.Groups
		if relief == politeness.Template {
			findGroups(t, crawl, slices.Sorted(maps.Keys(last)), groups)
		}
	})
	return versions, captured, lists, items, groups
}

// findGroups looks whether each page says to which group it belongs, and whether it represents that.
func findGroups(t *testing.T, crawl *reading.Crawl, urls []string, groups []reading.Group) {
	t.Helper()
	pages := map[string]int{} // by the shape of their group
	for _, url := range urls {
		found, err := crawl.Record(url)
		if err != nil {
			t.Fatal(err)
		}
		var says string
		for _, sentence := range found.Says {
			says += sentence.String() + "\n"
		}
		for _, g := range groups {
			if strings.Contains(says, "Its group is "+g.Shape+": ") &&
				strings.Contains(says, " representative of its group") {
				pages[g.Shape]++
			}
		}
	}
	for _, g := range groups {
		if g.Pages > 50 && pages[g.Shape] != g.Pages {
			t.Errorf("%d pages say that they are of %+v", pages[g.Shape], g)
		}
	}
}

// On a shop that does not bear its timetable the relief template finds the two kinds of pages and captures more
// versions than optimal while pages have few visits of their own, with as many requests; once they have many, both are
// level (docs/measured/understanding.md): go test -run TestTemplatesAreFound -v ./cmd/embedded
func TestTemplatesAreFound(t *testing.T) {
	t.Parallel()
	_, optimal, otherLists, otherItems, none := shopped(t, politeness.Optimal)
	if len(none) > 0 {
		t.Errorf("groups are kept for another relief: %+v", none)
	}
	versions, captured, lists, items, groups := shopped(t, politeness.Template)
	t.Logf("%d visits of lists and %d of items captured %d of %d versions; with the relief optimal "+
		"%d of lists and %d of items %d", lists, items, captured, versions, otherLists, otherItems, optimal)
	byShape := map[string]reading.Group{}
	for _, g := range groups {
		t.Logf("%+v", g)
		byShape[g.Shape] = g
	}
	if captured < optimal {
		t.Error("fewer versions are captured than by the relief optimal")
	}
	list, item := byShape["/shop/list?p=<n>"], byShape["/shop/item-<n>.html"]
	if list.Pages != 99 || item.Pages != 100 {
		t.Errorf("%d lists and %d items are known", list.Pages, item.Pages)
	}
	if list.Every > 5*day || item.Every < 20*day {
		t.Errorf("lists change every %v, items every %v", list.Every, item.Every)
	}
	if list.Visits < 200 || list.Errors+list.Duplicates+item.Errors+item.Duplicates > 0 {
		t.Errorf("%+v %+v", list, item)
	}
}
