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
	for _, unit := range []Unit{UnitHost, UnitIP, UnitDomain} {
		t.Run(string(unit), func(t *testing.T) {
			state, err := store.OpenState(t.TempDir(), store.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			o := DefaultOptions()
			o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH, o.Unit = frontier.PolicyRanked, 8, 6, unit
			r, err := newCrawlFrontier(&o, state, nil)
			if err != nil {
				t.Fatal(err)
			}
			onDisk, written, lent := map[string]int{}, map[string]int{}, map[string]int{}
			ready, rnd, now := readyHosts{}, rand.New(rand.NewPCG(1, 2)), r.began
			commit := func() {
				for host, n := range written {
					accepted := map[uint64]store.HostID{}
					for i := range n {
						accepted[uint64(i)] = store.IDOf(host)
					}
					onDisk[host] += n
					r.Stored(accepted, waiting(host, onDisk[host]))
					if _, out := lent[host]; !out && n > 0 {
						r.Identify(host, []string{host[:len("http://h1")]}) // h1, h10, h11 share an address
						r.Announce(host, now, ready.put)
					}
				}
				clear(written)
			}
			giveBack := func(host string, visits int) {
				onDisk[host] -= min(onDisk[host], visits)
				r.Stored(nil, waiting(host, onDisk[host]))
				if rnd.IntN(4) == 0 { // more is stored until the Master hears of the end
					commit()
				}
				delete(lent, host)
				r.Closed(host, now, now.Add(5*time.Second))
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
				if s := r.status(); s.Waiting > s.Bound || s.Peak > s.Bound {
					t.Fatalf("step %d: %+v", i, s)
				}
			}
			for host, waits := range onDisk {
				if waits > 0 {
					t.Errorf("%d of %s wait for ever: %+v", waits, host, r.hosts[store.IDOf(host)])
				}
			}
			if dropped == 0 {
				t.Errorf("none dropped with a bound of %d", r.most)
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
		candidates = append(candidates, store.Candidate{URL: host + "/", Host: host,
			Band: (*topic.Topic)(nil).Band(score)})
	}
	for run := range 2 {
		state, err := store.OpenState(dir, store.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		r, err := newCrawlFrontier(&o, state, nil)
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
			better.Band, better.Rises = (*topic.Topic)(nil).Band(0.7), true
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

// A lease that visits nothing leaves what waits as it was, and no Partition says so: it is granted again, also after a
// restart. What is given up while it is queued is taken back, though its host is never ready again.
func TestWhatWaitsIsGrantedAgain(t *testing.T) {
	state, err := store.OpenState(t.TempDir(), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	const host = "http://a.test"
	b := store.NewBatch(time.Now())
	b.Admit(store.Candidate{URL: host + "/1", Host: host})
	b.Admit(store.Candidate{URL: host + "/2", Host: host})
	if _, err := state.Partitions[state.PartitionOf(host)].Commit(b); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Frontier.Policy = frontier.PolicyRanked
	r, err := newCrawlFrontier(&o, state, nil)
	if err != nil {
		t.Fatal(err)
	}
	ready, now := readyHosts{}, r.began
	r.Announce(host, now, ready.put)
	r.Grant(now, ready.put)
	if n := r.Lend(host, 0); n != 2 {
		t.Errorf("lent %d pages, want 2", n)
	}
	r.Closed(host, now, now)
	if s := r.status(); s.Waiting != 2 {
		t.Errorf("after a lease without visits %d wait, want 2", s.Waiting)
	}
	const other = "http://b.test"
	r.Offer(&store.Candidate{URL: other + "/1", Host: other}, false)
	r.Stored(map[uint64]store.HostID{1: store.IDOf(other)}, waiting(other, 1))
	r.Stored(nil, waiting(other, 0))
	for r.Grant(now.Add(time.Hour), ready.put) {
	}
	if s := r.status(); s.Waiting != 2 || s.Hosts != 1 {
		t.Errorf("after a page was given up: %+v, want 2 that wait of one host", s)
	}
}

func waiting(host string, urls int) map[store.HostID]uint64 {
	return map[store.HostID]uint64{store.IDOf(host): uint64(urls)}
}
