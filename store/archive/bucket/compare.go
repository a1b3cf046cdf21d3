package bucket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
)

// CaptureOf is the fingerprint of a capture.
func CaptureOf(url string, at time.Time) uint64 { return fingerprint.URL(cdxj.Stamp(at) + " " + url) }

// LineOf is the fingerprint of a line of an index, with the place of its record.
func LineOf(e cdxj.Entry) uint64 {
	e.Extra = nil
	return fingerprint.URL(string(e.Append(nil)))
}

// RefersTo is the capture that a revisit record names, if it names one.
func RefersTo(r *warc.Entry) (capture [3]uint64, ok bool) {
	url, date := r.Header.Get("WARC-Refers-To-Target-URI"), r.Header.Get("WARC-Refers-To-Date")
	at, err := time.Parse(time.RFC3339Nano, date)
	if r.Type() != warc.Revisit || url == "" || err != nil {
		return capture, false
	}
	for i, by := range []time.Duration{0, -time.Second, time.Second} {
		capture[i] = CaptureOf(strings.Trim(url, "<>"), at.Truncate(time.Second).Add(by))
	}
	return capture, true
}

// Indexed compares an index with what it should list.
func Indexed(path, warcName string, listed map[int64]uint64) error {
	seen := make(map[int64]bool, len(listed))
	err := EachLine(path, func(e cdxj.Entry) error {
		if line, ok := listed[e.Offset]; !ok || line != LineOf(e) || e.Filename != warcName {
			return fmt.Errorf("leads to no such record: %s at %d", e.URL, e.Offset)
		}
		seen[e.Offset] = true
		return nil
	})
	if missing := len(listed) - len(seen); err == nil && missing > 0 {
		err = fmt.Errorf("%d of its %d captures are not in the index", missing, len(listed))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it has no index")
	}
	return err
}

// EachLine shows the lines of an index of ours, and checks that each has the key of its URL.
func EachLine(path string, visit func(cdxj.Entry) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return EachLineIn(f, true, func(e cdxj.Entry) error {
		if url, bad := weburl.Parse(e.URL); bad == nil && e.Key != cdxj.Key(url) && e.Field("method") == "" {
			return fmt.Errorf("is not found by %s", e.URL)
		}
		return visit(e)
	})
}

// maxLine bounds a line of an index, whose URL is the most of it.
const maxLine = 1 << 20

// EachLineIn shows the lines of an index of any writer, which must be in order if it says so.
func EachLineIn(index io.Reader, ordered bool, visit func(cdxj.Entry) error) error {
	in := bufio.NewReaderSize(index, maxLine)
	var before []byte
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF && len(line) == 0:
			return nil
		case err == io.EOF:
			return fmt.Errorf("line %d of its index is cut off", number)
		case err == bufio.ErrBufferFull:
			return fmt.Errorf("line %d of its index is longer than %d bytes", number, maxLine)
		case err != nil:
			return err
		}
		e, err := cdxj.Parse(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil && ordered && bytes.Compare(before, line) > 0 {
			err = errors.New("is out of order")
		}
		if err == nil {
			err = visit(e)
		}
		if err != nil {
			return fmt.Errorf("line %d of its index: %w", number, err)
		}
		before = append(before[:0], line...)
	}
}
