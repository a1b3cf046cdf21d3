package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"henro/store"
)

// urlsOfHost is how many URLs a host has when the measurement of admitBench begins.
const urlsOfHost = 30

// admitBench measures what a new URL of a random host costs, as links to other hosts bring it: the more of them share
// a commit, the more meet in a page.
func admitBench(b *bench) error {
	batches, err := numbers(b.batches)
	if err != nil {
		return err
	}
	o := store.DefaultOptions()
	o.NoSync = true
	path := filepath.Join(b.dir, "admit.db")
	p, err := store.Open(path, o)
	if err != nil {
		return err
	}
	defer p.Close()
	hosts, random, number := max(1, b.n/urlsOfHost), rand.New(rand.NewPCG(b.seed, 2)), 0
	admit := func(urls, batch int) error {
		for urls > 0 {
			commit := store.NewBatch(time.Now())
			for range min(urls, batch) {
				host := fmt.Sprintf("http://h%d.example.test", random.IntN(hosts))
				number++
				commit.Admit(store.Candidate{URL: fmt.Sprintf("%s/p%d.html", host, number), Host: host, DepthLeft: 127})
			}
			urls -= min(urls, batch)
			if _, err := p.Commit(commit); err != nil {
				return err
			}
		}
		return nil
	}
	if err := admit(b.n, 2000); err != nil {
		return err
	}
	note("admit: %d URLs of %d hosts, %.0f MB", b.n, hosts, fileMB(path))
	row("bench", "n", "hosts", "batch", "urls", "µs/url", "cpu µs/url", "bytes/url")
	return b.profiled(func() error {
		for _, batch := range batches {
			m := startMeter()
			if err := admit(b.visits, int(batch)); err != nil {
				return err
			}
			us, cpu, written := m.per(b.visits)
			row("admit", b.n, hosts, int(batch), b.visits, us, cpu, written)
		}
		return nil
	})
}
