package master

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"henro/actors/topic"
	"henro/master/frontier"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// Of each host at least as much is queued, granted and lent as waits in the store, in all no more than B·H/2; and
// everything that was accepted is visited in the end: random offers, commits, leases that visit some of their pages,
// against a count by hand.
func TestNothingThatWaitsIsForgotten(t *testing.T) {
	for _, c := range []struct {
		policy frontier.Policy
		unit   Unit
	}{{frontier.PolicyFIFO, UnitHost}, {frontier.PolicyMercator, UnitHost}, {frontier.PolicyIRLbot, UnitHost},
		{frontier.PolicySlots, UnitHost}, {frontier.PolicyRanked, UnitHost}, {frontier.PolicyFIFO, UnitIP},
		{frontier.PolicySlots, UnitIP}, {frontier.PolicyRanked, UnitIP}, {frontier.PolicySlots, UnitDomain}} {
		t.Run(string(c.policy)+" "+string(c.unit), func(t *testing.T) {
			state, err := store.OpenState(t.TempDir(), store.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			o := DefaultOptions()
			o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH, o.Unit = c.policy, 8, 6, c.unit
			r, err := newOrder(&o, state, nil)
			if err != nil {
				t.Fatal(err)
			}
			onDisk, written, lent := map[string]int{}, map[string]int{}, map[string]int{}
			late := map[string]bool{}
			r.waiting = func(host string) (uint64, error) {
				n := onDisk[host]
				for range written[host] { // gets on disk while the disk is asked
					r.Stored(store.IDOf(host))
					onDisk[host]++
					late[host] = true
				}
				delete(written, host)
				return uint64(n), nil
			}
			ready, rnd, now := readyHosts{}, rand.New(rand.NewPCG(1, 2)), r.began
			commit := func() {
				for host, n := range written {
					for range n {
						r.Stored(store.IDOf(host))
					}
					onDisk[host] += n
					if _, out := lent[host]; !out && n > 0 {
						r.Identify(host, []string{host[:len("http://h1")]}) // h1, h10, h11 share an address
						r.Announce(host, now, ready.put)
					}
				}
				clear(written)
				for host := range late {
					if _, out := lent[host]; !out {
						r.Identify(host, []string{host[:len("http://h1")]})
						r.Announce(host, now, ready.put)
					}
				}
				clear(late)
			}
			giveBack := func(host string, visits int) {
				onDisk[host] -= min(onDisk[host], visits)
				delete(lent, host)
				if err := r.Closed(host, now, now.Add(5*time.Second)); err != nil {
					t.Fatal(err)
				}
				if onDisk[host] > 0 {
					r.Identify(host, []string{host[:len("http://h1")]})
					r.Announce(host, now.Add(5*time.Second), ready.put)
				}
			}
			dispatch := func() {
				for {
					host, ok := ready.take(now)
					if ok {
						lent[host] = r.Lend(host, 1+rnd.IntN(4))
					} else if !r.Grant(now, ready.put) {
						return
					}
				}
			}
			dropped := 0
			for i := range 20_000 {
				now = now.Add(time.Duration(rnd.IntN(2000)) * time.Millisecond)
				if i < 15_000 {
					host := fmt.Sprintf("http://h%d.test", int(rnd.ExpFloat64()*4))
					c := &store.Candidate{URL: fmt.Sprintf("%s/%d", host, i), Host: host, Depth: uint8(rnd.IntN(5))}
					if r.Offer(c, false).Dropped {
						dropped++
					} else {
						written[host]++
					}
				}
				if rnd.IntN(4) == 0 || i >= 15_000 {
					commit()
				}
				dispatch()
				for host, n := range lent {
					if rnd.IntN(3) == 0 {
						giveBack(host, rnd.IntN(n+1))
					}
				}
				for host, waits := range onDisk {
					h := r.hosts[store.IDOf(host)]
					if waits > 0 && (h == nil || h.queued+h.granted+h.lent < waits) {
						t.Fatalf("step %d: %d of %s wait, the order has %+v", i, waits, host, h)
					}
				}
				if s := r.status(); s.Bound > 0 && (s.Waiting > s.Bound || s.Peak > s.Bound) {
					t.Fatalf("step %d: %+v", i, s)
				}
			}
			for host, waits := range onDisk {
				if waits > 0 {
					t.Errorf("%d of %s wait for ever: %+v", waits, host, r.hosts[store.IDOf(host)])
				}
			}
			if bounded := r.most > 0; bounded != (dropped > 0) {
				t.Errorf("%d dropped with a bound of %d", dropped, r.most)
			}
		})
	}
}

// readyHosts are hosts that may be lent, with the moments from which on they may.
type readyHosts map[string]time.Time

func (r readyHosts) put(host string, at time.Time) { r[host] = at }

func (r readyHosts) take(now time.Time) (first string, ok bool) {
	for host, at := range r {
		if !at.After(now) && (!ok || at.Before(r[first])) {
			first, ok = host, true
		}
	}
	delete(r, first)
	return first, ok
}

func TestRanksLearnFromLinks(t *testing.T) {
	state, err := store.OpenState(t.TempDir(), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	for _, order := range []frontier.Order{frontier.OrderInlinks, frontier.OrderOPIC} {
		r, err := newRanks(order, state)
		if err != nil {
			t.Fatal(err)
		}
		for page := range uint64(50) {
			r.Read(page, []outlink.Outlink{{URL: "http://a/often", Kind: outlink.Anchor},
				{URL: fmt.Sprintf("http://a/%d", page), Kind: outlink.Anchor}})
		}
		if often, once := r.Band(fingerprint.URL("http://a/often"), 1, 0),
			r.Band(fingerprint.URL("http://a/7"), 1, 0); often >= once {
			t.Errorf("%s: band %d of a URL linked to fifty times, %d of one linked to once", order, often, once)
		}
	}
}

// irlbot's budgets are by the links between registrable domains, of which most come from pages read before a restart.
func TestIRLbotGoesByLinksBetweenDomains(t *testing.T) {
	dir := t.TempDir()
	o := DefaultOptions()
	o.Frontier.Policy, o.Frontier.BudgetLeast, o.Frontier.BudgetMost = frontier.PolicyIRLbot, 1, 4
	o.Hosts.Politeness.Floor = 0
	links := []outlink.Outlink{{URL: "http://www.much.test/", Kind: outlink.Anchor},
		{URL: "http://own.test/b", Kind: outlink.Anchor}, {URL: "http://little.test/x.png", Kind: outlink.Image}}
	page := func(i int) string { return fmt.Sprintf("http://w%d.from%d.test/", i, i) }
	for run := range 2 {
		state, err := store.OpenState(dir, store.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		r, err := newOrder(&o, state, nil)
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			r.Collect("http://own.test/a", links[1:])
			for i := range 3 {
				r.Collect(page(i), links)
			}
		}
		var got []string
		names := map[store.HostID]string{}
		for i := range 6 {
			for _, host := range []string{"http://a.much.test", "http://own.test", "http://little.test"} {
				names[store.IDOf(host)] = host
				r.Offer(&store.Candidate{URL: fmt.Sprintf("%s/%d", host, i), Host: host}, true)
			}
		}
		for range 8 {
			item := r.policy.Next(0, 1, nil)[0]
			r.policy.Done(item.Host, 0, 0)
			got = append(got, names[item.Key.host])
		}
		// much and own have most in-links, little has none: four, four and one of a queue
		counts := map[string]int{}
		for _, host := range got {
			counts[host]++
		}
		if counts["http://little.test"] != 1 || counts["http://a.much.test"] < 3 || counts["http://own.test"] < 3 {
			t.Errorf("run %d: %v", run, got)
		}
		for i := range 3 { // for the next run, which is given no links but these
			batch := store.NewBatch(time.Now())
			batch.Visit(store.Visited{Page: store.Page{URL: page(i), LastVisit: time.Now(), Status: 200}, Links: links})
			batch.PutHost(store.HostRecord{ID: store.IDOf(page(i)[:len(page(i))-1]), Name: page(i)[:len(page(i))-1]})
			if _, err := state.Partitions[state.PartitionOf(page(i)[:len(page(i))-1])].Commit(batch); err != nil {
				t.Fatal(err)
			}
		}
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// In a crawl for a topic the hosts go by the scores of their URLs, which are their bands, by the best link to each;
// after a restart by those on disk.
func TestHostsGoByTheScoresOfTheirURLs(t *testing.T) {
	dir := t.TempDir()
	o := DefaultOptions()
	o.Frontier.Policy, o.Hosts.Politeness.Floor = frontier.PolicyRanked, 0
	var err error
	if o.Hosts.Admission.Topic, err = topic.Parse([]byte("squid")); err != nil {
		t.Fatal(err)
	}
	var candidates []store.Candidate
	for i, score := range []float64{0.1, 0.9, 0.3, 0.5} {
		host := fmt.Sprintf("http://h%d.test", i)
		candidates = append(candidates, store.Candidate{URL: host + "/", Host: host, Band: topic.Band(score)})
	}
	for run := range 2 {
		state, err := store.OpenState(dir, store.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		r, err := newOrder(&o, state, nil)
		if err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			commit := func(c store.Candidate) {
				batch := store.NewBatch(time.Now())
				batch.Admit(c)
				if _, err := state.Partitions[state.PartitionOf(c.Host)].Commit(batch); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range candidates {
				r.Offer(&c, false)
				commit(c)
			}
			better := candidates[2]
			better.Band, better.Rises = topic.Band(0.7), true
			r.Raise(&better)
			commit(better)
		}
		var got []string
		for at := time.Duration(0); len(got) < len(candidates) && at < time.Minute; at += time.Second {
			for _, item := range r.policy.Next(at, 1, nil) {
				got = append(got, r.hosts[item.Key.host].name)
				r.policy.Done(item.Host, at, 0)
			}
		}
		want := []string{"http://h1.test", "http://h2.test", "http://h3.test", "http://h0.test"}
		if !slices.Equal(got, want) {
			t.Errorf("run %d: %v, want %v", run, got, want)
		}
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
