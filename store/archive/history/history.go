// Package history reads of earlier archives when they captured which page and whether it had changed.
//
// Sources are WARC and WACZ files, their indexes (CDXJ, and CDX of 9 or 11 columns), tables in CSV with a heading that
// names url, time and digest, and directories of these; what ends with .gz is unpacked. A digest is compared with that
// of the capture before, and nothing else; "" is one that is not known.
//
// # Invariants
//
//   - All sources are read before the first capture comes out, so input that cannot be read changes nothing.
//   - Captures come out by URL, and those of one URL in order of time. Memory is that of store/sorter.
package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
	"henro/store/sorter"
)

// ErrSource is returned for a source that cannot be read as what it seems to be.
var ErrSource = errors.New("no archive")

// Capture is one visit of a page.
type Capture struct {
	URL    string
	At     time.Time // in whole seconds
	Digest string    // of the payload, "" if it is not known
}

// Collector gathers the captures of sources.
type Collector struct {
	sorted  *sorter.Sorter
	Taken   int // captures
	Ignored int // captures of what is no page of the web, and of answers from 300 on
	unread  func(what string)
}

// New returns a Collector that writes to a directory what does not fit into memory. Reading goes on behind records and
// lines that cannot be read, and in a folder behind such files; unread is told of them, with file and place.
func New(dir string, unread func(what string)) *Collector {
	return &Collector{sorted: sorter.New(dir, sorter.Memory), unread: unread}
}

// Close removes what is left on disk.
func (c *Collector) Close() error { return c.sorted.Close() }

// Read takes all captures of a source.
func (c *Collector) Read(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	if info.IsDir() {
		return c.folder(path)
	}
	name := strings.TrimSuffix(path, ".gz")
	switch {
	case strings.HasSuffix(name, ".warc"), strings.HasSuffix(name, ".warc.zst"):
		return c.warc(path)
	case strings.HasSuffix(name, wacz.Suffix):
		return c.wacz(path)
	case strings.HasSuffix(name, ".cdxj"):
		return c.lines(path, cdxj.Parse)
	case strings.HasSuffix(name, ".cdx"):
		return c.lines(path, parseCDX)
	case strings.HasSuffix(name, ".csv"):
		return c.table(path)
	}
	return fmt.Errorf("%w: %s: want .warc, .wacz, .cdxj, .cdx or .csv, also with .gz, or a directory",
		ErrSource, path)
}

// take adds a capture whose status is 0 if it is not known.
func (c *Collector) take(url string, at time.Time, digest string, status int) error {
	u, err := weburl.Parse(url)
	if err != nil || status >= 300 {
		c.Ignored++
		return nil
	}
	if digest == "-" {
		digest = ""
	}
	c.Taken++
	record := append([]byte(u.String()), 0)
	record = binary.BigEndian.AppendUint64(record, uint64(at.Unix()))
	return c.sorted.Add(append(record, strings.TrimPrefix(digest, "sha1:")...))
}

// Each calls fn for all captures. One that comes twice is shown once.
func (c *Collector) Each(fn func(Capture) error) error {
	var last []byte
	return c.sorted.Each(func(record []byte) error {
		if bytes.Equal(record, last) {
			return nil
		}
		last = append(last[:0], record...)
		end := bytes.IndexByte(record, 0)
		return fn(Capture{string(record[:end]), time.Unix(int64(binary.BigEndian.Uint64(record[end+1:])), 0),
			string(record[end+9:])})
	})
}

func (c *Collector) warc(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer f.Close()
	before := c.Taken + c.Ignored
	walked, err := warc.List(f, func(r *warc.Entry) error {
		e, listed, err := cdxj.Of(r, "")
		if err != nil || !listed {
			return err
		}
		return c.take(e.URL, e.At, e.Digest, statusOf(&e))
	})
	for _, span := range slices.Concat(walked.Damaged, walked.Unread) {
		c.unread(fmt.Sprint(path, ": ", span))
	}
	if err == nil && c.Taken+c.Ignored == before {
		err = fmt.Errorf("%w: %s has no records of pages", ErrSource, path)
	}
	return err
}

// statusOf is the status of a capture; a revisit repeats the content of one that was 200.
func statusOf(e *cdxj.Entry) int {
	if e.Mime == cdxj.Revisit {
		return 200
	}
	return e.Status
}

// open reads a file, unpacked.
func open(path string) (io.Reader, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return f, f, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrSource, path, err), f.Close())
	}
	return z, f, nil
}

// lines reads an index, a line at a time.
func (c *Collector) lines(path string, parse func([]byte) (cdxj.Entry, error)) error {
	in, closer, err := open(path)
	if err != nil {
		return err
	}
	defer closer.Close()
	return c.Lines(in, path, parse)
}

func (c *Collector) wacz(path string) error {
	p, err := wacz.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer p.Close()
	return p.EachIndex(func(name string, lines io.Reader) error {
		return c.Lines(lines, path+", "+name, cdxj.Parse)
	})
}

// Lines takes all captures of an index, which errors call path.
func (c *Collector) Lines(in io.Reader, path string, parse func([]byte) (cdxj.Entry, error)) error {
	var first error // of the lines that cannot be read
	before := c.Taken + c.Ignored
	err := cdxj.Each(in, parse, func(e cdxj.Entry) error {
		return c.take(e.URL, e.At, e.Digest, statusOf(&e))
	}, func(line int, err error) {
		err = fmt.Errorf("%s, line %d: %w", path, line, err)
		first = cmp.Or(first, err)
		c.unread(err.Error())
	})
	if err == nil && c.Taken+c.Ignored == before {
		err = first // of another form than it seems
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	return nil
}

// parseCDX reads a line of the columns "N b a m s k …": key, time, URL, type, status, digest.
func parseCDX(line []byte) (e cdxj.Entry, err error) {
	columns := strings.Fields(string(line))
	if len(columns) != 9 && len(columns) != 11 {
		return e, fmt.Errorf("%d columns, want the 9 or 11 of N b a m s k r (M S) V g", len(columns))
	}
	if e.At, err = cdxj.ParseStamp(columns[1]); err != nil {
		return e, err
	}
	e.URL, e.Mime, e.Digest = columns[2], columns[3], columns[5]
	_, _ = fmt.Sscan(columns[4], &e.Status) // "-" is none
	return e, nil
}

// table reads CSV with a heading.
func (c *Collector) table(path string) error {
	in, closer, err := open(path)
	if err != nil {
		return err
	}
	defer closer.Close()
	rows := &rowReader{in: in, left: maxRow}
	r := csv.NewReader(rows)
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrSource, path, err)
	}
	at := [3]int{}
	for i, name := range []string{"url", "time", "digest"} {
		if at[i] = slices.Index(head, name); at[i] < 0 {
			return fmt.Errorf("%w: %s: no column %s: want the heading url,time,digest", ErrSource, path, name)
		}
	}
	for {
		rows.left = maxRow
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil { // which says the line
			return fmt.Errorf("%w: %s: %w", ErrSource, path, err)
		}
		moment, err := parseTime(row[at[1]])
		if err != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("%w: %s, line %d: %w", ErrSource, path, line, err)
		}
		if err := c.take(row[at[0]], moment, row[at[2]], 0); err != nil {
			return err
		}
	}
}

// maxRow bounds a row of CSV: a quote that is never closed would take all the file into memory.
const maxRow = 1 << 20

// rowReader gives so many bytes and no more until it is allowed more.
type rowReader struct {
	in   io.Reader
	left int
}

func (r *rowReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a row of more than %d bytes", maxRow)
	}
	n, err := r.in.Read(b)
	r.left -= n
	return n, err
}

// parseTime reads 14 digits, RFC 3339 or a date.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return cdxj.ParseStamp(text)
}

// folder reads the archives in a directory.
func (c *Collector) folder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	read := 0
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		if entry.IsDir() || !isArchive(name) {
			continue
		}
		err := c.Read(name)
		if read++; errors.Is(err, ErrSource) {
			c.unread(err.Error())
		} else if err != nil {
			return err
		}
	}
	if read == 0 {
		return fmt.Errorf("%w: %s holds no .warc, .wacz, .cdxj, .cdx or .csv files", ErrSource, path)
	}
	return nil
}

func isArchive(name string) bool {
	name = strings.TrimSuffix(name, ".gz")
	return slices.ContainsFunc([]string{".warc", ".warc.zst", wacz.Suffix, ".cdxj", ".cdx", ".csv"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}
