// Package tablestest makes the state of a crawl whose every page and link follows from numbers, of any size.
//
// Tests compare what tables, exports and SQL say with what the numbers say; benchmarks make it large.
package tablestest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/report/tables"
)

// Web is a web in which page i links to Out pages, the k-th of which is number (i·(k+2) + k²) mod 2·Pages. Pages from
// Pages on are known only by links and lie on hosts out of scope; every tenth page in scope waits for its first visit,
// and has no links yet.
type Web struct {
	Pages int // in scope
	Out   int // links of each page visited
	Hosts int
}

// Noon is when the web was crawled.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// URL is the URL of a page.
func (w Web) URL(i int) string {
	if i >= w.Pages {
		return fmt.Sprintf("https://elsewhere%d.example/page/%d", i%(10*w.Hosts), i)
	}
	return fmt.Sprintf("http://h%d.example/documentation/section-%d/page-%d.html", i%w.Hosts, i%97, i)
}

// Visited reports whether a page was visited.
func (w Web) Visited(i int) bool { return i < w.Pages && i%10 != 9 }

// Status is what a visited page answered.
func (w Web) Status(i int) int {
	if i%25 == 3 {
		return 404
	}
	return 200
}

// To is where the k-th link of a page leads.
func (w Web) To(i, k int) int { return (i*(k+2) + k*k) % (2 * w.Pages) }

// Links are the links of a page.
func (w Web) Links(i int) []outlink.Outlink {
	if !w.Visited(i) {
		return nil
	}
	links := make([]outlink.Outlink, w.Out)
	for k := range links {
		links[k] = outlink.Outlink{URL: w.URL(w.To(i, k)), Kind: outlink.Anchor,
			Anchor: fmt.Sprintf("%sthe %d. of page %d", [4]string{3: "=1+"}[k%4], k, i)}
		if k%7 == 6 {
			links[k].Kind, links[k].Flags, links[k].Anchor = outlink.Image, outlink.NoFollow, ""
		}
	}
	return links
}

// Make writes the state into a directory.
func (w Web) Make(dir string) (err error) {
	o := store.DefaultOptions()
	o.NoSync = true
	state, err := store.OpenState(dir, o)
	if err != nil {
		return err
	}
	defer func() {
		if closed := state.Close(); err == nil {
			err = closed
		}
	}()
	batches := make([]*store.Batch, len(state.Partitions))
	for k := range batches {
		batches[k] = store.NewBatch(Noon)
	}
	flush := func(k, from int) error {
		if batches[k].Len() < from {
			return nil
		}
		_, err := state.Partitions[k].Commit(batches[k])
		batches[k].Reset(Noon)
		return err
	}
	for h := range w.Hosts {
		name := weburl.HostOf(w.URL(h))
		k := state.PartitionOf(name)
		batches[k].PutHost(store.HostRecord{ID: store.IDOf(name), Name: name, NextAllowed: Noon})
	}
	for i := range w.Pages {
		url := w.URL(i)
		k := state.PartitionOf(weburl.HostOf(url))
		depth := min(uint8(i), 6)
		if w.Visited(i) {
			page := store.Page{
				URL: url, Depth: depth, DepthLeft: outlink.UnlimitedDepth, Status: uint16(w.Status(i)),
				LastVisit: Noon.Add(-time.Duration(i) * time.Second), CapturedAt: Noon,
				Next:   Noon.Add(time.Duration(1+i%1000) * time.Hour),
				Timing: store.Timing{Interval: 3600, Visits: 2, Mean: 7200},
				Digest: [20]byte{1, byte(i), byte(i >> 8), byte(i >> 16)}, MainDigest: uint64(i) + 1,
				SimHash: uint64(i) + 2, ETag: `"etag"`,
			}
			if w.Status(i) == 404 {
				page.Next, page.Flags, page.Reason = time.Time{}, store.Dropped, uint8(messages.Reason_TIMEOUT)
			}
			batches[k].Visit(store.Visited{Page: page, Links: w.Links(i)})
		} else {
			batches[k].Admit(store.Candidate{URL: url, Depth: depth, DepthLeft: outlink.UnlimitedDepth})
		}
		if err := flush(k, 5000); err != nil {
			return err
		}
	}
	PutStops(batches[0], tables.Stop{Prefix: "http://h0.example/old/", Reason: "missing",
		Evidence: "404 twice,\tthen 410", At: Noon})
	for k := range batches {
		if err := flush(k, 1); err != nil {
			return err
		}
	}
	return nil
}

// PutStops keeps a stop list with the next commit of a partition.
func PutStops(b *store.Batch, stops ...tables.Stop) {
	note, err := json.Marshal(stops)
	if err != nil {
		panic(err)
	}
	b.PutMeta("stops", note)
}

// Stops reads it, for tables.Source.
func Stops(disk *store.Partition, fn func(tables.Stop) error) error {
	note, err := disk.Metas.Get("stops")
	if err != nil || note == nil {
		return err
	}
	var stops []tables.Stop
	if err := json.Unmarshal(note, &stops); err != nil {
		return err
	}
	for _, stop := range stops {
		if err := fn(stop); err != nil {
			return err
		}
	}
	return nil
}

// State makes the state of a web in a folder of the test, and opens it for reading until the test ends.
func State(t testing.TB, w Web) *store.State {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := w.Make(dir); err != nil {
		t.Fatal(err)
	}
	state, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

// Open opens the state for reading.
func Open(dir string) (*store.State, error) {
	o := store.DefaultOptions()
	o.ReadOnly = true
	return store.OpenState(dir, o)
}
