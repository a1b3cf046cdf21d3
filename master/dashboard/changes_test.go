package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/store/report/changes"
)

// The latest change stands first, what the web wrote stays text, and without any the page says how to find them.
func TestTheLatestChangesAreShown(t *testing.T) {
	crawl := newFake(t, nil)
	crawl.dir = t.TempDir()
	d := board(t, crawl, "")
	if _, doc := get(t, d, "/changes", "en"); !strings.Contains(doc.Find("#changes").Text(), "henro feed "+crawl.dir) {
		t.Errorf("without changes: %q", doc.Find("#changes").Text())
	}
	dir := filepath.Join(crawl.dir, changes.Folder)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var all []changes.Change
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, text := range evil {
		all = append(all, changes.Change{URL: text, Title: text, Diff: "-" + text + "\n+new", Letters: i,
			At: at.Add(time.Duration(i) * time.Hour), Before: at})
	}
	for i := range 60 {
		all = append(all, changes.Change{URL: somePage, At: at, Before: at, Diff: "+last", Letters: i})
	}
	if err := changes.Append(dir, all); err != nil {
		t.Fatal(err)
	}
	_, beside := get(t, d, "/changes?beside=true", "en")
	wholesome(t, "/changes beside", beside)
	if cells := beside.Find("#changes td"); cells.Length() != 2*changesShown || cells.Eq(1).Text() != "last" {
		t.Errorf("side by side: %d, %q", cells.Length(), cells.Eq(1).Text())
	}
	for _, language := range []string{"en", "ja"} {
		_, doc := get(t, d, "/changes", language)
		wholesome(t, "/changes "+language, doc)
		if cards := doc.Find("#changes section"); cards.Length() != changesShown ||
			!strings.Contains(cards.First().Text(), "59") ||
			!strings.Contains(cards.First().Find(".overlaid ins").Text(), "last") {
			t.Errorf("%s: %d changes, the first %q", language, cards.Length(), cards.First().Text())
		}
	}
	if err := changes.Append(dir, all[:len(evil)]); err != nil {
		t.Fatal(err)
	}
	_, doc := get(t, d, "/changes", "en")
	wholesome(t, "/changes", doc)
	text := doc.Find("#changes section").First().Find(".overlaid del").Text()
	if !strings.Contains(text, "javascript:") &&
		!strings.Contains(text, "data:text/html") {
		t.Errorf("the latest change: %q", text)
	}
}
