package main

import (
	"context"
	"flag"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

var crashSeed = flag.Uint64("seed", 0, "of the moments at which crawls crash; 0 for the fixed ones")

// cable is the way to a web that can be cut: whoever holds it reaches nobody from then on, as after a death.
type cable struct {
	web   *fakeweb.Web
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, net.ErrClosed
	}
	conn, err := c.web.DialContext(ctx, network, address)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

// copyTree copies a directory as it is: the image that a crash leaves.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// crash runs a crawl in dir until it has run for a while, and returns the directory as a crash at that moment would
// have left it. Another crawl may go on in the image at once, while this one, cut off from the web, comes to its own
// end.
func crash(t *testing.T, dir string, web *fakeweb.Web, depth int, after time.Duration,
	change func(*master.Options)) (image string, wait func()) {
	t.Helper()
	image = t.TempDir()
	wire := &cable{web: web}
	e := crawlOf(t, dir, web, depth, change)
	e.Dial = wire.dial
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
		if err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(after)
	synctest.Wait() // nobody is writing
	copyTree(t, dir, image)
	wire.sever()
	cancel()
	return image, func() { <-ended }
}

// crashes lets a crawl crash after each of these times, and returns the directory that the last one has left.
func crashes(t *testing.T, web *fakeweb.Web, change func(*master.Options), after ...time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range after {
		image, wait := crash(t, dir, web, -1, d, change)
		t.Cleanup(wait)
		dir = image
	}
	return dir
}

// crawlOverCrashes crawls to the end in spite of these crashes; the state is sound then.
func crawlOverCrashes(t *testing.T, web *fakeweb.Web, change func(*master.Options),
	after ...time.Duration) (dir string, status master.Status) {
	t.Helper()
	dir = crashes(t, web, change, after...)
	status = runCrawl(t, crawlOf(t, dir, web, -1, change))
	if err := check(io.Discard, newBar(io.Discard), dir); err != nil {
		t.Error(err)
	}
	return dir, status
}

// captured reads every record of the archive of a crawl that has ended, and returns the URLs that its indexes list.
func captured(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*"))
	if err != nil {
		t.Fatal(err)
	}
	urls := map[string]bool{}
	for _, name := range files {
		switch {
		case strings.HasPrefix(filepath.Base(name), "."), filepath.Base(name) == "index.files": // no archive of pages
		case strings.HasSuffix(name, warc.OpenSuffix):
			t.Errorf("left open: %s", filepath.Base(name))
		case strings.HasSuffix(name, cdxj.Suffix):
			index, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(index)) {
				entry, err := cdxj.Parse([]byte(strings.TrimRight(line, "\n")))
				if err != nil {
					t.Fatal(err)
				}
				urls[entry.URL] = true
			}
		default:
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			walked, err := warc.Walk(f, nil)
			f.Close()
			if err != nil || len(walked.Damaged) > 0 {
				t.Errorf("%s: %d stretches damaged, %v", filepath.Base(name), len(walked.Damaged), err)
			}
		}
	}
	return urls
}

// After kill -9 the first command that opens the archive finishes what was left open and says so, and index.cdxj lists
// every capture.
func TestTheFirstCommandAfterACrashMakesTheIndexTrue(t *testing.T) {
	killed := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 2, Hosts: 4, Domains: 2, Pages: 60, CrossShare: 0.2, Degree: 6})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { web.Close() })
		copyTree(t, crashes(t, web, nil, 40*time.Second), killed)
	})
	archived := 0
	for verb, arguments := range map[string][]string{
		"check": {"check"}, "feed": {"feed"}, "repair": {"repair"}, "sql": {"sql", "select count(*) from captures"},
	} {
		dir := t.TempDir()
		copyTree(t, killed, dir)
		if open, err := warc.Leftovers(filepath.Join(dir, "warc"), ""); err != nil || len(open) != 1 {
			t.Fatalf("the crash has left open %q, %v", open, err)
		}
		said, err := command(t, slices.Insert(arguments, 1, "--dir", dir)...)
		if err != nil || !strings.Contains(said, "was left open by a process that died; it is finished now") {
			t.Errorf("%s says %q, %v", verb, said, err)
		}
		urls := captured(t, dir) // finds no open file
		data, err := os.ReadFile(filepath.Join(dir, "warc", cdxj.MergedName))
		if err != nil {
			t.Fatal(err)
		}
		merged := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			e, err := cdxj.Parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			merged[e.URL] = true
		}
		if len(urls) == 0 || !maps.Equal(merged, urls) || archived > 0 && archived != len(urls) {
			t.Errorf("%s: %d URLs are in the merged index, %d in those of the files, %d after another verb", verb,
				len(merged), len(urls), archived)
		}
		archived = len(urls)
	}
}

// Invariants 1 to 4 across crashes: what a crawl leaves at any moment is enough to go on from, to the same pages,
// without haste.
func TestACrawlThatCrashesGoesOnToTheSamePages(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6}
	if *crashSeed != 0 {
		seeds = []uint64{*crashSeed}
	}
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, seed))
			depth := []int{-1, 3}[rnd.IntN(2)]
			web, err := fakeweb.New(fakeweb.Options{
				Seed: seed, Hosts: 6, Domains: 3, Pages: 40, CrossShare: 0.2, RedirectShare: 0.1, Degree: 6,
				Errors: fakeweb.Errors{NotFound: 0.05, Internal: 0.03},
				Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Delayed: 0.1, Redirected: 0.1},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: depth, At: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for range 1 + rnd.IntN(3) {
				after := time.Duration(rnd.Int64N(int64(100 * time.Second)))
				if rnd.IntN(3) == 0 {
					after /= 100
				}
				image, wait := crash(t, dir, web, depth, after, nil)
				defer wait()
				dir = image
			}
			status := runCrawl(t, crawlOf(t, dir, web, depth, nil))
			if status.End != master.Finished {
				t.Errorf("ended with %q", status.End)
			}
			pages := visited(t, dir)
			compare(t, pages, slices.Collect(maps.Keys(truth.Fetched)))
			checkPaces(t, web, 5*time.Second)
			if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
				t.Errorf("asked twice at once: %v", overlaps)
			}
			if err := check(io.Discard, newBar(io.Discard), dir); err != nil {
				t.Error(err)
			}
			archive := captured(t, dir)
			for url := range pages {
				if !archive[url] {
					t.Errorf("%s is in the state and in no WARC file", url)
				}
			}
			t.Logf("%d revisit records", checkRevisitRecordsIn(t, filepath.Join(dir, "warc")))
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// A crawl that was stopped and goes on without its seeds has their scope: "the same --dir resumes".
func TestACrawlResumedWithoutItsSeedsKeepsTheirScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 4, Domains: 2, Pages: 30, CrossShare: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		early, cancel := context.WithCancel(t.Context())
		cancel() // when the seeds are planted, and nothing was visited
		for i, ctx := range []context.Context{early, t.Context()} {
			e := crawlOf(t, dir, web, -1, nil)
			if i > 0 {
				e.Seeds = nil
			}
			_, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, visited(t, dir), slices.Sorted(maps.Keys(truth.Fetched)))
	})
}
