package cdxj_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// putWARC writes a file of captures of the pages named.
func putWARC(t *testing.T, dir, name string, pages ...string) {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i, page := range pages {
		data = b.Append(data, &warc.Record{
			Type: warc.Resource, TargetURI: "http://docs.test/" + page, ContentType: "text/plain", Head: []byte(page),
			Date: time.Date(2026, 3, 14, 12, 0, i, 0, time.UTC),
		})
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheMergedIndexFollowsTheFiles(t *testing.T) {
	dir := t.TempDir()
	var want []string // page and file of each line
	step := func(sentence string, added, indexed int) {
		t.Helper()
		m, err := cdxj.MergeDir(dir)
		if err != nil || m.Added != added || m.Indexed != indexed {
			t.Fatalf("%s: %+v %v, want %d added and %d indexed", sentence, m, err, added, indexed)
		}
		data, err := os.ReadFile(m.Path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		lines := slices.Collect(strings.Lines(string(data)))
		for _, line := range lines {
			e, err := cdxj.Parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(e.URL, "http://docs.test/")+" "+e.Filename)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) || !slices.IsSorted(lines) {
			t.Errorf("%s: %q, want %q", sentence, got, want)
		}
	}
	step("nothing", 0, 0)
	putWARC(t, dir, "a.warc.gz", "c", "a")
	want = append(want, "a a.warc.gz", "c a.warc.gz")
	step("one file", 1, 1)
	step("the same again", 0, 0)
	putWARC(t, dir, "b.warc.gz", "b")
	putWARC(t, dir, "of others.warc.gz", "d")
	want = append(want, "b b.warc.gz", "d of others.warc.gz")
	step("two more, one of which cannot be listed", 2, 2)
	step("the one that is not listed, again", 1, 0)

	if err := os.Remove(filepath.Join(dir, "a.warc.gz")); err != nil {
		t.Fatal(err)
	}
	want = []string{"b b.warc.gz", "d of others.warc.gz"}
	step("one that is gone", 2, 0)

	if err := os.WriteFile(filepath.Join(dir, cdxj.MergedName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	step("an index that is not the one listed, as a crash leaves it", 2, 0)
}

func TestScanBeginsAnywhere(t *testing.T) {
	for _, host := range []string{"test,docs)/", "com,docs)/"} { // a piece of a line is below it, or above
		t.Run(host, func(t *testing.T) { scansFromAnywhere(t, host) })
	}
}

func scansFromAnywhere(t *testing.T, host string) {
	var index []byte
	for i := range 500 {
		e := cdxj.Entry{Key: fmt.Sprintf("%s%03d", host, i), At: time.Unix(0, 0), URL: "http://docs.test/"}
		index = e.Append(index)
	}
	for i := range 500 {
		n := 0
		from := fmt.Appendf(nil, "%s%03d", host, i)
		err := cdxj.Scan(bytes.NewReader(index), int64(len(index)), from, func(line []byte) bool {
			if n == 0 && !bytes.HasPrefix(line, from) {
				t.Errorf("from %s: %s", from, line)
			}
			n++
			return true
		})
		if err != nil || n != 500-i {
			t.Fatalf("from %s: %d lines, %v", from, n, err)
		}
		n = 0
		err = cdxj.Scan(bytes.NewReader(index), int64(len(index)), from, func([]byte) bool { n++; return false })
		if err != nil || n != 1 {
			t.Fatalf("from %s, one line: %d, %v", from, n, err)
		}
	}
}
