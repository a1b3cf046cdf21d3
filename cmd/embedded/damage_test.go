package embedded_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// A crawl whose state is damaged refuses to begin, or ends soon after it has met the damage: it neither tries for ever
// nor restarts an actor that meets the same damage again.
func TestACrawlOfADamagedStateEnds(t *testing.T) {
	refused, ended, unharmed := 0, 0, 0
	for seed := uint64(0); seed < 8 || ended == 0 && seed < 40; seed++ { // a quarter of them end on the way
		synctest.Test(t, func(t *testing.T) {
			web, err := fakeweb.New(fakeweb.Options{Seed: 12, Hosts: 3, Domains: 1, Pages: 60, Degree: 12})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			dir := t.TempDir()
			limited := func(pages uint64) func(o *master.Options) {
				return func(o *master.Options) {
					o.Store.Partitions, o.Store.MapBytes, o.MaxPages = 1, 0, pages
					o.Hosts.Politeness.Floor = 100 * time.Millisecond
				}
			}
			crawltest.Run(t, crawltest.Of(t, dir, web, -1, limited(60)))
			path := filepath.Join(dir, "state", "p000.db")
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			used := len(file)
			for used > 0 && file[used-1] == 0 {
				used--
			}
			r := rand.New(rand.NewPCG(seed, 0))
			for range 6 { // most in values, where they are not seen until they are read
				file[2*4096+r.IntN(used-2*4096)] ^= 1 << r.IntN(8)
			}
			if err := os.WriteFile(path, file, 0o644); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			e := crawltest.Of(t, dir, web, -1, limited(0))
			e.Options.Store.Partitions = 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			status, err := e.Run(ctx,
				func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
			code := config.Code(err)
			if err == nil {
				code = config.Code(config.EndError(t.Context(), master.SummaryOf(status)))
			}
			switch {
			case code == config.ExitDamaged && err != nil:
				refused++
			case code == config.ExitDamaged:
				ended++
			case code == config.ExitFinished:
				unharmed++
			default:
				t.Errorf("seed %d: exit code %d: %v, %q, %v", seed, code, err, status.End, status.Stalled)
			}
			if took := time.Since(start); took > 5*time.Minute {
				t.Errorf("seed %d: it took %v", seed, took)
			}
		})
	}
	t.Logf("%d refused at the start, %d ended on the way, %d unharmed", refused, ended, unharmed)
	if ended == 0 {
		t.Error("no damage was met on the way")
	}
}

// Damage that no single value shows ends a crawl too: pages that the counts know and no reader finds, and damage that
// is met before a Partition can answer anything.
func TestDamageThatNoValueShowsEndsTheCrawl(t *testing.T) {
	for name, harm := range map[string]func(*bbolt.Tx) error{
		"a page that waits is not found": func(tx *bbolt.Tx) error {
			fresh := tx.Bucket([]byte("fresh"))
			last, _ := fresh.Cursor().Last()
			return fresh.Delete(last)
		},
		"the leases cannot be read": func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("leases")).Put(make([]byte, 8), []byte("no lease"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, err := fakeweb.New(fakeweb.Options{Seed: 12, Hosts: 3, Domains: 1, Pages: 60, Degree: 12})
				if err != nil {
					t.Fatal(err)
				}
				defer web.Close()
				dir := t.TempDir()
				crawltest.Run(t, crawltest.Of(t, dir, web, -1,
					func(o *master.Options) { o.Store.Partitions, o.MaxPages = 1, 60 }))
				db, err := bbolt.Open(filepath.Join(dir, "state", "p000.db"), 0o600, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(db.Update(harm), db.Close()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				status, err := crawltest.Of(t, dir, web, -1, func(*master.Options) {}).Run(ctx,
					func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
				if err != nil || status.End != master.Damaged {
					t.Errorf("%v, end %q, stalled %q, want the end %q", err, status.End, status.Stalled, master.Damaged)
				}
			})
		})
	}
}
