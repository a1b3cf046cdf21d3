package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/slave/fakeweb"
	"henro/store"
	"henro/store/cdxj"
	"henro/store/warc"
)

// verdict is what was measured in a round.
type verdict struct {
	pages      int            // in the state, with a response
	repeats    map[string]int // requests for what was asked for before, by reason
	interval   time.Duration  // least between the starts of two requests to a host
	resumed    time.Duration  // from the restart, or from the death beyond the lease rule, until work went on
	note       string
	sinceStart []time.Time   // starts after which work resumed
	death      time.Time     // of a slave
	rule       time.Duration // that its hosts must wait
}

func (v *verdict) twice() (n int) {
	for _, count := range v.repeats {
		n += count
	}
	return n
}

// How long it may take until work goes on.
const (
	afterDeath   = 10 * time.Second // of a slave, beyond the lease rule
	afterRestart = 5 * time.Second  // of the master, or of all
)

// measuring is what the access log may be wrong by: two heads read by two goroutines.
const measuring = 2 * time.Millisecond

// judge looks at everything the crawl has left.
func (r *round) judge() error {
	log := r.web.Log()
	archived, err := r.checkArchives()
	errs := []error{err}
	errs = append(errs, r.checkState(archived), r.checkPace(log), r.checkRepeats(log), r.checkResumed(log))
	return errors.Join(errs...)
}

// checkState compares the pages in the state with the truth, and looks each up in the archives.
func (r *round) checkState(archived map[string]bool) error {
	report, err := store.Check(r.path("crawl/state"), func(_, _ uint64) {})
	if err != nil {
		return fmt.Errorf("check the state: %w", err)
	}
	var errs []error
	for _, problem := range report.Problems {
		errs = append(errs, fmt.Errorf("state: %s", problem))
	}
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(r.path("crawl/state"), o)
	if err != nil {
		return err
	}
	defer state.Close()
	pages := map[string]int{}
	leases := 0
	for _, p := range state.Partitions {
		err := p.EachPage(func(page store.Page, _ store.Place) error {
			if page.Status != 0 {
				pages[page.URL]++
			}
			return nil
		})
		open, failed := p.Leases()
		leases += len(open)
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	r.verdict.pages = len(pages)
	if leases > 0 {
		errs = append(errs, fmt.Errorf("%d leases are left in the state", leases))
	}
	truth, err := r.web.Reachable(fakeweb.Crawl{Seeds: r.listening.Seeds(), Depth: depth})
	if err != nil {
		return err
	}
	var missing, extra, unarchived []string
	for url := range truth.Fetched {
		if pages[url] == 0 {
			missing = append(missing, url)
		}
	}
	for url, n := range pages {
		if _, ok := truth.Fetched[url]; !ok || n > 1 {
			extra = append(extra, url)
		}
		if !archived[url] {
			unarchived = append(unarchived, url)
		}
	}
	for _, found := range []struct {
		what string
		urls []string
	}{{"missing in the state", missing}, {"too many in the state", extra}, {"in the state and in no WARC", unarchived}} {
		if n := len(found.urls); n > 0 {
			slices.Sort(found.urls)
			errs = append(errs, fmt.Errorf("%d pages %s, such as %s", n, found.what, strings.Join(found.urls[:min(n, 3)], " ")))
		}
	}
	return errors.Join(errs...)
}

// noneOpen says which files were not finished.
func noneOpen(dir string) error {
	open, err := filepath.Glob(filepath.Join(dir, "*"+warc.OpenSuffix))
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("left open: %s", strings.Join(open, " "))
	}
	return err
}

// checkArchives reads every record of every file and every line of every index, and returns the URLs captured.
func (r *round) checkArchives() (map[string]bool, error) {
	archived := map[string]bool{}
	var errs []error
	for _, dir := range r.archives {
		errs = append(errs, noneOpen(dir))
		files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		errs = append(errs, err)
		for _, name := range files {
			if err := checkFile(name, archived); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return archived, errors.Join(errs...)
}

func checkFile(name string, archived map[string]bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	captures := map[int64]string{}
	walked, err := warc.Walk(f, func(e *warc.Entry) error {
		if entry, ok, err := cdxj.Of(e, filepath.Base(name)); err == nil && ok {
			captures[e.Offset] = entry.URL
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, span := range walked.Damaged {
		return fmt.Errorf("%d bytes damaged at %d: %w", span.Length, span.Offset, span.Err)
	}
	index, err := os.ReadFile(cdxj.Path(name))
	if errors.Is(err, fs.ErrNotExist) && len(captures) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	for line := range strings.Lines(string(index)) {
		entry, err := cdxj.Parse([]byte(strings.TrimRight(line, "\n")))
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		if captures[entry.Offset] != entry.URL {
			return fmt.Errorf("index: %s is not at %d", entry.URL, entry.Offset)
		}
		archived[entry.URL] = true
		delete(captures, entry.Offset)
	}
	if len(captures) > 0 {
		return fmt.Errorf("%d captures are not in the index", len(captures))
	}
	return nil
}

// checkPace looks for invariants 1 and 2 in the log: one request at a time, and the interval between.
func (r *round) checkPace(log []fakeweb.Entry) error {
	var errs []error
	for _, overlap := range fakeweb.Overlaps(log, 0) {
		if overlap.First.Aborted && overlap.For < 20*time.Millisecond {
			continue // the end of what was cut off is seen late
		}
		errs = append(errs, fmt.Errorf("two requests at once for %v: %s at %s and %s at %s", overlap.For,
			overlap.First.URL(), r.clock(overlap.First.Start), overlap.Second.URL(), r.clock(overlap.Second.Start)))
	}
	wishes := map[string]time.Duration{}
	for i := range r.web.Hosts() {
		if h := r.web.Host(i); h.Robots == fakeweb.RobotsDelayed {
			wishes[fmt.Sprintf("http://%s:%d", h.Name, r.listening.Port)] = h.CrawlDelay
		}
	}
	r.verdict.interval = time.Hour
	last := map[string]fakeweb.Entry{}
	slices.SortStableFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	for _, e := range log {
		want := r.o.delay
		if e.Path != "/robots.txt" { // which is asked for again at that interval, when its wish died with whoever had read it
			want = max(want, wishes[e.Origin()])
		}
		if before, ok := last[e.Origin()]; ok {
			gap := e.Start.Sub(before.Start)
			r.verdict.interval = min(r.verdict.interval, gap)
			if gap < want-measuring {
				errs = append(errs, fmt.Errorf("%s was asked for at %s, %v after %s; the interval is %v", e.URL(), r.clock(e.Start), gap, before.Path, want))
			}
		}
		last[e.Origin()] = e
	}
	return errors.Join(errs...)
}

func (r *round) clock(at time.Time) string { return at.Format("15:04:05.000") }

// checkRepeats finds the reason for each request of what was asked for before; only what was done to the crawl is one.
func (r *round) checkRepeats(log []fakeweb.Entry) error {
	r.verdict.repeats = map[string]int{}
	last := map[string]fakeweb.Entry{}
	var errs []error
	slices.SortFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	for _, e := range log {
		url := e.URL()
		before, again := last[url]
		last[url] = e
		if !again || e.Path == "/robots.txt" || e.Path == "/robots-moved.txt" {
			continue
		}
		done := slices.ContainsFunc(r.events, func(event event) bool { return before.Start.Before(event.to) && e.Start.After(event.from) })
		switch {
		case !done:
			errs = append(errs, fmt.Errorf("fetched twice without a reason: %s at %s and %s", url, r.clock(before.Start), r.clock(e.Start)))
		case before.Aborted:
			r.verdict.repeats["cut off"]++
		default:
			r.verdict.repeats["answered and not stored"]++
		}
	}
	if n := len(errs) - 5; n > 0 {
		errs = append(errs[:5], fmt.Errorf("and %d more were fetched twice", n))
	}
	return errors.Join(errs...)
}

// checkResumed measures how long the crawl stood still.
func (r *round) checkResumed(log []fakeweb.Entry) error {
	v := &r.verdict
	for _, at := range v.sinceStart {
		i := slices.IndexFunc(log, func(e fakeweb.Entry) bool { return e.Start.After(at) })
		if i >= 0 {
			v.resumed = max(v.resumed, log[i].Start.Sub(at))
		}
	}
	if v.death.IsZero() {
		if v.resumed > afterRestart {
			return fmt.Errorf("work resumed %v after the restart", v.resumed)
		}
		return nil
	}
	// Hosts that were being asked right before the death and then stood still were the dead slave's. One that is first asked again what
	// it was asked before, since the answer died with the slave, had work for certain; of the others the first to go on counts.
	asked, active, last := map[string]bool{}, map[string]bool{}, map[string]time.Time{}
	var sure, first time.Duration
	for _, e := range log {
		host := e.Origin()
		switch gap := e.Start.Sub(v.death); {
		case gap <= 0:
			asked[e.URL()], active[host] = true, gap > -time.Second
		case active[host] && last[host].IsZero() && gap > 5*r.o.delay:
			if asked[e.URL()] {
				sure = max(sure, gap)
			} else if first == 0 || gap < first {
				first = gap
			}
		}
		last[host] = time.Time{}
		if e.Start.After(v.death) {
			last[host] = e.Start
		}
	}
	if sure == 0 {
		sure = first
	}
	v.resumed = max(0, sure-v.rule)
	r.note("its hosts went on %s after", ms(sure))
	if v.resumed > afterDeath {
		return fmt.Errorf("work resumed %v after what the lease allows", v.resumed)
	}
	return nil
}
