package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
	"henro/store"
	"henro/store/archive/history"
)

// A crawl that begins with an archive of its pages has their intervals nearer to the truth after 20 days than one that
// begins without, archives each page at its first visit, and keeps its own history when the archive is read again.
func TestACrawlBeginsWithWhatAnArchiveTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 3, Domains: 3, Pages: 20, PageBytes: 1024,
			Changes:    fakeweb.Changes{Share: 1, Fastest: 2 * 24 * time.Hour, Slowest: 40 * 24 * time.Hour},
			Validators: fakeweb.Validators{ETag: 1}, LogEntries: 1 << 15})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		run := func(dir string) map[string]store.Page {
			e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
				o.Hosts.Continuous, o.For = true, 20*24*time.Hour
				o.LeaseFor, o.TickEvery = 2*time.Hour, 5*time.Minute
			})
			e.Adjust = func(o *slave.Options) { o.AskEvery = 5 * time.Minute }
			if _, err := e.Run(t.Context(), func(ctx context.Context, _ *master.Node) error {
				<-ctx.Done()
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			_, pages := crawltest.StateIn(t, dir)
			return pages
		}
		begun := time.Now()
		cold := run(t.TempDir())
		dir := t.TempDir()
		archive, other := filepath.Join(dir, "earlier.csv"), filepath.Join(dir, "crawl")
		var lines strings.Builder
		lines.WriteString("url,time,digest\n")
		for url := range cold {
			for days := 90; days > 0; days -= 2 {
				at := begun.Add(-time.Duration(days) * 24 * time.Hour)
				n, err := web.ChangeCount(url, begun.Add(-100*24*time.Hour), at)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&lines, "%s,%s,%d\n", url, at.UTC().Format(time.RFC3339), n)
			}
		}
		if err := os.WriteFile(archive, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		imported, err := imports(other, archive)
		if err != nil || imported.Pages != len(cold) || imported.Changes == 0 {
			t.Fatalf("imported %+v, %v", imported, err)
		}
		warm := run(other)
		apart := func(pages map[string]store.Page) float64 {
			sum, n := 0.0, 0
			for url, page := range pages {
				changes, err := web.ChangeCount(url, begun.Add(-1000*24*time.Hour), begun.Add(1000*24*time.Hour))
				if err != nil || changes == 0 || page.Timing.Mean == 0 {
					continue
				}
				x := math.Log(float64(page.Timing.Mean) * float64(changes) / (2000 * 24 * time.Hour).Seconds())
				sum, n = sum+x*x, n+1
			}
			return math.Sqrt(sum / float64(n))
		}
		t.Logf("the error of ln 1/λ after 20 days is %.2f, %.2f without the archive", apart(warm), apart(cold))
		if apart(warm) > 0.7*apart(cold) {
			t.Errorf("the error of ln 1/λ is %.2f, %.2f without the archive", apart(warm), apart(cold))
		}
		for url, page := range warm {
			if page.LastVisit.After(begun) && page.CapturedAt.IsZero() {
				t.Errorf("%s was visited and not archived", url)
			}
		}
		again, err := imports(other, archive)
		if err != nil || again.Pages != 0 || again.Known != len(cold) {
			t.Errorf("imported again: %+v, %v", again, err)
		}
	})
}

// imports tells a crawl that rests what an archive has.
func imports(dir, archive string) (imported master.Imported, err error) {
	captures := history.New("", func(string) {})
	defer func() { err = errors.Join(err, captures.Close()) }()
	if err := errors.Join(captures.Read(archive), os.MkdirAll(dir, 0o755)); err != nil {
		return imported, err
	}
	crawl, err := reading.OpenToChange(dir)
	if err != nil {
		return imported, err
	}
	defer func() { err = errors.Join(err, crawl.Close()) }()
	return master.ImportAtRest(crawl.State, crawl.Settings, captures.Each, time.Now())
}
