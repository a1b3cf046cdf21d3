package seen

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

func openDB(t testing.TB) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "s.db"), 0o644,
		&bbolt.Options{NoSync: true, NoGrowSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Update(Create); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestSetAgreesWithAMap(t *testing.T) {
	db, rnd := openDB(t), rand.New(rand.NewPCG(1, 2))
	type key struct{ host, url uint64 }
	type value struct {
		left    uint8
		visited bool
	}
	twin := map[key]value{}
	var w Writer
	fingerprint := func() uint64 {
		// A few hosts, one of them large, fingerprints from both ends, and many that come again.
		u := rnd.Uint64N(20_000) << 8
		switch rnd.IntN(4) {
		case 0:
			u = ^u
		case 1:
			u *= 0x9e3779b97f4a7c15
		}
		return u ^ rnd.Uint64N(256)
	}
	for round := range 120 {
		ops := make([]Op, rnd.IntN(800))
		for i := range ops {
			ops[i] = Op{Host: min(rnd.Uint64N(9), 3), URL: fingerprint(), Reach: uint8(rnd.IntN(140)),
				Action: Action(rnd.IntN(3))}
			if i > 0 && rnd.IntN(4) == 0 {
				ops[i].Host, ops[i].URL = ops[i-1].Host, ops[i-1].URL
			}
		}
		if err := db.Update(func(tx *bbolt.Tx) error { return w.Apply(tx, ops) }); err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			k := key{op.Host, op.URL &^ 0xff}
			old, found := twin[k]
			if found != op.Found || found && (op.Old.Reach() != old.left || op.Old.Visited() != old.visited ||
				op.Old.Fingerprint() != k.url) {
				t.Fatalf("round %d: %+v, not %v %v", round, op, old, found)
			}
			if op.Action != Peek {
				twin[k] = value{max(old.left, min(op.Reach, 127)), old.visited || op.Action == Visit}
			}
		}
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		n := 0
		if err := Each(tx, func(host uint64, e Entry) error {
			n++
			if want, ok := twin[key{host, e.Fingerprint()}]; !ok || want != (value{e.Reach(), e.Visited()}) {
				return fmt.Errorf("host %d, %x: %v, not %v", host, e.Fingerprint(), e, want)
			}
			return nil
		}); err != nil {
			return err
		}
		if n != len(twin) {
			return fmt.Errorf("%d entries, not %d", n, len(twin))
		}
		set, err := Read(tx)
		if err != nil {
			return err
		}
		for range 20_000 {
			host, url := min(rnd.Uint64N(9), 3), fingerprint()
			want, known := twin[key{host, url &^ 0xff}]
			e, found, err := set.Get(host, url)
			if err != nil || found != known || found && want != (value{e.Reach(), e.Visited()}) {
				return fmt.Errorf("host %d, %x: %v %v %w, not %v %v", host, url, e, found, err, want, known)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
