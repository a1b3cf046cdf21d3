//go:build unix

package consensus

import (
	"bytes"
	"errors"
	"fmt"
	random "math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"henro/store"
)

// logged is the log of a test: its n-th entry is known.
type logged struct {
	testing.TB
	*log
	dir  string
	last uint64
}

func openLogged(t testing.TB, dir string, last uint64) *logged {
	t.Helper()
	opened, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &logged{TB: t, log: opened, dir: dir, last: last}
}

func content(index uint64, size int) []byte {
	b := make([]byte, size)
	random.NewChaCha8([32]byte{byte(index), byte(index >> 8), 1}).Read(b)
	return b
}

// store appends entries of a size at once.
func (l *logged) store(count, size int) error {
	var all []*raft.Log
	for i := range uint64(count) {
		all = append(all, &raft.Log{Index: l.last + 1 + i, Term: 3, Data: content(l.last+1+i, size)})
	}
	err := l.StoreLogs(all)
	if err == nil {
		l.last += uint64(count)
	}
	return err
}

// holds looks for all entries from the first on.
func (l *logged) holds(first, last uint64) {
	l.Helper()
	from, err := l.FirstIndex()
	to, err2 := l.LastIndex()
	if err := errors.Join(err, err2); err != nil || from != first || to != last {
		l.Fatalf("entries %d to %d, %v; want %d to %d", from, to, err, first, last)
	}
	for i := first; i > 0 && i <= last; i++ {
		var entry raft.Log
		if err := l.GetLog(i, &entry); err != nil || !bytes.Equal(entry.Data, content(i, len(entry.Data))) ||
			entry.Index != i || entry.Term != 3 {
			l.Fatalf("entry %d is another one, %v", i, err)
		}
	}
}

// goesOn appends, closes the log and opens it again.
func (l *logged) goesOn(first uint64) {
	l.Helper()
	if err := l.store(2, 1000); err != nil {
		l.Fatal(err)
	}
	l.holds(first, l.last)
	if err := l.Close(); err != nil {
		l.Fatal(err)
	}
	again := openLogged(l.TB, l.dir, l.last)
	again.holds(first, l.last)
	if err := again.Close(); err != nil {
		l.Fatal(err)
	}
}

// size is that of the file.
func (l *logged) size() int64 { return must(os.Stat(filepath.Join(l.dir, logName))).Size() }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestALogThatLosesPowerKeepsWhatWasSynced: of the pages that were written last, any sectors may be on disk. Once all
// are, the meta page that leads to them may be, or not, or be torn.
func TestALogThatLosesPowerKeepsWhatWasSynced(t *testing.T) {
	rnd := random.New(random.NewPCG(*seed, 9))
	t.Logf("seed %d", *seed)
	const metas = 2 * 4096
	for name, c := range map[string]struct {
		before, after, size int // entries, bytes of each
		tears               int
	}{
		"small entries":       {3, 4, 700, 12},
		"entries of pages":    {9, 2, 30_000, 8},
		"where there is room": {9, 3, 60_000, 8},
		"the first entry":     {0, 3, 900, 8},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLogged(t, t.TempDir(), 0)
			if c.before > 0 {
				if err := l.store(c.before, c.size); err != nil {
					t.Fatal(err)
				}
			}
			first := min(l.last, 1)
			if name == "where there is room" {
				if first = 6; l.DeleteRange(1, 5) != nil || l.Set(identityLog, []byte("i")) != nil {
					t.Fatal("not cut")
				}
			}
			synced, path := l.last, filepath.Join(l.dir, logName)
			old := must(os.ReadFile(path))
			if err := l.store(c.after, c.size); err != nil {
				t.Fatal(err)
			}
			whole := must(os.ReadFile(path))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for i := range c.tears {
				left := bytes.Clone(whole)
				copy(left[:metas], old)
				last := synced
				switch i % 4 {
				case 0: // as after kill -9
					copy(left, whole[:metas])
					last = l.last
				case 1:
					for at := 0; at < metas; at += 4096 {
						if !bytes.Equal(old[at:at+4096], whole[at:at+4096]) {
							copy(left[at:], content(uint64(i), 512))
						}
					}
				default:
					for at := metas; at < len(left); at += 512 {
						if rnd.IntN(2) == 0 {
							clear(left[at : at+512])
							copy(left[at:at+512], old[min(at, len(old)):])
						}
					}
					if i%4 == 2 {
						left = left[:len(old)]
					}
				}
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, logName), left, 0o600); err != nil {
					t.Fatal(err)
				}
				torn := openLogged(t, dir, last)
				torn.holds(min(max(first, 1), last), last)
				torn.goesOn(max(first, 1))
			}
		})
	}
}

// TestALogWithoutRoomGoesOnWithIt: an entry for which there is no room is not in the log, and can be appended later.
func TestALogWithoutRoomGoesOnWithIt(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	if err := l.store(3, 200<<10); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var err, again error
		withRoom(t, uint64(l.size()), func() { err, again = l.store(1, 1<<20), l.store(2, 1<<20) })
		if err == nil || again == nil {
			t.Errorf("without room: %v, %v", err, again)
		}
		l.holds(1, l.last)
		if err := l.store(1, 200<<10); err != nil {
			t.Fatal(err)
		}
	}
	l.goesOn(1)
}

// withRoom has files end at a size.
func withRoom(t *testing.T, size uint64, do func()) {
	t.Helper()
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var room unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		t.Fatal(err)
	}
	less := unix.Rlimit{Cur: size, Max: room.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &less); err != nil {
		t.Fatal(err)
	}
	do()
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &room); err != nil {
		t.Fatal(err)
	}
}

// TestALogIsCut at both ends, and is the same when it is opened again. The room of what is cut off is used again.
func TestALogIsCut(t *testing.T) {
	l := openLogged(t, t.TempDir(), 40)
	fill := func() {
		for range 9 {
			if err := l.store(5, 100<<10); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	full, first := l.size(), uint64(41)
	for range 4 {
		if err := l.DeleteRange(first, l.last-10); err != nil {
			t.Fatal(err)
		}
		first = l.last - 9
		fill()
	}
	l.holds(first, l.last)
	if now := l.size(); now > full*3/2 {
		t.Errorf("%d kB for 55 entries of 100 kB, %d for 45", now>>10, full>>10)
	}
	if err := l.DeleteRange(l.last-1, l.last+5); err != nil {
		t.Fatal(err)
	}
	l.last -= 2
	l.goesOn(first)
	again := openLogged(t, l.dir, l.last)
	if err := again.DeleteRange(1, again.last-1); err != nil {
		t.Fatal(err)
	}
	if err := again.GetLog(again.last-1, new(raft.Log)); err != raft.ErrLogNotFound {
		t.Errorf("an entry that was cut off: %v", err)
	}
	again.goesOn(again.last)
}

// TestALogHasNoGapAndNoOldEnd, whatever was in it when entries are appended.
func TestALogHasNoGapAndNoOldEnd(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	if err := l.store(9, 3000); err != nil {
		t.Fatal(err)
	}
	l.last = 5 // the disk failed, so that these are all that Raft knows
	if err := l.store(1, 200); err != nil {
		t.Fatal(err)
	}
	l.holds(1, 6)
	l.last = 3
	l.goesOn(1)
	killed := openLogged(t, l.dir, 900) // behind a copy of the state, and what is in it was not removed
	killed.goesOn(901)
}

// TestALogOfAnEarlierHenroIsRefused, and is not taken for none.
func TestALogOfAnEarlierHenroIsRefused(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	dir := store.LogDir(state)
	if err := errors.Join(os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "marks.db"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(dir); !errors.Is(err, errEarlierLog) || !Started(state) {
		t.Errorf("%v, started %t", err, Started(state))
	}
}

// TestADamagedLogIsNamed: each page of it, and each cut. No entry is another one: what can be read is what was synced,
// else the error says that the log is damaged, and what to do if it is not opened.
func TestADamagedLogIsNamed(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	if err := errors.Join(l.store(5, 3000), l.store(5, 9000), l.store(90, 100),
		l.Set(identityLog, []byte("identity")), l.Close()); err != nil {
		t.Fatal(err)
	}
	whole, page := must(os.ReadFile(filepath.Join(l.dir, logName))), 4096
	rnd := random.NewChaCha8([32]byte{7})
	opened, named, lost := 0, 0, 0
	try := func(what string, spoilt []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, logName), spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := openLog(dir)
		if err != nil {
			if named++; !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "--standby") {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		opened++
		var entry raft.Log
		first, _ := log.FirstIndex()
		last, _ := log.LastIndex()
		for i := first; i > 0 && i <= last; i++ {
			switch err := log.GetLog(i, &entry); {
			case errors.Is(err, store.ErrCorrupt):
				lost++
			case err != nil || entry.Term != 3 || !bytes.Equal(entry.Data, content(i, len(entry.Data))):
				t.Errorf("%s: entry %d is another one: %v", what, i, err)
			}
		}
		if err := log.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := 0; at < len(whole); at += page {
		noise := make([]byte, page)
		rnd.Read(noise)
		aBit := bytes.Clone(whole[at:][:page])
		aBit[at/page*37%page] ^= 8
		for what, b := range map[string][]byte{"zeroed": make([]byte, page), "random": noise, "a bit": aBit,
			"the page behind": whole[min(at+page, len(whole)-page):][:page]} {
			spoilt := bytes.Clone(whole)
			copy(spoilt[at:], b)
			try(fmt.Sprintf("%s at %d", what, at), spoilt)
		}
		try(fmt.Sprintf("cut at %d", at+700), whole[:at+700])
	}
	t.Logf("%d were opened, in which %d entries were named, and %d were refused", opened, lost, named)
	if opened == 0 || named == 0 || lost == 0 {
		t.Error("damage is not seen, or all is called damage")
	}
}

// TestAFileThatIsNoLogIsNamed, though bbolt can read it: when it is opened, or when the entry is read.
func TestAFileThatIsNoLogIsNamed(t *testing.T) {
	for name, forge := range map[string]func(marks, entries *bbolt.Bucket) error{
		"no entries":    func(_, entries *bbolt.Bucket) error { return entries.Tx().DeleteBucket(entriesBucket) },
		"no marks":      func(marks, _ *bbolt.Bucket) error { return marks.Tx().DeleteBucket(marksBucket) },
		"a gap":         func(_, entries *bbolt.Bucket) error { return entries.DeleteBucket(keyOf(2)) },
		"a value":       func(_, entries *bbolt.Bucket) error { return entries.Put(keyOf(4), []byte("entry")) },
		"a short entry": func(_, entries *bbolt.Bucket) error { return entries.Bucket(keyOf(3)).Put(entryKey, nil) },
		"another key": func(_, entries *bbolt.Bucket) error {
			_, err := entries.CreateBucket([]byte("later"))
			return err
		},
		"an entry of another index": func(_, entries *bbolt.Bucket) error {
			return entries.Bucket(keyOf(3)).Put(entryKey, bytes.Clone(entries.Bucket(keyOf(2)).Get(entryKey)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLogged(t, t.TempDir(), 0)
			if err := errors.Join(l.store(3, 50), l.db.Update(func(tx *bbolt.Tx) error {
				return forge(tx.Bucket(marksBucket), tx.Bucket(entriesBucket))
			}), l.Close()); err != nil {
				t.Fatal(err)
			}
			left, err := openLog(l.dir)
			if err == nil {
				err = errors.Join(left.GetLog(3, new(raft.Log)), left.Close())
			}
			if !errors.Is(err, store.ErrCorrupt) {
				t.Error(err)
			}
		})
	}
}
