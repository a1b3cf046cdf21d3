package embedded_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/actors/topic"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/frontier"
	"henro/messages/weburl"
	"henro/store"
)

// topicalWeb has two hosts. Each links to fifteen pages about nothing, then to ten about squid; behind the third of the
// former is another page about squid, two links away, at an URL that says nothing of it.
func topicalWeb() fakeweb.Options {
	shop := func(name string) fakeweb.Guest {
		return fakeweb.Guest{Name: name, Answer: func(r *fakeweb.Reply) bool {
			if r.Target() == "/robots.txt" {
				return false
			}
			r.HTML(200)
			switch target := r.Target(); {
			case target == "/":
				fmt.Fprint(r, "<p>All that we have.")
				for i := range 15 {
					fmt.Fprintf(r, `<a href="/a%d">Paper</a>`, i)
				}
				for i := range 10 {
					fmt.Fprintf(r, `<a href="/b%d">Giant squids, and イカ</a>`, i)
				}
			case target == "/a3":
				fmt.Fprint(r, `<p>Paper. <a href="/a3/on">On</a>`)
			case target == "/a3/on":
				fmt.Fprint(r, `<p>Ink. <a href="/a3/on/on">On</a>`)
			case strings.HasPrefix(target, "/b"), target == "/a3/on/on":
				fmt.Fprint(r, "<p>The squid is a mollusc. イカの話")
			default:
				fmt.Fprint(r, "<p>Paper, and more paper.")
			}
			return true
		}}
	}
	return fakeweb.Options{Seed: 1, Hosts: 0, Guests: []fakeweb.Guest{shop("one.test"), shop("two.test")}}
}

// crawlTopical crawls both hosts.
func crawlTopical(t *testing.T, w *fakeweb.Web, dir string, change func(*master.Options)) *embedded.Crawl {
	t.Helper()
	e := crawltest.Of(t, dir, w, -1, change)
	e.Seeds = nil
	for _, url := range []string{"http://one.test/", "http://two.test/"} {
		seed, err := config.ParseSeed(url, -1)
		if err != nil {
			t.Fatal(err)
		}
		e.Seeds = append(e.Seeds, seed)
	}
	return e
}

func about(t *testing.T, terms string, least float64) func(*master.Options) {
	a, err := topic.Parse([]byte(terms))
	if err != nil {
		t.Fatal(err)
	}
	return func(o *master.Options) {
		o.Hosts.Admission.Topic, o.Hosts.Admission.TopicMin, o.Hosts.PageBudget = a, least, 2
	}
}

// paths are those of the pages of one host that were asked for, in order.
func paths(w *fakeweb.Web, host string) (all []string) {
	for _, e := range w.Log() {
		if e.Host == host && e.Path != "/robots.txt" {
			all = append(all, e.Path)
		}
	}
	return all
}

// What is about the topic is visited first on each host, also after a restart: the scores are on disk. In the end all
// is visited.
func TestPagesOfTheTopicComeFirst(t *testing.T) {
	for _, policy := range []frontier.Policy{frontier.PolicyHost, frontier.PolicyRanked} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := fakeweb.New(topicalWeb())
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				dir := t.TempDir()
				for _, limit := range []time.Duration{30 * time.Second, 0} {
					crawltest.Run(t, crawlTopical(t, w, dir, func(o *master.Options) {
						about(t, "squid\nイカ\n", 0)(o)
						o.Frontier.Policy, o.For = policy, limit
					}))
				}
				for _, host := range []string{"one.test", "two.test"} {
					got := paths(w, host)
					if len(got) != 28 || got[0] != "/" {
						t.Fatalf("%s: %v", host, got)
					}
					for _, path := range got[1:11] {
						if path[1] != 'b' {
							t.Errorf("%s is visited before pages of the topic: %v", path, got)
						}
					}
				}
			})
		})
	}
}

// With a bound, links that score less are not taken, and why says so, and of a URL that waits its score and words.
func TestLinksBelowTheBoundAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var low, waits, had *reading.WhyFound
		w, err := fakeweb.New(topicalWeb())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		status, err := crawlTopical(t, w, dir, about(t, "squid\nイカ\n", 0.4)).Run(t.Context(),
			func(ctx context.Context, node *master.Node) error {
				time.Sleep(20 * time.Second)
				if low, err = node.FindWhy(ctx, "http://one.test/a1"); err != nil {
					t.Error(err)
				}
				if waits, err = node.FindWhy(ctx, "http://one.test/b9"); err != nil {
					t.Error(err)
				}
				if had, err = node.FindWhy(ctx, "http://one.test/b0"); err != nil {
					t.Error(err)
				}
				<-ctx.Done()
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		got := crawltest.Visited(t, dir)
		if len(got) != 22 || status.Totals.Skipped[admission.OffTopic] == 0 {
			t.Errorf("%d pages, %d links off topic: %v", len(got), status.Totals.Skipped[admission.OffTopic], got)
		}
		for url := range got {
			if path := url[len(weburl.HostOf(url)):]; path != "/" && path[1] != 'b' {
				t.Errorf("%s is visited", url)
			}
		}
		if low == nil || waits == nil || had == nil {
			t.Fatal("no answer")
		}
		if !strings.Contains(low.Answer, "0.40 is asked") {
			t.Errorf("of a link off topic why says %q", low.Answer)
		}
		said := func(w *reading.WhyFound) string {
			i := slices.IndexFunc(w.Rules, func(f admission.Finding) bool { return f.Rule == "topic" })
			if i < 0 || len(w.Page.Says) == 0 {
				return ""
			}
			return w.Page.Says[0].String() + " " + w.Rules[i].Says.String()
		}
		for found, want := range map[*reading.WhyFound]string{waits: "Its score", had: "was visited, and hands on 0."} {
			if says := said(found); !strings.Contains(says, want) || !strings.Contains(says, "squid, イカ") ||
				!strings.Contains(says, "score 0.") {
				t.Errorf("of %s why says %q", found.Subject, says)
			}
		}
	})
}

// A link whose words say nothing goes by the text around it.
func TestTextAroundALinkLeadsToThePagesOfTheTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := func(r *fakeweb.Reply) bool {
			if r.Target() == "/robots.txt" {
				return false
			}
			r.HTML(200)
			for i := 0; r.Target() == "/" && i < 20; i++ {
				of := "paper"
				if i == 17 {
					of = "squids"
				}
				fmt.Fprintf(r, `<li>All about %s: <a href="/%d">more</a> and so on`, of, i)
			}
			return true
		}
		w, err := fakeweb.New(fakeweb.Options{Seed: 1, Guests: []fakeweb.Guest{{Name: "one.test", Answer: list}}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawlTopical(t, w, t.TempDir(), about(t, "squid", 0))
		e.Seeds = e.Seeds[:1]
		crawltest.Run(t, e)
		if got := paths(w, "one.test"); len(got) != 21 || !slices.Contains(got[1:3], "/17") {
			t.Errorf("visited %v", got)
		}
	})
}

// risingWeb has two hosts, each with 15 pages about nothing and one, the last of them by its link, about squid. A page
// of its own host links to the latter with better words, and so does one of the other host.
func risingWeb() fakeweb.Options {
	site := func(name, other string) fakeweb.Guest {
		return fakeweb.Guest{Name: name, Answer: func(r *fakeweb.Reply) bool {
			if r.Target() == "/robots.txt" {
				return false
			}
			r.HTML(200)
			switch r.Target() {
			case "/":
				for i := range 15 {
					fmt.Fprintf(r, `<a href="/a%d">Paper</a>`, i)
				}
				fmt.Fprint(r, `<a href="/own">Ink</a><a href="/foreign">Ink</a><a href="/hub">All about squids</a>`)
			case "/hub":
				fmt.Fprint(r, `<p>Squid. <a href="/own">Giant squid</a>`)
				fmt.Fprintf(r, `<a href="http://%s/foreign">Giant squid</a>`, other)
			default:
				fmt.Fprint(r, "<p>Paper, and more paper.")
			}
			return true
		}}
	}
	return fakeweb.Options{Seed: 1, Guests: []fakeweb.Guest{site("one.test", "two.test"), site("two.test", "one.test")}}
}

// A page that waits comes sooner when a better link leads to it, from whatever host, and also after a restart before or
// behind that link.
func TestAWaitingPageRisesByABetterLink(t *testing.T) {
	for _, policy := range []frontier.Policy{frontier.PolicyHost, frontier.PolicyRanked} {
		for _, first := range []time.Duration{0, 8 * time.Second, 13 * time.Second} {
			t.Run(fmt.Sprint(policy, first), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { crawlRising(t, policy, first) })
			})
		}
	}
}

// crawlRising crawls such a web, in two runs if the first is to end after some time.
func crawlRising(t *testing.T, policy frontier.Policy, first time.Duration) {
	w, err := fakeweb.New(risingWeb())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	dir, partitions := t.TempDir(), 3
	for _, limit := range slices.Compact([]time.Duration{first, 0}) {
		crawltest.Run(t, crawlTopical(t, w, dir, func(o *master.Options) {
			about(t, "squid", 0)(o)
			o.Frontier.Policy, o.For, o.Store.Partitions = policy, limit, partitions
		}))
		partitions = 0 // as there are
	}
	for _, host := range []string{"one.test", "two.test"} {
		got := paths(w, host)
		if len(got) != 19 || !slices.Contains(got[:7], "/own") || !slices.Contains(got[:7], "/foreign") {
			t.Errorf("%s: %v", host, got)
		}
	}
	if report, err := store.Check(filepath.Join(dir, "state"), nil); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
