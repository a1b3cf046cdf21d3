package store

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"
)

// What the owner of a partition has in it beside pages, as a commit stores it: hosts, leases, the outbox, and
// values of its own.

// insert stores a value, and counts its key if it is new.
func insert(b *bbolt.Bucket, key, v []byte, count *uint64) error {
	if b.Get(key) == nil {
		*count++
	}
	return put(b, key, v)
}

// remove deletes a value if it is there, which is then counted no more.
func remove(b *bbolt.Bucket, key []byte, count *uint64) error {
	if b.Get(key) == nil {
		return nil
	}
	*count--
	return b.Delete(key)
}

func storeHosts(tx *bbolt.Tx, records []HostRecord, t *totals) error {
	hosts, robots := tx.Bucket(bucketHosts), tx.Bucket(bucketRobots)
	for i := range records {
		h := &records[i]
		id := h.ID
		if id == 0 {
			id = IDOf(h.Name)
		}
		key := key64(uint64(id))
		if err := insert(hosts, key, encodeHost(h), &t.hosts); err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
		old := robots.Get(key)
		var err error
		switch {
		case len(h.Robots) == 0 && old == nil, len(old) > 4 && bytes.Equal(old[4:], h.Robots):
		case len(h.Robots) == 0:
			err = robots.Delete(key)
		default:
			err = put(robots, key, append(make([]byte, 4, 4+len(h.Robots)), h.Robots...))
		}
		if err != nil {
			return fmt.Errorf("robots of %s: %w", h.Name, err)
		}
	}
	return nil
}

func storeLeases(tx *bbolt.Tx, b *Batch, t *totals) error {
	leases := tx.Bucket(bucketLeases)
	for i := range b.leases {
		l := &b.leases[i]
		if err := insert(leases, key64(l.ID), encodeLease(l), &t.leases); err != nil {
			return fmt.Errorf("lease %d: %w", l.ID, err)
		}
	}
	for _, id := range b.ended {
		if err := remove(leases, key64(id), &t.leases); err != nil {
			return fmt.Errorf("lease %d: %w", id, err)
		}
	}
	return nil
}

func storeOutbox(tx *bbolt.Tx, b *Batch, t *totals) error {
	outbox := tx.Bucket(bucketOutbox)
	for i := range b.sends {
		number, err := outbox.NextSequence()
		if err == nil {
			err = insert(outbox, key64(number), encodeParcel(&b.sends[i]), &t.parcels)
		}
		if err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	for _, key := range b.sent {
		if err := remove(outbox, key, &t.parcels); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

func storeMetas(tx *bbolt.Tx, b *Batch) error {
	meta := tx.Bucket(bucketMeta)
	for i, name := range b.metaKeys {
		key := []byte(ownMeta + name)
		var err error
		if v := b.metas[i]; v == nil {
			err = meta.Delete(key)
		} else {
			err = put(meta, key, append(make([]byte, 4, 4+len(v)), v...))
		}
		if err != nil {
			return fmt.Errorf("meta %s: %w", name, err)
		}
	}
	return nil
}
