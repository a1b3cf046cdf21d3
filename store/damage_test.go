package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/timequeue"
)

// TestAChunkWithFewerRecordsThanItSays is one under right checksums: neither readers nor commits take it for one whose
// records have ended.
func TestAChunkWithFewerRecordsThanItSays(t *testing.T) {
	p, err := Open(filepath.Join(t.TempDir(), "p000.db"), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const url = "http://a.example/"
	host := IDOf(weburl.HostOf(url))
	key := freshKeyOf(host, 0, 1<<40)
	if err := p.update("forge", func(tx *bbolt.Tx) error {
		chunk := timequeue.NewChunk(nil).Add(appendPage(nil, &Page{URL: url}))
		binary.LittleEndian.PutUint16(chunk[6:], 2)
		chunk.Seal(key[:])
		v := append(make([]byte, freshHeader), chunk...)
		binary.LittleEndian.PutUint32(v[8:], timequeue.Sum(key[:], v[:8]))
		return tx.Bucket(bucketFresh).Put(key[:], v)
	}); err != nil {
		t.Fatal(err)
	}
	if w, err := p.Fresh.Of(host, nil, 10); !errors.Is(err, ErrCorrupt) {
		t.Errorf("what waits: %+v, %v", w, err)
	}
	if err := p.Pages.Each(func(Page, Place) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("each page: %v", err)
	}
	b := NewBatch(forgedAt)
	b.Visit(Visited{Page: Page{URL: url, Status: 200}, Position: freshPosition(freshRef{key, 1})})
	if out, err := p.Commit(b); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a visit: %+v, %v", out, err)
	}
}

// TestLinksBehindTheBoundAreLeftOut: what is written can be read.
func TestLinksBehindTheBoundAreLeftOut(t *testing.T) {
	links := make([]outlink.Outlink, 20)
	for i := range links {
		links[i] = outlink.Outlink{URL: "http://a.example/", Anchor: strings.Repeat("x", 1<<20)}
	}
	set, count := encodeLinks(links)
	key := key128(7, 7)
	read, err := decodeLinks(key, seal(key, set))
	if err != nil || len(read) != count || count != maxLinksLen>>20-1 {
		t.Errorf("%d links of %d, %d read: %v", count, len(links), len(read), err)
	}
}

// TestAContentHasOneFirstPage: two entries of a log may claim the same one.
func TestAContentHasOneFirstPage(t *testing.T) {
	p, err := Open(filepath.Join(t.TempDir(), "p000.db"), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.update("put", func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(bucketContents)
		w := contentWriter{bucket, map[uint64][]byte{}}
		for _, url := range []string{"http://a.example/", "http://b.example/"} {
			page := Page{URL: url, Status: 200, SimHash: 1, MainDigest: 5}
			if err := w.put(&page, 5, firstPage{claim: true}, nil); err != nil {
				return err
			}
		}
		first, err := decodeContent(key64(5), bucket.Get(key64(5)))
		if bucket.Sequence() != 1 || first.url != "http://a.example/" {
			t.Errorf("%d contents, the first page is %s", bucket.Sequence(), first.url)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestALargePartitionIsCheckedInPasses: each page in one of them. And numbers that are too many to be noted are no
// damage.
func TestALargePartitionIsCheckedInPasses(t *testing.T) {
	dir := forgeable(t)
	s, err := OpenState(dir, forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	p := s.Partitions[0]
	if err := p.view("check", func(tx *bbolt.Tx) error {
		totals, err := readTotals(tx)
		k := &partitionCheck{checker: &checker{report: new(Report), state: s, progress: func(uint64, uint64) {}}, p: p,
			tx: tx, totals: totals, sums: map[HostID]*counts{}}
		for pass := range 3 {
			err = errors.Join(err, k.pages(pass, 3))
		}
		if k.counted.known != totals.known || k.counted.queued != totals.queued || len(k.report.Problems) > 0 {
			t.Errorf("counted %+v of %+v, %q", k.counted, totals, k.report.Problems)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := p.update("forge", func(tx *bbolt.Tx) error {
		totals, err := readTotals(tx)
		totals.serial = 1 << 33
		return errors.Join(err, writeTotals(tx, totals))
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Check(dir, nil); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestAListOfFreePagesMayBeMissing: files of bbolt that are no state may have none.
func TestAListOfFreePagesMayBeMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("a")); return err })
	if err = errors.Join(err, db.Close(), Inspect(path, time.Second)); err != nil {
		t.Error(err)
	}
}

// TestWhatAReplicaReadsIsChecked: a stream of another master, an index, and the way back to a checkpoint.
func TestWhatAReplicaReadsIsChecked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for _, count := range []uint16{0, maxPartitions + 1, math.MaxUint16} {
		head := binary.LittleEndian.AppendUint16(nil, count)
		if _, err := Receive(dir, bytes.NewReader(append(head, make([]byte, 1<<12)...))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a stream of %d partitions: %v", count, err)
		}
	}
	s, err := OpenState(forgeable(t), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	p := s.Partitions[0]
	if outgrown, err := p.Outgrown(0); outgrown || err != nil {
		t.Errorf("a file without a checkpoint is outgrown: %v %v", outgrown, err)
	}
	p.options.NoSync = false // as on Windows
	if _, err := os.Stat(checkpointPath(p.path)); p.checkpoint() != nil || p.pinned != nil || err == nil {
		t.Error("a file whose commits are synced has a checkpoint")
	}
	if err := p.update("forge", func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucketMeta), appliedKey, make([]byte, 5))
	}); err != nil {
		t.Fatal(err)
	}
	if index, err := p.Applied(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an index of one byte: %d %v", index, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	page, size := file[:metaLen], int64(os.Getpagesize())
	other := bytes.Clone(page)
	other[len(other)-1] ^= 1
	third := append([]byte{2}, page[1:]...)
	for sentence, c := range map[string]struct {
		note    checkpointNote
		rewound bool
		damaged bool
	}{
		"since the machine started": {checkpointNote{bootID(), nil, 0}, false, false},
		"before it started":         {checkpointNote{"before", page, size}, true, false},
		"half a page":               {checkpointNote{"before", page[:metaLen/2], size}, false, true},
		"another page":              {checkpointNote{"before", other, size}, false, true},
		"the place of another":      {checkpointNote{"before", third, size}, false, true},
		"another size":              {checkpointNote{"before", page, 2 * size}, false, true},
	} {
		b, err := json.Marshal(c.note)
		err = errors.Join(err, os.WriteFile(p.path, file, 0o644), os.WriteFile(checkpointPath(p.path), b, 0o644))
		if err != nil {
			t.Fatal(err)
		}
		err = rewind(p.path)
		now, _ := os.ReadFile(p.path)
		if errors.Is(err, ErrCorrupt) != c.damaged || err != nil && !c.damaged || bytes.Equal(now, file) == c.rewound {
			t.Errorf("%s: rewound %v, %v", sentence, !bytes.Equal(now, file), err)
		}
	}
}

// TestWhatCannotBeRemovedIsAnError: all else is not there afterwards.
func TestWhatCannotBeRemovedIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeIfThere(dir); err == nil {
		t.Error("a folder with a file is gone")
	}
	for range 2 {
		if err := removeIfThere(filepath.Join(dir, "file")); err != nil {
			t.Error(err)
		}
	}
}
