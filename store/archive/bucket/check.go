package bucket

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
	"henro/store/proof"
)

// Checked is what Check has read, and what of it is damaged.
type Checked struct {
	Files, Records int
	Arriving       int // WARC files that came right now, without an index so far
	Unlisted       int // WARC files that the index of the bucket does not have
	Unsealed       int // WARC files without a seal, as an earlier henro brought them
	Untabled       int // WARC files whose captures are in no table
	Unpaged        int // WARC files whose pages and edges are in none
	Elsewhere      int // revisits that refer to captures that are not in the bucket
	Unlogged       int // WARC files that are in no log, of a bucket that has logs
	Logs           []proof.Checked
	Altered        int      // Problems that its logs show
	Problems       []string // the first maxProblems
	Count          int      // of all
}

const maxProblems = 100

// Advice says what to do about Problems.
const Advice = "bring damaged files again from another copy; where only the index of the bucket is wrong, remove its " +
	"index-* objects and " + IndexName + ", and henro check --repair makes it again"

// Check reads every object of an archive once, one WARC file at a time by way of a temporary folder: each record, each
// line of the indexes beside the files and of the index of the bucket, which must lead to such a record, their rows in
// the tables, and what the seals and the logs say. Nothing is written to the bucket. What it keeps are some 32 bytes a
// record. since is an earlier checkpoint of a log, or nil.
func Check(ctx context.Context, where Where, since *proof.Checkpoint,
	progress func(what string, done, all uint64)) (_ *Checked, err error) {
	dir, err := os.MkdirTemp("", "henro-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := Open(where, nil)
	if err != nil {
		return nil, err
	}
	there := b.Logs(ctx)
	logs, err := proof.Stand(there) // before the list: what they name is there already
	if err != nil {
		return nil, err
	}
	objects, err := b.List(ctx)
	tables, bad := b.Tables(ctx)
	if err = errors.Join(err, bad); err != nil {
		return nil, err
	}
	c := &checking{b: b, dir: dir, objects: objects, tables: tables, indexes: map[string]bool{},
		checked: map[string]bool{}, number: map[string]int32{}, pages: map[string]sums{}}
	if c.besides, err = b.besides(ctx); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(objects))
	for _, name := range names {
		if _, is := warc.CutSuffix(name); is {
			c.number[name] = int32(len(c.files))
			c.files = append(c.files, name)
			c.indexes[cdxj.Path(name)] = true
		}
	}
	if c.Logs, err = proof.Check(logs, c, since, func(done, all uint64) { progress("log", done, all) },
		func(format string, values ...any) { c.Altered++; c.note(format, values...) }); err == nil {
		err = errors.Join(there.Failed(), c.failed)
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(objects)), b.isRecent) { // nothing is being brought
		for _, log := range c.Logs {
			if log.Unsigned {
				c.Altered++
				c.note("%s: it was removed, or what brought its log died: then start that slave again", log.Path)
			}
		}
	}
	if len(c.Logs) > 0 {
		c.Unlogged = len(c.files) - len(c.checked)
	}
	for i, name := range names {
		if err := errors.Join(c.object(name), ctx.Err()); err != nil {
			return nil, err
		}
		progress("archive", uint64(i+1), uint64(len(names)))
	}
	if len(c.files) == 0 && len(c.Problems) == 0 {
		return nil, fmt.Errorf("%v holds no WARC files", b)
	}
	c.once()
	slices.Sort(c.captures)
	for _, to := range c.refers {
		if !slices.ContainsFunc(to[:], func(capture uint64) bool { return has(c.captures, capture) }) {
			c.Elsewhere++
		}
	}
	slices.Sort(c.lines)
	return &c.Checked, c.index()
}

// Print says what was read; what is damaged is not in it.
func (c *Checked) Print(out io.Writer) {
	fmt.Fprintf(out, "archive  %d WARC files, %d records\n", c.Files, c.Records)
	for _, some := range []struct {
		n    int
		what string
	}{
		{c.Arriving, "WARC files are being brought, and have no index yet: check again once they are there"},
		{c.Unlisted, "WARC files are not in the index of the bucket yet: henro check --repair takes them in"},
		{c.Untabled, "WARC files are in no table of Parquet yet: henro check --repair writes it"},
		{c.Unpaged, "WARC files have no pages and edges as Parquet yet: henro check --repair writes them"},
		{c.Unsealed, "WARC files have no seal, so that nothing says which bytes they had when they were brought"},
		{c.Unlogged, "WARC files are in no log of the bucket"},
		{c.Elsewhere, "revisits refer to captures that are not in the bucket"},
	} {
		if some.n > 0 {
			fmt.Fprintln(out, some.n, some.what)
		}
	}
}

// checking is a Check under way.
type checking struct {
	Checked
	b       *Bucket
	dir     string // temporary, empty between files
	objects map[string]Object
	tables  map[string]Object
	besides [2]map[string]Object
	pages   map[string]sums // by WARC file: what its records say

	files    []string         // WARC files
	number   map[string]int32 // of them
	checked  map[string]bool  // those that are
	failed   error            // of the store
	indexes  map[string]bool  // that belong to one
	records  []record
	captures []uint64    // fingerprints of URL and moment
	lines    []uint64    // fingerprints of what indexes list, with its place
	refers   [][3]uint64 // captures that a revisit may mean: its second, the one before and the one after
}

// record says in which of files a record is, by the fingerprint of its id.
type record struct {
	id   uint64
	file int32
}

func (c *checking) note(format string, args ...any) {
	if c.Count++; len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	}
}

func has(sorted []uint64, one uint64) bool {
	_, ok := slices.BinarySearch(sorted, one)
	return ok
}

// object checks a WARC file with its index, and whether what belongs to one has it. An error is about the store.
func (c *checking) object(name string) error {
	if _, is := warc.CutSuffix(name); is {
		if c.checked[name] { // beside its log
			return nil
		}
		path, err := c.file(name)
		if err = errors.Join(err, os.Remove(path)); errors.Is(err, ErrChanged) {
			return nil
		}
		return err
	}
	of, sealed := strings.CutSuffix(name, SealSuffix)
	if sealed && c.objects[of].Name == "" || strings.HasSuffix(name, cdxj.Suffix) && !c.indexes[name] {
		c.note("%s: its WARC file is gone", name)
	}
	return nil
}

// once finds records that are there twice.
func (c *checking) once() {
	slices.SortFunc(c.records, func(a, b record) int { return cmp.Or(cmp.Compare(a.id, b.id), int(a.file-b.file)) })
	for i := range len(c.records) - 1 {
		if a, b := c.records[i], c.records[i+1]; a.id == b.id {
			c.note("%s: a record is in %s too", c.files[b.file], c.files[a.file])
		}
	}
}

// fetch copies an object into the folder, and returns its digest.
func (c *checking) fetch(o Object) (path, sum string, err error) {
	path = filepath.Join(c.dir, o.Name)
	if err = c.b.copy(o, path); err == nil {
		_, sum, err = digest(path)
	}
	return path, sum, err
}

// Holds is true of every file: what a log names is in the bucket before the log is.
func (c *checking) Holds(string) bool { return true }

// Bytes are those of all WARC files.
func (c *checking) Bytes() (all uint64) {
	for _, name := range c.files {
		all += uint64(c.objects[name].Size)
	}
	return all
}

// Open opens a WARC file for its log, and checks it on the way: so it is read once.
func (c *checking) Open(name string) (io.ReadSeekCloser, int64, error) {
	if _, is := c.number[name]; !is {
		return nil, 0, fs.ErrNotExist
	}
	path, err := c.file(name)
	if err != nil {
		if !errors.Is(err, ErrChanged) && c.failed == nil {
			c.failed = err
		}
		return nil, 0, err
	}
	f, err := os.Open(path)
	return temporary{f}, c.objects[name].Size, err
}

// temporary is a file that is removed when it is closed.
type temporary struct{ *os.File }

func (t temporary) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// file checks a WARC file, once, and returns where its copy is. An error is about the store, but for ErrChanged.
func (c *checking) file(name string) (string, error) {
	path, sum, err := c.fetch(c.objects[name])
	if c.checked[name] {
		return path, err
	}
	c.checked[name] = true
	c.Files++
	if errors.Is(err, ErrChanged) {
		c.note("%s: %v", name, err)
	}
	if err != nil {
		return path, err
	}
	sums := map[string]string{name: sum}
	listed, err := c.walk(path, name)
	if err != nil {
		c.note("%s: %v", name, err)
	}
	if o, there := c.objects[cdxj.Path(name)]; c.b.arriving(c.objects, name) {
		c.Arriving++
		return path, nil
	} else if !there {
		c.note("%s: it has no index", name)
	} else if err := c.indexOf(o, name, listed, sums); errors.Is(err, ErrChanged) {
		c.note("%s: %v", o.Name, err)
	} else if err != nil {
		return path, err
	}
	return path, c.sealed(name, sums)
}

// indexOf compares the index of a WARC file with what it should list.
func (c *checking) indexOf(o Object, name string, listed map[int64]uint64, sums map[string]string) error {
	path, sum, err := c.fetch(o)
	if err == nil {
		sums[o.Name] = sum
		if err := Indexed(path, name, listed); err != nil {
			c.note("%s: %v", name, err)
		}
		err = c.table(tableOf(name), func(to string) error { return WriteTable(to, path) })
	}
	return errors.Join(err, os.Remove(path))
}

// sealed compares digests with the seal.
func (c *checking) sealed(name string, sums map[string]string) error {
	o, there := c.objects[name+SealSuffix]
	if !there {
		c.Unsealed++
		return nil
	}
	text, err := c.b.whole(o)
	if err != nil {
		return err
	}
	said, err := ReadSeal(text)
	if err != nil {
		c.note("%s: %v", o.Name, err)
	}
	for part, sum := range sums {
		if err == nil && said[part] != sum {
			c.note("%s: it is not what was brought: its SHA-256 is %s, and was %q", part, sum, said[part])
		}
	}
	return nil
}

// walk reads the records of a file, and returns what its index should list.
func (c *checking) walk(path, name string) (listed map[int64]uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	listed = map[int64]uint64{}
	walked, err := warc.Walk(f, func(r *warc.Entry) error {
		c.records = append(c.records, record{fingerprint.URL(r.Header.Get("WARC-Record-ID")), c.number[name]})
		to, refers := RefersTo(r)
		e, ok, err := cdxj.Of(r, name)
		if err != nil || !ok {
			return err
		}
		listed[e.Offset] = LineOf(e)
		c.page(r, e)
		c.lines = append(c.lines, LineOf(e))
		c.captures = append(c.captures, CaptureOf(e.URL, e.At))
		if refers {
			c.refers = append(c.refers, to)
		}
		return nil
	})
	c.Records += walked.Records
	for _, span := range walked.Damaged {
		c.note("%s: %d bytes at %d are no record: %v", name, span.Length, span.Offset, span.Err)
	}
	return listed, err
}

// index follows every line of the index of the bucket.
func (c *checking) index() error {
	x, err := c.b.Index(c.objects)
	if err != nil {
		c.note("%v", err)
		return nil
	}
	for _, name := range x.lost {
		c.note("%s: the index of the bucket names it, and it is gone: henro check --repair makes it again", name)
	}
	for _, name := range c.files {
		if x.has[name] == "" {
			c.Unlisted++
		}
	}
	c.Untabled = len(x.Untabled(c.objects, c.tables))
	for name := range x.has {
		if c.objects[name].Name == "" {
			c.note("%s: the index of the bucket has it, and it is gone", name)
		}
	}
	lines := 0
	var failed error
	for line := range x.Lines("", &failed) {
		lines++
		if e, err := cdxj.Parse(bytes.TrimSuffix(line, []byte("\n"))); err != nil || !has(c.lines, LineOf(e)) {
			c.note("index of the bucket: a line leads to no record: %.200q", line)
		}
	}
	if failed != nil {
		c.note("index of the bucket: %v", failed)
		return nil
	}
	if err := c.beside(x); err != nil {
		return err
	}
	for i, p := range x.parts.Parts {
		if err := c.table(p.Name, func(to string) error {
			return errors.Join(writeTable(to, x.b.lines(x.lists[i], "", &failed)), failed)
		}); err != nil {
			return err
		}
	}
	if c.Unlisted == 0 && lines != len(c.lines) {
		c.note("index of the bucket: it has %d lines, and there are %d captures", lines, len(c.lines))
	}
	return nil
}
