package henro_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"

	"henro"
)

// site serves three pages and a link that is broken.
func site() *httptest.Server {
	pages := map[string]string{
		"/":    `<title>Home</title><a href="/one">one</a><a href="/two?print">two</a>`,
		"/one": `<title>One</title><a href="/">home</a><a href="/gone">gone</a>`,
		"/two": `<title>Two</title>`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := pages[r.URL.Path]
		if page == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, page)
	}))
}

// ofOurs are the settings for a site on this machine, which needs no rest between two requests.
var ofOurs = map[string]any{"allow-private": true, "delay": "0s"}

// folder makes a directory for a crawl, and a way to remove it.
func folder() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "henro-example-*")
	if err != nil {
		panic(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

func ExampleCrawl() {
	web := site()
	defer web.Close()
	dir, remove := folder()
	defer remove()

	summary, err := henro.Crawl(context.Background(), henro.Options{Dir: dir, Seeds: []string{web.URL + "/"},
		Settings: ofOurs})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Pages, "pages,", summary.Links, "links:", summary.End)
	// Output: 4 pages, 4 links: finished
}

// A rule of one's own: no printer's versions.
func ExampleOptions_admit() {
	web := site()
	defer web.Close()
	dir, remove := folder()
	defer remove()

	summary, err := henro.Crawl(context.Background(), henro.Options{Dir: dir, Seeds: []string{web.URL + "/"},
		Settings: ofOurs,
		Admit:    func(from, to string) bool { return !strings.HasSuffix(to, "?print") }})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Pages, "pages")
	// Output: 3 pages
}

// Callbacks of one's own: what the host answered, for robots.txt too.
func ExampleOptions_colly() {
	web := site()
	defer web.Close()
	dir, remove := folder()
	defer remove()

	var mu sync.Mutex
	answers := map[int]int{}
	_, err := henro.Crawl(context.Background(), henro.Options{Dir: dir, Seeds: []string{web.URL + "/"},
		Settings: ofOurs,
		Colly: func(c *colly.Collector) {
			c.OnResponse(func(r *colly.Response) {
				mu.Lock()
				answers[r.StatusCode]++
				mu.Unlock()
			})
		}})
	fmt.Println(answers[200], "pages, not found:", answers[404], err)
	// Output: 3 pages, not found: 2 <nil>
}

// The titles of all pages.
func ExampleOpen() {
	web := site()
	defer web.Close()
	dir, remove := folder()
	defer remove()
	if _, err := henro.Crawl(context.Background(), henro.Options{Dir: dir, Seeds: []string{web.URL + "/"},
		Settings: ofOurs}); err != nil {
		fmt.Println(err)
		return
	}

	results, err := henro.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer results.Close()
	for page, err := range results.Pages() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if page.Status == 200 {
			body, err := results.Body(page.URL, 1<<20)
			title, _, _ := strings.Cut(strings.TrimPrefix(string(body), "<title>"), "</title>")
			fmt.Println(title, err)
		}
	}
	// Unordered output:
	// Home <nil>
	// One <nil>
	// Two <nil>
}

// What links to a page that is not there.
func ExampleResults_Links() {
	web := site()
	defer web.Close()
	dir, remove := folder()
	defer remove()
	if _, err := henro.Crawl(context.Background(), henro.Options{Dir: dir, Seeds: []string{web.URL + "/"},
		Settings: ofOurs}); err != nil {
		fmt.Println(err)
		return
	}

	results, err := henro.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer results.Close()
	for link, err := range results.Links() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if strings.HasSuffix(link.To, "/gone") {
			fmt.Println(strings.TrimPrefix(link.From, web.URL), "links to it as", link.Anchor)
		}
	}
	// Output: /one links to it as gone
}
