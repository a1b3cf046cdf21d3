package sorter_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
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

// TestEqualRecordsAreCounted adds from several goroutines, with so little memory that most is counted in files, and
// compares with a map.
func TestEqualRecordsAreCounted(t *testing.T) {
	for _, memory := range []int{1, 20_000, 10 << 20} {
		dir := t.TempDir()
		tally := sorter.NewTally(dir, memory)
		const adders, each = 4, 5000
		want := map[string]uint64{}
		var wait sync.WaitGroup
		for a := range adders {
			records := make([]string, each)
			rnd := rand.New(rand.NewPCG(uint64(a), uint64(memory)))
			for i := range records {
				n := int(math.Exp(8 * rnd.Float64()))
				long := "" // some records are longer than a chunk, and all begin with the same bytes
				if n%500 == 7 {
					long = strings.Repeat("x", 70_000)
				}
				records[i] = fmt.Sprintf("same%s%d\x00", long, n)
				want[records[i]] += 2
			}
			wait.Go(func() {
				for _, r := range records {
					if err := tally.Add([]byte(r), 2); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		sorted, err := tally.Sorted()
		if err != nil {
			t.Fatal(err)
		}
		got, last := 0, ""
		for {
			record, n, err := sorted.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(record) <= last || n != want[string(record)] {
				t.Fatalf("with %d bytes %q %d times behind %q, want %d times", memory, record, n, last,
					want[string(record)])
			}
			last = string(record)
			got++
		}
		if got != len(want) {
			t.Errorf("with %d bytes %d records, want %d", memory, got, len(want))
		}
		if err := tally.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left, %v", len(left), err)
		}
	}
}
