package watching

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/actors/reading"
	"henro/messages/weburl"
	"henro/store/report/news"
)

const (
	lines = "\ufeff# teas\n\nhttps://a.example/tea every 6h watch #price, .stock > b leave .ads\nhttp://b.example\n"
	opml  = `<?xml version="1.0"?><opml version="2.0"><body><outline text="news">
<outline type="rss" xmlUrl="https://a.example/feed" htmlUrl="https://a.example/tea"/>
<outline type="rss" xmlUrl="http://b.example/"/></outline></body></opml>`
	export = `{"watching": {"1": {"url": "https://a.example/tea", "include_filters": ["#price", "xpath://b", ""],
"subtractive_selectors": [".ads"], "ignore_text": ["3 people", "/\\d+ ago/"], "trigger_text": ["in stock"],
"time_between_check": {"weeks": null, "hours": 6, "seconds": 0}},
"2": {"url": "http://b.example", "time_between_check": {"hours": 3}, "time_between_check_use_default": true},
"3": {"url": "http://c.example", "paused": true}, "4": {"url": "http://{% now %}"}}}`
)

func TestListsAreReadInEachForm(t *testing.T) {
	for _, text := range []string{lines, opml, export} {
		l, err := ReadList(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var urls []string
		for i := range l.Pages {
			urls = append(urls, l.Pages[i].URL.String())
		}
		slices.Sort(urls)
		want := []string{"http://b.example/", "https://a.example/tea"}
		if text == export {
			want = []string{"http://b.example/", "http://c.example/", "https://a.example/tea"}
		}
		if !slices.Equal(urls, want) {
			t.Errorf("%.20s: %q", text, urls)
		}
	}
	l, err := ReadList(strings.NewReader(lines))
	if p := l.Pages[0]; err != nil || p.Every != 6*time.Hour || p.Watch.Learn == nil || *p.Watch.Learn ||
		!slices.Equal(p.Watch.Only, []string{"#price, .stock > b"}) || !slices.Equal(p.Watch.Leave, []string{".ads"}) {
		t.Errorf("%+v, %v", p, err)
	}
	if l, err = ReadList(strings.NewReader(export)); err != nil {
		t.Fatal(err)
	}
	if p := l.Pages[2]; p.Every != 6*time.Hour || !slices.Equal(p.Watch.Only, []string{"#price"}) ||
		!slices.Equal(p.Watch.Come, []string{"in stock"}) || len(p.Watch.Ignore) != 2 || l.Pages[0].Every != 0 ||
		!l.Pages[1].Paused || p.Paused {
		t.Errorf("%+v", l.Pages)
	}
	if notes := strings.Join(l.Notes, "\n"); len(l.Notes) != 2 || !strings.Contains(notes, "xpath://b is left out") &&
		!strings.Contains(notes, `"xpath://b" is left out`) ||
		!strings.Contains(notes, "now") {
		t.Errorf("notes: %q", l.Notes)
	}
}

func TestABackupOfChangeDetectionIsRead(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, text := range map[string]string{"url-watches.json": export, "5/watch.json": `{"url": "http://d.example"}`,
		"5/history.txt": "{"} {
		part, err := z.Create(name)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err := ReadList(&packed); err != nil || len(l.Pages) != 4 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestAMistakeInAListIsNamed(t *testing.T) {
	for text, says := range map[string]string{
		"":                             "names no page",
		"# nothing":                    "names no page",
		"{}":                           "names no page",
		"https://a.example\nno":        "line 2: ",
		"https://a.example tag":        `line 1: tag "": want a word`,
		"https://a.example tags":       `line 1: "tags": want "every 6h"`,
		"https://a.example paused no":  `line 1: paused "no": want nothing`,
		"https://a.example tag a b":    `line 1: tag "a b": tag "a b": want one word`,
		"https://a.example every":      `line 1: every "": `,
		"https://a.example every soon": "line 1: every \"soon\": ",
		"https://a.example watch #":    "line 1: watch \"#\": ",
		"{":                            "is no export",
		"<html><body></body></html>":   "is no OPML: it begins with <html>",
		"<opml><outline>":              "is no OPML",
		"PK\x03\x04 cut":               "zip",
		strings.Repeat("https://a.example\n", 2_000_000): "longer than",
	} {
		if l, err := ReadList(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %+v, %v, want %q", text, l, err, says)
		}
	}
	var many strings.Builder
	for i := range maxPages + 1 {
		many.WriteString("https://a.example/" + strings.Repeat("x", i%100) + string(rune('0'+i%10)) + "/" +
			time.Duration(i).String() + "\n")
	}
	if _, err := ReadList(strings.NewReader(many.String())); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func FuzzReadList(f *testing.F) {
	for _, text := range []string{lines, opml, export, "PK\x03\x04"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ReadList(bytes.NewReader(text))
		if err != nil {
			return
		}
		for host, pages := range l.byHost() {
			orders(host, pages, nil)
		}
		dir := t.TempDir()
		if err := l.writeWatches(dir); err != nil {
			return
		}
		if file, err := os.Open(filepath.Join(dir, news.WatchesName)); err == nil {
			defer file.Close()
			if _, err := news.ParseWatches(file); err != nil {
				t.Errorf("%q makes watches that are none: %v", text, err)
			}
		}
	})
}

// Pages that are in the list no more are excluded, and taken again when they come back; what else was excluded stays.
func TestWhatIsNotInTheListIsExcluded(t *testing.T) {
	var seeds []reading.Seed
	for _, url := range []string{"https://a.example/tea", "http://b.example/?q"} {
		u, err := weburl.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, reading.Seed{URL: u})
	}
	a, err := ReadList(strings.NewReader("https://a.example/tea"))
	if err != nil {
		t.Fatal(err)
	}
	before := []string{`\.pdf$`}
	excluded := a.excludes(seeds, before)
	if want := []string{`\.pdf$`, `^http://b\.example/\?q$`}; !slices.Equal(excluded, want) || len(before) != 1 {
		t.Errorf("%q, want %q", excluded, want)
	}
	if again := a.excludes(seeds, excluded); !slices.Equal(again, excluded) {
		t.Errorf("then %q", again)
	}
	both, err := ReadList(strings.NewReader("https://a.example/tea\nhttp://b.example/?q"))
	if err != nil {
		t.Fatal(err)
	}
	if back := both.excludes(seeds, excluded); !slices.Equal(back, before) {
		t.Errorf("when it is back: %q", back)
	}
}

// A file of watches that somebody wrote is not written over.
func TestWatchesOfAReaderStay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, news.WatchesName)
	l, err := ReadList(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ReadList(strings.NewReader("http://b.example"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.writeWatches(dir); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "learn: false") {
		t.Errorf("%s, %v", text, err)
	}
	if err := plain.writeWatches(dir); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "pages:") {
		t.Errorf("what the list does not say any more is still there: %s, %v", text, err)
	}
	own := "- pages: b.example\n"
	if err := os.WriteFile(path, []byte(own), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := plain.writeWatches(dir); err != nil {
		t.Error(err)
	}
	if err := l.writeWatches(dir); err == nil || !strings.Contains(err.Error(), "is not of a list") {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != own {
		t.Errorf("%s, %v", text, err)
	}
}
