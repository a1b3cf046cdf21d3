package cdxj_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
)

// An index that grows can be read at every moment, torn anywhere too: its whole lines are found, and nothing else.
func TestAnIndexIsReadWhileItGrows(t *testing.T) {
	var index []byte
	for i := range 30 {
		e := cdxj.Entry{Key: fmt.Sprintf("test,a)/p%d", i%10), At: noon, URL: fmt.Sprintf("http://a.test/p%d", i%10),
			Status: 304, Offset: int64(29 - i), Filename: "h-1.warc.gz"}
		index = e.Append(index)
	}
	path := filepath.Join(t.TempDir(), "h-1.cdxj.open")
	for cut := 0; cut <= len(index); cut += 13 {
		var got []byte
		if err := cdxj.ScanOpen(bytes.NewReader(index[:cut]), func(line []byte) bool {
			got = append(got, line...)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		want := index[:bytes.LastIndexByte(index[:cut], '\n')+1]
		if !bytes.Equal(got, want) {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want)
		}
		if err := os.WriteFile(path, index[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		found, more, err := cdxj.Recall(filepath.Dir(path), weburl.MustParse("http://a.test/p7"), 10)
		if lines := bytes.Count(want, []byte("test,a)/p7 ")); err != nil || more || len(found) != lines {
			t.Fatalf("cut at %d: %d captures, %v %v, want %d", cut, len(found), more, err, lines)
		}
	}
}

func TestScanOpenEndsWhenItIsToldToAndWhereNoIndexIs(t *testing.T) {
	lines := 0
	if err := cdxj.ScanOpen(bytes.NewReader([]byte("a\nb\nc\n")), func([]byte) bool {
		lines++
		return lines < 2
	}); err != nil || lines != 2 {
		t.Errorf("%d lines, %v", lines, err)
	}
	err := cdxj.ScanOpen(bytes.NewReader(make([]byte, 2<<20)), func([]byte) bool { return true })
	if !errors.Is(err, cdxj.ErrLine) {
		t.Errorf("of a line without an end: %v", err)
	}
}
