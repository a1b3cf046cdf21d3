package store

import (
	"fmt"

	"go.etcd.io/bbolt"

	"henro/store/fingerprint"
)

// bucketRises has, for each waiting page that rose, the band in which its record lies. Its record in the worse band is
// a ghost: a lease may hold its position, so it cannot be ended when the page rises. The bucket is made with its first
// entry; an entry lasts as long as its page waits.
var bucketRises = []byte("raised")

// roseTo reads the band to which a waiting page rose; ok is false when it did not.
func roseTo(tx *bbolt.Tx, host HostID, fp uint64) (band uint8, ok bool, err error) {
	rises := tx.Bucket(bucketRises)
	if rises == nil {
		return 0, false, nil
	}
	key := key128(host, fp)
	v := rises.Get(key)
	if v == nil {
		return 0, false, nil
	}
	b, err := unseal(key, v)
	if err != nil || len(b) != 1 {
		return 0, false, fmt.Errorf("raised %x: %w", key, ErrCorrupt)
	}
	return b[0], true, nil
}

// superseded reports whether another record of the page lies in the band to which it rose.
func superseded(tx *bbolt.Tx, ref freshRef, fp uint64) (bool, error) {
	band, ok, err := roseTo(tx, ref.key.host(), fp)
	return ok && band != ref.key.band(), err
}

// noteRise notes in which band the record of a waiting page lies from now on.
func (w *freshWriter) noteRise(host HostID, fp uint64, band uint8) error {
	rises, err := w.tx.CreateBucketIfNotExists(bucketRises)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", bucketRises, err)
	}
	return put(rises, key128(host, fp), []byte{0, 0, 0, 0, band})
}

// moved notes that a page which rose has its record in another band now.
func (w *freshWriter) moved(host HostID, fp uint64, band uint8) error {
	if _, rose, err := roseTo(w.tx, host, fp); err != nil || !rose {
		return err
	}
	return w.noteRise(host, fp, band)
}

// forgetRise forgets that a page rose, since it waits no more.
func (w *freshWriter) forgetRise(host HostID, fp uint64) error {
	if rises := w.tx.Bucket(bucketRises); rises != nil {
		if err := rises.Delete(key128(host, fp)); err != nil {
			return fmt.Errorf("raised: %w", err)
		}
	}
	return nil
}

// waitsAgain reports whether the page of a record waits in AwaitBand or RetryBand by another record.
func (w *freshWriter) waitsAgain(ref *freshRef, fp uint64) (bool, error) {
	if ref == nil {
		return false, nil
	}
	band, rose, err := roseTo(w.tx, ref.key.host(), fp)
	return rose && band >= AwaitBand && band != ref.key.band(), err
}

// stay puts a page into the band of its kind behind all others, from which it does not rise.
func (c *commit) stay(o *change, page *Page) error {
	band := uint8(RetryBand)
	if page.Flags&Awaits != 0 {
		band = AwaitBand
	}
	if err := c.fresh.noteRise(o.host, fingerprint.URL(page.URL), band); err != nil {
		return err
	}
	return c.wait(o, page, band)
}
