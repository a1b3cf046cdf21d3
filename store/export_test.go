package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"reflect"
	"unsafe"

	"go.etcd.io/bbolt"

	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
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

// ApplyEncoded does what a batch says that another partition has committed, as it would be read from a log.
func (p *Partition) ApplyEncoded(b *Batch) (Outcome, error) {
	e, err := b.MarshalBinary()
	if err != nil {
		return Outcome{}, err
	}
	var read Batch
	if err := read.UnmarshalBinary(e); err != nil {
		return Outcome{}, err
	}
	return p.apply(&read)
}

// Commits is how many commits the partition has had, as its file says.
func (p *Partition) Commits() (n uint64, err error) {
	err = p.view("read commits", func(tx *bbolt.Tx) error {
		noted, err := readProgress(tx)
		n = noted.of(p.index)
		return err
	})
	return n, err
}

// DividedBy writes another version of the list of registrable domains.
func (p *Partition) DividedBy(domains string) error {
	p.domains = domains
	return p.update("forge", func(tx *bbolt.Tx) error { return p.writeIdentity(tx, domains) })
}

// Domains is the version of the list of registrable domains that the file notes.
func (p *Partition) Domains() (domains string, err error) {
	err = p.view("read identity", func(tx *bbolt.Tx) error {
		noted := &Partition{}
		err := noted.identify(tx)
		domains = noted.domains
		return err
	})
	return domains, err
}

// UnpackLinks stores the links of a page, which are packed, as they are.
func (p *Partition) UnpackLinks(url string) error {
	return p.update("forge", func(tx *bbolt.Tx) error {
		key := key128(IDOf(weburl.HostOf(url)), fingerprint.URL(url))
		of, set, err := setOf(tx, key, tx.Bucket(bucketLinks).Get(key))
		if err != nil {
			return err
		}
		plain, err := unpackLinks(new([]byte), of, set)
		if err != nil || set[4] == linksPlain {
			return fmt.Errorf("links that are packed: %w", err)
		}
		set = append([]byte{0, 0, 0, 0, linksPlain}, plain...)
		return tx.Bucket(bucketLinkSets).Put(of[16:], seal(of, set))
	})
}

// BytesWritten is what bbolt has allocated for pages that were written since the partition was opened.
func (p *Partition) BytesWritten() int64 {
	stats := p.db.Stats()
	return stats.TxStats.GetPageAlloc()
}

// SetSchema writes another schema number.
func (p *Partition) SetSchema(n uint32) error {
	return p.update("set schema", func(tx *bbolt.Tx) error {
		v := append([]byte(nil), tx.Bucket(bucketMeta).Get(identityKey)...)
		binary.LittleEndian.PutUint32(v[4:], n)
		return put(tx.Bucket(bucketMeta), identityKey, v)
	})
}

// Forge puts a URL into the seen set without a record, or a record without an entry.
func (p *Partition) Forge(url string, record bool) error {
	return p.update("forge", func(tx *bbolt.Tx) error {
		host := IDOf(weburl.HostOf(url))
		if !record {
			return p.seen.Apply(tx, []seen.Op{{Host: uint64(host), URL: fingerprint.URL(url), Action: seen.Know}})
		}
		w := newFreshWriter(tx)
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

func sealed(key, b []byte) []byte { return seal(key, append(make([]byte, 4, 4+len(b)), b...)) }

// Backup writes a consistent copy of the partition while it runs.
func (p *Partition) Backup(w io.Writer) (n int64, err error) {
	err = p.view("back up", func(tx *bbolt.Tx) error {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, err
}
