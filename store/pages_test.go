package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"henro/store"
)

var damages = flag.Int("damages", 120, "damaged files to be tried")

const pageLen = 4096

// damage spoils one page of a file, as disks and people do: bits, bytes, whole pages, pages in the wrong place or of
// another time, and single fields of bbolt's own structure.
func damage(r *rand.Rand, file []byte) string {
	pages := len(file) / pageLen
	at := func(i int) []byte { return file[i*pageLen : (i+1)*pageLen] }
	var used, branches []int
	for i := 2; i < pages; i++ {
		if page := at(i); binary.LittleEndian.Uint64(page) == uint64(i) {
			used = append(used, i)
			if page[8] == 1 && page[9] == 0 {
				branches = append(branches, i)
			}
		}
	}
	noise := func(b []byte) {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	any32 := func() uint32 {
		return []uint32{0, 1, 5, pageLen, uint32(pages), 1<<32 - 1, r.Uint32N(1 << 20)}[r.IntN(7)]
	}
	n := used[r.IntN(len(used))]
	page, other := at(n), at(used[r.IntN(len(used))])
	kinds := []string{"bit", "bytes", "zero", "noise", "copy", "contents of another", "header", "element", "meta",
		"child"}
	kind := kinds[r.IntN(len(kinds))]
	switch kind {
	case "bit":
		page[r.IntN(pageLen)] ^= 1 << r.IntN(8)
	case "bytes":
		from := r.IntN(pageLen)
		noise(page[from:min(pageLen, from+1+r.IntN(64))])
	case "zero":
		clear(page)
	case "noise":
		noise(page)
	case "copy":
		copy(page, other)
	case "contents of another":
		if len(branches) > 0 && r.IntN(2) == 0 {
			other = at(branches[r.IntN(len(branches))])
		}
		copy(page[8:], other[8:])
	case "header":
		binary.LittleEndian.PutUint32(page[[]int{0, 8, 12}[r.IntN(3)]:], any32())
	case "element":
		count := max(1, min(250, int(binary.LittleEndian.Uint16(page[10:]))))
		binary.LittleEndian.PutUint32(page[16+16*r.IntN(count)+4*r.IntN(4):], any32())
	case "meta":
		at(r.IntN(2))[r.IntN(80)] ^= 1 << r.IntN(8)
	case "child":
		if len(branches) == 0 {
			break
		}
		n = branches[r.IntN(len(branches))]
		count := max(1, min(250, int(binary.LittleEndian.Uint16(at(n)[10:]))))
		targets := []uint64{uint64(n), 0, 1, 2, uint64(pages) + 5, 1 << 45, uint64(branches[r.IntN(len(branches))]),
			uint64(used[r.IntN(len(used))])}
		binary.LittleEndian.PutUint64(at(n)[16+16*r.IntN(count)+8:], targets[r.IntN(len(targets))])
	}
	return fmt.Sprintf("%s of page %d", kind, n)
}

// A damaged file neither ends the process nor takes its time or memory: it does not open, or says at the first look
// that it is damaged; where what is read is not what was written, the check finds it.
func TestRandomDamageEndsInAnError(t *testing.T) {
	dir := filled(t, 3000)
	path := filepath.Join(dir, "p001.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openState(t, dir, testOptions())
	was, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	refused, read := 0, 0
	for n := range uint64(*damages) {
		r := rand.New(rand.NewPCG(uint64(*seed)+n, 0))
		file := append([]byte{}, whole...)
		what := fmt.Sprintf("seed %d, %s", uint64(*seed)+n, damage(r, file))
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		report, err := store.Check(dir, nil)
		if err != nil {
			t.Errorf("%s: check: %v", what, err)
			continue
		}
		s, err := store.OpenState(dir, testOptions())
		if err == nil {
			var is string
			is, err = contents(s)
			// Of two meta pages the older serves when the newer is not whole, as after a power failure.
			if err == nil && is != was && len(report.Problems) == 0 && !strings.Contains(what, "meta") {
				t.Errorf("%s: read without an error, but not what was written, and not found by the check", what)
			}
			b := store.NewBatch(noon.Add(time.Hour))
			b.Admit(store.Candidate{URL: "http://h1.example/more", DepthLeft: 3})
			if _, failed := s.Partitions[1].Commit(b); failed != nil && !errors.Is(failed, store.ErrCorrupt) {
				t.Errorf("%s: commit: %v", what, failed)
			}
			s.Close()
		}
		runtime.ReadMemStats(&after)
		took, allocated := time.Since(start), after.TotalAlloc-before.TotalAlloc
		if took > 20*time.Second || allocated > 256<<20 {
			t.Errorf("%s: %v, %d MB", what, took, allocated>>20)
		}
		switch {
		case err == nil:
			read++
		case !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrMismatch):
			t.Errorf("%s: %v", what, err)
		case len(report.Problems) == 0:
			t.Errorf("%s: not found by the check: %v", what, err)
		default:
			refused++
		}
	}
	t.Logf("%d damages refused, %d in what nobody reads", refused, read)
	if refused < *damages/4 {
		t.Errorf("only %d of %d damages were found", refused, *damages)
	}
}

// A file whose root lost its buckets is a damaged one, not a new one: nothing is written to it.
func TestARootWithoutBucketsIsNotANewFile(t *testing.T) {
	dir := filled(t, 10)
	path := filepath.Join(dir, "p001.db")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range []int{0, pageLen} {
		const pageHeader, rootOfMeta, countOfPage = 16, 16, 10
		root := binary.LittleEndian.Uint64(file[meta+pageHeader+rootOfMeta:])
		clear(file[root*pageLen+countOfPage : root*pageLen+countOfPage+2])
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	if report, err := store.Check(dir, nil); err != nil || len(report.Problems) == 0 {
		t.Errorf("check: %v, %v", report, err)
	}
	if s, err := store.OpenState(dir, testOptions()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open: %v", err)
		if err == nil {
			s.Close()
		}
	}
	if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, file) {
		t.Errorf("the damaged file was written to (%v)", err)
	}
}

// Of two meta pages one is enough to read a file, and the check says that the other is damaged, as damage is said.
func TestADamagedMetaPageIsNamed(t *testing.T) {
	dir := filled(t, 10)
	path := filepath.Join(dir, "p001.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, meta := range []int{0, 1} {
		file := bytes.Clone(whole)
		clear(file[meta*pageLen : (meta+1)*pageLen])
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		report, err := store.Check(dir, nil)
		said := strings.Join(report.Problems, "\n")
		if err != nil || !strings.Contains(said, "p001.db: ") || strings.Contains(said, "panic") {
			t.Errorf("meta page %d: %q, %v", meta, said, err)
		}
	}
}
