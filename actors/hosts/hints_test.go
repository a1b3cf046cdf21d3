package hosts_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// A sitemap speaks for its own host, and for another whose robots.txt names it.
func TestASitemapOfAnotherHostCountsWhereRobotsTxtNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease(), func(o *host.Options) { o.Sitemaps = true })
		const naming, silent = "http://naming.test", "http://silent.test"
		rules, err := scope.New(scope.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		rules = rules.With(weburl.MustParse(lone + "/")).With(weburl.MustParse(naming +
			"/")).With(weburl.MustParse(silent + "/"))
		h.master.Tell(h.hosts, &protocol.ScopeChanged{Scope: rules})
		h.partition.Reply(func(c actor.Context, message any) {
			switch m := message.(type) {
			case *protocol.HostAsked:
				text := "User-agent: *\nAllow: /\n"
				restored := &protocol.HostRestored{Record: store.HostRecord{ID: store.IDOf(m.Host), Name: m.Host,
					RobotsUntil: time.Now().Add(time.Hour)}}
				switch m.Host {
				case lone:
					restored.Lease = openLease()
				case naming:
					text += "Sitemap: " + lone + "/sitemap.xml\n"
				}
				blob, err := robots.Parse([]byte(text), "henro").MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				restored.Record.Robots = blob
				c.Respond(restored)
			case *protocol.EntriesAsked:
				c.Respond(&protocol.EntriesLoaded{})
			case *protocol.Write:
				c.Respond(&protocol.Written{Tag: m.Tag})
			}
		})
		urls := []string{lone + "/a", naming + "/b", silent + "/c", "http://outside.test/d", lone + "/more.xml"}
		kinds := []byte{byte(outlink.Sitemap), byte(outlink.Sitemap), byte(outlink.Sitemap), byte(outlink.Sitemap),
			byte(outlink.Part)}
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{{Lease: 7, Seq: 5, Host: lone,
			Visited: &messages.PageVisited{
				Url: lone + "/sitemap.xml", Depth: 1, DepthLeft: 2, Status: 200,
				Links: &messages.LinkSet{Urls: urls, Kinds: kinds, Flags: make([]byte, 5),
					Anchors: []string{"2026-11-21 daily 1.0", "", "", "", ""}},
			}}}})
		synctest.Wait()
		found := map[string]store.Candidate{}
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			for _, c := range w.Candidates {
				found[c.URL] = c
			}
		}
		var got []string
		for url := range found {
			got = append(got, url)
		}
		slices.Sort(got)
		if want := []string{lone + "/a", lone + "/more.xml", naming + "/b"}; !slices.Equal(got, want) {
			t.Errorf("admitted: %v, want %v", got, want)
		}
		if c := found[lone+"/a"]; c.Depth != 2 || c.DepthLeft != 1 || c.Band != 0 || c.Frequency != outlink.Daily {
			t.Errorf("an entry of priority 1 is admitted as %+v", c)
		}
		if c := found[lone+"/more.xml"]; c.Depth != 1 || c.DepthLeft != 2 || c.Redirects != 1 {
			t.Errorf("a part of an index is admitted as %+v", c)
		}
	})
}

// A page that is followed inside the lease under which its sitemap was read keeps the changefreq, whichever part of the
// sitemap names it.
func TestChangefreqReachesPagesFollowedInsideALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease(), func(o *host.Options) { o.Sitemaps, o.Continuous = true, true })
		entries := func(anchor string, urls ...string) *messages.LinkSet {
			set := &messages.LinkSet{Urls: urls}
			for range urls {
				set.Kinds, set.Flags, set.Anchors = append(set.Kinds, byte(outlink.Sitemap)), append(set.Flags, 0),
					append(set.Anchors, anchor)
			}
			return set
		}
		followed := func(seq uint64, path string) *messages.Fact {
			return &messages.Fact{Lease: 7, Seq: seq, Host: lone,
				Visited: &messages.PageVisited{Url: lone + path, Depth: 2, DepthLeft: 1, Status: 200}}
		}
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{
			{Lease: 7, Seq: 5, Host: lone, More: entries("hourly", lone+"/a", "http://other.test/c")},
			{Lease: 7, Seq: 6, Host: lone, Visited: &messages.PageVisited{Url: lone + "/sitemap.xml", Depth: 1,
				DepthLeft: 2, Status: 200, Links: entries("2026-11-21 yearly", lone+"/b")}},
			followed(7, "/a"), followed(8, "/b"),
		}})
		synctest.Wait()
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{followed(9, "/unnamed")}})
		synctest.Wait()
		got := map[string]outlink.Frequency{}
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			for _, v := range w.Visits {
				got[v.Page.URL] = v.Page.Flags.Wish()
			}
		}
		want := map[string]outlink.Frequency{lone + "/sitemap.xml": outlink.Unsaid, lone + "/a": outlink.Hourly, lone +
			"/b": outlink.Yearly, lone + "/unnamed": outlink.Unsaid}
		if !maps.Equal(got, want) {
			t.Errorf("wishes %v, want %v", got, want)
		}
	})
}
