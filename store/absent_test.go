package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"henro/messages/outlink"
)

// TestWhatIsNotThereIsNotMade: who only reads a state, checks it or makes it smaller does not make one.
func TestWhatIsNotThereIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	readOnly := forgeOptions()
	readOnly.ReadOnly = true
	for sentence, do := range map[string]func() error{
		"open":    func() error { _, err := OpenState(dir, readOnly); return err },
		"check":   func() error { _, err := Check(dir, nil); return err },
		"compact": func() error { _, _, err := Compact(dir, nil); return err },
	} {
		if err := do(); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", sentence, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s made a state: %v", sentence, err)
		}
	}
}

// TestReadersSayWhatIsNotThere: that is no damage.
func TestReadersSayWhatIsNotThere(t *testing.T) {
	dir := forgeable(t)
	s, err := OpenState(dir, forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	p := s.Partitions[0]
	if _, err := p.Hosts.Get(7); !errors.Is(err, ErrNotFound) {
		t.Errorf("a host: %v", err)
	}
	if _, err := p.Links.Of(7, 7); !errors.Is(err, ErrNotFound) {
		t.Errorf("links: %v", err)
	}
	if _, _, err := p.Pages.Lookup("http://h1.example/none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a page: %v", err)
	}
	for name, want := range map[string]string{"mine": "value", "none": ""} {
		if value, err := p.Metas.Get(name); err != nil || string(value) != want || (value == nil) != (want == "") {
			t.Errorf("value %s: %q %v", name, value, err)
		}
	}
	// A host whose name goes on behind its record.
	if err := p.update("forge", func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucketHosts), key64(7), []byte{0, 0, 0, 0, 9, 'x'})
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Hosts.eachName(func(HostID, string) {}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the names of hosts: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A state of several masters may be read, and not written by itself.
	if err := os.Mkdir(LogDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, only := range []bool{false, true} {
		o := forgeOptions()
		o.ReadOnly = only
		s, err := OpenState(dir, o)
		if errors.Is(err, ErrReplica) == only || only && err != nil {
			t.Errorf("read only %v: %v", only, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestCheckSaysWhyItCannotLook: what is no damage is no finding.
func TestCheckSaysWhyItCannotLook(t *testing.T) {
	newer := func(p *Partition) error {
		return p.update("forge", func(tx *bbolt.Tx) error {
			v := append([]byte(nil), tx.Bucket(bucketMeta).Get(identityKey)...)
			v[4]++
			return put(tx.Bucket(bucketMeta), identityKey, v)
		})
	}
	for sentence, damaged := range map[string]bool{"both files are newer": false, "one is newer, one empty": true} {
		dir := forgeable(t)
		s, err := OpenState(dir, forgeOptions())
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(s.Partitions[0].note(), newer(s.Partitions[1]))
		if !damaged {
			err = errors.Join(err, newer(s.Partitions[0]))
		}
		for _, p := range s.Partitions {
			err = errors.Join(err, p.Close())
		}
		if damaged {
			err = errors.Join(err, os.Truncate(partitionPath(dir, 0), 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		if report, err := Check(dir, nil); report != nil || !errors.Is(err, ErrNewerSchema) {
			t.Errorf("%s: %+v, %v", sentence, report, err)
		}
	}
}

// TestARequisiteThatWaits is one that no page links to, and that was not visited.
func TestARequisiteThatWaits(t *testing.T) {
	p, err := Open(filepath.Join(t.TempDir(), "p000.db"), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const image, other = "http://a.example/i.png", "http://a.example/j.png"
	for _, step := range []struct {
		sentence string
		order    func(*Batch)
		has      bool
	}{
		{"nothing", func(*Batch) {}, false},
		{"a page", func(b *Batch) { b.Admit(Candidate{URL: "http://a.example/", DepthLeft: 1}) }, false},
		{"an image", func(b *Batch) { b.Admit(Candidate{URL: image, Requisite: 1}) }, true},
		{"a page links to it", func(b *Batch) { b.Admit(Candidate{URL: image, DepthLeft: 1}) }, false},
		{"another image", func(b *Batch) { b.Admit(Candidate{URL: other, Requisite: 1}) }, true},
		{"it was visited beside its record", func(b *Batch) {
			b.Visit(Visited{Page: Page{URL: other, Status: 200, Flags: Flags(0).AsRequisite(1)}})
		}, false},
	} {
		b := NewBatch(forgedAt)
		step.order(b)
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
		if has, err := p.Fresh.HasRequisite(); err != nil || has != step.has {
			t.Errorf("%s: %v %v", step.sentence, has, err)
		}
	}
}

// TestAPageThatIsARequisiteTooIsAPage: how far it is from another page does not make it one of the others.
func TestAPageThatIsARequisiteTooIsAPage(t *testing.T) {
	for from, want := range map[uint8]struct {
		distance uint8
		role     string
	}{0: {0, "page"}, 1: {1, "requisite"}, 2: {2, "requisite"}, outlink.PageToo: {0, "page"}} {
		f := Flags(0).Wishing(3).AsRequisite(from)
		if f.Requisite() != want.distance || f.Role() != want.role || f.Wish() != 3 {
			t.Errorf("%d: %d %s", from, f.Requisite(), f.Role())
		}
		linked := uint8(outlink.PageToo)
		if want.distance == 0 {
			linked = from
		}
		if f.linked(true).Embedded() != linked || f.linked(false) != f {
			t.Errorf("%d, with a link: %d", from, f.linked(true).Embedded())
		}
	}
	b := NewBatch(forgedAt)
	if b.Send(1, nil); !b.Empty() || len(b.sends) > 0 {
		t.Error("a parcel of nothing is sent")
	}
}
