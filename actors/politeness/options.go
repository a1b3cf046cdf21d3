package politeness

import (
	"fmt"
	"math"
	"time"
)

// Options are the choices of how politely hosts are asked. Take DefaultOptions or a profile and change fields.
type Options struct {
	// Floor is the least time between two requests to a host, whatever it would bear. Default 5 s. 0 is for hosts of
	// one's own: then nothing but back-off spaces requests, not even their duration or a Crawl-delay.
	Floor time.Duration
	// LargeHostFloor takes the place of Floor for hosts with more than LargeHostPages known pages; 0 pages: for none.
	// The paper has 60 s and 5 s above 10,000 pages, since hosts of many pages are run to bear visitors (profile
	// archive).
	LargeHostFloor time.Duration
	LargeHostPages int
	// Servers S and Connections C: from the start of a visit that took e to that of the next are at least (S/C)·e (9),
	// so that C connections suffice for S hosts asked side by side. 0 of either: the resources are not looked at.
	Servers, Connections int
	// At is the moment at which a verdict is asked for, in a crawl that runs: a host that has not been asked for long
	// is not feasible. The zero time: only visits that were made tell.
	At time.Time `json:"-"`
	// LeastRatio is how long a host rests after a visit, in times of what that took, also while the crawler is idle.
	// Default 2: it answers at most a third of the time. (The rule of thumb of ten times the fetch time is 10.)
	LeastRatio float64
	// MaxCrawlDelay bounds how much of a host's Crawl-delay is obeyed. Default 5 minutes: 288 pages a day.
	MaxCrawlDelay time.Duration
	// MaxRetryAfter bounds what a Retry-After can ask for. Default 7 days.
	MaxRetryAfter time.Duration
	// BackoffBase and BackoffCap: after n failures in a row the host rests BackoffBase·2^(n−1), at most BackoffCap.
	// Default 60 s, 24 h.
	BackoffBase, BackoffCap time.Duration
	// Jitter is the share by which rests are prolonged at random, so that hosts that failed together do not come back
	// together. Default 0.2.
	Jitter float64
	// DeadAfter is how many failures in a row that look as if there were no host (refused, no route, no name,
	// time-outs) make a host dead; 0: none. Default 12, which takes three days. A dead host is asked every ProbeEvery,
	// default 7 days.
	DeadAfter  int
	ProbeEvery time.Duration
}

// DefaultOptions returns the profile "polite".
func DefaultOptions() Options {
	return Options{
		Floor:         5 * time.Second,
		LeastRatio:    2,
		MaxCrawlDelay: 5 * time.Minute,
		MaxRetryAfter: 7 * 24 * time.Hour,
		BackoffBase:   time.Minute,
		BackoffCap:    24 * time.Hour,
		Jitter:        0.2,
		DeadAfter:     12,
		ProbeEvery:    7 * 24 * time.Hour,
	}
}

// Profile returns the options of a named profile: "polite" is the default; "archive" is the paper's, a minute between
// two requests, 5 s for hosts of more than 10,000 pages, for a crawl that stays for years.
func Profile(name string) (Options, error) {
	o := DefaultOptions()
	switch name {
	case "polite":
	case "archive":
		o.Floor, o.LargeHostFloor, o.LargeHostPages = time.Minute, 5*time.Second, 10_000
	default:
		return o, fmt.Errorf("politeness: no profile %q: there are polite and archive", name)
	}
	return o, nil
}

// Validate reports the first field that makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.Floor < 0 || o.LargeHostFloor < 0:
		return fmt.Errorf("politeness: floor %v, for large hosts %v: must not be below 0", o.Floor, o.LargeHostFloor)
	case o.LargeHostPages < 0 || o.Servers < 0 || o.Connections < 0 || o.DeadAfter < 0:
		return fmt.Errorf("politeness: %d pages, %d servers, %d connections, dead after %d: must not be below 0",
			o.LargeHostPages, o.Servers, o.Connections, o.DeadAfter)
	case !(o.LeastRatio >= 1 && o.LeastRatio <= 1e6):
		return fmt.Errorf("politeness: least ratio %v: a host is never asked twice at once, so at least 1",
			o.LeastRatio)
	case o.MaxCrawlDelay < 0 || o.MaxRetryAfter < 0:
		return fmt.Errorf("politeness: crawl-delay up to %v, retry-after up to %v: must not be below 0",
			o.MaxCrawlDelay, o.MaxRetryAfter)
	case o.BackoffBase <= 0 || o.BackoffCap < o.BackoffBase:
		return fmt.Errorf("politeness: back-off from %v to %v", o.BackoffBase, o.BackoffCap)
	case !(o.Jitter >= 0 && o.Jitter <= 1):
		return fmt.Errorf("politeness: jitter %v outside [0, 1]", o.Jitter)
	case o.DeadAfter > 0 && o.ProbeEvery <= 0:
		return fmt.Errorf("politeness: dead hosts probed every %v", o.ProbeEvery)
	}
	return nil
}

// Ratio returns S/C as it is reckoned with: at least LeastRatio + 1.
func (o *Options) Ratio() float64 {
	r := max(o.LeastRatio, 1) + 1
	if o.Servers > 0 && o.Connections > 0 {
		r = max(r, float64(o.Servers)/float64(o.Connections))
	}
	return r
}

// Pace returns how long a host rests from the end of a visit on, in times of what that took, so that I ≥ (S/C)·e from
// its start on: S/C − 1, and 0 when hosts of one's own are not paced. With n > 1 visits at once it is from start to
// start, (S/C)/n.
func (o *Options) Pace(n int) float64 {
	switch {
	case o.Floor == 0:
		return 0
	case n > 1:
		return o.Ratio() / float64(n)
	}
	return o.Ratio() - 1
}

// floor returns the floor for a host of so many pages.
func (o *Options) floor(pages uint64) time.Duration {
	if o.LargeHostPages > 0 && pages > uint64(o.LargeHostPages) {
		return o.LargeHostFloor
	}
	return o.Floor
}

// times returns d·f, at most the longest duration.
func times(d time.Duration, f float64) time.Duration {
	if p := float64(d) * f; p < math.MaxInt64 {
		return time.Duration(p)
	}
	return math.MaxInt64
}
