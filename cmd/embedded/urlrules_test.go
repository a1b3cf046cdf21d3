package embedded_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/known"
	"henro/actors/reading"
	"henro/actors/urlrules"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/weburl"
	"henro/slave"
	"henro/store"
)

// A crawl that applies URL rules visits each text of each host, and most of them once, whatever crashed meanwhile and
// although some hosts have other pages under URLs that differ as those of the others do.
func TestACrawlLearnsWhichURLsAreOnePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 3, Hosts: 4, Domains: 2, Pages: 300, CrossShare: 0.1, RedirectShare: 0.05,
			Errors: fakeweb.Errors{NotFound: 0.05},
			Twins:  fakeweb.Twins{Dust: 0.7, Variants: 0.9, Lookalikes: 0.4, Near: 0.3, Templates: 0.2},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		apply := func(o *master.Options) { o.Hosts.URLRules = host.ApplyURLRules }
		dir, _ := crawltest.OverCrashes(t, web, apply, 3*time.Minute, 5*time.Minute)

		type text struct{ host, is string }
		visited, spared, texts := 0, map[string]text{}, map[text]bool{}
		hosts, pages := crawltest.StateIn(t, dir)
		for _, page := range pages {
			is, err := web.Like(page.URL)
			if err != nil {
				t.Fatal(err)
			}
			own := text{weburl.HostOf(page.URL), is.Text}
			if page.Flags&store.Dropped != 0 && page.Says == admission.Duplicate.String() {
				spared[page.URL] = own
			} else if page.Status == 200 {
				visited++
				texts[own] = true
			}
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Scope: fakeweb.SameHost, Depth: -1})
		if err != nil {
			t.Fatal(err)
		}
		// A value that changes a quarter of the pages passes for one that changes none once in a hundred times, and the
		// order of the visits is not the same each time. Then tests find it after a few pages.
		var wrong []string
		for url, own := range spared {
			if !texts[own] && own.is != "" {
				wrong = append(wrong, url)
			}
		}
		if len(wrong) > len(spared)/200 {
			t.Errorf("%d were not visited, nor were their texts: %q", len(wrong), wrong)
		}
		for url := range truth.Fetched {
			if _, known := pages[url]; !known {
				t.Errorf("%s was not found", url)
			}
		}
		again := visited - len(texts)
		if len(spared) < again/2 || len(spared) < 500 {
			t.Errorf("%d texts, visited %d times too often, %d times spared", len(texts), again, len(spared))
		}
		applied, contradicted := 0, 0
		state := crawltest.OpenState(t, dir)
		defer state.Close()
		for name := range hosts {
			rules, err := known.URLRules(state.Partitions[state.PartitionOf(name)], name)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rules.Rules() {
				if r.Applied() {
					applied++
				} else if r.Contradicted > 0 {
					contradicted++
				}
			}
		}
		if applied == 0 || contradicted == 0 {
			t.Errorf("%d rules are applied, %d contradicted", applied, contradicted)
		}
		t.Logf("%d texts, %d visits, %d spared; %d rules applied, %d contradicted", len(texts), visited, len(spared),
			applied, contradicted)
	})
}

// A crawl that goes on visits pages under one URL that it knew under several before a rule was applied. When a person
// says that the rule does not hold, it visits the others again, and what it had never visited.
func TestKnownDuplicatesRestUntilTheirRuleIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 1, Domains: 1, Pages: 60,
			Twins: fakeweb.Twins{Variants: 1, Dust: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir, day := t.TempDir(), 24*time.Hour
		run := func(word urlrules.Word, days int) {
			e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
				o.Hosts.Continuous, o.Hosts.URLRules = true, host.ApplyURLRules
				o.Hosts.Revisit.Min, o.Hosts.Revisit.Max = day/2, day
				o.TickEvery = 15 * time.Minute
			})
			e.Adjust = func(o *slave.Options) { o.AskEvery = 30 * time.Minute }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := e.Run(ctx, func(inner context.Context, node *master.Node) error {
				defer cancel()
				if word != "" {
					time.Sleep(time.Hour)
					for _, rule := range []string{"parameter sort", "parameter p", "parameter utm_source",
						"parameter sid", "slash at the end", "case of the path", "order of parameters",
						"default document index.html"} {
						order := &master.URLRulePosted{Host: e.Seeds[0].URL.Host(), Rule: rule, Word: string(word)}
						if _, err := node.OrderURLRule(inner, order); err != nil {
							t.Error(err)
						}
					}
				}
				time.Sleep(time.Duration(days) * day)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		// URLs that were asked for in the last so many days, a text
		asked := func(days int) float64 {
			urls, texts := map[string]bool{}, map[string]bool{}
			for _, entry := range web.Log() {
				url := "http://" + entry.Host + entry.Path
				like, err := web.Like(url)
				if err == nil && like.Text != "" && time.Since(entry.Start) < time.Duration(days)*day {
					urls[url], texts[like.Text] = true, true
				}
			}
			return float64(len(urls)) / float64(len(texts))
		}
		count := func() (given, resting int) {
			_, pages := crawltest.StateIn(t, dir)
			for _, page := range pages {
				switch {
				case page.Says != admission.Duplicate.String():
				case page.Flags&store.Dropped != 0:
					given++
				default:
					resting++
				}
			}
			return given, resting
		}
		run("", 5)
		given, resting := count()
		few := asked(2)
		if given < 20 || resting < 20 {
			t.Errorf("%d given up, %d rest", given, resting)
		}
		run(urlrules.Forget, 4)
		if given, resting := count(); given+resting > 0 {
			t.Errorf("%d are given up and %d rest although no rule is applied", given, resting)
		}
		if all := asked(2); all < 1.8*few {
			t.Errorf("%.2f URLs visited a text, and %.2f while rules were applied", all, few)
		}
		crawl := crawltest.Open(t, dir)
		defer crawl.Close()
		says, err := crawl.URLRules()
		if err != nil || !slices.ContainsFunc(says.Hosts[0].Rules, func(r reading.URLRule) bool {
			return r.Rule == "parameter sort" && r.Person == string(urlrules.Forget) && !r.Applied
		}) {
			t.Errorf("%+v, %v", says, err)
		}
	})
}
