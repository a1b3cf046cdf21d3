// Package partition holds the actor that is the only writer of one file of the state, and its helpers.
//
// A Partition gathers what it is asked to write, commits it in one transaction (package groupcommit), and then answers
// all who wrote. The Finder scans the file for known pages, a Sweep looks all of them through and changes some.
package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/groupcommit"
	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

type peers struct{ pids []*actor.PID }

// Options say when what was written goes to disk.
type Options struct {
	// a batch of this size is committed at once: 1 MB has the links of some 500 visits, so two or three of each host
	// (docs/measured/speed.md)
	FlushBytes int
	FlushAge   time.Duration            // from one commit to the next while anything waits, at most
	FlushGap   time.Duration            // between two commits at least, also when an answer is awaited
	RetryAfter time.Duration            // from a commit that failed to the next try
	Committed  func(took time.Duration) // called by the committer after every commit; nil: not at all
	// known pages in line for their hosts at most; the others stay in the time queue. 0: due pages are not looked for
	DueAhead int
	Rounds   bool // each known page is visited once in each round (protocol.RoundBegun), and not when it is due
}

// DefaultOptions lose at most five seconds of results in a crash; they are fetched again.
func DefaultOptions() Options {
	return Options{FlushBytes: 4 << 20, FlushAge: 5 * time.Second, FlushGap: 10 * time.Millisecond,
		RetryAfter: 2 * time.Second, DueAhead: 1 << 17}
}

// Bounds of what is committed, read and handed on at once.
const (
	fullRecords     = 40_000 // of a batch, most of which are links to URLs that are known
	parcelBatch     = 1024
	parcelBytes     = 1 << 20 // a quarter of what a commit holds
	relaxationBatch = 64
	hostBatch       = 1000
)

// TotalsOf are the totals of a crawl, from its state.
func TotalsOf(state *store.State) (all protocol.Totals, err error) {
	for _, disk := range state.Partitions {
		own, err := totalsOf(disk)
		if err != nil {
			return all, err
		}
		all.Add(&own)
	}
	return all, nil
}

// totalsMeta is where the totals of a partition are kept.
const totalsMeta = "totals"

// Partition is the only writer of one file of the state. Writes gather in a batch; one transaction stores it; then
// all who wrote are answered.
//
// Invariant: what was answered by Written is found again after a kill at any later instruction.
type Partition struct {
	o        Options
	index    int
	state    *store.State
	disk     *store.Partition
	steering Steering
	hosts    *actor.PID
	owner    *actor.PID // the Master
	log      *logrus.Entry

	finder   *actor.PID // looks for known pages by their URLs
	group    groupcommit.Group[turn]
	intake   intake
	peers    []*actor.PID // the Partitions, by index
	stalled  bool         // the state cannot be written
	due      dueQueues
	dueClock floor.Timer
	round    round
	sweeps   []*passes                    // over the pages; the first sweepsMost are being carried out
	again    map[string]*protocol.Sweep   // by the key under which a sweep is noted: the one to come after it, or nil
	relaxing map[string]int               // relaxations that are with their hosts, unanswered
	open     map[store.HostID]store.Lease // open leases, for a Host that starts again
	commits  uint64
	totals   protocol.Totals
	stats    store.Stats // after the last commit
	// a read has met damage: the crawl ends, and nothing is answered any more
	damaged bool
}

// turn is what one commit stores, and who is told of it.
type turn struct {
	*store.Batch
	written  bool // somebody has written; otherwise it only splits slots
	writers  []writer
	facts    []*protocol.FactsStored // for the Master
	accepted acceptances             // of the gate
	outcome  store.Outcome
}

func newTurn(now time.Time) *turn { return &turn{Batch: store.NewBatch(now), accepted: acceptances{}} }

type writer struct {
	pid    *actor.PID
	answer any
}

// acceptances are the URLs that the gate accepted and that are not on disk yet, by fingerprint, with their hosts: a URL
// that two pages link to meanwhile is offered once.
type acceptances map[uint64]store.HostID

// Props makes the actor of partition index of the state.
func Props(o Options, steering Steering, state *store.State, index int, hosts, owner *actor.PID,
	log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Partition{
			o: o, steering: steering, index: index, state: state, disk: state.Partitions[index], hosts: hosts,
			owner: owner, log: log.WithFields(logrus.Fields{"actor": "partition", "partition": index}),
		}
	})
}

// Introduce gives all Partitions the PIDs of the others, once all are spawned.
func Introduce(send func(*actor.PID, any), pids []*actor.PID) {
	for _, pid := range pids {
		send(pid, &peers{pids})
	}
}

// Receive is the table of contents.
func (p *Partition) Receive(ctx actor.Context) {
	defer p.giveUpDamaged(ctx)
	if p.damaged && !isSystem(ctx.Message()) {
		return
	}
	switch m := ctx.Message().(type) {
	case *actor.Started:
		p.start(ctx)
	case *actor.Stopping:
		p.group.Stop()
		p.dueClock.Stop()
	case *actor.Stopped:
		p.group.Finish(p.putTotals, p.keepLast)
	case *peers:
		p.peers = m.pids
		p.restoreSweeps(ctx)
		p.carry(ctx, p.intake.outbox.Updated(&p.stats))
		p.relax(ctx)
	case *protocol.Write:
		p.write(ctx, m)
	case *protocol.PlantSeeds:
		p.plant(ctx, m)
	case *swept:
		p.takeSwept(ctx, m)
	case *protocol.RecordsAsked:
		if owner := p.intake.outbox.ownerOf(m.Of); owner == p.index {
			ctx.Forward(p.finder)
		} else if p.peers != nil {
			ctx.Send(p.peers[owner], m)
		}
	case *protocol.CandidatesSent:
		p.takeParcels(ctx, m.Parcels)
	case *protocol.CandidatesStored, *parcelsForgotten:
		p.carry(ctx, p.intake.outbox.Updated(m))
	case *protocol.PagesFound:
		p.bringForward(ctx, m)
	case *protocol.RoundBegun:
		p.beginRound(ctx, m)
	case *sweepOver:
		p.endSweep(ctx, m)
	case *protocol.PagesSought:
		p.seek(ctx, m)
	case *protocol.Notice:
		ctx.Forward(p.finder)
	case *groupcommit.Due:
		p.group.Turn(ctx, p.putTotals)
	case *groupcommit.Synced:
		p.settle(ctx)
	case *protocol.HostAsked:
		p.restoreHost(ctx, m)
	case *protocol.PagesAsked:
		p.loadPages(ctx, m)
	case *protocol.EntriesAsked:
		p.loadEntries(ctx, m)
	case *protocol.WaitingHostsAsked:
		p.listHosts(ctx, m)
		p.tellDue(ctx, m)
	case *openDue:
		p.tellDue(ctx, m)
	case *protocol.OverflowAsked:
		p.giveOverflow(ctx, m)
	case *protocol.QuietAsked:
		p.reportQuiet(ctx, m)
	case *protocol.WaitingDoubted:
		floor.Need(p.disk.Fresh.Check(), "check what waits")
	default:
		floor.Unhandled(ctx, p.log)
	}
}

// totalsOf reads the totals that are kept in a partition.
func totalsOf(disk *store.Partition) (totals protocol.Totals, err error) {
	b, err := disk.Metas.Get(totalsMeta)
	if err == nil {
		err = totals.UnmarshalBinary(b)
	}
	if err != nil {
		err = fmt.Errorf("read the totals: %w", err)
	}
	return totals, err
}

func (p *Partition) start(ctx actor.Context) {
	p.due = dueQueues{ahead: p.o.DueAhead}
	p.due.reset()
	p.intake = intake{steering: &p.steering, index: p.index, all: p.state.Partitions, group: &p.group,
		totals: &p.totals, outbox: newOutbox(p.state.PartitionOf, p.steering.Gate != nil || p.steering.Rising)}
	p.round = round{on: p.o.Rounds, retrying: map[string]struct{}{}}
	p.relaxing, p.again = map[string]int{}, map[string]*protocol.Sweep{}
	var err error
	if p.totals, err = totalsOf(p.disk); err == nil {
		p.stats, err = p.disk.Stats()
	}
	floor.Need(err, "read the statistics")
	if p.steering.Rising {
		p.intake.bands, err = restoreBands(p.disk)
		floor.Need(err, "read the priorities of waiting URLs")
	}
	leases, err := p.disk.Leases.All()
	floor.Need(err, "read the leases")
	p.open = make(map[store.HostID]store.Lease, len(leases))
	for _, lease := range leases {
		p.open[lease.Host] = lease
	}
	ctx.Send(p.owner, &protocol.LeasesFound{Leases: leases})
	p.finder = floor.SpawnAs(ctx, finderProps(p.disk, p.hosts, p.log), "finder")
	p.group.Start(ctx, "committer", newTurn, p.commit)
}

// commit is called by the committer.
func (p *Partition) commit(t *turn) (err error) {
	if begin := time.Now(); p.o.Committed != nil {
		defer func() { p.o.Committed(time.Since(begin)) }()
	}
	if t.outcome, err = p.disk.Commit(t.Batch); err != nil {
		return err
	}
	for _, host := range t.accepted {
		// not changed: as many were visited, or they are on disk since a commit that was said to have failed
		if _, changed := t.outcome.Waiting[host]; !changed {
			if h, err := p.disk.Hosts.Get(host); err == nil {
				t.outcome.Waiting[host] = h.Waiting
			}
		}
	}
	return nil
}

// plant admits seeds; those that are known pages are visited now.
func (p *Partition) plant(ctx actor.Context, m *protocol.PlantSeeds) {
	if known := p.intake.take(m.Candidates, true); len(known) > 0 {
		ctx.Send(p.finder, &findPages{asker: ctx.Self(), pages: known})
	}
	p.wrote(ctx, &protocol.Written{Tag: m.Tag}, awaited)
}

// takeParcels admits the URLs that another Partition found.
func (p *Partition) takeParcels(ctx actor.Context, parcels []store.Parcel) {
	for _, parcel := range parcels {
		for i := range parcel.Candidates {
			p.intake.admit(&parcel.Candidates[i], false)
		}
	}
	p.wrote(ctx, &protocol.CandidatesStored{Parcels: parcels}, sharing)
}

// write adds to the batch. URLs of other partitions go to the outbox, in the transaction of the page that links to
// them.
func (p *Partition) write(ctx actor.Context, m *protocol.Write) {
	for i := range m.Visits {
		v := &m.Visits[i]
		p.group.Next.Visit(*v)
		p.round.visited(v)
		p.intake.visited(v)
	}
	for i := range m.Moves {
		p.group.Next.Move(m.Moves[i].Position, m.Moves[i].Page)
	}
	for i := range m.Drops {
		p.group.Next.Drop(m.Drops[i].Position, m.Drops[i].Page)
		delete(p.round.retrying, m.Drops[i].Page.URL)
	}
	p.intake.take(m.Candidates, false)
	p.group.Next.Forget(m.Ghosts...)
	for _, r := range m.Relaxed {
		p.group.Next.Relaxed(r)
		if host := weburl.HostOf(r.URL); p.relaxing[host] > 1 {
			p.relaxing[host]--
		} else {
			delete(p.relaxing, host)
		}
	}
	if m.Host != nil {
		p.group.Next.PutHost(*m.Host)
	}
	if m.Lease != nil {
		p.group.Next.PutLease(*m.Lease)
		p.open[m.Lease.Host] = *m.Lease
	}
	putNotes(p.group.Next.Batch, m.Notes)
	for i := range m.Sweeps {
		p.sweep(ctx, &m.Sweeps[i])
	}
	p.totals.Add(&m.Totals)
	var answer any
	if m.Facts != nil {
		p.group.Next.facts = append(p.group.Next.facts, m.Facts)
		if m.Facts.Closed {
			p.group.Next.DeleteLease(m.Facts.Lease)
			if m.Host != nil {
				delete(p.open, m.Host.ID)
			}
		}
	}
	if m.Answered() {
		answer = &protocol.Written{Tag: m.Tag}
	}
	switch {
	case !m.Urgent:
		p.wrote(ctx, answer, patient)
	case m.Facts != nil && m.Facts.Pressing:
		p.wrote(ctx, answer, urgent)
	default:
		p.wrote(ctx, answer, awaited)
	}
}

func isSystem(message any) bool {
	switch message.(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage:
		return true
	}
	return false
}

// giveUpDamaged reports to the Master that a read has met damage. A restart would meet it again.
func (p *Partition) giveUpDamaged(ctx actor.Context) {
	reason := recover()
	if reason == nil {
		return
	}
	err, ok := reason.(error)
	if !ok || !errors.Is(err, store.ErrCorrupt) {
		panic(reason)
	}
	p.log.WithField("err", err).Error("the state is damaged")
	p.damaged = true
	ctx.Send(p.owner, &protocol.StoreStalled{Partition: p.index, Err: err})
}

// bringForward has known pages visited now: a person has asked for them.
func (p *Partition) bringForward(ctx actor.Context, m *protocol.PagesFound) {
	moved := false
	for _, entry := range m.Entries {
		if now := floor.Now(); entry.Page.Next.IsZero() || entry.Page.Next.After(now) {
			entry.Page.Next = now
			p.group.Next.Move(entry.Position, entry.Page)
			p.wrote(ctx, nil, urgent)
			moved = true
		}
	}
	if moved {
		p.group.Next.answer(ctx.Self(), &openDue{asked: true})
	}
}

// haste says how soon a write is to be committed.
type haste int

const (
	patient haste = iota // after patientGap, and after patientLeast: what is not committed is asked again after a crash
	sharing              // after shareGap, and after shareLeast while many leases are open
	awaited              // now, since somebody waits for the answer; while many leases are open, as sharing
	urgent               // now
)

// A commit touches pages of as many hosts as have written since the last one, which costs nearly the same for one new
// URL of a host as for twenty: 120 pages of 4 kB for the facts of 45 visits in a state of 100,000 pages. So whatever
// can wait shares commits, and a commit that takes long, of a large state or on a busy disk, is shared by more.
const (
	patientGap   = 20 // as shareGap: a twentieth of the time is spent on commits for which nobody waits
	patientLeast = time.Second / 2
	shareGap     = 4           // from the start of a commit to that of the next, in times of what the former took
	shareLeast   = time.Second // the same while many leases are open, unless a slave soon has no room for more facts
	manyLeases   = 16          // open in this partition: other hosts are at work while one waits for its next lease
)

// wrote remembers whom to answer, and decides when to flush.
func (p *Partition) wrote(ctx actor.Context, answer any, how haste) {
	if answer != nil {
		p.group.Next.answer(ctx.Sender(), answer)
	}
	p.group.Next.written = true
	many := len(p.open) >= manyLeases
	if how == awaited && many {
		how = sharing
	}
	gap := p.o.FlushGap
	if how < awaited && !p.group.Next.full(&p.o) {
		if gap = max(gap, shareGap*p.group.Took); how == patient {
			gap = max(gap, patientLeast, patientGap*p.group.Took)
		}
		if many {
			gap = max(gap, shareLeast)
		}
	}
	p.group.By(ctx, p.group.At.Add(min(gap, p.o.FlushAge)))
}

func (t *turn) answer(pid *actor.PID, answer any) { t.writers = append(t.writers, writer{pid, answer}) }

// full reports that the batch should wait no longer: one commit keeps every page that it changes in memory.
func (t *turn) full(o *Options) bool { return t.Bytes() >= o.FlushBytes || t.Len() >= fullRecords }

func (p *Partition) putTotals(t *turn) {
	if t.written {
		totals, _ := p.totals.MarshalBinary()
		t.PutMeta(totalsMeta, totals)
	}
}

// keepLast logs if what was written last could not be stored. Those who wrote it may be gone, and need no answer: what
// is not stored is fetched again.
func (p *Partition) keepLast(_ *turn, err error) bool {
	switch {
	case errors.Is(err, store.ErrNotLeader):
		p.log.Debug("the last results are not stored here; slaves report them to the master that leads")
	case err != nil:
		p.log.WithField("err", err).Error("the last results could not be stored; they will be fetched again")
	}
	return err == nil
}

// settle answers all who wrote; a batch that was not stored is tried again.
func (p *Partition) settle(ctx actor.Context) {
	t, err := p.group.Settle(ctx, p.o.RetryAfter)
	if err != nil {
		if !p.stalled {
			p.stalled = true
			level := logrus.ErrorLevel
			if errors.Is(err, store.ErrNotLeader) { // another master leads, and this one is about to end
				level = logrus.InfoLevel
			}
			p.log.WithField("err", err).Log(level, "the state cannot be written")
			ctx.Send(p.owner, &protocol.StoreStalled{Partition: p.index, Err: err})
		}
		return
	}
	if p.stalled {
		p.stalled = false
		p.log.Info("the state can be written again")
		ctx.Send(p.owner, &protocol.StoreResumed{Partition: p.index})
	}
	p.commits++
	if p.steering.Gate != nil {
		p.steering.Gate.Stored(t.accepted, t.outcome.Waiting)
	}
	if stats, err := p.disk.Stats(); err == nil {
		p.stats = stats
	}
	if len(t.facts) > 0 { // before the answers: a Host announces itself behind the end of its lease
		ctx.Send(p.owner, &protocol.FactsCommitted{Facts: t.facts})
	}
	for _, w := range t.writers {
		ctx.Send(w.pid, w.answer)
	}
	if p.steering.Texts != nil {
		for _, found := range p.steering.Texts.Committed(t.outcome.Texts) {
			ctx.Send(p.hosts, found)
		}
	}
	if len(t.outcome.Admitted) > 0 {
		grew := &protocol.HostsGrew{}
		for _, admission := range t.outcome.Admitted {
			grew.Hosts = append(grew.Hosts, admission.Name)
		}
		ctx.Send(p.hosts, grew)
	}
	p.carry(ctx, p.intake.outbox.Updated(&p.stats))
	p.relax(ctx)
	if p.due.begun && !p.due.full {
		next, err := p.disk.Pages.NextDue(p.due.after)
		floor.Need(err, "read the next due time")
		m := &slotNext{at: next}
		if len(p.round.retrying) > 0 {
			m.within = floor.Now().Add(dueForRound)
		}
		p.tellDue(ctx, m)
	}
}

// relax has the links of pages judged again that turned out to have more depth left than when they were visited.
func (p *Partition) relax(ctx actor.Context) {
	if len(p.relaxing) > 0 || p.stats.Relaxations == 0 {
		return
	}
	relaxations, err := p.disk.Relaxations.First(relaxationBatch)
	floor.Need(err, "judge links again")
	found := map[string]*protocol.RelaxationsFound{}
	for _, r := range relaxations {
		host := weburl.HostOf(r.URL)
		if found[host] == nil {
			found[host] = &protocol.RelaxationsFound{}
		}
		found[host].Relaxations = append(found[host].Relaxations, r)
		p.relaxing[host]++
	}
	for host, message := range found {
		ctx.Send(p.hosts, &protocol.ToHost{Host: host, Message: message})
	}
}
