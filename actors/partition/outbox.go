package partition

import (
	"henro/store"
	"henro/store/fingerprint"
)

// Bounds of an outbox.
const (
	ownersKept    = 1 << 14 // hosts whose partition is remembered
	deliveredKept = 1 << 16 // URLs that are known to be with their owner
)

// outbox is the way of URLs to the Partitions that own their hosts. It is a value: its Partition sends and forgets. So
// it has a script: testdata/outbox.script.
//
//	found ──► stored in a parcel ── post ──► sent ── delivered ──► answered ── cleared ──► off the disk
//
// Invariant: parcels are read only when all that were sent are off the disk. Read sooner, they would be sent twice.
type outbox struct {
	partitionOf func(host string) int
	owners      map[string]int // partition of a host
	// URLs are sent each time they are found: a gate may have turned them away, or a better link lead to them
	again   bool
	sending int // messages with parcels that are unanswered, or whose answer is not on disk yet
	// fingerprint and reach of URLs that their owner has, direct-mapped: foreign ones that it has stored, and own ones
	// in a batch, which is stored with or before all that comes after it
	with []uint64
}

func newOutbox(partitionOf func(string) int, again bool) outbox {
	return outbox{partitionOf: partitionOf, again: again, owners: map[string]int{}, with: make([]uint64, deliveredKept)}
}

// ownerOf returns the partition of a host. Finding the registrable domain costs a microsecond, so it is remembered for
// a while.
func (b *outbox) ownerOf(host string) int {
	owner, ok := b.owners[host]
	if !ok {
		if len(b.owners) >= ownersKept {
			clear(b.owners)
		}
		owner = b.partitionOf(host)
		b.owners[host] = owner
	}
	return owner
}

// found reports that the owner of a URL lacks it, as far as is known here, or has it with fewer links left to follow.
// The links of a navigation bar, which are on every page, pass the outbox once.
func (b *outbox) found(c *store.Candidate) bool {
	slot, word := place(c)
	return b.again || !reaches(b.with[slot], word)
}

// reaches reports whether a known URL has as much depth left as one that is to be delivered, so that nothing would
// change.
func reaches(known, word uint64) bool { return known&^0xff == word&^0xff && known&0xff >= word&0xff }

// add notes that the owner of a URL has it, or will have it before all that comes after, and reports whether that
// was not known.
func (b *outbox) add(c *store.Candidate) (lacked bool) {
	slot, word := place(c)
	if reaches(b.with[slot], word) {
		return false
	}
	b.with[slot] = word
	return true
}

func place(c *store.Candidate) (slot int, word uint64) {
	fp := fingerprint.URL(c.URL)
	return int(fp % deliveredKept), fp&^0xff | uint64(c.Reach()) + 1
}

// post groups the oldest parcels on disk by their owners. Each owner gets one message.
func (b *outbox) post(parcels []store.Parcel) map[int][]store.Parcel {
	to := map[int][]store.Parcel{}
	for _, parcel := range parcels {
		to[parcel.Partition] = append(to[parcel.Partition], parcel)
	}
	b.sending += len(to)
	return to
}

// delivered notes that an owner has parcels on disk. cleared follows when they are out of the outbox on disk here.
func (b *outbox) delivered(parcels []store.Parcel) {
	for i := range parcels {
		for j := range parcels[i].Candidates {
			b.add(&parcels[i].Candidates[j])
		}
	}
}

// cleared notes that the parcels of one message are off the disk.
func (b *outbox) cleared() { b.sending-- }
