package embedded_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"henro/actors/admission"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/store/archive/cdxj"
)

// archived reads the paths of a site that are in the index of its crawl, robots.txt apart.
func archived(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "warc"), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, cdxj.Suffix) || filepath.Base(name) == cdxj.MergedName {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			e, err := cdxj.Parse([]byte(strings.TrimRight(line, "\n")))
			if err != nil {
				return err
			}
			if path := strings.TrimPrefix(e.URL, "http://a.example"); path != "/robots.txt" {
				paths = append(paths, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}

const (
	japanese = "<html lang=ja><p>これは日本語で書かれたページです。遍路は四国の八十八箇所を巡る旅のことをいいます。</p>"
	english  = "<html lang=en><p>This page is in English. It says a few words about nothing in particular, and has " +
		"a link or two.</p>"
)

// reserving is a site that says what it may be used for in every way there is.
var reserving = map[string]string{
	"/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nContent-Usage: / train-ai=n\n" +
		"Content-Usage: /free/ train-ai=y\n",
	"/.well-known/tdmrep.json": "Content-Type: application/json\n\n" +
		`[{"location": "/e", "tdm-reservation": 1}]`,
	"/":       `<a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a> <a href=/free/d>d</a> <a href=/e>e</a>`,
	"/a":      "Content-Type: text/html\nX-Robots-Tag: noarchive\n\na",
	"/b":      `<meta name=TDM-Reservation content=1>b`,
	"/c":      "Content-Type: text/html\nContent-Signal: search=no\n\nc",
	"/free/d": "d",
	"/e":      `<meta name=robots content="NoArchive">e`,
}

func TestWhatIsArchivedAndWhatIsFollowed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		pages    map[string]string
		change   func(*master.Options)
		asked    []string // beside / and robots.txt
		archived []string
		skipped  map[admission.Reason]int
	}{
		{"--mime html keeps pages and what leads to them", map[string]string{
			"/":  `<a href=/a>a</a> <a href=/b.pdf>b</a> <a href=/c>c</a>`,
			"/a": "x", "/b.pdf": "Content-Type: application/pdf\n\n%PDF",
			"/c": "Content-Type: \n\n<!DOCTYPE html><p>sniffed",
		}, func(o *master.Options) { o.Fetch.HtmlOnly = true }, []string{"/a", "/b.pdf", "/c"},
			[]string{"/", "/a", "/c"}, map[admission.Reason]int{admission.Mime: 1}},

		{"noindex is archived unless asked", map[string]string{"/": `<a href=/a>a</a>`,
			"/a": `<meta name=robots content=noindex><a href=/b>b</a>`, "/b": "x"},
			nil, []string{"/a", "/b"}, []string{"/", "/a", "/b"}, nil},
		{"with --obey noindex it is followed and not archived", map[string]string{
			"/":  `<a href=/a>a</a> <a href=/c>c</a> <a href=/d>d</a>`,
			"/a": `<meta name=robots content=noindex><a href=/b>b</a>`, "/b": "x",
			"/c": "Content-Type: text/html\nX-Robots-Tag: noindex\n\nx",
			"/d": "Content-Type: text/html\nX-Robots-Tag: otherbot: noindex\n\nx",
		}, func(o *master.Options) { o.Fetch.Obey = []string{"noindex"} }, []string{"/a", "/b", "/c", "/d"},
			[]string{"/", "/b", "/d"}, map[admission.Reason]int{admission.NoIndex: 2}},

		{"what publishers ask is no rule unless it is obeyed", reserving,
			nil,
			[]string{"/a", "/b", "/c", "/e", "/free/d"}, []string{"/", "/a", "/b", "/c", "/e", "/free/d"}, nil},
		{"with --obey ai-train it is by robots.txt, but where a longer path says yes", reserving,
			func(o *master.Options) { o.Fetch.Obey = []string{"ai-train"} },
			[]string{"/a", "/b", "/c", "/e", "/free/d"}, []string{"/free/d"},
			map[admission.Reason]int{admission.Reserved: 5}},
		{"with --obey noarchive and search it is by headers and meta elements", reserving,
			func(o *master.Options) { o.Fetch.Obey = []string{"noarchive", "search"} },
			[]string{"/a", "/b", "/c", "/e", "/free/d"}, []string{"/", "/b", "/free/d"},
			map[admission.Reason]int{admission.Reserved: 3}},
		{"with --obey tdm tdmrep.json is asked for, and decides with headers and meta elements", reserving,
			func(o *master.Options) { o.Fetch.Obey = []string{"tdm"} },
			[]string{"/.well-known/tdmrep.json", "/a", "/b", "/c", "/e", "/free/d"},
			[]string{"/", "/.well-known/tdmrep.json", "/a", "/c", "/free/d"},
			map[admission.Reason]int{admission.Reserved: 2}},

		{"nofollow is followed unless asked", map[string]string{"/": `<a rel=nofollow href=/a>a</a>`, "/a": "x"},
			nil, []string{"/a"}, []string{"/", "/a"}, nil},
		{"with --obey nofollow it is not, whoever says it", map[string]string{
			"/": `<a rel="ugc nofollow" href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a> <a href=/d>d</a>`, "/a": "x",
			"/b": `<meta name=robots content=nofollow><a href=/b1>b</a>`, "/b1": "x",
			"/c": "Content-Type: text/html\nX-Robots-Tag: nofollow\n\n<a href=/c1>c</a>", "/c1": "x", "/d": "x",
		}, func(o *master.Options) { o.Hosts.Admission.ObeyNofollow = true }, []string{"/b", "/c", "/d"},
			[]string{"/", "/b", "/c", "/d"}, map[admission.Reason]int{admission.NoFollow: 3}},

		{"a host's pages are capped", map[string]string{"/": `<a href=/a>a</a> <a href=/b>b</a> <a href=/c>c</a>`,
			"/a": "x", "/b": "x", "/c": "x"},
			func(o *master.Options) { o.Hosts.MaxPages = 2 }, []string{"/a"}, []string{"/", "/a"},
			map[admission.Reason]int{admission.HostPages: 2}},

		{"a body is capped, and kept as far", map[string]string{"/": "<p>" + strings.Repeat("x", 70_000)},
			func(o *master.Options) { o.Fetch.MaxBody = 64 << 10 }, nil, []string{"/"},
			map[admission.Reason]int{admission.Size: 1}},

		{"--lang ja keeps Japanese pages and goes one page beyond", map[string]string{
			"/": japanese + `<a href=/ja>j</a> <a href=/en1>e</a>`, "/ja": japanese, "/en1": english +
				`<a href=/ja-behind>j</a> <a href=/en2>e</a>`,
			"/ja-behind": japanese + `<a href=/ja-deep>j</a>`, "/ja-deep": japanese, "/en2": english +
				`<a href=/ja-too-far>j</a>`, "/ja-too-far": japanese,
		}, func(o *master.Options) { o.Fetch.Languages, o.Hosts.Admission.Beyond = []string{"ja"}, 1 },
			[]string{"/en1", "/en2", "/ja", "/ja-behind", "/ja-deep"}, []string{"/", "/ja", "/ja-behind", "/ja-deep"},
			map[admission.Reason]int{admission.Language: 2}},
		{"--lang ja goes no page beyond if told so", map[string]string{
			"/": japanese + `<a href=/en1>e</a> <a href=/unknown>u</a>`, "/en1": english + `<a href=/ja-behind>j</a>`,
			"/ja-behind": japanese, "/unknown": "x<a href=/ja>j</a>", "/ja": japanese,
		}, func(o *master.Options) { o.Fetch.Languages, o.Hosts.Admission.Beyond = []string{"ja"}, 0 },
			[]string{"/en1", "/ja", "/unknown"}, []string{"/", "/ja", "/unknown"},
			map[admission.Reason]int{admission.Language: 1}},
		{"a page beyond that is reached again from a Japanese one goes no further", map[string]string{
			"/": japanese + `<a href=/en1>e</a> <a href=/ja>j</a>`, "/en1": english + `<a href=/en2>e</a>`,
			"/en2": english + `<a href=/en3>e</a>`, "/en3": english,
			"/ja": japanese + `<a href=/en2>e</a>`,
		}, func(o *master.Options) { o.Fetch.Languages, o.Hosts.Admission.Beyond = []string{"ja"}, 1 },
			[]string{"/en1", "/en2", "/en3", "/ja"}, []string{"/", "/ja"},
			map[admission.Reason]int{admission.Language: 3}},

		{"cookies are not sent back",
			map[string]string{"/": "Content-Type: text/html\nSet-Cookie: a=1\n\n<a href=/a>a</a>", "/a": "x"}, nil,
			[]string{"/a"}, []string{"/", "/a"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := &crawltest.Site{Answer: crawltest.Pages(tt.pages)}
				s.Crawl(t, dir, tt.change)
				if asked := s.AskedOnce(t); !slices.Equal(asked, tt.asked) {
					t.Errorf("asked for %q, want %q", asked, tt.asked)
				}
				if got := archived(t, dir); !slices.Equal(got, tt.archived) {
					t.Errorf("archived %q, want %q", got, tt.archived)
				}
				if got := crawltest.SkippedLines(t, dir); fmt.Sprint(got) != fmt.Sprint(tt.skipped) {
					t.Errorf("skipped.jsonl has %v, want %v", got, tt.skipped)
				}
				if s.Cookies {
					t.Error("a cookie was sent back")
				}
			})
		})
	}
}
