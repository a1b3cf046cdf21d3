package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"henro/slave/fakeweb"
)

// soakEvery is how often a slave dies, and measureEvery how often the nodes are looked at.
const (
	soakEvery    = 20 * time.Second
	measureEvery = 10 * time.Second
)

// soak kills one of ten slaves every 20 s, and starts it again 5 s later, while the crawl of a web without end goes on. Two slaves are
// left alone: they and the master must not grow. What they hold is asked of the kernel (their own memory, without the pages of files that
// it keeps for the master's state as long as nobody else needs the room) and of themselves (goroutines).
func (o *options) soak(ctx context.Context) (err error) {
	span := cmp.Or(o.span, 30*time.Minute)
	o.delay, o.lease, o.hosts, o.pages = time.Second, 6*time.Second, 500, 1200
	t := o.trial(&scenario{name: "soak", slaves: 10, connections: 20, shape: func(w *fakeweb.Options) { w.Errors.Timeout = 0.001 }})
	defer t.tearDown(&err)
	if err := t.setUp(ctx); err != nil {
		return err
	}
	out, err := os.Create(o.csv)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := t.startAll(); err != nil {
		return err
	}
	t.begun = time.Now()
	const left = 2 // slaves that are never killed
	watched := append([]*node{t.master}, t.slaves[:left]...)
	fmt.Fprint(out, "seconds,pages,kills")
	for _, n := range watched {
		fmt.Fprintf(out, ",%s_mb,%s_goroutines", n.name, n.name)
	}
	fmt.Fprintln(out)
	sizes, routines := make([][]float64, len(watched)), make([][]float64, len(watched))
	kills := 0
	nextKill, nextMeasure := t.begun.Add(soakEvery), t.begun.Add(measureEvery)
	var down *node
	var backAt time.Time
	for time.Since(t.begun) < span {
		if err := t.master.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		now := time.Now()
		if down != nil && now.After(backAt) {
			if err := down.start(); err != nil {
				return err
			}
			down = nil
		}
		if now.After(nextKill) {
			nextKill = nextKill.Add(soakEvery)
			down, backAt = t.slaves[left+t.rnd.IntN(len(t.slaves)-left)], now.Add(5*time.Second)
			at, err := down.Kill()
			if err != nil {
				return err
			}
			t.happened(at, down)
			kills++
		}
		if now.After(nextMeasure) {
			nextMeasure = nextMeasure.Add(measureEvery)
			s, err := t.status(ctx)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%.0f,%d,%d", now.Sub(t.begun).Seconds(), s.Totals.Pages, kills)
			for i, n := range watched {
				count := s.Routines
				for _, known := range s.Slaves {
					if known.Name == n.name {
						count = known.Goroutines
					}
				}
				size := float64(resident(n.PID())) / 1e6
				sizes[i], routines[i] = append(sizes[i], size), append(routines[i], float64(count))
				fmt.Fprintf(out, ",%.1f,%d", size, count)
			}
			fmt.Fprintln(out)
		}
	}
	s, err := t.status(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d kills, %d pages; medians of the second sixth and of the last\n", span, kills, s.Totals.Pages)
	fmt.Printf("%-8s %20s %20s\n", "node", "memory", "goroutines")
	for i, n := range watched {
		from, to := sixths(sizes[i])
		before, after := sixths(routines[i])
		fmt.Printf("%-8s %9.0f → %5.0f MB %11.0f → %6.0f\n", n.name, from, to, before, after)
		if to > 1.25*from+10 {
			err = fmt.Errorf("%s has grown from %.0f to %.0f MB", n.name, from, to)
		}
		if after > 1.25*before+20 {
			err = fmt.Errorf("%s has grown from %.0f to %.0f goroutines", n.name, before, after)
		}
	}
	return errors.Join(err, draw(o.csv))
}

// sixths are the medians of the second sixth and of the last.
func sixths(all []float64) (second, last float64) {
	median := func(some []float64) float64 {
		some = slices.Sorted(slices.Values(some))
		if len(some) == 0 {
			return 0
		}
		return some[len(some)/2]
	}
	n := len(all)
	return median(all[n/6 : n/3]), median(all[n*5/6:])
}
