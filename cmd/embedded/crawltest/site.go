package crawltest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"henro/actors/admission"
	"henro/actors/known"
	"henro/actors/reading"
	"henro/actors/stoplist"
	"henro/cmd/config"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
	"henro/store"
)

// Site answers requests for one web of hand-made pages, over pipes.
type Site struct {
	Answer func(path string) (status int, header, body string)
	Seed   string // where it begins; empty: the root

	DedupFrom []string     // archives of earlier crawls
	Did       slave.Counts // by the slave of the last crawl
	Adjust    func(*slave.Options)

	mu      sync.Mutex // Several hosts are asked at once
	Asked   map[string]int
	Cookies bool // one was sent
}

// Dial reaches the site under whatever name.
func (s *Site) Dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		for in := bufio.NewReader(theirs); ; {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			url := request.URL.RequestURI()
			if request.Host != "a.example" { // other hosts by their whole URLs
				url = "http://" + request.Host + url
			}
			if body, _ := io.ReadAll(request.Body); request.Method != http.MethodGet { // by all that tells them apart
				url = fmt.Sprintf("%s %s %s %s", request.Method, url, request.Header.Get("Content-Type"), body)
			}
			s.mu.Lock()
			s.Asked[url]++
			s.Cookies = s.Cookies || request.Header.Get("Cookie") != ""
			status, header, body := s.Answer(url)
			s.mu.Unlock()
			if status == 0 { // the line breaks
				return
			}
			if header == "" {
				header = "Content-Type: text/html; charset=utf-8\r\n"
			}
			fmt.Fprintf(theirs, "HTTP/1.1 %d %s\r\n%sContent-Length: %d\r\n\r\n%s", status, http.StatusText(status),
				header, len(body), body)
		}
	}()
	return ours, nil
}

// Crawl crawls the site from its root, in virtual time.
func (s *Site) Crawl(t *testing.T, dir string, change func(*master.Options)) master.Status {
	t.Helper()
	s.Asked = map[string]int{}
	web, err := fakeweb.New(fakeweb.Options{Seed: 1, Hosts: 1, Domains: 1, Pages: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	e := Of(t, dir, web, -1, change)
	seed, err := config.ParseSeed(cmp.Or(s.Seed, "http://a.example/"), -1)
	if err != nil {
		t.Fatal(err)
	}
	e.Seeds, e.Dial = []reading.Seed{seed}, s.Dial
	e.Adjust, e.Work.DedupFrom = s.Adjust, s.DedupFrom
	status := Run(t, e)
	s.Did = e.Did
	return status
}

// AskedOnce fails a test if a URL was asked for twice. It returns all but the root and robots.txt, sorted.
func (s *Site) AskedOnce(t *testing.T) []string {
	t.Helper()
	asked := []string{}
	for url, n := range s.Asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
		if url != "/" && url != "/robots.txt" {
			asked = append(asked, url)
		}
	}
	slices.Sort(asked)
	return asked
}

// AskedBelow counts the URLs asked for that begin with a prefix.
func (s *Site) AskedBelow(prefix string) (n int) {
	for url := range s.Asked {
		if strings.HasPrefix(url, prefix) {
			n++
		}
	}
	return n
}

// LinksTo makes a page of links to prefix0, prefix1 …
func LinksTo(count int, prefixes ...string) string {
	var b strings.Builder
	for i := range count {
		for _, prefix := range prefixes {
			fmt.Fprintf(&b, "<a href=\"%s%d\">%d</a>\n", prefix, i, i)
		}
	}
	return b.String()
}

// StopList reads the stop list of a crawl that has ended: prefixes, each with its reason.
func StopList(t *testing.T, dir string) (prefixes []string) {
	t.Helper()
	state, err := store.OpenState(filepath.Join(dir, "state"), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	for _, p := range state.Partitions {
		if err := known.EachStop(p, func(e stoplist.Entry) error {
			prefixes = append(prefixes, e.Prefix+" "+e.Reason)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return prefixes
}

// SkippedLines counts the lines of skipped.jsonl by reason.
func SkippedLines(t *testing.T, dir string) map[admission.Reason]int {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, admission.LogName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	counts := map[admission.Reason]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s admission.Skipped
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		counts[s.Reason]++
	}
	return counts
}

// Pages is a site of pages by path; what is not there is missing. "HEADER\n\nBODY" has a header of its own.
func Pages(of map[string]string) func(string) (int, string, string) {
	return func(path string) (int, string, string) {
		body, ok := of[path]
		if !ok {
			return 404, "", "not here"
		}
		if header, rest, found := strings.Cut(body, "\n\n"); found {
			return 200, strings.ReplaceAll(header, "\n", "\r\n") + "\r\n", rest
		}
		return 200, "", body
	}
}
