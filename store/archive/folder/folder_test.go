package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/warc"
)

// put writes a WARC file of one page, and so many bytes of another behind it.
func put(t *testing.T, dir, name, page string, torn int) {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	record := func(page string) []byte {
		return b.Append(nil, &warc.Record{Type: warc.Resource, TargetURI: "http://docs.test/" + page,
			ContentType: "text/plain", Head: []byte(page), Date: time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)})
	}
	data := append(record(page), record("torn")[:torn]...)
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// listed returns the pages of an index.
func listed(t *testing.T, path string) (pages []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		e, err := cdxj.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, strings.TrimPrefix(e.URL, "http://docs.test/"))
	}
	return pages
}

// A file that nobody claimed is that of another program, whatever lies beside it. Where nothing is open, nothing is
// done.
func TestWhatNobodyClaimedIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a-1.warc.gz", "whole", 0)
	for _, name := range []string{"b", "c", "d"} {
		put(t, dir, name+"-1.warc.gz.open", name, 20)
	}
	for _, name := range []string{".a.lock", "b", ".c", "d.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := folder.Recover(dir)
	open, err2 := warc.Leftovers(dir, "")
	if err := errors.Join(err, err2); err != nil || len(found) > 0 || len(open) != 3 {
		t.Errorf("%+v, %v, still open are %q", found, err, open)
	}
	if _, err := os.Stat(filepath.Join(dir, "a-1.cdxj")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an index where nothing was open: %v", err)
	}
	says := folder.Repaired{File: "a-1.warc.gz.open", Err: errors.New("no room")}.String()
	if !strings.Contains(says, "cannot be repaired: no room") {
		t.Errorf("what is still as it was: %s", says)
	}
}

// Whoever opens the archive after a crash finishes what the dead process left, and nothing of a process that lives or
// of other programs.
func TestWhatADeadProcessLeftIsFinishedByTheNextThatOpensTheFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a-1.warc.gz", "first", 0)
	put(t, dir, "a-2.warc.gz.open", "left", 20)
	put(t, dir, "b-1.warc.gz.open", "alive", 0)
	put(t, dir, "c-1.warc.gz.open", "others", 0)
	if err := os.WriteFile(filepath.Join(dir, "a-2.cdxj.open"), []byte("docs,te"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := folder.Claim(dir, "a")
	if err == nil {
		err = dead.Close()
	}
	alive, err2 := folder.Claim(dir, "b")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Claim(dir, "b"); !errors.Is(err, folder.ErrInUse) {
		t.Errorf("claimed twice: %v", err)
	}

	r, err := folder.Refresh(dir)
	if err != nil || len(r.Repaired) != 1 || r.Repaired[0].Err != nil || r.Repaired[0].Cut != 20 ||
		r.Repaired[0].Records != 1 || !strings.HasPrefix(r.Repaired[0].String(), "a-2.warc.gz.open was left open") {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := listed(t, filepath.Join(dir, cdxj.MergedName)); !slices.Equal(got, []string{"first", "left"}) {
		t.Errorf("the merged index has %q", got)
	}
	if got := listed(t, filepath.Join(dir, "a-2.cdxj")); !slices.Equal(got, []string{"left"}) {
		t.Errorf("the index of the repaired file has %q", got)
	}
	open, err := warc.Leftovers(dir, "")
	if err != nil || len(open) != 2 {
		t.Errorf("open are %q, %v; want those of b and c", open, err)
	}

	if err := alive.Close(); err != nil { // it dies, and is found by one who needs no merged index of his own
		t.Fatal(err)
	}
	found, err := folder.Recover(dir)
	if err != nil || len(found) != 1 || found[0].File != "b-1.warc.gz.open" {
		t.Errorf("%+v, %v", found, err)
	}
	if got := listed(t, filepath.Join(dir, cdxj.MergedName)); !slices.Equal(got, []string{"alive", "first", "left"}) {
		t.Errorf("the merged index has %q", got)
	}
	if found, err := folder.Recover(dir); err != nil || len(found) > 0 {
		t.Errorf("again: %+v, %v", found, err)
	}
	if found, err := folder.Recover(filepath.Join(dir, "none")); err != nil || len(found) > 0 {
		t.Errorf("of no folder: %+v, %v", found, err)
	}
}
