package bucket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

const (
	// IndexName is the object that lists the parts of the index. It is written last.
	IndexName = "index.json"
	// linesOfBlock is how many lines are compressed together: 3,000, as Common Crawl has it.
	linesOfBlock = 3000
	maxList      = 256 << 20 // bytes of a list of first lines, or of IndexName: 10⁹ lines of index have some 30 MB
	maxBlock     = 64 << 20  // bytes of a block, unpacked
	maxPart      = 1 << 24   // lines of a part that is not merged any more: 1 GB with its table
)

// Part is a sorted part of the index: NAME.cdx.gz, NAME.idx and NAME.loc, as pywb reads them.
type Part struct {
	Name  string   `json:"name"`
	Lines int64    `json:"lines"`
	Files []string `json:"files"` // the WARC files whose captures it lists, by name
}

// listOfParts is the object IndexName.
type listOfParts struct {
	Version int    `json:"version"` // 1
	Parts   []Part `json:"parts"`   // the greatest first
	Gone    []gone `json:"gone,omitempty"`
	Beside  []Part `json:"beside,omitempty"` // of pages and edges, the greatest first, whose Lines are rows of both
}

// gone is a part that others have taken in. It stays for readers who have the list before.
type gone struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// firsts are the first lines of the blocks of a part.
type firsts struct {
	object Object // NAME.cdx.gz
	blocks []first
}

type first struct {
	key          string // of the first line: its key and moment
	offset, size int64
}

// Index is the sorted index of a bucket, as far as it was brought up to date.
type Index struct {
	b     *Bucket
	parts listOfParts
	lists []firsts
	has   map[string]string // the part that lists the captures of a WARC file, by its name
	lost  []string          // parts that it names and that are not there: their files are as if it did not have them
	etag  string            // of the object IndexName; empty: there is none
}

// Index reads the lists of an index; objects are those of List. A bucket without an index has an empty one.
func (b *Bucket) Index(objects map[string]Object) (*Index, error) {
	o, ok := objects[IndexName]
	x := &Index{b: b, has: map[string]string{}, etag: o.ETag}
	if !ok {
		return x, nil
	}
	text, err := b.whole(o)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(text, &x.parts); err != nil || x.parts.Version != 1 {
		return nil, fmt.Errorf("%v: %s is none of version 1 (%v): remove it, and henro check --repair makes it "+
			"again", b, IndexName, err)
	}
	there := x.parts.Parts[:0]
	for _, p := range x.parts.Parts {
		list, data := objects[p.Name+".idx"], objects[p.Name+".cdx.gz"]
		if list.Name == "" || data.Name == "" {
			x.lost = append(x.lost, p.Name)
			continue
		}
		blocks, err := b.firsts(p, list, data)
		if err != nil {
			return nil, err
		}
		there = append(there, p)
		x.lists = append(x.lists, blocks)
		for _, name := range p.Files {
			x.has[name] = p.Name
		}
	}
	x.parts.Parts = there
	return x, nil
}

// whole reads an object into memory.
func (b *Bucket) whole(o Object) ([]byte, error) {
	if o.Size > maxList {
		return nil, fmt.Errorf("%v: %s has %d bytes, more than %d", b, o.Name, o.Size, maxList)
	}
	if o.Size == 0 {
		return nil, nil
	}
	return b.get(o, 0, o.Size)
}

// firsts reads the list of first lines of a part.
func (b *Bucket) firsts(p Part, list, data Object) (firsts, error) {
	text, err := b.whole(list)
	f := firsts{object: data}
	for line := range bytes.Lines(text) {
		at, err := parseFirst(string(bytes.TrimSuffix(line, []byte("\n"))))
		if err != nil || at.offset+at.size > data.Size {
			return f, fmt.Errorf("%v: %s.idx: %q leads to no block of %s.cdx.gz", b, p.Name, line, p.Name)
		}
		f.blocks = append(f.blocks, at)
	}
	return f, err
}

// parseFirst reads a line of a list: KEY MOMENT<tab>PART<tab>OFFSET<tab>SIZE<tab>NUMBER.
func parseFirst(line string) (first, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 5 {
		return first{}, errors.New("bucket: no line of a list of blocks")
	}
	offset, err := strconv.ParseInt(fields[2], 10, 64)
	size, failed := strconv.ParseInt(fields[3], 10, 64)
	if err = errors.Join(err, failed); err == nil && (offset < 0 || size <= 0 || size > maxBlock || offset+size < 0) {
		err = errors.New("bucket: no place of a block")
	}
	return first{fields[0], offset, size}, err
}

// Lines are the lines of the index from the first that is not below from. A line is valid until the next.
func (x *Index) Lines(from string, failed *error) iter.Seq[[]byte] {
	var parts []iter.Seq[[]byte]
	for _, f := range x.lists {
		parts = append(parts, x.b.lines(f, from, failed))
	}
	return Merged(parts...)
}

// lines are those of a part.
func (b *Bucket) lines(f firsts, from string, failed *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		// The block before the first whose first line is above from may end with lines that are not below it.
		at := max(0, sort.Search(len(f.blocks), func(i int) bool { return f.blocks[i].key >= from })-1)
		file := b.File(f.object)
		for _, at := range f.blocks[at:] {
			more, err := eachLine(io.NewSectionReader(file, at.offset, at.size), from, yield)
			if err != nil {
				err = fmt.Errorf("%v: %s: the block at %d: %w", b, f.object.Name, at.offset, err)
				*failed = errors.Join(*failed, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// eachLine shows the lines of a block that are not below from. It reports whether more are wanted.
func eachLine(block io.Reader, from string, yield func([]byte) bool) (bool, error) {
	z, err := gzip.NewReader(block)
	if err != nil {
		return false, err
	}
	in := bufio.NewScanner(io.LimitReader(z, maxBlock))
	in.Buffer(nil, 1<<20)
	in.Split(func(data []byte, end bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i+1], nil
		}
		if end && len(data) > 0 {
			return 0, nil, io.ErrUnexpectedEOF
		}
		return 0, nil, nil
	})
	for in.Scan() {
		if string(in.Bytes()) >= from && !yield(in.Bytes()) {
			return false, nil
		}
	}
	return true, in.Err()
}

// Merged are the lines of sorted sources in order, one that is in several once.
func Merged(sources ...iter.Seq[[]byte]) iter.Seq[[]byte] {
	if len(sources) == 1 {
		return sources[0]
	}
	return func(yield func([]byte) bool) {
		type source struct {
			line []byte
			next func() ([]byte, bool)
		}
		var open []*source
		for _, s := range sources {
			next, stop := iter.Pull(s)
			defer stop()
			if line, ok := next(); ok {
				open = append(open, &source{line, next})
			}
		}
		for len(open) > 0 {
			least := slices.MinFunc(open, func(a, b *source) int { return bytes.Compare(a.line, b.line) })
			line := bytes.Clone(least.line)
			if !yield(line) {
				return
			}
			open = slices.DeleteFunc(open, func(s *source) bool {
				for bytes.Equal(s.line, line) {
					var ok bool
					if s.line, ok = s.next(); !ok {
						return true
					}
				}
				return false
			})
		}
	}
}

// Added says what Add did.
type Added struct {
	Files, Lines int64 // that are in the index now, and were not
	Parts        int   // of the index
}

// add takes the files of sorted CDXJ into the index, as a part of its own; parts that are no longer much greater than
// what comes behind them are merged with it, so that a line is written again some log2 times. Names are those of the
// WARC files. What is cut off in between leaves the index as it was, and objects that nothing names, which sweep
// removes. suffix ends the name of the part, so that no other writer has it; commit is asked before the index has it,
// and failed is where lines says that it broke off.
func (x *Index) add(ctx context.Context, dir, suffix string, files []string, lines iter.Seq[[]byte], failed *error,
	commit func() error) (done Added, err error) {
	if len(files) == 0 {
		return Added{Parts: len(x.parts.Parts)}, nil
	}
	fresh := Part{Files: slices.Clone(files)}
	sources := []iter.Seq[[]byte]{lines}
	keep := len(x.parts.Parts)
	weight := int64(0)
	for range lines {
		weight++
	}
	for ; keep > 0; keep-- {
		p := x.parts.Parts[keep-1]
		if p.Lines > 2*weight && p.Lines > linesOfBlock || p.Lines >= maxPart {
			break
		}
		weight += p.Lines
		fresh.Files = append(fresh.Files, p.Files...)
		sources = append(sources, x.b.lines(x.lists[keep-1], "", failed))
	}
	fresh.Name = nextName("index-", x.parts.Parts, suffix)
	if fresh.Lines, err = x.b.write(ctx, dir, fresh.Name, Merged(sources...)); err != nil || *failed != nil {
		return done, errors.Join(err, *failed)
	}
	if err = commit(); err != nil {
		return done, err
	}
	next := listOfParts{1, append(slices.Clone(x.parts.Parts[:keep]), fresh), x.parts.Gone, x.parts.Beside}
	for _, p := range x.parts.Parts[keep:] {
		next.Gone = append(next.Gone, gone{p.Name, x.b.now().UTC().Truncate(time.Second)})
	}
	if err = x.write(ctx, next); err != nil {
		return done, err
	}
	return Added{int64(len(files)), fresh.Lines, len(next.Parts)}, nil
}

// nextName is a name that no part has, with the number behind theirs.
func nextName(prefix string, parts []Part, suffix string) string {
	number := 0
	for _, p := range parts {
		digits, _, _ := strings.Cut(strings.TrimPrefix(p.Name, prefix), "-")
		n, _ := strconv.Atoi(digits)
		number = max(number, n)
	}
	return fmt.Sprintf("%s%05d%s", prefix, number+1, suffix)
}

// write replaces the list of parts, if it is still the one that was read, where the store can tell.
func (x *Index) write(ctx context.Context, next listOfParts) error {
	text, err := json.Marshal(next)
	if err == nil {
		x.etag, err = x.b.replace(ctx, IndexName, x.etag, text)
	}
	if err == nil {
		x.parts = next
	}
	return err
}

// write puts a part and its table into the bucket, by way of files in dir.
func (b *Bucket) write(ctx context.Context, dir, name string, lines iter.Seq[[]byte]) (n int64, err error) {
	objects := []string{name + ".cdx.gz", name + ".idx", name + ".loc", name + tableSuffix}
	var files []*os.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	for _, name := range objects {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return 0, err
		}
		files = append(files, f)
	}
	t, err := newTable(files[3])
	if err != nil {
		return 0, err
	}
	n, err = Write(files[0], files[1], name, t.through(lines))
	_, failed := files[2].WriteString(Loc(name, b.String()))
	if err = errors.Join(err, failed, t.close()); err != nil {
		return n, err
	}
	objects[3] = b.where.TableName(name) // last: from then on its captures are there twice, until the others go
	for i, f := range files {
		if err := b.putFile(ctx, objects[i], f.Name()); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Loc is the list NAME.loc of a part in a folder. pywb takes the first place that it can read: beside the list, if all
// was copied, or where it was written.
func Loc(name, folder string) string {
	data := name + ".cdx.gz"
	return name + "\t" + data + "\t" + folder + "/" + data + "\n"
}

// Write writes the blocks of sorted lines to data, and the list of their first lines to list.
func Write(data, list io.Writer, part string, lines iter.Seq[[]byte]) (n int64, err error) {
	out, firsts := &counted{Writer: data}, bufio.NewWriter(list)
	z := gzip.NewWriter(out)
	var key string
	begun, blocks := int64(0), 0
	end := func() error {
		if err := z.Close(); err != nil {
			return err
		}
		blocks++
		_, err := fmt.Fprintf(firsts, "%s\t%s\t%d\t%d\t%d\n", key, part, begun, out.n-begun, blocks)
		begun = out.n
		z.Reset(out)
		return err
	}
	for line := range lines {
		if n%linesOfBlock == 0 {
			if n > 0 {
				if err = end(); err != nil {
					return n, err
				}
			}
			object := bytes.Index(line, []byte(" {"))
			key = string(line[:max(0, object)])
		}
		if _, err = z.Write(line); err != nil {
			return n, err
		}
		n++
	}
	if n > 0 {
		err = end()
	}
	return n, errors.Join(err, firsts.Flush())
}

type counted struct {
	io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// Fetch copies the indexes of the WARC files that an index does not have into a folder, and returns the names of these
// files.
func (x *Index) Fetch(objects map[string]Object, dir string) (files []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		_, isWARC := warc.CutSuffix(name)
		o, indexed := objects[cdxj.Path(name)]
		if !isWARC || !indexed || x.has[name] != "" {
			continue
		}
		if err := x.b.copy(o, filepath.Join(dir, filepath.Base(o.Name))); err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	return files, nil
}

func (b *Bucket) copy(o Object, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, b.File(o))
	return errors.Join(err, f.Close())
}
