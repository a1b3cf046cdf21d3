package proof

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	height  = 10 // of a tile: to make a file costs as much as to write 100 kB
	perTile = 1 << height
	top     = 6 // levels of tiles, as many as 2^60 leaves have
)

// tree is a tree that grows: of each level of tiles the hashes of the one that is not full. Hash i of level l is the
// root of the 1024^l leaves from i · 1024^l.
type tree struct {
	size   int64
	levels [top][]tlog.Hash
}

// add takes in the hash of a leaf, and shows each tile that it has filled.
func (t *tree) add(leaf tlog.Hash, full func(level int, n int64, hashes []tlog.Hash) error) error {
	t.size++
	for l := range t.levels {
		t.levels[l] = append(t.levels[l], leaf)
		if len(t.levels[l]) < perTile {
			return nil
		}
		hashes := t.levels[l]
		if err := full(l, t.size>>(height*(l+1))-1, hashes); err != nil {
			return err
		}
		leaf = fold(hashes)
		t.levels[l] = hashes[:0]
	}
	return errors.New("the log is full")
}

// fold is the root of a full tile.
func fold(hashes []tlog.Hash) tlog.Hash {
	var row [perTile]tlog.Hash
	for n := copy(row[:], hashes); n > 1; n /= 2 {
		for i := range n / 2 {
			row[i] = tlog.NodeHash(row[2*i], row[2*i+1])
		}
	}
	return row[0]
}

// root is that of the tree, as RFC 6962 has it.
func (t *tree) root() tlog.Hash {
	var whole []tlog.Hash // of complete subtrees, from the greatest to the least
	for l := top - 1; l >= 0; l-- {
		at := 0
		for bit := perTile / 2; bit > 0; bit /= 2 {
			if len(t.levels[l])&bit == 0 {
				continue
			}
			row := append([]tlog.Hash(nil), t.levels[l][at:at+bit]...)
			for ; len(row) > 1; row = row[:len(row)/2] {
				for i := range len(row) / 2 {
					row[i] = tlog.NodeHash(row[2*i], row[2*i+1])
				}
			}
			whole, at = append(whole, row[0]), at+bit
		}
	}
	if len(whole) == 0 {
		h, _ := tlog.TreeHash(0, nil)
		return h
	}
	root := whole[len(whole)-1]
	for i := len(whole) - 2; i >= 0; i-- {
		root = tlog.NodeHash(whole[i], root)
	}
	return root
}

// hashTile is the path of a tile of hashes below the folder of its log, of width hashes.
func hashTile(level int, n int64, width int) string {
	return tlog.Tile{H: height, L: level, N: n, W: width}.Path()
}

// leafTile is that of a tile of leaves, which are lines of text.
func leafTile(n int64, width int) string { return hashTile(-1, n, width) }

// width is how many entries tile n of a level has in a tree of a size.
func width(size int64, level int, n int64) int {
	return int(min(max(size>>(height*level)-n*perTile, 0), perTile))
}

// files are the tiles of a log of a size.
type files struct {
	home Home
	log  string
	size int64
	away int64 // of its leaves, which groups leaves out
}

// hashes reads a tile.
func (f *files) hashes(level int, n int64) ([]tlog.Hash, error) {
	w := width(f.size, level, n)
	data, err := f.home.Read(path.Join(f.log, hashTile(level, n, w)), perTile*tlog.HashSize)
	if err != nil {
		return nil, err
	}
	if len(data) != w*tlog.HashSize {
		return nil, fmt.Errorf("has %d bytes, not %d", len(data), w*tlog.HashSize)
	}
	hashes := make([]tlog.Hash, w)
	for i := range hashes {
		copy(hashes[i][:], data[i*tlog.HashSize:])
	}
	return hashes, nil
}

// leaves reads a tile of leaves, each with the end of its line.
func (f *files) leaves(n int64) ([][]byte, error) {
	w := width(f.size, 0, n)
	data, err := f.home.Read(path.Join(f.log, leafTile(n, w)), perTile*maxLeaf)
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) != w+1 || len(lines[w]) > 0 {
		return nil, fmt.Errorf("has %d lines, not %d", len(lines)-1, w)
	}
	return lines[:w], nil
}

// tile is the beginning of a tile of hashes, or, below level 0, of leaves.
func (f *files) tile(level int, n int64, w int) ([]byte, error) {
	if level < 0 {
		lines, err := f.leaves(n)
		return bytes.Join(lines[:min(w, len(lines))], nil), err
	}
	hashes, err := f.hashes(level, n)
	return joined(hashes[:min(w, len(hashes))]), err
}

// leaf reads one leaf.
func (f *files) leaf(i int64) (Leaf, error) {
	if i < 0 || i >= f.size {
		return Leaf{}, errors.New("the log has no such leaf")
	}
	lines, err := f.leaves(i / perTile)
	if err != nil {
		return Leaf{}, fmt.Errorf("%s: %w", leafTile(i/perTile, width(f.size, 0, i/perTile)), err)
	}
	return ParseLeaf(lines[i%perTile])
}

// group are the leaves of one file: first and behind the last.
type group struct {
	file       string
	begin, end int64
	bytes      int64 // of the file
}

// groups shows the files of the log, the last one first, until visit returns false: behind the leaves of a file stands
// how many there are.
func (f *files) groups(visit func(group) bool) error {
	for at := f.size; at > f.away; {
		end, err := f.leaf(at - 1)
		if err != nil {
			return err
		}
		begin := at - 1 - end.Records
		if !end.IsEnd || begin < 0 {
			return fmt.Errorf("leaf %d: does not end a file", at-1)
		}
		if !visit(group{end.File, begin, at, end.Length}) {
			return nil
		}
		at = begin
	}
	return nil
}

// Height, ReadTiles and SaveTiles are those of a tlog.TileReader. A tile of which fewer hashes are wanted is the
// beginning of one that is there.
func (f *files) Height() int { return height }

// ReadTiles reads tiles.
func (f *files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	all := make([][]byte, len(tiles))
	for i, t := range tiles {
		hashes, err := f.hashes(t.L, t.N)
		if err == nil && len(hashes) < t.W {
			err = errors.New("is too short")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Path(), err)
		}
		for _, h := range hashes[:t.W] {
			all[i] = append(all[i], h[:]...)
		}
	}
	return all, nil
}

// SaveTiles does nothing: they are files already.
func (f *files) SaveTiles([]tlog.Tile, [][]byte) {}

// load reads the tree of what is there, whose root is to be that of c.
func (f *files) load(c *Checkpoint) (*tree, error) {
	t := &tree{size: f.size}
	for l := range t.levels {
		if w := int(f.size >> (height * l) % perTile); w > 0 {
			hashes, err := f.hashes(l, f.size>>(height*(l+1)))
			if err != nil {
				return nil, fmt.Errorf("tile %s: %w", hashTile(l, f.size>>(height*(l+1)), w), err)
			}
			t.levels[l] = hashes
		}
	}
	if t.root() != c.Root {
		return nil, errors.New("its tiles do not fit its checkpoint; henro check says which")
	}
	return t, nil
}
