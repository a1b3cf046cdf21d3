package admission

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// lines reads a file of the log; every line must be whole.
func lines(t *testing.T, path string) (urls []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		var s Skipped
		if err := json.Unmarshal(scanner.Bytes(), &s); err != nil {
			t.Fatalf("%s: %q: %v", path, scanner.Text(), err)
		}
		urls = append(urls, s.URL)
	}
	return urls
}

func TestALineIsNotWrittenTwice(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(dir, DefaultLogBytes)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		for i := range 10 {
			for _, reason := range []Reason{Scope, Robots} {
				if err := l.Add(&Skipped{URL: fmt.Sprintf("http://a.example/%d", i), Reason: reason}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := len(lines(t, filepath.Join(dir, LogName))); got != 20 {
		t.Errorf("%d lines of 10 URLs with two reasons", got)
	}
}

func TestCountsAreReadAsTheyWereWritten(t *testing.T) {
	var counts, back Counts
	counts[Robots], counts[TrapGrowth] = 7, 1<<60
	b, err := json.Marshal(counts)
	if err != nil || string(b) != `{"robots":7,"trap: grows without end":1152921504606846976}` {
		t.Fatalf("%s %v", b, err)
	}
	if err := json.Unmarshal([]byte(`{"of another version":1,`+string(b[1:])), &back); err != nil || back != counts {
		t.Errorf("%v %v", back, err)
	}
}
