// Package play plays the trials of a lab, some at a time, and tells of each.
//
// A lab judges by clocks, on machines that have other things to do. What may be the machine's fault alone (work that
// went on later than promised, a crawl that was over before anything could be done to it) is tried again, with the dice
// made again, and counts when it happens three times in a row: a true fault does. Intervals and repeated fetches are
// tried again too, if the lab itself, which notes when a host was asked, was not served for a second. What no slow
// machine can do, such as a page lost or an archive damaged, counts at once.
package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
)

// Trial is one crawl to which something is done.
type Trial interface {
	Play(context.Context) error // and judge
	Line() string               // of the table, once played
}

// attempts is how often a trial is played at most.
const attempts = 3

// servedLate is how late a timer of the lab must come for the machine to be blamed for leases that ended by themselves,
// which last 6 s in a lab and are renewed every second, and for what the lab notes of its web.
const servedLate = time.Second

// All plays every trial, so many at a time, and prints its lines. Each is made again for each attempt, counted from 0.
func All[T Trial](ctx context.Context, parallel int, trials []func(attempt int) T) (played []T, failed int) {
	played = make([]T, len(trials))
	room := make(chan struct{}, parallel)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i, make := range trials {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-room }()
			for attempt := range attempts {
				t := make(attempt)
				late := measureLateness()
				err := t.Play(ctx)
				worst := late()
				again := err != nil && ctx.Err() == nil && attempt < attempts-1 && byChance(err, worst)
				mu.Lock()
				played[i] = t
				fmt.Println(t.Line())
				if err != nil {
					tell(err, worst, again)
				}
				if err != nil && !again {
					failed++
				}
				mu.Unlock()
				if !again {
					return
				}
			}
		})
	}
	wait.Wait()
	return played, failed
}

func tell(err error, worst time.Duration, again bool) {
	word := "FAILED"
	if again {
		word = "again"
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Printf("    %s: %s\n", word, strings.TrimSpace(line))
	}
	if worst > servedLate {
		fmt.Printf("    %s: the lab itself was not served for %v\n", word, worst.Round(time.Millisecond))
	}
}

// byChance reports whether all that is wrong may be the machine's fault.
func byChance(err error, worst time.Duration) bool {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			if !byChance(one, worst) {
				return false
			}
		}
		return true
	}
	if worst > servedLate && (errors.Is(err, verdict.ErrTwice) || errors.Is(err, verdict.ErrSoon)) {
		return true
	}
	return errors.Is(err, process.ErrEarly) || errors.Is(err, verdict.ErrLate)
}

// measureLateness begins to measure by how much a timer of this process comes too late; what it returns ends that, and
// tells the worst.
func measureLateness() (end func() time.Duration) {
	const every = 50 * time.Millisecond
	answer := make(chan time.Duration)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var worst time.Duration
		for at := time.Now(); ; {
			select {
			case now := <-tick.C:
				worst, at = max(worst, time.Since(at)-every, time.Since(now)), time.Now()
			case answer <- worst:
				return
			}
		}
	}()
	return func() time.Duration { return <-answer }
}

// Reasons counts what was fetched twice, by why, for a table.
func Reasons(repeats map[string]int) string {
	var all []string
	for _, reason := range verdict.Reasons {
		if n := repeats[reason]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return strings.Join(all, ", ")
}

// MS rounds a duration to what a table shows.
func MS(d time.Duration) string { return d.Round(time.Millisecond).String() }
