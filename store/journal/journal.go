// Package journal appends lines to a file of bounded size: NAME.jsonl, and the lines before those in NAME.1.jsonl,
// NAME.2.jsonl and so on. A file that is full is renamed, so that tail -F follows it.
//
// Invariants:
//   - at any moment, after any crash, all lines but the last are whole, and Open makes the last one so;
//   - there are never more than Older files beside the present one, and none is larger than Bytes.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Options bound what a journal takes on disk: (1 + Older) · Bytes.
type Options struct {
	Bytes int64 // size at which a file is renamed; a single flush that is larger than this is one file
	Older int   // files that are kept beside the present one, at least 1
}

// bufferBytes is how much waits in memory at most: some 200 lines.
const bufferBytes = 64 << 10

// Journal is an open file. One goroutine uses it.
type Journal struct {
	o      Options
	path   string
	file   *os.File
	size   int64
	buffer bytes.Buffer
}

// Open opens the file, with its directory, and cuts off a line that was not finished.
func Open(path string, o Options) (*Journal, error) {
	j := &Journal{o: o, path: path}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := j.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return j, nil
}

// OlderName is the name of an older file, the latest of them with number 1.
func OlderName(path string, number int) string {
	suffix := filepath.Ext(path)
	return strings.TrimSuffix(path, suffix) + "." + strconv.Itoa(number) + suffix
}

func (j *Journal) open() (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if j.size, err = mend(j.file); err != nil {
		return errors.Join(err, j.file.Close())
	}
	return nil
}

// mend finds the end of the last whole line and cuts the file there.
func mend(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	block := make([]byte, 4096)
	for from := end; from > 0; {
		n := min(from, int64(len(block)))
		from -= n
		if _, err := f.ReadAt(block[:n], from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			whole := from + int64(i) + 1
			return whole, f.Truncate(whole)
		}
	}
	return 0, f.Truncate(0)
}

// Append adds what write appends to a buffer: whole lines. They are in memory until Flush.
func (j *Journal) Append(write func(*bytes.Buffer) error) error {
	before := j.buffer.Len()
	if err := write(&j.buffer); err != nil {
		j.buffer.Truncate(before)
		return fmt.Errorf("write %s: %w", j.path, err)
	}
	if j.buffer.Len() >= bufferBytes {
		return j.Flush()
	}
	return nil
}

// AppendJSON opens a file, writes each value to it as a line of JSON, and syncs and closes it.
func AppendJSON[T any](path string, o Options, all []T) (err error) {
	j, err := Open(path, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for i := range all {
		if err := j.Append(func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(&all[i]) }); err != nil {
			return err
		}
	}
	return j.Sync()
}

// maxRecent bounds what RecentJSON reads of a file, in bytes.
const maxRecent = 16 << 20

// RecentJSON returns the last values that AppendJSON wrote to a file and to the one before it, the latest first:
// at most so many, of lines that mostly have no more bytes than line says.
func RecentJSON[T any](path string, most, line int) ([]T, error) {
	var all []T
	for _, name := range []string{path, OlderName(path, 1)} {
		lines, err := tail(name, most-len(all), line)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, line := range slices.Backward(lines) {
			var one T
			if json.Unmarshal(line, &one) == nil {
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// tail returns the last lines of a file, from the last few megabytes of it.
func tail(path string, most, line int) ([][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := min(info.Size(), int64(most)*int64(line), maxRecent)
	text := make([]byte, size)
	if _, err := f.ReadAt(text, info.Size()-size); err != nil && err != io.EOF {
		return nil, err
	}
	if size < info.Size() {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return lines[max(0, len(lines)-most):], nil
}

// Flush writes what is in memory. What cannot be written is dropped, since no line of a journal is worth the crawl.
func (j *Journal) Flush() error {
	if j.buffer.Len() == 0 {
		return nil
	}
	defer j.buffer.Reset()
	if j.size > 0 && j.size+int64(j.buffer.Len()) > j.o.Bytes {
		if err := j.rotate(); err != nil {
			return fmt.Errorf("rotate %s: %w", j.path, err)
		}
	}
	n, err := j.file.WriteAt(j.buffer.Bytes(), j.size)
	if err != nil {
		if n > 0 { // on a full disk: the next write begins at the end of the last whole line
			err = errors.Join(err, j.file.Truncate(j.size))
		}
		return fmt.Errorf("write %s: %w", j.path, err)
	}
	j.size += int64(n)
	return nil
}

// Sync writes what is in memory, and waits until it is on the disk.
func (j *Journal) Sync() error { return errors.Join(j.Flush(), j.file.Sync()) }

// rotate renames the files, the oldest over the one before it, and begins a new one.
func (j *Journal) rotate() error {
	err := j.file.Close()
	for number := j.o.Older; number > 0; number-- {
		from := j.path
		if number > 1 {
			from = OlderName(j.path, number-1)
		}
		if renamed := os.Rename(from, OlderName(j.path, number)); !errors.Is(renamed, fs.ErrNotExist) {
			err = errors.Join(err, renamed)
		}
	}
	return errors.Join(err, j.open())
}

// Close writes what is in memory and closes the file.
func (j *Journal) Close() error { return errors.Join(j.Flush(), j.file.Close()) }
