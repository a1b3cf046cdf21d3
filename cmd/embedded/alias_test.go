package embedded_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/partition"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/weburl"
	"henro/store"
)

// Of hosts that a person has named as others under a second name no page is lost, although URL rules spare some too,
// whatever crashed meanwhile: every text that is to be had was visited, and each URL that was not is a page that was.
func TestSecondNamesOfAPersonLoseNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 11, Hosts: 8, Domains: 3, Pages: 70, CrossShare: 0.1, Errors: fakeweb.Errors{NotFound: 0.05},
			Twins: fakeweb.Twins{Aliases: 0.5, Mirrors: 0.2, Dust: 0.6, Variants: 0.7, Lookalikes: 0.4, Near: 0.2},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		text := func(url string) fakeweb.Likeness {
			is, err := web.Like(url)
			if err != nil {
				t.Fatal(err)
			}
			return is
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Scope: fakeweb.AnyHost, Depth: -1,
			At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		names, firsts := map[string]string{}, map[string]string{} // second names with the texts of their roots; hosts
		for url := range truth.Fetched {
			switch name := weburl.HostOf(url); text(url).Kind {
			case "alias":
				names[name] = text(name + "/").Text
			case "page":
				firsts[text(name+"/").Text] = name
			}
		}
		apply := func(o *master.Options) { o.Hosts.URLRules = host.ApplyURLRules }
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := crawltest.Of(t, dir, web, -1, apply).Run(ctx, func(ctx context.Context, node *master.Node) error {
			defer cancel()
			time.Sleep(150 * time.Second) // so that links to them are known
			for name, root := range names {
				if _, err := node.OrderAlias(ctx, &master.AliasPosted{Host: name, Of: firsts[root]}); err != nil {
					t.Error(err)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		dir, wait := crawltest.Crash(t, dir, web, -1, 150*time.Second, apply)
		defer wait()
		crawltest.Run(t, crawltest.Of(t, dir, web, -1, apply))
		crawltest.CheckSound(t, dir)

		had, duplicates, skipped := map[string]bool{}, 0, 0
		_, pages := crawltest.StateIn(t, dir)
		for url, page := range pages {
			switch {
			case page.Status == 200:
				had[text(url).Text] = true
			case page.Says == admission.Duplicate.String():
				duplicates++
			case page.Says == admission.AliasHost.String():
				skipped++
			}
		}
		for url := range truth.Fetched {
			if page, err := web.Page(url, time.Now()); err == nil && page.Answers && page.Status == 200 &&
				text(url).Text != "" && !had[text(url).Text] {
				t.Errorf("%s was to be had, and nobody has its text %s", url, text(url).Text)
			}
		}
		crawl := crawltest.Open(t, dir)
		defer crawl.Close()
		totals, err := partition.TotalsOf(crawl.State)
		told, bad := crawl.Aliases()
		if errors.Join(err, bad) != nil || totals.Skipped[admission.AliasHost] != uint64(skipped) ||
			len(told.Aliases) < len(names) {
			t.Errorf("counted %d pages at %+v, %v, %v, want %d at %d", totals.Skipped[admission.AliasHost], told, err,
				bad, skipped, len(names))
		}
		t.Logf("%d second names, %d pages at them not visited, %d duplicates by rule", len(names), skipped, duplicates)
		if duplicates < 100 || skipped < 100 {
			t.Error("no test at all")
		}
	})
}

// A crawl says which hosts redirect to others, and visits them all the same. When a person says that they are those
// others, it leaves them out, and visits what was left out when the person takes that back.
func TestAForgottenAliasIsVisited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 2, Domains: 2, Pages: 300,
			Twins: fakeweb.Twins{Moved: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) { o.Hosts.Aliases = true })
		given := 0
		if _, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			for ordered := map[string]bool{}; len(ordered) < 2 && ctx.Err() == nil; time.Sleep(5 * time.Second) {
				all, err := node.Reading().Aliases()
				if err != nil {
					return err
				}
				for _, a := range all.Aliases {
					if !strings.HasSuffix(a.Host, ".to") || a.Belief < 0.7 || a.Person {
						continue
					}
					if len(skippedPages(t, node.Reading().State)) > 0 && !ordered[a.Host] && len(ordered) == 0 {
						t.Errorf("pages were left out before a person said so")
					}
					ordered[a.Host] = true
					if _, err := node.OrderAlias(ctx, &master.AliasPosted{Host: a.Host, Of: a.Of}); err != nil {
						t.Error(err)
					}
				}
			}
			for given < 20 && ctx.Err() == nil {
				time.Sleep(5 * time.Second)
				given = 0
				for url := range skippedPages(t, node.Reading().State) {
					if weburl.HostOf(url) == "http://h0.to" {
						given++
					}
				}
			}
			if _, err := node.OrderAlias(ctx, &master.AliasPosted{Host: "http://h0.to"}); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		state := crawltest.OpenState(t, dir)
		defer state.Close()
		others := 0
		for url, page := range skippedPages(t, state) {
			if weburl.HostOf(url) == "http://h0.to" {
				t.Errorf("%s: %s", url, page.Says)
			}
			others++
		}
		if given < 20 || others < 20 {
			t.Errorf("%d pages were given up before, and %d of other hosts: no test at all", given, others)
		}
	})
}

// skippedPages are the pages that were given up.
func skippedPages(t *testing.T, state *store.State) map[string]store.Page {
	t.Helper()
	skipped := map[string]store.Page{}
	for _, disk := range state.Partitions {
		if err := disk.Pages.Each(func(page store.Page, _ store.Place) error {
			if page.Flags&store.Dropped != 0 {
				skipped[page.URL] = page
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return skipped
}
