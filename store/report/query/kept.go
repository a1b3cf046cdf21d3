package query

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/s2"

	"henro/store"
)

// keptCounts is a file with the counts of all rows of a table by some columns, so that the next question about them
// need not read the table again. It is named by the generation of the state: after a commit it is found no more, and
// removed by whatever is kept next.
//
//	henro counts 1␤ ‖ S2 stream of (shared uv ‖ rest str ‖ rows uv)*, and at the end shared 0, no rest, 0 rows
//
// where a key begins with as many bytes of the one before as shared says. The stream has checksums of its own.
type keptCounts struct {
	dir     string
	state   *store.State
	name    string
	columns []int
}

const (
	keptMagic  = "henro counts 1\n"
	keptSuffix = ".counts"
	// keptBytes bounds one file: 2 million targets take 15 MB.
	keptBytes = 512 << 20
)

var errNotKept = errors.New("not kept")

func (k *keptCounts) path() (string, error) {
	generation, err := k.state.Generation()
	if err != nil {
		return "", err
	}
	var columns strings.Builder
	for _, c := range k.columns {
		fmt.Fprintf(&columns, "-%d", c)
	}
	return filepath.Join(k.dir, generation+"-"+k.name+columns.String()+keptSuffix), nil
}

// read shows what was kept; errNotKept: nothing, or nothing whole, before fn was called.
func (k *keptCounts) read(fn func(key []byte, rows uint64) error) error {
	path, err := k.path()
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return errNotKept // also what may not be read
	}
	defer f.Close()
	magic := make([]byte, len(keptMagic))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != keptMagic {
		return errNotKept
	}
	in := bufio.NewReaderSize(s2.NewReader(f), 1<<16)
	damaged := func(err error) error {
		return fmt.Errorf("%s is damaged: remove it: %w", path, errors.Join(store.ErrCorrupt, err))
	}
	var key []byte
	for {
		shared, err1 := binary.ReadUvarint(in)
		rest, err2 := binary.ReadUvarint(in)
		if err := errors.Join(err1, err2); err != nil || shared > uint64(len(key)) || rest > 1<<24 {
			return damaged(err)
		}
		key = append(key[:shared], make([]byte, rest)...)
		if _, err := io.ReadFull(in, key[shared:]); err != nil {
			return damaged(err)
		}
		rows, err := binary.ReadUvarint(in)
		if err != nil {
			return damaged(err)
		}
		if rows == 0 {
			return nil
		}
		if err := fn(key, rows); err != nil {
			return err
		}
	}
}

// write counts, shows and keeps. Keeping is not what was asked for: when it fails, there is nothing kept and an answer
// all the same.
func (k *keptCounts) write(count func(func(key []byte, rows uint64) error) error,
	fn func(key []byte, rows uint64) error) error {
	w, err := k.create()
	if err != nil {
		return count(fn)
	}
	err = count(func(key []byte, rows uint64) error {
		w.add(key, rows)
		return fn(key, rows)
	})
	w.end(err == nil)
	return err
}

// keeper writes the file.
type keeper struct {
	file   *os.File
	out    *s2.Writer
	path   string
	last   []byte
	line   []byte
	size   int64
	failed error
}

func (k *keptCounts) create() (*keeper, error) {
	path, err := k.path()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return nil, err
	}
	k.removeOlder(filepath.Base(path))
	f, err := os.CreateTemp(k.dir, "*.part")
	if err != nil {
		return nil, err
	}
	w := &keeper{file: f, path: path}
	_, w.failed = f.WriteString(keptMagic)
	w.out = s2.NewWriter(f, s2.WriterConcurrency(1))
	return w, nil
}

// removeOlder removes what was kept of other generations.
func (k *keptCounts) removeOlder(name string) {
	generation, _, _ := strings.Cut(name, "-")
	entries, err := os.ReadDir(k.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), keptSuffix) && !strings.HasPrefix(e.Name(), generation+"-") {
			os.Remove(filepath.Join(k.dir, e.Name())) // the next one tries again
		}
	}
}

func (w *keeper) add(key []byte, rows uint64) {
	if w.failed != nil {
		return
	}
	shared := 0
	for shared < min(len(key), len(w.last)) && key[shared] == w.last[shared] {
		shared++
	}
	w.line = binary.AppendUvarint(w.line[:0], uint64(shared))
	w.line = binary.AppendUvarint(w.line, uint64(len(key)-shared))
	w.line = append(w.line, key[shared:]...)
	w.line = binary.AppendUvarint(w.line, rows)
	w.last = append(w.last[:0], key...)
	if w.size += int64(len(w.line)); w.size > keptBytes {
		w.failed = fmt.Errorf("more than %d bytes", keptBytes)
		return
	}
	_, w.failed = w.out.Write(w.line)
}

// end gives the file its name if all of it is there.
func (w *keeper) end(whole bool) {
	if w.failed == nil {
		_, w.failed = w.out.Write([]byte{0, 0, 0})
	}
	w.failed = errors.Join(w.failed, w.out.Close(), w.file.Close())
	if whole && w.failed == nil {
		w.failed = os.Rename(w.file.Name(), w.path)
	}
	if !whole || w.failed != nil {
		os.Remove(w.file.Name()) // what is left is a .part, which is never read
	}
}
