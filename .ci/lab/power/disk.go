package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// happening is what one event does.
type happening int

const (
	opened  happening = iota // a file is there, and empty if it was made or cut
	written                  // bytes at an offset
	cutTo                    // a file has another size
	renamed
	removed
	folder  // a folder is made
	flushed // a file or a folder is
)

// event is one call that changed what is on disk; paths count from the root.
type event struct {
	what     happening
	path, to string
	at       int64 // offset, or size
	data     []byte
	empties  bool // opened with O_TRUNC
	when     float64
	makes    bool // opened with O_CREAT
}

func (e *event) String() string {
	names := []string{"open", "write", "truncate", "rename", "remove", "mkdir", "flush"}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", names[e.what], e.path, e.to))
}

// node is a file or a folder: as programs see it, and as it was when it was flushed last.
type node struct {
	folder   bool
	now      map[string]*node
	safe     map[string]*node
	changes  []change // of a folder, since it was flushed
	data     []byte
	safeData []byte
	writes   []event // to a file, since it was flushed
}

// change is one step of a folder; steps are on disk in their order.
type change struct {
	gone, made string // names
	is         *node
}

func newFolder() *node {
	return &node{folder: true, now: map[string]*node{}, safe: map[string]*node{}}
}

func (n *node) find(path string) (*node, error) {
	if path == "." {
		return n, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		next := n.now[name]
		if next == nil {
			return nil, fmt.Errorf("%s is not there", path)
		}
		n = next
	}
	return n, nil
}

func (n *node) parent(path string) (*node, string, error) {
	parent, err := n.find(filepath.Dir(path))
	return parent, filepath.Base(path), err
}

func (n *node) change(c change) {
	n.changes = append(n.changes, c)
	c.apply(n.now)
}

func (c *change) apply(names map[string]*node) {
	if c.gone != "" {
		delete(names, c.gone)
	}
	if c.made != "" {
		names[c.made] = c.is
	}
}

// happen lets an event happen.
func (n *node) happen(e *event) error {
	parent, name, err := n.parent(e.path)
	if err != nil {
		return err
	}
	is := parent.now[name]
	if e.path == "." {
		is = n
	}
	switch e.what {
	case opened:
		if is == nil && e.makes {
			parent.change(change{made: name, is: &node{}})
		} else if is != nil && e.empties && len(is.data) > 0 {
			is.write(event{what: cutTo})
		}
		return nil
	case folder:
		parent.change(change{made: name, is: newFolder()})
		return nil
	}
	if is == nil {
		return fmt.Errorf("%s: %s is not there", e, e.path)
	}
	switch e.what {
	case written, cutTo:
		is.write(*e)
	case removed:
		parent.change(change{gone: name})
	case renamed:
		to, other, err := n.parent(e.to)
		if err != nil {
			return err
		}
		if to == parent {
			parent.change(change{gone: name, made: other, is: is})
			return nil
		}
		to.change(change{made: other, is: is})
		parent.change(change{gone: name})
	case flushed:
		if is.folder {
			is.safe, is.changes = maps.Clone(is.now), nil
		} else {
			is.safeData, is.writes = slices.Clone(is.data), nil
		}
	}
	return nil
}

func (n *node) write(e event) {
	n.writes = append(n.writes, e)
	n.data = e.onto(n.data)
}

// onto is the content of a file after a write or a truncation.
func (e *event) onto(data []byte) []byte {
	end := e.at
	if e.what == written {
		end += int64(len(e.data))
	}
	if grown := end - int64(len(data)); grown > 0 {
		data = append(data, make([]byte, grown)...)
	}
	if e.what == cutTo {
		return data[:e.at:e.at]
	}
	copy(data[e.at:], e.data)
	return data
}

const sector = 512

// left is what is on disk of a file.
func (n *node) left(way string, rnd *rand.Rand) []byte {
	switch way {
	case "none":
		return n.safeData
	case "all":
		return n.data
	}
	data := slices.Clone(n.safeData)
	for _, e := range n.writes {
		if rnd.IntN(2) == 0 {
			continue
		}
		if e.what == cutTo || rnd.IntN(2) == 0 { // whole
			data = e.onto(data)
			continue
		}
		for at := int64(0); at < int64(len(e.data)); {
			end := min((e.at+at)/sector*sector+sector-e.at, int64(len(e.data)))
			if rnd.IntN(2) == 0 {
				part := event{what: written, at: e.at + at, data: e.data[at:end]}
				data = part.onto(data)
			}
			at = end
		}
	}
	return data
}

// cut is what all machines have on disk: the content of each file, by its path. Way may be the name of a machine, which
// alone loses power.
func (n *node) cut(way string, rnd *rand.Rand) map[string][]byte {
	left := map[string][]byte{}
	if n.now[way] == nil {
		n.put(".", way, rnd, left)
		return left
	}
	for machine, is := range n.now {
		kept := "all"
		if machine == way {
			kept = "none"
		}
		is.put(machine, kept, rnd, left)
	}
	return left
}

// put adds a folder as it is on disk; the path of a folder ends in a slash.
func (n *node) put(dir, way string, rnd *rand.Rand, left map[string][]byte) {
	left[dir+"/"] = nil
	names := maps.Clone(n.safe)
	switch way {
	case "all":
		names = n.now
	case "torn":
		for _, c := range n.changes[:rnd.IntN(len(n.changes)+1)] {
			c.apply(names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		is, path := names[name], dir+"/"+name
		if is.folder {
			is.put(path, way, rnd, left)
		} else {
			left[path] = is.left(way, rnd)
		}
	}
}

// sum names what is on disk.
func sum(left map[string][]byte) (of [sha256.Size]byte) {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(h, "%q %d ", path, len(left[path]))
		h.Write(left[path])
	}
	h.Sum(of[:0])
	return of
}

// write makes the folders and files below a folder that is not there yet.
func write(dir string, left map[string][]byte) (err error) {
	for _, path := range slices.Sorted(maps.Keys(left)) { // a folder before what is in it
		to := filepath.Join(dir, path)
		if strings.HasSuffix(path, "/") {
			err = errors.Join(err, os.MkdirAll(to, 0o755))
		} else {
			err = errors.Join(err, os.WriteFile(to, left[path], 0o644))
		}
	}
	return err
}
