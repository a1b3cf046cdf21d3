package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
)

// Pages with the same bytes are stored once and replayed under every URL, also by a crawl that knows them from an
// earlier one; what is short, or differs, is stored each time.
func TestAPayloadIsStoredOnceWhateverItsURL(t *testing.T) {
	long := "<title>Same</title>" + strings.Repeat("All of these pages say so. ", warc.MinIdentical/20)
	s := &crawltest.Site{Answer: func(path string) (int, string, string) {
		switch {
		case path == "/robots.txt":
			return 404, "", ""
		case path == "/":
			return 200, "", crawltest.LinksTo(3, "/same", "/short", "/own")
		case strings.HasPrefix(path, "/same"):
			return 200, "Content-Type: text/html\r\nX-Path: " + path + "\r\n", long
		case strings.HasPrefix(path, "/short"):
			return 200, "", "short"
		}
		return 200, "", long + path
	}}
	first, second := t.TempDir(), t.TempDir()
	var status master.Status
	crawl := func(dir string, from ...string) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(len(from)) * time.Hour) // files are named by the moment
			s.DedupFrom = from
			status = s.Crawl(t, dir, nil)
		})
	}
	crawl(first)
	if n, size := status.Totals.Identical, status.Totals.IdenticalBytes; n != 2 || size != 2*uint64(len(long)) {
		t.Errorf("the master counts %d payloads of %d bytes that were not stored again", n, size)
	}
	if out := said(t, "stats", first); !strings.Contains(out, "saved     2.79 kB of 2 payloads") {
		t.Errorf("stats:\n%s", out)
	}
	if n, size := s.Did.Identical, s.Did.IdenticalBytes; n != 2 || size != 2*int64(len(long)) {
		t.Errorf("%d payloads of %d bytes were not stored again, want 2 of %d each", n, size, len(long))
	}
	if revisits := crawltest.CheckRevisits(t, first); revisits != 2 {
		t.Errorf("%d revisit records, want 2", revisits)
	}
	crawl(second, filepath.Join(first, "warc"))

	// what refers to the earlier crawl is whole with it; without a trace of that, the captures are missed
	for _, dir := range []string{first, second} {
		if out, err := command(t, "check", dir); err != nil || !strings.HasSuffix(out, "clean\n") {
			t.Errorf("check: %s, %v", out, err)
		}
	}
	if page := said(t, "page", "--dir", first, "http://a.example/same1"); !strings.Contains(page, "  first\n") ||
		strings.Contains(page, "unchanged") {
		t.Errorf("the first capture of a page whose content another had is not the first:\n%s", page)
	}
	index, err := filepath.Glob(filepath.Join(second, "warc", ".*.payloads"))
	if err != nil || len(index) != 1 {
		t.Fatal(index, err)
	}
	if err := os.Remove(index[0]); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, "check", second)
	if err == nil || !strings.Contains(out, "the capture of http://a.example/same1 at ") ||
		!strings.Contains(out, "refers to one of http://a.example/same") {
		t.Errorf("a revisit of what is not there is not named: %s, %v", out, err)
	}

	// with the files of both crawls in one place nothing is missed
	firstFiles, err := warc.Files(filepath.Join(first, "warc"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range firstFiles {
		for _, path := range []string{path, cdxj.Path(path)} {
			if err := os.Link(path, filepath.Join(second, "warc", filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out, err := command(t, "check", second); err != nil || !strings.HasSuffix(out, "clean\n") {
		t.Errorf("check of files of two crawls in one place: %s, %v", out, err)
	}
	for _, path := range firstFiles {
		for _, path := range []string{path, cdxj.Path(path)} {
			if err := os.Remove(filepath.Join(second, "warc", filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
	}

	together := t.TempDir()
	for _, dir := range []string{first, second} {
		files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		for _, path := range []string{files[0], cdxj.Path(files[0])} {
			name := filepath.Base(path)
			if err := os.Link(path, filepath.Join(together, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if revisits := crawltest.CheckRevisitsIn(t, together); revisits != 2+6 {
		t.Errorf("%d revisit records of both crawls, want 2 and 6", revisits)
	}
	archive, err := captures.Open(together, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, path := range []string{"/same0", "/same1", "/same2", "/own1"} {
		url, captures := weburl.MustParse("http://a.example"+path), 0
		err := archive.Captures(url, func(e cdxj.Entry) bool {
			captures++
			text, err := pagetext.Read(archive, e)
			if err != nil || text.Title != "Same" || pagetext.Mime(archive, e) != "text/html" {
				t.Errorf("%s of %s is %+v, %s, %v", path, e.Filename, text, pagetext.Mime(archive, e), err)
			}
			c, err := archive.Read(e)
			if err != nil {
				t.Errorf("%s of %s: %v", path, e.Filename, err)
				return true
			}
			defer c.Close()
			if got := c.Header.Get("X-Path"); strings.HasPrefix(path, "/same") && got != path {
				t.Errorf("the head of %s is that of %s", path, got)
			}
			return true
		})
		if err != nil || captures != 2 {
			t.Errorf("%s has %d captures, %v", path, captures, err)
		}
	}
	pages := 0
	for p, err := range pagesOf(archive, false, func(url string) bool { return strings.Contains(url, "/same") }) {
		if pages++; err != nil || p.Title != "Same" || !strings.HasPrefix(p.Text, "All of these pages") {
			t.Errorf("%s is listed as %q, %.40q: %v", p.URL, p.Title, p.Text, err)
		}
	}
	if pages < 3 {
		t.Errorf("a package lists %d of 3 pages", pages)
	}
	if _, err := os.Stat(payloads.Path(filepath.Join(first, "warc"), "henro")); err != nil {
		t.Error(err)
	}
}
