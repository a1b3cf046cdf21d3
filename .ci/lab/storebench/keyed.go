package main

import (
	"encoding/binary"
	"path/filepath"

	"go.etcd.io/bbolt"

	"henro/store/fingerprint"
)

// keyedBench measures the usual layout, for comparison: one record per key (host8 ‖ URL8) and an index by due minute.
func keyedBench(b *bench) error {
	batches, err := numbers(b.batches)
	if err != nil {
		return err
	}
	db, err := openDB(filepath.Join(b.dir, "keyed.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	k := &keyed{p: newPopulation(b.n, b.seed), db: db}
	if err := k.load(); err != nil {
		return err
	}
	note("keyed: loaded, %.0f MB", fileMB(db.Path()))
	row("bench", "n", "layout", "batch", "visits", "µs/visit", "cpu µs/visit", "bytes/visit", "file MB")
	return b.profiled(func() error {
		for _, batch := range batches {
			visits := min(b.visits, int(batch)*40)
			m := startMeter()
			if err := k.run(visits, int(batch)); err != nil {
				return err
			}
			us, cpu, written := m.per(visits)
			row("keyed", b.n, "keyed+due", batch, visits, us, cpu, written, fileMB(db.Path()))
		}
		return nil
	})
}

type keyed struct {
	p      *population
	db     *bbolt.DB
	cursor []byte
}

var (
	recordBucket = []byte("records")
	dueBucket    = []byte("due")
)

// key is the same for all URLs of a host in its first half, so that they lie together.
func (k *keyed) key(i uint32) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(k.p.host[i])*0x9e3779b97f4a7c15)
	return binary.BigEndian.AppendUint64(b, fingerprint.URL(string(k.p.appendURL(nil, i))))
}

func dueKey(minute uint32, key []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, minute), key...)
}

func (k *keyed) load() error {
	k.db.NoSync = true
	defer func() { k.db.NoSync = false }()
	order, due := k.p.byDue()
	first := make([]uint32, len(order))
	for at, i := range order {
		first[i] = startMinute*60 + due[at]
	}
	for bucket, all := range map[string]func(int) (key, value []byte){
		// URLs lie host by host in the population, so this is nearly in the order of keys.
		string(recordBucket): func(at int) ([]byte, []byte) {
			return k.key(uint32(at)), k.p.appendRecord(nil, uint32(at), first[at])
		},
		string(dueBucket): func(at int) ([]byte, []byte) {
			return dueKey(startMinute+due[at]/60, k.key(order[at])), []byte{}
		},
	} {
		const batch = 50_000
		for from := 0; from < len(order); from += batch {
			if err := k.db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte(bucket))
				if err != nil {
					return err
				}
				b.FillPercent = 0.8
				for at := from; at < min(from+batch, len(order)); at++ {
					key, value := all(at)
					if err := b.Put(key, value); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return k.db.Sync()
}

func (k *keyed) run(visits, batch int) error {
	for done := 0; done < visits; done += batch {
		if err := k.db.Update(func(tx *bbolt.Tx) error {
			records, due := tx.Bucket(recordBucket), tx.Bucket(dueBucket)
			var keys [][]byte
			c := due.Cursor()
			for key, _ := c.Seek(k.cursor); key != nil && len(keys) < batch; key, _ = c.Next() {
				keys = append(keys, append([]byte(nil), key...))
			}
			for _, at := range keys {
				key := at[4:]
				record := append([]byte(nil), records.Get(key)...)
				now := binary.BigEndian.Uint32(at) * 60
				next := now + max(k.p.next(idOf(record)), 120)
				binary.LittleEndian.PutUint32(record, next)
				if err := due.Delete(at); err != nil {
					return err
				}
				if err := records.Put(key, record); err != nil {
					return err
				}
				if err := due.Put(dueKey(next/60, key), []byte{}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
