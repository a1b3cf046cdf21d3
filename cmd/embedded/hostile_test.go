package embedded_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/cmd/fakeweb/hostile"
	"henro/master"
)

// spans are the times at which each ordinary host was first and last asked.
func spans(web *fakeweb.Web) map[string]time.Duration {
	first, last := map[string]time.Time{}, map[string]time.Time{}
	for _, e := range web.Log() {
		if strings.Contains(e.Host, ".hostile.test") {
			continue
		}
		if first[e.Host].IsZero() {
			first[e.Host] = e.Start
		}
		last[e.Host] = e.End
	}
	took := map[string]time.Duration{}
	for host := range last {
		took[host] = last[host].Sub(first[host])
	}
	return took
}

// Every kind of hostile host beside ordinary ones: the crawl ends, and the ordinary hosts neither lose a page nor time.
func TestHostileHostsHarmNobodyElse(t *testing.T) {
	pace := map[bool]map[string]time.Duration{}
	for _, beside := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			options := fakeweb.Options{Seed: 66, Hosts: 20, Domains: 20, Pages: 15, Degree: 4, LogEntries: 1 << 18}
			if beside {
				options.Guests = hostile.Guests(hostile.All()...)
			}
			web, err := fakeweb.New(options)
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			dir := t.TempDir()
			e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
				o.Fetch.MaxBody = 256 << 10
				o.Hosts.Admission.Traps.MaxGrowth, o.Hosts.Admission.Traps.MaxSessions = 8, 1
				o.Hosts.Politeness.Floor, o.Hosts.Politeness.LargeHostFloor = time.Second, time.Second
				o.Hosts.Retries, o.Hosts.RetryWait = 1, 10*time.Second
				o.Hosts.MaxPages = 150
			})
			e.Work.Connections = 200
			if beside {
				e.Seeds = append(e.Seeds, crawltest.GuestSeeds(t, web)...)
			}
			truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			status := crawltest.Run(t, e)
			if took := time.Since(began); status.End != master.Finished || took > 2*time.Hour {
				t.Errorf("ended with %q after %v", status.End, took)
			}
			var heap runtime.MemStats
			runtime.ReadMemStats(&heap)
			if heap.HeapSys > 1<<30 {
				t.Errorf("%d MB of heap were taken from the system", heap.HeapSys>>20)
			}
			got := crawltest.Visited(t, dir)
			counts := map[string]int{}
			for url := range got {
				if _, rest, ok := strings.Cut(url, "://"); ok {
					host, _, _ := strings.Cut(rest, "/")
					if kind, ok := strings.CutSuffix(host, ".hostile.test"); ok {
						counts[kind]++
						delete(got, url)
					}
				}
			}
			crawltest.Compare(t, got, slices.Collect(maps.Keys(truth.Fetched)))
			pace[beside] = spans(web)
			if !beside {
				return
			}
			for _, c := range []struct {
				kind        string
				least, most int
				why         string
			}{
				{"growing-path", 2, 5, "the rule against repeated segments"},
				{"growing-query", 2, 5, "the rule against repeated pairs"},
				{"calendar", 50, 140, "the growth rule at 8 links"},
				{"maze", 20, 140, "one session id for each of a hundred rooms"},
				{"redirect-endless", 20, 25, "no more redirects than allowed"},
				{"redirect-loop", 1, 3, "each URL is visited once"},
				{"never", 0, 0, "nothing answers"},
				{"robots-silent", 0, 0, "without robots.txt nothing is fetched"},
				{"robots-private", 0, 0, "the address guard stands before robots.txt too"},
				{"http09", 0, 0, "not HTTP"},
				{"gzip-bomb", 1, 1, "archived and cut"},
				{"million-links", 1, 151, "bounded by the page cap"},
				{"long-links", 1, 3, "links of a megabyte are no links"},
			} {
				if n := counts[c.kind]; n < c.least || n > c.most {
					t.Errorf("%s: %d pages, want %d to %d: %s", c.kind, n, c.least, c.most, c.why)
				}
			}
			t.Logf("%d links led into traps; %d MB of heap from the system; pages: %v", status.Totals.Trapped,
				heap.HeapSys>>20, counts)
		})
	}
	for host, alone := range pace[false] {
		if took := pace[true][host]; took > alone+alone/20 {
			t.Errorf("%s took %v beside hostile hosts, %v without them", host, took, alone)
		}
	}
}
