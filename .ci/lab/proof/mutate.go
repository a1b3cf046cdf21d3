package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	random "math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"henro/store/proof"
)

// work is a copy of a crawl that is taken apart.
type work struct {
	dir, log string            // of the log
	files    map[string][]byte // of the archive and its log, as they are
	warcs    []string          // of these, in the order of the log
	tiles    []string
	kept     []string // checkpoints before the newest
	leaves   []proof.Leaf
	newest   *proof.Checkpoint
	first    *proof.Checkpoint // kept while it grew
	touched  map[string]bool
	rng      *random.Rand
}

func newWork(dir, from string, number uint64) (*work, error) {
	if err := copyTree(dir, from); err != nil {
		return nil, err
	}
	w := &work{dir: dir, files: map[string][]byte{}, touched: map[string]bool{},
		rng: random.New(random.NewPCG(*seed, number))}
	var err error
	if w.log, w.newest, err = logOf(dir); err != nil {
		return nil, err
	}
	if w.first, err = proof.ReadCheckpoint(*early); err != nil {
		return nil, err
	}
	if w.leaves, err = leavesOf(w.log); err != nil || int64(len(w.leaves)) != w.newest.Size {
		return nil, fmt.Errorf("%d leaves: %w", len(w.leaves), err)
	}
	for _, l := range w.leaves {
		if l.IsEnd {
			w.warcs = append(w.warcs, filepath.Join(dir, "warc", l.File))
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isFile(path) {
			return err
		}
		w.files[path], err = os.ReadFile(path)
		switch {
		case strings.Contains(path, "/tile/"):
			w.tiles = append(w.tiles, path)
		case strings.Contains(path, "/checkpoints/"):
			w.kept = append(w.kept, path)
		}
		return err
	})
	return w, err
}

func (w *work) write(path string, data []byte) {
	w.touched[path] = true
	must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)))
}

func (w *work) remove(path string) {
	w.touched[path] = true
	must(os.Remove(path))
}

// restore makes everything what it was.
func (w *work) restore() {
	for path := range w.touched {
		if data, was := w.files[path]; was {
			must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)))
		} else if err := os.RemoveAll(path); err != nil {
			must(err)
		}
	}
	clear(w.touched)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func pick[T any](w *work, of []T) T { return of[w.rng.IntN(len(of))] }

// record is any record, and other one of another content.
func (w *work) record() proof.Leaf {
	for {
		if l := pick(w, w.leaves); !l.IsEnd && l.Length > 0 {
			return l
		}
	}
}

func (w *work) path(l proof.Leaf) string { return filepath.Join(w.dir, "warc", l.File) }

// stored are the bytes of a record.
func (w *work) stored(l proof.Leaf) []byte { return w.files[w.path(l)][l.Offset : l.Offset+l.Length] }

// replace puts other bytes in the place of a record.
func (w *work) replace(l proof.Leaf, by []byte) {
	data := w.files[w.path(l)]
	w.write(w.path(l), slices.Concat(data[:l.Offset], by, data[l.Offset+l.Length:]))
}

// flip changes one to 64 bytes of a file.
func (w *work) flip(path string) {
	data := bytes.Clone(w.files[path])
	if w.rng.IntN(3) > 0 {
		data[w.rng.IntN(len(data))] ^= 1 << w.rng.IntN(8)
	} else {
		at := w.rng.IntN(len(data))
		for i := at; i < min(at+1+w.rng.IntN(64), len(data)); i++ {
			data[i] ^= byte(1 + w.rng.IntN(255))
		}
	}
	w.write(path, data)
}

func (w *work) truncate(path string) {
	data := w.files[path]
	w.write(path, data[:w.rng.IntN(len(data))])
}

func (w *work) prolong(path string) {
	more := make([]byte, 1+w.rng.IntN(100))
	_, _ = rand.Read(more)
	w.write(path, append(bytes.Clone(w.files[path]), more...))
}

// swap has two files change places.
func (w *work) swap(among []string) {
	for {
		a, b := pick(w, among), pick(w, among)
		if !bytes.Equal(w.files[a], w.files[b]) {
			w.write(a, w.files[b])
			w.write(b, w.files[a])
			return
		}
	}
}

// exchange has two records change places, in one file or two.
func (w *work) exchange() {
	a, b := w.record(), w.record()
	for a.Sum == b.Sum {
		b = w.record()
	}
	if a.File != b.File {
		one, other := w.stored(a), w.stored(b)
		w.replace(a, other)
		w.replace(b, one)
		return
	}
	if a.Offset > b.Offset {
		a, b = b, a
	}
	data := w.files[w.path(a)]
	w.write(w.path(a), slices.Concat(data[:a.Offset], w.stored(b), data[a.Offset+a.Length:b.Offset], w.stored(a),
		data[b.Offset+b.Length:]))
}

// packed is a record packed anew: what it says is the same.
func (w *work) packed(l proof.Leaf) []byte {
	in, err := gzip.NewReader(bytes.NewReader(w.stored(l)))
	must(err)
	var out bytes.Buffer
	to, err := gzip.NewWriterLevel(&out, 1+w.rng.IntN(9))
	must(err)
	_, err = in.WriteTo(to)
	must(errors.Join(err, to.Close()))
	return out.Bytes()
}

// --- other histories

// without are the leaves and the files of an archive that never had a record.
func (w *work) without(gone proof.Leaf) (leaves []proof.Leaf) {
	for _, l := range w.leaves {
		if l.File == gone.File {
			switch {
			case l.IsEnd:
				l.Length, l.Records = l.Length-gone.Length, l.Records-1
			case l.Offset == gone.Offset:
				continue
			case l.Offset > gone.Offset:
				l.Offset -= gone.Length
			}
		}
		leaves = append(leaves, l)
	}
	return leaves
}

// grown are the leaves and behind them those of the file of a record, without it, as henro check --repair would log it.
func (w *work) grown(gone proof.Leaf) []proof.Leaf {
	leaves := slices.Clone(w.leaves)
	for _, l := range w.without(gone) {
		if l.File == gone.File {
			leaves = append(leaves, l)
		}
	}
	return leaves
}

// history writes the tiles of leaves, and returns the root at each size where a file ends, and the size of all.
func (w *work) history(leaves []proof.Leaf) (roots map[int64]tlog.Hash, size int64) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (all []tlog.Hash, _ error) {
		for _, i := range at {
			all = append(all, stored[i])
		}
		return all, nil
	})
	roots = map[int64]tlog.Hash{}
	var lines [][]byte
	for i, l := range leaves {
		lines = append(lines, l.Append(nil))
		more, err := tlog.StoredHashes(int64(i), lines[i], read)
		must(err)
		if stored = append(stored, more...); l.IsEnd {
			roots[int64(i)+1], err = tlog.TreeHash(int64(i)+1, read)
			must(err)
		}
	}
	for _, path := range w.tiles {
		w.remove(path)
	}
	size = int64(len(leaves))
	put := func(t tlog.Tile, data []byte) { w.write(filepath.Join(w.log, filepath.FromSlash(t.Path())), data) }
	for _, t := range tlog.NewTiles(10, 0, size) {
		data, err := tlog.ReadTileData(t, read)
		must(err)
		if put(t, data); t.L == 0 {
			t.L = -1
			put(t, bytes.Join(lines[t.N<<10:t.N<<10+int64(t.W)], nil))
		}
	}
	return roots, size
}

// checkpoint signs one, as henro does.
func (w *work) checkpoint(key note.Signer, public string, size int64, root tlog.Hash) []byte {
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\nkey %s\n", key.Name(), size, root,
		w.newest.At.Format("2006-01-02T15:04:05Z"), public)
	signed, err := note.Sign(&note.Note{Text: text}, key)
	must(err)
	return signed
}

func (w *work) ownKey() (note.Signer, string) {
	text, err := os.ReadFile(filepath.Join(w.dir, "proof", "key"))
	must(err)
	private, public, _ := strings.Cut(string(text), "\n")
	key, err := note.NewSigner(private)
	must(err)
	return key, strings.TrimSpace(public)
}

func (w *work) newKey(name string) (note.Signer, string) {
	private, public, err := note.GenerateKey(rand.Reader, name)
	must(err)
	key, err := note.NewSigner(private)
	must(err)
	return key, public
}

// sign writes the checkpoints of a history, those before the newest too if they are to fit.
func (w *work) sign(key note.Signer, public string, roots map[int64]tlog.Hash, size int64, all bool) {
	w.write(filepath.Join(w.log, "checkpoint"), w.checkpoint(key, public, size, roots[size]))
	if !all {
		return
	}
	for _, path := range w.kept {
		w.remove(path)
	}
	for at, root := range roots {
		if at < size {
			w.write(filepath.Join(w.log, "checkpoints", strconv.FormatInt(at, 10)),
				w.checkpoint(key, public, at, root))
		}
	}
}

// early is a record that was logged when the first checkpoint was kept.
func (w *work) early() proof.Leaf {
	for {
		i := w.rng.Int64N(w.first.Size)
		if l := w.leaves[i]; !l.IsEnd && l.Offset > 0 {
			return l
		}
	}
}

// mutation is a way to change an archive. holder: whoever does it has the key, or replaces all of the log, so that only
// a checkpoint that was kept elsewhere shows it.
type mutation struct {
	name   string
	often  int
	holder bool
	do     func(w *work)
}

var mutations = []mutation{
	{"bytes of a WARC file are others", 20, false, func(w *work) { w.flip(pick(w, w.warcs)) }},
	{"bytes of a record are others", 20, false, func(w *work) {
		l := w.record()
		data := bytes.Clone(w.stored(l))
		data[w.rng.IntN(len(data))] ^= byte(1 + w.rng.IntN(255))
		w.replace(l, data)
	}},
	{"a record is removed", 20, false, func(w *work) { w.replace(w.record(), nil) }},
	{"a record is another", 10, false, func(w *work) {
		a, b := w.record(), w.record()
		for a.Sum == b.Sum {
			b = w.record()
		}
		w.replace(a, w.stored(b))
	}},
	{"two records change places", 10, false, (*work).exchange},
	{"a record is added", 10, false, func(w *work) {
		at := w.record()
		w.replace(at, slices.Concat(w.stored(w.record()), w.stored(at)))
	}},
	{"a record is added at the end", 5, false, func(w *work) {
		path := pick(w, w.warcs)
		w.write(path, slices.Concat(w.files[path], w.stored(w.record())))
	}},
	{"a record is packed anew", 5, false, func(w *work) {
		for l := w.record(); ; l = w.record() {
			if by := w.packed(l); !bytes.Equal(by, w.stored(l)) {
				w.replace(l, by)
				return
			}
		}
	}},
	{"a file is removed", 5, false, func(w *work) { w.remove(pick(w, w.warcs)) }},
	{"a file is renamed", 5, false, func(w *work) {
		path := pick(w, w.warcs)
		w.write(filepath.Join(filepath.Dir(path), "other-"+filepath.Base(path)), w.files[path])
		w.remove(path)
	}},
	{"two files change names", 5, false, func(w *work) { w.swap(w.warcs) }},
	{"a file is cut off", 10, false, func(w *work) { w.truncate(pick(w, w.warcs)) }},
	{"a file is prolonged", 10, false, func(w *work) { w.prolong(pick(w, w.warcs)) }},
	{"bytes of a tile are others", 20, false, func(w *work) { w.flip(pick(w, w.tiles)) }},
	{"a tile is removed", 10, false, func(w *work) { w.remove(pick(w, w.tiles)) }},
	{"a tile is cut off", 5, false, func(w *work) { w.truncate(pick(w, w.tiles)) }},
	{"a tile is prolonged", 5, false, func(w *work) { w.prolong(pick(w, w.tiles)) }},
	{"two tiles change places", 5, false, func(w *work) { w.swap(w.tiles) }},
	{"bytes of the checkpoint are others", 10, false, func(w *work) { w.flip(filepath.Join(w.log, "checkpoint")) }},
	{"the checkpoint is removed", 2, false, func(w *work) { w.remove(filepath.Join(w.log, "checkpoint")) }},
	{"the checkpoint is cut off or prolonged", 5, false, func(w *work) {
		pick(w, []func(string){w.truncate, w.prolong})(filepath.Join(w.log, "checkpoint"))
	}},
	{"the checkpoint is an earlier one", 3, false, func(w *work) {
		w.write(filepath.Join(w.log, "checkpoint"), w.files[pick(w, w.kept)])
	}},
	{"bytes of an earlier checkpoint are others", 10, false, func(w *work) { w.flip(pick(w, w.kept)) }},
	{"an earlier checkpoint is removed", 4, false, func(w *work) { w.remove(pick(w, w.kept)) }},
	{"two earlier checkpoints change places", 3, false, func(w *work) { w.swap(w.kept) }},
	{"a leaf is another, with its hash", 5, false, func(w *work) {
		l := w.record()
		leaves := slices.Clone(w.leaves)
		at := slices.Index(leaves, l)
		leaves[at].Sum = sha256.Sum256([]byte(l.URI))
		w.history(leaves)
	}},
	{"a record never was, with all tiles", 5, false, func(w *work) {
		l := w.record()
		w.replace(l, nil)
		w.history(w.without(l))
	}},
	{"a checkpoint is forged by another key", 5, false, func(w *work) {
		l := w.record()
		w.replace(l, nil)
		roots, size := w.history(w.without(l))
		key, public := w.newKey(w.newest.Log)
		w.sign(key, public, roots, size, false)
	}},
	{"a checkpoint is forged by another key in the name of the first", 5, false, func(w *work) {
		l := w.record()
		w.replace(l, nil)
		roots, size := w.history(w.without(l))
		key, _ := w.newKey(w.newest.Log)
		w.sign(key, w.newest.Key, roots, size, w.rng.IntN(2) > 0)
	}},
	{"an earlier checkpoint is forged by another key", 3, false, func(w *work) {
		path := pick(w, w.kept)
		c, err := proof.ParseCheckpoint(w.files[path])
		must(err)
		key, public := w.newKey(c.Log)
		w.write(path, w.checkpoint(key, public, c.Size, c.Root))
	}},
	{"two histories, by the holder of the key, beside checkpoints of the first", 5, false, func(w *work) {
		l := w.early()
		w.replace(l, nil)
		roots, size := w.history(w.without(l))
		key, public := w.ownKey()
		w.sign(key, public, roots, size, false)
	}},
	{"two histories, by the holder of the key", 10, true, func(w *work) {
		l := w.early()
		w.replace(l, nil)
		roots, size := w.history(w.without(l))
		key, public := w.ownKey()
		w.sign(key, public, roots, size, true)
	}},
	{"a record is taken out as if mended, by the holder of the key", 10, true, func(w *work) {
		l := w.early()
		w.replace(l, nil)
		roots, size := w.history(w.grown(l))
		key, public := w.ownKey()
		w.sign(key, public, roots, size, true)
	}},
	{"all of the log is by another key", 5, true, func(w *work) {
		l := w.early()
		w.replace(l, nil)
		roots, size := w.history(w.without(l))
		key, public := w.newKey(w.newest.Log)
		w.sign(key, public, roots, size, true)
	}},
	{"the log is cut back, with its files", 5, true, func(w *work) {
		ends := 1 + w.rng.IntN(len(w.warcs)-1)
		for _, path := range w.warcs[ends:] {
			w.remove(path)
		}
		at := 0
		for ; ends > 0; at++ {
			if w.leaves[at].IsEnd {
				ends--
			}
		}
		_, size := w.history(w.leaves[:at])
		w.write(filepath.Join(w.log, "checkpoint"),
			w.files[filepath.Join(w.log, "checkpoints", strconv.FormatInt(size, 10))])
		for _, path := range w.kept {
			if kept, err := strconv.ParseInt(filepath.Base(path), 10, 64); err == nil && kept >= size {
				w.remove(path)
			}
		}
	}},
	{"the log is removed", 2, true, func(w *work) {
		for path := range w.files {
			if strings.HasPrefix(path, w.log) {
				w.remove(path)
			}
		}
	}},
}

// tally is what came of one kind.
type tally struct{ made, alone, since, byProgram int }

// mutateAll takes the archive of a crawl apart.
func mutateAll(from string) error {
	var drawn []*mutation
	for i := range mutations {
		drawn = append(drawn, slices.Repeat([]*mutation{&mutations[i]}, mutations[i].often)...)
	}
	tallies := map[*mutation]*tally{}
	for i := range mutations {
		tallies[&mutations[i]] = &tally{}
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	var missed []string
	workers := runtime.GOMAXPROCS(0)
	var broken error
	for n := range workers {
		wait.Go(func() {
			w, err := newWork(filepath.Join(scratch, fmt.Sprint("work", n)), from, uint64(n))
			for i := n; i < *count && err == nil; i += workers {
				m := drawn[i%len(drawn)]
				m.do(w)
				var alone, since []string
				before := w.newest
				if w.rng.IntN(2) > 0 && m.holder && !strings.HasPrefix(m.name, "the log is cut") {
					before = w.first
				}
				alone, err = logFaults(w.dir, nil)
				if err == nil {
					since, err = logFaults(w.dir, before)
				}
				found := err == nil && len(since) > 0 && (m.holder || len(alone) > 0)
				sampled := i%max(*count / *sample, 1) == 0
				if sampled && found {
					found = w.byProgram(m, before)
				}
				mu.Lock()
				t := tallies[m]
				t.made++
				if len(alone) > 0 {
					t.alone++
				}
				if len(since) > 0 {
					t.since++
				}
				if sampled {
					t.byProgram++
				}
				if !found {
					missed = append(missed, fmt.Sprintf("%s: %q", m.name, slices.Sorted(maps.Keys(w.touched))))
				}
				mu.Unlock()
				w.restore()
			}
			if err == nil { // whatever was done was undone
				alone, bad := logFaults(w.dir, w.newest)
				if err = bad; err == nil && len(alone) > 0 {
					err = fmt.Errorf("the archive is not what it was: %q", alone)
				}
			}
			mu.Lock()
			broken = errors.Join(broken, err)
			mu.Unlock()
		})
	}
	wait.Wait()
	var all tally
	for i := range mutations {
		m := &mutations[i]
		t := tallies[m]
		fmt.Printf("      %5d times %s: check found %d, check --since %d\n", t.made, m.name, t.alone, t.since)
		all.made, all.byProgram = all.made+t.made, all.byProgram+t.byProgram
	}
	for _, m := range missed[:min(len(missed), 20)] {
		fmt.Println("      missed:", m)
	}
	holds(len(missed) == 0 && broken == nil, "mutations: %d of %d are found, %d of them by the built program too",
		all.made-len(missed), all.made, all.byProgram)
	return broken
}

// byProgram has the built program judge what was done.
func (w *work) byProgram(m *mutation, since *proof.Checkpoint) bool {
	alone, said := code("check", w.dir)
	before, told := code("check", "--since", string(since.Note), w.dir)
	ok := before == 4 && (m.holder || alone == 4) && !bytes.Contains(slices.Concat(said, told), []byte("goroutine"))
	if !ok {
		fmt.Printf("      henro check ends with %d, with --since %d\n%s\n", alone, before, told)
	}
	return ok
}
