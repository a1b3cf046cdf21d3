package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/replay"
	"henro/master"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
)

// said runs a command of henro and returns what it printed.
func said(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := command(t, arguments...)
	if err != nil {
		t.Fatalf("henro %s: %v", strings.Join(arguments, " "), err)
	}
	return out
}

// lacking is a page with one requisite for each reason why it may be missing.
var lacking = map[string]string{
	"/": `<link rel=stylesheet href=/a.css><img src=/there.png><img src=/gone.png><video src=/left-out.mp4></video>
		<img src=/skip.png><img src=/private.png><img src=http://down.example/x.png><img src=/fails.png>
		<a href=/whole>w</a><a href=/deep>d</a><a href=/made>m</a><a href=/torn>t</a>
		<iframe src=http://b.example/frame></iframe>`,
	"/whole": "<img src=/there.png><img src=/gone.png>", // an image that its host does not have is there as it was
	"/deep":  "<link rel=stylesheet href=/1.css>",
	"/made":  "<div id=root></div><img src=/there.png>",
	"/a.css": "Content-Type: text/css\n\nbody { background: url(/in-sheet.png) } @import '/private.css'",
	"/1.css": "Content-Type: text/css\n\n@import '/2.css'", "/2.css": "Content-Type: text/css\n\n@import '/3.css'",
	"/3.css": "Content-Type: text/css\n\n@import '/4.css'", "/4.css": "Content-Type: text/css\n\n@import '/5.css'",
	"/5.css":        "Content-Type: text/css\n\n@import '/6.css'",
	"/in-sheet.png": "Content-Type: image/png\n\nx", "/there.png": "Content-Type: image/png\n\nx",
	"/robots.txt":                    "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /private",
	"http://b.example/frame":         "<img src=/skip.png><a href=/elsewhere>not a requisite</a>",
	"http://down.example/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /",
}

func answerLacking(path string) (int, string, string) {
	switch path {
	case "/fails.png":
		return 503, "", ""
	case "/torn":
		return 0, "", ""
	}
	return crawltest.Pages(lacking)(path)
}

// crawlLacking crawls it without media, and without what is to be skipped.
func crawlLacking(t *testing.T, dir string) {
	synctest.Test(t, func(t *testing.T) {
		s := &crawltest.Site{Answer: answerLacking, Seed: "http://a.example/ depth=1"}
		status := s.Crawl(t, dir, func(o *master.Options) {
			o.Scope.Exclude = []string{"skip"}
			o.Hosts.Retries = 1
			o.Hosts.Admission.Requisites = outlink.AllClasses &^ outlink.Medias
		})
		if w := status.Whole; w == nil || w.Pages != 4 || w.Whole != 1 || w.Lacked != 9 {
			t.Errorf("at the end of the crawl: %+v", w)
		}
	})
}

func TestMissingNamesWhatEachPageLacksAndWhy(t *testing.T) {
	dir := copyOf(t, "lacking", crawlLacking)
	synctest.Test(t, func(t *testing.T) { // the moments of the crawl
		if out := said(t, "stats", dir); !strings.Contains(out, "whole     1 of 4 pages (25.00 %); the scripts "+
			"that make 1 were not run; henro missing") {
			t.Errorf("stats:\n%s", out)
		}
		want := map[string]map[string]string{
			"http://a.example/": {
				"http://a.example/left-out.mp4": "class left out", "http://a.example/skip.png": "excluded",
				"http://a.example/private.png": "ROBOTS_DENIED", "http://a.example/private.css": "ROBOTS_DENIED",
				"http://down.example/x.png": "ROBOTS_DENIED", "http://a.example/fails.png": "HTTP 503",
				"http://b.example/skip.png": "excluded",
			},
			"http://a.example/deep": {"http://a.example/6.css": "depth"},
			"http://a.example/made": {"http://a.example/made": "scripts not run"},
		}
		check := func(pages map[string]map[string]string, whole *reading.Wholeness, prefix string) {
			t.Helper()
			for page, lacks := range want {
				if strings.HasPrefix(page, prefix) && fmt.Sprint(pages[page]) != fmt.Sprint(lacks) {
					t.Errorf("%s lacks %q, want %q", page, pages[page], lacks)
				}
			}
			if prefix == "" && (len(pages) != 3 || whole.Pages != 4 || whole.Whole != 1 || whole.Lacked != 9) {
				t.Errorf("%+v of %d pages", whole, len(pages))
			}
		}
		check(readMissing(t, said(t, "missing", "--json", dir), ""))
		check(readMissing(t, said(t, "missing", "--json", dir, "http://a.example/deep"), "http://a.example/deep"))
		check(readMissing(t, said(t, "missing", "--json", dir, "a.example"), ""))

		text := said(t, "missing", dir)
		for _, line := range []string{"http://a.example/\n",
			"- media    http://a.example/left-out.mp4: requisites of class media are not fetched",
			"- style    http://a.example/private.css: its last visit failed: ROBOTS_DENIED (of http://a.example/a.css)",
			"- image    http://b.example/skip.png: excluded (of http://b.example/frame)",
			"- style    http://a.example/6.css: it is more than 5 steps from the page (of http://a.example/5.css)",
			"- script   http://a.example/made: it is made by scripts, which were not run\n",
			"1 of 4 pages are whole (25.00 %); missing: HTTP 503 1, ROBOTS_DENIED 3, class left out 1, " +
				"depth 1, excluded 2, scripts not run 1\n",
		} {
			if !strings.Contains(text, line) {
				t.Errorf("%q is not in\n%s", line, text)
			}
		}

		page := said(t, "page", "--dir", dir, "http://a.example/whole")
		for _, line := range []string{"a page, 1 links", "+ image    http://a.example/gone.png: status 404",
			"+ image    http://a.example/there.png\n", "the page is whole"} {
			if !strings.Contains(page, line) {
				t.Errorf("%q is not in\n%s", line, page)
			}
		}
		page = said(t, "page", "--dir", dir, "http://a.example/")
		for _, line := range []string{"made of   - ", "+ style    http://a.example/a.css\n",
			"+ css      http://a.example/in-sheet.png (of http://a.example/a.css)\n", "not whole: 7 missing"} {
			if !strings.Contains(page, line) {
				t.Errorf("%q is not in\n%s", line, page)
			}
		}

		for url, answer := range map[string]string{
			"http://a.example/left-out.mp4": "not visited: link: http://a.example/ names it, and requisites of class " +
				"media are not fetched: --requisites image,style,script,font,frame,object,icon",
			"http://a.example/6.css": "not visited: link: http://a.example/5.css names it, more than 5 steps from " +
				"its page",
			"http://a.example/skip.png":  "not visited: scope: excluded",
			"http://a.example/fails.png": "visited ",
			"http://a.example/nowhere":   "unknown: no page that was read links to it",
		} {
			if got := said(t, "why", "--dir", dir, url); !strings.Contains(got, "\n"+answer) {
				t.Errorf("why %s:\n%swant %s", url, got, answer)
			}
		}

		if got := said(t, "sql", dir, "SELECT role, count(*) FROM pages WHERE last_visit IS NOT NULL GROUP BY role",
			"--format", "csv"); !strings.Contains(got, "page,5\n") || !strings.Contains(got, "requisite,14\n") {
			t.Errorf("roles: %s", got)
		}
		if got := said(t, "sql", dir, "SELECT url FROM pages WHERE scripted", "--format", "csv"); got !=
			"url\nhttp://a.example/made\n" {
			t.Errorf("made by scripts: %s", got)
		}
	})
}

// While a crawl runs, its master is asked.
func TestMissingOfARunningCrawlAsksItsMaster(t *testing.T) {
	dir := t.TempDir()
	o := store.DefaultOptions()
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	lines := `{"url":"http://a.example/",
"missing":[{"url":"http://a.example/x","kind":"image","missing":"waiting","says":"it waits"}]}
{"pages":4,"whole":3,"lacked":1,"reasons":{"waiting":1},"seconds":0.1,"at":"2026-11-22T06:00:00Z"}
`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("prefix") != "http://a.example/" {
			t.Errorf("asked for %s", r.URL)
		}
		fmt.Fprint(w, lines)
	}))
	defer server.Close()
	arguments := []string{"missing", dir, "http://a.example/", "--master", strings.TrimPrefix(server.URL, "http://")}
	want := "http://a.example/\n  - image    http://a.example/x: it waits\n" +
		"3 of 4 pages are whole (75.00 %); missing: waiting 1\n"
	if got := said(t, arguments...); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	lines, _, _ = strings.Cut(lines, "\n{") // the line broke before the count
	if out, err := command(t, arguments...); err == nil {
		t.Errorf("an answer that is cut off is taken: %s", out)
	}
}

// readMissing reads the lines of henro missing --json.
func readMissing(t *testing.T, text, prefix string) (map[string]map[string]string, *reading.Wholeness, string) {
	t.Helper()
	pages, whole := map[string]map[string]string{}, &reading.Wholeness{}
	for line := range strings.Lines(text) {
		var page reading.PageMissing
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if page.URL == "" {
			if err := json.Unmarshal([]byte(line), whole); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			continue
		}
		pages[page.URL] = map[string]string{}
		for _, r := range page.Missing {
			pages[page.URL][r.URL] = r.Missing
		}
	}
	return pages, whole, prefix
}

func TestWithoutRequisitesWhyOfAnImageNamesTheFlag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: answerLacking, Seed: "http://a.example/ depth=1"}
		s.Crawl(t, dir, func(o *master.Options) { o.Hosts.Admission.Requisites = 0 })
		got := said(t, "why", "--dir", dir, "http://a.example/there.png")
		if want := "not visited: link: http://a.example/"; !strings.Contains(got, want) ||
			!strings.Contains(got, "requisites of class image are not fetched: --requisites off") {
			t.Errorf("why:\n%s", got)
		}
		_, whole, _ := readMissing(t, said(t, "missing", "--json", dir), "")
		if r := whole.Reasons; whole.Pages != 4 || whole.Whole != 0 || r["scripts not run"] != 1 ||
			r["class left out"] != whole.Lacked-1 {
			t.Errorf("%+v", whole)
		}
	})
}

// The page that replay shows for what is missing has its reason from the state.
func TestReplaySaysWhyAPageIsMissing(t *testing.T) {
	dir := copyOf(t, "lacking", crawlLacking)
	synctest.Test(t, func(t *testing.T) { // the moments of the crawl
		for url, want := range map[string]replay.Absence{
			"http://a.example/torn":         {Why: replay.WhyFailed, Cause: messages.Cause{Word: "CONNECTION_LOST"}},
			"http://a.example/left-out.mp4": {Why: replay.WhyRefused},
			"http://a.example/skip.png":     {Why: replay.WhyRefused},
			"http://a.example/private.png":  {Why: replay.WhyRefused},
			"http://a.example/fails.png":    {Why: replay.WhyElsewhere}, // an answer of 503 is archived as it was
			"http://a.example/whole":        {Why: replay.WhyElsewhere},
			"http://a.example/nobody":       {Why: replay.WhyUnknown},
		} {
			got, err := absence(t.Context(), dir, url)
			if err != nil || got.Why != want.Why || got.Says == "" || got.Cause.Word != want.Cause.Word {
				t.Errorf("%s: %+v, %v, want %+v", url, got, err, want)
			}
		}
		early := t.TempDir()
		s := &crawltest.Site{Seed: "http://a.example/ depth=1", Answer: answerLacking}
		s.Crawl(t, early, func(o *master.Options) { o.MaxPages = 1 })
		got, err := absence(t.Context(), early, "http://a.example/whole")
		if err != nil || got.Why != replay.WhyWaiting {
			t.Errorf("what waits: %+v, %v", got, err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := absence(over, dir, "http://a.example/nobody"); !errors.Is(err, context.Canceled) {
			t.Errorf("all links are read for a reader who has gone: %v", err)
		}
	})
}
