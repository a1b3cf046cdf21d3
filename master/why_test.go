package master_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/synctest"

	"henro/actors/actortest"
	"henro/actors/admission"
	"henro/actors/reading"
	"henro/master"
	"henro/messages/weburl"
	"henro/store"
)

// TestARunningCrawlIsReadLikeOneThatHasEnded: by the same settings and the same scope, with seeds added since it began.
func TestARunningCrawlIsReadLikeOneThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		o := master.DefaultOptions()
		o.Dir, o.Name, o.Boot, o.Store.NoSync = t.TempDir(), "m", "1", true
		o.Scope.Exclude = []string{"/no"}
		node, err := master.Start(system, o, actortest.Log())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node, &master.AddSeeds{Seeds: []reading.Seed{
			{URL: weburl.MustParse("http://a.test/")}}}); err != nil {
			t.Fatal(err)
		}
		read := func(c *reading.Crawl) string {
			c.Settings.Politeness.Servers = 0 // of a crawl that runs: those with work
			text, err := json.Marshal(c.Settings)
			if err != nil {
				t.Fatal(err)
			}
			for url, want := range map[string]admission.Reason{"http://a.test/yes": admission.None,
				"http://a.test/no": admission.Excluded, "http://b.test/": admission.Scope} {
				found, err := c.Rules(&admission.Question{}, url)
				if err != nil || found[0].Reason != want {
					t.Errorf("%s: %v, %v; want %v", url, found, err, want)
				}
			}
			return string(text)
		}
		running := read(node.Reading())
		if err := node.Close(); err != nil {
			t.Fatal(err)
		}
		state, err := store.OpenState(filepath.Join(o.Dir, "state"), o.Store)
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		crawl, err := reading.AtRest(state, o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if ended := read(crawl); ended != running {
			t.Errorf("%s\nwhen it has ended, and when it ran:\n%s", ended, running)
		}
	})
}
