package host

import (
	"errors"
	"fmt"
	"time"

	"henro/actors/admission"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/stoplist"
	"henro/messages/weburl"
)

// Options are what every Host of a crawl goes by.
type Options struct {
	Politeness politeness.Options
	Revisit    revisit.Options
	// how many requests may be under way at once to the hosts that consent, by name, by .name for all below it too, or
	// by scheme://name:port; to others one
	Parallel   map[string]int
	Admission  admission.Options // which links are taken
	Stop       stoplist.Options
	URLRules   URLRuleMode
	Continuous bool // known pages are visited again
	Again      bool // known pages are visited once in each round of a crawl that ends
	// sitemaps that robots.txt names are visited, and what sitemaps and feeds say of pages is heeded
	Sitemaps bool
	Aliases  bool // evidence is collected that hosts are others under a second name
	// features beside those of every host, each made for a host by its name
	Features []func(host string) Feature
	// what pages get whose host bears fewer visits than they ask for. Optimal: the most versions for the visits that
	// there are
	Relief politeness.Relief

	// a lease has as many visits as fit into this at the host's interval. 30 s: long enough that commits are shared,
	// short enough that work spreads
	LeaseSpan time.Duration
	// visits of one lease at most, maxBudget at most; SharedBudget while many hosts have pages. 4,000: the pages of a
	// lease are committed while it goes on, and a host that is alone waits for the last of them between two leases
	PageBudget  int
	TaskBudget  int // tasks of one lease at most: they must fit into one message
	KnownBudget int // fingerprints sent with a lease at most; a host with more is not followed inside leases
	// slaves follow links within a lease, before they are written down; not when the Master's frontier decides what is
	// visited
	Follow    bool
	LookAhead time.Duration // a host that may be asked this soon is lent already; its slave waits
	Retries   int           // failed visits of a page, or of robots.txt, before it is given up
	RetryWait time.Duration // before the first retry, doubled for each further
	// how long a host may rest, since it asked for that or by its back-off, before a crawl that is to end gives up its
	// pages; 0 is no limit. Two hours: a host that is mended over lunch is waited for, one that says ten years is not
	Patience time.Duration
	// pages of one host that are visited at most, the rest is given up; 0 is no limit, and a crawl that visits known
	// pages again has none. A million: what holds where every other rule against traps fails
	MaxPages  uint64
	MaxAwake  int           // Host actors alive
	RestAfter time.Duration // an idle Host goes to rest after this
}

// DefaultOptions fit an ordinary crawl.
func DefaultOptions() Options {
	return Options{
		Politeness: politeness.DefaultOptions(), Revisit: revisit.DefaultOptions(), Relief: politeness.Optimal,
		Admission: admission.DefaultOptions(), Stop: stoplist.DefaultOptions(),
		LeaseSpan: 30 * time.Second, PageBudget: 4000, TaskBudget: 500, KnownBudget: 8000, Follow: true,
		LookAhead: time.Second,
		Retries:   3, RetryWait: time.Minute, Patience: 2 * time.Hour, MaxPages: 1_000_000,
		MaxAwake: 50_000, RestAfter: 30 * time.Second,
	}
}

// retryWait is how long a page, or robots.txt, waits after so many failures.
func (o *Options) retryWait(attempt int) time.Duration {
	return o.RetryWait << min(max(attempt, 1)-1, 10)
}

// UntilGivenUp is how much longer a host that has failed every request is waited for after its present rest, if it goes
// on failing.
func (o *Options) UntilGivenUp(failures int) (left time.Duration) {
	for k := failures + 1; k <= o.Retries; k++ {
		rest := min(o.Politeness.BackoffBase<<min(k-1, 20), o.Politeness.BackoffCap)
		rest = max(rest+time.Duration(o.Politeness.Jitter/2*float64(rest)), o.retryWait(k))
		if o.Patience > 0 && rest > o.Patience {
			break
		}
		left += rest
	}
	return left
}

// parallel is how many requests may be under way at once to a host; 0: one.
func (o *Options) parallel(host string) int {
	for _, p := range weburl.Patterns(host) {
		if n := o.Parallel[p]; n > 0 {
			return n
		}
	}
	return 0
}

// maxBudget bounds PageBudget: what a slave may have reported under a lease is remembered until it ends.
const maxBudget = 10_000

// SharedBudget is how many visits a lease has at most while many hosts have pages: others wait for its end.
func (o *Options) SharedBudget() int { return min(o.PageBudget, 1000) }

// Validate says what makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.LeaseSpan <= 0 || o.RestAfter <= 0 || o.RetryWait < 0 || o.Patience < 0:
		return errors.New("lease span and rest: want more than nothing; retry wait and patience: want nothing or more")
	case o.PageBudget < 1 || o.TaskBudget < 1 || o.KnownBudget < 0 || o.MaxAwake < 1:
		return errors.New("budgets of a lease and hosts awake: want at least 1")
	case o.PageBudget > maxBudget:
		return fmt.Errorf("visits of a lease: want at most %d", maxBudget)
	case o.Retries < 0 || o.Retries > 100:
		return errors.New("retries: want 0 to 100")
	}
	return errors.Join(o.Admission.Validate(), o.Stop.Validate())
}
