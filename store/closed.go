package store

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
)

// closedName is the file beside the partitions that notes size, time and last transaction of each, as of when its pages
// were looked through last or it was closed in order since. A partition that still has these has the same pages, so
// opening it does not look through them: those of 10 million URLs are gigabytes. Without this file, and after a crash,
// all pages are looked through once, also if only readers open the state from then on.
const closedName = "closed.json"

// closedAs is how a partition's file was when it was closed.
type closedAs struct {
	Size        int64  `json:"size"`
	ModifiedNs  int64  `json:"modified_ns"`
	Transaction uint64 `json:"transaction"`
}

// closedIn reads how the files of a folder were when they were closed, by their names; nil: nothing is known.
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

// noteClosed writes closedName for the files that were looked through when they were opened and in which no damage was
// met. If it cannot, the next opening takes longer. A reader calls it before it lets go of the files, so that nothing
// writes to them meanwhile.
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
