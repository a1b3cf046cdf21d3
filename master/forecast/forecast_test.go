package forecast_test

import (
	"testing"
	"time"

	"henro/master/forecast"
)

func TestForecasts(t *testing.T) {
	hosts := func(n int, waiting uint64, cycle time.Duration) (all []forecast.Host) {
		for range n {
			all = append(all, forecast.Host{Name: "https://even.test", Waiting: waiting, Cycle: cycle})
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
	fresh := forecast.Host{Name: "https://new.test", Waiting: 60, Cycle: time.Second, Growth: 3}
	for _, c := range []struct {
		sentence    string
		hosts       []forecast.Host
		crawl       forecast.Crawl
		says, bound string
	}{
		{"nothing is left", nil, forecast.Crawl{Slots: 4}, "nothing waits", ""},
		{"hosts alike side by side", hosts(10, 12, 5*time.Second), forecast.Crawl{Slots: 64},
			"about 1m more: https://even.test alone needs that",
			"10 hosts have pages left, and each gives one page in 5s"},
		{"more hosts than connections", hosts(100, 12, 5*time.Second), forecast.Crawl{Slots: 10, Leases: 10},
			"about 10m more", "all 10 connections are taken, and 100 hosts have pages left: more of them would help"},
		{"one huge host", append(hosts(10, 12, 5*time.Second), huge), forecast.Crawl{Slots: 64},
			"about 3h more: https://huge.test alone needs that",
			"11 hosts have pages left, and each gives one page in 5s"},
		{"one host", []forecast.Host{huge}, forecast.Crawl{Slots: 64}, "about 3h more",
			"one host has pages left, and gives one in 5s"},
		{"a host that is given up later than the others are read", append(hosts(2, 12, 5*time.Second), dead),
			forecast.Crawl{Slots: 64}, "about 1h10m more: https://dead.test alone needs that",
			"2 hosts have pages left, and each gives one page in 5s; 1 more rest after failures"},
		{"none but failing hosts", []forecast.Host{dead}, forecast.Crawl{Slots: 64}, "about 1h10m more",
			"all 1 hosts with pages left rest after failures, the first for another 10m"},
		{"a host that grows", []forecast.Host{fresh}, forecast.Crawl{Slots: 64},
			"at least 2m more, and new links are found as fast as pages are visited",
			"one host has pages left, and gives one in 1s"},
		{"a limit of time", []forecast.Host{huge}, forecast.Crawl{Slots: 64, Most: time.Minute}, "about 1m more",
			"one host has pages left, and gives one in 5s"},
		{"no slave", []forecast.Host{huge}, forecast.Crawl{}, "about 3h more",
			"no slave takes hosts: none is there, or none can archive"},
	} {
		f := forecast.Of(c.hosts, c.crawl)
		if f.Says().String() != c.says || f.Bound.String() != c.bound {
			t.Errorf("%s: %q, %q\nwant %q, %q", c.sentence, f.Says(), f.Bound, c.says, c.bound)
		}
	}
	f := forecast.Of([]forecast.Host{huge}, forecast.Crawl{Slots: 64})
	if f.Endless = true; f.Says().String() != "it does not end, since it revisits" {
		t.Errorf("%q", f.Says())
	}
}
