package master

import (
	"errors"
	"fmt"
	"time"

	"henro/actors/host"
	"henro/actors/partition"
	"henro/actors/reading"
	"henro/actors/scope"
	"henro/master/frontier"
	"henro/master/watchlist"
	"henro/master/window"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/consensus"
)

// Options are those of one crawl.
type Options struct {
	Dir     string // state/, warc/ and summary.json lie here
	Name    string // of this master
	Boot    string // new at every start
	Version string

	Scope     scope.Options
	Depth     int // links followed from a seed; negative: without end
	Hosts     host.Options
	Partition partition.Options
	Store     store.Options
	// which URLs are visited next, and with slots and ranked which are kept at all. Interval is not used: it is that of
	// politeness. Default host: the Hosts take turns, and everything is kept
	Frontier frontier.Options
	// the policy thesis: URLs of a task, drawn at random from seeds and collected links; Depth counts anew from each.
	// Default 0: no tasks, what seeds lead to is crawled
	TaskURLs int
	Whole    bool                    // the hosts that a task reaches go to one slave. Default: to whichever has room
	Order    frontier.Order          // which of a host's URLs go first. Default breadth
	Unit     Unit                    // of politeness: which hosts share a clock. Default host
	Lookup   Lookup                  // for Unit ip: the addresses of a host, as slaves will find them
	Fetch    *messages.FetchSettings // handed to every slave

	// how long a lease lasts unless renewed. 60 s: renewals come every second, so a slave may be silent for a minute
	LeaseFor    time.Duration
	LeaseMargin time.Duration // a lease is honoured so much longer than it lasts: clocks run at different speeds
	MaxPages    uint64        // stop after so many visits; 0: no limit
	MaxBytes    uint64        // stop after so much payload; 0: no limit
	For         time.Duration // stop after so long; 0: no limit
	Hours       window.Hours  // in which hosts are asked; none: always
	RoundEvery  time.Duration // with Hosts.Again: from the start of a round to that of the next; 0: there is one round
	TickEvery   time.Duration // how often it is looked whether leases have run out, and the crawl is to end
	// report it, with the reason, when nothing was fetched for so long though URLs wait. 2 min: twice the longest
	// fetch; 0: never
	StallAfter time.Duration
	StallLimit time.Duration // stop when nothing could be stored for so long; 0: wait for ever

	Watched watchlist.List // the list that the dashboard shows; nil: there is none
	// Definition is what the settings were made of; Start writes it into Dir. nil: as Dir has it
	Definition *reading.Definition
	// State is the state of the crawl, opened by the caller, who closes it. nil: Start opens the one in Dir, and Close
	// closes it
	State *store.State
	// Keep has the other masters know a file of Dir. nil: there are none
	Keep func(name string, content []byte) error
	Run  Run // the run that this master goes on with; zero: it begins one
	// Masters are all masters of the crawl, as this one saw them last. nil: it is the only one
	Masters func() []consensus.Member
	// Others are the addresses of the actors of the other masters, by name. nil: there are none
	Others func() map[string]string

	visited uint64 // visits of this run before this master; set by Start

	claim   messages.Claim // set by Start; none in tests of the Master alone
	defined *definition    // set by Start; nil in tests of the Master alone
}

// DefaultOptions are those of an ordinary crawl.
func DefaultOptions() Options {
	return Options{
		Dir: "crawl", Depth: 3, Scope: scope.DefaultOptions(),
		Hosts: host.DefaultOptions(), Partition: partition.DefaultOptions(), Store: store.DefaultOptions(),
		Frontier: frontier.DefaultOptions(), Order: frontier.OrderBreadth,
		Unit: UnitHost, Fetch: DefaultFetch(),
		LeaseFor: time.Minute, LeaseMargin: 2 * time.Second, TickEvery: 250 * time.Millisecond,
		StallAfter: 2 * time.Minute, StallLimit: time.Minute,
	}
}

// DefaultFetch are the defaults of the flags.
func DefaultFetch() *messages.FetchSettings {
	return &messages.FetchSettings{
		FetchTimeoutNs: int64(60 * time.Second), ConnectTimeoutNs: int64(10 * time.Second),
		IdleTimeoutNs: int64(20 * time.Second),
		MaxBody:       64 << 20, RobotsAgent: "henro", Near: true,
	}
}

// Validate says what makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.Dir == "":
		return errors.New("a crawl needs a directory: give --dir")
	case o.Name == "" || o.Boot == "":
		return errors.New("a master needs a name and a boot id")
	case o.LeaseFor < time.Second || o.LeaseMargin < 0:
		return fmt.Errorf("lease %v, margin %v: a lease lasts at least a second, the margin is not negative",
			o.LeaseFor, o.LeaseMargin)
	case o.TickEvery <= 0:
		return fmt.Errorf("tick every %v: want more than nothing", o.TickEvery)
	case o.Depth > outlink.UnlimitedDepth-1:
		return fmt.Errorf("depth %d: want at most %d, or -1 for no limit", o.Depth, outlink.UnlimitedDepth-1)
	}
	if err := o.Hosts.Validate(); err != nil {
		return err
	}
	if err := o.ValidateOrder(); err != nil {
		return err
	}
	if err := o.validateUnit(); err != nil {
		return err
	}
	return o.Store.Validate()
}

// ValidateOrder says what makes no sense in the choice of a frontier and of an order of URLs.
func (o *Options) ValidateOrder() error {
	if err := o.Frontier.Validate(); err != nil {
		return err
	}
	switch {
	case o.Frontier.Policy != frontier.PolicyHost && (o.Hosts.Continuous || o.Hosts.Again):
		return fmt.Errorf("frontier %s orders first visits only: a crawl that revisits needs frontier host",
			o.Frontier.Policy)
	case o.Hosts.Admission.Topic != nil && o.Order != "" && o.Order != frontier.OrderBreadth:
		return fmt.Errorf("a topic orders the URLs of a host: give no order %s beside it", o.Order)
	case o.TaskURLs < 0 || o.TaskURLs > maxTaskURLs:
		return fmt.Errorf("task of %d URLs: want 1 to %d", o.TaskURLs, maxTaskURLs)
	case o.TaskURLs > 0 && o.Depth < 0:
		return errors.New("frontier thesis draws what lies beyond the depth of a task: give a depth of 0 or more")
	case o.TaskURLs > 0 && (o.Frontier.Policy != frontier.PolicyHost || o.Hosts.Continuous || o.Hosts.Again):
		return errors.New("frontier thesis draws first visits only: a crawl that revisits needs frontier host")
	}
	_, err := frontier.ParseOrder(string(o.Order))
	return err
}
