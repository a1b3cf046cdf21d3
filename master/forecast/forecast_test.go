package forecast_test

import (
	"math"
	"testing"
	"time"

	"henro/master/forecast"
)

func TestForecasts(t *testing.T) {
	hosts := func(n int, waiting uint64, cycle time.Duration) (all []forecast.Host) {
		for range n {
			all = append(all, forecast.Host{Name: "https://even.test", Waiting: waiting, Cycle: cycle,
				Took: time.Second})
		}
		return all
	}
	huge := forecast.Host{Name: "https://huge.test", Waiting: 2160, Cycle: 5 * time.Second}
	dead := forecast.Host{
		Name:    "https://dead.test",
		Waiting: 9,
		Rest:    10 * time.Minute,
		GivenUp: time.Hour,
		Failing: true,
	}
	fresh := forecast.Host{Name: "https://new.test", Waiting: 60, Cycle: time.Second, Grows: true}
	for _, c := range []struct {
		sentence    string
		hosts       []forecast.Host
		crawl       forecast.Crawl
		says, bound string
	}{
		{"nothing is left", nil, forecast.Crawl{Connections: 4}, "nothing waits", ""},
		{"hosts alike side by side", hosts(10, 12, 5*time.Second), forecast.Crawl{Connections: 64},
			"about 1m more: https://even.test alone needs that",
			"10 hosts have pages left, and each gives one page in 5s"},
		{"more hosts than connections", hosts(100, 12, 5*time.Second), forecast.Crawl{Connections: 10, Busy: 0.9},
			"about 2m more", "all 10 connections are taken, and 100 hosts have pages left: more of them would help"},
		{"connections that are not taken", hosts(100, 12, 5*time.Second), forecast.Crawl{Connections: 10, Busy: 0.6},
			"about 2m more", "100 hosts have pages left, and each gives one page in 5s"},
		{"one huge host", append(hosts(10, 12, 5*time.Second), huge), forecast.Crawl{Connections: 64},
			"about 3h more: https://huge.test alone needs that",
			"11 hosts have pages left, and each gives one page in 5s"},
		{"one host", []forecast.Host{huge}, forecast.Crawl{Connections: 64}, "about 3h more",
			"one host has pages left, and gives one in 5s"},
		{"a host that is given up later than the others are read", append(hosts(2, 12, 5*time.Second), dead),
			forecast.Crawl{Connections: 64}, "about 1h10m more: https://dead.test alone needs that",
			"2 hosts have pages left, and each gives one page in 5s; 1 more rest after failures"},
		{"none but failing hosts", []forecast.Host{dead}, forecast.Crawl{Connections: 64}, "about 1h10m more",
			"all 1 hosts with pages left rest after failures, the first for another 10m"},
		{"a host that grows", []forecast.Host{fresh}, forecast.Crawl{Connections: 64},
			"at least 1m more, and new links are found as fast as pages are visited",
			"one host has pages left, and gives one in 1s"},
		{"a limit of time", []forecast.Host{huge}, forecast.Crawl{Connections: 64, Most: time.Minute}, "about 1m more",
			"one host has pages left, and gives one in 5s"},
		{"no slave", []forecast.Host{huge}, forecast.Crawl{}, "about 3h more",
			"no slave takes hosts: none is there, or none can archive"},
	} {
		f := forecast.Of(c.hosts, c.crawl)
		if f.Says().String() != c.says || f.Bound.String() != c.bound {
			t.Errorf("%s: %q, %q\nwant %q, %q", c.sentence, f.Says(), f.Bound, c.says, c.bound)
		}
	}
	clock := hosts(3, 12, 5*time.Second)
	for i := range clock {
		clock[i].Clock = "even.test"
	}
	if f := forecast.Of(
		append(clock, hosts(1, 12, 5*time.Second)...),
		forecast.Crawl{Connections: 64},
	); f.Left != 3*time.Minute ||
		f.Says().String() != "about 3m more: https://even.test and 2 hosts that share its clock need that" {
		t.Errorf("three hosts with one clock: %v, %q", f.Left, f.Says())
	}
	f := forecast.Of([]forecast.Host{huge}, forecast.Crawl{Connections: 64})
	if f.Endless = true; f.Says().String() != "it does not end, since it revisits" {
		t.Errorf("%q", f.Says())
	}
}

// A graph of n pages with d links each that point anywhere: after v visits some n·(1−e^(−d·v/n)) pages are known. What
// is yet to be found is foreseen from two moments of it.
func TestURLsYetToBeFoundAreForeseen(t *testing.T) {
	const n, d = 600.0, 6.0
	known := func(v uint64) forecast.Figures {
		return forecast.Figures{Known: uint64(n*(1-math.Exp(-d*float64(v)/n)) + 0.5), Visited: v}
	}
	for _, c := range [][2]uint64{{50, 150}, {100, 150}, {100, 300}, {200, 300}, {100, 400}} { // from a quarter on
		before, now := known(c[0]), known(c[1])
		yet, grows := forecast.Yet(now.Known-now.Visited, now, before)
		if truth := n - float64(now.Known); math.Abs(yet-truth) > 0.15*(n-float64(now.Visited)) || grows {
			t.Errorf("after %d visits %.0f more are foreseen, %.0f in truth, grows %v", c[1], yet, truth, grows)
		}
	}
	figures := func(known, visited uint64) forecast.Figures { return forecast.Figures{Known: known, Visited: visited} }
	for sentence, c := range map[string]struct {
		before, now forecast.Figures
		yet         float64
		grows       bool
	}{
		"each page leads to a new one":    {figures(10, 9), figures(30, 29), 0, true},
		"nothing new came of late":        {figures(80, 9), figures(80, 29), 0, false},
		"it was not visited before":       {figures(1, 0), figures(80, 9), 0, false},
		"it was not visited of late":      {figures(40, 9), figures(80, 9), 0, false},
		"there is no earlier moment":      {figures(0, 0), figures(80, 9), 0, false},
		"figures that went back are none": {figures(90, 30), figures(80, 9), 0, false},
	} {
		if yet, grows := forecast.Yet(7, c.now, c.before); yet != c.yet || grows != c.grows {
			t.Errorf("%s: %v, %v", sentence, yet, grows)
		}
	}
	now := figures(100, 60)
	first, _ := forecast.Yet(40, now, figures(60, 20))
	for _, c := range []struct {
		sentence string
		moments  []forecast.Figures
		yet      float64
		grows    bool
	}{
		{"the least counts", []forecast.Figures{figures(60, 20), figures(100, 40)}, 0, false},
		{"in either order", []forecast.Figures{figures(100, 40), figures(60, 20)}, 0, false},
		{"a moment too near says nothing", []forecast.Figures{figures(60, 20), figures(100, 46)}, first, false},
		{"a host grows if all moments say it", []forecast.Figures{figures(30, 20), figures(66, 40)}, 0, true},
		{"and not if one says that it does not", []forecast.Figures{figures(30, 20), figures(100, 40)}, 0, false},
	} {
		if yet, grows := forecast.Yet(40, now, c.moments...); yet != c.yet || grows != c.grows || first == 0 {
			t.Errorf("%s: %v, %v", c.sentence, yet, grows)
		}
	}
}
