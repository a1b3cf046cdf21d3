package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"henro/store/seen"
)

// seenBench measures the seen set with the link mix of a crawl: pages of 40 links, 75 % to the page's own host, 85 %
// known. With several files, as a state has several partitions, they are written at the same time.
func seenBench(b *bench) error {
	batches, err := numbers(b.batches)
	if err != nil {
		return err
	}
	sets := make([]*known, b.files)
	for i := range sets {
		if sets[i], err = newKnown(b, i); err != nil {
			return err
		}
		defer sets[i].db.Close()
	}
	inserted := b.n
	size := func() (file, used float64) {
		for _, k := range sets {
			file, used = file+fileMB(k.db.Path()), used+usedMB(k.db)
		}
		return file * 1e6 / float64(inserted), used * 1e6 / float64(inserted)
	}
	row("bench", "n", "files", "batch", "links", "links/s", "cpu µs/link", "bytes/link", "file bytes/URL",
		"used bytes/URL", "heap MB")
	file, used := size()
	row("seen load", b.n, b.files, 0, 0, 0.0, 0.0, 0.0, file, used, heapMB())
	return b.profiled(func() error {
		measure := func(name string, batch, links int, fn func(*known) (int, error)) error {
			m := startMeter()
			var all errgroup.Group
			counts := make([]int, len(sets))
			for i, k := range sets {
				all.Go(func() (err error) {
					counts[i], err = fn(k)
					return err
				})
			}
			if err := all.Wait(); err != nil {
				return err
			}
			us, cpu, written := m.per(links * len(sets))
			for _, n := range counts {
				inserted += n
			}
			file, used := size()
			row(name, b.n, b.files, batch, links*len(sets), 1e6/us, cpu, written, file, used, heapMB())
			return nil
		}
		for _, batch := range batches {
			links := max(b.visits/b.files/int(batch), 3) * int(batch)
			for range 3 {
				if err := measure("seen", int(batch), links, func(k *known) (int,
					error) {
					return k.run(links, int(batch))
				}); err != nil {
					return err
				}
			}
		}
		checks := 400_000 / b.files
		return measure("seen peek", 1, checks, func(k *known) (int, error) { return 0, k.peek(checks) })
	})
}

func newKnown(b *bench, i int) (*known, error) {
	db, err := openDB(filepath.Join(b.dir, fmt.Sprintf("seen%d.db", i)))
	if err != nil {
		return nil, err
	}
	if err := db.Update(seen.Create); err != nil {
		return nil, err
	}
	p := newPopulation(b.n/b.files, b.seed+uint64(i))
	p.every = nil
	k := &known{p: p, db: db, rnd: rand.New(rand.NewPCG(b.seed+uint64(i), 8)), first: make([]uint32, p.hosts+1),
		size: make([]uint32, p.hosts)}
	for i, h := range p.host {
		if k.size[h] == 0 {
			k.first[h] = uint32(i)
		}
		k.size[h]++
	}
	return k, k.load(b.n / b.files)
}

func heapMB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

type known struct {
	p     *population
	db    *bbolt.DB
	rnd   *rand.Rand
	w     seen.Writer
	first []uint32 // first URL of each host
	size  []uint32 // how many it has
	fresh uint32   // URLs found since
}

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func hostOf(h uint32) uint64 { return mix(uint64(h) + 1) }
func urlOf(i uint32) uint64  { return mix(uint64(i) | 1<<40) }

// load fills the set as a crawl would: many hosts grow at the same time.
func (k *known) load(n int) error {
	k.db.NoSync = true
	defer func() { k.db.NoSync = false }()
	started := time.Now()
	ops := make([]seen.Op, 0, 200_000)
	flush := func() error {
		err := k.db.Update(func(tx *bbolt.Tx) error { return k.w.Apply(tx, ops) })
		ops = ops[:0]
		return err
	}
	// In eight passes over all hosts, each adding an eighth of every host.
	for pass := range uint32(8) {
		for h := range k.size {
			for j := pass; j < k.size[h]; j += 8 {
				ops = append(ops, seen.Op{Host: hostOf(uint32(h)), URL: urlOf(k.first[h] + j), Reach: 4,
					Action: seen.Know})
				if len(ops) == cap(ops) {
					if err := flush(); err != nil {
						return err
					}
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	note("seen: loaded %d URLs of %d hosts in %v", n, k.p.hosts, time.Since(started).Round(time.Second))
	return k.db.Sync()
}

// page appends the links of one page.
func (k *known) page(ops []seen.Op, action seen.Action) []seen.Op {
	own := k.p.host[k.rnd.IntN(len(k.p.host))] // pages are drawn evenly, so large hosts come often
	for range 40 {
		h := own
		if k.rnd.IntN(4) == 0 {
			h = k.p.host[k.rnd.IntN(len(k.p.host))]
		}
		url := urlOf(k.first[h] + k.rnd.Uint32N(k.size[h]))
		if k.rnd.IntN(100) >= 85 {
			k.fresh++
			url = mix(uint64(k.fresh) | 1<<41)
		}
		ops = append(ops, seen.Op{Host: hostOf(h), URL: url, Reach: 3, Action: action})
	}
	return ops
}

func (k *known) run(links, batch int) (inserted int, err error) {
	var ops []seen.Op
	for done := 0; done < links; done += batch {
		for len(ops) < batch {
			ops = k.page(ops, seen.Know)
		}
		if err := k.db.Update(func(tx *bbolt.Tx) error { return k.w.Apply(tx, ops[:batch]) }); err != nil {
			return inserted, err
		}
		for i := range ops[:batch] {
			if !ops[i].Found {
				inserted++
			}
		}
		ops = append(ops[:0], ops[batch:]...)
	}
	return inserted, nil
}

// peek asks for single links, a page at a time, without writing.
func (k *known) peek(checks int) error {
	var ops []seen.Op
	for done := 0; done < checks; done += len(ops) {
		ops = k.page(ops[:0], seen.Peek)
		if err := k.db.View(func(tx *bbolt.Tx) error {
			set, err := seen.Read(tx)
			if err != nil {
				return err
			}
			for i := range ops {
				if _, _, err := set.Get(ops[i].Host, ops[i].URL); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
