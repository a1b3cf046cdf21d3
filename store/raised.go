package store

import (
	"fmt"

	"go.etcd.io/bbolt"

	"henro/store/fingerprint"
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
func (c *commit) raiseTo(host HostID, fp uint64, band uint8) error {
	raised, err := c.tx.CreateBucketIfNotExists(bucketRaised)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", bucketRaised, err)
	}
	return put(raised, key128(host, fp), []byte{0, 0, 0, 0, band})
}

// moved notes that a page which rose has its record in another band now.
func (c *commit) moved(host HostID, fp uint64, band uint8) error {
	if _, rose, err := raisedTo(c.tx, host, fp); err != nil || !rose {
		return err
	}
	return c.raiseTo(host, fp, band)
}

// had forgets that a page rose which waits no more.
func (c *commit) had(host HostID, fp uint64) error {
	if raised := c.tx.Bucket(bucketRaised); raised != nil {
		if err := raised.Delete(key128(host, fp)); err != nil {
			return fmt.Errorf("raised: %w", err)
		}
	}
	return nil
}

// waitsAgain reports whether a page waits in RetryBand since a visit from another of its records failed.
func (c *commit) waitsAgain(o *origin, fp uint64) (bool, error) {
	if o.fresh == nil || o.fresh.key.band() == RetryBand {
		return false, nil
	}
	band, rose, err := raisedTo(c.tx, o.host, fp)
	return rose && band == RetryBand, err
}

// rise gives a waiting page a record in the better band of a candidate.
func (c *commit) rise(a *Candidate, host HostID, left uint8) error {
	fp := fingerprint.URL(a.URL)
	if band, rose, err := raisedTo(c.tx, host, fp); err != nil || rose && (band <= a.Band || band == RetryBand) {
		return err
	}
	if err := c.raiseTo(host, fp, a.Band); err != nil {
		return err
	}
	return c.newRecord(a, host, left)
}

// newRecord puts a candidate into fresh.
func (c *commit) newRecord(a *Candidate, host HostID, left uint8) error {
	page := Page{URL: a.URL, From: a.From, Depth: a.Depth, DepthLeft: left, Band: min(a.Band, LastBand),
		Redirects: a.Redirects, Flags: Flags(0).Wishing(a.Frequency).AsRequisite(a.Requisite), Via: a.Via}
	c.totals.serial++
	page.Number = c.totals.serial*uint64(c.partition.of) + uint64(c.partition.index)
	c.record = appendPage(c.record[:0], &page)
	return c.fresh.put(host, page.Band, c.record)
}
