package cdxj

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// ScanOpen shows the lines of the index of a WARC file that still grows, NAME.cdxj.open, in the order in which the
// captures came, until visit returns false. Each line is appended once its record is synced, so that it leads to a
// record that is there; a last line without its end is still being written, and is not shown. A line is the bytes of
// an entry, valid until visit returns; Parse reads it.
func ScanOpen(index io.Reader, visit func(line []byte) bool) error {
	in := bufio.NewReaderSize(index, lineBytes)
	for {
		switch line, err := in.ReadSlice('\n'); {
		case err == io.EOF:
			return nil
		case err == bufio.ErrBufferFull:
			return fmt.Errorf("%w: longer than %d bytes", ErrLine, lineBytes)
		case err != nil:
			return err
		case !visit(line):
			return nil
		}
	}
}

// Each shows the lines of an index of any writer as parse reads them. Headings are passed over, and so is what cannot
// be read, which unread is told of with the number of its line.
func Each(index io.Reader, parse func([]byte) (Entry, error), visit func(Entry) error,
	unread func(line int, err error)) (err error) {
	lines := bufio.NewReaderSize(index, lineBytes)
	for n := 1; err == nil; n++ {
		var line []byte
		if line, err = lines.ReadSlice('\n'); err == bufio.ErrBufferFull {
			unread(n, fmt.Errorf("%w: longer than %d bytes", ErrLine, lineBytes))
			for line = nil; err == bufio.ErrBufferFull; {
				_, err = lines.ReadSlice('\n')
			}
		}
		if text := bytes.TrimSpace(line); len(text) == 0 || text[0] == '!' || bytes.HasPrefix(text, []byte("CDX ")) {
			continue
		}
		if e, bad := parse(line); bad != nil {
			unread(n, bad)
		} else if failed := visit(e); failed != nil {
			return failed
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}
