package proof

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"henro/store/archive/warc"
	"henro/store/fsync"
)

// appender is one growth of the tree.
type appender struct {
	log  *Log
	made []*os.File      // tiles that are to be synced
	dirs map[string]bool // and their folders
}

// maxMade bounds the tiles that are open. They are synced many at a time: all are begun to be written, so that the
// first takes the others along.
const maxMade = 64

func (a *appender) fromFile(name string, gone bool) error {
	end := Leaf{File: name, IsEnd: true}
	f, err := os.Open(filepath.Join(a.log.o.Archive, name))
	if err == nil {
		defer f.Close()
		end.Records, end.Length, err = walked(a, f, name)
	}
	switch absent := errors.Is(err, fs.ErrNotExist); {
	case absent && !gone: // collected meanwhile, or moved aside
		return nil
	case err != nil && !absent:
		return err
	}
	return a.leaf(end.Append(nil))
}

func (a *appender) fromLeaves(j job) error {
	f, err := os.Open(j.leaves)
	if err != nil {
		return err
	}
	defer f.Close()
	for in := bufio.NewReaderSize(f, maxLeaf); ; {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err == nil {
			err = a.leaf(line)
		}
		if err != nil {
			return err
		}
	}
	end := Leaf{File: j.name, IsEnd: true, Length: j.bytes, Records: j.records}
	return a.leaf(end.Append(nil))
}

// Write takes one leaf.
func (a *appender) Write(line []byte) (int, error) { return len(line), a.leaf(line) }

func (a *appender) leaf(line []byte) error {
	t := a.log.tree
	a.log.text = append(a.log.text, line...)
	err := t.add(tlog.RecordHash(line), func(level int, n int64, hashes []tlog.Hash) error {
		return a.write(hashTile(level, n, perTile), joined(hashes))
	})
	if err == nil && t.size%perTile == 0 {
		err = a.write(leafTile(t.size/perTile-1, perTile), a.log.text)
		a.log.text = a.log.text[:0]
	}
	return err
}

func joined(hashes []tlog.Hash) []byte {
	data := make([]byte, 0, len(hashes)*tlog.HashSize)
	for _, h := range hashes {
		data = append(data, h[:]...)
	}
	return data
}

// write writes a tile that no checkpoint names yet.
func (a *appender) write(tile string, data []byte) (err error) {
	path := filepath.Join(a.log.dir, tile)
	if dir := filepath.Dir(path); !a.dirs[dir] {
		if err := warc.MakeDir(dir); err != nil {
			return err
		}
		a.dirs[dir] = true
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if a.made = append(a.made, f); len(a.made) == maxMade {
		defer func() { err = errors.Join(err, a.sync()) }()
	}
	_, err = f.Write(data)
	return err
}

// sync syncs the tiles that were written, and closes them.
func (a *appender) sync() (err error) {
	for _, f := range a.made {
		begin(f)
	}
	for _, f := range a.made {
		err = errors.Join(err, f.Sync(), f.Close())
	}
	a.made = nil
	return err
}

// commit syncs the tiles, signs the tree and forgets the tiles that have grown.
func (a *appender) commit() error {
	l, t := a.log, a.log.tree
	if t.size == l.last.Size {
		return nil
	}
	for level, hashes := range t.levels {
		if len(hashes) > 0 {
			if err := a.write(hashTile(level, t.size>>(height*(level+1)), len(hashes)), joined(hashes)); err != nil {
				return err
			}
		}
	}
	if len(l.text) > 0 {
		if err := a.write(leafTile(t.size/perTile, int(t.size%perTile)), l.text); err != nil {
			return err
		}
	}
	if err := a.sync(); err != nil {
		return err
	}
	for dir := range a.dirs {
		if err := fsync.Dir(dir); err != nil {
			return err
		}
	}
	before := l.last
	if before.Size > 0 {
		if err := fsync.WriteFile(filepath.Join(l.dir, keptFile(before.Size)), before.Note, 0o644); err != nil {
			return err
		}
	}
	c, err := sign(l.key, before.Key, t.size, t.root(), l.o.Now())
	if err == nil {
		err = fsync.WriteFile(filepath.Join(l.dir, checkpointFile), c.Note, 0o644)
	}
	if err != nil {
		return err
	}
	l.last = c
	for level := -1; level < top; level++ {
		at := max(level, 0)
		if w := int(before.Size >> (height * at) % perTile); w > 0 && before.Size>>(height*at) != t.size>>(height*at) {
			old := filepath.Join(l.dir, hashTile(level, before.Size>>(height*(at+1)), w))
			_ = os.Remove(old) // what stays is in nobody's way
			_ = os.Remove(filepath.Dir(old))
		}
	}
	return nil
}

// walked writes the leaves of the records of a WARC file, whose bytes they share out: what stands behind a record and
// before the next one belongs to it.
func walked(to io.Writer, f io.ReadSeeker, name string) (records, size int64, err error) {
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, 0, err
	}
	var waits *Leaf
	put := func(end int64) error {
		if waits == nil {
			return nil
		}
		leaf := *waits
		leaf.Length = end - leaf.Offset
		here, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		if leaf.Sum, err = digest(f, leaf.Offset, leaf.Length); err != nil {
			return err
		}
		if _, err = f.Seek(here, io.SeekStart); err == nil {
			_, err = to.Write(leaf.Append(nil))
		}
		records++
		return err
	}
	_, err = warc.List(f, func(e *warc.Entry) error {
		if e.Shared {
			return nil
		}
		leaf := record(name, e.Type(), e.Header.Get("WARC-Date"), strings.Trim(e.Header.Get("WARC-Target-URI"), "<>"))
		if leaf.Offset = e.Offset; waits == nil {
			leaf.Offset = 0
		}
		err := put(leaf.Offset)
		waits = &leaf
		return err
	})
	if err == nil {
		err = put(size)
	}
	return records, size, err
}

func digest(f io.ReadSeeker, offset, length int64) (sum [sha256.Size]byte, err error) {
	if _, err = f.Seek(offset, io.SeekStart); err != nil {
		return sum, err
	}
	h := sha256.New()
	if _, err = io.CopyN(h, f, length); err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}
