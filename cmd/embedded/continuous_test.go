package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/figures"
	"henro/actors/politeness"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/weburl"
	"henro/slave"
	"henro/store"
)

var (
	days       = flag.Int("days", 60, "length of the continuous crawl, in virtual days")
	reportInto = flag.String("report", "", "`FOLDER` for the figures of the continuous crawl")
)

const day = 24 * time.Hour

// liveHeap is what is in use once everything else is collected.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The hosts of the changing web by what their pages ask for.
const (
	ordinary = iota // five of them
	delayed  = 5    // a Crawl-delay of 12 hours and pages that change every day
	slow     = 6    // a visit takes 15 s, the least S/C is 2000: 8.3 hours apart
)

func changingWeb() fakeweb.Options {
	return fakeweb.Options{
		Seed: 21, Hosts: 7, Domains: 7, Pages: 12, CrossShare: 0.1, PageBytes: 2048,
		Changes:    fakeweb.Changes{Share: 0.9, Fastest: 5 * day, Slowest: 60 * day},
		Validators: fakeweb.Validators{ETag: 0.4, LastModified: 0.2, Both: 0.2},
		LogEntries: 1 << 18,
		Shape: func(h *fakeweb.Host) {
			switch h.Index {
			case delayed:
				h.Robots, h.CrawlDelay = fakeweb.RobotsDelayed, 12*time.Hour
				h.Changes = fakeweb.Changes{Share: 1, Fastest: day, Slowest: 2 * day}
			case slow:
				h.Latency = 15 * time.Second
				h.Changes = fakeweb.Changes{Share: 1, Fastest: day, Slowest: 2 * day}
			}
		},
	}
}

// A crawl that goes on for ever, against a web whose changes are known and two of whose hosts cannot bear what their
// pages ask for.
func TestAContinuousCrawlKeepsItsTimetable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(changingWeb())
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		length := time.Duration(*days) * day
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.For, o.Store.Partitions = true, length, 2
			o.Hosts.Politeness.MaxCrawlDelay, o.Hosts.Politeness.LeastRatio = day, 2000
			// What is asked every second of a busy crawl is asked every few minutes of one that mostly waits.
			o.LeaseFor, o.TickEvery = 2*time.Hour, 5*time.Minute
		})
		e.Adjust = func(o *slave.Options) { o.AskEvery = 10 * time.Minute }
		begun := time.Now()
		var early, late uint64
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			time.Sleep(length / 8)
			early = liveHeap()
			time.Sleep(length/8*7 - time.Hour)
			late = liveHeap()
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if status.End != master.TimeLimit {
			t.Errorf("ended with %q", status.End)
		}
		if late > early+early/2+2<<20 {
			t.Errorf("%d bytes in use at first, %d in the end", early, late)
		}
		hosts, pages := crawltest.StateIn(t, dir)
		checkIntervals(t, web)
		checkLoads(t, hosts, pages)
		checkVerdicts(t, web, hosts, status)
		checkReport(t, dir, hosts, pages)
		revisits := crawltest.CheckRevisits(t, dir)
		captured, versions, visits := capturedVersions(t, web, pages, begun, begun.Add(length))
		t.Logf("%d days: %d visits of %d pages, %d revisit records, %.1f %% of %d versions captured on ordinary "+
			"hosts; heap %d kB, then %d kB",
			*days, visits, len(pages), revisits, 100*float64(captured)/float64(versions), versions, early>>10, late>>10)
		if float64(captured) < 0.3*float64(versions) {
			t.Errorf("%d of %d versions captured", captured, versions)
		}
	})
}

// checkIntervals compares the web's log with the intervals that each host is owed.
func checkIntervals(t *testing.T, web *fakeweb.Web) {
	t.Helper()
	names := map[string]int{}
	for i := range web.Hosts() {
		names["http://"+web.Host(i).Name] = i
	}
	for _, pace := range fakeweb.Paces(web.Log()) {
		owed := 5 * time.Second
		switch names[pace.Origin] {
		case delayed: // the answer with the Crawl-delay is the first request
			owed = 12 * time.Hour
		case slow: // from the first request on, though it turns out within a lease
			owed = 30_000 * time.Second
		}
		if pace.Requests < 2 {
			t.Errorf("%s was asked %d times", pace.Origin, pace.Requests)
		} else if pace.Shortest < owed {
			t.Errorf("%s was asked again after %v, owed were %v: %s, then %s", pace.Origin, pace.Shortest, owed,
				pace.Before.Path, pace.After.Path)
		}
	}
	if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
		t.Errorf("asked twice at once: %v", overlaps)
	}
}

// checkLoads compares the load index of each host, as its actor and as the store keeps it, with the sum over its pages.
func checkLoads(t *testing.T, hosts map[string]store.HostRecord, pages map[string]store.Page) {
	t.Helper()
	sums := map[string]float64{}
	for url, page := range pages {
		if !page.Next.IsZero() && page.Timing.Interval > 0 {
			sums[weburl.HostOf(url)] += 1 / float64(page.Timing.Interval)
		}
	}
	for name, host := range hosts {
		var state politeness.State
		if err := state.UnmarshalBinary(host.Politeness); err != nil {
			t.Fatal(err)
		}
		sum := sums[name]
		if math.Abs(state.Timetable.Load()-sum) > 1e-9*sum || math.Abs(host.Load-sum) > 1e-4*sum {
			t.Errorf("%s: load index %g, in the store %g, the pages' sum is %g", name, state.Timetable.Load(),
				host.Load, sum)
		}
	}
}

// checkVerdicts: what asks for more than it bears is known, and has been relieved.
func checkVerdicts(t *testing.T, web *fakeweb.Web, hosts map[string]store.HostRecord, status master.Status) {
	t.Helper()
	if want := [politeness.Verdicts]int64{5, 0, 1, 1}; status.Totals.Verdicts != want {
		t.Errorf("hosts by verdict %v, want %v", status.Totals.Verdicts, want)
	}
	for _, index := range []int{delayed, slow} {
		var state politeness.State
		if err := state.UnmarshalBinary(hosts["http://"+web.Host(index).Name].Politeness); err != nil {
			t.Fatal(err)
		}
		bears := 1 / (12 * time.Hour).Seconds()
		if index == slow {
			bears = 1.0 / 30_000
		}
		if state.Timetable.Load() > 1.25*bears {
			t.Errorf("host %d is asked for %g visits per second, it bears %g", index, state.Timetable.Load(), bears)
		}
	}
}

// checkReport compares the report of the crawl with its records, and keeps it if it is wanted. It is judged by
// crawl.json.
func checkReport(t *testing.T, dir string, hosts map[string]store.HostRecord, pages map[string]store.Page) {
	t.Helper()
	crawl := crawltest.Open(t, dir)
	defer crawl.Close()
	r, err := crawl.Report(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	load, timed := 0.0, 0
	for _, h := range hosts {
		load += h.Load
	}
	for _, p := range pages {
		if !p.LastVisit.IsZero() && !p.Next.IsZero() {
			timed++
		}
	}
	if math.Abs(r.Load-load) > 1e-4*load || r.Pages.Timed+r.Pages.Once != timed || r.Hosts.Known != len(hosts) {
		t.Errorf("the report says load %g of %d pages on %d hosts, the records %g of %d on %d", r.Load,
			r.Pages.Timed+r.Pages.Once, r.Hosts.Known, load, timed, len(hosts))
	}
	if r.Verdicts[politeness.Feasible].Hosts != 5 || r.Verdicts[politeness.Overloaded].Hosts != 1 ||
		r.Verdicts[politeness.NeedsInterval].Hosts != 1 || len(r.Worst) != 2 || r.ReliefKind != "optimal" {
		t.Errorf("the report says %+v, relief %s", r.Verdicts, r.ReliefKind)
	}
	if p := crawl.Settings.Politeness; p.Servers != len(hosts) || p.Connections != 64 {
		t.Errorf("at rest S/C is %d/%d, want all %d hosts on the 64 connections that it ran with", p.Servers,
			p.Connections, len(hosts))
	}
	draw(t, r, *reportInto)
}

// draw writes the figures of a report into a folder, if there is to be one.
func draw(t *testing.T, r *figures.Report, folder string) {
	t.Helper()
	if folder == "" {
		return
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures(false) {
		for ending, write := range map[string]func(io.Writer) error{"svg": f.Chart.WriteSVG,
			"csv": f.Chart.WriteCSV} {
			var content bytes.Buffer
			path := filepath.Join(folder, f.Name+"."+ending)
			if err := errors.Join(write(&content), os.WriteFile(path, content.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// capturedVersions counts the versions that came into being on ordinary hosts after the first day and those that were
// seen.
func capturedVersions(t *testing.T, web *fakeweb.Web, pages map[string]store.Page, from, to time.Time) (captured,
	versions, visits int) {
	t.Helper()
	from = from.Add(day)
	last := map[string]time.Time{}
	for _, entry := range web.Log() {
		url := entry.URL()
		if _, ok := pages[url]; !ok {
			continue
		}
		visits++
		if entry.Host == web.Host(delayed).Name || entry.Host == web.Host(slow).Name || entry.Start.Before(from) {
			continue
		}
		since := last[url]
		if since.IsZero() {
			since = from
		}
		n, err := web.ChangeCount(url, since, entry.Start)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			captured++
		}
		last[url] = entry.Start
	}
	for url := range pages {
		if host := weburl.HostOf(url); host == "http://"+web.Host(delayed).Name ||
			host == "http://"+web.Host(slow).Name {
			continue
		}
		n, err := web.ChangeCount(url, from, to)
		if err != nil {
			t.Fatal(err)
		}
		versions += n
	}
	return captured, versions, visits
}
