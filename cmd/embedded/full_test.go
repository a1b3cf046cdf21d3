package embedded_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
	"henro/store/archive/warc"
)

// narrow is a disk with room for so many bytes more.
type narrow struct {
	warc.OS
	room *atomic.Int64
}

type narrowFile struct {
	warc.DiskFile
	room *atomic.Int64
}

func (d narrow) Create(name string) (warc.DiskFile, error) {
	f, err := d.OS.Create(name)
	return narrowFile{f, d.room}, err
}

func (f narrowFile) Write(b []byte) (int, error) {
	if f.room.Add(-int64(len(b))) < 0 {
		f.room.Add(int64(len(b)))
		return 0, syscall.ENOSPC
	}
	return f.DiskFile.Write(b)
}

func TestAFullArchiveEndsTheCrawlAndNothingIsAskedInVain(t *testing.T) {
	for _, c := range []struct {
		sentence string
		roomIn   time.Duration // after which there is room; 0: never
		end      master.End
		code     int
	}{
		{"for good", 0, master.DiskFull, config.ExitDiskFull},
		{"for some seconds", 6 * time.Second, master.Finished, config.ExitFinished},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, err := fakeweb.New(fakeweb.Options{Seed: 10, Hosts: 8, Domains: 8, Pages: 40, Degree: 20,
					CrossShare: 0.2, PageBytes: 8 << 10})
				if err != nil {
					t.Fatal(err)
				}
				defer web.Close()
				dir := t.TempDir()
				var room atomic.Int64
				room.Store(200 << 10)
				var fullAt time.Time
				full := 0
				fresh := func() *embedded.Crawl {
					e := crawltest.Of(t, dir, web, -1,
						func(o *master.Options) { o.Hosts.Politeness.Floor = 100 * time.Millisecond })
					e.Adjust = func(o *slave.Options) {
						o.Archive.Writer.Disk = narrow{room: &room}
						stopped := o.ArchiveStopped
						o.ArchiveStopped = func(err error) {
							if err != nil && fullAt.IsZero() {
								fullAt = time.Now()
								full = len(web.Log())
								if c.roomIn > 0 {
									time.AfterFunc(c.roomIn, func() { room.Store(1 << 40) })
								}
							}
							stopped(err)
						}
					}
					return e
				}
				status := crawltest.Run(t, fresh())
				code := config.Code(config.EndError(t.Context(), master.SummaryOf(status)))
				if status.End != c.end || code != c.code {
					t.Fatalf("ended with %q, exit code %d", status.End, code)
				}
				if _, err := os.Stat(filepath.Join(dir, "summary.json")); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(dir, "reserve")); err == nil {
					t.Error("the room for the last words is still taken")
				}
				if c.roomIn == 0 {
					// What was under way when the disk was full: a request of each host.
					if took, more := time.Since(fullAt), len(web.Log())-full; took > 30*time.Second || more > 8 {
						t.Errorf("it went on for %v and %d requests", took, more)
					}
					room.Store(1 << 40)
					if status = crawltest.Run(t, fresh()); status.End != master.Finished {
						t.Errorf("with room it ended with %q", status.End)
					}
				}
				truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
				asked := map[string]int{}
				for _, entry := range web.Log() {
					if asked[entry.URL()]++; asked[entry.URL()] > 2 && entry.Path != "/robots.txt" {
						t.Errorf("asked %d times for %s", asked[entry.URL()], entry.URL())
					}
				}
				t.Logf("%d requests for %d pages", len(web.Log()), len(truth.Fetched))
			})
		})
	}
}
