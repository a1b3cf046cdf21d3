package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func openState(t *testing.T, dir string, o store.Options) *store.State {
	t.Helper()
	s, err := store.OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// filled makes a state with some pages visited and some waiting.
func filled(t *testing.T, pages int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	o := testOptions()
	o.Partitions = 2
	s := openState(t, dir, o)
	for _, p := range s.Partitions {
		b := store.NewBatch(noon)
		for i := range pages {
			url := fmt.Sprintf("http://h%d.example/%d", i%7, i)
			if i%2 == 0 {
				b.Admit(store.Candidate{URL: url, DepthLeft: 3})
				continue
			}
			b.Visit(store.Visited{Page: store.Page{URL: url, Next: noon.Add(time.Duration(i) * time.Hour), Status: 200, Timing: store.Timing{Interval: 3600}},
				Links: []outlink.Outlink{{URL: url + "/next", Kind: outlink.Anchor}}})
		}
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	openState(t, dir, testOptions())
	if _, err := store.OpenState(dir, testOptions()); !errors.Is(err, store.ErrInUse) {
		t.Errorf("second opening: %v", err)
	}
}

func TestPartitionsAreFixedAtCreation(t *testing.T) {
	dir := filled(t, 10)
	o := testOptions()
	o.Partitions = 3
	if _, err := store.OpenState(dir, o); !errors.Is(err, store.ErrMismatch) {
		t.Errorf("opened with another number of partitions: %v", err)
	}
	o.Partitions = 0
	if s := openState(t, dir, o); len(s.Partitions) != 2 {
		t.Errorf("%d partitions", len(s.Partitions))
	}
}

func TestHostsOfOneDomainShareAPartition(t *testing.T) {
	o := testOptions()
	o.Partitions = 16
	s := openState(t, filepath.Join(t.TempDir(), "state"), o)
	for _, pair := range [][2]string{
		{"http://www.example.co.jp", "https://shop.example.co.jp:8443"},
		{"http://a.b.c.example.com", "http://example.com"},
		{"http://127.0.0.1:8001", "http://127.0.0.1:8002"},
		{"http://[::1]:8001", "http://[::1]"},
	} {
		if a, b := s.PartitionOf(pair[0]), s.PartitionOf(pair[1]); a != b {
			t.Errorf("%s is in %d, %s in %d", pair[0], a, pair[1], b)
		}
	}
	used := map[int]bool{}
	for i := range 200 {
		used[s.PartitionOf(fmt.Sprintf("http://example%d.org", i))] = true
	}
	if len(used) != 16 {
		t.Errorf("200 domains use %d of 16 partitions", len(used))
	}
}

func TestFilesOfTwoStatesAreNotMixed(t *testing.T) {
	a, b := filled(t, 10), filled(t, 10)
	if err := os.Rename(filepath.Join(a, "p001.db"), filepath.Join(b, "p001.db")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{a, b} {
		if _, err := store.OpenState(dir, testOptions()); !errors.Is(err, store.ErrMismatch) {
			t.Errorf("opened %v", err)
		}
	}
}

// readAll reads everything a partition holds.
func readAll(p *store.Partition) error {
	return errors.Join(
		p.EachPage(func(store.Page, store.Place) error { return nil }),
		p.EachLinks(func(store.HostID, uint64, []outlink.Outlink) error { return nil }),
		p.EachHost(func(store.HostRecord) error { return nil }),
	)
}

func TestDamageIsReportedAndNeverCrashes(t *testing.T) {
	dir := filled(t, 3000)
	path := filepath.Join(dir, "p000.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(whole)
	for used > 0 && whole[used-1] == 0 {
		used--
	}
	noticed := 0
	for i := range 60 {
		damaged := bytes.Clone(whole)
		name := ""
		if i%3 == 0 {
			damaged = damaged[:used*i/60/4096*4096]
			name = fmt.Sprintf("cut at %d", len(damaged))
		} else {
			at := used * i / 60
			damaged[at] ^= 0x10
			name = fmt.Sprintf("bit flipped at %d", at)
		}
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := store.OpenState(dir, testOptions())
		if err == nil {
			for _, p := range s.Partitions {
				err = errors.Join(err, readAll(p))
			}
			if cerr := s.Close(); cerr != nil {
				t.Errorf("%s: close: %v", name, cerr)
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrMismatch):
			noticed++
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is not noticed lies in pages that are free or in bbolt's own padding.
	if noticed < 40 {
		t.Errorf("%d of 60 damages noticed", noticed)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	p, err := store.Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SetSchema(store.Schema + 1); err != nil {
		t.Fatal(err)
	}
	p.Close()
	before, _ := os.ReadFile(path)
	if _, err := store.Open(path, testOptions()); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("opened: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the refused file was written to")
	}
}

func TestKnownCandidatesAreAnsweredFromMemory(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const url = "http://a.example/"
	host, fp := store.IDOf(store.HostOf(url)), fingerprint.URL(url)
	if p.KnownEnough(host, fp, 0) {
		t.Error("known before it was admitted")
	}
	b := store.NewBatch(noon)
	b.Admit(store.Candidate{URL: url, DepthLeft: 3})
	if _, err := p.Commit(b); err != nil {
		t.Fatal(err)
	}
	if !p.KnownEnough(host, fp, 3) || p.KnownEnough(host, fp, 4) || p.KnownEnough(host+1, fp, 3) || p.KnownEnough(host, fp+1, 3) {
		t.Error("the memory is not exact")
	}
}

func TestBackupOfARunningPartitionOpens(t *testing.T) {
	dir := filled(t, 1000)
	s := openState(t, dir, testOptions())
	var b bytes.Buffer
	if _, err := s.Partitions[0].Backup(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := store.Open(path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	was, _ := s.Partitions[0].Stats()
	if is, err := p.Stats(); err != nil || is.Known != was.Known || readAll(p) != nil {
		t.Errorf("%+v %v, not %+v", is, err, was)
	}
}
