package sitemap_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/sitemap"
)

// files are the cases of our own, and those of the larger set when there is one.
func files(own, large string) []string {
	all := []string{filepath.Join("testdata", own)}
	if folder := os.Getenv("HENRO_DATA"); folder != "" {
		all = append(all, filepath.Join(folder, large))
	}
	return all
}

func cases[T any](t testing.TB, name string) (all []T) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var c T
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

type commons struct {
	Name, Kind string
	Body       string `json:"body_b64"`
	Locs       []string
	Lastmod    []string
}

// Files of crawler-commons, with the locs and lastmods that stand in them.
func TestFilesOfCrawlerCommons(t *testing.T) {
	kinds := map[string][]sitemap.Kind{
		"urlset": {sitemap.Set}, "sitemapindex": {sitemap.Index}, "text": {sitemap.Text},
		"feed": {sitemap.Atom, sitemap.RSS, sitemap.RDF},
	}
	for _, name := range files("crawler_commons.jsonl", "sitemaps/sitemap_files.jsonl") {
		for _, c := range cases[commons](t, name) {
			body, err := base64.StdEncoding.DecodeString(c.Body)
			if err != nil {
				t.Fatal(err)
			}
			var locs, lastmods []string
			result := sitemap.Read(bytes.NewReader(body), sitemap.DefaultOptions(), func(e *sitemap.Entry) bool {
				if !e.Part {
					locs = append(locs, e.Loc)
				}
				if !e.From.IsZero() {
					lastmods = append(lastmods, e.Hint.Modified())
				}
				return true
			})
			if !slices.Contains(kinds[c.Kind], result.Kind) {
				t.Errorf("%s is taken for %v, want %s", c.Name, result.Kind, c.Kind)
			}
			if result.Kind.IsFeed() {
				if len(locs) == 0 {
					t.Errorf("%s: no entries", c.Name)
				}
				continue
			}
			if !slices.Equal(locs, c.Locs) {
				t.Errorf("%s: %q\nwant %q", c.Name, locs, c.Locs)
			}
			var want []string
			for _, said := range c.Lastmod {
				if at, err := time.Parse(time.RFC3339, said); err == nil {
					said = outlink.Hint{From: at, Until: at.Add(time.Second)}.Modified()
				}
				want = append(want, said)
			}
			if c.Kind == "urlset" && !slices.Equal(lastmods, want) {
				t.Errorf("%s: %q\nwant %q", c.Name, lastmods, want)
			}
		}
	}
}

type parsed struct {
	Name, XML string
	Location  string `json:"content_location"`
	Expect    struct{ Object, Key, Value string }
}

// Feeds of feedparser's tests that ask for the link or the dates of the first entry.
func TestFeedsOfFeedparser(t *testing.T) {
	for _, name := range files("feedparser.jsonl", "feeds/feedparser.jsonl") {
		for _, c := range cases[parsed](t, name) {
			if strings.HasPrefix(c.Name, "base/cdf_") { // Channel Definition Format, of 1997: nobody writes it
				continue
			}
			if c.Expect.Key == "updated" || c.Expect.Key == "published" { // what names no page is no entry here
				c.XML = strings.Replace(c.XML, "<item>", "<item><link>http://a.test/</link>", 1)
			}
			entry := sitemap.Entry{}
			result := sitemap.Read(strings.NewReader(c.XML), sitemap.DefaultOptions(),
				func(e *sitemap.Entry) bool { entry = *e; return false })
			if !result.Kind.IsFeed() {
				t.Errorf("%s is taken for %v", c.Name, result.Kind)
			}
			if c.Expect.Object != "entries[0]" {
				continue
			}
			base := weburl.MustParse("http://127.0.0.1:8097/")
			if c.Location != "" {
				base = weburl.MustParse(c.Location)
			}
			switch c.Expect.Key {
			case "link", "links.href":
				got, err := base.Resolve(entry.Loc)
				if want := weburl.MustParse(c.Expect.Value); err != nil || got != want {
					t.Errorf("%s: link %q, want %q", c.Name, entry.Loc, c.Expect.Value)
				}
			case "updated", "published":
				want, err := time.Parse(time.RFC3339, c.Expect.Value)
				if err != nil || !entry.From.Equal(want) {
					t.Errorf("%s: %v, want %q", c.Name, entry.From, c.Expect.Value)
				}
			}
		}
	}
}
