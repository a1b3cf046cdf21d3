package store_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/store"
	"henro/store/storetest"
)

// replica is a partition to which the batches of another one are applied.
type replica struct {
	*testing.T
	name    string
	path    string
	options store.Options
	p       *store.Partition
	cuts    int // writes that failed
}

func (r *replica) open() {
	r.Helper()
	var err error
	if r.p, err = store.Open(r.path, r.options); err != nil {
		r.Fatal(r.name, err)
	}
}

func (r *replica) reopen() {
	r.Helper()
	if err := r.p.Close(); err != nil {
		r.Fatal(r.name, err)
	}
	r.open()
}

func (r *replica) apply(b *store.Batch) {
	r.Helper()
	if _, err := r.p.ApplyEncoded(b); err != nil {
		r.Fatal(r.name, err)
	}
}

// applyCut applies a batch while the n-th write fails half-way, or for negative n the sync behind it, and goes on from
// what that leaves on the disk: the batch is there, or it is not and is applied again.
func (r *replica) applyCut(b *store.Batch, n int) {
	r.Helper()
	before, err := r.p.Commits()
	if err != nil {
		r.Fatal(r.name, err)
	}
	heal := r.p.FailWrite(n, storetest.ErrInjected())
	_, err = r.p.ApplyEncoded(b)
	if happened := heal(); happened != (err != nil) {
		r.Fatalf("%s: write %d failed: %v, and the commit said %v", r.name, n, happened, err)
	}
	if err == nil {
		return
	}
	r.cuts++
	r.reopen()
	after, err := r.p.Commits()
	if err != nil {
		r.Fatal(r.name, err)
	}
	if after == before {
		r.apply(b)
	}
}

func (r *replica) digest() string {
	r.Helper()
	sum, err := r.p.Digest()
	if err != nil {
		r.Fatal(r.name, err)
	}
	return sum
}

// TestTheSameBatchesMakeTheSamePartition applies what one partition commits, which is read and closed meanwhile, to
// four others: one of which due pages are read at any time, one that is closed and opened at any moment, one whose
// writes are cut off at random, and one that is begun anew half-way with a copy of the first. All that they hold is the
// same after each batch, positions too, which slaves have been given.
func TestTheSameBatchesMakeTheSamePartition(t *testing.T) {
	for i := range uint64(2) {
		rnd := rand.New(rand.NewPCG(uint64(*seed)+i, 5))
		const steps = 60
		var leader *store.Partition
		o := suite(t, uint64(*seed)+i, steps, testOptions())
		open := o.Open
		o.Open = func(t testing.TB) *store.Partition {
			leader = open(t)
			return leader
		}
		var replicas []*replica
		begin := func(name string) *replica {
			r := &replica{T: t, name: name, path: filepath.Join(t.TempDir(), "p000.db"), options: testOptions()}
			r.open()
			t.Cleanup(func() { r.p.Close() })
			replicas = append(replicas, r)
			return r
		}
		read, reopened, cut, copied := begin("read"), begin("opened again"), begin("cut off"), begin("from a copy")
		cut.options.NoSync = false
		cut.reopen()
		n := 0
		compare := func() {
			t.Helper()
			want, err := leader.Digest()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range replicas {
				if r.digest() != want {
					t.Fatalf("seed %d, batch %d: the one %s holds something else", uint64(*seed)+i, n, r.name)
				}
			}
		}
		begun := time.Date(2026, 3, 1, 22, 40, 0, 0, time.UTC) // the suite goes on from here
		apply := func(b *store.Batch) {
			t.Helper()
			for range rnd.IntN(3) {
				at := begun.Add(time.Duration(rnd.Int64N(int64(100 * 24 * time.Hour))))
				if _, _, err := read.p.Due(at, nil, 1+rnd.IntN(20)); err != nil {
					t.Fatal(err)
				}
			}
			read.apply(b)
			if rnd.IntN(4) == 0 {
				reopened.reopen()
			}
			reopened.apply(b)
			switch at := 1 + rnd.IntN(12); rnd.IntN(4) {
			case 0:
				cut.applyCut(b, at)
			case 1:
				cut.applyCut(b, -at)
			default:
				cut.apply(b)
			}
			copied.apply(b)
			n++
			compare()
		}
		o.Committed = func(b *store.Batch) {
			apply(b)
			if n == steps/2 {
				var file bytes.Buffer
				if _, err := read.p.Backup(&file); err != nil {
					t.Fatal(err)
				}
				if err := copied.p.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(copied.path, file.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				copied.open()
				compare()
			}
		}
		storetest.Run(t, o)
		if cut.cuts == 0 {
			t.Errorf("seed %d: no write was cut off", uint64(*seed)+i)
		}
		// A file without its free pages holds the same, and goes on.
		if err := reopened.p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Compact(filepath.Dir(reopened.path), nil); err != nil {
			t.Fatal(err)
		}
		reopened.open()
		compare()
	}
}

// A state notes that its hosts are divided by a second list of registrable domains with the first commit under that
// list, which replicas apply; opening it notes nothing.
func TestTheListOfDomainsIsNotedByACommit(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")}
	var files []*store.Partition
	for _, path := range paths {
		p, err := store.Open(path, testOptions())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.DividedBy("of 2001"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		files = append(files, p)
	}
	domains := func(want string) {
		t.Helper()
		for _, p := range files {
			if got, err := p.Domains(); err != nil || got != want {
				t.Errorf("divided by %q, %v; want %q", got, err, want)
			}
		}
	}
	domains("of 2001")
	for range 2 {
		b := store.NewBatch(noon)
		b.Admit(store.Candidate{URL: "http://a.example/", DepthLeft: 1})
		if _, err := files[0].Commit(b); err != nil {
			t.Fatal(err)
		}
		if _, err := files[1].ApplyEncoded(b); err != nil {
			t.Fatal(err)
		}
		domains("several")
	}
}

// Check tells equal files from others: a copy has the digests of the state, however its links are packed and whatever
// it notes about its files, until another batch is committed to it.
func TestDigestsTellWhatDiffers(t *testing.T) {
	dir := filled(t, 100)
	digests := func(dir string) []string {
		t.Helper()
		r, err := store.Check(dir, nil)
		if err != nil || len(r.Problems) > 0 || len(r.Digests) != 2 ||
			!strings.HasPrefix(r.Digests[0], "p000.db ") || !strings.HasPrefix(r.Digests[1], "p001.db ") {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Digests
	}
	var file bytes.Buffer
	s := openState(t, dir, testOptions())
	b, url := store.NewBatch(noon), "http://h1.example/links"
	owner := s.PartitionOf("http://h1.example")
	links := slices.Repeat([]outlink.Outlink{{URL: url, Kind: outlink.Anchor, Anchor: "the same"}}, 50)
	b.Visit(store.Visited{Page: store.Page{URL: url, Next: noon.Add(time.Hour)}, Links: links})
	if _, err := s.Partitions[owner].Commit(b); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(&file); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "state")
	unpack(t, &file, copied)
	s = openState(t, copied, testOptions()) // a session of its own
	if err := s.Partitions[owner].UnpackLinks(url); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	was, is := digests(dir), digests(copied)
	if !slices.Equal(was, is) {
		t.Errorf("a copy of %q has %q", was, is)
	}
	continued(t, copied, 1, "a")
	if is = digests(copied); was[0] != is[0] || was[1] == is[1] {
		t.Errorf("%q, and after a commit to the second %q", was, is)
	}
}
