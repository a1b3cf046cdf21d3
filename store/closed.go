package store

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
)

// closedName is the file beside the partitions that says how each of them was when its pages were looked through last,
// or was closed in order since. A file that still is so has the pages that it had then, so opening it does not look
// through all of them: of 10 million URLs that are gigabytes. Whatever writes to a file changes its time. Without this
// file, and after a crash, all pages are looked through: once, also if only readers open the state from then on.
const closedName = "closed.json"

// closedAs is how a partition's file was when it was closed.
type closedAs struct {
	Size        int64  `json:"size"`
	ModifiedNs  int64  `json:"modified_ns"`
	Transaction uint64 `json:"transaction"`
}

// closedIn reads how the files of a folder were when they were closed, by their names; none: nothing is known.
func closedIn(dir string) (files map[string]closedAs) {
	f, err := os.Open(filepath.Join(dir, closedName))
	if err != nil {
		return nil
	}
	defer f.Close()
	if json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&files) != nil {
		return nil
	}
	return files
}

func closedOf(info os.FileInfo, m meta) closedAs {
	return closedAs{info.Size(), info.ModTime().UnixNano(), m.number}
}

// noteClosed says how the files are that were looked through when they were opened, and in which no damage was met.
// Where it cannot be written, the next opening takes longer. A reader calls it before it lets go of the files, so that
// nothing writes to them meanwhile.
func (s *State) noteClosed() {
	if len(s.Partitions) == 0 || s.Partitions[0].options.NoSync {
		return
	}
	dir := filepath.Dir(s.Partitions[0].path)
	files := map[string]closedAs{}
	for _, p := range s.Partitions {
		if f, err := os.Open(p.path); err == nil && p.sound.Load() {
			if info, err := f.Stat(); err == nil {
				if m, err := readMeta(f); err == nil {
					files[filepath.Base(p.path)] = closedOf(info, m)
				}
			}
			f.Close()
		}
	}
	if maps.Equal(files, closedIn(dir)) {
		return
	}
	b, err := json.MarshalIndent(files, "", "\t")
	if err != nil {
		return
	}
	name := filepath.Join(dir, closedName)
	if os.WriteFile(name+".new", append(b, '\n'), 0o644) != nil || os.Rename(name+".new", name) != nil {
		os.Remove(name + ".new")
	}
}
