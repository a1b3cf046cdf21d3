package cdxj

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/s2"
)

// Growing is the index of a WARC file that still grows: its lines as they come, in the stream format of S2, which takes
// a third of their length. SortFile reads it, and Recall does while it grows. It is not synced: after a crash the index
// is made of the WARC file.
type Growing struct {
	file *os.File
	pack *s2.Writer
}

// CreateGrowing begins the index at path.
func CreateGrowing(path string) (*Growing, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &Growing{f, packer(f)}, nil
}

// Append adds lines with their ends. They can be read from then on.
func (g *Growing) Append(lines []byte) error {
	_, err := g.pack.Write(lines)
	return errors.Join(err, g.pack.Flush())
}

// PackedSuffix follows the name of the index of a finished WARC file that was left as it came: whole, packed and not
// sorted. What reads an archive sorts it before (SortPacked).
const PackedSuffix = ".s2"

// Find returns the path of the index of a finished WARC file: of the sorted one, or of one that was left as it came.
// Where there is neither the error is fs.ErrNotExist.
func Find(warcPath string) (path string, err error) {
	path = Path(warcPath)
	if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path += PackedSuffix
		_, err = os.Stat(path)
	}
	return path, err
}

// KeepPacked leaves the ended index at path as the packed one of a finished WARC file, on the disk.
func KeepPacked(warcPath, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path, Path(warcPath)+PackedSuffix)
}

// SortPacked makes the sorted index of a WARC file whose index was left as it came, and removes that. Without one the
// error is fs.ErrNotExist, also if another process has just done the same.
func SortPacked(warcPath string) error {
	packed := Path(warcPath) + PackedSuffix
	if err := SortFile(Path(warcPath), packed); err != nil {
		return err
	}
	return removePacked(warcPath)
}

func removePacked(warcPath string) error {
	if err := os.Remove(Path(warcPath) + PackedSuffix); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Name is where the index lies.
func (g *Growing) Name() string { return g.file.Name() }

// Close ends the index.
func (g *Growing) Close() error { return errors.Join(g.pack.Close(), g.file.Close()) }

// packer packs lines; they are read back by unpacker.
func packer(w io.Writer) *s2.Writer {
	return s2.NewWriter(w, s2.WriterConcurrency(1), s2.WriterBlockSize(packedBlock))
}

func unpacker(r io.Reader) io.Reader { return s2.NewReader(r, s2.ReaderMaxBlockSize(packedBlock)) }

const (
	packedBlock = 64 << 10 // of lines, packed at a time
	packedMagic = 0xff     // begins a stream of S2, and no line
)

// Lines returns the lines of an index that may be packed: then they are in the order in which they came.
func Lines(r io.Reader) (lines io.Reader, packed bool) { return plain(r, lineBytes) }

// Each shows the lines of an index of any writer, packed or not, as parse reads them. Headings are passed over, and so
// is what cannot be read, which unread is told of with the number of its line.
func Each(index io.Reader, parse func([]byte) (Entry, error), visit func(Entry) error,
	unread func(line int, err error)) (err error) {
	lines, _ := plain(index, lineBytes)
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

// plain is Lines with a buffer of size bytes.
func plain(r io.Reader, size int) (lines *bufio.Reader, packed bool) {
	lines = bufio.NewReaderSize(r, size)
	if first, err := lines.Peek(1); err == nil && first[0] == packedMagic {
		return bufio.NewReaderSize(unpacker(lines), size), true
	}
	return lines, false
}
