package embedded_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
)

// A crawl names the page that had a text first, for all others that have it and no others, whatever crashed meanwhile.
func TestACrawlNamesThePageThatHadATextFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 8, Hosts: 12, Domains: 5, Pages: 15, CrossShare: 0.1, RedirectShare: 0.05,
			Errors: fakeweb.Errors{NotFound: 0.05}, Traps: fakeweb.Traps{SoftNotFound: 0.3},
			Twins: fakeweb.Twins{Aliases: 0.4, Mirrors: 0.4, Dust: 0.4, Near: 0.5, Parked: 0.2, Fronts: 0.3,
				Translations: 0.3},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir, _ := crawltest.OverCrashes(t, web, nil, 20*time.Second, 70*time.Second)

		visited, near, firsts := 0, 0, map[string]string{} // by text
		_, pages := crawltest.StateIn(t, dir)
		for _, page := range pages {
			if page.Status != 200 {
				continue
			}
			visited++
			is, err := web.Like(page.URL)
			if err != nil {
				t.Fatal(err)
			}
			if page.Near != "" {
				near++
				if first, err := web.Like(page.Near); err != nil ||
					cmp.Or(first.Near, first.Text) != cmp.Or(is.Near, is.Text) {
					t.Errorf("%s has the text %s and is near %s: %v", page.URL, is.Text, page.Near, err)
				}
			}
			if page.SameAs == "" {
				if first := firsts[is.Text]; first != "" {
					t.Errorf("%s and %s have the text %s and do not know it", first, page.URL, is.Text)
				}
				firsts[is.Text] = page.URL
				continue
			}
			if first, err := web.Like(page.SameAs); err != nil || first.Text != is.Text {
				t.Errorf("%s has the text %s and is the same as %s: %v", page.URL, is.Text, page.SameAs, err)
			}
		}
		if visited < 300 || len(firsts) > visited/2 || near < 5 {
			t.Errorf("%d pages with %d texts, %d near another: no test at all", visited, len(firsts), near)
		}
		page, err := os.ReadFile("../../docs/duplicates.md")
		if err != nil {
			t.Fatal(err)
		}
		_, question, _ := strings.Cut(string(page), "```sql\n")
		question, _, _ = strings.Cut(question, "```")
		if same := fmt.Sprint(crawltest.Answers(t, dir, question)); strings.Count(same, ".copies.test") < 2 {
			t.Errorf("hosts with the same pages, as docs/duplicates.md asks for them: %s", same)
		}
	})
}
