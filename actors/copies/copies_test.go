package copies_test

import (
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/admission"
	"henro/actors/copies"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/store"
)

func TestTheCounterpartOfALink(t *testing.T) {
	for _, c := range []struct{ page, first, url, want string }{
		{"http://b.test/a/x", "http://a.test/a/x", "http://b.test/a/y", "http://a.test/a/y"},
		{"http://b.test/a/x", "http://a.test/a/x", "http://b.test/z?q=1", "http://a.test/z?q=1"},
		{"http://b.test/a/x", "http://a.test/a/x", "http://c.test/a/y", "http://c.test/a/y"},
		{"http://b.test/a/x", "http://a.test/a/x", "http://b.test:81/a/y", "http://b.test:81/a/y"},
		{"http://a.test/m/a/x", "http://a.test/a/x", "http://a.test/m/a/y", "http://a.test/a/y"},
		{"http://a.test/m/a/x", "http://a.test/a/x", "http://a.test/a/y", "http://a.test/a/y"},
		{"http://a.test/m/a/x", "http://a.test/a/x", "http://a.test/mm/y", "http://a.test/mm/y"},
		{"http://a.test/a/x", "http://a.test/m/a/x", "http://a.test/a/y", "http://a.test/m/a/y"},
		{"http://a.test/xa/p", "http://a.test/a/p", "http://a.test/xa/q", "http://a.test/a/q"},
		{"http://a.test/x?s=1", "http://a.test/x?s=2", "http://a.test/y?s=1", "http://a.test/y?s=1"},
		{"http://a.test/", "http://a.test/", "http://a.test/y", "http://a.test/y"},
	} {
		if got := copies.Counterpart(c.page, c.first, c.url); got != c.want {
			t.Errorf("%s of %s, which is %s, leads to %s, not %s", c.url, c.page, c.first, got, c.want)
		}
	}
}

// A link of a page with the text of another is left out if all links of both agree and its counterpart is known, with
// as many links left to follow.
func TestLinksOfCopiesAreLeftOut(t *testing.T) {
	const first, copied = "http://a.example.test", "http://b.example.test" // of one registrable domain: one partition
	for _, c := range []struct {
		sentence string
		change   func(*store.Visited, []store.Candidate)
		want     bool // the link is admitted
	}{
		{"all links agree", func(*store.Visited, []store.Candidate) {}, false},
		{"another text", func(v *store.Visited, _ []store.Candidate) { v.Page.MainDigest++ }, true},
		{"one link more", func(v *store.Visited, _ []store.Candidate) {
			v.Links = append(v.Links, outlink.Outlink{URL: copied + "/more"})
		}, true},
		{"one link less", func(v *store.Visited, _ []store.Candidate) { v.Links = v.Links[1:] }, true},
		{"one link twice", func(v *store.Visited, _ []store.Candidate) {
			v.Links = append(v.Links, v.Links[0])
		}, false},
		{"a seed", func(v *store.Visited, _ []store.Candidate) { v.Page.Depth = 0 }, true},
		{"followed within a lease", func(v *store.Visited, _ []store.Candidate) { v.Page.Number = 0 }, true},
		{"more links left to follow", func(_ *store.Visited, all []store.Candidate) { all[0].DepthLeft++ }, true},
		{"another page has the link", func(_ *store.Visited, all []store.Candidate) { all[0].From++ }, true},
		{"a requisite", func(_ *store.Visited, all []store.Candidate) { all[0].Requisite = 1 }, true},
		{"its counterpart is not known", func(v *store.Visited, all []store.Candidate) {
			all[0].URL = copied + "/unknown"
		}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			options := store.DefaultOptions()
			options.Partitions, options.NoSync = 1, true
			state, err := store.OpenState(t.TempDir(), options)
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			system := actortest.System(t)
			around := actortest.NewProbe(t, system, "around")
			pid := around.Spawn(t, partition.Props(partition.DefaultOptions(),
				partition.Order{Sieve: copies.Sieve(state)}, state, 0, around.PID, around.PID, actortest.Log()),
				"partition")
			visit := func(host string, number uint64, change func(*store.Visited, []store.Candidate)) string {
				v := store.Visited{Page: store.Page{URL: host + "/", Depth: 1, DepthLeft: 3, Number: number,
					Status: 200, LastVisit: time.Now(), MainDigest: 7, SimHash: 1}, Links: []outlink.Outlink{
					{URL: host + "/page"}, {URL: "http://elsewhere.test/"}}}
				candidates := []store.Candidate{{URL: host + "/page", Host: host, Depth: 2, DepthLeft: 2,
					From: number}}
				change(&v, candidates)
				around.Tell(pid, &protocol.Write{Visits: []store.Visited{v}, Candidates: candidates, Urgent: true})
				actortest.Pass(time.Minute)
				return candidates[0].URL
			}
			visit(first, 2, func(*store.Visited, []store.Candidate) {})
			link := visit(copied, 3, c.change)
			if _, _, known, err := state.Partitions[0].Seen.Get(link); err != nil || known != c.want {
				t.Errorf("%s: known %v, want %v: %v", c.sentence, known, c.want, err)
			}
			around.Tell(pid, &protocol.QuietAsked{Survey: 1})
			left := 0
			for _, q := range actortest.TakeOf[*protocol.QuietReported](around) {
				left += int(q.Totals.Skipped[admission.Copy])
			}
			if (left == 1) == c.want {
				t.Errorf("%s: %d links are counted as left out", c.sentence, left)
			}
			if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
