package store_test

import (
	"fmt"
	"testing"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// A page that is renewed waits once, whether or not it left a waiting record behind, and the sums agree.
func TestRenewedPagesWaitOnce(t *testing.T) {
	dir := filled(t, 40)
	s := openState(t, dir, testOptions())
	ghost := "http://h0.example/ghost"
	p := s.Partitions[s.PartitionOf(weburl.HostOf(ghost))]
	commit := func(p *store.Partition, fill func(*store.Batch)) {
		t.Helper()
		b := store.NewBatch(noon)
		fill(b)
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	commit(p, func(b *store.Batch) { b.Admit(store.Candidate{URL: ghost, DepthLeft: 3, Depth: 1}) })
	commit(p, func(b *store.Batch) { // inside a lease: without the position
		b.Visit(store.Visited{Page: store.Page{URL: ghost, Next: noon, Status: 200, Depth: 1},
			Links: []outlink.Outlink{{URL: ghost + "/next", Kind: outlink.Anchor}}})
	})
	renewed := 0
	for _, p := range s.Partitions {
		wanted := map[string]struct{}{}
		if err := p.Pages.Each(func(page store.Page, place store.Place) error {
			if place == store.InQueue {
				wanted[page.URL] = struct{}{}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		found, err := p.Pages.Find(wanted)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second is a replay
			commit(p, func(b *store.Batch) {
				for _, e := range found {
					b.Renew(e.Position, e.Page)
				}
			})
		}
		renewed += len(found)
		if err := p.Pages.Each(func(page store.Page, place store.Place) error {
			if place != store.InFresh || page.Status != 0 || page.URL == ghost && page.DepthLeft != 3 {
				return fmt.Errorf("%s lies in %v with status %d and %d links left", page.URL, place, page.Status,
					page.DepthLeft)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if renewed < 41 {
		t.Errorf("%d pages were renewed", renewed)
	}
	s.Close()
	clean(t, dir)
}
