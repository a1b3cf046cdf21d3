package embedded_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/politeness"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
)

// absentWeb is a web of which something is absent for a while: what, mark says of each host.
func absentWeb(hosts int, from, to time.Time, mark func(*fakeweb.Host)) fakeweb.Options {
	return fakeweb.Options{
		Seed: 31, Hosts: hosts, Domains: hosts, Pages: 10, CrossShare: 0.1, PageBytes: 1024,
		Changes:    fakeweb.Changes{Share: 1, Fastest: day, Slowest: 3 * day},
		LogEntries: 1 << 18,
		Shape: func(h *fakeweb.Host) {
			if now := time.Now(); !now.Before(from) && now.Before(to) {
				mark(h)
			}
		},
	}
}

// patient makes a continuous crawl of so long, in which little is asked while nothing is due.
func patient(length time.Duration) func(*master.Options) {
	return func(o *master.Options) {
		o.Hosts.Continuous, o.For, o.Store.Partitions = true, length, 2
		o.LeaseFor, o.TickEvery = 6*time.Hour, 15*time.Minute
	}
}

func seldomAsked(o *slave.Options) { o.AskEvery = 30 * time.Minute }

// checkFloor compares the whole log with the floor.
func checkFloor(t *testing.T, web *fakeweb.Web) {
	t.Helper()
	for _, pace := range fakeweb.Paces(web.Log()) {
		if pace.Requests > 1 && pace.Shortest < 5*time.Second {
			t.Errorf("%s was asked again after %v: %s, then %s", pace.Origin, pace.Shortest, pace.Before.Path,
				pace.After.Path)
		}
	}
	if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
		t.Errorf("asked twice at once: %v", overlaps)
	}
}

// visitsOf gives the requests for each page, in order.
func visitsOf(web *fakeweb.Web) map[string][]fakeweb.Entry {
	visits := map[string][]fakeweb.Entry{}
	for _, entry := range web.Log() {
		if entry.Path != "/robots.txt" {
			visits[entry.URL()] = append(visits[entry.URL()], entry)
		}
	}
	return visits
}

// between gives the visits in [from, to).
func between(visits []fakeweb.Entry, from, to time.Time) (part []fakeweb.Entry) {
	for _, v := range visits {
		if !v.Start.Before(from) && v.Start.Before(to) {
			part = append(part, v)
		}
	}
	return part
}

// Pages that are not found for 30 days are asked for after twice as long each time, and as often as before once they
// are back. Those that are gone for good (410) are not asked for again.
func TestVanishedPagesAreVisitedEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lost, gone = 0, 1
		begun := time.Now()
		from, to, end := begun.Add(20*day), begun.Add(50*day), begun.Add(110*day)
		web, err := fakeweb.New(absentWeb(3, from, to, func(h *fakeweb.Host) {
			switch h.Index {
			case lost:
				h.Errors.NotFound = 1
			case gone:
				h.Errors.Gone = 1
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, patient(end.Sub(begun)))
		e.Adjust = seldomAsked
		crawltest.Run(t, e)

		hosts, pages := crawltest.StateIn(t, dir)
		checkFloor(t, web)
		checkLoads(t, hosts, pages)
		answered := map[int]int{} // pages that were absent, by status
		for url, visits := range visitsOf(web) {
			page, ok := pages[url]
			if !ok {
				t.Errorf("%s has no record", url)
				continue
			}
			before, during, after := between(visits, from.Add(-15*day), from), between(visits, from, to),
				between(visits, to, end)
			if len(during) == 0 || during[0].Status < 400 {
				continue
			}
			answered[during[0].Status]++
			if page.CapturedAt.IsZero() || page.Digest == [20]byte{} {
				t.Errorf("what was known of %s is lost: %+v", url, page)
			}
			if during[0].Status == http.StatusGone {
				if len(during) > 1 || len(after) > 0 || !page.Next.IsZero() {
					t.Errorf("%s is gone and was asked for %d times more, next at %v", url, len(during)-1+len(after),
						page.Next)
				}
				continue
			}
			for i := 2; i < len(during); i++ {
				last, gap := during[i-1].Start.Sub(during[i-2].Start), during[i].Start.Sub(during[i-1].Start)
				if last < day || float64(gap) < 1.9*float64(last) {
					t.Errorf("%s was not found and asked for after %v, then after %v", url, last, gap)
				}
			}
			// Twice the wait each time: what is back is missed for about as long as it was away.
			if len(after) == 0 || after[0].Start.Sub(to) > to.Sub(from)+10*day {
				t.Errorf("%s is back and was visited %d times", url, len(after))
				continue
			}
			if n := len(between(visits, end.Add(-15*day), end)); n < len(before)/3 || page.Status != 200 {
				t.Errorf("%s is back with status %d, and visited %d times in 15 days, %d before it vanished", url,
					page.Status, n, len(before))
			}
		}
		if answered[404] < 4 || answered[410] < 4 {
			t.Errorf("pages absent by status: %v", answered)
		}
	})
}

// tries notes every attempt to reach a host by its name.
type tries struct {
	web *fakeweb.Web
	mu  sync.Mutex
	at  map[string][]time.Time
}

func (d *tries) dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.at[name] = append(d.at[name], time.Now())
	d.mu.Unlock()
	return d.web.DialContext(ctx, network, address)
}

// A host that dies, in whatever way, is asked ever more rarely, loses no page, and is visited as before when it is
// back.
func TestADeadHostIsAskedEverMoreRarelyAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ways := []fakeweb.State{fakeweb.Dead, fakeweb.Silent, fakeweb.Blackhole, fakeweb.Unknown, fakeweb.Answering}
		begun := time.Now()
		from, to, end := begun.Add(20*day), begun.Add(60*day), begun.Add(90*day)
		web, err := fakeweb.New(absentWeb(len(ways), from, to, func(h *fakeweb.Host) { h.State = ways[h.Index] }))
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, patient(end.Sub(begun)))
		wire := &tries{web: web, at: map[string][]time.Time{}}
		e.Adjust, e.Dial = seldomAsked, wire.dial
		crawltest.Run(t, e)

		hosts, pages := crawltest.StateIn(t, dir)
		checkFloor(t, web)
		checkLoads(t, hosts, pages)
		o := &e.Options.Hosts.Politeness
		for i := range ways[:4] {
			name := web.Host(i).Name
			var asked []time.Time
			for _, at := range wire.at[name] {
				if !at.Before(from) && at.Before(to) {
					asked = append(asked, at)
				}
			}
			checkBackoff(t, name, asked, o)
			var state politeness.State
			if err := state.UnmarshalBinary(hosts["http://"+name].Politeness); err != nil {
				t.Fatal(err)
			}
			if state.Dead() || state.Failures() > 0 {
				t.Errorf("%s is back, dead: %v, failures %d", name, state.Dead(), state.Failures())
			}
		}
		checkReturn(t, web, ways, to)
		visits := visitsOf(web)
		for url, page := range pages {
			all := visits[url]
			before, after := between(all, from.Add(-15*day), from), between(all, end.Add(-15*day), end)
			if back := between(all, to, end); len(back) == 0 {
				t.Errorf("%s was not visited in %v after its host was back", url, end.Sub(to))
			}
			if page.Status != 200 || page.CapturedAt.IsZero() || len(after) < len(before)/4 {
				t.Errorf("%s has status %d and was visited %d times in 15 days, %d before its host died", url,
					page.Status, len(after), len(before))
			}
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range slices.Sorted(maps.Keys(truth.Fetched)) {
			if _, ok := pages[url]; !ok {
				t.Errorf("%s has no record", url)
			}
		}
	})
}

// checkBackoff: after n failures in a row nobody is asked for BackoffBase·2^(n−1), at most BackoffCap, and a host given
// up every ProbeEvery.
func checkBackoff(t *testing.T, name string, asked []time.Time, o *politeness.Options) {
	t.Helper()
	wait := o.BackoffBase
	for i := 1; i < len(asked); i++ {
		owed := wait
		if i >= o.DeadAfter {
			owed = o.ProbeEvery
		}
		if gap := asked[i].Sub(asked[i-1]); gap < owed {
			t.Errorf("%s was asked in vain %d times, then again after %v; owed were %v", name, i, gap, owed)
		}
		wait = min(2*wait, o.BackoffCap)
	}
	// 12 failures take some three days; what is left of the 40 has room for a probe a week.
	if n := len(asked); n < o.DeadAfter+3 || n > o.DeadAfter+6 {
		t.Errorf("%s was asked %d times while nobody was there", name, n)
	}
}

// checkReturn: the first answer of a host that is back ends its rest, but for what its failures left, less than a day.
func checkReturn(t *testing.T, web *fakeweb.Web, ways []fakeweb.State, to time.Time) {
	t.Helper()
	first := map[string]time.Time{} // answer after the return
	paged := map[string]time.Time{} // page after it
	for _, entry := range web.Log() {
		if entry.Start.Before(to) {
			continue
		}
		if _, ok := first[entry.Host]; !ok {
			first[entry.Host] = entry.Start
		}
		if _, ok := paged[entry.Host]; !ok && entry.Path != "/robots.txt" {
			paged[entry.Host] = entry.Start
		}
	}
	for i, way := range ways {
		name := web.Host(i).Name
		if way == fakeweb.Answering {
			continue
		}
		if probed, rest := first[name].Sub(to), paged[name].Sub(first[name]); probed > 9*day || rest > day {
			t.Errorf("%s was asked %v after its return, for a page %v later", name, probed, rest)
		}
	}
}

// A continuous crawl that is stopped again and again, at whatever moment, loses no page and is never hasty.
func TestAContinuousCrawlThatIsStoppedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(absentWeb(4, time.Time{}, time.Time{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		var stopped []time.Time
		for _, after := range []time.Duration{7 * time.Second, 2 * time.Minute, day, 10*day + 3*time.Second,
			time.Second, 5 * day} {
			e := crawltest.Of(t, dir, web, -1, patient(0))
			e.Adjust = seldomAsked
			ctx, cancel := context.WithTimeout(t.Context(), after)
			status, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
			cancel()
			if err != nil || status.End != master.Stopped {
				t.Fatalf("after %v it ended with %q, %v", after, status.End, err)
			}
			stopped = append(stopped, time.Now())
		}
		hosts, pages := crawltest.StateIn(t, dir)
		checkFloor(t, web)
		checkLoads(t, hosts, pages)
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		visits := visitsOf(web)
		last := stopped[len(stopped)-2]
		for url := range truth.Fetched {
			page, ok := pages[url]
			if !ok || page.LastVisit.IsZero() || page.Next.IsZero() {
				t.Errorf("%s is lost: %+v", url, page)
			}
			if _, ok := visits[url]; ok && page.Next.Before(time.Now().Add(-day)) &&
				len(between(visits[url], last, time.Now())) == 0 {
				t.Errorf("%s was due at %v and not visited since %v", url, page.Next, last)
			}
		}
	})
}
