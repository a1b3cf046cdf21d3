package payloads

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// A flush waits for the disk. Parsers that look for a payload meanwhile do not, and find what is being written.
func TestPayloadsAreFoundWhileOthersAreWritten(t *testing.T) {
	x := New(filepath.Join(t.TempDir(), "x"))
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	entry := func(payload string) *cdxj.Entry {
		return &cdxj.Entry{URL: "http://a.example/" + payload, At: at, Mime: "text/html",
			Digest: warc.Sum([]byte(payload)).Base32()}
	}
	busy, err := x.db.Begin(true) // bbolt writes one transaction at a time: the flush waits for this one
	if err != nil {
		t.Fatal(err)
	}
	x.flushedAt = x.flushedAt.Add(-FlushAfter)
	added := make(chan error)
	go func() { added <- x.Add(entry("one")) }()
	for begun := false; !begun; time.Sleep(time.Millisecond) {
		x.mu.Lock()
		begun = x.writing != nil
		x.mu.Unlock()
	}
	answered := make(chan bool)
	go func() {
		_, one := x.Find(warc.Sum([]byte("one")))
		_, two := x.Find(warc.Sum([]byte("two")))
		answered <- one && !two && x.Add(entry("two")) == nil
	}()
	select {
	case right := <-answered:
		if !right {
			t.Error("what is being written is not found, or something else is")
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody can look for a payload while others are written")
	}
	if err := busy.Rollback(); err != nil {
		t.Error(err)
	}
	if err := <-added; err != nil {
		t.Error(err)
	}
	for _, payload := range []string{"one", "two"} {
		if _, ok := x.Find(warc.Sum([]byte(payload))); !ok {
			t.Errorf("payload %s is not found", payload)
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// Of a payload that is on disk the earlier capture stays, whenever it is added again.
func TestAFlushKeepsTheEarlierCapture(t *testing.T) {
	x := New(filepath.Join(t.TempDir(), "x"))
	for i, url := range []string{"http://a.example/", "http://b.example/"} {
		if _, err := x.Open(); err != nil {
			t.Fatal(err)
		}
		if err := x.Add(&cdxj.Entry{URL: url, At: time.Unix(int64(i), 0), Mime: "text/html",
			Digest: warc.Sum(nil).Base32()}); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if e, ok := x.Find(warc.Sum(nil)); !ok || e.URI != "http://a.example/" {
		t.Errorf("found %+v, %v", e, ok)
	}
}

// What waits for its turn to be written when the index is closed is forgotten.
func TestWhatWaitsToBeWrittenWhenTheIndexIsClosedIsForgotten(t *testing.T) {
	x := New(filepath.Join(t.TempDir(), "x"))
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	x.flushing.Lock()
	x.flushedAt = time.Time{}
	added := make(chan error)
	go func() {
		added <- x.Add(&cdxj.Entry{URL: "http://a.example/", At: time.Unix(1, 0), Digest: warc.Sum(nil).Base32()})
	}()
	for waits := false; !waits; runtime.Gosched() {
		x.mu.RLock()
		waits = len(x.waiting) > 0
		x.mu.RUnlock()
	}
	x.mu.Lock()
	err := x.db.Close()
	x.db, x.waiting = nil, nil
	x.mu.Unlock()
	x.flushing.Unlock()
	if err := errors.Join(err, <-added, x.Close()); err != nil {
		t.Error(err)
	}
}

// A level is full whatever stands behind it.
func TestAFullLevelIsFoundAmongOthers(t *testing.T) {
	x := New(filepath.Join(t.TempDir(), "x"))
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		levels []byte
		want   int
	}{{[]byte{2, 1, 1, 1, 0}, 0}, {[]byte{1}, 4}, {[]byte{0}, 4}} {
		if err := x.db.Update(func(tx *bbolt.Tx) error {
			for _, level := range c.levels {
				number, _ := tx.Bucket(runs).NextSequence()
				if _, err := tx.Bucket(runs).CreateBucket(runKey(level, number)); err != nil {
					return err
				}
			}
			if full := fullLevel(tx.Bucket(runs)); len(full) != c.want || c.want > 0 && levelOf(full[0]) != 1 {
				t.Errorf("with levels %v: %x, want %d", c.levels, full, c.want)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// Runs of a level become one of the next, and what they hold is found at its earliest capture. A merge that was cut off
// leaves nothing, and what an older henro wrote is found before all of them.
func TestRunsAreMerged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	x := New(path)
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	digest := func(name string, number int) warc.Digest { return warc.Sum(fmt.Append(nil, name, number)) }
	const flushes, each = 21, 1_500 // runs of some 60 bytes a capture: the longest are more than a merge copies at once
	for flush := range flushes {
		for i := range each {
			x.add(digest("new", flush*each+i), capture{int64(flush), fmt.Sprint("http://a.example/", flush, "/", i)})
			x.add(digest("again", i), capture{int64(flush), fmt.Sprint("http://b.example/", flush)})
		}
		x.flushing.Lock()
		err := x.flush()
		x.merger.Wait()
		x.flushing.Unlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	levels := map[byte]int{}
	if err := x.db.Update(func(tx *bbolt.Tx) error {
		if err := tx.Bucket(runs).ForEachBucket(func(key []byte) error {
			levels[levelOf(key)]++
			return nil
		}); err != nil {
			return err
		}
		cut, err := tx.CreateBucketIfNotExists(building)
		if err != nil {
			return err
		}
		_, err = cut.CreateBucket([]byte("cut off"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if want := map[byte]int{0: 1, 1: 1, 2: 1}; !maps.Equal(levels, want) { // 21 = 16 + 4 + 1
		t.Errorf("runs by level: %v, want %v", levels, want)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range flushes * each {
		want := fmt.Sprint("http://a.example/", i/each, "/", i%each)
		if e, ok := x.Find(digest("new", i)); !ok || e.URI != want || e.At.Unix() != int64(i/each) {
			t.Fatalf("capture %d is found as %+v, %v; want %s", i, e, ok, want)
		}
	}
	for i := range each {
		if e, ok := x.Find(digest("again", i)); !ok || e.URI != "http://b.example/0" {
			t.Fatalf("what came again is found as %+v, %v", e, ok)
		}
	}
	if err := x.db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(building) != nil {
			t.Error("what a merge had built is still there")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
