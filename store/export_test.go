package store

import (
	"encoding/binary"
	"os"
	"reflect"
	"unsafe"

	"go.etcd.io/bbolt"
)

// FailWrite makes the n-th write of a partition fail after half of it, or for negative n the sync behind it. bbolt hides its write
// function and its file, so the test reaches for both by reflection.
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
		return tx.Bucket(bucketMeta).Put(identityKey, seal(v))
	})
}
