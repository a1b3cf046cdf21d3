package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"henro/store/journal"
)

// The latest come first, from both files, and no more than are asked for; a file that cannot be read is an error.
func TestTheLatestChangesComeFirst(t *testing.T) {
	dir := t.TempDir()
	for _, url := range []string{"a", "b", "c"} {
		if err := Append(dir, []Change{{URL: url}}); err != nil {
			t.Fatal(err)
		}
		if url == "b" {
			older := filepath.Join(dir, journal.OlderName(LinesName, 1))
			if err := os.Rename(filepath.Join(dir, LinesName), older); err != nil {
				t.Fatal(err)
			}
		}
	}
	for most, want := range []string{"", "c", "cb", "cba", "cba"} {
		got := ""
		all, err := Recent(dir, most)
		for _, c := range all {
			got += c.URL
		}
		if err != nil || got != want {
			t.Errorf("%d: %q, %v, want %q", most, got, err, want)
		}
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, LinesName), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := Recent(folder, 3); err == nil {
		t.Errorf("of a folder: %v", all)
	}
}

// A line that a crash cut off is written over, and the files stay bounded in what is read of them.
func TestChangesOutlastACrash(t *testing.T) {
	dir := t.TempDir()
	change := func(n int) []Change { return []Change{{ID: fmt.Sprint(n), URL: "http://a/"}} }
	if err := Append(dir, change(1)); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, LinesName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, `{"id":"2","url":"htt`)
	file.Close()
	if err := Append(dir, change(3)); err != nil {
		t.Fatal(err)
	}
	lines, err := Recent(dir, 10)
	if err != nil || len(lines) != 2 || lines[0].ID != "3" || lines[1].ID != "1" {
		t.Errorf("%+v, %v", lines, err)
	}
}
