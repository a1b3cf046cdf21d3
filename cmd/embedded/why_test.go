package embedded_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store"
)

func TestWhyIsAnsweredForEveryKindOfURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := fakeweb.Options{Seed: 7, Hosts: 2, Domains: 2, Pages: 40}
		steer := func(ctx context.Context, node *master.Node, w *fakeweb.Web) {
			actortest.Pass(22 * time.Second)
			root := w.Seeds()[0]
			host := strings.TrimSuffix(root, "/")
			var waiting []string
			for _, p := range node.Reading().State.Partitions {
				entries, err := p.Fresh.Of(store.IDOf(host), nil, 100)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range entries.Entries {
					waiting = append(waiting, e.Page.URL)
				}
			}
			if len(waiting) < 3 {
				t.Errorf("%d pages wait", len(waiting))
				return
			}
			for _, c := range []struct{ sentence, of, says string }{
				{"a page that was visited", root, "visited 2"},
				{"a page that waits", waiting[2], "2 pages are ahead of it; its host"},
				{"a page that nobody links to", root + "nothing", "no page that was read links to it"},
				{"a page out of scope", "http://elsewhere.test/", "not visited: scope"},
				{"a page that is a trap", root + strings.Repeat("a/", 200), "not visited: trap"},
				{"a host", host, "pages wait; its host"},
				{"a host by name", "nowhere.test", "unknown: no page links to this host"},
			} {
				why, err := node.FindWhy(ctx, c.of)
				if err != nil || !strings.Contains(why.Answer, c.says) {
					t.Errorf("%s: %+v, %v; want %q", c.sentence, why, err, c.says)
				}
			}
			crawltest.Ask(t, ctx, node, &master.Pause{})
			if why, err := node.FindWhy(ctx, waiting[2]); err != nil ||
				!strings.HasPrefix(why.Answer, "the crawl is paused") {
				t.Errorf("paused: %+v, %v", why, err)
			}
			crawltest.Ask(t, ctx, node, &master.Resume{})
		}
		_, _, status := crawltest.Bubble(t, web, -1, nil, steer)
		if status.End != master.Finished {
			t.Errorf("ended with %q", status.End)
		}
	})
}
