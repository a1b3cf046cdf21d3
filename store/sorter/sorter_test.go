package sorter_test

import (
	"bytes"
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
