package master

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/actors/scope"
	"henro/master/forecast"
	"henro/master/frontier"
	"henro/messages"
	"henro/messages/speech"
	"henro/store"
)

// ActorName is where other nodes find the Master.
const ActorName = "master"

// Node is a master at work: the opened state and the actors on it.
type Node struct {
	system *actor.ActorSystem
	state  *store.State
	pid    *actor.PID
	end    context.CancelFunc // of foresight
	ended  sync.WaitGroup
	done   chan Status
	o      Options
	log    *logrus.Entry
	began  Run // the run as of the start of this master

	notices notices
	seen    seen
}

// seen is what a Node and its Master show each other. A pointer that holds nil: there is nothing yet.
type seen struct {
	scope atomic.Pointer[scope.Scope]               // with all seeds
	sent  atomic.Pointer[protocol.ResourcesChanged] // S and C as the Hosts have them
	// the latest, written by the Node
	forecast atomic.Pointer[forecast.Forecast]
	whole    atomic.Pointer[reading.Wholeness]
	most     atomic.Int64 // the largest C since the start
}

// Start opens the state of a crawl and sets the Master to work in an actor system. Close ends it.
func Start(system *actor.ActorSystem, o Options, log *logrus.Entry) (*Node, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	rules, err := scope.New(o.Scope)
	if err != nil {
		return nil, err
	}
	o.Fetch.Include, o.Fetch.Exclude = o.Scope.Include, o.Scope.Exclude
	o.Fetch.Sitemaps = o.Hosts.Sitemaps
	o.Fetch.Near = o.Fetch.Near && o.Store.Contents > 0
	m := &o.Hosts.Admission
	m.Selective, m.Depth = len(o.Fetch.Languages) > 0, o.Depth
	if m.Selective {
		o.Hosts.Follow = false // slaves do not know how far links may be followed from a page
	}
	if o.Fetch.Admission, err = m.MarshalBinary(); err != nil {
		return nil, err
	}
	state := o.State
	if state == nil {
		if state, err = store.OpenState(filepath.Join(o.Dir, "state"), o.Store); err != nil {
			return nil, fmt.Errorf("open the state in %s: %w", o.Dir, err)
		}
	}
	o.claim = messages.Claim{Crawl: state.Crawl(), Term: state.Term(), Boot: o.Boot}
	n := &Node{system: system, state: state, done: make(chan Status, 1), o: o, log: log}
	if o.defined, err = openDefinition(&n.o, state, SettingsOf(&o)); err == nil {
		err = keepReserve(o.Dir)
	}
	if err == nil {
		rules, err = o.defined.Scope()
	}
	if err != nil {
		return nil, errors.Join(err, n.closeState())
	}
	n.o.defined = o.defined
	n.seen.scope.Store(rules)
	if o.visited, err = o.Run.visited(state); err == nil {
		n.began, err = BeginRun(state)
	}
	if err != nil {
		return nil, errors.Join(err, n.closeState())
	}
	rounds, err := openSeries(o.Dir, state, o.Hosts.Again)
	if err != nil {
		return nil, errors.Join(err, n.closeState())
	}
	clocks, err := restoreClocks(&o, state, floor.Now())
	if err != nil {
		return nil, errors.Join(err, n.closeState())
	}
	n.pid, err = system.Root.SpawnNamed(Props(o, state, clocks, n.done, rounds, &n.seen, log), ActorName)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spawn the master: %w", err), n.closeState())
	}
	ctx, end := context.WithCancel(context.Background())
	n.end = end
	n.ended.Go(func() {
		defer floor.Guard(n.system, "the foresight of the end")
		(&foresight{n: n}).run(ctx, time.Now())
	})
	return n, nil
}

// Claim is the claim of this master to lead the crawl.
func (n *Node) Claim() messages.Claim { return n.o.claim }

// Handover is the run, for another master to go on with. It fails when the crawl is ending.
func (n *Node) Handover(ctx context.Context) (run Run, err error) {
	now, err := Ask[*Run](ctx, n, &runAsked{})
	if err != nil {
		return run, err
	}
	if now.End != "" {
		return run, errors.New("the crawl is ending")
	}
	run = *now
	run.Begun, run.Before = n.began.Begun, n.began.Before
	return run, nil
}

// PID is the Master's address in its system.
func (n *Node) PID() *actor.PID { return n.pid }

// Run plants the seeds, waits for the end of the crawl, and leaves its summary. When asked ends, the crawl is stopped
// in order; when given ends, it is left as it is.
func (n *Node) Run(asked, given context.Context, seeds []reading.Seed) (Status, error) {
	var status Status
	planted := make(chan error, 1)
	if len(seeds) > 0 {
		go func() { // for a minute at most
			defer floor.Guard(n.system, "the planting of seeds")
			_, err := Ask[*SeedsAdded](given, n, &AddSeeds{Seeds: seeds})
			planted <- err
		}()
	} else {
		planted <- nil
	}
	select {
	case err := <-planted:
		if err != nil {
			return Status{}, err
		}
	case <-given.Done():
		return Status{}, given.Err()
	case status = <-n.done: // the state could not take them
		return status, n.writeSummary(status)
	}
	n.system.Root.Send(n.pid, &Begin{})
	select {
	case status = <-n.done:
	case <-given.Done():
		return Status{}, given.Err()
	case <-asked.Done():
		if _, err := Ask[*Status](given, n, &Stop{Why: Stopped}); err != nil {
			return Status{}, err
		}
		select {
		case status = <-n.done:
		case <-given.Done():
			return Status{}, given.Err()
		}
	}
	if err := n.countWhole(&status); err != nil {
		return status, err
	}
	if status.End == Finished {
		failed, err := failedSeeds(n.state, seeds)
		if err != nil {
			return status, err
		}
		status.FailedSeeds = failed
	}
	return status, n.writeSummary(status)
}

// FindMissing is Missing of package reading, while the crawl runs. If it counts all pages, the status has the result.
func (n *Node) FindMissing(prefix string, fn func(*reading.PageMissing) error) (*reading.Wholeness, error) {
	whole, err := n.Reading().Missing(prefix, n.o.Dir, fn)
	if err == nil && prefix == "" {
		n.seen.whole.Store(whole)
	}
	return whole, err
}

const (
	// wholeCost is what the count takes for a page with 20 requisites; see BenchmarkMissing
	wholeCost = 100 * time.Microsecond
	// wholeShare is how many times as long as the count a run must have taken
	wholeShare = 50
)

// countWhole counts the pages that are whole at the end of a run, unless that would take more than a fiftieth of its
// time.
func (n *Node) countWhole(s *Status) error {
	s.Whole = nil
	takes := time.Duration(s.Totals.Pages) * wholeCost
	if n.o.Hosts.Admission.Requisites == 0 || wholeShare*takes.Seconds() > s.Seconds {
		return nil
	}
	whole, err := n.FindMissing("", func(*reading.PageMissing) error { return nil })
	s.Whole = whole
	return err
}

// Ask sends a command to the Master and waits for its answer until the context ends, or a minute if that has no
// deadline.
func Ask[Answer any](ctx context.Context, n *Node, command any) (Answer, error) {
	var none Answer
	timeout := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	var result any
	var err error
	answered := make(chan struct{})
	go func() {
		defer floor.Guard(n.system, "a question to the master")
		defer close(answered)
		result, err = n.system.Root.RequestFuture(n.pid, command, timeout).Result()
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		return none, fmt.Errorf("ask the master: %w", ctx.Err())
	}
	if err != nil {
		return none, fmt.Errorf("ask the master: %w", err)
	}
	answer, ok := result.(Answer)
	if !ok {
		return none, fmt.Errorf("ask the master: it answered with %T", result)
	}
	return answer, nil
}

// SummaryName is the file of the crawl's directory that holds its Summary.
const SummaryName = "summary.json"

// Summary is what is left in summary.json when a crawl has ended.
type Summary struct {
	Pages      uint64 `json:"pages"`
	Requisites uint64 `json:"requisites"`
	// how many pages are whole; nil: the count would have taken too long, or requisites are not fetched
	Whole     *reading.Wholeness `json:"whole,omitempty"`
	Revisits  uint64             `json:"revisits"`
	Links     uint64             `json:"links"`
	Hosts     uint64             `json:"hosts"`
	Bytes     uint64             `json:"bytes"`
	Identical uint64             `json:"identical"` // answers whose payload was archived already
	// bytes of these that were not stored again
	IdenticalBytes uint64            `json:"identical_bytes"`
	StopListed     uint64            `json:"stop_listed"`
	StopShare      float64           `json:"stop_share"` // protocol.Totals.StopShare
	Trapped        uint64            `json:"trapped"`
	Skipped        admission.Counts  `json:"skipped"` // protocol.Totals.Skipped
	Errors         map[string]uint64 `json:"errors"`
	// by the words of Errors, the latest visit in this run that failed for this cause
	Failures map[string]FailedVisit `json:"failures,omitempty"`
	// the first seeds, if every seed of this run failed
	FailedSeeds    []FailedVisit   `json:"failed_seeds,omitempty"`
	Seconds        float64         `json:"seconds"`
	PagesPerSecond float64         `json:"pages_per_second"`
	End            End             `json:"end"`
	Stalled        speech.Sentence `json:"stalled,omitzero"`   // what kept the crawl from going on at its end
	Frontier       frontier.Policy `json:"frontier,omitempty"` // without one, the Hosts took turns
	// unknown URLs for which the frontier had no room, each time they turned up
	Dropped  uint64 `json:"dropped,omitempty"`
	Returned uint64 `json:"returned,omitempty"` // URLs that it took after having dropped them
}

// String is the summary in one line.
func (s Summary) String() string {
	return fmt.Sprintf("%d pages, %d requisites and %d revisits of %d hosts, %d links, %d bytes in %.1fs: %s", s.Pages,
		s.Requisites, s.Revisits, s.Hosts, s.Links, s.Bytes, s.Seconds, s.End)
}

// SummaryOf makes the summary of a last status.
func SummaryOf(s Status) Summary {
	sum := Summary{
		Pages: s.Totals.Pages, Requisites: s.Totals.Requisites, Revisits: s.Totals.Revisits, Links: s.Totals.Links,
		Hosts: s.Hosts,
		Bytes: s.Totals.Bytes, Whole: s.Whole,
		Identical: s.Totals.Identical, IdenticalBytes: s.Totals.IdenticalBytes,
		StopListed: s.Totals.StopListed, StopShare: s.Totals.StopShare(), Skipped: s.Totals.Skipped,
		Trapped: s.Totals.Trapped, Errors: s.Totals.Errors, Seconds: s.Seconds, PagesPerSecond: s.PerSecond,
		End: s.End, Stalled: s.Stalled, Failures: s.Failures, FailedSeeds: s.FailedSeeds,
	}
	if s.Frontier != nil {
		sum.Frontier, sum.Dropped, sum.Returned = s.Frontier.Policy, s.Totals.Dropped, s.Totals.Returned
	}
	if sum.Errors == nil {
		sum.Errors = map[string]uint64{}
	}
	return sum
}

// writeSummary leaves the summary in the directory of the crawl.
func (n *Node) writeSummary(s Status) error {
	return errors.Join(releaseReserve(n.o.Dir), n.o.writeJSON(SummaryName, SummaryOf(s)))
}

// Close ends the actors and then closes the state: what they have written is on disk.
func (n *Node) Close() error {
	n.end()
	n.ended.Wait()
	err := n.o.defined.rest(int(n.seen.most.Load()))
	if failed := floor.End(n.system, n.pid); failed != nil {
		err = errors.Join(err, fmt.Errorf("end the master: %w", failed))
	}
	return errors.Join(err, n.closeState())
}

func (n *Node) closeState() error {
	if n.o.State != nil {
		return nil
	}
	return n.state.Close()
}
