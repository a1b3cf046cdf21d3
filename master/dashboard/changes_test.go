package dashboard

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/actors/floor"
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
		all = append(all, changes.Change{ID: changes.IDOf(text, at, ""), URL: text, Title: text,
			Diff: "-" + text + "\n+new", Letters: i, At: at.Add(time.Duration(i) * time.Hour), Before: at})
	}
	for i := range 60 {
		at := at.Add(1000*time.Hour + time.Duration(i)*time.Second)
		all = append(all, changes.Change{ID: changes.IDOf(somePage, at, ""), URL: somePage, At: at, Before: at,
			Diff: "+last", Letters: i})
	}
	if err := changes.Append(dir, all); err != nil {
		t.Fatal(err)
	}
	_, beside := get(t, d, "/changes?beside=true", "en")
	wholesome(t, "/changes beside", beside)
	if cells := beside.Find("#changes td"); cells.Length() != 2*50 || cells.Eq(1).Text() != "last" {
		t.Errorf("side by side: %d, %q", cells.Length(), cells.Eq(1).Text())
	}
	for _, language := range []string{"en", "ja"} {
		_, doc := get(t, d, "/changes", language)
		wholesome(t, "/changes "+language, doc)
		if cards := doc.Find("#changes section"); cards.Length() != 50 ||
			!strings.Contains(cards.First().Text(), "59") ||
			!strings.Contains(cards.First().Find(".overlaid ins").Text(), "last") {
			t.Errorf("%s: %d changes, the first %q", language, cards.Length(), cards.First().Text())
		}
	}
	for i := range evil {
		all[i].At = at.Add(time.Duration(2000+i) * time.Hour)
		all[i].ID = changes.IDOf(all[i].URL, all[i].At, "")
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

// A page whose captures lie with slaves shows what its versions brought, and says where they are.
func TestCapturesOfSlavesAreSaidToBeThere(t *testing.T) {
	crawl := newFake(t, nil)
	crawl.dir = t.TempDir()
	d := board(t, crawl)
	path := pagePath(somePage)
	if _, doc := get(t, d, path, "en"); !strings.Contains(doc.Find(".away").Text(), "s3://BUCKET/FOLDER") {
		t.Error("without changes it is not said where versions may be")
	}
	var all []changes.Change
	for i, text := range append(evil, "salt") {
		at := time.Date(2026, 3, 1+i, 12, 0, 0, 0, time.UTC)
		all = append(all, changes.Change{ID: changes.IDOf(somePage, at, ""), URL: somePage, At: at, Before: at,
			Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-" + text + "\n+sugar\n"})
	}
	all = append(all, changes.Change{ID: "x", URL: somePage + "other", Diff: "+tea", At: floor.Now()})
	if err := changes.Append(filepath.Join(crawl.dir, changes.Folder), all); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "ja"} {
		_, doc := get(t, d, path, language)
		wholesome(t, path, doc)
		card := doc.Find("section:has(#p-captures)")
		if text := card.Text(); card.Length() != 1 || !strings.Contains(text, "henro replay FOLDER") ||
			doc.Find(".away").Length() != 0 ||
			!strings.Contains(text, "salt") || strings.Contains(text, "tea") ||
			card.Find(".overlaid").Length() != len(evil)+1 {
			t.Errorf("%s: %d cards: %q", language, card.Length(), text)
		}
	}
}

// TestTheWeekOfASiteLeadsToItsChanges: a table with a head for each weekday and hour, whose cells lead to what changed
// then; what the web wrote stays text.
func TestTheWeekOfASiteLeadsToItsChanges(t *testing.T) {
	crawl := newFake(t, nil)
	crawl.dir = t.TempDir()
	d := board(t, crawl)
	if _, doc := get(t, d, "/week", "en"); doc.Find("#week .empty").Length() != 1 || doc.Find("table").Length() != 0 {
		t.Errorf("without changes: %q", doc.Find("#week").Text())
	}
	at := floor.Now().Add(-24 * time.Hour)
	all := []changes.Change{{ID: changes.IDOf(somePage, at, ""), URL: somePage, At: at, Before: at,
		Diff: "+The festival begins"}}
	for i, text := range evil {
		all = append(all, changes.Change{ID: changes.IDOf(text, at, ""), URL: text, Title: text,
			Diff: "-" + text, At: at, Letters: i})
	}
	if err := changes.Append(filepath.Join(crawl.dir, changes.Folder), all); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "ja"} {
		_, doc := get(t, d, "/week", language)
		wholesome(t, "/week", doc)
		if n := doc.Find("#week .chips a").Length(); n < 2 {
			t.Errorf("%d sites", n)
		}
		_, doc = get(t, d, "/week?name="+url.QueryEscape(someHost), language)
		heads, cells := doc.Find(".heat thead th[scope=col]").Length(), doc.Find(".heat td[class]").Length()
		if heads != 7 || doc.Find(".heat tbody th[scope=row]").Length() != 24 || cells != 7*24 {
			t.Errorf("%d heads, %d cells", heads, cells)
		}
		cell := doc.Find(".heat a")
		if want := hourOf(at, language) + ": 1"; cell.Length() != 1 || cell.Text() != want {
			t.Fatalf("%d cells lead on, one says %q, want %q", cell.Length(), cell.Text(), want)
		}
		_, doc = get(t, d, cell.AttrOr("href", ""), language)
		wholesome(t, "the hour", doc)
		if text := doc.Find("#hour .overlaid ins").Text(); text != "The festival begins" {
			t.Errorf("the hour has %q", text)
		}
		if doc.Find(".heat a[aria-current]").Length() != 1 {
			t.Error("the cell is not marked")
		}
	}
}

// hourOf names the hour of a moment.
func hourOf(at time.Time, language string) string {
	day := map[string][]string{"en": {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"},
		"ja": {"日曜日", "月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日"}}[language][at.Weekday()]
	return day + at.Format(" 15:00")
}
