package embedded_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"henro/actors/host"
	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// Whatever another host answers, each page of an honest one is visited, although the crawl compares all pages: one liar
// has the same pages until it is taken for the honest host, and others then; one has the same lists of links before the
// honest host has shown them, and other pages behind them.
func TestNoHostHidesThePagesOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lists, listed = 4, 15
		own := map[string]string{"late.test": "/3/", "a.test": "/"} // below these a liar has other pages
		answer := func(r *fakeweb.Reply) bool {
			var list, n int
			target := r.Target()
			_, err := fmt.Sscanf(target, "/%d/%d", &list, &n)
			leaf := err == nil
			step := len(target) == 2 // on the way of the honest host to its lists, which liars have first
			if !leaf && target != "/" && !step {
				if _, err = fmt.Sscanf(target, "/%d/", &list); err != nil {
					return false
				}
			}
			r.HTML(http.StatusOK)
			name := "honest.test"
			if begun, lies := own[r.Host()]; lies && leaf && strings.HasPrefix(target, begun) {
				name = r.Host()
			}
			switch {
			case leaf:
				fmt.Fprintf(r, "<main><p>Page %s of %s has its own words: %x</p></main>", target, name, 7919*list+n*n)
			case target == "/" && r.Host() == "honest.test":
				fmt.Fprint(r, `<main><p>It is slow.</p><a href="/a">a link</a></main>`)
			case step && target < "/t":
				fmt.Fprintf(r, `<main><p>Step %x of many</p><a href="/%c">a link</a></main>`, 7919*int(target[1]),
					target[1]+1)
			case target == "/" || step:
				fmt.Fprint(r, "<main><p>All lists.</p></main>")
				for i := range lists {
					fmt.Fprintf(r, `<a href="/%d/">a list</a>`, i)
				}
			default:
				fmt.Fprintf(r, "<main><p>The list of numbers from %d on</p></main>", list)
				for i := range listed {
					fmt.Fprintf(r, `<a href="/%d/%d">a link</a>`, list, i)
				}
			}
			return true
		}
		var guests []fakeweb.Guest
		for _, name := range []string{"honest.test", "late.test", "a.test"} {
			guests = append(guests, fakeweb.Guest{Name: name, Answer: answer})
		}
		web, err := fakeweb.New(fakeweb.Options{Seed: 1, Guests: guests})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Aliases, o.Hosts.URLRules = true, host.ApplyURLRules
		})
		e.Seeds = crawltest.GuestSeeds(t, web)
		crawltest.Run(t, e)
		state := crawltest.OpenState(t, dir)
		defer state.Close()
		_, pages := crawltest.StateOf(t, state)
		for list := range lists {
			if url := fmt.Sprintf("http://honest.test/%d/", list); pages[url].SameAs == "" {
				t.Errorf("%s has a text that no liar had before: no test at all", url)
			}
			for n := range listed {
				url := fmt.Sprintf("http://honest.test/%d/%d", list, n)
				if page := pages[url]; page.Status != http.StatusOK {
					t.Errorf("%s was not visited: %+v", url, page)
				}
			}
		}
		all, err := (&reading.Crawl{State: state}).Aliases()
		if err != nil || !slices.ContainsFunc(all.Aliases, func(a reading.Alias) bool {
			return a.Host == "http://honest.test" && a.Of == "http://late.test" && a.Agreed > 20
		}) {
			t.Errorf("%+v: want the liar marked as a name of the honest host: %v", all, err)
		}
	})
}

// Another host has no rule learnt by the URLs that it makes up: it links to pages of the honest host with a parameter
// that changes none of these, and that names its items.
func TestNoHostHasAnotherLearnURLRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func(r *fakeweb.Reply) bool {
			r.HTML(http.StatusOK)
			path, query, _ := strings.Cut(r.Target(), "?")
			switch {
			case r.Host() == "liar.test":
				fmt.Fprint(r, "<main><p>Links.</p></main>")
				for i := range 30 {
					fmt.Fprintf(r, `<a href="http://honest.test/p%d">a page</a>`, i)
					for n := range 10 {
						fmt.Fprintf(r, `<a href="http://honest.test/p%d?id=%d">the same</a>`, i, n)
					}
				}
			case path == "/":
				fmt.Fprint(r, `<main><p>The items come late.</p><a href="/a">a link</a></main>`)
			case len(path) == 2 && path < "/h":
				fmt.Fprintf(r, `<main><p>Step %s.</p><a href="/%c">a link</a></main>`, path, path[1]+1)
			case path == "/h":
				fmt.Fprint(r, "<main><p>All items.</p></main>")
				for i := range 40 {
					fmt.Fprintf(r, `<a href="/item?id=%d">an item</a>`, i)
				}
			default:
				fmt.Fprintf(r, "<main><p>It is %s with words of its own</p></main>", path)
				if path == "/item" {
					fmt.Fprintf(r, "<main><p>It is the item %s of many</p></main>", query)
				}
			}
			return true
		}
		web, err := fakeweb.New(fakeweb.Options{Seed: 1, Guests: []fakeweb.Guest{
			{Name: "honest.test", Answer: answer}, {Name: "liar.test", Answer: answer}}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) { o.Hosts.URLRules = host.ApplyURLRules })
		e.Seeds = crawltest.GuestSeeds(t, web)
		crawltest.Run(t, e)
		_, pages := crawltest.StateIn(t, dir)
		for i := range 40 {
			if url := fmt.Sprintf("http://honest.test/item?id=%d", i); pages[url].Status != http.StatusOK {
				t.Errorf("%s was not visited: %s", url, pages[url].Says)
			}
		}
		if len(pages) < 300 {
			t.Errorf("%d pages: no test at all", len(pages))
		}
	})
}
