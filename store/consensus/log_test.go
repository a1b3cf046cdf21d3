//go:build unix

package consensus

import (
	"bytes"
	"errors"
	"fmt"
	stdlog "log"
	random "math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
	"golang.org/x/sys/unix"

	"henro/store"
)

// logged is the log of a test: its n-th entry is known.
type logged struct {
	testing.TB
	*log
	dir  string
	lost error
	last uint64
}

func openLogged(t testing.TB, dir string, last uint64) *logged {
	t.Helper()
	l := &logged{TB: t, dir: dir}
	opened, err := openLog(dir, hclog.NewNullLogger(), func(err error) { l.lost = err })
	if err != nil {
		t.Fatal(err)
	}
	l.log, l.last = opened, last
	return l
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

// holds looks for all entries from the first on, of which each has one of the sizes.
func (l *logged) holds(first, last uint64) {
	l.Helper()
	from, err := l.FirstIndex()
	to, err2 := l.LastIndex()
	if err := errors.Join(err, err2); err != nil || from != first || to != last {
		l.Fatalf("entries %d to %d, %v; want %d to %d", from, to, err, first, last)
	}
	for i := first; i <= last; i++ {
		var entry raft.Log
		if err := l.GetLog(i, &entry); err != nil || !bytes.Equal(entry.Data, content(i, len(entry.Data))) {
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
	l.endsWithItsEntries()
}

// endsWithItsEntries looks for what was torn off behind them.
func (l *logged) endsWithItsEntries() {
	l.Helper()
	all := must(filepath.Glob(filepath.Join(l.dir, "*.wal")))
	b := must(os.ReadFile(all[len(all)-1]))
	if kind := b[max(0, len(b)-8)]; kind != segment.FrameCommit { // 8 bytes, which end what was written at once
		l.Errorf("%d bytes end with %x", len(b), b[max(0, len(b)-64):])
	}
}

// TestALogThatLosesPowerKeepsWhatWasSynced: of what was appended last, any sectors may be on disk, and the file may
// have been full with it.
func TestALogThatLosesPowerKeepsWhatWasSynced(t *testing.T) {
	rnd := random.New(random.NewPCG(*seed, 9))
	t.Logf("seed %d", *seed)
	for name, c := range map[string]struct {
		before, after [2]int // entries, bytes of each
		tears         int
	}{
		"small entries":   {[2]int{3, 700}, [2]int{4, 700}, 60},
		"a file's worth":  {[2]int{15, 1 << 20}, [2]int{2, 800 << 10}, 5},
		"its first entry": {[2]int{0, 0}, [2]int{3, 900}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLogged(t, t.TempDir(), 6)
			if err := l.store(c.before[0], c.before[1]); err != nil {
				t.Fatal(err)
			}
			if name == "its first entry" { // the file of which is there
				l.last = 0
			}
			synced := l.last
			read := func(pattern string) (string, []byte) {
				found, err := filepath.Glob(filepath.Join(l.dir, pattern))
				if err != nil || len(found) == 0 {
					t.Fatal(found, err)
				}
				b, err := os.ReadFile(found[0])
				if err != nil {
					t.Fatal(err)
				}
				return filepath.Base(found[0]), b
			}
			_, marked := read(marksName)
			file, old := read("*.wal")
			if err := l.store(c.after[0], c.after[1]); err != nil {
				t.Fatal(err)
			}
			_, whole := read("*.wal")
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			for i := range c.tears {
				torn := bytes.Clone(whole)
				if i > 0 { // the first has all of it, as after kill -9
					from := len(old) + rnd.IntN(len(whole)-len(old))
					for at := from - from%512; at < len(torn); at += 512 {
						if rnd.IntN(3) == 0 {
							clear(torn[max(at, len(old)):min(at+512, len(torn))])
						}
					}
				}
				if i%3 == 2 {
					torn = torn[:len(old)+rnd.IntN(len(torn)-len(old)+1)]
				}
				dir := t.TempDir()
				orphan := segment.FileName(types.SegmentInfo{BaseIndex: 7, ID: 2}) // of a process that died before
				if err := errors.Join(os.WriteFile(filepath.Join(dir, marksName), marked, 0o600),
					os.WriteFile(filepath.Join(dir, orphan), whole[:len(whole)/2], 0o600),
					os.WriteFile(filepath.Join(dir, file), torn, 0o600)); err != nil {
					t.Fatal(err)
				}
				left := openLogged(t, dir, synced)
				if last, err := left.LastIndex(); err != nil {
					t.Fatal(err)
				} else if bytes.Equal(torn, whole) || last > synced {
					left.last = synced + uint64(c.after[0])
				}
				first := uint64(7)
				if synced == 0 {
					first = 1
				}
				if left.last > 0 {
					left.holds(first, left.last)
				}
				left.goesOn(first)
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
	var err, again error
	withRoom(t, 700<<10, func() { err, again = l.store(1, 300<<10), l.store(2, 400<<10) })
	if !errors.Is(err, unix.EFBIG) || !errors.Is(again, unix.EFBIG) || l.lost != nil {
		t.Errorf("without room: %v, %v, lost for %v", err, again, l.lost)
	}
	l.holds(1, 3)
	l.goesOn(1)
}

// TestALogWithoutRoomIsNotCutOff at its end, where its file gets an index: it is as it was when it is opened again.
func TestALogWithoutRoomIsNotCutOff(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	if err := l.store(9, 50<<10); err != nil {
		t.Fatal(err)
	}
	err, again := error(nil), error(nil)
	withRoom(t, 450<<10, func() { err = l.DeleteRange(8, 9) })
	again = l.DeleteRange(8, 9)
	if !errors.Is(err, unix.EFBIG) || !errors.Is(again, unix.EFBIG) || !errors.Is(l.lost, unix.EFBIG) ||
		!errors.Is(l.store(1, 10), unix.EFBIG) {
		t.Errorf("without room: %v, %v, lost for %v", err, again, l.lost)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	left := openLogged(t, l.dir, 9)
	left.holds(1, 9)
	left.goesOn(1)
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

// TestALogThatCannotBeginAFileIsLost until it is opened again.
func TestALogThatCannotBeginAFileIsLost(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "masters")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l := openLogged(t, dir, 0)
	if err := errors.Join(l.store(15, 1<<20), os.Rename(dir, dir+".away"), l.store(2, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := l.store(1, 1000); !errors.Is(err, wal.ErrSealed) || !errors.Is(l.lost, wal.ErrSealed) {
		t.Errorf("%v, lost for %v", err, l.lost)
	}
	if err := errors.Join(os.Rename(dir+".away", dir), l.Close()); err != nil {
		t.Fatal(err)
	}
	again := openLogged(t, dir, l.last)
	again.holds(1, l.last)
	again.goesOn(1)
}

// TestALogIsCut at both ends, and is the same when it is opened again. What is cut off gives its room back.
func TestALogIsCut(t *testing.T) {
	l := openLogged(t, t.TempDir(), 40)
	for range 9 {
		if err := l.store(5, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.DeleteRange(41, 75), l.DeleteRange(84, 85)); err != nil {
		t.Fatal(err)
	}
	l.last = 83
	l.holds(76, 83)
	l.goesOn(76)
	held := int64(0)
	for _, file := range must(os.ReadDir(l.dir)) {
		held += must(file.Info()).Size()
	}
	if held > 2*oneSegment {
		t.Errorf("%d MB for 10 entries of 1 MB", held>>20)
	}
	again := openLogged(t, l.dir, l.last)
	if err := again.DeleteRange(76, 84); err != nil {
		t.Fatal(err)
	}
	if err := again.GetLog(84, new(raft.Log)); err != raft.ErrLogNotFound { // of the file that grows
		t.Errorf("an entry that was cut off: %v", err)
	}
	if err := again.DeleteRange(85, 85); err != nil {
		t.Fatal(err)
	}
	again.last = 500 // behind a copy of the state
	again.goesOn(501)
	killed := openLogged(t, l.dir, 502)
	killed.last = 900 // behind another one, and what is in it was not removed
	killed.goesOn(901)
}

// The memory of a log does not grow with its files: raft-wal reads a file that is full through what wrote it, which
// holds a buffer of 32 MB where 16 MB were appended at once.
func TestALogHoldsNoBufferOfAFileThatIsFull(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const files = 5
	var reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() { // as what sends a member the entries that it lacks
		for at := uint64(1); ; {
			var e raft.Log
			switch err := l.GetLog(at, &e); {
			case err == nil && !bytes.Equal(e.Data, content(at, len(e.Data))):
				t.Errorf("entry %d is another", at)
			case err == nil:
				at++
			case !errors.Is(err, raft.ErrLogNotFound):
				t.Errorf("entry %d: %v", at, err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	before := heap()
	for range files {
		if err := l.store(4, 4<<20); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	reading.Wait()
	l.holds(1, 4*files)
	if after := heap(); after > before+48<<20 {
		t.Errorf("the heap has grown from %d to %d MB", before>>20, after>>20)
	}
	l.goesOn(1)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTheStandardLoggerStaysAsItIs though a module of raft-wal's takes it over.
func TestTheStandardLoggerStaysAsItIs(t *testing.T) {
	if stdlog.Writer() != os.Stderr || stdlog.Flags() != stdlog.LstdFlags {
		t.Errorf("%T, flags %b", stdlog.Writer(), stdlog.Flags())
	}
}

// TestADamagedLogIsNamed: each page and each cut of the marks, and blocks and cuts of the entries. What opens has the
// entries that were synced, or fewer; else the error says that the log is damaged and what to do.
func TestADamagedLogIsNamed(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	for range 20 {
		if err := l.store(1, 3000); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	found, err := os.ReadDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		if files[file.Name()], err = os.ReadFile(filepath.Join(l.dir, file.Name())); err != nil {
			t.Fatal(err)
		}
	}
	rnd := random.New(random.NewPCG(7, 7))
	named, opened := 0, 0
	try := func(what, name string, spoilt []byte) {
		dir := t.TempDir()
		for other, whole := range files {
			if other == name {
				whole = spoilt
			}
			if err := os.WriteFile(filepath.Join(dir, other), whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		log, err := openLog(dir, hclog.NewNullLogger(), func(error) {})
		if err == nil {
			opened++
			var entry raft.Log
			for i := uint64(1); i <= 20 && log.GetLog(i, &entry) == nil; i++ {
				if !bytes.Equal(entry.Data, content(i, 3000)) {
					t.Errorf("%s: entry %d is another one", what, i)
				}
			}
			err = log.Close()
		} else if errors.Is(err, store.ErrCorrupt) && strings.Contains(err.Error(), "--standby") {
			named++
			err = nil
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for name, whole := range files {
		end := len(whole)
		for end > 0 && whole[end-1] == 0 {
			end--
		}
		for at := 0; at < end; at += 4096 {
			upTo := min(at+4096, len(whole))
			zeroed, random := bytes.Clone(whole), bytes.Clone(whole)
			clear(zeroed[at:upTo])
			for i := at; i < upTo; i++ {
				random[i] = byte(rnd.Uint32())
			}
			try(fmt.Sprintf("%s zeroed at %d", name, at), name, zeroed)
			try(fmt.Sprintf("%s random at %d", name, at), name, random)
			try(fmt.Sprintf("%s cut at %d", name, at), name, whole[:at])
			try(fmt.Sprintf("%s cut at %d", name, at+700), name, whole[:min(at+700, len(whole))])
		}
		try(name+" with other words", name, bytes.ReplaceAll(whole, []byte(`"Segments":`), []byte(`"Segments:"`)))
	}
	if t.Logf("%d were named, %d opened", named, opened); named == 0 || opened == 0 {
		t.Error("damage is not seen, or all is called damage")
	}
}
