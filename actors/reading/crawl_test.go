package reading

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/store"
)

// Of a crawl that runs a copy is read, which says the same as the crawl at rest, and of which nothing stays.
func TestACopyIsReadLikeTheCrawlItself(t *testing.T) {
	const page = "http://a.example/"
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	o := store.DefaultOptions()
	o.NoSync = true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }() // where it is not closed below
	batch := store.NewBatch(time.Now())
	batch.Admit(store.Candidate{URL: page})
	if _, err := state.Partitions[state.PartitionOf("http://a.example")].Commit(batch); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a crawl that runs is opened with %v", err)
	}
	var backup bytes.Buffer
	if _, err := state.Backup(&backup); err != nil {
		t.Fatal(err)
	}
	look := func(c *Crawl, err error) (kept bool) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if found, err := c.Page(page); err != nil || found.Page.URL != page {
			t.Errorf("%+v, %v", found, err)
		}
		source := c.Tables()
		if source.State != c.State || source.Archive != filepath.Join(dir, "warc") {
			t.Errorf("tables are read from %+v", source)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return source.Cache != ""
	}
	still := func(backup io.Reader) (*Crawl, error) {
		door := Door{Dir: dir, Ask: func(_ context.Context, path string) (io.ReadCloser, error) {
			if path != "/api/backup" {
				t.Errorf("%s was asked for", path)
			}
			return io.NopCloser(backup), nil
		}}
		return door.Still(t.Context())
	}
	if look(still(&backup)) {
		t.Error("answers about a crawl that goes on are kept")
	}
	if c, err := still(strings.NewReader("no backup")); err == nil {
		t.Errorf("what is no backup is opened: %+v", c)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v stays, %v", left, err)
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	if !look(Open(dir)) {
		t.Error("answers about a crawl at rest are not kept")
	}
}
