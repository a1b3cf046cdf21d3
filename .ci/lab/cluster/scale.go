package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"henro/cmd/fakeweb"
)

// scale measures pages a minute of 2, 5 and 10 slaves on hosts that take their time. So that the web, the master and
// the two cores are far from being busy, each slave has few connections, and there are hosts enough for all: what is
// measured is what one slave more costs.
func (o *options) scale(ctx context.Context) error {
	span := cmp.Or(o.span, time.Minute)
	o.delay, o.lease, o.hosts, o.pages = time.Second, time.Minute, 600, 400
	fmt.Printf("%d hosts that take 500 ms ± 30 %%, a request a second at most; 20 connections a slave; counted by "+
		"the access log for %s\n", o.hosts, span)
	fmt.Printf("%6s %8s %14s %10s %8s %6s\n", "slaves", "pages", "a minute each", "of 2", "twice", "cores")
	var first float64
	for _, slaves := range []int{2, 5, 10} {
		t := o.trial(&scenario{name: fmt.Sprintf("scale%d", slaves), slaves: slaves, connections: 20,
			shape: func(w *fakeweb.Options) {
				w.Latency = fakeweb.Latency{Mean: 500 * time.Millisecond, Jitter: 0.3}
				w.Errors, w.Robots, w.RedirectShare, w.CrossShare = fakeweb.Errors{}, fakeweb.Robots{}, 0, 0
			}}, 0)
		pages, twice, cores, err := t.count(ctx, span)
		if err != nil {
			return err
		}
		each := float64(pages) / span.Minutes() / float64(slaves)
		if first == 0 {
			first = each
		}
		fmt.Printf("%6d %8d %14.1f %9.1f%% %8d %6.2f\n", slaves, pages, each, 100*each/first, twice, cores)
		if twice > 0 {
			return fmt.Errorf("%d pages were fetched twice", twice)
		}
		if each < 0.97*first {
			return fmt.Errorf("%d slaves make %.1f %% of what two make, each", slaves, 100*each/first)
		}
	}
	return nil
}

// count runs a cluster until its pace is steady, and counts for a while.
func (t *trial) count(ctx context.Context, span time.Duration) (pages, twice int, cores float64, err error) {
	defer t.tearDown(&err)
	if err := t.setUp(ctx); err != nil {
		return 0, 0, 0, err
	}
	if err := t.startAll(); err != nil {
		return 0, 0, 0, err
	}
	if err := t.master.Pause(ctx, 15*time.Second); err != nil {
		return 0, 0, 0, err
	}
	from, busy := time.Now(), t.processorTime()
	if err := t.master.Pause(ctx, span); err != nil {
		return 0, 0, 0, err
	}
	to := time.Now()
	cores = float64(t.processorTime()-busy) / float64(to.Sub(from))
	seen := map[string]bool{}
	for _, e := range t.web.Log() {
		if e.Path == "/robots.txt" {
			continue
		}
		if url := e.URL(); seen[url] {
			twice++
		} else {
			seen[url] = true
		}
		if e.End.After(from) && !e.End.After(to) {
			pages++
		}
	}
	return pages, twice, cores, nil
}

// processorTime is what all nodes have used of the processors.
func (t *trial) processorTime() (sum time.Duration) {
	for _, n := range append([]*node{t.master}, t.slaves...) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		if err != nil {
			continue
		}
		// Behind the name, which may have blanks: user and system time are fields 14 and 15, in hundredths of a second.
		_, rest, _ := strings.Cut(string(text), ") ")
		if field := strings.Fields(rest); len(field) > 12 {
			user, _ := strconv.Atoi(field[11])
			system, _ := strconv.Atoi(field[12])
			sum += time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	return sum
}
