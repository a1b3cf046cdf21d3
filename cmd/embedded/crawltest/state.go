package crawltest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/actors/reading"
	"henro/cmd/fakeweb"
	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/query"
)

// Visited reads the URLs with a response out of the state of a crawl that has ended.
func Visited(t *testing.T, dir string) map[string]int {
	t.Helper()
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	pages := map[string]int{}
	for _, p := range state.Partitions {
		err := p.Pages.Each(func(page store.Page, _ store.Place) error {
			if page.Status != 0 {
				pages[page.URL]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

// Compare says which URLs of the truth are missing, and which are too many.
func Compare(t *testing.T, got map[string]int, want []string) {
	t.Helper()
	wanted := map[string]bool{}
	missing, shown := 0, 0
	for _, url := range want {
		wanted[url] = true
		if got[url] == 0 {
			if missing++; missing <= 5 {
				t.Errorf("missing: %s", url)
			}
		}
	}
	for _, url := range slices.Sorted(maps.Keys(got)) {
		if !wanted[url] || got[url] > 1 {
			if shown++; shown <= 5 {
				t.Errorf("%d times, wanted %v: %s", got[url], wanted[url], url)
			}
		}
	}
	if missing > 0 || shown > 0 {
		t.Errorf("%d pages, want %d: %d missing, %d too many", len(got), len(want), missing, shown)
	}
}

// CheckPaces looks in the log for the interval of every host: the floor, or what its robots.txt wishes. A crawl that
// crashed before it had stored that wish asks for robots.txt again at the floor.
func CheckPaces(t *testing.T, web *fakeweb.Web, floor time.Duration) {
	t.Helper()
	wishes := map[string]time.Duration{}
	for i := range web.Hosts() {
		if h := web.Host(i); h.Robots == fakeweb.RobotsDelayed {
			wishes["http://"+h.Name] = h.CrawlDelay
		}
	}
	log := web.Log()
	slices.SortStableFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	last := map[string]fakeweb.Entry{}
	for _, e := range log {
		want := floor
		if e.Path != "/robots.txt" {
			want = max(floor, wishes[e.Origin()])
		}
		if before, ok := last[e.Origin()]; ok && e.Start.Sub(before.Start) < want {
			t.Errorf("%s was asked for %v after %s, the interval is %v", e.URL(), e.Start.Sub(before.Start),
				before.Path, want)
		}
		last[e.Origin()] = e
	}
}

// OpenState opens the state of a crawl that has ended, to be read.
func OpenState(t *testing.T, dir string) *store.State {
	t.Helper()
	o := store.DefaultOptions()
	o.ReadOnly = true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Open opens a crawl that has ended, to be read.
func Open(t *testing.T, dir string) *reading.Crawl {
	t.Helper()
	crawl, err := reading.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return crawl
}

// Whole counts the pages of a crawl that has ended, and those of them that are whole.
func Whole(t *testing.T, dir string) *reading.Wholeness {
	t.Helper()
	crawl := Open(t, dir)
	whole, err := crawl.Missing("", "", func(*reading.PageMissing) error { return nil })
	if err := errors.Join(err, crawl.Close()); err != nil {
		t.Fatal(err)
	}
	return whole
}

// Answers asks a crawl that has ended in SQL.
func Answers(t *testing.T, dir, question string) (rows [][]string) {
	t.Helper()
	crawl := Open(t, dir)
	defer crawl.Close()
	session, err := query.Open(t.Context(), crawl.Tables())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	answer, err := session.Ask(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	for {
		values, err := answer.Next()
		if err != nil {
			t.Fatal(err)
		}
		if values == nil {
			return rows
		}
		row := make([]string, len(values))
		for i, value := range values {
			row[i] = fmt.Sprint(value)
		}
		rows = append(rows, row)
	}
}

// StateIn reads the hosts and pages of a state in which nobody writes.
func StateIn(t *testing.T, dir string) (hosts map[string]store.HostRecord, pages map[string]store.Page) {
	t.Helper()
	state := OpenState(t, dir)
	defer state.Close()
	return StateOf(t, state)
}

// StateOf reads the hosts and pages of a state that is open.
func StateOf(t *testing.T, state *store.State) (hosts map[string]store.HostRecord, pages map[string]store.Page) {
	t.Helper()
	hosts, pages = map[string]store.HostRecord{}, map[string]store.Page{}
	for _, p := range state.Partitions {
		err := errors.Join(
			p.Hosts.Each(func(h store.HostRecord) error { hosts[h.Name] = h; return nil }),
			p.Pages.Each(func(page store.Page, _ store.Place) error { pages[page.URL] = page; return nil }))
		if err != nil {
			t.Fatal(err)
		}
	}
	return hosts, pages
}

// CheckRevisits counts the revisit records, and looks for the capture to which each refers.
func CheckRevisits(t *testing.T, dir string) (revisits int) {
	t.Helper()
	if revisits = CheckRevisitsIn(t, filepath.Join(dir, "warc")); revisits == 0 {
		t.Error("no revisit records")
	}
	return revisits
}

// CheckRevisitsIn does so in a folder of WARC files, where there may be none.
func CheckRevisitsIn(t *testing.T, dir string) (revisits int) {
	t.Helper()
	type capture struct{ uri, at, digest string }
	captures := map[capture]bool{}
	var referred []capture
	files, err := filepath.Glob(filepath.Join(dir, "*.warc*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archive: %v", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = warc.Walk(f, func(entry *warc.Entry) error {
			h := &entry.Header
			second := func(at string) string { return at[:min(len(at), len("2000-01-01T00:00:00"))] }
			switch h.Get("WARC-Type") {
			case "response":
				captures[capture{h.Get("WARC-Target-URI"), second(h.Get("WARC-Date")),
					h.Get("WARC-Payload-Digest")}] = true
			case "revisit":
				referred = append(referred, capture{h.Get("WARC-Refers-To-Target-URI"),
					second(h.Get("WARC-Refers-To-Date")), h.Get("WARC-Payload-Digest")})
			}
			return nil
		})
		if err := cmp.Or(err, f.Close()); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	bad := 0
	for _, c := range referred {
		if !captures[c] {
			if bad++; bad <= 3 {
				t.Errorf("a revisit record refers to a capture that is not there: %v", c)
			}
		}
	}
	return len(referred)
}

// Captured reads every record of the archive of a crawl that has ended, and returns the URLs that its indexes list.
func Captured(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*"))
	if err != nil {
		t.Fatal(err)
	}
	urls := map[string]bool{}
	for _, name := range files {
		switch {
		case strings.HasPrefix(filepath.Base(name), "."), filepath.Base(name) == "index.files": // no archive of pages
		case strings.HasSuffix(name, warc.OpenSuffix):
			t.Errorf("left open: %s", filepath.Base(name))
		case strings.HasSuffix(name, cdxj.Suffix):
			index, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(index)) {
				entry, err := cdxj.Parse([]byte(strings.TrimRight(line, "\n")))
				if err != nil {
					t.Fatal(err)
				}
				urls[entry.URL] = true
			}
		default:
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			walked, err := warc.Walk(f, nil)
			f.Close()
			if err != nil || len(walked.Damaged) > 0 {
				t.Errorf("%s: %d stretches damaged, %v", filepath.Base(name), len(walked.Damaged), err)
			}
		}
	}
	return urls
}

// Reachable are the URLs that a correct crawl of a web fetches.
func Reachable(t *testing.T, w *fakeweb.Web, depth int) []string {
	t.Helper()
	truth, err := w.Reachable(fakeweb.Crawl{Seeds: w.Seeds(), Depth: depth, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Keys(truth.Fetched))
}
