package seen

import (
	"errors"
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
				Action: Action(rnd.IntN(4))}
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
			switch {
			case op.Action == Renew && found:
				twin[k] = value{old.left, false}
			case op.Action == Know, op.Action == Visit:
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

// TestDamageOfTheSetIsNamed: whatever is not as Apply leaves it is ErrDamaged, to whoever meets it.
func TestDamageOfTheSetIsNamed(t *testing.T) {
	put := func(key []byte, entries ...Entry) func(*bbolt.Bucket) error {
		return func(b *bbolt.Bucket) error { return b.Put(key, encode(key, entries)) }
	}
	block := func(least uint64, entries ...Entry) func(*bbolt.Bucket) error {
		key := keyOf(1, least)
		return put(key[:], entries...)
	}
	each := func(tx *bbolt.Tx) error { return Each(tx, func(uint64, Entry) error { return nil }) }
	get := func(tx *bbolt.Tx) error {
		set, err := Read(tx)
		if err == nil {
			_, _, err = set.Get(1, 0x900)
		}
		return err
	}
	apply := func(tx *bbolt.Tx) error { return new(Writer).Apply(tx, []Op{{Host: 1, URL: 0x900, Action: Know}}) }
	for name, c := range map[string]struct {
		damage []func(*bbolt.Bucket) error // none: the bucket is gone
		meet   []func(*bbolt.Tx) error
	}{
		"no bucket":   {nil, []func(*bbolt.Tx) error{each, get, apply}},
		"a short key": {[]func(*bbolt.Bucket) error{put([]byte{0}, 0x100)}, []func(*bbolt.Tx) error{each, get, apply}},
		"another's sum": {[]func(*bbolt.Bucket) error{func(b *bbolt.Bucket) error {
			key, other := keyOf(1, 0), keyOf(2, 0)
			return b.Put(key[:], encode(other[:], []Entry{0x100}))
		}}, []func(*bbolt.Tx) error{each, get, apply}},
		"no entries":     {[]func(*bbolt.Bucket) error{block(0)}, []func(*bbolt.Tx) error{each, get, apply}},
		"no first block": {[]func(*bbolt.Bucket) error{block(0x500, 0x500)}, []func(*bbolt.Tx) error{each}},
		"a lesser entry": {[]func(*bbolt.Bucket) error{block(0, 0x100), block(0x500, 0x400)},
			[]func(*bbolt.Tx) error{each}},
		"no order":       {[]func(*bbolt.Bucket) error{block(0, 0x500, 0x400)}, []func(*bbolt.Tx) error{each}},
		"an entry twice": {[]func(*bbolt.Bucket) error{block(0, 0x500, 0x500)}, []func(*bbolt.Tx) error{each}},
	} {
		db := openDB(t)
		if err := db.Update(func(tx *bbolt.Tx) error {
			if c.damage == nil {
				return tx.DeleteBucket(bucketName)
			}
			var err error
			for _, damage := range c.damage {
				err = errors.Join(err, damage(tx.Bucket(bucketName)))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for i, meet := range c.meet {
			if err := db.Update(meet); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s, reader %d: %v", name, i, err)
			}
		}
	}
}

// TestAHostIsReadUntilItIsEnough: what is told to stop stops, without an error, at the host's last entry too.
func TestAHostIsReadUntilItIsEnough(t *testing.T) {
	db := openDB(t)
	if err := db.Update(func(tx *bbolt.Tx) error {
		ops := []Op{{Host: 1, URL: 0x100, Action: Know}, {Host: 1, URL: 0x200, Action: Know},
			{Host: 2, URL: 0x300, Action: Know}}
		if err := new(Writer).Apply(tx, ops); err != nil {
			return err
		}
		set, err := Read(tx)
		for most := 1; err == nil && most < 4; most++ {
			n := 0
			err = set.Host(1, func(e Entry) bool {
				if n++; e.DepthLeft() != 0 || e.IsPage() {
					t.Errorf("%x has depth left %d", e.Fingerprint(), e.DepthLeft())
				}
				return n < most
			})
			if n != min(most, 2) {
				t.Errorf("%d entries, asked for %d", n, most)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
