package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// linksBench crawls a real link graph, breadth first from its first page and then from what that does not reach, and
// counts how many links are found known in memory and never reach the seen set. The folder holds urls.gz, one per node,
// and arcs.delta.gz: the number of nodes, then the successors of each, the first as it is and the others as
// differences.
func linksBench(b *bench) error {
	urls, err := readLines(filepath.Join(b.in, "urls.gz"))
	if err != nil {
		return err
	}
	arcs, err := readLines(filepath.Join(b.in, "arcs.delta.gz"))
	if err != nil {
		return err
	}
	for i, u := range urls {
		if strings.HasPrefix(u, "/") {
			urls[i] = "http://docs.example" + u
		}
	}
	row("bench", "graph", "memory MB", "pages", "links", "known in memory", "ns each", "reached the set", "pages/s")
	for _, size := range []int{64 << 10, 1 << 20, 4 << 20} {
		o := store.DefaultOptions()
		o.RecentBytes = size
		p, err := store.Open(filepath.Join(b.dir, fmt.Sprint("p", size)), o)
		if err != nil {
			return err
		}
		now := time.Unix(int64(startMinute)*60, 0)
		batch := store.NewBatch(now)
		reached, line, seed := make([]bool, len(urls)), []int{}, 0
		pages, links, known := 0, 0, 0
		var asking time.Duration
		start := time.Now()
		for {
			for ; len(line) == 0 && seed < len(urls); seed++ {
				if !reached[seed] {
					reached[seed] = true
					line = append(line, seed)
				}
			}
			if len(line) == 0 {
				break
			}
			at := line[0]
			line = line[1:]
			pages++
			batch.Visit(store.Visited{Page: store.Page{URL: urls[at], Next: now.Add(time.Hour),
				DepthLeft: outlink.UnlimitedDepth}})
			to := 0
			for _, s := range strings.Fields(arcs[at+1]) {
				d, err := strconv.Atoi(s)
				if err != nil {
					return err
				}
				if to += d; !reached[to] {
					reached[to] = true
					line = append(line, to)
				}
				links++
				asked := time.Now()
				host := weburl.HostOf(urls[to])
				is := p.KnownEnough(store.IDOf(host), fingerprint.URL(urls[to]), outlink.UnlimitedDepth)
				asking += time.Since(asked)
				if is {
					known++
				} else {
					batch.Admit(store.Candidate{URL: urls[to], Host: host, DepthLeft: outlink.UnlimitedDepth})
				}
			}
			if batch.Bytes() > 200_000 || pages == len(urls) {
				if _, err := p.Commit(batch); err != nil {
					return err
				}
				batch.Reset(now)
			}
		}
		took := time.Since(start)
		row("links", filepath.Base(b.in), float64(size)/(1<<20), pages, links, float64(known)/float64(links),
			float64(asking.Nanoseconds())/float64(links), links-known, float64(pages)/took.Seconds())
		if err := p.Close(); err != nil {
			return err
		}
	}
	return nil
}

func readLines(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []string
	for r := bufio.NewReaderSize(z, 1<<16); ; {
		line, err := r.ReadString('\n')
		if line != "" {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}
