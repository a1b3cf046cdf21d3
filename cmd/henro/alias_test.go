package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/weburl"
	"henro/store"
)

// aliasFigures compare what a crawl that maps aliases has visited with the truth.
type aliasFigures struct {
	visited, skipped, aliasPages int
	names                        map[string]bool   // second names, in truth
	mapped                       map[string]string // and whom which host was taken for
}

func aliasesFound(t *testing.T, web *fakeweb.Web, dir string) (f aliasFigures) {
	t.Helper()
	had := map[string]bool{} // texts
	var skipped []store.Page
	state := crawltest.OpenState(t, dir)
	defer state.Close()
	_, pages := crawltest.StateOf(t, state)
	text := func(url string) string {
		is, err := web.Like(url)
		if err != nil {
			t.Fatal(err)
		}
		return is.Text
	}
	all, err := (&reading.Crawl{State: state, Settings: &reading.Settings{Aliases: true}}).Aliases()
	if err != nil {
		t.Fatal(err)
	}
	f.mapped, f.names = map[string]string{}, map[string]bool{}
	for _, a := range all.Aliases {
		if a.Mapped {
			f.mapped[a.Host] = a.Of
		}
	}
	for _, page := range pages {
		switch {
		case page.Flags&store.Dropped != 0 && (page.Says == admission.AliasHost.String() ||
			page.Says == admission.Duplicate.String()):
			skipped = append(skipped, page)
		case page.Status == 200:
			f.visited++
			had[text(page.URL)] = true
		}
	}
	for _, page := range skipped {
		if page.Says == admission.AliasHost.String() {
			f.skipped++
		}
	}
	if line := fmt.Sprintf("aliases   %d hosts are others under a second name; %d of their pages", len(f.mapped),
		f.skipped); !strings.Contains(said(t, "stats", dir), line) {
		t.Errorf("henro stats does not say: %s", line)
	}
	for _, page := range skipped {
		if is := text(page.URL); is != "" && !had[is] {
			t.Errorf("%s was skipped, and nobody has its text %s", page.URL, is)
		}
	}
	truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Scope: fakeweb.AnyHost, Depth: -1, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for url := range truth.Fetched {
		is, err := web.Like(url)
		if err != nil {
			t.Fatal(err)
		}
		if is.Kind == "alias" {
			f.aliasPages++
			f.names[weburl.HostOf(url)] = true
		}
		if page, err := web.Page(url, time.Now()); err == nil && page.Answers && page.Status == 200 && is.Text != "" &&
			!had[is.Text] {
			t.Errorf("%s was to be had, and nobody has its text %s", url, is.Text)
		}
	}
	for host, of := range f.mapped {
		if a, b := text(host+"/"), text(of+"/"); a != b && a != "" || strings.Contains(weburl.HostName(host), "ja.") !=
			strings.Contains(weburl.HostName(of), "ja.") {
			t.Errorf("%s is no alias of %s", host, of)
		}
	}
	return f
}

// A crawl visits the pages of a server that answers under several names once, loses none of them, and takes no host for
// another that only looks like it, whatever crashed meanwhile.
func TestAliasesAreVisitedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.AliasWeb(t, 8)
		mapping := func(o *master.Options) { o.Hosts.Aliases, o.Store.Contents = host.MapAliases, 1_000_000 }
		dir, _ := crawltest.OverCrashes(t, web, mapping, 200*time.Second, 150*time.Second)
		f := aliasesFound(t, web, dir)
		t.Logf("%d pages visited, %d skipped, %d under a second name, %d of %d hosts mapped", f.visited, f.skipped,
			f.aliasPages, len(f.mapped), len(f.names))
		if len(f.names) < 6 || len(f.mapped) != len(f.names) || 10*f.skipped < 8*f.aliasPages {
			t.Errorf("mapped %v, want one for each of %v", f.mapped, f.names)
		}
	})
}

// Hosts that redirect each path to the same path of another are visited there, those that redirect to its front page or
// only some paths are not, and nothing is lost, whatever crashed meanwhile.
func TestHostsThatRedirectAreVisitedWhereTheyLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 3, Hosts: 6, Domains: 2, Pages: 300, Errors: fakeweb.Errors{NotFound: 0.05},
			Robots: fakeweb.Robots{Folders: 0.5}, Twins: fakeweb.Twins{Moved: 1, Counters: 0.5},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		mapping := func(o *master.Options) { o.Hosts.Aliases, o.Store.Contents = host.MapAliases, 1_000_000 }
		dir, wait := crawltest.Crash(t, t.TempDir(), web, -1, 100*time.Second, mapping)
		defer wait()
		crawltest.Run(t, crawltest.Of(t, dir, web, -1, mapping))
		crawltest.CheckSound(t, dir)
		f := aliasesFound(t, web, dir)
		for name, of := range f.mapped {
			if !strings.HasSuffix(name, ".to") || strings.Contains(of, ".to") {
				t.Errorf("%s is no alias of %s", name, of)
			}
		}
		if len(f.mapped) != 6 {
			t.Errorf("mapped %v, want h0.to to h5.to", f.mapped)
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Scope: fakeweb.AnyHost, Depth: -1})
		if err != nil {
			t.Fatal(err)
		}
		redirects, asked := 0, map[string]bool{}
		for url := range truth.Fetched {
			if strings.HasSuffix(weburl.HostOf(url), ".to") {
				redirects++
			}
		}
		for _, entry := range web.Log() {
			if strings.HasSuffix(entry.Host, ".to") && entry.Path != "/robots.txt" {
				asked[entry.Host+entry.Path] = true
			}
		}
		t.Logf("%d of %d redirects were asked for, %d skipped", len(asked), redirects, f.skipped)
		if f.skipped < redirects/2 || len(asked)+f.skipped < redirects {
			t.Errorf("%d of %d redirects were skipped, %d asked for", f.skipped, redirects, len(asked))
		}
	})
}

// Two hosts that redirect each path to the other are not aliases of each other: their pages would wait without end.
func TestHostsThatRedirectToEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lead := func(to string) func(*fakeweb.Reply) bool {
			return func(r *fakeweb.Reply) bool {
				r.HTML(http.StatusMovedPermanently)
				r.Header("Location", strings.TrimSuffix(r.Root(to), "/")+r.Target())
				return true
			}
		}
		links := func(r *fakeweb.Reply) bool {
			if r.HTML(http.StatusOK); r.Target() == "/" {
				for i := range 200 {
					fmt.Fprintf(r, `<a href="http://a.test/%d">x</a> <a href="http://b.test/%d">x</a> `, i, 100+i)
				}
			}
			return r.Target() == "/"
		}
		state, all := aliasesAmong(t, []fakeweb.Guest{{Name: "links.test", Answer: links},
			{Name: "a.test", Answer: lead("b.test")}, {Name: "b.test", Answer: lead("a.test")}})
		defer state.Close()
		for _, a := range all {
			if a.Mapped && a.Host == "http://a.test" {
				t.Errorf("%+v, want a host that stands for itself", a)
			}
		}
		if len(all) == 0 {
			t.Error("no evidence: no test at all")
		}
	})
}

// What was left to a representative is visited when a person says that the host stands for itself.
func TestAForgottenAliasIsVisited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 2, Domains: 2, Pages: 300,
			Twins: fakeweb.Twins{Moved: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) { o.Hosts.Aliases = host.MapAliases })
		given := 0
		if _, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
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

// Hosts that have many pages in common, or redirect many, are no aliases when pages that were visited before differ.
func TestHostsThatBeganOtherwiseAreNoAliases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const layer = 30 // pages: those of the second layer are the same on all three hosts
		answer := func(r *fakeweb.Reply) bool {
			n, err := strconv.Atoi(r.Target()[1:])
			common := n >= layer && n < 2*layer
			switch {
			case r.Target() != "/" && err != nil:
				return false
			case common && r.Host() == "redirects.test":
				r.HTML(http.StatusFound)
				r.Header("Location", strings.TrimSuffix(r.Root("a.test"), "/")+r.Target())
				return true
			}
			r.HTML(http.StatusOK)
			host := r.Host()
			if common {
				host = "all"
			}
			fmt.Fprintf(r, "<main><p>Page %d of %s has words of its own: %x</p></main>", n, host, n*n*n)
			for i := range layer {
				switch {
				case r.Target() == "/":
					fmt.Fprintf(r, `<a href="/%d">a link</a>`, i)
				case n == 0 || n == layer || r.Host() == "redirects.test" && n == 1:
					fmt.Fprintf(r, `<a href="/%d">a link</a>`, min(n, 1)*layer+layer+i)
				}
			}
			return true
		}
		var guests []fakeweb.Guest
		for _, name := range []string{"a.test", "texts.test", "redirects.test"} {
			guests = append(guests, fakeweb.Guest{Name: name, Answer: answer})
		}
		state, all := aliasesAmong(t, guests)
		defer state.Close()
		for _, a := range all {
			if a.Mapped {
				t.Errorf("%+v", a)
			}
		}
		if len(all) != 2 {
			t.Errorf("%d hosts with evidence, want 2: no test at all", len(all))
		}
		for url := range skippedPages(t, state) {
			t.Errorf("%s was not visited", url)
		}
	})
}

// aliasesAmong crawls guests and returns what it has learnt of their names.
func aliasesAmong(t *testing.T, guests []fakeweb.Guest) (*store.State, []reading.Alias) {
	t.Helper()
	web, err := fakeweb.New(fakeweb.Options{Seed: 1, Guests: guests})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := t.TempDir()
	e := crawltest.Of(t, dir, web, -1, func(o *master.Options) { o.Hosts.Aliases = host.MapAliases })
	e.Seeds = append(e.Seeds, crawltest.GuestSeeds(t, web)...)
	crawltest.Run(t, e)
	state := crawltest.OpenState(t, dir)
	all, err := (&reading.Crawl{State: state, Settings: &reading.Settings{Aliases: true}}).Aliases()
	if err != nil {
		t.Fatal(err)
	}
	return state, all.Aliases
}
