package embedded_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
	"henro/store"
)

// Names of one registrable domain, or of one address, share a clock: no two requests to them overlap or come sooner
// than the interval, whichever names they are for, robots.txt included, and although the crawl crashes twice. All pages
// are fetched.
func TestNamesThatShareAClockAreAskedInTurn(t *testing.T) {
	for _, c := range []struct {
		name       string
		unit       master.Unit
		continuous bool
	}{{"domain", master.UnitDomain, false}, {"ip", master.UnitIP, false}, {"ip, for ever", master.UnitIP, true},
		{"domain, for ever", master.UnitDomain, true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { shareClocks(t, c.unit, c.continuous) })
		})
	}
}

func shareClocks(t *testing.T, unit master.Unit, continuous bool) {
	web, err := fakeweb.New(fakeweb.Options{
		Seed: 5, Hosts: 12, Domains: 3, Pages: 12, CrossShare: 0.3, Degree: 6, RedirectShare: 0.05, LogEntries: 1 << 18,
		Latency: fakeweb.Latency{Mean: 300 * time.Millisecond},
		Changes: fakeweb.Changes{Share: 1, Fastest: 6 * time.Hour, Slowest: 2 * day},
		Robots:  fakeweb.Robots{Missing: 0.2, Redirected: 0.1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	// Three addresses; the first two names of each have a second one in common with the next three.
	addresses := func(_ context.Context, host string) ([]netip.Addr, error) {
		time.Sleep(20 * time.Millisecond)
		for i := range web.Hosts() {
			if "http://"+web.Host(i).Name == host {
				addrs := []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 3)})}
				if i == 0 || i == 1 {
					addrs = append(addrs, netip.AddrFrom4([4]byte{192, 0, 2, 9}))
				}
				return addrs, nil
			}
		}
		return nil, fmt.Errorf("no host %s", host)
	}
	groups := map[string][]string{} // by name
	for i := range web.Hosts() {
		host := web.Host(i)
		if unit == master.UnitDomain {
			groups[host.Name] = []string{store.DomainOf("http://" + host.Name)}
			continue
		}
		addrs, _ := addresses(t.Context(), "http://"+host.Name)
		for _, a := range addrs {
			groups[host.Name] = append(groups[host.Name], a.String())
		}
	}
	change := func(o *master.Options) {
		o.Unit, o.Lookup = unit, addresses
		if continuous {
			o.Hosts.Continuous, o.For, o.LeaseFor, o.TickEvery = true, 6*day, time.Hour, time.Minute
		}
	}
	dir := crawltest.Crashes(t, web, change, 40*time.Second, 41500*time.Millisecond)
	e := crawltest.Of(t, dir, web, -1, change)
	if continuous { // what is asked every second of a busy crawl is asked every few minutes of one that mostly waits
		e.Adjust = func(o *slave.Options) { o.AskEvery = 5 * time.Minute }
	}
	status := crawltest.Run(t, e)
	if want := map[bool]master.End{false: master.Finished, true: master.TimeLimit}[continuous]; status.End != want {
		t.Errorf("ended with %q", status.End)
	}
	truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))

	byGroup := map[string][]fakeweb.Entry{}
	names := map[string]map[string]bool{}
	for _, e := range web.Log() {
		for _, group := range groups[e.Host] {
			if names[group] == nil {
				names[group] = map[string]bool{}
			}
			names[group][e.Host] = true
			e.Host = group // as if they were one host
			byGroup[group] = append(byGroup[group], e)
		}
	}
	turns := 0
	for group, log := range byGroup {
		for _, pace := range fakeweb.Paces(log) {
			if pace.Shortest < 5*time.Second {
				t.Errorf("%s was asked again after %v: %s, then %s", group, pace.Shortest, pace.Before.Path,
					pace.After.Path)
			}
			turns += pace.Requests
		}
		if overlaps := fakeweb.Overlaps(log, 0); len(overlaps) > 0 {
			t.Errorf("%s was asked twice at once: %v", group, overlaps)
		}
		if len(names[group]) < 2 {
			t.Errorf("%s has one name", group)
		}
	}
	t.Logf("%d clocks, %d requests, %d pages and %d revisits", len(byGroup), turns, status.Totals.Pages,
		status.Totals.Revisits)
}
