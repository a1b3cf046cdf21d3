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

// A crash leaves any beginning of what was to be written: the next start goes on after the last whole line.
func TestATornLineIsMended(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(dir, DefaultLogBytes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := l.Add(&Skipped{URL: fmt.Sprintf("http://a.example/%d", i), Reason: Scope}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, LogName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := OpenLog(dir, DefaultLogBytes)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Add(&Skipped{URL: "http://a.example/after", Reason: Robots}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		want := 1
		for _, b := range whole[:cut] {
			if b == '\n' {
				want++
			}
		}
		if got := lines(t, path); len(got) != want || got[want-1] != "http://a.example/after" {
			t.Fatalf("cut at %d: %q, want %d lines", cut, got, want)
		}
	}
}

// A trap without end writes twice the size of the file at most, and keeps what is latest.
func TestTheLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	const most = 200 << 10
	l, err := OpenLog(dir, most)
	if err != nil {
		t.Fatal(err)
	}
	const count = 20_000
	for i := range count {
		if err := l.Add(&Skipped{URL: fmt.Sprintf("http://a.example/calendar/%d", i), Reason: TrapGrowth,
			From: "http://a.example/calendar/", Depth: 200}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, name := range []string{LogName, oldLogName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
		size += info.Size()
	}
	last := lines(t, filepath.Join(dir, LogName))
	if got := last[len(last)-1]; got != fmt.Sprintf("http://a.example/calendar/%d", count-1) {
		t.Errorf("the last line is of %s", got)
	}
	t.Logf("%d lines, %d bytes kept", count, size)
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
