package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"
	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/master/changefeed"
	"henro/messages/ticks"
	"henro/store"
	"henro/store/consensus"
	"henro/store/fsync"
)

// masters is this process among several masters of one crawl: it follows the one that leads, or leads. The one that
// leads does what a master alone does, on a state whose commits go to all.
type masters struct {
	*flags
	o         master.Options
	given     *pflag.FlagSet
	seeds     []reading.Seed
	telemetry *config.Telemetry
	log       *logrus.Entry
	joined    *config.Joined
	group     *consensus.Group
	endpoint  *config.Endpoint // of this process, whoever leads; nil: none
	listening net.Listener     // of the consensus
	security  consensus.Security
	address   string     // of the consensus
	begun     master.Run // the run that this master led alone until it founded the group; zero: another one founded it
	before    master.Run // the run in this copy of the state when this process began; if it was over, it is another one
	met       bool       // a master leads, or has led, since then

	grouped atomic.Bool                 // group is there
	node    atomic.Pointer[master.Node] // that leads here in the group; nil: none
	others  others
}

// Intervals.
const (
	lookEvery = 200 * time.Millisecond // whether the run is over, and what to tend
	tendEvery = time.Second
	// for the others to learn of the end; after 6 s the gossip knows which are gone, and those are not waited for
	farewell = 30 * time.Second
	// what the crawl goes by is left beside this copy, for a look into it later
	shareEvery = 10 * time.Second
	// without a leader: an election takes some two seconds
	leaderless = 15 * time.Second
	warnEvery  = time.Minute
)

// noLeader is the warning after leaderless.
const noLeader = "no master leads: nothing is lent or stored. Start the masters that are missing: more than half of " +
	"those with a vote must be there (henro nodes). If they are lost for good, henro nodes recover makes this " +
	"copy of the state the only one. A standby that is new waits here until a master that leads adds it"

var errDeposed = errors.New("another master leads now")

func statePath(o *master.Options) string { return filepath.Join(o.Dir, "state") }

// others are the other masters that are there.
type others struct {
	second chan struct{} // holds one when another has appeared
	mu     sync.Mutex
	byName map[string]cluster.Member
}

func newOthers() others {
	return others{second: make(chan struct{}, 1), byName: map[string]cluster.Member{}}
}

// memberOf is the member that news are of.
func memberOf(event cluster.Event) (c cluster.Member, down bool) {
	switch e := event.(type) {
	case *cluster.MemberUp:
		c = e.Member
	case *cluster.MemberUpdated:
		c = e.Member
	case *cluster.MemberDown:
		c, down = e.Member, true
	}
	return c, down
}

// notice keeps them.
func (o *others) notice(event cluster.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch c, down := memberOf(event); {
	case down && o.byName[c.Name].Boot == c.Boot:
		delete(o.byName, c.Name)
	case !down && c.Consensus != "" && (c.Role == cluster.Master || c.Role == cluster.Standby):
		o.byName[c.Name] = c
		ticks.Nudge(o.second)
	}
}

func (o *others) all() []cluster.Member {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.byName))
}

func (o *others) has(name string) bool {
	return slices.ContainsFunc(o.all(), func(c cluster.Member) bool { return c.Name == name })
}

// lead reports whether the gossip shows one that leads.
func (o *others) lead() bool {
	return slices.ContainsFunc(o.all(), func(c cluster.Member) bool { return c.Role == cluster.Master })
}

// actors are where their actors are, by name.
func (o *others) actors() map[string]string {
	all := map[string]string{}
	for _, c := range o.all() {
		all[c.Name] = c.ActorAddress
	}
	return all
}

func (o *others) members() (all []consensus.Member) {
	for _, c := range o.all() {
		all = append(all, consensus.Member{Name: c.Name, Address: c.Consensus})
	}
	return all
}

// notify keeps the list of the other masters, and passes events that are not about the group to the master, if one
// leads here.
func (m *masters) notify(event cluster.Event) {
	m.others.notice(event)
	if node := m.node.Load(); node != nil && !m.isOfGroup(event) {
		config.TellMaster(m.telemetry.System, node, event)
	}
}

// noticeAlone is notify of a master that leads alone, which is told by whoever has the news, until it has others.
func (m *masters) noticeAlone(event cluster.Event) (tell bool) {
	if m.grouped.Load() {
		m.notify(event)
		return false
	}
	m.others.notice(event)
	return true
}

// isOfGroup reports that an event is about a master of the same group. Which of them leads is decided by the group and
// not by the gossip, and one that does not yet know that it is deposed is no rival.
func (m *masters) isOfGroup(event cluster.Event) bool {
	c, down := memberOf(event)
	return !down && c.Consensus != "" && m.group.Has(c.Name, c.Consensus)
}

// ownTraces are what this master knows of itself while it follows.
func (m *masters) ownTraces() *console.Traces {
	system := m.telemetry.System
	return &console.Traces{System: system, Nodes: func(_ context.Context, node string) ([]*actor.PID, error) {
		if node != m.o.Name {
			return nil, fmt.Errorf("%w here: this master follows; ask the one that leads, %s", console.ErrNoNode,
				m.group.Status().Leader)
		}
		return []*actor.PID{floor.TracingAt(system.Address())}, nil
	}}
}

// listen opens the address of the consensus.
func (m *masters) listen() (err error) {
	m.listening, m.address, m.security, err = m.peers.Consensus(m.masters.Bind, m.others.has)
	return err
}

// follow opens the copy of the state that this master has, or is to get.
func (m *masters) follow() error {
	if path := statePath(&m.o); !consensus.Started(path) && store.Exists(path) {
		return config.Usage("--dir %s holds a state of its own, which a standby master would lose: give another one, "+
			"or leave --standby out", m.o.Dir)
	}
	if err := m.listen(); err != nil {
		return err
	}
	return m.open(false)
}

// open starts this process's part of the group.
func (m *masters) open(found bool) (err error) {
	o := consensus.DefaultOptions()
	o.State, o.Store, o.Name, o.Address, o.Found = statePath(&m.o), m.o.Store, m.o.Name, m.address, found
	o.Log = hclog.New(&hclog.LoggerOptions{Name: "raft", Output: m.log.WriterLevel(logrus.DebugLevel),
		DisableTime: true})
	if m.group, err = consensus.Start(m.listening, m.security, o); err != nil {
		return config.StateError(m.o.Dir, err)
	}
	m.grouped.Store(true)
	m.telemetry.Metrics.Read(config.GroupFigures(m.group.Figures))
	m.o.Masters = func() []consensus.Member { return m.group.Figures().Members }
	m.o.Others = m.others.actors
	if m.before, err = m.runKept(); errors.Is(err, consensus.ErrNoState) {
		err = nil
	}
	return err
}

// run follows and leads until the crawl has ended, or until it is asked to end.
func (m *masters) run(ctx context.Context) (end master.Summary, err error) {
	defer func() { err = errors.Join(err, m.group.Close()) }()
	looking := time.NewTicker(lookEvery)
	defer looking.Stop()
	leaderSeen, warned, shared := time.Now(), time.Time{}, time.Time{}
	endShow := m.show(ctx)
	defer func() { endShow() }()
	defer m.share()
	for {
		select {
		case <-ctx.Done():
			return master.SummaryOf(master.Status{End: master.Stopped}), nil
		case err := <-m.group.Failed():
			return end, err
		case <-m.group.Elected():
		case now := <-looking.C:
			if m.group.Status().Leader != "" {
				if leaderSeen = now; !warned.IsZero() {
					warned = time.Time{}
					m.log.Info("a master leads again")
				}
			} else if now.Sub(leaderSeen) >= leaderless && now.Sub(warned) >= warnEvery {
				warned = now
				m.log.WithField("seconds", int(now.Sub(leaderSeen).Seconds())).Warn(noLeader)
			}
			if now.Sub(shared) >= shareEvery {
				shared = now
				m.share()
			}
		}
		if !m.group.Leads() { // it may have been elected again while it ended what it did as the leader before
			m.met = m.met || m.group.Status().Leader != ""
			if run, err := m.runKept(); err == nil && m.isOver(run) {
				m.linger()
				return m.lastSummary()
			}
			continue
		}
		endShow()
		end, err = m.lead(ctx)
		if err == nil || !errors.Is(err, errDeposed) {
			return end, err
		}
		m.log.WithField("err", err).Info("following")
		leaderSeen = time.Now()
		endShow = m.show(ctx)
	}
}

// share leaves the files beside this copy of the state that explain it.
func (m *masters) share() {
	if err := master.WriteShared(m.o.Dir, m.group.Meta); err != nil && !errors.Is(err, consensus.ErrNoState) {
		m.log.WithField("err", err).Warn("the settings of the crawl could not be left beside this copy of its state")
	}
}

// runKept is the run as the masters know it.
func (m *masters) runKept() (run master.Run, err error) {
	b, err := m.group.Meta(master.KeptName(master.RunName))
	if err == nil && b != nil {
		err = json.Unmarshal(b, &run)
	}
	return run, err
}

// isOver reports whether the run that this process was started for is over. A run that was over before is another one.
func (m *masters) isOver(run master.Run) bool {
	return run.Over && !(m.before.Over && run.Begun.Equal(m.before.Begun))
}

// lastSummary is how the crawl ended under another master. It is left in the directory, as that master did.
func (m *masters) lastSummary() (end master.Summary, err error) {
	b, err := m.group.Meta(master.KeptName(master.SummaryName))
	if err == nil {
		err = fsync.WriteFile(filepath.Join(m.o.Dir, master.SummaryName), b, 0o666)
	}
	if err == nil {
		err = json.Unmarshal(b, &end)
	}
	return end, err
}

// lead leads until the crawl has ended, or another master leads, which is errDeposed.
func (m *masters) lead(ctx context.Context) (end master.Summary, err error) {
	l, err := m.group.Lead()
	if err != nil {
		return end, fmt.Errorf("%w (%w)", errDeposed, err)
	}
	defer l.End()
	deposed := func(err error) error {
		if l.Leads() {
			return err
		}
		return errDeposed
	}
	run, err := m.runKept()
	if err != nil {
		return end, deposed(err)
	}
	if !m.met { // this copy of the state has just learnt how the run before ended
		m.met, m.before = true, run
	}
	if m.isOver(run) { // the master that led has died at its end
		if err = m.announceEnd(run, l); err != nil {
			return end, deposed(err)
		}
		return m.lastSummary()
	}
	founded := m.founded()
	if run, err = m.takeOver(l.State, run); err != nil {
		return end, deposed(err)
	}
	o, endNames, err := m.goOn(founded, run)
	if err != nil {
		return end, deposed(err)
	}
	defer endNames()
	o.State, o.Run = l.State, run
	o.Keep = func(name string, content []byte) error { return keep(l.State, name, content) }
	if o.Run.Begun.IsZero() {
		if o.Run, err = master.BeginRun(l.State); err == nil {
			err = keepRun(l.State, o.Run)
		}
		if err != nil {
			return end, deposed(err)
		}
	}
	node, err := master.Start(m.telemetry.System, o, m.log)
	if err != nil {
		return end, deposed(config.StateError(o.Dir, err))
	}
	m.node.Store(node)
	m.become(cluster.Master, node.Claim().Crawl, l.Term)
	m.log.WithFields(logrus.Fields{"crawl": node.Claim().Crawl, "term": l.Term}).Info("leading")
	status, err := m.attendGroup(ctx, l, node)
	m.node.Store(nil)
	if !l.Leads() {
		m.become(cluster.Standby, "", 0)
	}
	closed := node.Close()
	if err != nil || closed != nil {
		return end, deposed(errors.Join(err, closed))
	}
	o.Run.Over = true
	return master.SummaryOf(status), m.announceEnd(o.Run, l)
}

// goOn makes the options of the crawl as the masters have kept it. Settings given to this process change the crawl only
// where a run begins.
func (m *masters) goOn(founded bool, run master.Run) (o master.Options, endNames func(), err error) {
	if founded {
		return m.o, func() {}, nil
	}
	err = m.crawl.Define(m.given, m.masters.Standby || !run.Begun.IsZero(), func(line string) { m.log.Info(line) })
	if err == nil {
		o, err = m.crawl.Options(m.given)
	}
	if err == nil && len(o.Definition.Seeds) > 0 { // those that this process was given may lie at another depth
		m.seeds = o.Definition.Seeds
	}
	if err == nil {
		endNames, err = m.crawl.Names(&o)
	}
	own := &m.o
	o.Name, o.Boot, o.Version, o.Masters, o.Others = own.Name, own.Boot, own.Version, own.Masters, own.Others
	o.Store, o.Partition.Committed = own.Store, own.Partition.Committed
	return o, endNames, err
}

func (m *masters) become(role cluster.Role, crawl string, term uint64) {
	if err := m.joined.Node.Become(role, crawl, term, m.address); err != nil {
		m.log.WithField("err", err).Warn("gossip: no node received that this master leads, or ceases to")
	}
}

// attendGroup is attend, and tends the other masters. Asked to end, it hands the crawl over to another master if one
// can take it.
func (m *masters) attendGroup(ctx context.Context, l *consensus.Leadership,
	node *master.Node) (master.Status, error) {
	inner, depose := context.WithCancelCause(context.WithoutCancel(ctx))
	asked, end := context.WithCancel(context.WithoutCancel(ctx)) // not by depose: the crawl is not to be stopped then
	defer end()
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-asked.Done():
				return
			case <-ctx.Done():
				if err := m.group.Leave(); err != nil {
					m.log.WithField("err", err).Info("no other master can lead: ending the crawl")
					end()
					return
				}
				ctx = context.WithoutCancel(ctx)
			case leads := <-m.group.Elected(): // also after the member has failed, of which run is told
				// True may be the news of this very lead. False is of its end, although Raft may say for a moment more
				// that it lasts.
				if !leads || !l.Leads() {
					depose(errDeposed)
					return
				}
			}
		}
	})
	watching.Go(func() { m.tend(asked, l) })
	if m.endpoint != nil {
		visitors := m.group.Visitors()
		defer visitors.Close()
		m.endpoint.Receive(visitors, m.security.TLS != nil)
		defer m.endpoint.Receive(nil, false)
	}
	status, err := m.attend(asked, inner, node, config.MasterRoutes(m.group))
	end()
	watching.Wait()
	if cause := context.Cause(inner); cause != nil {
		err = cause
	}
	return status, err
}

// tend cares for the other masters until the lead ends, which one that does not answer must not delay.
func (m *masters) tend(ctx context.Context, l *consensus.Leadership) {
	var refused string
	for range ticks.Every(ctx, tendEvery) {
		err := l.Tend(ctx, m.others.members())
		if why := fmt.Sprint(err); err != nil && why != refused && ctx.Err() == nil {
			m.log.WithField("err", err).Warn("a master is not added to the group")
		}
		refused = fmt.Sprint(err)
	}
}

// show answers HTTP while another master leads: what this process knows of itself, and all else as that master does.
func (m *masters) show(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	group, ctx := errgroup.WithContext(ctx)
	forget := m.endpoint.Note(m.o.Dir)
	m.telemetry.Go(group, "HTTP", func() error {
		return m.endpoint.Serve(ctx, console.Process{Ready: m.ready, Tail: m.telemetry.Tail, Traces: m.ownTraces()},
			config.FollowerRoutes(m.group), m.telemetry.Routes(),
			changefeed.Routes(m.o.Dir, m.telemetry.System, m.joined.Node.Members))
	})
	return sync.OnceFunc(func() {
		cancel()
		_ = group.Wait()
		forget()
	})
}

// ready says why this master does not follow one that leads.
func (m *masters) ready(context.Context) error {
	if m.group.Status().Leader == "" {
		return errors.New(noLeader)
	}
	_, err := m.group.Meta(master.KeptName(master.RunName))
	return err
}

// keep writes a file of the crawl's directory into the state.
func keep(state *store.State, name string, content []byte) error {
	b := store.NewBatch(time.Now())
	b.PutMeta(master.KeptName(name), content)
	if _, err := state.Partitions[0].Commit(b); err != nil {
		return fmt.Errorf("keep %s for the other masters: %w", name, err)
	}
	return nil
}

func keepRun(state *store.State, run master.Run) error {
	b, err := json.Marshal(run)
	if err != nil {
		return err
	}
	return keep(state, master.RunName, b)
}

// takeOver writes the files that the masters have kept into the crawl's directory or, if this master has founded the
// group, has the files of the directory kept. It returns the run under way: last, unless that is over; the zero Run:
// there is none.
func (m *masters) takeOver(state *store.State, last master.Run) (run master.Run, err error) {
	for _, name := range master.SharedFiles {
		path := filepath.Join(m.o.Dir, name)
		here, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return run, err
		}
		kept, err := state.Partitions[0].Metas.Get(master.KeptName(name))
		switch {
		case err != nil || bytes.Equal(kept, here):
		case m.founded() && here != nil: // what the state has is of a group that was before
			err = keep(state, name, here)
		case kept != nil:
			err = fsync.WriteFile(path, kept, 0o666)
		}
		if err != nil {
			return run, err
		}
	}
	if m.founded() {
		run = m.begun
		if err = keepRun(state, run); err == nil {
			m.begun = master.Run{}
		}
		return run, err
	}
	if last.Over {
		return run, nil
	}
	return last, nil
}

// founded reports whether this master has founded the group and did not lead it yet.
func (m *masters) founded() bool { return !m.begun.Begun.IsZero() }

// announceEnd writes into the state that the run is over, and waits until all masters that are there have it.
func (m *masters) announceEnd(run master.Run, l *consensus.Leadership) error {
	if err := keepRun(l.State, run); err != nil {
		return err
	}
	looking := time.NewTicker(lookEvery)
	defer looking.Stop()
	for end := time.Now().Add(farewell); time.Now().Before(end); <-looking.C {
		all, err := l.Members(context.Background())
		if err != nil {
			return err
		}
		behind := false
		for _, other := range all {
			behind = behind || (other.Lost != "" || other.Behind > 0) && m.others.has(other.Name)
		}
		if !behind {
			return nil
		}
	}
	return nil
}

// linger waits until the master that leads is gone: to have a slow master know of the end it needs a majority.
func (m *masters) linger() {
	looking := time.NewTicker(lookEvery)
	defer looking.Stop()
	for end := time.Now().Add(farewell + time.Second); time.Now().Before(end) && m.others.lead(); <-looking.C {
	}
}
