package cdxj_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// An index can be read after each append, torn anywhere too: what was appended before is found.
func TestAnIndexIsReadWhileItGrows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h-1.cdxj.open")
	g, err := cdxj.CreateGrowing(path)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	ends := []int64{0} // of the file, by how many times was appended
	for round := range 5 {
		var lines []byte
		for i := range 300 {
			e := cdxj.Entry{Key: fmt.Sprintf("test,a)/p%d", i), At: noon, URL: fmt.Sprintf("http://a.test/p%d", i),
				Status: 304, Offset: int64(1000*round + i), Filename: "h-1.warc.gz"}
			all = append(all, e.Append(nil))
			lines = append(lines, all[len(all)-1]...)
		}
		if err := g.Append(lines); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if grown := info.Size() - ends[round]; grown == 0 || grown > int64(len(lines)/2) {
			t.Fatalf("%d bytes of lines take %d", len(lines), grown)
		}
		ends = append(ends, info.Size())
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "h-2.cdxj.open")
	for cut := 0; cut <= len(packed); cut += 97 {
		if err := os.WriteFile(torn, packed[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		appended := 0
		for appended < 5 && ends[appended+1] <= int64(cut) {
			appended++
		}
		found, more, err := cdxj.Recall(filepath.Dir(torn), weburl.MustParse("http://a.test/p7"), 10)
		if err != nil || more || len(found) != appended {
			t.Fatalf("cut at %d: %d captures, %v %v, want %d", cut, len(found), more, err, appended)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	sorted := filepath.Join(dir, "h-1.cdxj")
	if err := cdxj.SortFile(sorted, g.Name()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(sorted)
	slices.SortFunc(all, bytes.Compare)
	if err != nil || !bytes.Equal(got, bytes.Join(all, nil)) {
		t.Errorf("%d bytes are sorted, %v", len(got), err)
	}
	if err := os.WriteFile(torn, packed[:len(packed)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cdxj.SortFile(sorted, torn); err == nil { // the index is made of the WARC file then
		t.Error("an index that is torn counts as whole")
	}
}

// An index that was left as it came counts as one, is found in, and is sorted for the merged one; if it cannot be read,
// that is made of the WARC file.
func TestAnIndexThatWasLeftAsItCameIsSortedByItsReader(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		dir := t.TempDir()
		file := filepath.Join(dir, "h-1.warc.gz")
		putWARC(t, dir, "h-1.warc.gz", "c", "a", "b")
		if err := cdxj.IndexFile(file); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(cdxj.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		if !damaged { // what only the index has shows that it was sorted, and not made again
			want = bytes.ReplaceAll(want, []byte("}\n"), []byte(",\"note\":\"as it came\"}\n"))
		}
		lines := slices.Collect(bytes.Lines(want))
		slices.Reverse(lines)
		g, err := cdxj.CreateGrowing(cdxj.Path(file) + warc.OpenSuffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Append(bytes.Join(lines, nil)), g.Close(), os.Remove(cdxj.Path(file)),
			cdxj.KeepPacked(file, g.Name())); err != nil {
			t.Fatal(err)
		}
		if left, err := cdxj.Unindexed(dir, ""); err != nil || len(left) > 0 {
			t.Errorf("without an index: %v %v", left, err)
		}
		found, _, err := cdxj.Recall(dir, weburl.MustParse("http://docs.test/a"), 10)
		if err != nil || len(found) != 1 || found[0].Filename != "h-1.warc.gz" {
			t.Errorf("found %v %v", found, err)
		}
		packed := cdxj.Path(file) + cdxj.PackedSuffix
		if damaged {
			if err := os.WriteFile(packed, []byte("\xff\x06\x00\x00S2sTwO torn"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := cdxj.MergeDir(dir)
		if err != nil || m.Added != 1 || m.Indexed != 0 {
			t.Errorf("damaged %v: merged %+v %v", damaged, m, err)
		}
		for _, path := range []string{cdxj.Path(file), m.Path} {
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
				t.Errorf("damaged %v: %s: %v %q, want %q", damaged, path, err, got, want)
			}
		}
		if _, err := os.Stat(packed); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("damaged %v: it is still there: %v", damaged, err)
		}
		if err := cdxj.SortPacked(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("sorted twice: %v", err)
		}
	}
}
