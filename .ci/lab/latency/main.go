// Command latency is the plain crawler for a web that is slow to answer: net/http and one goroutine for each host,
// nothing kept.
//
//	latency FOLDER
//
// FOLDER holds seeds.txt and resolve.txt as .ci/lab/fakeweb writes them. Links are followed on the host of the page
// alone. One line is printed:
//
//	pages=40000 seconds=5.0 pages_per_second=8000
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/html"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: latency FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	seeds, err := os.ReadFile(filepath.Join(folder, "seeds.txt"))
	if err != nil {
		return err
	}
	resolve, err := os.ReadFile(filepath.Join(folder, "resolve.txt"))
	if err != nil {
		return err
	}
	addresses := map[string]string{}
	for _, line := range strings.Fields(string(resolve)) {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 {
			addresses[f[0]+":"+f[1]] = net.JoinHostPort(f[2], f[1])
		}
	}
	dialer := new(net.Dialer)
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addresses[address])
		},
	}}
	var pages atomic.Int64
	var hosts sync.WaitGroup
	start := time.Now()
	for _, seed := range strings.Fields(string(seeds)) {
		hosts.Go(func() { pages.Add(crawl(client, seed)) })
	}
	hosts.Wait()
	seconds := time.Since(start).Seconds()
	fmt.Printf("pages=%d seconds=%.2f pages_per_second=%.0f\n", pages.Load(), seconds, float64(pages.Load())/seconds)
	return nil
}

// crawl reads all pages of one host, one after the other.
func crawl(client *http.Client, seed string) (pages int64) {
	seen := map[string]bool{seed: true}
	for todo := []string{seed}; len(todo) > 0; todo = todo[1:] {
		base, err := url.Parse(todo[0])
		if err != nil {
			continue
		}
		r, err := client.Get(todo[0])
		if err != nil {
			continue
		}
		pages++
		tokens := html.NewTokenizer(r.Body)
		for tokens.Next() != html.ErrorToken {
			name, more := tokens.TagName()
			if len(name) != 1 || name[0] != 'a' {
				continue
			}
			for more {
				var key, value []byte
				if key, value, more = tokens.TagAttr(); string(key) != "href" {
					continue
				}
				to, err := base.Parse(string(value))
				if err != nil || to.Host != base.Host {
					continue
				}
				if to.Fragment, to.RawFragment = "", ""; !seen[to.String()] {
					seen[to.String()] = true
					todo = append(todo, to.String())
				}
			}
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return pages
}
