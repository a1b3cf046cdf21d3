package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/net/publicsuffix"

	"henro/store/fingerprint"
	"henro/store/seen"
	"henro/store/timequeue"
)

// Schema is the version of the format on disk, which store/FORMAT.md describes. It rises when another henro could not
// read what this one writes, or this one what another wrote; a file of another version is refused.
const Schema = 5

// The buckets of a partition; packages timequeue and seen have their own.
var (
	bucketMeta   = []byte("meta")
	bucketHosts  = []byte("hosts")
	bucketRobots = []byte("robots")
	bucketCounts = []byte("counts")
	bucketFresh  = []byte("fresh")
	bucketLinks  = []byte("links")
	bucketLeases = []byte("leases")
	bucketOutbox = []byte("outbox")
	bucketRelax  = []byte("relax")
	buckets      = [][]byte{bucketMeta, bucketHosts, bucketRobots, bucketCounts, bucketFresh, bucketLinks,
		bucketLinkSets, bucketLeases, bucketOutbox, bucketRelax, bucketContents}
)

var identityKey = []byte("identity")

// Partition is one file of the state. Commit belongs to its one owner. The tables may be read from any goroutine, but
// not from within the function of another read, since a growing file waits for readers; on a snapshot they may.
type Partition struct {
	Tables
	*reader
	options Options
	index   int // which partition this is
	of      int // how many there are
	identity

	progress *progress // of the whole state, shared by its partitions; nil until it has begun
	contents *contents // likewise; nil: contents are not compared

	// mu keeps Due and Commit apart, so that a slot is not split or appended to while it is handed out.
	mu     sync.Mutex
	opened uint32 // minute up to which Due has handed out slots
	queue  *timequeue.Writer
	seen   seen.Writer

	replicate func(partition int, b *Batch) (Outcome, error) // State.Replicate; nil: one master has the state
	pinned    *bbolt.Tx                                      // of a replica: its checkpoint
}

// identity is what the files of one state have in common.
type identity struct {
	crawl   [16]byte
	domains string // version of the list of registrable domains the hosts were divided by, or mixedDomains
}

// Open opens a partition by itself, creating it as the only one of its state; a crawl uses OpenState.
func Open(path string, o Options) (*Partition, error) {
	p, err := open(path, o, 0, 1, identity{})
	if err != nil {
		return nil, err
	}
	s := &State{Partitions: []*Partition{p}}
	s.shareContents(o)
	if err := s.beginSession(o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// open opens a partition, creating it with an identity when the file is missing or empty.
func open(path string, o Options, index, of int, id identity) (p *Partition, err error) {
	doing := "open " + path
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer rescue(doing, &err)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	timeout := cmp.Or(o.LockTimeout, 1) // with 0 bbolt would wait for ever
	if err := inspect(path, &bbolt.Options{Timeout: timeout, ReadOnly: true}, o.inspect); err != nil {
		return nil, diagnose(doing, err)
	}
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{
		Timeout:         timeout,
		FreelistType:    bbolt.FreelistMapType, // with 124,000 free pages 3 × as fast as the array
		NoFreelistSync:  false,                 // else every open scans the whole file: 24 s for 3 GB
		InitialMmapSize: o.MapBytes,
		MaxSize:         o.MaxBytes,
		ReadOnly:        o.ReadOnly,
		PreLoadFreelist: true,
		NoSync:          o.NoSync,
		NoGrowSync:      o.NoSync,
	})
	if err != nil {
		return nil, diagnose(doing, err)
	}
	r := &reader{path: path, db: db, sound: new(atomic.Bool)}
	p = &Partition{Tables: tablesOf(r), reader: r, options: o, index: index, of: of, identity: id,
		queue: timequeue.NewWriter(timequeue.Hierarchical)}
	p.sound.Store(true)
	defer func() {
		if err != nil {
			db.Close()
			p = nil
		}
	}()
	// A file without a commit is new: bbolt writes its two first metas as transactions 0 and 1. Missing buckets are no
	// sign of it: a damaged root has none either, and must not be written over.
	committed := false
	if err := p.view(doing, func(tx *bbolt.Tx) error {
		committed = tx.ID() > 1
		return nil
	}); err != nil {
		return p, err
	}
	if !committed {
		if o.ReadOnly {
			return p, fmt.Errorf("%s: nothing was ever committed to %s: %w", doing, path, ErrCorrupt)
		}
		if err := p.update("create "+path, p.create); err != nil {
			return p, err
		}
	}
	return p, p.view(doing, func(tx *bbolt.Tx) error {
		if err := p.identify(tx); err != nil {
			return err
		}
		n, err := readProgress(tx)
		if err != nil {
			return err
		}
		return n.whole(tx)
	})
}

// create makes the buckets of a new partition.
func (p *Partition) create(tx *bbolt.Tx) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("bucket %s: %w", name, err)
		}
	}
	if err := timequeue.Create(tx); err != nil {
		return err
	}
	if err := seen.Create(tx); err != nil {
		return err
	}
	if err := writeTotals(tx, totals{}); err != nil {
		return err
	}
	return p.writeIdentity(tx, p.domains)
}

func (p *Partition) writeIdentity(tx *bbolt.Tx, domains string) error {
	b := binary.LittleEndian.AppendUint32(make([]byte, 4, 64), Schema)
	b = binary.LittleEndian.AppendUint16(b, uint16(p.index))
	b = binary.LittleEndian.AppendUint16(b, uint16(p.of))
	b = append(b, p.crawl[:]...)
	b = appendBytes(b, domains)
	return put(tx.Bucket(bucketMeta), identityKey, b)
}

// knows refuses a version of the format that is not this henro's.
func knows(schema uint32) error {
	switch {
	case schema > Schema:
		return fmt.Errorf("schema %d, this henro knows %d: %w", schema, Schema, ErrNewerSchema)
	case schema < Schema:
		return fmt.Errorf("schema %d, this henro knows %d: %w", schema, Schema, ErrOlderSchema)
	}
	return nil
}

// identify reads who a partition is, and refuses what a henro of another format wrote.
func (p *Partition) identify(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return fmt.Errorf("bucket %s is missing: %w", bucketMeta, ErrCorrupt)
	}
	b, err := unseal(identityKey, meta.Get(identityKey))
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	s := scanner{rest: b}
	if err := knows(s.u32()); err != nil {
		return err
	}
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return fmt.Errorf("bucket %s is missing: %w", name, ErrCorrupt)
		}
	}
	p.index, p.of = int(s.u16()), int(s.u16())
	copy(p.crawl[:], s.take(16))
	p.domains = s.string()
	if s.bad || p.of == 0 || p.index >= p.of {
		return fmt.Errorf("identity: %w", ErrCorrupt)
	}
	return nil
}

// Close lets go of the file. It waits for reads to end.
func (p *Partition) Close() (err error) {
	if p.pinned != nil {
		err = p.closeReplica()
	}
	return diagnose("close "+p.path, errors.Join(err, p.db.Close()))
}

// Snapshot calls fn with the partition as of one moment; see State.Snapshot.
func (p *Partition) Snapshot(fn func(*Partition) error) error {
	return p.view("begin a snapshot", func(tx *bbolt.Tx) error { return fn(p.at(tx)) })
}

// at is the partition as a transaction sees it, without identity.domains, which commits beside it change.
func (p *Partition) at(tx *bbolt.Tx) *Partition {
	r := &reader{path: p.path, db: p.db, frozen: tx, sound: p.sound}
	return &Partition{Tables: tablesOf(r), reader: r, options: p.options, index: p.index, of: p.of,
		identity: identity{crawl: p.crawl}}
}

func (p *Partition) update(doing string, fn func(*bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer p.noteDamage(&err)
	defer rescue(doing, &err)
	return diagnose(doing, p.db.Update(fn))
}

// Due reads up to limit pages whose slot has opened at this time, in the order of slots, and the position to go on
// behind: the last one read, or the one given when there is nothing left now. What was read stays there until a commit
// ends it, so a restart reads it again. After the clock was set back, start again from nil.
func (p *Partition) Due(now time.Time, after Position, limit int) (entries []Entry, next Position, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened = timequeue.Minute(now)
	err = p.view("read due pages", func(tx *bbolt.Tx) error {
		entries, err = readQueue(tx, p.opened, after, limit, nil)
		return err
	})
	if len(entries) > 0 {
		after = entries[len(entries)-1].Position
	}
	return entries, after, err
}

func queueRef(p Position) timequeue.Ref {
	if ref, _ := parsePosition(p); ref != nil {
		return *ref
	}
	return timequeue.Ref{}
}

// Commit stores the batch in one transaction: all of it, or nothing and an error. The same batch may be committed
// again, after an error or after a success. Committing an empty batch at least once a minute lets coarse slots be split
// in time.
func (p *Partition) Commit(b *Batch) (out Outcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.opened, b.domains = max(p.opened, timequeue.Minute(b.now)), publicsuffix.List.String()
	if b.firsts = nil; p.contents != nil {
		if b.firsts, err = p.contents.find(p, b.visits); err != nil {
			return Outcome{}, err
		}
		defer func() { p.contents.release(p, b, err != nil) }()
	}
	if p.replicate != nil {
		return p.replicate(p.index, b)
	}
	return p.apply(b)
}

// apply does what a batch says that Commit has completed. What the partition holds afterwards is a function of the
// batch and of what it held before, down to every position: no clock, no option, no chance and no read has a part in
// it. So replicas to which the same batches are applied in the same order hold the same, as Digest tells.
func (p *Partition) apply(b *Batch) (Outcome, error) {
	if b.Empty() {
		pending, out := false, Outcome{}
		if err := p.view("look for slots to split", func(tx *bbolt.Tx) error {
			if err := p.queue.Begin(tx, b.opened); err != nil {
				return err
			}
			pending = p.queue.Pending()
			t, err := readTotals(tx)
			out.Relaxations = int(t.relaxations)
			return err
		}); err != nil || !pending {
			return out, err
		}
	}
	var c *commit
	own := p.progress.commits[p.index].Load() + 1
	err := p.update("commit", func(tx *bbolt.Tx) error {
		c = &commit{partition: p, tx: tx, batch: b, domains: p.domains, admitted: map[HostID]int{}}
		if err := c.run(); err != nil {
			return err
		}
		if b.index > 0 {
			if err := put(tx.Bucket(bucketMeta), appliedKey,
				binary.LittleEndian.AppendUint64(make([]byte, 4, 12), b.index)); err != nil {
				return err
			}
		}
		return p.progress.write(tx, p.index, own)
	})
	if p.contents != nil && c != nil {
		p.contents.forget(p, c.contents.gone)
	}
	if err != nil {
		return Outcome{}, err
	}
	p.progress.commits[p.index].Store(own) // it is on disk: the others may say so
	p.domains = c.domains
	return c.out, nil
}

// Holds reports of each candidate whether it changes nothing here: the URL is known, with at least this reach, and that
// is on the disk. Progress tells, since a read sees a commit before its last sync.
func (p *Partition) Holds(candidates []Candidate) ([]bool, error) {
	held := make([]bool, len(candidates))
	err := p.view("read seen set", func(tx *bbolt.Tx) error {
		noted, err := readProgress(tx)
		if err != nil || noted.of(p.index) > p.progress.commits[p.index].Load() {
			return err
		}
		set, err := seen.Read(tx)
		if err != nil {
			return err
		}
		for i := range candidates {
			c := &candidates[i]
			e, known, err := set.Get(uint64(IDOf(c.Host)), fingerprint.URL(c.URL))
			if err != nil {
				return err
			}
			held[i] = known && e.Reach() >= c.Reach()
		}
		return nil
	})
	return held, err
}

// Stats are counts of a partition, kept as it changes: reading them costs microseconds.
type Stats struct {
	Hosts   uint64
	Known   uint64 // URLs in the seen set
	Visited uint64 // visited at least once, or given up
	Waiting uint64 // waiting for their first visit
	Queued  uint64 // to be visited again
	Resting uint64 // no visit planned
	Dropped uint64 // of these, given up
	Linked  uint64 // pages with links stored
	// main contents in the index: fewer than pages visited, of which some are like others and some have no words
	Contents uint64

	Leases, Parcels, Relaxations uint64

	Bytes int64 // size of the file
	Free  int64 // how much of it is free pages
}

// Stats reads the counts.
func (p *Partition) Stats() (s Stats, err error) {
	err = p.view("read counts", func(tx *bbolt.Tx) error {
		t, err := readTotals(tx)
		s = Stats{Hosts: t.hosts, Known: t.known, Visited: t.visited, Waiting: t.waiting, Queued: t.queued,
			Resting: t.resting,
			Dropped: t.dropped, Linked: t.linked, Leases: t.leases, Parcels: t.parcels, Relaxations: t.relaxations,
			Bytes: tx.Size()}
		s.Contents = tx.Bucket(bucketContents).Sequence()
		return err
	})
	if stats := p.db.Stats(); err == nil {
		s.Free = int64(stats.FreeAlloc)
	}
	return s, err
}
