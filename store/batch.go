package store

import (
	"time"
)

// Batch collects what one Commit stores. It is filled by one goroutine and may be filled again after Reset.
//
// The changes take effect in this sequence, whatever the order of the calls: Rejudge; visits, moves and drops;
// candidates; the rest. Strings and slices handed in are kept until the commit: do not change them.
type Batch struct {
	now      time.Time
	bytes    int
	records  int
	visits   []Visited
	moves    []Entry
	drops    []Entry
	renews   []Entry
	forgets  []Position
	admits   []Candidate
	hosts    []HostRecord
	leases   []Lease
	ended    []uint64
	sends    []Parcel
	sent     [][]byte
	relaxed  []Relaxation
	metaKeys []string
	metas    [][]byte
	rejudge  bool   // every visited page with links becomes a Relaxation
	given    uint64 // with rejudge: so many page numbers count as given

	// Set by Commit, so that its result follows from the batch and the state alone.
	opened  uint32      // minute up to which slots have opened, for Due too
	domains string      // version of the list of registrable domains by which hosts find their partition
	firsts  []firstPage // of each visit, which page had its main content first; nil: contents are not compared

	index uint64 // of the entry of a log that holds the batch; 0: there is none
}

// NewBatch returns an empty batch for a commit at this time.
func NewBatch(now time.Time) *Batch { return &Batch{now: now} }

// Reset empties the batch.
func (b *Batch) Reset(now time.Time) { *b = Batch{now: now} }

// Bytes is about how much the batch will write; commit it at some MB.
func (b *Batch) Bytes() int { return b.bytes }

// Len counts the records in the batch; commit it before some 40,000, since one commit keeps every page of the file that
// it changes in memory.
func (b *Batch) Len() int { return b.records }

// Empty reports whether the batch has no changes.
func (b *Batch) Empty() bool { return b.bytes == 0 }

func (b *Batch) grow(bytes int) { b.bytes += bytes; b.records++ }

// Visit stores what came of a visit and ends its position.
func (b *Batch) Visit(v Visited) {
	size := 100 + len(v.Page.URL)
	for i := range v.Links {
		size += len(v.Links[i].URL)/2 + len(v.Links[i].Anchor)
	}
	b.grow(size)
	b.visits = append(b.visits, v)
}

// Admit makes a page of a candidate, unless it is known.
func (b *Batch) Admit(c Candidate) { b.grow(48 + len(c.URL)); b.admits = append(b.admits, c) }

// Move writes a record again without a visit: to another time, or with other fields. A page that waits in fresh goes to
// the queue only by a visit, so there Move changes the fields and keeps the place.
func (b *Batch) Move(p Position, page Page) {
	b.grow(100 + len(page.URL))
	b.moves = append(b.moves, Entry{page, p})
}

// Drop gives a page up: its record rests, with page.Reason and page.Flags saying why.
func (b *Batch) Drop(p Position, page Page) {
	b.grow(100 + len(page.URL))
	b.drops = append(b.drops, Entry{page, p})
}

// Renew makes a page that was visited wait for its first visit again, with its number, depth and band; what was found
// at its visits is forgotten, its links too. A page that waits is left alone.
func (b *Batch) Renew(p Position, page Page) {
	b.grow(100 + len(page.URL))
	b.renews = append(b.renews, Entry{page, p})
}

// Forget ends the positions of ghosts, as Fresh.Of reported them. A position that is no ghost is left alone.
func (b *Batch) Forget(ghosts ...Position) {
	for _, p := range ghosts {
		b.grow(len(p))
		b.forgets = append(b.forgets, p)
	}
}

// PutHost stores the owner's part of a host record.
func (b *Batch) PutHost(h HostRecord) {
	b.grow(64 + len(h.Name) + len(h.Politeness) + len(h.Robots))
	b.hosts = append(b.hosts, h)
}

// PutLease stores a lease under its id.
func (b *Batch) PutLease(l Lease) {
	b.grow(64 + len(l.HostName) + len(l.Data))
	b.leases = append(b.leases, l)
}

// DeleteLease forgets a lease.
func (b *Batch) DeleteLease(id uint64) { b.grow(8); b.ended = append(b.ended, id) }

// Send puts candidates into the outbox for another partition.
func (b *Batch) Send(partition int, candidates []Candidate) {
	if len(candidates) == 0 {
		return
	}
	for i := range candidates {
		b.grow(16 + len(candidates[i].URL))
	}
	b.sends = append(b.sends, Parcel{Partition: partition, Candidates: candidates})
}

// Sent takes parcels out of the outbox, once the other partition has committed them.
func (b *Batch) Sent(keys ...[]byte) {
	for _, k := range keys {
		b.grow(len(k))
		b.sent = append(b.sent, k)
	}
}

// Relaxed ticks off a relaxation whose links are admitted in this batch. One that was raised again meanwhile stays.
func (b *Batch) Relaxed(r Relaxation) { b.grow(32); b.relaxed = append(b.relaxed, r) }

// PutMeta stores a value of the owner under a name of its own; nil deletes it.
func (b *Batch) PutMeta(name string, value []byte) {
	b.grow(len(name) + len(value))
	b.metaKeys, b.metas = append(b.metaKeys, name), append(b.metas, value)
}

// Rejudge makes a Relaxation of every visited page with links, so that these are judged again. The first so many page
// numbers count as given.
func (b *Batch) Rejudge(given uint64) { b.grow(8); b.rejudge, b.given = true, max(b.given, given) }

// Admission counts the pages of one host that a commit admitted.
type Admission struct {
	Host  HostID
	Name  string
	Count int
}

// Outcome says what a commit did.
type Outcome struct {
	Admitted    []Admission // new pages by host, in the order of first appearance
	Visited     int         // visits stored
	Replayed    int         // visits, moves, drops and renewals stored before, or whose position is not theirs
	Raised      int         // candidates that were known with less depth left
	Relaxations int         // pages now waiting in Relaxations
	Splits      int         // records moved from coarse slots into finer ones
	Texts       []Text      // of the visits stored, if contents are compared
	// pages that wait for their first visit now, of each host of which there were more or less before
	Waiting map[HostID]uint64
}

// Text is what a commit knows of the main text of a page that it has stored.
type Text struct {
	URL   string
	First string // the page that had the text before; empty: this one is the first, or none is known
	New   bool   // the page was visited for the first time
}
