// Command loop is the plain crawler that henro's speed is divided by: net/http, the tokenizer of golang.org/x/net/html,
// a map of visited URLs, and nothing else. It keeps nothing, asks for no robots.txt and waits for no interval.
//
//	loop [-workers N] [-urls FILE] [-ceiling WARC] LABDIR
//
// It follows the same-host links of a, area, frame, iframe and link from the seeds in LABDIR/seeds.txt, or fetches the
// URLs in FILE and no others, finding links as before. With -ceiling it is the fastest program that archives, and its
// answers go into that file. It prints one line:
//
//	pages=13181 urls=15083 bytes=… seconds=2.9 pages_per_second=4500
package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"
)

func main() {
	workers := flag.Int("workers", 32, "concurrent fetches")
	urls := flag.String("urls", "", "file with the URLs that are fetched, and no others")
	warc := flag.String("ceiling", "", "WARC file that a loop tuned for speed writes, synced once at the end")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: loop [-workers N] [-urls FILE] [-ceiling WARC] LABDIR")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *urls, *warc, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

// crawl is the state of one run: a stack of URLs to fetch, and how many are in flight.
type crawl struct {
	client  *http.Client
	ceiling *ceiling // nil: the plain loop

	mu      sync.Mutex
	more    *sync.Cond
	visited map[string]bool
	hashes  map[uint64]struct{} // of the visited, of the ceiling
	todo    []*url.URL
	flying  int
	pages   int
	bytes   int64
	closed  bool // no URL is added any more
}

func run(lab, urls, warc string, workers int) error {
	addresses := make(map[string]string)
	err := lines(filepath.Join(lab, "hosts.tsv"), func(line string) {
		if f := strings.Split(line, "\t"); len(f) == 4 {
			addresses[f[0]+":"+f[2]] = f[1] + ":" + f[2]
		}
	})
	if err != nil {
		return err
	}
	dialer := new(net.Dialer)
	c := &crawl{visited: make(map[string]bool), hashes: make(map[uint64]struct{}), client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: workers, MaxIdleConns: 0, DisableCompression: true, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if to, ok := addresses[address]; ok {
					address = to
				}
				return dialer.DialContext(ctx, network, address)
			},
		},
	}}
	c.more = sync.NewCond(&c.mu)
	start := time.Now()
	if warc != "" {
		if c.ceiling, err = newCeiling(warc); err != nil {
			return err
		}
	}
	err = lines(cmp.Or(urls, filepath.Join(lab, "seeds.txt")), func(line string) {
		if u, err := url.Parse(line); err == nil { // net/url refuses a few that browsers take: /operator%.html
			c.add(u)
		}
	})
	if err != nil {
		return fmt.Errorf("seeds: %w", err)
	}
	c.closed = urls != ""
	var wg sync.WaitGroup
	for range workers {
		wg.Go(c.work)
	}
	wg.Wait()
	if c.ceiling != nil {
		if err := c.ceiling.close(); err != nil {
			return err
		}
	}
	seconds := time.Since(start).Seconds()
	fmt.Printf("pages=%d urls=%d bytes=%d seconds=%.2f pages_per_second=%.0f\n",
		c.pages, len(c.visited)+len(c.hashes), c.bytes, seconds, float64(c.pages)/seconds)
	return nil
}

func lines(path string, each func(string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if s.Text() != "" {
			each(s.Text())
		}
	}
	return s.Err()
}

// add puts a URL on the stack if it is new. The caller holds the lock, or is alone.
func (c *crawl) add(u *url.URL) {
	u.Fragment, u.RawFragment = "", ""
	if c.visit(u.String()) {
		c.todo = append(c.todo, u)
		c.more.Signal()
	}
}

// visit reports whether the URL is new, and keeps it.
func (c *crawl) visit(url string) bool {
	if c.ceiling == nil {
		if c.visited[url] {
			return false
		}
		c.visited[url] = true
		return true
	}
	before := len(c.hashes)
	c.hashes[maphash.String(c.ceiling.seed, url)] = struct{}{}
	return len(c.hashes) > before
}

// work fetches until nothing is left to do.
func (c *crawl) work() {
	fetch := c.fetch
	if c.ceiling != nil {
		fetch = c.ceiling.worker(c.client).fetch
	}
	for {
		c.mu.Lock()
		for len(c.todo) == 0 && c.flying > 0 {
			c.more.Wait()
		}
		if len(c.todo) == 0 {
			c.mu.Unlock()
			c.more.Broadcast()
			return
		}
		u := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		c.flying++
		c.mu.Unlock()

		found, n, page := fetch(u)

		c.mu.Lock()
		c.flying--
		c.bytes += n
		if page {
			c.pages++
		}
		for _, to := range found {
			if !c.closed && to.Scheme == u.Scheme && to.Host == u.Host {
				c.add(to)
			}
		}
		if c.flying == 0 {
			c.more.Broadcast()
		}
		c.mu.Unlock()
	}
}

// fetch gets one URL and returns its links, its length, and whether it is a page.
func (c *crawl) fetch(u *url.URL) (found []*url.URL, n int64, page bool) {
	res, err := c.client.Get(u.String())
	if err != nil {
		return nil, 0, false
	}
	defer res.Body.Close()
	if to := res.Header.Get("Location"); to != "" && res.StatusCode/100 == 3 {
		if next, err := u.Parse(to); err == nil {
			found = append(found, next)
		}
	}
	count := &counted{from: res.Body}
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		io.Copy(io.Discard, count)
		return found, count.n, false
	}
	tokens := html.NewTokenizer(count)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return found, count.n, true
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := tokens.TagName()
			var attribute string
			switch string(name) {
			case "a", "area", "link":
				attribute = "href"
			case "frame", "iframe":
				attribute = "src"
			default:
				continue
			}
			link := string(name) == "link"
			href, rel := "", ""
			for more {
				var key, value []byte
				key, value, more = tokens.TagAttr()
				switch string(key) {
				case attribute:
					href = string(value)
				case "rel":
					rel = string(value)
				}
			}
			if href == "" || href[0] == '#' || link && (strings.Contains(rel, "stylesheet") ||
				strings.Contains(rel, "icon")) {
				continue
			}
			if to, err := u.Parse(href); err == nil {
				found = append(found, to)
			}
		}
	}
}

// counted counts what is read through it.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}
