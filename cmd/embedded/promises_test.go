package embedded_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/console"
	"henro/actors/figures"
	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

var grid = flag.Bool("grid", false, "all webs of TestConnectionsAndTimetablesAreKept, up to 2,400 hosts")

// promiseFloor is the least interval of the hosts of TestConnectionsAndTimetablesAreKept.
const promiseFloor = time.Second

// promised is a web of hosts that all answer after e, and the connections of the crawl: S and C of equations (6) to
// (11).
type promised struct {
	hosts, connections int
	e                  time.Duration
	uneven             bool // e is so in the mean, sizes of hosts and paces of pages differ: for figures
}

// Equations (6) to (11), by the log of the web. Where more hosts wait than there are connections, these are occupied
// for 0.8 of the time: Σe/(C·τ). Of hosts that are called feasible 0.95 of the visits come within one interval of
// their time. No host is asked before its interval is over, and no more requests are under way than connections.
func TestConnectionsAndTimetablesAreKept(t *testing.T) {
	webs := []promised{{24, 4, time.Second, false}}
	if *grid {
		webs = nil
		for _, hosts := range []int{24, 240, 2400} {
			for _, connections := range []int{4, 16, 64, 256} {
				for _, e := range []int{50, 200, 1000, 3000} {
					if hosts > connections { // else nothing is scarce
						webs = append(webs, promised{hosts, connections, time.Duration(e) * time.Millisecond, false})
					}
				}
			}
		}
	}
	if *grid {
		t.Run("figures", func(t *testing.T) { synctest.Test(t, promised{84, 4, 600 * time.Millisecond, true}.figures) })
	}
	for _, w := range webs {
		name := fmt.Sprintf("S=%d,C=%d,e=%v", w.hosts, w.connections, w.e)
		t.Run(name+",new pages", func(t *testing.T) { synctest.Test(t, w.newPages) })
		t.Run(name+",revisits", func(t *testing.T) { synctest.Test(t, w.revisits) })
	}
}

// crawl crawls the web, of so many pages a host, for a while; it gives what the web saw in that time, and what is said
// of each host then.
func (w promised) crawl(t *testing.T, pages int, lasts time.Duration, change func(*master.Options)) ([]fakeweb.Entry,
	map[string]string) {
	t.Helper()
	options := fakeweb.Options{Seed: 7, Hosts: w.hosts, Domains: w.hosts, Pages: pages, PageBytes: 256,
		LogEntries: 1 << 20, Latency: fakeweb.Latency{Mean: w.e},
		Changes: fakeweb.Changes{Share: 1, Fastest: time.Second, Slowest: 2 * time.Second}}
	owed := promiseFloor + w.e
	if w.uneven {
		options.Latency.Spread, options.Pareto = 0.7, 1.5
		options.Changes.Fastest, options.Changes.Slowest = time.Minute, 20*time.Minute
		owed = promiseFloor
	}
	web, err := fakeweb.New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	crawl := crawltest.Of(t, t.TempDir(), web, -1, func(o *master.Options) {
		o.Hosts.Politeness.Floor, o.For = promiseFloor, lasts+time.Minute
		change(o)
	})
	crawl.Work.Connections = w.connections
	var log []fakeweb.Entry
	verdicts := map[string]string{}
	if _, err := crawl.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
		actortest.Pass(lasts)
		log = web.Log()
		for _, pace := range fakeweb.Paces(log) {
			if pace.Shortest > 0 && pace.Shortest < owed {
				t.Errorf("%s was asked again after %v", pace.Origin, pace.Shortest)
			}
			host, err := node.Reading().Host(pace.Origin)
			if err != nil {
				return err
			}
			verdicts[pace.Origin] = host.Schedule.Verdict
		}
		if w.uneven {
			report, err := node.Reading().Report(ctx, time.Now())
			if err != nil {
				return err
			}
			draw(t, report, *reportInto)
		}
		<-ctx.Done()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return log, verdicts
}

// figures draws figures 3 to 7 of a crawl like that of promises.sh, case figures, after 10 minutes.
func (w promised) figures(t *testing.T) {
	_, verdicts := w.crawl(t, 4, 10*time.Minute, func(o *master.Options) {
		o.Hosts.Continuous = true
		r := &o.Hosts.Revisit
		r.Min, r.Max, r.FirstMin, r.FirstMax = time.Minute, 2*time.Hour, time.Minute, 3*time.Minute
		r.PriorMean = 8 * time.Minute // as --revisit-first 1m-3m says
	})
	counts := map[string]int{}
	for _, verdict := range verdicts {
		counts[verdict]++
	}
	t.Log(counts)
	if counts[politeness.Feasible.String()] < w.hosts/2 {
		t.Errorf("%v of %d hosts", counts, w.hosts)
	}
}

// newPages: hosts with more new pages than can be visited. Connections are occupied as long as the interval (9) of the
// hosts allows. It is measured while each is asked four times, once each was asked twice, but for half a minute at
// least.
func (w promised) newPages(t *testing.T) {
	interval := max(promiseFloor+w.e, w.e*time.Duration(w.hosts)/time.Duration(w.connections))
	warm, span := max(30*time.Second, 2*interval), max(30*time.Second, 4*interval)
	log, _ := w.crawl(t, 400, warm+span, func(*master.Options) {})
	begun := log[0].Start.Add(warm)
	log = slices.DeleteFunc(log, func(e fakeweb.Entry) bool { return e.Start.Before(begun) })
	most, took := together(log)
	use := took.Seconds() / (float64(w.connections) * span.Seconds())
	t.Logf("%d requests, at most %d together, Σe/(C·τ) %.2f of %.2f", len(log), most, use, w.bears())
	if most > w.connections {
		t.Errorf("%d requests were under way on %d connections", most, w.connections)
	}
	if use < 0.8*w.bears() {
		t.Errorf("connections were occupied for %.2f of the time; hosts allow %.2f", use, w.bears())
	}
}

// bears is the share of the time for which all connections can be occupied while no host is asked before its interval
// is over. Equation (9) bounds nothing here: S hosts that are each asked every (S/C)·e occupy C connections. But each
// host is owed the floor, and a rest of LeastRatio times its answer, however many connections are free.
func (w promised) bears() float64 {
	rest := max(promiseFloor, time.Duration(politeness.DefaultOptions().LeastRatio*float64(w.e)))
	return min(1, float64(w.hosts)/(rest+w.e).Seconds()*w.e.Seconds()/float64(w.connections))
}

// revisits: hosts whose timetables ask for 0.7 of what connections and intervals bear. The time queue lets a page come
// a minute after its time, which is not counted as late.
func (w promised) revisits(t *testing.T) {
	const share = 0.7
	pages, rounds := 6, time.Duration(6)
	if w.hosts > 240 {
		pages, rounds = 3, 4
	}
	perHost := w.bears() * float64(w.connections) / w.e.Seconds() / float64(w.hosts)
	every := max(time.Minute, time.Duration(float64(pages)/(share*perHost)*float64(time.Second)))
	log, verdicts := w.crawl(t, pages, rounds*every, func(o *master.Options) {
		o.Hosts.Continuous = true
		r := &o.Hosts.Revisit
		r.Min, r.Max, r.FirstMin, r.FirstMax, r.PriorMean = every, every+time.Second, every, every, every
	})
	var visits, late, feasible, feasibleAndLate int
	byHost := fakeweb.ByHost(log)
	end := log[len(log)-1].End
	for _, entries := range byHost {
		due, missed := revisitsOf(entries, end, every)
		visits, late = visits+due, late+missed
		if verdicts[entries[0].Origin()] == politeness.Feasible.String() {
			feasible++
			if float64(missed) > politeness.LateShare*float64(due) {
				feasibleAndLate++
			}
		}
	}
	t.Logf("every %v: %d revisits, %d later than an interval after their time; %d of %d hosts feasible, %d of them "+
		"late", every, visits, late, feasible, len(byHost), feasibleAndLate)
	if visits == 0 || feasible < len(byHost)/2 {
		t.Errorf("%d revisits, %d of %d hosts are feasible, at %g of what they bear", visits, feasible, len(byHost),
			share)
	}
	if feasibleAndLate > 0 {
		t.Errorf("%d hosts are called feasible and more than %g of their visits were late", feasibleAndLate,
			politeness.LateShare)
	}
}

// revisitsOf is how many revisits a host had until a moment, and how many came, or were to come, more than an interval
// after their time.
func revisitsOf(entries []fakeweb.Entry, end time.Time, every time.Duration) (due, missed int) {
	last := map[string]time.Time{}
	for _, entry := range append(entries, fakeweb.Entry{Start: end}) {
		for path, at := range last {
			if path == entry.Path {
				due++
			}
			if (path == entry.Path || entry.Path == "") && entry.Start.Sub(at) > 2*every+time.Minute {
				missed++
			}
		}
		if entry.Path != "/robots.txt" {
			last[entry.Path] = entry.Start
		}
	}
	return due, missed
}

// Hosts with six pages that are due every minute, each of which takes a second, are added to a crawl of two connections
// until one is refused: the twentieth, with which Σe = C·τ. What was foretold of S/C and Σe/τ holds within 0.05, before
// and after, and no host loses its timetable; with three more hosts all do, and are not called feasible.
func TestHostsAreTakenOnUntilTimetablesWouldNotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 7, Hosts: 22, Domains: 22, Pages: 6, PageBytes: 256,
			LogEntries: 1 << 20, Latency: fakeweb.Latency{Mean: time.Second},
			Changes: fakeweb.Changes{Share: 1, Fastest: time.Second, Slowest: 2 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		crawl := crawltest.Of(t, t.TempDir(), web, -1, func(o *master.Options) {
			o.Hosts.Politeness.Floor, o.Hosts.Continuous = promiseFloor, true
			r := &o.Hosts.Revisit
			r.Min, r.Max, r.PriorMean = time.Minute, time.Minute+time.Second, time.Minute
			r.FirstMin, r.FirstMax = r.Min, r.Min
		})
		crawl.Work.Connections = 2
		seeds := crawl.Seeds
		crawl.Seeds = seeds[:17]
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := crawl.Run(ctx, func(ctx context.Context, node *master.Node) error {
			defer cancel()
			api := console.New(console.Options{}, node.Routes())
			add := func(seed reading.Seed) bool {
				body := fmt.Sprintf(`{"seeds":[%q],"depth":-1}`, seed.URL)
				asked := httptest.NewRequest("POST", "http://localhost/api/seeds", strings.NewReader(body))
				asked.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				api.ServeHTTP(answer, asked)
				return answer.Code == http.StatusOK
			}
			actortest.Pass(6 * time.Minute) // the first two are of first visits
			report := heldAgainst(t, ctx, node, web, nil, len(crawl.Seeds))
			taken := len(crawl.Seeds)
			for ; taken < len(seeds) && add(seeds[taken]); taken++ {
				actortest.Pass(2 * time.Minute)
			}
			if taken != 19 {
				t.Errorf("%d hosts were taken on", taken)
			}
			heldAgainst(t, ctx, node, web, report, taken)
			_, err := master.Ask[*master.SeedsAdded](ctx, node, &master.AddSeeds{Seeds: seeds[taken:]})
			if err != nil {
				return err
			}
			actortest.Pass(4 * time.Minute)
			if report, err = node.Reading().Report(ctx, time.Now()); err != nil {
				return err
			}
			if kept := report.Verdicts[politeness.Feasible].Hosts; kept > 0 {
				t.Errorf("of %d hosts %d are called feasible", len(seeds), kept)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// heldAgainst holds what is foretold for so many hosts, by a report of fewer or by one of these, against the last two
// minutes of the web.
func heldAgainst(t *testing.T, ctx context.Context, node *master.Node, web *fakeweb.Web, before *figures.Report,
	hosts int) *figures.Report {
	t.Helper()
	const span = 2 * time.Minute
	now, err := node.Reading().Report(ctx, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	before = cmp.Or(before, now)
	foretold := before.Occupied.Asked / float64(before.Hosts.Timed) * float64(hosts)
	_, took := together(slices.DeleteFunc(web.Log(), func(e fakeweb.Entry) bool {
		return e.Start.Before(time.Now().Add(-span))
	}))
	measured := took.Seconds() / span.Seconds()
	var due, missed int
	for _, entries := range fakeweb.ByHost(web.Log()) {
		d, m := revisitsOf(entries, time.Now(), time.Minute)
		due, missed = due+d, missed+m
	}
	t.Logf("%d hosts: Σe/τ %.3g, foretold %.3g; S/C %.3g, foretold %.3g; of %d revisits %d late", hosts, measured,
		foretold, now.Ratio, before.Ratio, due, missed)
	if missed > 0 || math.Abs(measured/foretold-1) > 0.05 || math.Abs(now.Ratio/before.Ratio-1) > 0.05 ||
		now.Verdicts[politeness.Feasible].Hosts != hosts {
		t.Errorf("%d hosts: Σe/τ = %.3g, foretold %.3g; S/C = %.3g, foretold %.3g; %d of %d revisits late; %d "+
			"hosts feasible", hosts, measured, foretold, now.Ratio, before.Ratio, missed, due,
			now.Verdicts[politeness.Feasible].Hosts)
	}
	return now
}

// together is the greatest number of requests under way at once, and how long requests took in all.
func together(log []fakeweb.Entry) (most int, took time.Duration) {
	type step struct {
		at time.Time
		by int
	}
	var steps []step
	for _, entry := range log {
		steps = append(steps, step{entry.Start, 1}, step{entry.End, -1})
		took += entry.End.Sub(entry.Start)
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	now := 0
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	return most, took
}
