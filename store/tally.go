package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
)

// tally counts the pages of a partition and of its hosts, as one commit leaves them.
type tally struct {
	tx             *bbolt.Tx
	totals, before totals
	hosts          map[HostID]*hostChange
}

// hostChange is the counts of a host as this commit leaves them.
type hostChange struct {
	counts  counts
	before  counts
	name    string
	present bool // had counts before
}

func newTally(tx *bbolt.Tx) (*tally, error) {
	t, err := readTotals(tx)
	return &tally{tx: tx, totals: t, before: t, hosts: map[HostID]*hostChange{}}, err
}

// host loads the counts of a host into this commit.
func (t *tally) host(id HostID, name string) (*hostChange, error) {
	if h := t.hosts[id]; h != nil {
		return h, nil
	}
	h := &hostChange{name: name}
	key := key64(uint64(id))
	if v := t.tx.Bucket(bucketCounts).Get(key); v != nil {
		var err error
		if h.counts, err = decodeCounts(key, v); err != nil {
			return nil, err
		}
		h.before, h.present = h.counts, true
	}
	t.hosts[id] = h
	return h, nil
}

// pages counts so many more, or less, pages of a host that are known, wait and were visited.
func (t *tally) pages(id HostID, name string, known, waiting, visited int) error {
	h, err := t.host(id, name)
	if err != nil {
		return err
	}
	h.counts.known += uint64(known)
	h.counts.waiting += uint64(waiting)
	h.counts.visited += uint64(visited)
	t.totals.known += uint64(known)
	t.totals.waiting += uint64(waiting)
	t.totals.visited += uint64(visited)
	return nil
}

// leaves takes a record out of the sums of queue and rest.
func (t *tally) leaves(id HostID, name string, old *remains) error {
	h, err := t.host(id, name)
	if err != nil {
		return err
	}
	h.counts.load -= old.load
	t.count(old.resting, old.dropped, ^uint64(0))
	return nil
}

// enters takes a record into the sums of queue and rest.
func (t *tally) enters(id HostID, name string, page *Page) error {
	h, err := t.host(id, name)
	if err != nil {
		return err
	}
	h.counts.load += page.loadIn()
	t.count(page.Next.IsZero(), page.Flags&Dropped != 0, 1)
	return nil
}

// count counts a record of the queue or at rest, or takes it back.
func (t *tally) count(resting, dropped bool, by uint64) {
	if !resting {
		t.totals.queued += by
		return
	}
	t.totals.resting += by
	if dropped {
		t.totals.dropped += by
	}
}

// flush stores the counts, and the hosts that were unknown.
func (t *tally) flush(out *Outcome) error {
	bucket, hosts := t.tx.Bucket(bucketCounts), t.tx.Bucket(bucketHosts)
	out.Waiting = map[HostID]uint64{}
	for _, id := range slices.Sorted(maps.Keys(t.hosts)) {
		h, key := t.hosts[id], key64(uint64(id))
		if h.present && h.counts == h.before {
			continue
		}
		if !h.present && hosts.Get(key) == nil {
			if err := put(hosts, key, encodeHost(&HostRecord{Name: h.name})); err != nil {
				return fmt.Errorf("host %s: %w", h.name, err)
			}
			t.totals.hosts++
		}
		if err := put(bucket, key, h.counts.encode()); err != nil {
			return fmt.Errorf("counts of %s: %w", h.name, err)
		}
		if h.counts.waiting != h.before.waiting {
			out.Waiting[id] = h.counts.waiting
		}
	}
	if t.totals == t.before {
		return nil
	}
	return writeTotals(t.tx, t.totals)
}

// totals are the counts of a partition.
type totals struct {
	serial                           uint64 // pages numbered so far
	hosts, known, visited, waiting   uint64
	queued, resting, dropped, linked uint64
	leases, parcels, relaxations     uint64
}

func (t *totals) fields() []*uint64 {
	return []*uint64{&t.serial, &t.hosts, &t.known, &t.visited, &t.waiting, &t.queued, &t.resting, &t.dropped,
		&t.linked,
		&t.leases, &t.parcels, &t.relaxations}
}

var totalsKey = []byte("totals")

func readTotals(tx *bbolt.Tx) (t totals, err error) {
	b, err := unseal(totalsKey, tx.Bucket(bucketMeta).Get(totalsKey))
	if err != nil {
		return t, fmt.Errorf("totals: %w", err)
	}
	s := scanner{rest: b}
	for _, f := range t.fields() {
		*f = s.u64()
	}
	return t, s.err("totals")
}

func writeTotals(tx *bbolt.Tx, t totals) error {
	b := make([]byte, 4, 4+8*12)
	for _, f := range t.fields() {
		b = binary.LittleEndian.AppendUint64(b, *f)
	}
	return put(tx.Bucket(bucketMeta), totalsKey, b)
}
