package captures

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// growing are the captures of WARC files that still grow: a sorted copy of the lines of their indexes, which is made
// again when it is read and they have grown. A line stands in such an index once its record is synced.
type growing struct {
	looking  sync.Mutex // held while the copy is made
	looked   time.Time
	took     time.Duration
	folder   string           // temporary, of the copies; empty: there was none yet
	sizes    map[string]int64 // of the indexes in the copy, by name
	finished int              // indexes that the merged one has

	mu   sync.Mutex // of what follows
	copy string     // path; empty: nothing grows
}

// The copy may be growsFor old, or growsEffort times as old as it took to make it. 1 GB of WARC with pages has some
// 25 MB of lines, which are sorted in half a second.
const (
	growsFor    = time.Second
	growsEffort = 10
)

// look brings the copy up to date. It reports whether files were finished that the merged index does not have: until
// merged is called, the copy is kept. A reader that comes while another looks goes on with the copy as it is.
func (g *growing) look(root *os.Root) (finished bool, err error) {
	if !g.looking.TryLock() {
		return false, nil
	}
	defer g.looking.Unlock()
	begun := time.Now()
	if begun.Sub(g.looked) < max(growsFor, growsEffort*g.took) {
		return false, nil
	}
	g.looked = begun
	sizes, count, err := indexes(root)
	if err != nil || count != g.finished {
		return err == nil, err
	}
	if maps.Equal(sizes, g.sizes) {
		return false, nil
	}
	if err := g.sort(root, sizes); err != nil {
		return false, fmt.Errorf("sort the index of what still grows: %w", err)
	}
	g.sizes, g.took = sizes, time.Since(begun)
	return false, nil
}

// merged notes that the merged index has so many finished files, or knows of them.
func (g *growing) merged(count int) {
	g.looking.Lock()
	defer g.looking.Unlock()
	g.finished, g.looked = count, time.Time{}
}

// indexes returns the sizes of the indexes in a folder that still grow, by name, and how many are finished.
func indexes(root *os.Root) (sizes map[string]int64, finished int, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, 0, err
	}
	sizes = map[string]int64{}
	for _, e := range entries {
		name, grows := strings.CutSuffix(e.Name(), warc.OpenSuffix)
		switch {
		case !strings.HasSuffix(name, cdxj.Suffix) || name == cdxj.MergedName:
		case !grows:
			finished++
		default:
			if info, err := e.Info(); err == nil { // else it was finished meanwhile
				sizes[e.Name()] = info.Size()
			}
		}
	}
	return sizes, finished, nil
}

// sort makes the copy of the indexes.
func (g *growing) sort(root *os.Root, sizes map[string]int64) (err error) {
	if g.folder == "" {
		if g.folder, err = os.MkdirTemp("", "henro-growing-"); err != nil {
			return err
		}
	}
	made := ""
	if len(sizes) > 0 {
		all, err := os.CreateTemp(g.folder, "lines")
		if err != nil {
			return err
		}
		defer os.Remove(all.Name())
		out := bufio.NewWriter(all)
		for name := range sizes {
			err = errors.Join(err, copyLines(out, root, name))
		}
		made = strings.Replace(all.Name(), "lines", "sorted", 1)
		if err = errors.Join(err, out.Flush(), all.Close()); err == nil {
			err = cdxj.SortFile(made, all.Name())
		}
		if err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.copy
	if g.copy = made; before != "" {
		_ = os.Remove(before) // where open files cannot be removed, one that is being read goes with the folder
	}
	return nil
}

// copyLines writes the whole lines of an index that still grows; nothing if it was finished meanwhile.
func copyLines(out io.Writer, root *os.Root, name string) (err error) {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	failed := cdxj.ScanOpen(f, func(line []byte) bool {
		_, err = out.Write(line)
		return err == nil
	})
	return errors.Join(err, failed)
}

// open opens the copy; nil: nothing grows.
func (g *growing) open() (*os.File, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.copy == "" {
		return nil, nil
	}
	return os.Open(g.copy)
}

// close removes the copies, if there are any.
func (g *growing) close() error { return os.RemoveAll(g.folder) }
