// Package verdict judges a crawl by what it left: the access log of the web, the state, the archives.
//
// It knows nothing of how the crawl was made or what was done to it, but when: whatever was fetched twice outside those
// stretches has no reason. What it checks are invariants 1 to 5: no two requests to a host at once, none before the
// host's interval is over, no page of the web missing or too many, each page with a response in an archive, and no
// effect twice.
package verdict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/lending"
	"henro/messages/weburl"
	"henro/store"
)

// What a slow machine alone may cause.
var (
	// ErrLate says that work went on later than promised.
	ErrLate = errors.New("later than promised")
	// ErrTwice says that a page was fetched twice and nothing had been done to the slave that fetched it first.
	ErrTwice = errors.New("fetched twice without a reason")
	// ErrSoon says that a host was asked before its interval was over, or while it was answering. The web, which is in
	// the lab's process, notes a request when it has time for it: one that was cut off while the lab stood still is
	// noted long after it was sent.
	ErrSoon = errors.New("too soon")
)

// Reasons are the reasons for fetching twice, in the order of a table.
var Reasons = [...]string{archived, answered, cutOff}

const (
	archived = "archived and not stored"
	answered = "answered and not archived"
	cutOff   = "cut off before the answer"
)

// Crawl is a crawl that has ended, with what was done to it and what is measured.
type Crawl struct {
	Web      *fakeweb.Web
	Port     uint16   // of every host
	Seeds    []string // canonical
	Depth    int
	Delay    time.Duration // the politeness interval
	State    string        // directory
	Archives []string      // directories
	// Requisites were fetched, and must be there too
	Requisites bool
	Events     []Event

	SinceStart []time.Time   // starts after which work had to resume
	Death      time.Time     // of a slave; zero: none
	Rule       time.Duration // for which its hosts must wait
	Of         netip.Addr    // the slave that died, as the web saw it; zero: not known
	Cut        bool          // it did not die but was cut off: its hosts go on when others ask them

	// Measured.
	Pages    int            // in the state, with a response, requisites among them
	Revisits int            // records whose payload is in another, all of which it was looked for
	Lost     int            // that the web says a correct crawl fetches, and the state does not have
	Repeats  map[string]int // requests for what was asked for before, by reason
	Interval time.Duration  // least between the starts of two requests to a host
	Resumed  time.Duration  // from the restart, or from the death beyond the rule, until work went on
	Stood    time.Duration  // from the death until its hosts went on
	Denied   map[string]int // pages that robots.txt forbids, by host
}

// Event is a stretch of time in which something was done: what was fetched before its end may have to be fetched again
// after its beginning.
type Event struct {
	From, To time.Time
	Of       netip.Addr // whose fetches only, as the web sees the slave; zero: everybody's
}

// How long it may take until work goes on.
const (
	AfterDeath   = 10 * time.Second // of a slave, beyond the lease rule
	AfterRestart = 5 * time.Second  // of the master, or of all
)

// AwaitProgress measures how long it takes from a moment until the master stores another page. What was fetched until
// so many slaves work for it again may have been cut off, by a lease that ended while they had no master.
func (c *Crawl) AwaitProgress(ctx context.Context, since time.Time, slaves int, running func() bool,
	ask func(context.Context) (*master.Status, error)) {
	first, resumed := uint64(0), false
	for time.Since(since) < 30*time.Second && running() && ctx.Err() == nil {
		if s, err := ask(ctx); err == nil && s.Known > 0 {
			done := s.Totals.Pages + s.Totals.Revisits
			if first == 0 {
				first = done
			}
			if !resumed && (done > first || s.Waiting == 0) {
				c.Resumed, resumed = time.Since(since), true
			}
			if resumed && (working(s) >= slaves || s.Waiting == 0) {
				break
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !resumed {
		c.Resumed = time.Since(since)
	}
	if n := len(c.Events); n > 0 {
		c.Events[n-1].To = time.Now()
	}
}

// working is how many slaves work for a master.
func working(s *master.Status) (n int) {
	for i := range s.Slaves {
		if s.Slaves[i].State == lending.Working {
			n++
		}
	}
	return n
}

// Margin is what the master waits beyond the end of a lease.
const Margin = 2 * time.Second

// measuring is what the access log may be wrong by: two heads read by two goroutines.
const measuring = 2 * time.Millisecond

// Twice counts what was fetched again, whatever the reason.
func (c *Crawl) Twice() (n int) {
	for _, count := range c.Repeats {
		n += count
	}
	return n
}

// Judge looks at everything the crawl has left.
func (c *Crawl) Judge() error {
	log := c.Web.Log()
	slices.SortStableFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	captures, revisits, err := readArchives(c.Archives)
	c.Revisits = revisits
	return errors.Join(err, c.checkState(captures), c.checkPace(log), c.checkRepeats(log, captures),
		c.checkResumed(log))
}

// checkState compares the pages in the state with the truth, and looks each up in the archives.
func (c *Crawl) checkState(captures map[string]int) error {
	report, err := store.Check(c.State, func(_, _ uint64) {})
	if err != nil {
		return fmt.Errorf("check the state: %w", err)
	}
	var errs []error
	for _, problem := range report.Problems {
		errs = append(errs, fmt.Errorf("state: %s", problem))
	}
	pages, leases, err := readState(c.State)
	if err != nil {
		return err
	}
	c.Pages = len(pages)
	if leases > 0 {
		errs = append(errs, fmt.Errorf("%d leases are left in the state", leases))
	}
	truth, err := c.Web.Reachable(fakeweb.Crawl{Seeds: c.Seeds, Depth: c.Depth})
	if err != nil {
		return err
	}
	c.Denied = map[string]int{}
	for url := range truth.Denied {
		c.Denied[weburl.MustParse(url).Host()]++
	}
	if c.Requisites {
		if err := c.addRequisites(truth); err != nil {
			return err
		}
	}
	var missing, extra, unarchived []string
	for url := range truth.Fetched {
		if pages[url] == 0 {
			missing = append(missing, url)
		}
	}
	c.Lost = len(missing)
	for url, n := range pages {
		if _, ok := truth.Fetched[url]; !ok || n > 1 {
			extra = append(extra, url)
		}
		if captures[url] == 0 {
			unarchived = append(unarchived, url)
		}
	}
	for _, found := range []struct {
		what string
		urls []string
	}{{"missing in the state", missing}, {"too many in the state", extra},
		{"in the state and in no WARC", unarchived}} {
		if n := len(found.urls); n > 0 {
			slices.Sort(found.urls)
			errs = append(errs, fmt.Errorf("%d pages %s, such as %s", n, found.what,
				strings.Join(found.urls[:min(n, 3)], " ")))
		}
	}
	return errors.Join(errs...)
}

// addRequisites adds what the pages of the web are made of to what a crawl fetches.
func (c *Crawl) addRequisites(truth *fakeweb.Truth) error {
	now, pages := time.Now(), slices.Collect(maps.Keys(truth.Fetched))
	for _, url := range pages {
		page, err := c.Web.Page(url, now)
		if err != nil {
			return err
		}
		for _, l := range page.Links {
			if _, known := truth.Fetched[l.URL]; known || l.Kind.Class() == 0 {
				continue
			}
			requisite, err := c.Web.Page(l.URL, now)
			if err != nil {
				return err
			}
			if requisite.Allowed {
				truth.Fetched[l.URL] = truth.Fetched[url]
			}
		}
	}
	return nil
}

// readState counts the records with a response of each URL, and the leases open.
func readState(dir string) (pages map[string]int, leases int, err error) {
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(dir, o)
	if err != nil {
		return nil, 0, err
	}
	defer state.Close()
	pages = map[string]int{}
	for _, p := range state.Partitions {
		err := p.Pages.Each(func(page store.Page, _ store.Place) error {
			if page.Status != 0 {
				pages[page.URL]++
			}
			return nil
		})
		open, failed := p.Leases.All()
		leases += len(open)
		if err := errors.Join(err, failed); err != nil {
			return nil, 0, err
		}
	}
	return pages, leases, nil
}

// checkPace looks for invariants 1 and 2 in the log: one request at a time, and the interval between.
func (c *Crawl) checkPace(log []fakeweb.Entry) error {
	var errs []error
	for _, overlap := range fakeweb.Overlaps(log, 0) {
		if overlap.First.Aborted && overlap.For < Margin {
			continue // the end of what was cut off is seen when the web has time for it
		}
		errs = append(errs, fmt.Errorf("%w: two requests at once for %v: %s at %s and %s at %s", ErrSoon, overlap.For,
			overlap.First.URL(), clock(overlap.First.Start), overlap.Second.URL(), clock(overlap.Second.Start)))
	}
	wishes := map[string]time.Duration{}
	for i := range c.Web.Hosts() {
		if h := c.Web.Host(i); h.Robots == fakeweb.RobotsDelayed {
			wishes[fmt.Sprintf("http://%s:%d", h.Name, c.Port)] = h.CrawlDelay
		}
	}
	c.Interval = time.Hour
	last := map[string]fakeweb.Entry{}
	for _, e := range log {
		want := c.Delay
		// which is asked for again at that interval, when its wish was lost with the process that had read it
		if e.Path != "/robots.txt" {
			want = max(want, wishes[e.Origin()])
		}
		if before, ok := last[e.Origin()]; ok {
			gap := e.Start.Sub(before.Start)
			c.Interval = min(c.Interval, gap)
			if gap < want-measuring {
				errs = append(errs,
					fmt.Errorf("%w: %s was asked for by %s at %s, %v after %s by %s; the interval is %v",
						ErrSoon, e.URL(), e.From, clock(e.Start), gap, before.Path, before.From, want))
			}
		}
		last[e.Origin()] = e
	}
	return few(errs, "came too soon")
}

// few is at most five of the errors.
func few(errs []error, what string) error {
	if n := len(errs) - 5; n > 0 {
		errs = append(errs[:5], fmt.Errorf("%w, and %d more %s", errs[5], n-1, what))
	}
	return errors.Join(errs...)
}

func clock(at time.Time) string { return at.Format("15:04:05.000") }

// checkRepeats finds the reason for each request of what was asked for before; only what was done to the crawl is one.
// Of the answers to a URL those were lost with a process that are in no archive.
func (c *Crawl) checkRepeats(log []fakeweb.Entry, captures map[string]int) error {
	c.Repeats = map[string]int{}
	lost := map[string]int{}
	for _, e := range log {
		if !e.Aborted {
			lost[e.URL()]++
		}
	}
	last := map[string]fakeweb.Entry{}
	var errs []error
	for _, e := range log {
		url := e.URL()
		before, again := last[url]
		last[url] = e
		if !again || e.Path == "/robots.txt" || e.Path == "/robots-moved.txt" {
			continue
		}
		done := slices.ContainsFunc(c.Events, func(event Event) bool {
			return before.Start.Before(event.To) && e.Start.After(event.From) &&
				(!event.Of.IsValid() || event.Of == before.From.Addr())
		})
		switch {
		case !done:
			errs = append(errs, fmt.Errorf("%w: %s by %s at %s and by %s at %s",
				ErrTwice, url, before.From, clock(before.Start), e.From, clock(e.Start)))
		case before.Aborted:
			c.Repeats[cutOff]++
		case lost[url] > captures[url]:
			lost[url]--
			c.Repeats[answered]++
		default:
			c.Repeats[archived]++
		}
	}
	return few(errs, "were fetched twice")
}

// checkResumed measures how long the crawl stood still.
func (c *Crawl) checkResumed(log []fakeweb.Entry) error {
	for _, at := range c.SinceStart {
		i := slices.IndexFunc(log, func(e fakeweb.Entry) bool { return e.Start.After(at) })
		if i >= 0 {
			c.Resumed = max(c.Resumed, log[i].Start.Sub(at))
		}
	}
	if c.Death.IsZero() {
		if c.Resumed > AfterRestart {
			return fmt.Errorf("%w: work resumed %v after the restart", ErrLate, c.Resumed)
		}
		return nil
	}
	c.Stood = c.stood(log)
	c.Resumed = max(0, c.Stood-c.Rule)
	if c.Resumed > AfterDeath {
		return fmt.Errorf("%w: work resumed %v after what the lease allows", ErrLate, c.Resumed)
	}
	return nil
}

// stood measures how long the hosts of a slave stood still after its death: those that it, or somebody, asked right
// before, and that was not asked for a while. One that is first asked again what it was asked before, since the answer
// died with the slave, had work for certain; of the others the first to go on counts.
func (c *Crawl) stood(log []fakeweb.Entry) time.Duration {
	asked, active, last := map[string]bool{}, map[string]bool{}, map[string]time.Time{}
	var sure, first time.Duration
	for _, e := range log {
		host := e.Origin()
		switch gap := e.Start.Sub(c.Death); {
		case gap <= 0:
			asked[e.URL()], active[host] = true, gap > -max(time.Second, 2*c.Delay) &&
				(!c.Of.IsValid() || e.From.Addr() == c.Of)
		case c.Cut && e.From.Addr() == c.Of:
			continue
		case active[host] && last[host].IsZero() && (c.Of.IsValid() || gap > 5*c.Delay):
			if asked[e.URL()] {
				sure = max(sure, gap)
			} else if first == 0 || gap < first {
				first = gap
			}
		}
		last[host] = time.Time{}
		if e.Start.After(c.Death) {
			last[host] = e.Start
		}
	}
	if sure == 0 {
		sure = first
	}
	return sure
}
