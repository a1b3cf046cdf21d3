package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// fillBench fills a whole state with so many URLs of some -n/100 hosts, of which each -every-th was visited and has
// -links links and a sketch of its text; a state that is there is taken as it is. Then it measures what a crawl does
// with it, and what is done to it once in a while; without -visits openings alone.
func fillBench(b *bench) error {
	f := &filled{b: b, dir: filepath.Join(b.dir, "state")}
	f.sizes()
	if !store.Exists(f.dir) {
		if err := f.make(); err != nil {
			return err
		}
	}
	row("bench", "n", "what", "µs", "cpu µs", "note")
	if err := f.open("open for the first time", false); err != nil {
		return err
	}
	for range 3 {
		if err := f.open("open after a clean end", false); err != nil {
			return err
		}
		if err := f.open("open after a clean end, from disk", true); err != nil {
			return err
		}
	}
	if b.visits == 0 {
		return nil
	}
	if err := f.crawl(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(f.dir, "closed.json")); err != nil { // as if it had crashed
		return err
	}
	if err := f.open("open after a crash", false); err != nil {
		return err
	}
	before := f.size()
	if err := f.measure("compact", 1, func() (string, error) {
		_, _, err := store.Compact(f.dir, nil)
		return fmt.Sprintf("%.0f MB to %.0f MB", before, f.size()), err
	}); err != nil {
		return err
	}
	f.row("size compacted", 0, 0, fmt.Sprintf("%.1f bytes a URL",
		f.size()*1e6/float64(b.n)))
	return nil
}

type filled struct {
	b     *bench
	dir   string
	hosts []uint32 // how many URLs each has

	opened int // how often
}

// sizes draws how many URLs the hosts have: Pareto, some 100 in the mean, 100,000 at most.
func (f *filled) sizes() {
	rnd := rand.New(rand.NewPCG(f.b.seed, 9))
	for left := f.b.n; left > 0; {
		size := min(int(14*math.Pow(rnd.Float64(), -1/1.15)), 100_000, left)
		f.hosts = append(f.hosts, uint32(size))
		left -= size
	}
}

func hostName(h int) string { return "https://www.host" + strconv.Itoa(h) + ".example" }

// pageURL is 45 to 85 bytes long.
func pageURL(h, i int) string {
	b := append(make([]byte, 0, 96), hostName(h)...)
	b = append(b, "/articles/"...)
	b = strconv.AppendInt(b, int64(i%97), 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(i), 10)
	for want := 45 + (h+i)*40503>>4%41; len(b) < want; {
		b = append(b, "the-title-of-a-page-as-it-is-written"[len(b)%36])
	}
	return string(b)
}

// links of a page: three of four to its own host.
func (f *filled) links(h, i int) []outlink.Outlink {
	links := make([]outlink.Outlink, f.b.links)
	for k := range links {
		to, page := h, int(mix(uint64(i+k))%uint64(f.hosts[h]))
		if k%4 == 3 {
			to = int(mix(uint64(h)<<20+uint64(i+k)) % uint64(len(f.hosts)))
			page = i % int(f.hosts[to])
		}
		links[k] = outlink.Outlink{URL: pageURL(to, page), Kind: outlink.Anchor,
			Anchor: "The title of page " + strconv.Itoa(page)}
	}
	return links
}

func (f *filled) page(h, i int, now time.Time) store.Page {
	digest := mix(uint64(h)<<20 + uint64(i))
	p := store.Page{URL: pageURL(h, i), From: uint64(h), Depth: 3, DepthLeft: outlink.UnlimitedDepth, Status: 200,
		LastVisit: now, CapturedAt: now, Next: now.Add(time.Hour + time.Duration(digest%1e7)*time.Second),
		MainDigest: digest, SimHash: mix(digest),
		Timing: store.Timing{Interval: 1e6, Total: 5e6, Visits: 5}}
	for j := range p.Digest {
		p.Digest[j] = byte(digest >> (j % 8 * 8) * uint64(j+1))
	}
	return p
}

// visited is a page with its links and a sketch of its text, of which no other page has the like.
func (f *filled) visited(h, i int, now time.Time) store.Visited {
	v := store.Visited{Page: f.page(h, i, now), Links: f.links(h, i)}
	rnd := rand.New(rand.NewPCG(v.Page.MainDigest, 0))
	near := fingerprint.Near{Count: 300}
	for i := range near.Odd {
		near.Odd[i] = rnd.Uint64()
	}
	for i := range near.Bands {
		near.Bands[i] = rnd.Uint32()
	}
	v.Near = near.Append(nil)
	return v
}

var fillTime = time.Unix(int64(startMinute)*60, 0)

// make fills the state. The hosts are gone through twice, each time with half of their URLs, since a host is not
// crawled in one go.
func (f *filled) make() error {
	o := store.DefaultOptions()
	o.NoSync, o.Partitions = true, f.b.files
	state, err := store.OpenState(f.dir, o)
	if err != nil {
		return err
	}
	m := startMeter()
	var all errgroup.Group
	for k, p := range state.Partitions {
		all.Go(func() error {
			batch := store.NewBatch(fillTime)
			flush := func(from int) error {
				if batch.Len() < from {
					return nil
				}
				_, err := p.Commit(batch)
				batch.Reset(fillTime)
				return err
			}
			for half := range 2 {
				for h, size := range f.hosts {
					name := hostName(h)
					if state.PartitionOf(name) != k {
						continue
					}
					if half == 0 {
						batch.PutHost(store.HostRecord{ID: store.IDOf(name), Name: name, NextAllowed: fillTime,
							Robots: []byte("User-agent: *\nDisallow: /private/\n"), AskedAt: fillTime})
					}
					for i := half; i < int(size); i += 2 {
						if (h+i)%f.b.every == 0 {
							batch.Visit(f.visited(h, i, fillTime))
						} else {
							batch.Admit(store.Candidate{URL: pageURL(h, i), Host: name, Depth: 3,
								DepthLeft: outlink.UnlimitedDepth, From: uint64(h)})
						}
						if err := flush(20_000); err != nil {
							return err
						}
					}
					if k == 0 && h%(len(f.hosts)/10+1) == 0 {
						note("fill: half %d, host %d of %d, %.0f MB", half, h, len(f.hosts), f.size())
					}
				}
			}
			return flush(1)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	us, cpu, written := m.per(f.b.n)
	note("fill: %d URLs of %d hosts, %.2f µs, %.2f µs of processor, %.0f bytes written each", f.b.n, len(f.hosts), us,
		cpu, written)
	if err := state.Close(); err != nil {
		return err
	}
	note("fill: %.0f MB, %.1f bytes a URL", f.size(), f.size()*1e6/float64(f.b.n))
	return f.evict() // which writes it to disk, for which the first opening would wait
}

func (f *filled) files() []string {
	files, _ := filepath.Glob(filepath.Join(f.dir, "p*.db"))
	return files
}

func (f *filled) size() (mb float64) {
	for _, file := range f.files() {
		mb += fileMB(file)
	}
	return mb
}

func (f *filled) row(what string, wall, cpu float64, note string) {
	row("fill", f.b.n, what, wall, cpu, note+fmt.Sprintf("; heap %.0f MB, resident %.0f MB, of it files %.0f MB",
		heapMB(), float64(memory("VmRSS"))/1e6, float64(memory("RssFile"))/1e6))
}

// measure says what fn took for each of n.
func (f *filled) measure(what string, n int, fn func() (string, error)) error {
	m := startMeter()
	says, err := fn()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	us, cpu, written := m.per(n)
	f.row(what, us, cpu, fmt.Sprintf("%s; %.0f bytes written", says, written))
	return nil
}

// evict puts the files out of memory.
func (f *filled) evict() error {
	for _, file := range f.files() {
		if err := evict(file); err != nil {
			return err
		}
	}
	return nil
}

// open measures an opening, and the first commit after it, whose page is compared with the texts of all others.
func (f *filled) open(what string, cold bool) (err error) {
	if cold {
		if err := f.evict(); err != nil {
			note("cannot evict: %v", err)
		}
	}
	var state *store.State
	if err := f.measure(what, 1, func() (_ string, err error) {
		state, err = store.OpenState(f.dir, store.DefaultOptions())
		return fmt.Sprintf("%.0f MB", f.size()), err
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	return f.measure("first commit", 1, func() (string, error) {
		f.opened++
		p, batch := state.Partitions[state.PartitionOf(hostName(0))], store.NewBatch(fillTime)
		w, err := p.Fresh.Of(store.IDOf(hostName(0)), nil, 1)
		if err != nil {
			return "", err
		}
		for _, e := range w.Entries {
			v := f.visited(0, int(f.hosts[0])+f.opened, fillTime)
			v.Position, v.Page.URL, v.Page.Number = e.Position, e.Page.URL, e.Page.Number
			batch.Visit(v)
		}
		_, err = p.Commit(batch)
		return fmt.Sprintf("%d visits", len(w.Entries)), err
	})
}

// crawl measures a crawl that goes on: look-ups, first visits with their links, revisits, and a backup.
func (f *filled) crawl() error {
	state, err := store.OpenState(f.dir, store.DefaultOptions())
	if err != nil {
		return err
	}
	defer state.Close()
	// both processors, as the partitions of a crawl
	side := func(fn func(k int, p *store.Partition, rnd *rand.Rand) error) error {
		var all errgroup.Group
		for k, p := range state.Partitions {
			all.Go(func() error { return fn(k, p, rand.New(rand.NewPCG(f.b.seed, uint64(k)))) })
		}
		return all.Wait()
	}
	hostOf := func(k int, rnd *rand.Rand) int {
		for {
			if h := rnd.IntN(len(f.hosts)); state.PartitionOf(hostName(h)) == k {
				return h
			}
		}
	}
	for _, what := range []string{"look up a link, cold", "look up a link"} {
		pages := max(f.b.visits/40, 1)
		if err := f.measure(what, pages*40*len(state.Partitions), func() (string, error) {
			return "links of a page to two hosts", side(func(k int, p *store.Partition, rnd *rand.Rand) error {
				candidates := make([]store.Candidate, 40)
				for range pages {
					own, other := hostOf(k, rnd), hostOf(k, rnd)
					for i := range candidates {
						h := own
						if i%4 == 3 {
							h = other
						}
						url := pageURL(h, rnd.IntN(int(f.hosts[h])*100/85+1)) // 15 of 100 are new
						candidates[i] = store.Candidate{URL: url, Host: hostName(h), DepthLeft: outlink.UnlimitedDepth}
					}
					if _, err := p.Holds(candidates); err != nil {
						return err
					}
				}
				return nil
			})
		}); err != nil {
			return err
		}
	}
	visits := max(f.b.visits/len(state.Partitions), 1)
	first := func(k int, p *store.Partition, rnd *rand.Rand) error {
		batch, commits := store.NewBatch(fillTime), 0
		for done := 0; done < visits; {
			h := hostOf(k, rnd)
			w, err := p.Fresh.Of(store.IDOf(hostName(h)), nil, 40) // a lease
			if err != nil {
				return err
			}
			for _, e := range w.Entries {
				i := int(mix(e.Page.Number) % uint64(f.hosts[h]))
				v := f.visited(h, i, fillTime)
				v.Position, v.Page.URL, v.Page.Number = e.Position, e.Page.URL, e.Page.Number
				for j := range v.Links[:len(v.Links)*15/100] {
					batch.Admit(store.Candidate{URL: pageURL(h, int(f.hosts[h])+rnd.IntN(1e9)), Host: hostName(h),
						DepthLeft: outlink.UnlimitedDepth, From: uint64(j)})
				}
				batch.Visit(v)
				done++
			}
			if batch.Bytes() >= 1<<20 || done >= visits {
				if _, err := p.Commit(batch); err != nil {
					return err
				}
				batch.Reset(fillTime)
				commits++
			}
		}
		return nil
	}
	if err := f.measure("first visit", visits*len(state.Partitions), func() (string, error) {
		return fmt.Sprintf("synced, 1 MB a commit, leases of 40 pages, %d links, 15 of 100 new", f.b.links), side(first)
	}); err != nil {
		return err
	}
	later := fillTime.Add(60 * 24 * time.Hour)
	if err := f.measure("revisit", visits*len(state.Partitions), func() (string, error) {
		return "synced, 1 MB a commit, links as they were", side(func(k int, p *store.Partition, rnd *rand.Rand) error {
			var after store.Position
			batch := store.NewBatch(later)
			for done := 0; done < visits; {
				entries, next, err := p.Due(later, after, 1000)
				if err != nil || len(entries) == 0 {
					return err
				}
				after = next
				for _, e := range entries {
					e.Page.LastVisit, e.Page.Next = later, later.Add(time.Duration(rnd.IntN(1e7))*time.Second)
					e.Page.Timing.Visits++
					batch.Visit(store.Visited{Position: e.Position, Page: e.Page})
					done++
				}
				if batch.Bytes() >= 1<<20 || done >= visits {
					if _, err := p.Commit(batch); err != nil {
						return err
					}
					batch.Reset(later)
				}
			}
			return nil
		})
	}); err != nil {
		return err
	}
	if err := f.measure("backup", 1, func() (string, error) {
		n, err := state.Backup(io.Discard)
		return fmt.Sprintf("%.0f MB, read and thrown away", float64(n)/1e6), err
	}); err != nil {
		return err
	}
	return f.measure("close", 1, func() (string, error) { return "", state.Close() })
}
