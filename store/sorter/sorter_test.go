package sorter_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"henro/store/sorter"
)

func TestRecordsComeBackInOrderAsOftenAsTheyWereAdded(t *testing.T) {
	for _, memory := range []int{1, 500, 10_000, sorter.Memory} {
		t.Run(fmt.Sprintf("%d bytes of memory", memory), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(memory)))
			dir := t.TempDir()
			s := sorter.New(dir, memory)
			var want [][]byte
			for range 2000 {
				record := make([]byte, rnd.IntN(20))
				for i := range record {
					record[i] = "ab\x00\xff"[rnd.IntN(4)]
				}
				want = append(want, record)
				if err := s.Add(record); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(want, bytes.Compare)
			r, err := s.Sorted()
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got, err := r.Next(); err != nil || !bytes.Equal(got, want[i]) {
					t.Fatalf("record %d is %q (%v), want %q", i, got, err, want[i])
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("behind the last record: %v, want %v", err, io.EOF)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s was left", left[0].Name())
			}
		})
	}
}

// Sources are merged to their end; an error of one of them, or of the one who takes records, ends the merge.
func TestSourcesAreMergedUntilAnError(t *testing.T) {
	bad := errors.New("bad")
	of := func(end error, records ...string) sorter.Source {
		return func([]byte) ([]byte, error) {
			if len(records) == 0 {
				return nil, end
			}
			record := records[0]
			records = records[1:]
			return []byte(record), nil
		}
	}
	for sentence, c := range map[string]struct {
		sources []sorter.Source
		stop    string
		want    string
		err     error
	}{
		"two, and one of nothing": {[]sorter.Source{of(io.EOF, "a", "c"), of(io.EOF, "b"), of(io.EOF)}, "", "abc", nil},
		"one that fails at once":  {[]sorter.Source{of(io.EOF, "a"), of(bad)}, "", "", bad},
		"one that fails later":    {[]sorter.Source{of(bad, "a"), of(io.EOF, "b", "c")}, "", "a", bad},
		"one who wants no more":   {[]sorter.Source{of(io.EOF, "a", "c"), of(io.EOF, "b")}, "b", "ab", bad},
		"nothing to be merged":    {nil, "", "", nil},
		"what is the same, twice": {[]sorter.Source{of(io.EOF, "a"), of(io.EOF, "a")}, "", "aa", nil},
		"long ones that end apart": {[]sorter.Source{of(io.EOF, "12345678b"), of(io.EOF, "12345678a")}, "",
			"12345678a12345678b", nil},
	} {
		var got string
		err := sorter.Merge(c.sources, func(record []byte) error {
			if got += string(record); string(record) == c.stop {
				return bad
			}
			return nil
		})
		if err != c.err || got != c.want {
			t.Errorf("%s: %q, %v, want %q, %v", sentence, got, err, c.want, c.err)
		}
	}
}

func TestNoRecords(t *testing.T) {
	s := sorter.New(t.TempDir(), 100)
	r, err := s.Sorted()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
