package store_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/store"
	"henro/store/storetest"
)

// TestAPowerFailureTakesAReplicaBackToItsCheckpoint: of what was written since a checkpoint any part may be lost, page
// by page. The file opens as of the checkpoint, and the log takes it to where it was.
func TestAPowerFailureTakesAReplicaBackToItsCheckpoint(t *testing.T) {
	rnd := rand.New(rand.NewPCG(*seed, 6))
	t.Logf("seed %d", *seed)
	var log []*store.Batch
	replica := testOptions()
	replica.Replica, replica.Partitions = true, 1
	open := func(dir string) (*store.State, *store.Partition) {
		t.Helper()
		s, err := store.OpenState(dir, replica)
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Partitions[0]
	}
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "p000.db")
	state, live := open(dir)
	defer func() { state.Close() }()
	digest := func(p *store.Partition) string {
		t.Helper()
		sum, err := p.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	apply := func(p *store.Partition, from uint64) {
		t.Helper()
		for i := from; i < uint64(len(log)); i++ {
			if _, err := p.Apply(i+1, 1, log[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var file, note []byte
	sum, at, failures := digest(live), uint64(0), 0
	o := suite(t, *seed, 80, testOptions())
	o.Committed = func(b *store.Batch) {
		log = append(log, b)
		apply(live, uint64(len(log))-1)
		if rnd.IntN(12) == 0 || file == nil && len(log) >= 10 {
			if err := state.Checkpoint(); err != nil {
				t.Fatal(err)
			}
			sum, at = digest(live), uint64(len(log))
			file, note = read(path), read(path+".checkpoint")
		}
		if file == nil || rnd.IntN(4) > 0 {
			return
		}
		failures++
		now := read(path)
		for at := 0; at < len(now); at += 512 { // of each sector what was, or what is
			switch end := min(at+512, len(now)); {
			case rnd.IntN(2) == 0:
			case end <= len(file):
				copy(now[at:end], file[at:end])
			default:
				clear(now[at:end])
			}
		}
		var says map[string]any
		if err := json.Unmarshal(note, &says); err != nil {
			t.Fatal(err)
		}
		says["Boot"] = "another"
		other, err := json.Marshal(says)
		if err != nil {
			t.Fatal(err)
		}
		torn := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(torn, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"p000.db": now, "p000.db.checkpoint": other} {
			if err := os.WriteFile(filepath.Join(torn, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, p := open(torn)
		if is := digest(p); is != sum {
			t.Fatalf("batch %d: after the failure it is not as of the checkpoint", len(log))
		}
		if applied, err := p.Applied(); err != nil || applied > at {
			t.Fatalf("applied %d, the checkpoint was at %d: %v", applied, at, err)
		}
		apply(p, 0)
		if digest(p) != digest(live) {
			t.Fatalf("batch %d: after the log it holds something else", len(log))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		clean(t, torn)
	}
	storetest.Run(t, o)
	if failures == 0 {
		t.Error("there was no failure")
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	clean(t, dir)
	state, live = open(dir)
	if _, err := live.Commit(store.NewBatch(time.Now())); err != nil {
		t.Fatal(err)
	}
}
