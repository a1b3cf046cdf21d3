package query

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"henro/store/report/tables"
)

const (
	// keptVersion changes when a column means something else, or the file is written otherwise.
	keptVersion = "henro answers 2\n"
	keptSuffix  = ".answer"
	partSuffix  = ".part" // behind the name of one that is being written
	// keptFrom is how long a question has to take for its answer to be kept.
	keptFrom = time.Second
	// keptBytes bounds an answer that is kept, and keptMost how many there are.
	keptBytes = 8 << 20
	keptMost  = 64
)

// kept is an answer in a file of Source.Cache, in the form of gob in a stream of S2, which has checksums. The file is
// named by the generation of the state, so that it is found no more after a commit, and by the question.
type kept struct {
	Columns []string
	Rows    [][]any

	path string
	size int // bytes of Rows, about
}

// kept returns the answer that was kept of a question, or an empty one to be filled; nil: none is to be kept.
func (s *Session) kept(question string) (k *kept, found bool) {
	if s.source.Cache == "" {
		return nil, false
	}
	generation, err := s.source.State.Generation()
	if err != nil {
		return nil, false // the question itself meets what is damaged
	}
	h := sha256.New()
	h.Write([]byte(keptVersion))
	for _, t := range tables.Tables() {
		h.Write([]byte(t.Name + "(" + columnsOf(t) + ")\n"))
	}
	h.Write([]byte(question))
	k = &kept{path: filepath.Join(s.source.Cache, generation+"-"+hex.EncodeToString(h.Sum(nil)[:16])+keptSuffix)}
	f, err := os.Open(k.path)
	if err != nil {
		return k, false
	}
	defer f.Close()
	was := kept{path: k.path}
	if err := gob.NewDecoder(s2.NewReader(f)).Decode(&was); err != nil {
		return k, false // damaged: it is found and written again
	}
	return &was, true
}

// add takes a row; false: the answer is too long to be kept, or has what the tables do not.
func (k *kept) add(values []any) bool {
	row := slices.Clone(values)
	for i, value := range row {
		switch v := value.(type) {
		case nil, int64, float64, bool:
		case string:
			row[i] = strings.Clone(v)
			k.size += len(v)
		default:
			return false
		}
	}
	k.Rows = append(k.Rows, row)
	k.size += 16 * len(row)
	return k.size <= keptBytes
}

// show puts the values of the next row where those of SQLite would be; false: there is none.
func (k *kept) show(values []any) bool {
	if len(k.Rows) == 0 {
		return false
	}
	copy(values, k.Rows[0])
	k.Rows = k.Rows[1:]
	return true
}

// write writes the file and removes those of other generations, and the oldest. If it fails, nothing is kept, and the
// question has its answer all the same.
func (k *kept) write() {
	dir := filepath.Dir(k.path)
	if os.MkdirAll(dir, 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(dir, filepath.Base(k.path)+".*"+partSuffix)
	if err != nil {
		return
	}
	out := s2.NewWriter(f, s2.WriterConcurrency(1))
	err = errors.Join(gob.NewEncoder(out).Encode(k), out.Close(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), k.path)
	}
	if err != nil {
		os.Remove(f.Name()) // what is left is never read
	}
	k.tidy(dir)
}

func (k *kept) tidy(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	generation, _, _ := strings.Cut(filepath.Base(k.path), "-")
	type file struct {
		name string
		at   time.Time
	}
	var current []file
	for _, e := range entries {
		end, old := filepath.Ext(e.Name()), !strings.HasPrefix(e.Name(), generation+"-")
		if old && (end == keptSuffix || end == partSuffix) {
			os.Remove(filepath.Join(dir, e.Name())) // the next one tries again
		} else if info, err := e.Info(); err == nil && end == keptSuffix {
			current = append(current, file{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(current, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range current[min(keptMost, len(current)):] {
		os.Remove(filepath.Join(dir, f.name))
	}
}
