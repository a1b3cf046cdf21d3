package journal_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"henro/store/journal"
)

func open(t *testing.T, path string, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func add(t *testing.T, j *journal.Journal, line string) {
	t.Helper()
	if err := j.Append(func(b *bytes.Buffer) error { _, err := b.WriteString(line + "\n"); return err }); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, j *journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// A crash leaves any beginning of what was to be written: the next start goes on after the last whole line.
func TestATornLineIsMended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "a.jsonl")
	j := open(t, path, journal.Options{Bytes: 1 << 20, Older: 1})
	for i := range 5 {
		add(t, j, fmt.Sprintf("line %d", i))
	}
	end(t, j)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j := open(t, path, journal.Options{Bytes: 1 << 20, Older: 1})
		add(t, j, "after")
		end(t, j)
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.LastIndexByte(whole[:cut], '\n') + 1
		if want := string(whole[:lines]) + "after\n"; string(got) != want {
			t.Fatalf("cut at %d: %q, want %q", cut, got, want)
		}
	}
}

// Lines without end take (1 + Older) files of Bytes at most, of which the present one has the latest lines, and each
// older one those before the next.
func TestAJournalIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	o := journal.Options{Bytes: 200 << 10, Older: 3}
	j := open(t, path, o)
	const count = 100_000
	for i := range count {
		add(t, j, fmt.Sprintf("%08d", i))
		if i == count/2 {
			end(t, j)
			j = open(t, path, o)
		}
	}
	end(t, j)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1+o.Older {
		t.Fatalf("%v, %v", entries, err)
	}
	var text []byte
	for number := o.Older; number >= 0; number-- {
		name := path
		if number > 0 {
			name = journal.OlderName(path, number)
		}
		part, err := os.ReadFile(name)
		if err != nil || int64(len(part)) > o.Bytes {
			t.Errorf("%s: %d bytes, %v", name, len(part), err)
		}
		text = append(text, part...)
	}
	first := count - len(text)/9
	for i := first; i < count; i++ {
		if got := string(text[(i-first)*9:][:9]); got != fmt.Sprintf("%08d\n", i) {
			t.Fatalf("line %d is %q", i, got)
		}
	}
}

// Nothing is written where nothing waits, and no older file goes for it.
func TestNoFileIsMadeForNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	j := open(t, path, journal.Options{Bytes: 4, Older: 1})
	add(t, j, "longer than a file")
	for range 3 {
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	end(t, j)
	if _, err := os.Stat(journal.OlderName(path, 1)); !os.IsNotExist(err) {
		t.Errorf("an older file: %v", err)
	}
}

// What cannot be turned into a line leaves nothing behind.
func TestHalfALineIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	j := open(t, path, journal.Options{Bytes: 1 << 20, Older: 1})
	add(t, j, "one")
	if err := j.Append(func(b *bytes.Buffer) error { b.WriteString("tw"); return os.ErrInvalid }); err == nil {
		t.Error("no error")
	}
	add(t, j, "three")
	end(t, j)
	if got, err := os.ReadFile(path); err != nil || string(got) != "one\nthree\n" {
		t.Errorf("%q, %v", got, err)
	}
}
