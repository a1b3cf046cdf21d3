package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"henro/messages/outlink"
	"henro/store"
)

// commitBench measures the whole store: Due, and Commit of visits with all they entail: the seen set, the counts of
// hosts, the slots.
func commitBench(b *bench) error {
	buffers, err := numbers(b.buffers)
	if err != nil {
		return err
	}
	c := &crawl{p: newPopulation(b.n, b.seed), minute: startMinute, ends: map[uint32][]store.Entry{}}
	o := store.DefaultOptions()
	o.MapBytes = 16 << 30
	path := filepath.Join(b.dir, "p000.db")
	m := startMeter()
	if err := c.load(path, o); err != nil {
		return err
	}
	us, _, written := m.per(b.n)
	note("commit: loaded %d pages, %.2f µs and %.0f bytes each", b.n, us, written)
	if c.store, err = store.Open(path, o); err != nil {
		return err
	}
	row("bench", "n", "what", "buffer MB", "visits", "µs/visit", "cpu µs/visit", "bytes/visit", "commits",
		"splits/visit", "file MB", "heap MB")
	if err := c.run(b.visits/4, 4<<20); err != nil {
		return err
	}
	if err := b.profiled(func() error {
		for _, mb := range buffers {
			visits := b.visits
			if mb < 0.3 {
				visits = max(visits/2, 50_000)
			}
			c.splits, c.commits = 0, 0
			m := startMeter()
			if err := c.run(visits, int(mb*1e6)); err != nil {
				return err
			}
			us, cpu, written := m.per(visits)
			row("commit", b.n, "visits", mb, visits, us, cpu, written, c.commits, float64(c.splits)/float64(visits),
				fileMB(path), heapMB())
		}
		return nil
	}); err != nil {
		return err
	}
	return c.operations(b, path)
}

type crawl struct {
	p       *population
	store   *store.Partition
	minute  uint32
	cursor  store.Position
	ends    map[uint32][]store.Entry
	splits  int
	commits int
}

// page makes the record of a URL as it looks after some visits.
func (c *crawl) page(i, due uint32) store.Page {
	at := time.Unix(int64(startMinute)*60, 0)
	h := mix(uint64(i))
	p := store.Page{URL: string(c.p.appendURL(nil, i)), From: uint64(i / 2), Depth: 3, DepthLeft: 3,
		Next:      time.Unix(int64(due), 0),
		LastVisit: at, CapturedAt: at, Status: 200, MainDigest: h, SimHash: mix(h),
		Timing: store.Timing{Interval: c.p.every[i], Total: c.p.every[i] * 5, Stable: c.p.every[i] * 3,
			ChangedMin: c.p.every[i], Changes: 2, Visits: 5}}
	for j := range p.Digest {
		p.Digest[j] = byte(h >> (j % 8 * 8) * uint64(j+1))
	}
	if i%3 == 0 {
		p.ETag = fmt.Sprintf(`"%x"`, h>>16)
	}
	return p
}

func (c *crawl) load(path string, o store.Options) error {
	o.NoSync = true
	p, err := store.Open(path, o)
	if err != nil {
		return err
	}
	order, due := c.p.byDue()
	now := time.Unix(int64(startMinute)*60, 0)
	batch := store.NewBatch(now)
	for k, i := range order {
		batch.Visit(store.Visited{Page: c.page(i, startMinute*60+due[k])})
		if batch.Len() == 50_000 || k == len(order)-1 {
			if _, err := p.Commit(batch); err != nil {
				return err
			}
			batch.Reset(now)
		}
	}
	return p.Close()
}

func (c *crawl) run(visits, buffer int) error {
	now := time.Unix(int64(c.minute)*60, 0)
	batch := store.NewBatch(now)
	flush := func() error {
		c.commits++
		out, err := c.store.Commit(batch)
		c.splits += out.Splits
		if err == nil && out.Replayed > 0 {
			err = fmt.Errorf("%d visits were taken for replays", out.Replayed)
		}
		batch.Reset(now)
		return err
	}
	for done := 0; done < visits; {
		c.minute++
		now = time.Unix(int64(c.minute)*60, 0)
		for more := true; more; {
			entries, next, err := c.store.Due(now, c.cursor, 4096)
			if err != nil {
				return err
			}
			c.cursor, more = next, len(entries) == 4096
			for _, e := range entries {
				end := c.minute + uint32(min(c.p.rnd.ExpFloat64()*10, 120))
				c.ends[end] = append(c.ends[end], e)
			}
		}
		ended := c.ends[c.minute]
		delete(c.ends, c.minute)
		c.p.rnd.Shuffle(len(ended), func(i, j int) { ended[i], ended[j] = ended[j], ended[i] })
		for _, e := range ended {
			e.Page.LastVisit = now
			e.Page.Next = now.Add(time.Duration(float64(e.Page.Timing.Interval) * (0.8 +
				0.4*c.p.rnd.Float64()) * float64(time.Second)))
			e.Page.Timing.Visits++
			batch.Visit(store.Visited{Position: e.Position, Page: e.Page})
			done++
			if batch.Bytes() >= buffer {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// operations measures what is done once in a while.
func (c *crawl) operations(b *bench, path string) error {
	row("bench", "n", "what", "µs", "note")
	// One look-up: of a page in the queue, by a scan.
	var took []time.Duration
	for range 5 {
		i := uint32(c.p.rnd.IntN(b.n))
		start := time.Now()
		if _, _, err := c.store.Pages.Lookup(string(c.p.appendURL(nil, i))); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	row("commit", b.n, "look up one URL", float64(quantile(took, 0.5).Microseconds()), "median of 5")
	start := time.Now()
	const unknown = 10_000
	for i := range unknown {
		if _, _, _, err := c.store.Seen.Get(fmt.Sprintf("https://www.host%d.example/unknown/%d", i%c.p.hosts,
			i)); err != nil {
			return err
		}
	}
	row("commit", b.n, "ask whether one URL is known", float64(time.Since(start).Microseconds())/unknown,
		"mean of 10,000")
	// A backup while commits go on.
	commits, stop := make(chan []time.Duration), make(chan struct{})
	go func() {
		var took []time.Duration
		for {
			select {
			case <-stop:
				commits <- took
				return
			default:
			}
			start := time.Now()
			if err := c.run(1000, 1<<20); err != nil {
				note("visits during the backup: %v", err)
			}
			took = append(took, time.Since(start))
		}
	}()
	before := fileMB(path)
	file, err := os.Create(filepath.Join(b.dir, "backup.db"))
	if err != nil {
		return err
	}
	start = time.Now()
	n, err := (&store.State{Partitions: []*store.Partition{c.store}}).Backup(file)
	if err != nil {
		return err
	}
	span := time.Since(start)
	close(stop)
	during := <-commits
	row("commit", b.n, "backup while visiting", float64(span.Microseconds()),
		fmt.Sprintf("%.0f MB at %.0f MB/s; meanwhile %d runs of 1000 visits, median %v, longest %v; file grew %.0f MB",
			float64(n)/1e6, float64(n)/1e6/span.Seconds(), len(during), quantile(during, 0.5).Round(time.Millisecond),
			quantile(during, 1).Round(time.Millisecond), fileMB(path)-before))
	file.Close()
	os.Remove(file.Name())
	start = time.Now()
	if err := c.store.Close(); err != nil {
		return err
	}
	row("commit", b.n, "close", float64(time.Since(start).Microseconds()), "")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, how := range []string{"clean end", "kill -9"} {
		if how == "kill -9" {
			child := exec.Command(self, "open", "-dir", b.dir, "-visits", "1000000000", fmt.Sprint("-n=", b.n))
			out, err := child.StdoutPipe()
			if err != nil {
				return err
			}
			child.Stderr = os.Stderr
			if err := child.Start(); err != nil {
				return err
			}
			lines := bufio.NewReader(out)
			for range 3 { // opened, first due, a commit
				if _, err := lines.ReadString('\n'); err != nil {
					return err
				}
			}
			if err := child.Process.Kill(); err != nil {
				return err
			}
			child.Wait()
		}
		for _, cache := range []string{"warm", "cold"} {
			if cache == "cold" {
				if err := evict(path); err != nil {
					note("cannot evict: %v", err)
				}
			}
			out, err := exec.Command(self, "open", "-dir", b.dir, "-visits", "0", fmt.Sprint("-n=", b.n)).Output()
			if err != nil {
				return fmt.Errorf("open after %s: %w", how, err)
			}
			fmt.Print(string(out))
			row("commit", b.n, "… that was after "+how, 0.0, cache)
		}
	}
	return nil
}

// openChild opens the partition in a process of its own, and says how long it took; with visits it goes on committing
// until killed.
func openChild(b *bench) error {
	start := time.Now()
	path := filepath.Join(b.dir, "p000.db")
	o := store.DefaultOptions()
	o.MapBytes = 16 << 30
	p, err := store.Open(path, o)
	if err != nil {
		return err
	}
	defer p.Close()
	row("commit", b.n, "open", float64(time.Since(start).Microseconds()),
		fmt.Sprintf("heap %.0f MB, resident %.0f MB", heapMB(), float64(memory("VmRSS"))/1e6))
	start = time.Now()
	now := time.Unix(int64(startMinute)*60, 0).Add(40 * time.Hour)
	entries, _, err := p.Due(now, nil, 1000)
	if err != nil {
		return err
	}
	row("commit", b.n, "first 1,000 due pages", float64(time.Since(start).Microseconds()),
		fmt.Sprintf("%d read", len(entries)))
	for n := 0; n < b.visits; n++ {
		batch := store.NewBatch(now)
		for i := range 100 {
			batch.Visit(store.Visited{Page: store.Page{URL: fmt.Sprintf("http://host%d.example/%d", i, n),
				Next: now.Add(time.Hour)}, Links: []outlink.Outlink{}})
		}
		if _, err := p.Commit(batch); err != nil {
			return err
		}
		fmt.Println("commit", n)
	}
	return nil
}

// evict drops the file from the page cache, as far as the system lets it go.
func evict(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	return dropCache(f)
}
