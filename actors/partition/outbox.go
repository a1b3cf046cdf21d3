package partition

import (
	"maps"
	"slices"

	"henro/actors/protocol"
	"henro/store"
	"henro/store/fingerprint"
)

// Bounds of an outbox.
const (
	ownersKept    = 1 << 14 // hosts whose partition is remembered
	deliveredKept = 1 << 16 // URLs that are known to be with their owner
)

// outbox is the way of URLs, in parcels, to the Partitions that own their hosts. It is a value: Updated takes a fact
// and returns what is to be done then, and its Partition reads, sends and forgets. So it has a script:
// testdata/outbox.script.
//
//	on disk ── parcelsWanted ──► sent ── CandidatesStored ──► answered ── parcelsForgotten ──► off the disk
//
// Invariant: parcels are read only when all that were sent are off the disk. Read sooner, they would be sent twice.
type outbox struct {
	partitionOf func(host string) int
	owners      map[string]int // partition of a host
	// URLs are sent each time they are found: a gate may have turned them away, or a better link lead to them
	again   bool
	sending int    // messages with parcels that are unanswered, or whose answer is not on disk yet
	left    uint64 // parcels on disk, by the last commit
	// fingerprint and reach of URLs that their owner has, direct-mapped: foreign ones that it has stored, and own ones
	// in a batch, which is stored with or before all that comes after it
	with []uint64
}

type (
	parcelsWanted    struct{} // asks for the oldest parcels on disk
	parcelsForgotten struct{} // those of one message are off the disk
)

func newOutbox(partitionOf func(string) int, again bool) outbox {
	return outbox{partitionOf: partitionOf, again: again, owners: map[string]int{}, with: make([]uint64, deliveredKept)}
}

// Updated takes a fact and returns what is to be done then. It is told of each Candidate that is in a batch, the Stats
// after a commit, the parcels that it wanted, CandidatesStored, and parcelsForgotten. It says parcelsWanted,
// CandidatesSent to the owner of its parcels, and CandidatesStored: they are to be taken off the disk.
func (b *outbox) Updated(fact any) (effects []any) {
	switch m := fact.(type) {
	case *store.Candidate:
		b.note(m)
		return nil
	case []store.Parcel:
		to := map[int][]store.Parcel{}
		for _, parcel := range m {
			to[parcel.Partition] = append(to[parcel.Partition], parcel)
		}
		b.sending += len(to)
		for _, owner := range slices.Sorted(maps.Keys(to)) {
			effects = append(effects, &protocol.CandidatesSent{Parcels: to[owner]})
		}
		return effects
	case *protocol.CandidatesStored:
		for i := range m.Parcels {
			for j := range m.Parcels[i].Candidates {
				b.note(&m.Parcels[i].Candidates[j])
			}
		}
		return []any{m}
	case *store.Stats:
		b.left = m.Parcels
	case *parcelsForgotten:
		b.sending--
	}
	if b.sending > 0 || b.left == 0 {
		return nil
	}
	return []any{&parcelsWanted{}}
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

// lacks reports that the owner of a URL lacks it, as far as is known here, or has it with fewer links left to follow.
// The links of a navigation bar, which are on every page, pass the outbox once.
func (b *outbox) lacks(c *store.Candidate) bool {
	slot, word := place(c)
	return b.again || !reaches(b.with[slot], word)
}

// reaches reports whether a known URL has as much depth left as one that is to be delivered, so that nothing would
// change.
func reaches(known, word uint64) bool { return known&^0xff == word&^0xff && known&0xff >= word&0xff }

// note notes that the owner of a URL has it, or will have it before all that comes after.
func (b *outbox) note(c *store.Candidate) {
	if slot, word := place(c); !reaches(b.with[slot], word) {
		b.with[slot] = word
	}
}

func place(c *store.Candidate) (slot int, word uint64) {
	fp := fingerprint.URL(c.URL)
	return int(fp % deliveredKept), fp&^0xff | uint64(c.Reach()) + 1
}
