package cdxj_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// An index of others is read line by line: what cannot be read is named, what is no line is passed over, and an error
// of the one who is shown lines ends it.
func TestAnIndexOfOthersIsReadAroundItsDamage(t *testing.T) {
	text := "!meta 0 {}\n CDX N b a\n\na 2026 {}\n" +
		strings.Repeat("x", 2<<20) + "\nno line\nb 2026 {}\n\r\nc 2026 {}"
	var keys []string
	var unread []int
	visit := func(e cdxj.Entry) error { keys = append(keys, e.Key); return nil }
	bad := func(line int, _ error) { unread = append(unread, line) }
	err := cdxj.Each(strings.NewReader(text), cdxj.Parse, visit, bad)
	if err != nil || !slices.Equal(keys, []string{"a", "b", "c"}) || !slices.Equal(unread, []int{5, 6}) {
		t.Errorf("%q, lines %d are not read, %v", keys, unread, err)
	}
	enough, calls := errors.New("enough"), 0
	err = cdxj.Each(strings.NewReader(text), cdxj.Parse, func(cdxj.Entry) error { calls++; return enough },
		func(int, error) {})
	if err != enough || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// One record whose line would be too long does not cost the others of its file theirs.
func TestARecordTooLongForAnIndexIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	var file strings.Builder
	for _, uri := range []string{"http://a.test/", "urn:" + strings.Repeat("\x01", 300_000), "http://b.test/"} {
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"+
			"WARC-Target-URI: %s\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", uri)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := cdxj.MergeDir(dir)
	if err != nil || len(m.Unread) != 1 || !strings.Contains(m.Unread[0], warc.ErrTooLarge.Error()) {
		t.Errorf("%v, not read: %q", err, m.Unread)
	}
	index, err := os.ReadFile(m.Path)
	if err != nil || strings.Count(string(index), `"mime":"unk"`) != 2 || strings.Count(string(index), "\n") != 2 {
		t.Errorf("%v\n%s", err, index)
	}
}

// A file with a line too long is not sorted without it.
func TestALineTooLongIsNotSortedAway(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(src, []byte("a\n"+strings.Repeat("x", 2<<20)+"\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cdxj.SortFile(dst, src); err == nil {
		t.Error("sorted")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}
