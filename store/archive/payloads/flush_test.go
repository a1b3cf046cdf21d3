package payloads

import (
	"path/filepath"
	"testing"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// A flush waits for the disk. Parsers that look for a payload meanwhile do not, and find what is being written.
func TestPayloadsAreFoundWhileOthersAreWritten(t *testing.T) {
	x := New(filepath.Join(t.TempDir(), "x"))
	if err := x.Open(); err != nil {
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
		if err := x.Open(); err != nil {
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
	if err := x.Open(); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if e, ok := x.Find(warc.Sum(nil)); !ok || e.URI != "http://a.example/" {
		t.Errorf("found %+v, %v", e, ok)
	}
}
