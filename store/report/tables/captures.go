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

// Captures are the answers in the WARC files, by their indexes: of a file that still grows, those that are synced.
func Captures() *Table {
	return &Table{
		Name: "captures", Doc: "every archived answer, from the indexes of the WARC files", HostColumn: -1,
		URLColumn: 0,
		Indexes:   []string{"url", "digest"},
		Columns: []Column{
			{"url", Text, "that was asked for"},
			{"at", Moment, "when it was asked"},
			{"status", Integer, "of HTTP"},
			{"mime", Text, "of the answer without parameters"},
			{"digest", Text, "SHA-1 of the payload, in base32"},
			{"revisit", Boolean, "the payload is that of an earlier capture and not stored again"},
			{"length", Integer, "bytes of the record in the file, compressed"},
			{"offset", Integer, "of the record in the file"},
			{"filename", Text, "of the WARC file"},
			{"host", Text, "scheme://name[:port]"},
		},
		each: eachCapture,
	}
}

type capture struct{ cdxj.Entry }

func (c *capture) Value(column int) Value {
	switch column {
	case 0:
		return text(c.URL)
	case 1:
		return moment(c.At)
	case 2:
		return integer(c.Status)
	case 3:
		if c.Mime == cdxj.Revisit {
			return Value{}
		}
		return text(c.Mime)
	case 4:
		return text(c.Digest)
	case 5:
		return boolean(c.Mime == cdxj.Revisit)
	case 6:
		return integer(c.Length)
	case 7:
		return integer(c.Offset)
	case 8:
		return text(c.Filename)
	case 9:
		return text(weburl.HostOf(c.URL))
	}
	return Value{}
}

func eachCapture(s *Source, q Query, fn func(Row) error) error {
	if s.Archive == "" {
		return nil
	}
	grow, err := filepath.Glob(filepath.Join(s.Archive, "*"+cdxj.Suffix+warc.OpenSuffix)) // first: none is missed
	if err != nil {
		return fmt.Errorf("captures: %w", err)
	}
	files, err := warc.Files(s.Archive)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("captures: %w", err)
	}
	var from []byte
	if q.URL != nil {
		u, err := weburl.Parse(*q.URL)
		if err != nil {
			return nil // what is no URL has no captures
		}
		from = []byte(cdxj.Key(u) + " ")
	}
	var indexes []string
	for _, file := range files {
		indexes = append(indexes, cdxj.Path(file))
	}
	for _, index := range grow {
		if !slices.Contains(indexes, strings.TrimSuffix(index, warc.OpenSuffix)) {
			indexes = append(indexes, index)
		}
	}
	for _, index := range indexes {
		var failed error
		err := cdxj.ScanFile(index, from, func(line []byte) bool {
			failed = captureOn(line, q, fn)
			return failed == nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: henro repair makes it", err)
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
