package store_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// TestLinksAreReadAsTheyWereStored reads short sets, which lie as they are, and long ones, which are packed, by turns:
// what was unpacked into the room of one reader must never lie in the file. Half of the sets are left after a link.
func TestLinksAreReadAsTheyWereStored(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p000.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	now := time.Unix(1_800_000_000, 0)
	batch, want := store.NewBatch(now), map[string][]outlink.Outlink{}
	key := func(host store.HostID, fp uint64) string { return fmt.Sprintf("%016x %016x", uint64(host), fp) }
	for i := range 60 {
		host := fmt.Sprintf("http://h%d.example", i%3)
		url := fmt.Sprintf("%s/page/%d", host, i)
		links := make([]outlink.Outlink, 1+i%2*i)
		for k := range links {
			links[k] = outlink.Outlink{URL: fmt.Sprintf("%s/page/%d/%d", host, k%7, i*k), Kind: outlink.Kind(1 + k%3),
				Flags: outlink.Flags(k % 2)}
			if k%5 == 0 {
				links[k].Anchor = fmt.Sprintf("the %d. of %d", k, i)
			}
		}
		want[key(store.IDOf(host), fingerprint.URL(url))] = links
		batch.Visit(store.Visited{Page: store.Page{URL: url, Status: 200, LastVisit: now}, Links: links})
	}
	if _, err := p.Commit(batch); err != nil {
		t.Fatal(err)
	}
	scanned := func(turn int, links *store.Links) (all []outlink.Outlink) {
		for links.Next() {
			if all = append(all, links.Outlink()); turn%2 == 1 {
				return all[:1:1]
			}
		}
		return all
	}
	turn, total := 0, uint64(0)
	look := func(what string, of store.HostID, fp uint64, got []outlink.Outlink, whole bool) {
		links := want[key(of, fp)]
		if !whole {
			links = links[:1]
		}
		if !reflect.DeepEqual(got, links) {
			t.Errorf("%s: %v, want %v", what, got, links)
		}
		turn++
	}
	if err := p.Links.Each(func(of store.HostID, fp uint64, links []outlink.Outlink) error {
		look("each", of, fp, links, true)
		total += uint64(len(links))
		one, err := p.Links.Of(of, fp)
		look("one", of, fp, one, true)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for h := range 3 {
		name := fmt.Sprintf("http://h%d.example", h)
		of := store.IDOf(weburl.HostOf(name + "/"))
		if err := p.Links.ScanHost(of, func(fp uint64, links *store.Links) error {
			look("of a host", of, fp, scanned(turn, links), turn%2 == 0)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Links.Scan(func(of store.HostID, fp uint64, links *store.Links) error {
		look("scan", of, fp, scanned(turn, links), turn%2 == 0)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n, err := p.Links.Count(); err != nil || n != total || turn != 4*len(want) {
		t.Errorf("%d links of %d, %d sets, %v", n, total, turn, err)
	}
}

// TestLinksOfACommitLieTogether counts the pages of the file that are written for the link sets of many hosts.
func TestLinksOfACommitLieTogether(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p000.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	now, number, size := time.Unix(1_800_000_000, 0), 0, 0
	commit := func() {
		b := store.NewBatch(now)
		for range 200 {
			number++
			url := fmt.Sprintf("http://h%d.example/%d", number%1000, number)
			links := make([]outlink.Outlink, 20)
			size = 0
			for i := range links { // that do not pack
				links[i] = outlink.Outlink{URL: fmt.Sprintf("http://%016x/", fingerprint.URL(url)*uint64(i+1))}
				size += len(links[i].URL)
			}
			b.Visit(store.Visited{Page: store.Page{URL: url, Status: 200, LastVisit: now}, Links: links})
		}
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	for range 40 {
		commit()
	}
	before := p.BytesWritten()
	for range 10 {
		commit()
	}
	// By host and fingerprint it would be 9,500, with half-empty pages 4,700.
	if a := (p.BytesWritten() - before) / 2000; a > 4400 {
		t.Errorf("a page with %d bytes of links writes %d", size, a)
	}
}
