package bucket

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
)

func linesOf(n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range n {
			if !yield(fmt.Appendf(nil, "test,a)/%06d 20260314120000 {\"url\":\"http://a.test/%d\"}\n", i, i)) {
				return
			}
		}
	}
}

// FuzzList: a list of blocks that anybody wrote leads into its part, or is refused; a block that anybody wrote gives
// whole lines, or an error.
func FuzzList(f *testing.F) {
	var data, list bytes.Buffer
	if _, err := Write(&data, &list, "index-00001", linesOf(7000)); err != nil {
		f.Fatal(err)
	}
	f.Add(list.Bytes(), data.Bytes(), "test,a)/003000 ")
	f.Add([]byte("a\tb\t-1\t9223372036854775807\t1\n"), []byte{0x1f, 0x8b}, "")
	f.Fuzz(func(t *testing.T, list, data []byte, from string) {
		for line := range strings.Lines(string(list)) {
			at, err := parseFirst(strings.TrimSuffix(line, "\n"))
			if err == nil && (at.offset < 0 || at.size <= 0 || at.size > maxBlock || at.offset+at.size < at.offset) {
				t.Errorf("%q leads to %+v", line, at)
			}
		}
		more, err := eachLine(bytes.NewReader(data), from, func(line []byte) bool {
			if string(line) < from || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
				t.Errorf("from %q: a line %q", from, line)
			}
			return true
		})
		if !more && err == nil {
			t.Error("nobody had enough")
		}
	})
}

// TestListsAreThoseOfPywb: KEY MOMENT, the part, where its block is, and its number, by tabs; blocks of 3,000 lines.
func TestListsAreThoseOfPywb(t *testing.T) {
	var data, list bytes.Buffer
	n, err := Write(&data, &list, "index-00001", linesOf(7000))
	if err != nil || n != 7000 {
		t.Fatal(n, err)
	}
	var begin int64
	for i, line := range slices.Collect(strings.Lines(list.String())) {
		at, err := parseFirst(strings.TrimSuffix(line, "\n"))
		want := fmt.Sprintf("test,a)/%06d 20260314120000\tindex-00001\t%d\t%d\t%d\n", 3000*i, begin, at.size, i+1)
		if err != nil || line != want {
			t.Errorf("%q, %v; want %q", line, err, want)
		}
		lines := 0
		if _, err := eachLine(io.NewSectionReader(bytes.NewReader(data.Bytes()), at.offset, at.size), "",
			func([]byte) bool { lines++; return true }); err != nil || lines != []int{3000, 3000, 1000}[i] {
			t.Errorf("block %d: %d lines, %v", i, lines, err)
		}
		begin += at.size
	}
	if begin != int64(data.Len()) {
		t.Errorf("the blocks end at %d of %d", begin, data.Len())
	}
}

// TestMergedLinesAreInOrder: each once, and no more are read than are wanted.
func TestMergedLinesAreInOrder(t *testing.T) {
	words := func(text string) iter.Seq[[]byte] {
		return func(yield func([]byte) bool) {
			for _, c := range text {
				if !yield([]byte(string(c))) {
					return
				}
			}
		}
	}
	for _, c := range []struct {
		sources []string
		most    int
		want    string
	}{{[]string{"ace", "bcd", "", "c"}, 9, "abcde"}, {[]string{"ab"}, 1, "a"}, {[]string{"bd", "ac"}, 2, "ab"},
		{nil, 9, ""}} {
		var sources []iter.Seq[[]byte]
		for _, s := range c.sources {
			sources = append(sources, words(s))
		}
		got := ""
		for line := range Merged(sources...) {
			if got += string(line); len(got) == c.most {
				break
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.sources, got, c.want)
		}
	}
}
