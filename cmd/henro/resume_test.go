package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
)

// chains serves pages that link to the next of their chain, /a/0 to /a/9 and /b/0 to /b/9, and counts what is asked.
type chains struct {
	mu    sync.Mutex
	asked map[string]int
}

func (c *chains) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked[r.URL.Path]++
	c.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	var chain string
	var n int
	switch _, err := fmt.Sscanf(r.URL.Path, "/%1s/%d", &chain, &n); {
	case r.URL.Path == "/":
		fmt.Fprint(w, `<a href="/a/0">a</a> <a href="/b/0">b</a>`)
	case err == nil && n < 9:
		fmt.Fprintf(w, `page %d of %s <a href="/%s/%d">next</a>`, n, chain, chain, n+1)
	case err != nil:
		w.WriteHeader(http.StatusNotFound)
	}
}

// new returns the pages asked since the last call, each once however often.
func (c *chains) new() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, "/robots.txt")
	delete(c.asked, "/favicon.ico")
	all := slices.Sorted(maps.Keys(c.asked))
	c.asked = map[string]int{}
	return all
}

// A crawl goes on by its directory alone as it was told; what is told again changes it, is said and is kept; and links
// that were not taken before are taken where the crawl goes further now.
func TestACrawlGoesOnByItsDirectoryAlone(t *testing.T) {
	crawltest.Bare(t)
	web := &chains{asked: map[string]int{}}
	server := httptest.NewServer(web)
	defer server.Close()
	dir := t.TempDir()
	for _, name := range []string{".hidden", "henro.yaml", "my thesis"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crawl := func(arguments ...string) string {
		t.Helper()
		root := newRootCommand()
		var said bytes.Buffer
		root.SetErr(&said)
		root.SetOut(&bytes.Buffer{})
		root.SetArgs(append([]string{"crawl", "--dir", dir, "--progress", "off", "--listen-http", "off"}, arguments...))
		if err := execute(t.Context(), root); err != nil {
			t.Fatalf("crawl %q: %v", arguments, err)
		}
		return said.String()
	}
	chain := func(name string, from, to int) (urls []string) {
		for n := from; n <= to; n++ {
			urls = append(urls, fmt.Sprintf("/%s/%d", name, n))
		}
		return urls
	}
	for _, step := range []struct {
		sentence  string
		arguments []string
		asked     []string
		said      string
	}{
		{"it begins", []string{"--allow-private", "--delay", "0", "--contact", "you@example.org", "--depth", "2",
			"--exclude", "/b/", server.URL + "/"}, append([]string{"/"}, chain("a", 0, 1)...),
			dir + " has files that are of no crawl, such as \"my thesis\": they stay as they are, and the crawl is " +
				"put beside them; --dir names another directory\n"},
		{"it goes on with nothing to do", nil, nil, ""},
		{"it goes deeper", []string{"--depth", "5"}, chain("a", 2, 4), "depth: 2 → 5\n"},
		{"it is told the same", []string{"--depth", "5"}, nil, ""},
		{"less is excluded", []string{"--exclude", "/b/[3-9]"}, chain("b", 0, 2), "exclude: /b/ → /b/[3-9]\n"},
		{"nothing is excluded", []string{"--exclude", ""}, chain("b", 3, 4), "exclude: /b/[3-9] → none\n"},
		{"it goes on as it was changed", nil, nil, ""},
	} {
		said := crawl(step.arguments...)
		if asked := web.new(); !slices.Equal(asked, step.asked) {
			t.Errorf("%s: asked for %q, want %q", step.sentence, asked, step.asked)
		}
		if said != step.said {
			t.Errorf("%s: said %q, want %q", step.sentence, said, step.said)
		}
	}
	d, err := reading.ReadDefinition(dir)
	if err != nil || len(d.Changes) != 3 || len(d.Seeds) != 1 || d.Seeds[0].Depth != 5 {
		t.Errorf("the definition is %+v, %v", d, err)
	}
	if given := fmt.Sprint(d.Given); !strings.HasPrefix(given, "map[allow-private:[true] contact:[you@example.org] ") {
		t.Errorf("the settings are %s", given)
	}
}

// A secret is not kept, and that it was given is said when it is missing.
func TestASecretIsNotKept(t *testing.T) {
	server := httptest.NewServer(&chains{asked: map[string]int{}})
	defer server.Close()
	dir := t.TempDir()
	for i, arguments := range [][]string{{"--allow-private", "--delay", "0", "--depth", "0", "--basic",
		strings.Replace(server.URL, "://", "://me:word@", 1) + "/", server.URL + "/"}, nil} {
		root := newRootCommand()
		var said bytes.Buffer
		root.SetErr(&said)
		root.SetOut(&bytes.Buffer{})
		root.SetArgs(append([]string{"crawl", "--dir", dir, "--progress", "off", "--listen-http", "off"}, arguments...))
		if err := execute(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		if told := strings.HasPrefix(said.String(), "basic: "); told != (i == 1) {
			t.Errorf("start %d: said %q", i, &said)
		}
	}
	d, err := reading.ReadDefinition(dir)
	if err != nil || !slices.Equal(d.Secrets, []string{"basic"}) || d.Given["basic"] != nil {
		t.Errorf("the definition is %+v, %v", d, err)
	}
}

// What waits already, and is excluded now, is not asked; once it is no more, it is.
func TestWhatWaitsIsExcluded(t *testing.T) {
	web := &chains{asked: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if web.ServeHTTP(w, r); r.URL.Path == "/" {
			fmt.Fprint(w, `<a href="/c/0">c</a> <a href="/d/8">d</a> <a href="/e/8">e</a>`)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	for _, step := range []struct {
		arguments []string
		asked     []string
	}{
		{[]string{"--allow-private", "--delay", "0", "--pages", "3", server.URL + "/"}, []string{"/", "/a/0", "/b/0"}},
		{[]string{"--exclude", "/[abce]/"}, []string{"/d/8", "/d/9"}},
		{[]string{"--exclude", "/[abc]/"}, []string{"/e/8", "/e/9"}},
		{[]string{"--exclude", ""}, []string{"/a/1", "/a/2", "/b/1", "/b/2", "/c/0", "/c/1", "/c/2"}},
	} {
		root := newRootCommand()
		root.SetErr(&bytes.Buffer{})
		root.SetOut(&bytes.Buffer{})
		root.SetArgs(append([]string{"crawl", "--dir", dir, "--progress", "off", "--listen-http", "off"},
			step.arguments...))
		if err := execute(t.Context(), root); err != nil && config.Code(err) != config.ExitPageLimit {
			t.Fatal(err)
		}
		if asked := web.new(); !slices.Equal(asked, step.asked) {
			t.Errorf("crawl %q asked for %q, want %q", step.arguments, asked, step.asked)
		}
	}
}
