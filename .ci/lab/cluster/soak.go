package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/cmd/fakeweb"
)

// soakEvery is how often a slave dies, measureEvery how often the nodes are looked at, and heapEvery how often they
// collect their garbage to be asked what is left, and for a profile of it.
const (
	soakEvery    = 20 * time.Second
	measureEvery = 10 * time.Second
	heapEvery    = time.Minute
)

// watched is a node that is left alone in a soak, and what was measured of it.
type watched struct {
	*node
	heap                          float64 // of the last collection
	own, files, heaps, goroutines []float64
}

// soak kills one of ten slaves every 20 s, and starts it again 5 s later, while the crawl of a web without end goes on.
// Two slaves are left alone: they and the master must not grow. What they hold is asked of the kernel (own memory, and
// pages of files: those of the master's state, which the kernel keeps as long as no process needs the room) and of
// themselves (what a collection of garbage leaves, goroutines).
func (o *options) soak(ctx context.Context) (err error) {
	span := cmp.Or(o.span, 30*time.Minute)
	o.delay, o.lease, o.hosts = 4*time.Second, 6*time.Second, 500
	o.pages = 200 + int(span/o.delay) // a host is asked once in a delay, so that none is without pages before the end
	t := o.trial(&scenario{name: "soak", slaves: 10, connections: 20,
		shape: func(w *fakeweb.Options) { w.Errors.Timeout = 0.001 }}, 0)
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
	var nodes []*watched
	fmt.Fprint(out, "seconds,pages,kills")
	for _, n := range append([]*node{t.master}, t.slaves[:left]...) {
		nodes = append(nodes, &watched{node: n})
		fmt.Fprintf(out, ",%[1]s_heap,%[1]s_mb,%[1]s_files,%[1]s_goroutines", n.name)
	}
	fmt.Fprintln(out)
	kills := 0
	nextKill, nextMeasure, nextHeap := t.begun.Add(soakEvery), t.begun.Add(measureEvery), t.begun
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
		if now.After(nextKill) && down == nil {
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
			nextMeasure = now.Add(measureEvery)
			collect := now.After(nextHeap)
			if collect {
				nextHeap = nextHeap.Add(heapEvery)
			}
			if err := t.measure(ctx, out, nodes, kills, collect); err != nil {
				return err
			}
		}
	}
	s, err := t.status(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d kills, %d pages; medians of the second sixth and of the last\n", span, kills, s.Totals.Pages)
	fmt.Printf("%-8s %17s %17s %17s %17s\n", "node", "heap", "own memory", "pages of files", "goroutines")
	for _, n := range nodes {
		fmt.Printf("%-8s %17s %17s %17s %17s\n", n.name, change(n.heaps, " MB"), change(n.own, " MB"),
			change(n.files, " MB"), change(n.goroutines, ""))
		for _, c := range []struct {
			what string
			all  []float64
			over float64
		}{{"MB of heap", n.heaps, 5}, {"MB", n.own, 10}, {"goroutines", n.goroutines, 20}} {
			if from, to := sixths(c.all); to > 1.25*from+c.over {
				err = errors.Join(err, fmt.Errorf("%s has grown from %.0f to %.0f %s", n.name, from, to, c.what))
			}
		}
	}
	return errors.Join(err, draw(o.csv))
}

// measure looks at the nodes once, and writes a line.
func (t *trial) measure(ctx context.Context, out io.Writer, nodes []*watched, kills int, collect bool) error {
	s, err := t.status(ctx)
	if err != nil {
		return nil // a machine that has no time for an answer within seconds is looked at again
	}
	fmt.Fprintf(out, "%.0f,%d,%d", time.Since(t.begun).Seconds(), s.Totals.Pages, kills)
	for _, n := range nodes {
		count := s.Routines
		for _, known := range s.Slaves {
			if known.Name == n.name {
				count = known.Goroutines
			}
		}
		if collect {
			heap, err := n.liveHeap(ctx, filepath.Join(t.dir,
				fmt.Sprintf("%s-%d.heap", n.name, int(time.Since(t.begun).Minutes()))))
			if err != nil && !errors.Is(err, context.DeadlineExceeded) { // else as above: the one before stands
				return err
			}
			n.heap = cmp.Or(heap, n.heap)
		}
		own, files := resident(n.PID())
		n.own, n.files = append(n.own, float64(own)/1e6), append(n.files, float64(files)/1e6)
		n.heaps, n.goroutines = append(n.heaps, n.heap), append(n.goroutines, float64(count))
		fmt.Fprintf(out, ",%.1f,%.1f,%.1f,%d", n.heap, float64(own)/1e6, float64(files)/1e6, count)
	}
	_, err = fmt.Fprintln(out)
	return err
}

// liveHeap has a node collect its garbage, and tells how many MB of heap are left, the least of five times: a commit
// under way holds 10 MB more. The profile of them is kept.
func (n *node) liveHeap(ctx context.Context, profile string) (least float64, err error) {
	least = math.Inf(1)
	for range 5 {
		text, err := n.read(ctx, "/debug/pprof/heap?gc=1&debug=1")
		if err != nil {
			return 0, err
		}
		_, value, _ := strings.Cut(string(text), "# HeapAlloc = ")
		var size float64
		if _, err := fmt.Sscan(value, &size); err != nil {
			return 0, fmt.Errorf("heap of %s: %w", n.name, err)
		}
		if size/1e6 >= least {
			continue
		}
		least = size / 1e6
		if err := os.WriteFile(profile, text, 0o644); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// change is how a figure went, from the median of the second sixth to that of the last.
func change(all []float64, unit string) string {
	from, to := sixths(all)
	return fmt.Sprintf("%.0f → %.0f%s", from, to, unit)
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
