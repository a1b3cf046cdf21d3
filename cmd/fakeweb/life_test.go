package fakeweb

import (
	"errors"
	"maps"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPagesAreBornAndVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := full()
		o.Hosts, o.Domains, o.Pages, o.Pareto, o.Robots = 4, 1, 30, 0, Robots{}
		o.Life = Life{Growth: 2, Vanishing: 0.5, Lifetime: 30 * day}
		w := newWeb(t, o)
		c := client(t, w)
		at := Crawl{Seeds: w.Seeds(), Depth: -1}
		var before map[string]int
		for range 6 {
			truth, err := w.Reachable(at)
			if err != nil {
				t.Fatal(err)
			}
			if got := crawl(t, w, c, at); !maps.Equal(got, truth.Fetched) {
				t.Fatalf("%v: crawled %d URLs, truth %d; missing %v; too many %v", time.Now(), len(got),
					len(truth.Fetched), less(truth.Fetched, got), less(got, truth.Fetched))
			}
			if len(truth.Fetched) <= len(before) {
				t.Errorf("%v: %d URLs, before %d", time.Now(), len(truth.Fetched), len(before))
			}
			before = truth.Fetched
			time.Sleep(20 * day)
		}
		h := w.Host(1)
		if got := w.live(&h, epoch.Add(100*day)); got < 30+199 || got > 30+201 {
			t.Errorf("%d pages after a hundred days, want 230", got)
		}
		leaves, gone := 0.0, 0.0
		for i := range 4 {
			h := w.Host(i)
			for n := range h.Pages {
				if h.leaf(n) {
					leaves++
					if w.vanished(&h, n, epoch.Add(1000*day)) {
						gone++
					}
					if w.vanished(&h, n, epoch) || w.vanished(&h, n, epoch.Add(10*day)) &&
						!w.vanished(&h, n, epoch.Add(11*day)) {
						t.Errorf("page %d of host %d came back", n, i)
					}
				}
			}
		}
		if share := gone / leaves; share < 0.3 || share > 0.7 {
			t.Errorf("%.2f of the leaves vanished, want 0.5", share)
		}
	})
}

func TestABirthIsAChangeOfThePageAbove(t *testing.T) {
	w := newWeb(t, Options{Pages: 3, Degree: 20, Life: Life{Growth: 1}})
	h := w.Host(0)
	from, to := epoch, epoch.Add(100*day)
	births := 0
	for n := range w.live(&h, to) {
		url := w.PageURL(0, n, 0)
		list, err := w.Changes(url, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if count, _ := w.ChangeCount(url, from, to); count != len(list) {
			t.Errorf("page %d: %d changes counted, %d listed", n, count, len(list))
		}
		births += len(list)
		for _, at := range list {
			before, err := w.Page(url, at.Add(-1))
			if err != nil {
				t.Fatal(err)
			}
			after, _ := w.Page(url, at)
			if before.Status == 200 && (len(after.Links) <= len(before.Links) || after.Version != before.Version+1 ||
				!after.ModifiedAt.Equal(at)) {
				t.Errorf("page %d at %v: %d links and version %d, then %d and %d", n, at, len(before.Links),
					before.Version, len(after.Links), after.Version)
			}
		}
	}
	if want := w.live(&h, to) - 3; births != want {
		t.Errorf("%d births seen in pages, %d pages born", births, want)
	}
}

func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Hosts: 40, Life: Life{Outages: 0.5, Up: 9 * day, Down: day}})
		c := client(t, w)
		ever, down := map[int]bool{}, 0
		for range 100 {
			time.Sleep(day / 2)
			for i, seed := range w.Seeds() {
				res, err := c.Get(seed)
				if err == nil {
					res.Body.Close()
				}
				// A connection still open is reset, a new one refused.
				refused := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
				if refused != (err != nil) || refused != w.Down(i, time.Now()) {
					t.Fatalf("%s at %v: %v", seed, time.Now(), err)
				}
				if refused {
					ever[i] = true
					down++
				}
			}
		}
		if len(ever) < 12 || len(ever) > 28 {
			t.Errorf("%d of 40 hosts were ever down, want 20", len(ever))
		}
		if share := float64(down) / float64(len(ever)) / 100; share < 0.07 || share > 0.13 {
			t.Errorf("down for %.2f of the time, want 0.1", share)
		}
	})
}
