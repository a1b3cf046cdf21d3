package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"reflect"
	"unsafe"

	"go.etcd.io/bbolt"

	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
	"henro/store/timequeue"
)

// FailWrite makes the n-th write of a partition fail after half of it, or for negative n the sync behind it. bbolt
// hides its write function and its file, so the test reaches for both by reflection.
func (p *Partition) FailWrite(n int, with error) (heal func() bool) {
	db := reflect.ValueOf(p.db).Elem()
	field := db.FieldByName("ops").FieldByName("writeAt")
	writeAt := (*func([]byte, int64) (int, error))(unsafe.Pointer(field.UnsafeAddr()))
	file := (**os.File)(unsafe.Pointer(db.FieldByName("file").UnsafeAddr()))
	realWrite, realFile := *writeAt, *file
	count, happened := 0, false
	*writeAt = func(b []byte, off int64) (int, error) {
		count++
		switch count {
		case n:
			happened = true
			k, _ := realWrite(b[:len(b)/2], off)
			return k, with
		case -n:
			happened = true
			k, err := realWrite(b, off)
			closed, _ := os.Open(os.DevNull)
			closed.Close()
			*file = closed
			return k, err
		}
		return realWrite(b, off)
	}
	return func() bool {
		*writeAt, *file = realWrite, realFile
		return happened
	}
}

// SetSchema writes another schema number.
func (p *Partition) SetSchema(n uint32) error {
	return p.update("set schema", func(tx *bbolt.Tx) error {
		v := append([]byte(nil), tx.Bucket(bucketMeta).Get(identityKey)...)
		binary.LittleEndian.PutUint32(v[4:], n)
		return put(tx.Bucket(bucketMeta), identityKey, v)
	})
}

// SchemaOnDisk reads the schema number.
func (p *Partition) SchemaOnDisk() (n uint32, err error) {
	err = p.view("read schema", func(tx *bbolt.Tx) error {
		n = binary.LittleEndian.Uint32(tx.Bucket(bucketMeta).Get(identityKey)[4:])
		return nil
	})
	return n, err
}

// Forge puts a URL into the seen set without a record, or a record without an entry.
func (p *Partition) Forge(url string, record bool) error {
	return p.update("forge", func(tx *bbolt.Tx) error {
		host := IDOf(weburl.HostOf(url))
		if !record {
			return p.seen.Apply(tx, []seen.Op{{Host: uint64(host), URL: fingerprint.URL(url), Action: seen.Know}})
		}
		w := newFreshWriter(tx.Bucket(bucketFresh))
		if err := w.put(host, 0, appendPage(nil, &Page{URL: url, Number: 1 << 40})); err != nil {
			return err
		}
		return w.flush()
	})
}

// ForgeCounts counts one page more at a host.
func (p *Partition) ForgeCounts(host string) error {
	return p.update("forge", func(tx *bbolt.Tx) error {
		b, key := tx.Bucket(bucketCounts), key64(uint64(IDOf(host)))
		c, err := decodeCounts(key, b.Get(key))
		if err != nil {
			return err
		}
		c.load++
		return put(b, key, c.encode())
	})
}

// ForgeTotals counts one page more in all.
func (p *Partition) ForgeTotals() error {
	return p.update("forge", func(tx *bbolt.Tx) error {
		t, err := readTotals(tx)
		if err != nil {
			return err
		}
		t.queued++
		return writeTotals(tx, t)
	})
}

// FlipLease stores a lease of which one bit is wrong.
func (p *Partition) FlipLease() error {
	return p.update("forge", func(tx *bbolt.Tx) error {
		leases := tx.Bucket(bucketLeases)
		if err := put(leases, key64(1), encodeLease(&Lease{ID: 1, HostName: "http://a.example"})); err != nil {
			return err
		}
		v := append([]byte(nil), leases.Get(key64(1))...)
		v[len(v)-3] ^= 4
		return leases.Put(key64(1), v)
	})
}

// Digest is one of all that a partition holds: of every bucket with its sequence, of every key and value, in their
// order. It leaves out which file it is, and how far the files of the state have come.
func (p *Partition) Digest() (string, error) {
	h := sha256.New()
	write := func(kind byte, parts ...[]byte) {
		h.Write([]byte{kind})
		for _, part := range parts {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
			h.Write(part)
		}
	}
	var walk func(name []byte, b *bbolt.Bucket) error
	walk = func(name []byte, b *bbolt.Bucket) error {
		write('b', name, binary.LittleEndian.AppendUint64(nil, b.Sequence()))
		err := b.ForEach(func(k, v []byte) error {
			switch {
			case v == nil:
				return walk(k, b.Bucket(k))
			case bytes.Equal(name, bucketMeta) && (bytes.Equal(k, identityKey) || bytes.Equal(k, progressKey)):
			default:
				write('v', k, v)
			}
			return nil
		})
		write('e')
		return err
	}
	err := p.view("digest", func(tx *bbolt.Tx) error { return tx.ForEach(walk) })
	return hex.EncodeToString(h.Sum(nil)), err
}

func sealed(key, b []byte) []byte { return sealInPlace(key, append(make([]byte, 4, 4+len(b)), b...)) }

func sealInPlace(key, v []byte) []byte {
	binary.LittleEndian.PutUint32(v, timequeue.Sum(key, v[4:]))
	return v
}
