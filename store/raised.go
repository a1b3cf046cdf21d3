package store

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// bucketRaised says in which band the record of a waiting page lies that has another one in a worse band. The latter is
// a ghost: a lease may hold its position, so it cannot be ended when the page rises. Made with its first entry; an
// entry lasts as long as its page waits.
var bucketRaised = []byte("raised")

// raisedTo reads the band in which the record of a waiting page lies that rose; ok is false when none did.
func raisedTo(tx *bbolt.Tx, host HostID, fp uint64) (band uint8, ok bool, err error) {
	raised := tx.Bucket(bucketRaised)
	if raised == nil {
		return 0, false, nil
	}
	key := key128(host, fp)
	v := raised.Get(key)
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
	band, ok, err := raisedTo(tx, ref.key.host(), fp)
	return ok && band != ref.key.band(), err
}

// raiseTo notes in which band the record of a waiting page lies from now on.
func (w *freshWriter) raiseTo(host HostID, fp uint64, band uint8) error {
	raised, err := w.tx.CreateBucketIfNotExists(bucketRaised)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", bucketRaised, err)
	}
	return put(raised, key128(host, fp), []byte{0, 0, 0, 0, band})
}

// moved notes that a page which rose has its record in another band now.
func (w *freshWriter) moved(host HostID, fp uint64, band uint8) error {
	if _, rose, err := raisedTo(w.tx, host, fp); err != nil || !rose {
		return err
	}
	return w.raiseTo(host, fp, band)
}

// had forgets that a page rose which waits no more.
func (w *freshWriter) had(host HostID, fp uint64) error {
	if raised := w.tx.Bucket(bucketRaised); raised != nil {
		if err := raised.Delete(key128(host, fp)); err != nil {
			return fmt.Errorf("raised: %w", err)
		}
	}
	return nil
}

// waitsAgain reports whether a page, one of whose records was this, waits in RetryBand.
func (w *freshWriter) waitsAgain(ref *freshRef, fp uint64) (bool, error) {
	if ref == nil || ref.key.band() == RetryBand {
		return false, nil
	}
	band, rose, err := raisedTo(w.tx, ref.key.host(), fp)
	return rose && band == RetryBand, err
}
