package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

var captureColumns = []column[capture]{
	{"url", Text, "that was asked for", func(c *capture) Value { return text(c.URL) }},
	{"at", Moment, "when it was asked", func(c *capture) Value { return moment(c.At) }},
	{"status", Integer, "of HTTP", func(c *capture) Value { return integer(c.Status) }},
	{"mime", Text, "of the answer without parameters", func(c *capture) Value {
		if c.Mime == cdxj.Revisit {
			return Value{}
		}
		return text(c.Mime)
	}},
	{"digest", Text, "SHA-1 of the payload, in base32", func(c *capture) Value { return text(c.Digest) }},
	{"revisit", Boolean, "the payload is that of an earlier capture and not stored again",
		func(c *capture) Value { return boolean(c.Mime == cdxj.Revisit) }},
	{"length", Integer, "bytes of the record in the file, compressed",
		func(c *capture) Value { return integer(c.Length) }},
	{"offset", Integer, "of the record in the file", func(c *capture) Value { return integer(c.Offset) }},
	{"filename", Text, "of the WARC file", func(c *capture) Value { return text(c.Filename) }},
	{"redirect", Text, "URL to which an answer from 300 to 399 leads",
		func(c *capture) Value { return text(c.Field(cdxj.Redirect)) }},
	{"truncated", Text, "why the payload is not whole, as WARC-Truncated has it",
		func(c *capture) Value { return text(c.Field(cdxj.Truncated)) }},
	{"host", Text, "scheme://name[:port]", func(c *capture) Value { return text(weburl.HostOf(c.URL)) }},
}

// Captures are the answers in the WARC files, by their indexes: of a file that still grows, those that are synced.
func Captures() *Table {
	return &Table{Name: "captures", Doc: "every archived answer, from the indexes of the WARC files", HostColumn: -1,
		Indexes: []string{"url", "digest"}, Columns: columnsOf(captureColumns), each: eachCapture}
}

type capture struct{ cdxj.Entry }

func (c *capture) Value(i int) Value { return valueAt(captureColumns, c, i) }

func eachCapture(s *Source, q Query, fn func(Row) error) error {
	if s.Archive == "" && s.Lines == nil {
		return nil
	}
	var from []byte
	if q.URL != nil {
		u, err := weburl.Parse(*q.URL)
		if err != nil {
			return nil // what is no URL has no captures
		}
		from = []byte(cdxj.Key(u) + " ")
	}
	var failed error
	visit := func(line []byte) bool { failed = captureOn(line, q, fn); return failed == nil }
	if s.Lines != nil {
		return errors.Join(s.Lines(string(from), visit), failed)
	}
	grow, err := filepath.Glob(filepath.Join(s.Archive, "*"+cdxj.Suffix+warc.OpenSuffix)) // first: none is missed
	files, bad := warc.Files(s.Archive)
	if errors.Is(bad, fs.ErrNotExist) {
		return nil
	}
	if err = errors.Join(err, bad); err != nil {
		return fmt.Errorf("captures: %w", err)
	}
	var indexes []string
	for _, file := range files {
		indexes = append(indexes, cdxj.Path(file))
	}
	grow = slices.DeleteFunc(grow, func(index string) bool {
		return slices.Contains(indexes, strings.TrimSuffix(index, warc.OpenSuffix))
	})
	for _, index := range append(indexes, grow...) {
		err := cdxj.ScanFile(index, from, visit)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: henro check --repair makes it", err)
		}
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("captures of %s: %w", index, err)
		}
	}
	return nil
}

// captureOn shows what a line of an index lists.
func captureOn(line []byte, q Query, fn func(Row) error) error {
	e, err := cdxj.Parse(line)
	// what the crawl says of itself is no capture
	if err != nil || strings.HasPrefix(e.URL, "urn:") || q.URL != nil && e.URL != *q.URL {
		return err
	}
	return fn(&capture{e})
}
