package proof

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// compared is a WARC file that is compared with its leaves.
type compared struct {
	name    string
	file    io.ReadSeekCloser
	size    int64 // of the file
	in      *bufio.Reader
	at      int64 // of in
	err     error // why it is not read
	records int64
	shift   int64  // where records lie now, less where they were logged
	run     []Leaf // records that are not where they should be, one behind the other: the first maxRun of them
	more    int64  // of them
	bytes   int64
	whole   bool // the log was read from its first leaf on
}

const maxRun = 100

func open(archive Archive, name string) *compared {
	c := &compared{name: name}
	if isFile := filepath.Base(name) == name; !isFile {
		c.err = errors.New("is no name of a WARC file")
	} else if c.file, c.size, c.err = archive.Open(name); c.err == nil {
		c.in = bufio.NewReaderSize(c.file, 1<<18)
	}
	return c
}

func (c *compared) close() {
	if c.file != nil {
		_ = c.file.Close() // read only
	}
}

// record compares a record with its leaf.
func (c *compared) record(l *Leaf, fault Fault) error {
	if l.Offset == 0 {
		c.whole = true
	}
	if c.err != nil {
		return nil
	}
	same, err := c.matches(l, l.Offset+c.shift)
	if err == nil && !same && c.bytes > 0 {
		if same, err = c.matches(l, l.Offset+c.shift-c.bytes); same {
			c.removed(fault)
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", c.name, err)
	}
	if same {
		c.altered(fault)
		return nil
	}
	if c.bytes += l.Length; len(c.run) < maxRun {
		c.run = append(c.run, *l)
	} else {
		c.more++
	}
	return nil
}

// matches reports whether a record lies at an offset.
func (c *compared) matches(l *Leaf, at int64) (bool, error) {
	if at < 0 {
		return false, nil
	}
	if at != c.at {
		if _, err := c.file.Seek(at, io.SeekStart); err != nil {
			return false, err
		}
		c.in.Reset(c.file)
		c.at = at
	}
	h := sha256.New()
	n, err := io.CopyN(h, c.in, l.Length)
	c.at += n
	if err == io.EOF {
		return false, nil
	}
	return err == nil && [sha256.Size]byte(h.Sum(nil)) == l.Sum, err
}

// altered names the records that were not there and have their place still; removed those that have none.
func (c *compared) altered(fault Fault) { c.named(fault, "was altered") }

func (c *compared) removed(fault Fault) {
	c.shift -= c.bytes
	c.named(fault, "was removed")
}

func (c *compared) named(fault Fault, what string) {
	for i := range c.run {
		fault("%s %s", &c.run[i], what)
	}
	for range c.more {
		fault("%s: another record %s", c.name, what)
	}
	c.run, c.more, c.bytes = nil, 0, 0
}

// lost names what is left when nothing more of the file is known.
func (c *compared) lost(fault Fault) {
	switch {
	case errors.Is(c.err, fs.ErrNotExist):
		fault("%s: the file is gone, with %d records", c.name, c.records)
	case c.err != nil:
		fault("%s: %v", c.name, unnamed(c.err))
	default:
		c.altered(fault)
	}
}

// end compares a file with the leaf that ends it.
func (c *compared) end(l *Leaf, fault Fault) {
	defer c.close()
	if l.Records == 0 && errors.Is(c.err, fs.ErrNotExist) {
		return // it went when the archive was mended
	}
	if c.err != nil {
		c.lost(fault)
		return
	}
	if c.bytes > 0 && c.size == l.Length+c.shift-c.bytes {
		c.removed(fault)
	}
	c.altered(fault)
	if c.size != l.Length+c.shift {
		fault("%s: has %d bytes, the log says %d", l.File, c.size, l.Length)
	}
}
