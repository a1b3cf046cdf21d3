package store_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"henro/store"
	"henro/store/storetest"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random tests")

func testOptions() store.Options {
	o := store.DefaultOptions()
	o.NoSync, o.MapBytes, o.RecentBytes, o.LockTimeout = true, 64<<20, 1<<12, 50*time.Millisecond
	return o
}

func suite(t *testing.T, seed uint64, steps int, o store.Options) storetest.Options {
	path := filepath.Join(t.TempDir(), "p000.db")
	var last *store.Partition
	t.Cleanup(func() { last.Close() })
	return storetest.Options{
		Seed: seed, Steps: steps,
		Open: func(t testing.TB) *store.Partition {
			p, err := store.Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			last = p
			return p
		},
		Check: func(t testing.TB) { clean(t, filepath.Dir(path)) },
	}
}

func TestPartitionAgreesWithItsTwin(t *testing.T) {
	for i := range uint64(3) {
		storetest.Run(t, suite(t, *seed+i, 60, testOptions()))
	}
}

func TestEveryWriteFailsOnce(t *testing.T) {
	options := testOptions()
	options.NoSync = false
	o := suite(t, *seed, 15, options)
	o.FailWrite = func(p *store.Partition, n int) func() bool { return p.FailWrite(n, storetest.ErrInjected()) }
	storetest.Run(t, o)
}
