package reading

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/store"
)

// BenchmarkMissing looks at a million pages of a thousand hosts, each with 20 requisites, 5 of them its own; one
// page in ten lacks something. It reports the heap beyond what there was, the files that are mapped left out.
func BenchmarkMissing(b *testing.B) {
	const pages, perHost = 1_000_000, 1000
	o := store.DefaultOptions()
	o.NoSync = true
	state, err := store.OpenState(filepath.Join(b.TempDir(), "state"), o)
	if err != nil {
		b.Fatal(err)
	}
	defer state.Close()
	at := time.Now()
	visit := func(batch *store.Batch, url string, requisite uint8, status uint16, links []outlink.Outlink) {
		batch.Visit(store.Visited{Page: store.Page{URL: url, LastVisit: at, CapturedAt: at, Next: at.Add(time.Hour),
			Status: status, Flags: store.Flags(0).AsRequisite(requisite)}, Links: links})
	}
	for host := range pages / perHost {
		name := fmt.Sprintf("http://host%d.test", host)
		batch := store.NewBatch(at)
		var shared []outlink.Outlink
		for i := range 15 {
			url := fmt.Sprintf("%s/shared/%d.css", name, i)
			shared = append(shared, outlink.Outlink{URL: url, Kind: outlink.Style})
			font := url + ".woff"
			visit(batch, url, 1, 200, []outlink.Outlink{{URL: font, Kind: outlink.Font}})
			visit(batch, font, 2, 200, nil)
		}
		for page := range perHost {
			url := fmt.Sprintf("%s/page/%d.html", name, page)
			links := append([]outlink.Outlink{}, shared...)
			for i := range 5 {
				image := fmt.Sprintf("%s/page/%d/%d.png", name, page, i)
				links = append(links, outlink.Outlink{URL: image, Kind: outlink.Image})
				status := uint16(200)
				if page%10 == 0 && i == 0 {
					status = 503
				}
				visit(batch, image, 1, status, nil)
			}
			for i := range 20 {
				links = append(links, outlink.Outlink{URL: fmt.Sprintf("%s/page/%d.html", name, i),
					Kind: outlink.Anchor})
			}
			visit(batch, url, 0, 200, links)
		}
		if _, err := state.Partitions[state.PartitionOf(name)].Commit(batch); err != nil {
			b.Fatal(err)
		}
	}
	settings := defaultSettings()
	c := &Crawl{State: state, Settings: &settings}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		var most uint64
		n := 0
		whole, err := c.Missing("", b.TempDir(), func(*PageMissing) error {
			if n++; n%10_000 == 0 {
				runtime.ReadMemStats(&after)
				most = max(most, after.HeapInuse)
			}
			return nil
		})
		if err != nil || whole.Pages != pages || whole.Whole != pages/10*9 {
			b.Fatal(whole, err)
		}
		b.ReportMetric(whole.Seconds, "s")
		b.ReportMetric(float64(most-min(most, before.HeapInuse))/1e6, "MB")
	}
}
