package store_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/store"
	"henro/store/storetest"
)

// replica is a partition that only commits what another one committed before.
type replica struct {
	*testing.T
	name string
	path string
	p    *store.Partition
}

func (r *replica) open() {
	r.Helper()
	var err error
	if r.p, err = store.Open(r.path, testOptions()); err != nil {
		r.Fatal(r.name, err)
	}
}

func (r *replica) commit(b *store.Batch) {
	r.Helper()
	if _, err := r.p.Commit(b); err != nil {
		r.Fatal(r.name, err)
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

// TestTheSameBatchesMakeTheSamePartition feeds what one partition commits, which is read and closed meanwhile, to three
// others that nobody reads: one that stays open, one that is closed and opened at any moment, and one that is begun
// anew half-way with a copy of the first. All that they hold is the same after each batch, positions too, which slaves
// have been given.
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
		for _, name := range []string{"open", "opened again", "from a copy"} {
			r := &replica{T: t, name: name, path: filepath.Join(t.TempDir(), "p000.db")}
			r.open()
			t.Cleanup(func() { r.p.Close() })
			replicas = append(replicas, r)
		}
		compare := func(step int) {
			t.Helper()
			want, err := leader.Digest()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range replicas {
				if r.digest() != want {
					t.Fatalf("seed %d, batch %d: the one %s holds something else", uint64(*seed)+i, step, r.name)
				}
			}
		}
		n := 0
		last := time.Time{}
		o.Committed = func(s *storetest.Step) {
			last = s.Now
			for _, r := range replicas {
				if r.name == "opened again" && rnd.IntN(4) == 0 {
					if err := r.p.Close(); err != nil {
						t.Fatal(err)
					}
					r.open()
				}
				r.commit(s.Batch())
			}
			compare(n)
			if n++; n == steps/2 {
				var file bytes.Buffer
				if _, err := replicas[0].p.Backup(&file); err != nil {
					t.Fatal(err)
				}
				r := replicas[2]
				if err := r.p.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(r.path, file.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				r.open()
				compare(n)
			}
		}
		storetest.Run(t, o)
		// What the suite does not draw: pages that wait again, and time that passes without a batch.
		for pass := range 5 {
			entries, _, err := leader.Visited(nil, 20)
			if err != nil {
				t.Fatal(err)
			}
			last = last.Add(7 * time.Hour)
			for _, p := range []*store.Partition{leader, replicas[0].p, replicas[1].p, replicas[2].p} {
				b := store.NewBatch(last)
				if pass%2 == 0 {
					for _, e := range entries {
						b.Renew(e.Position, e.Page)
					}
				}
				if _, err := p.Commit(b); err != nil {
					t.Fatal(err)
				}
			}
			compare(n + pass)
		}
		// A file without its free pages holds the same, and goes on.
		r := replicas[1]
		if err := r.p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Compact(filepath.Dir(r.path), nil); err != nil {
			t.Fatal(err)
		}
		r.open()
		compare(n)
	}
}
