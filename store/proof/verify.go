package proof

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"henro/store/archive/warc"
)

// Checked says what Check read of a log.
type Checked struct {
	Checkpoint *Checkpoint // the newest; nil: it cannot be read, or is not there
	Path       string      // where that is
	Unsigned   bool        // leaves are there, and no checkpoint: it is about to be written, or was removed
	Files      int         // that it says are here
	Records    int64       // that were compared
}

// Fault is told of each thing that is not as it was logged.
type Fault func(format string, args ...any)

// Archive opens WARC files by name.
type Archive interface {
	Open(name string) (io.ReadSeekCloser, int64, error) // the file and how many bytes it has; fs.ErrNotExist
	Holds(name string) bool                             // false: the file was never put here, which is no fault
	Bytes() uint64                                      // of all files, about
}

// Folder is the archive in a folder. It is to hold every file that its logs name.
type Folder string

// Open opens a file.
func (f Folder) Open(name string) (io.ReadSeekCloser, int64, error) {
	file, err := os.Open(filepath.Join(string(f), name))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Holds is true.
func (f Folder) Holds(string) bool { return true }

// Bytes counts those of all files.
func (f Folder) Bytes() (all uint64) {
	there, _ := warc.Files(string(f))
	for _, path := range there {
		if info, err := os.Stat(path); err == nil {
			all += uint64(info.Size())
		}
	}
	return all
}

// Check compares logs with their checkpoints, and the WARC files of an archive with the logs. With
// since, an earlier checkpoint, it looks whether the log goes on from that one, and whether what was logged by then is
// still there. progress is told of bytes read. An error is one that is no fault of these files.
func Check(from Home, archive Archive, since *Checkpoint, progress func(done, all uint64),
	fault Fault) ([]Checked, error) {
	names, err := Logs(from)
	if err != nil {
		return nil, err
	}
	if since != nil && !slices.Contains(names, since.Log) {
		fault("proof: the log %s of the earlier checkpoint is not here: it was removed, or this is another archive",
			since.Log)
	}
	done, all := uint64(0), archive.Bytes()
	checked := make([]Checked, len(names))
	for i, name := range names {
		c := &check{Checked: Checked{Path: from.String() + "/" + path.Join(name, checkpointFile)},
			archive: archive, home: from, log: name, fault: fault,
			progress: func(bytes uint64) { done += bytes; progress(min(done, all), all) }}
		if since != nil && since.Log == name {
			c.since = since
		}
		if c.since == nil && unbegun(from, name) {
			leaves, _ := from.Names(path.Join(name, "tile"))
			c.Unsigned = len(leaves) > 0
		} else if err := c.run(); err != nil {
			return nil, err
		}
		checked[i] = c.Checked
	}
	return checked, nil
}

// unbegun reports that a log has no checkpoint yet: its process died before the first.
func unbegun(from Home, log string) bool {
	_, err := from.Read(path.Join(log, checkpointFile), maxNote)
	kept, _ := from.Names(path.Join(log, checkpoints))
	return errors.Is(err, fs.ErrNotExist) && len(kept) == 0
}

// Logs are the names of the logs.
func Logs(from Home) (names []string, err error) {
	names, err = from.Names("")
	return slices.DeleteFunc(names, func(name string) bool { return !isLog(name) }), err
}

// check compares one log.
type check struct {
	Checked
	archive  Archive
	home     Home
	log      string
	since    *Checkpoint
	fault    Fault
	progress func(bytes uint64)

	files  *files
	said   tree                  // of the hashes in the tiles of level 0
	is     tree                  // of the leaves
	roots  map[int64]*roots      // at the sizes of checkpoints
	odd    [][2]string           // tiles of hashes and of leaves that do not fit each other
	begins map[string]group      // the last leaves of each file
	moved  map[string]*rewritten // files whose leaves were logged again
	now    *compared
}

// roots are those of the first leaves, by the tiles of hashes and by those of leaves.
type roots struct {
	said, is tlog.Hash
	kept     bool // the checkpoint is here
}

// name is the path of a file of the log, as it is said.
func (c *check) name(file string) string {
	return path.Join(filepath.Base(c.home.String()), c.log, file)
}

func (c *check) checkpoint(file string) *Checkpoint {
	p, err := checkpoint(c.home, c.log, file)
	if err != nil {
		c.fault("%s: %v", c.name(file), err)
		return nil
	}
	return p
}

func (c *check) run() error {
	newest := c.checkpoint(checkpointFile)
	if newest == nil {
		return nil
	}
	c.Checkpoint, c.files = newest, &files{home: c.home, log: c.log, size: newest.Size}
	c.roots = map[int64]*roots{newest.Size: {kept: true}}
	kept := c.kept(newest)
	if c.since != nil {
		if c.roots[c.since.Size] == nil {
			c.roots[c.since.Size] = &roots{}
		}
		if c.since.Key != newest.Key {
			c.fault("%s: is signed by another key than the earlier checkpoint", c.name(checkpointFile))
		}
		if c.since.Size > newest.Size {
			c.fault("proof: the earlier checkpoint names %d leaves, the log has %d: it was cut back", c.since.Size,
				newest.Size)
		}
	}
	c.begins, c.moved = map[string]group{}, map[string]*rewritten{}
	// A log with a damaged tile is read all the same; its files are then those of the leaves that are there.
	_ = c.files.groups(func(g group) bool {
		if last, again := c.begins[g.file]; !again {
			c.begins[g.file] = g
		} else {
			c.moved[g.file] = &rewritten{by: last}
		}
		return true
	})
	for _, r := range c.moved {
		if c.since != nil && r.by.end > c.since.Size {
			r.has = c.sumsOf(r.by)
		}
	}
	c.Files = len(c.begins)
	if err := c.leaves(); err != nil {
		return err
	}
	c.upper()
	if c.home.Keeps() {
		c.grown(kept)
	}
	c.judge(newest, kept)
	for _, size := range stamped(c.home, c.log) {
		at := slices.IndexFunc(append(kept, newest), func(p *Checkpoint) bool { return p.Size == size })
		answer, err := c.home.Read(path.Join(c.log, stampFile(size)), maxStamp)
		if err == nil && at < 0 {
			err = fmt.Errorf("%w: that is not here", ErrStamp)
		} else if err == nil {
			_, err = ParseStamp(answer, append(kept, newest)[at].Note)
		}
		if err != nil {
			c.fault("%s: %v", c.name(stampFile(size)), err)
		}
	}
	return nil
}

// kept are the earlier checkpoints that are here, by size.
func (c *check) kept(newest *Checkpoint) []*Checkpoint {
	var all []*Checkpoint
	names, err := c.home.Names(path.Join(c.log, checkpoints))
	if err != nil { // those that should be there are named
		c.fault("%s: %v", c.name(checkpoints), err)
	}
	for _, name := range names {
		size, err := strconv.ParseInt(name, 10, 64)
		if err != nil || size == newest.Size { // or a timestamp; or it was to be replaced
			continue
		}
		if p := c.checkpoint(keptFile(size)); p == nil {
			continue
		} else if p.Size != size || size > newest.Size {
			c.fault("%s: names %d leaves, the newest checkpoint %d", c.name(keptFile(size)), p.Size, newest.Size)
		} else {
			all = append(all, p)
			c.roots[size] = &roots{kept: true}
		}
	}
	slices.SortFunc(all, func(a, b *Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
	return all
}

// leaves reads the tiles of leaves and of their hashes, and compares the WARC files.
func (c *check) leaves() error {
	for n := int64(0); n*perTile < c.files.size; n++ {
		w := width(c.files.size, 0, n)
		hashes, err := c.files.hashes(0, n)
		if err != nil {
			c.fault("%s: %v", c.name(hashTile(0, n, w)), err)
		}
		lines, bad := c.files.leaves(n)
		if bad != nil {
			c.fault("%s: %v", c.name(leafTile(n, w)), bad)
			c.settle() // of the file at hand the rest is not known
		}
		fits := true
		for i := range w {
			var said, is tlog.Hash
			if err == nil {
				said = hashes[i]
			}
			if is = said; bad == nil {
				is = tlog.RecordHash(lines[i])
			}
			if err != nil {
				said = is
			}
			fits = fits && said == is
			if err := c.grow(said, is); err != nil {
				return err
			}
			if bad != nil {
				continue
			}
			leaf, unread := ParseLeaf(lines[i])
			if unread != nil {
				c.fault("%s: line %d %v", c.name(leafTile(n, w)), i+1, unread)
				continue
			}
			if err := c.leaf(n*perTile+int64(i), &leaf); err != nil {
				return err
			}
			if at := n*perTile + int64(i) + 1; leaf.IsEnd && (c.roots[at] == nil || !c.roots[at].kept) {
				c.fault("%s: is missing", c.name(keptFile(at)))
			}
		}
		if !fits {
			c.odd = append(c.odd, [2]string{c.name(hashTile(0, n, w)), c.name(leafTile(n, w))})
		}
	}
	c.settle()
	return nil
}

// grow takes in one leaf by either account, and compares tiles above level 0.
func (c *check) grow(said, is tlog.Hash) error {
	var full [top][]tlog.Hash
	err := c.said.add(said, func(level int, _ int64, hashes []tlog.Hash) error {
		full[level] = slices.Clone(hashes)
		return nil
	})
	if err == nil {
		err = c.is.add(is, func(level int, n int64, hashes []tlog.Hash) error {
			if level > 0 {
				c.compare(level, n, full[level], hashes)
			}
			return nil
		})
	}
	if r := c.roots[c.said.size]; r != nil {
		r.said, r.is = c.said.root(), c.is.root()
	}
	return err
}

// compare looks whether a tile is what either account makes of the tiles below it.
func (c *check) compare(level int, n int64, said, is []tlog.Hash) {
	there, err := c.files.hashes(level, n)
	path := hashTile(level, n, len(said))
	if err != nil {
		c.fault("%s: %v", c.name(path), err)
	} else if !slices.Equal(there, said) && !slices.Equal(there, is) {
		c.fault("%s: was altered: it does not fit the tiles below it", c.name(path))
	}
}

// upper compares the tiles that are not full.
func (c *check) upper() {
	for l := 1; l < top; l++ {
		if len(c.said.levels[l]) > 0 {
			c.compare(l, c.said.size>>(height*(l+1)), c.said.levels[l], c.is.levels[l])
		}
	}
}

// grown compares tiles that were not full with those that they have grown to.
func (c *check) grown(kept []*Checkpoint) {
	for _, p := range kept {
		then := &files{home: c.home, log: c.log, size: p.Size}
		for level := -1; level < top; level++ {
			at := max(level, 0)
			n := p.Size >> (height * (at + 1))
			w := width(p.Size, at, n)
			if w == 0 || w == width(c.files.size, at, n) {
				continue
			}
			small, err := then.tile(level, n, w)
			great, bad := c.files.tile(level, n, w)
			if err == nil && bad == nil && !bytes.Equal(small, great) { // one that is bad is named elsewhere
				err = errors.New("was altered: it is not the beginning of what it grew to")
			}
			if err != nil {
				c.fault("%s: %v", c.name(hashTile(level, n, w)), err)
			}
		}
	}
}

// judge says which tiles were altered, and whether all checkpoints are of one history.
func (c *check) judge(newest *Checkpoint, kept []*Checkpoint) {
	end := c.roots[newest.Size]
	if newest.Size == 0 {
		end.said, end.is = c.said.root(), c.is.root()
	}
	right := func(r *roots, p *Checkpoint) bool { return r != nil && (r.said == p.Root || r.is == p.Root) }
	for _, odd := range c.odd {
		switch newest.Root {
		case end.is:
			c.fault("%s: was altered: it does not fit its leaves", odd[0])
		case end.said:
			c.fault("%s: was altered: it does not fit its hashes", odd[1])
		default:
			c.fault("%s and %s: do not fit each other", odd[0], odd[1])
		}
	}
	whole := right(end, newest)
	if !whole {
		c.fault("%s: the tiles have another root than it names: they were altered, or the log has two histories",
			c.name(checkpointFile))
	}
	for _, p := range kept {
		if p.Key != newest.Key {
			c.fault("%s: is signed by another key than the newest checkpoint", c.name(keptFile(p.Size)))
		} else if whole && !right(c.roots[p.Size], p) {
			c.fault("%s: two histories of one log: its first %d leaves were other ones when this checkpoint was signed",
				c.name(keptFile(p.Size)), p.Size)
		}
	}
	if s := c.since; s != nil && s.Size <= newest.Size && s.Size > 0 && !right(c.roots[s.Size], s) {
		if whole {
			c.fault("proof: two histories of one log: its first %d leaves were other ones when the earlier checkpoint "+
				"was signed", s.Size)
		} else {
			c.fault("proof: the log does not go on from the earlier checkpoint of %d leaves", s.Size)
		}
	}
}

// rewritten is a file whose leaves are in the log again.
type rewritten struct {
	by  group
	has map[[sha256.Size]byte]bool // digests of the records it has now; nil: they are not asked for
}

func (c *check) sumsOf(g group) map[[sha256.Size]byte]bool {
	sums := map[[sha256.Size]byte]bool{}
	for n := g.begin / perTile; n*perTile < g.end; n++ {
		lines, err := c.files.leaves(n)
		if err != nil {
			continue // named as it is read
		}
		for i, line := range lines {
			if at := n*perTile + int64(i); at >= g.begin && at < g.end {
				if leaf, err := ParseLeaf(line); err == nil {
					sums[leaf.Sum] = true
				}
			}
		}
	}
	return sums
}

// leaf compares what one leaf says with the archive.
func (c *check) leaf(at int64, l *Leaf) error {
	if r := c.moved[l.File]; r != nil && at < r.by.begin {
		if !l.IsEnd && r.has != nil && at < c.since.Size && !r.has[l.Sum] {
			c.fault("%s was removed when the file was mended", l)
		}
		return nil
	}
	if !c.archive.Holds(l.File) {
		return nil
	}
	if c.now == nil || c.now.name != l.File {
		c.settle()
		c.now = open(c.archive, l.File)
	}
	now := c.now
	if !l.IsEnd {
		c.Records++
		now.records++
		err := now.record(l, c.fault)
		c.progress(uint64(l.Length))
		return err
	}
	if now.records > l.Records || now.records < l.Records && now.whole {
		c.fault("%s: the log has %d leaves of its records and says %d", l.File, now.records, l.Records)
	}
	now.end(l, c.fault)
	c.now = nil
	return nil
}

// settle ends the file at hand without its last leaf.
func (c *check) settle() {
	if c.now != nil {
		c.now.lost(c.fault)
		c.now.close()
		c.now = nil
	}
}

// Print says what was checked, and of which checkpoint a copy should be kept.
func Print(out io.Writer, checked []Checked, since *Checkpoint, faults int) {
	for _, c := range checked {
		switch {
		case c.Unsigned:
			fmt.Fprintf(out, "log      %s is not there: it is about to be written, or was removed\n", c.Path)
		case c.Checkpoint != nil:
			fmt.Fprintf(out, "log      %d files, %d records, until %s\n         keep a copy of %s elsewhere: "+
				"henro check --since COPY shows later changes\n", c.Files, c.Records, stamp(c.Checkpoint.At), c.Path)
		}
	}
	if since != nil && faults == 0 {
		fmt.Fprintf(out, "since    %s nothing of %d leaves of %s was removed or altered\n", stamp(since.At), since.Size,
			since.Log)
	}
}
