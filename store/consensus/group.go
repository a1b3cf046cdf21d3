package consensus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"henro/messages/ticks"
	"henro/store"
)

// Options say how a member of a group is started.
type Options struct {
	// State is the directory of the state; the log lies beside it, in store.LogDir.
	State string

	// Store says how the state is opened; Replica is set in any case.
	Store store.Options

	// Name is the name of this member, as in its certificate. It is never given to another.
	Name string

	// Address is "ip:port" at which the others reach this member.
	Address string

	// Found begins a group of this member alone, with what its state holds. A group that has begun ignores it. Default
	// false: wait to be added.
	Found bool

	// Timeout is how long a leader may be silent until another is elected: with three members there is one after some
	// 1.2 times that. Default 1 s.
	Timeout time.Duration

	// CheckpointEntries is after how many entries the state is synced and the log cut. Default 2,048.
	CheckpointEntries uint64

	// CheckpointGrowth is by how many bytes, or by a quarter if that is more, the file of a partition may grow until a
	// checkpoint is made before its time: until then pages that the file frees cannot be used again. Default 16 MB.
	CheckpointGrowth int64

	// KeepEntries is how many entries before the checkpoint are kept: a member that is further behind gets the files.
	// Default 10,000.
	KeepEntries uint64

	// KeepBytes bounds the entries kept by bytes, too, reckoned from their mean size. Default 512 MB: to send the files
	// of a crawl is no less.
	KeepBytes uint64

	// Log takes Raft's lines.
	Log hclog.Logger

	// grace is how long connections of visitors to a member that handed the lead over are kept: the answer to the
	// request that moved the lead may be under way. Default 3 s.
	grace time.Duration
}

// DefaultOptions returns the options a group starts from.
func DefaultOptions() Options {
	return Options{Store: store.DefaultOptions(), Timeout: time.Second, CheckpointEntries: 2048,
		CheckpointGrowth: 16 << 20, KeepEntries: 10_000, KeepBytes: 512 << 20, Log: hclog.NewNullLogger(),
		grace: 3 * time.Second}
}

// Bounds of a group.
const (
	checkEvery     = 10 * time.Second // how often Raft looks whether a checkpoint is due
	enqueueTimeout = 5 * time.Second  // how long Raft may take to accept an entry
	rpcTimeout     = 10 * time.Second // for 256 kB of a file that is streamed, and for each other call
	// Entries sent at once; Raft bounds no bytes. Full batches have some 4 MB, so a message stays below 16 MB. While a
	// member received 64 of them that it lacked, the heaps of three members grew by 266 to 314 MB; with 16 by 450 to
	// 462, and no faster (20 to 28 entries/s, 13 to 21; BenchmarkCatchUp/4096kB, GOGC=10, three runs each in turns on
	// a busy machine). With 10 kB the two were not told apart. The leader syncs so many commits and one more at once:
	// as many as a new state has partitions.
	maxAppendEntries = 4
	keptConnections  = 3 // idle connections kept to each member
	cachedEntries    = 8 // the last entries: replication and followers read them again
	lockTimeout      = 2 * time.Second
)

// Group is this process's member of the Raft group.
type Group struct {
	o         Options
	machine   *machine
	raft      *raft.Raft
	own       own
	port      *port
	transport *raft.NetworkTransport
	passages  passages
	seen      atomic.Pointer[[]Member] // by Tend
	ledBy     atomic.Value             // raft.ServerID: who led last
	closing   sync.Once
	left      chan struct{} // closed when this member leaves
	ended     chan struct{} // closed when Raft has ended
	watching  sync.WaitGroup
	running   sync.WaitGroup // goroutines that end when this member leaves
}

// ErrNoState is returned by a member that has no state: it was not added to a group yet.
var ErrNoState = errors.New("this master has received no state yet")

// Start starts a member, which takes over the listener.
func Start(l net.Listener, s Security, o Options) (*Group, error) {
	g := &Group{o: o, left: make(chan struct{}), ended: make(chan struct{}),
		passages: passages{open: map[*passage]struct{}{}}}
	g.machine = &machine{o: &g.o, leave: g.leave, failed: make(chan error, 1), full: make(chan struct{}, 1)}
	if err := g.open(l, s); err != nil {
		return nil, errors.Join(fmt.Errorf("start the consensus of masters: %w", err), l.Close(), g.machine.close())
	}
	return g, nil
}

func (g *Group) open(l net.Listener, s Security) (err error) {
	dir := store.LogDir(g.o.State)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	m := g.machine
	m.o.Store.Replica = true
	there := store.HasReplica(m.o.State)
	if there || !m.o.Found {
		m.o.Store.Partitions = 0 // as the founder has them
	}
	if there || m.o.Found {
		if m.state, err = store.OpenState(m.o.State, m.o.Store); err != nil {
			return ofLog(m.o.State, err)
		}
	}
	if m.log, err = openLog(dir); err != nil {
		return err
	}
	if err := g.own.read(m.log); err != nil {
		return err
	}
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(g.o.Name)
	c.HeartbeatTimeout, c.ElectionTimeout = g.o.Timeout, g.o.Timeout
	c.LeaderLeaseTimeout = g.o.Timeout * 9 / 10 // a leader that stood still for less than others wait goes on
	c.SnapshotThreshold, c.SnapshotInterval, c.TrailingLogs = g.o.CheckpointEntries, checkEvery, g.o.KeepEntries
	c.MaxAppendEntries = maxAppendEntries
	c.NoSnapshotRestoreOnStart = true // the state is on disk
	c.Logger, c.NoLegacyTelemetry = g.o.Log, true
	kept := &snapshots{group: g, dir: dir}
	if _, err := kept.List(); err != nil { // of which Raft keeps the text alone
		return err
	}
	begun, err := raft.HasExistingState(m.log, m.log, kept)
	if err != nil {
		return err
	}
	if !begun && g.o.Found {
		if err := m.found(raft.Server{ID: c.LocalID, Address: raft.ServerAddress(g.o.Address)}, kept); err != nil {
			return err
		}
	}
	g.port = newPort(l, s, g)
	g.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: g.port, MaxPool: keptConnections, Timeout: rpcTimeout, Logger: g.o.Log,
		// one after another: with two, a leader that learns of a newer term may wait for its own sender, which then
		// never ends, nor does Shutdown (hashicorp/raft 1.8, pipelineReplicate)
		MaxRPCsInFlight: 1})
	if g.raft, err = newRaft(c, m, kept, g.transport); err != nil {
		return errors.Join(ofLog(dir, err), g.transport.Close(), g.port.Close())
	}
	g.running.Go(g.checkpoints)
	g.raft.RegisterObserver(raft.NewObserver(nil, false, g.observe))
	close(g.port.ready)
	g.watching.Go(func() { (&electionTimer{raft: g.raft, self: c.LocalID, timeout: g.o.Timeout}).run(g.left) })
	return nil
}

// newRaft makes Raft, which reads all entries behind the checkpoint, and panics over one that cannot be read.
func newRaft(c *raft.Config, m *machine, kept *snapshots, others raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", store.ErrCorrupt, cause)
		}
	}()
	cached, err := raft.NewLogCache(cachedEntries, m.log)
	if err != nil {
		return nil, err
	}
	return raft.NewRaft(c, m, cached, m.log, kept, others)
}

// checkpoints makes the checkpoints that are wanted before their time.
func (g *Group) checkpoints() {
	for {
		select {
		case <-g.left:
			return
		case <-g.machine.full:
			if err := g.Checkpoint(); err != nil { // the next entry asks again
				g.o.Log.Warn("no checkpoint", "error", err)
			}
		}
	}
}

// Leadership is the time from an election of this member until another one.
type Leadership struct {
	*Group
	Term  uint64       // greater than that of every leadership before
	State *store.State // as the group has it; whoever commits to it must have ended before End

	lostAt map[string]time.Time // by member: since when it does not answer
}

// Lead waits until this member, which was elected, has applied all that was committed before. From then on what is
// committed to the state goes to all members, until this leadership has ended. It returns store.ErrNotLeader if that
// has happened already.
func (g *Group) Lead() (*Leadership, error) {
	term := g.raft.CurrentTerm()
	if g.raft.State() != raft.Leader {
		return nil, store.ErrNotLeader
	}
	if err := g.await(g.raft.Barrier(enqueueTimeout)); err != nil {
		return nil, fmt.Errorf("lead: %w (%w)", store.ErrNotLeader, err)
	}
	if g.raft.State() != raft.Leader || g.raft.CurrentTerm() != term {
		return nil, store.ErrNotLeader
	}
	g.machine.use.RLock()
	l := &Leadership{Group: g, Term: term, State: g.machine.state, lostAt: map[string]time.Time{}}
	err := l.State.Replicate(term, l.commit)
	if err == nil {
		err = l.introduce(g.o.Name, g.own.identity)
	}
	if err != nil {
		l.End()
		return nil, fmt.Errorf("lead: %w", err)
	}
	return l, nil
}

// End ends the leadership here: the state may be replaced by one that is received.
func (l *Leadership) End() {
	_ = l.State.Replicate(l.Term, nil) // never fails without a function
	l.machine.use.RUnlock()
}

// commit is Partition.Commit on a majority of the members. After store.ErrNotLeader nothing was done; after any other
// error only the new leader knows whether the batch was committed.
func (l *Leadership) commit(partition int, b *store.Batch) (store.Outcome, error) {
	batch, err := b.MarshalBinary()
	if err != nil {
		return store.Outcome{}, err
	}
	if l.raft.State() != raft.Leader {
		return store.Outcome{}, fmt.Errorf("commit: %w", store.ErrNotLeader)
	}
	f := l.raft.Apply(entry(l.Term, partition, batch), enqueueTimeout)
	if err := l.await(f); errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return store.Outcome{}, fmt.Errorf("commit: %w", store.ErrNotLeader)
	} else if err != nil {
		return store.Outcome{}, fmt.Errorf("commit: %w", err)
	}
	r := f.Response().(result)
	return r.outcome, r.err
}

// await waits for the answer of Raft, or until Raft has ended. When Raft ends it leaves some without an answer (raft
// 1.8, runFSM): entries that are committed and not applied yet, and a lead that was to be moved.
func (g *Group) await(f raft.Future) error {
	answer := make(chan error, 1)
	go func() { answer <- f.Error() }()
	select {
	case err := <-answer:
		return err
	case <-g.ended:
		return raft.ErrRaftShutdown
	}
}

// entry is one of the log:
//
//	term u64 ‖ partition u16 ‖ batch
//
// The term is that of the leadership under which the batch was made.
func entry(term uint64, partition int, batch []byte) []byte {
	e := binary.LittleEndian.AppendUint64(make([]byte, 0, entryHead+len(batch)), term)
	return append(binary.LittleEndian.AppendUint16(e, uint16(partition)), batch...)
}

const entryHead = 10

// Elected receives true when this member begins to lead and false when it ceases to. Of several changes that were not
// received it has the last.
func (g *Group) Elected() <-chan bool { return g.raft.LeaderCh() }

// Failed receives the error of an entry that could not be applied here; the member has left the group by then.
func (g *Group) Failed() <-chan error { return g.machine.failed }

// Meta reads a value from the first partition, as far as the log was applied here.
func (g *Group) Meta(name string) ([]byte, error) { return g.machine.meta(name) }

// Checkpoint makes one now.
func (g *Group) Checkpoint() error {
	if entries := g.machine.applied.entries.Load(); entries > 0 {
		c := g.raft.ReloadableConfig()
		c.TrailingLogs = min(g.o.KeepEntries, max(1, g.o.KeepBytes/max(1, g.machine.applied.bytes.Load()/entries)))
		if err := g.raft.ReloadConfig(c); err != nil {
			return err
		}
	}
	if err := g.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return err
	}
	return nil
}

// Close leaves the group until it is started again, and closes the state.
func (g *Group) Close() (err error) {
	err = g.leave() // which waits for calls that read the state
	g.machine.use.Lock()
	defer g.machine.use.Unlock()
	return errors.Join(err, g.machine.close())
}

// leave ends this member's part in the group. Its state stays open.
func (g *Group) leave() (err error) {
	g.closing.Do(func() {
		close(g.left)
		g.watching.Wait()
		err = g.raft.Shutdown().Error()
		close(g.ended)
		err = errors.Join(err, g.transport.Close(), g.port.Close())
		g.running.Wait()
	})
	return err
}

// machine is the state machine of a group: what this member has on disk, its log and the state as far as the log was
// applied to it.
type machine struct {
	o       *Options // of the Group
	log     *log
	leave   func() error
	failing atomic.Bool // an entry could not be applied: no more are
	failed  chan error  // holds why
	counts  counts

	applied struct{ entries, bytes atomic.Uint64 } // since the last checkpoint
	full    chan struct{}                          // holds one when a checkpoint is wanted before its time

	applying sync.Mutex   // held while an entry is applied, or a copy of the state begins
	use      sync.RWMutex // held for reading while the state is used: a received one replaces it
	state    *store.State // nil: none was received yet
}

func (m *machine) close() (err error) {
	if m.log != nil {
		err = m.log.Close()
	}
	if m.state != nil {
		err = errors.Join(err, m.state.Close())
	}
	return err
}

// meta reads a value from the first partition.
func (m *machine) meta(name string) ([]byte, error) {
	m.use.RLock()
	defer m.use.RUnlock()
	if m.state == nil {
		return nil, ErrNoState
	}
	return m.state.Partitions[0].Metas.Get(name)
}

// found begins a group with a snapshot instead of a first entry, so that a member that is added gets the files: with
// raft.BootstrapCluster it would get the log alone, and the state has more than that. Entries of an earlier group count
// as applied: the log begins behind them.
func (m *machine) found(self raft.Server, s *snapshots) error {
	first := uint64(1)
	for _, p := range m.state.Partitions {
		applied, err := p.Applied()
		if err != nil {
			return err
		}
		first = max(first, applied+1)
	}
	term := max(1, m.state.Term()) // later terms are greater than that of the master which had the state alone
	begin, err := s.Create(1, first, term, raft.Configuration{Servers: []raft.Server{self}}, first, nil)
	if err != nil {
		return err
	}
	return errors.Join(begin.Close(), m.log.SetUint64([]byte("CurrentTerm"), term))
}

// result is what Apply returns.
type result struct {
	outcome store.Outcome
	err     error
}

// Apply applies one entry.
func (m *machine) Apply(log *raft.Log) any {
	if m.failing.Load() { // even when Failed was received already
		return result{err: errors.New("an entry before could not be applied")}
	}
	m.applied.entries.Add(1)
	if m.applied.bytes.Add(uint64(len(log.Data))) > m.o.KeepBytes/4 {
		m.wantCheckpoint()
	}
	r := m.apply(log)
	if r.err != nil && !errors.Is(r.err, store.ErrNotLeader) {
		r.err = fmt.Errorf("apply entry %d: %w", log.Index, r.err)
		m.fail(r.err)
	}
	return r
}

func (m *machine) apply(log *raft.Log) (r result) {
	if len(log.Data) < entryHead {
		return result{err: store.ErrCorrupt}
	}
	if binary.LittleEndian.Uint64(log.Data) != log.Term {
		return result{err: fmt.Errorf("commit: %w any more", store.ErrNotLeader)}
	}
	partition := int(binary.LittleEndian.Uint16(log.Data[8:]))
	var b store.Batch
	if err := b.UnmarshalBinary(log.Data[entryHead:]); err != nil {
		return result{err: err}
	}
	if m.state == nil || partition >= len(m.state.Partitions) {
		return result{err: store.ErrMismatch}
	}
	m.applying.Lock()
	defer m.applying.Unlock()
	p := m.state.Partitions[partition]
	if r.outcome, r.err = p.Apply(log.Index, log.Term, &b); r.err != nil {
		return r
	}
	var outgrown bool
	if outgrown, r.err = p.Outgrown(m.o.CheckpointGrowth); outgrown {
		m.wantCheckpoint()
	}
	return r
}

// fail has the member leave for good: in a goroutine, since Raft's end waits for the caller. It is not left to the
// receiver of Failed, since the calls of others would wait for their answers until then.
func (m *machine) fail(err error) {
	if m.failing.CompareAndSwap(false, true) {
		m.failed <- err
		go m.leave()
	}
}

func (m *machine) wantCheckpoint() { ticks.Nudge(m.full) }

// Snapshot makes a checkpoint.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.failing.Load() {
		return nil, errors.New("an entry could not be applied")
	}
	if m.state == nil {
		return nil, ErrNoState
	}
	m.applied.entries.Store(0)
	m.applied.bytes.Store(0)
	m.counts.checkpoints.Add(1)
	return persisted{}, m.state.Checkpoint()
}

// Restore goes on with the state that was received. The sink of the snapshot has written its files already.
func (m *machine) Restore(received io.ReadCloser) (err error) {
	m.counts.received.Add(1)
	if err := received.Close(); err != nil {
		return err
	}
	m.use.Lock()
	defer m.use.Unlock()
	if m.state != nil {
		if err := m.state.Close(); err != nil {
			return err
		}
		m.state = nil
	}
	m.state, err = store.OpenState(m.o.State, m.o.Store)
	return err
}

// persisted is a checkpoint, which is on disk already.
type persisted struct{}

func (persisted) Persist(sink raft.SnapshotSink) error { return sink.Close() }
func (persisted) Release()                             {}

// stream writes a copy of the state, which is used meanwhile. It reports the size before.
func (m *machine) stream(w io.Writer, size chan<- int64) error {
	m.use.RLock()
	defer m.use.RUnlock()
	if m.state == nil {
		return ErrNoState
	}
	m.applying.Lock()
	begun := false
	begin := func() {
		if !begun {
			begun = true
			m.applying.Unlock()
		}
	}
	defer begin()
	return m.state.Stream(func(n int64, write func(io.Writer) error) error {
		begin()
		m.counts.sent.Add(1)
		size <- n
		return write(w)
	})
}
