package store

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"henro/store/fingerprint"
)

// addContents writes entries of the index beside each other, with the digests as their sketches.
func addContents(t *testing.T, p *Partition, digests ...uint64) {
	t.Helper()
	if err := p.update("add contents", func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketContents)
		for _, digest := range digests {
			near := fingerprint.Near{Odd: [4]uint64{digest}, Count: 1}
			entry := content{url: "http://a.example/", near: near.Append(nil)}
			if err := put(bucket, key64(digest), entry.encode()); err != nil {
				return err
			}
		}
		return bucket.SetSequence(bucket.Sequence() + uint64(len(digests)))
	}); err != nil {
		t.Fatal(err)
	}
}

// sketchedVisits is a visit with a sketch, before which those on disk are read.
func sketchedVisits() []Visited {
	near := fingerprint.Near{Count: 1}
	return []Visited{{Near: near.Append(nil)}}
}

// Readers divide the digests among each other, and each is read by one of them.
func TestEverySketchIsReadOnce(t *testing.T) {
	s := contentsState(t, filepath.Join(t.TempDir(), "state"), nil)
	var want []uint64
	for i, p := range s.Partitions {
		digests := []uint64{uint64(i) + 1, math.MaxUint64 - uint64(i)}
		for reader := range uint64(contentReaders) {
			first := reader * (math.MaxUint64/contentReaders + 1)
			digests = append(digests, first+8+uint64(i), first-8-uint64(i))
		}
		if i == 0 {
			for reader := range uint64(contentReaders) {
				first := reader * (math.MaxUint64/contentReaders + 1)
				digests = append(digests, first, first+math.MaxUint64/contentReaders)
			}
		}
		slices.Sort(digests)
		digests = slices.Compact(digests)
		addContents(t, p, digests...)
		want = append(want, digests...)
	}
	c := s.Partitions[0].contents
	if err := c.remember(sketchedVisits()); err != nil {
		t.Fatal(err)
	}
	c.sketches.add(&fingerprint.Near{Odd: [4]uint64{77}}, 77) // of a page that was stored since
	if want = append(want, 77); c.remember(sketchedVisits()) != nil {
		t.Error("the second time there is nothing to read")
	}
	var got []uint64
	for i := range c.sketches.all {
		if got = append(got, c.sketches.all[i].digest); c.sketches.all[i].near.Odd[0] != got[i] {
			t.Errorf("digest %x has the sketch of %x", got[i], c.sketches.all[i].near.Odd[0])
		}
	}
	if !slices.Equal(got, want) { // partition by partition, in the order of digests, whoever read them
		t.Errorf("read %d sketches, want %d:\n%x\n%x", len(got), len(want), got, want)
	}
}

// An opening, and a commit that compares nothing, do not read the index of contents.
func TestAnOpeningReadsNoContents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := contentsState(t, dir, nil)
	addContents(t, s.Partitions[0], 9)
	addContents(t, s.Partitions[1], 7)
	if err := s.Partitions[1].update("damage it", func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketContents).Put(key64(7), []byte("damaged"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = contentsState(t, dir, nil)
	c := s.Partitions[0].contents
	if err := c.remember([]Visited{{}}); err != nil {
		t.Errorf("a visit without a sketch: %v", err)
	}
	for range 2 { // what failed is tried again
		if err := c.remember(sketchedVisits()); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a visit with a sketch: %v, want %v", err, ErrCorrupt)
		}
	}
	addContents(t, s.Partitions[1], 7)
	if err := c.remember(sketchedVisits()); err != nil || len(c.sketches.all) != 2 {
		t.Errorf("%d sketches are read when it was mended, want 2: %v", len(c.sketches.all), err)
	}
}

func TestOfTooManyContentsSomeAreRead(t *testing.T) {
	for _, c := range []struct{ most, all, below uint64 }{
		{4, 0, math.MaxUint64}, {4, 4, math.MaxUint64}, {4, 8, 1 << 63}, {1 << 20, 1 << 32, 1 << 52},
		{2, 3, math.MaxUint64 / 3 * 2},
	} {
		if below := digestsOf(c.most, c.all); below != c.below {
			t.Errorf("%d of %d contents: below %x, want %x", c.most, c.all, below, c.below)
		}
	}
}
