package master

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"henro/actors/host"
	"henro/master/frontier"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// Of each host at least as much is queued, granted and lent as waits in the store, in all no more than B·H/2; and
// everything that was accepted is visited in the end: random offers, commits, leases that visit some of their pages,
// against a count by hand.
func TestNothingThatWaitsIsForgotten(t *testing.T) {
	for _, policy := range []frontier.Policy{frontier.PolicyFIFO, frontier.PolicyMercator, frontier.PolicySlots,
		frontier.PolicyRanked} {
		t.Run(string(policy), func(t *testing.T) {
			state, err := store.OpenState(t.TempDir(), store.DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			o := frontier.DefaultOptions()
			o.Policy, o.SlotsB, o.SlotsH = policy, 8, 6
			hosts := host.DefaultOptions()
			r, err := newOrder(o, &hosts, state, nil)
			if err != nil {
				t.Fatal(err)
			}
			onDisk, written, lent := map[string]int{}, map[string]int{}, map[string]int{}
			r.waiting = func(host string) (uint64, error) { return uint64(onDisk[host]), nil }
			ready, rnd, now := newReadyHosts(), rand.New(rand.NewPCG(1, 2)), r.began
			commit := func() {
				for host, n := range written {
					for range n {
						r.Stored(store.IDOf(host))
					}
					onDisk[host] += n
					if _, out := lent[host]; !out && n > 0 {
						r.announce(host, now, ready)
					}
				}
				clear(written)
			}
			giveBack := func(host string, visits int) {
				onDisk[host] -= min(onDisk[host], visits)
				delete(lent, host)
				if err := r.closed(host, now, now.Add(5*time.Second)); err != nil {
					t.Fatal(err)
				}
				if onDisk[host] > 0 {
					r.announce(host, now.Add(5*time.Second), ready)
				}
			}
			dispatch := func() {
				for {
					host, _, ok := ready.take(now)
					if ok {
						lent[host] = r.lend(host, 1+rnd.IntN(4))
					} else if !r.grant(now, ready) {
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
