package store

import (
	"errors"
	"io"
	"time"

	"henro/messages/outlink"
)

var errUnwritten = errors.New("not written yet")

// Partition is one file of the state. Commit and KnownEnough belong to its one owner; reads may come from any goroutine, and none
// may be made from within the function of another (a growing file waits for readers).
type Partition struct{}

// Open opens a partition by itself; a crawl uses OpenState.
func Open(path string, o Options) (*Partition, error) { return nil, errUnwritten }

// Close lets go of the file. It waits for reads to end.
func (p *Partition) Close() error { return errUnwritten }

// Commit stores the batch in one transaction: all of it, or nothing and an error. The same batch may be committed again, after an
// error or after a success. Committing an empty batch at least once a minute lets coarse slots be split in time.
func (p *Partition) Commit(b *Batch) (Outcome, error) { return Outcome{}, errUnwritten }

// KnownEnough reports that a URL is surely known with at least this depth left, from memory alone: its candidate need not be
// admitted. False says nothing. For the owner's goroutine only.
func (p *Partition) KnownEnough(host HostID, fp uint64, depthLeft uint8) bool { return false }

// Host reads one host, or ErrNotFound.
func (p *Partition) Host(id HostID) (HostRecord, error) { return HostRecord{}, errUnwritten }

// Hosts reads up to limit hosts behind one, in the order of ids; 0 starts.
func (p *Partition) Hosts(after HostID, limit int) ([]HostRecord, error) { return nil, errUnwritten }

// Waiting is what Fresh read.
type Waiting struct {
	Entries []Entry    // by band, then first come first; DepthLeft is what the seen set says now
	Ghosts  []Position // entries whose page was visited meanwhile inside a lease: hand them to Batch.Forget
	Next    Position   // go on behind this one; nil at the end
}

// Fresh reads up to limit pages of a host that wait for their first visit. Those in RetryBand have a Next to be kept.
func (p *Partition) Fresh(host HostID, after Position, limit int) (Waiting, error) {
	return Waiting{}, errUnwritten
}

// Due reads up to limit pages whose slot has opened at this time, in the order of slots, and the position to go on behind, nil when
// nothing is left now. What was read stays there until a commit ends it, so a restart reads it again. After the clock was set back,
// start again from nil.
func (p *Partition) Due(now time.Time, after Position, limit int) ([]Entry, Position, error) {
	return nil, nil, errUnwritten
}

// NextDue is the earliest moment behind a position at which Due may find more or a slot wants splitting; zero: the queue is empty.
func (p *Partition) NextDue(after Position) (time.Time, error) { return time.Time{}, errUnwritten }

// At reads the record at a position, or ErrNotFound when the position has ended.
func (p *Partition) At(pos Position) (Entry, error) { return Entry{}, errUnwritten }

// Leases reads all leases.
func (p *Partition) Leases() ([]Lease, error) { return nil, errUnwritten }

// Outbox reads up to limit parcels, oldest first.
func (p *Partition) Outbox(limit int) ([]Parcel, error) { return nil, errUnwritten }

// Relaxations reads up to limit pages whose links are to be admitted again.
func (p *Partition) Relaxations(limit int) ([]Relaxation, error) { return nil, errUnwritten }

// Outlinks reads the links found at the last visit of a page, or ErrNotFound.
func (p *Partition) Outlinks(host HostID, fp uint64) ([]outlink.Outlink, error) {
	return nil, errUnwritten
}

// Known reads up to max fingerprints of a host, ascending, and whether they are all. The lowest eight bits are not kept: they read
// as zero, and whoever compares clears them too.
func (p *Partition) Known(host HostID, max int) ([]uint64, bool, error) {
	return nil, false, errUnwritten
}

// Seen reports whether a URL is known, with which depth left, and whether it was visited.
func (p *Partition) Seen(url string) (depthLeft uint8, visited, known bool, err error) {
	return 0, false, false, errUnwritten
}

// Lookup finds the record of a URL by reading the places it can lie in, or ErrNotFound.
func (p *Partition) Lookup(url string) (Entry, Place, error) { return Entry{}, 0, errUnwritten }

// Meta reads a value stored by PutMeta; nil when there is none.
func (p *Partition) Meta(name string) ([]byte, error) { return nil, errUnwritten }

// EachPage calls fn for every page, on one snapshot, until it returns an error.
func (p *Partition) EachPage(fn func(Page, Place) error) error { return errUnwritten }

// EachLinks calls fn for the links of every page, likewise.
func (p *Partition) EachLinks(fn func(host HostID, fp uint64, links []outlink.Outlink) error) error {
	return errUnwritten
}

// EachHost calls fn for every host, likewise.
func (p *Partition) EachHost(fn func(HostRecord) error) error { return errUnwritten }

// EachStop calls fn for every entry of the stop list, likewise.
func (p *Partition) EachStop(fn func(StopEntry) error) error { return errUnwritten }

// Stats are counts of a partition, kept as it changes: reading them costs microseconds.
type Stats struct {
	Hosts, Known, Visited, Waiting uint64
	Queued, Resting, Dropped       uint64
	Linked                         uint64 // pages with links stored
	Leases, Parcels, Relaxations   int
	Bytes, Free                    int64 // size of the file, and how much of it is free pages
}

// Stats reads the counts.
func (p *Partition) Stats() (Stats, error) { return Stats{}, errUnwritten }

// Backup writes a consistent copy of the partition while it runs.
func (p *Partition) Backup(w io.Writer) (int64, error) { return 0, errUnwritten }
