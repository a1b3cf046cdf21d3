package proof

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"henro/store/archive/warc"
)

// archive is a folder with WARC files as the Archivist writes them, and their log.
type archive struct {
	t       testing.TB
	root    string
	builder *warc.Builder
	writer  *warc.Writer
	log     *Log
	pages   int
}

func newArchive(t testing.TB, packed warc.Compression) *archive {
	o := warc.DefaultWriterOptions()
	o.Records.Compression = packed
	root := t.TempDir()
	o.Dir = filepath.Join(root, "warc")
	b, err := warc.NewBuilder(o.Records)
	if err := errors.Join(err, os.Mkdir(o.Dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	w, err := warc.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{t: t, root: root, builder: b, writer: w}
	a.open()
	return a
}

func (a *archive) folder() string { return filepath.Join(a.root, "warc") }
func (a *archive) proof() string  { return filepath.Join(a.root, "proof") }

func (a *archive) open() {
	a.t.Helper()
	var err error
	a.log, err = Open(Options{Dir: a.proof(), Archive: a.folder(), Prefix: "HENRO",
		Failed: func(file string, err error) { a.t.Errorf("%s: %v", file, err) }})
	if err != nil {
		a.t.Fatal(err)
	}
}

// file writes a file of so many pages. logged: its leaves are made on the way.
func (a *archive) file(pages int, logged bool) string {
	a.t.Helper()
	for range pages {
		a.pages++
		url := fmt.Sprintf("https://docs.example/page/%d?q=ü b", a.pages)
		x := &warc.Exchange{URI: url, At: time.Unix(1790000000+int64(a.pages), 0),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Head: []byte("HTTP/1.1 200 OK\r\n\r\n"),
			Body: bytes.Repeat(fmt.Appendf(nil, "page %d ", a.pages), a.pages%50)}
		records, m := a.builder.AppendExchange(nil, x)
		offset, err := a.writer.Append(records)
		if err == nil {
			err = a.writer.Sync()
		}
		if err != nil {
			a.t.Fatal(err)
		}
		if logged {
			a.log.Add(a.writer.Name(), offset, records, []Part{{m.Capture, warc.Response, x.At, url},
				{m.Request, warc.Request, x.At, url}})
		}
	}
	name, err := a.writer.Finish()
	if err != nil {
		a.t.Fatal(err)
	}
	a.log.Finish(name, !logged)
	return name
}

func (a *archive) close() {
	a.t.Helper()
	if err := a.log.Close(); err != nil {
		a.t.Fatal(err)
	}
}

// check returns what is wrong.
func (a *archive) check(since *Checkpoint) (faults []string) {
	a.t.Helper()
	_, err := Check(Disk(a.proof()), Folder(a.folder()), since, func(uint64, uint64) {},
		func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) })
	if err != nil {
		a.t.Fatal(err)
	}
	return faults
}

func (a *archive) newest() *Checkpoint {
	a.t.Helper()
	names, err := Logs(Disk(a.proof()))
	if err != nil || len(names) != 1 {
		a.t.Fatal(names, err)
	}
	text, err := os.ReadFile(filepath.Join(a.proof(), names[0], checkpointFile))
	if err != nil {
		a.t.Fatal(err)
	}
	c, err := ParseCheckpoint(text)
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// text are all leaves of the log.
func (a *archive) text() string {
	a.t.Helper()
	c := a.newest()
	f := files{home: Disk(a.proof()), log: c.Log, size: c.Size}
	var all []byte
	for n := int64(0); n*perTile < c.Size; n++ {
		lines, err := f.leaves(n)
		if err != nil {
			a.t.Fatal(err)
		}
		all = append(all, bytes.Join(lines, nil)...)
	}
	return string(all)
}

func (a *archive) wants(faults []string, want ...string) {
	a.t.Helper()
	for _, w := range want {
		if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, w) }) {
			a.t.Errorf("no fault says %q: %q", w, faults)
		}
	}
	if len(want) == 0 && len(faults) > 0 {
		a.t.Errorf("faults: %q", faults)
	}
}

// The leaves that are made while a file is written are those that are read from the file.
func TestLeavesAreTheSameHoweverTheyAreMade(t *testing.T) {
	for _, packed := range []warc.Compression{warc.Gzip, warc.None, warc.Zstd} {
		a := newArchive(t, packed)
		for i := range 5 {
			a.file(20+90*i, true)
		}
		a.close()
		a.wants(a.check(nil))
		text := a.text()
		if n := strings.Count(text, " record "); n != 5+2*1000 {
			t.Errorf("%v: %d records are logged", packed, n)
		}
		if err := os.RemoveAll(a.proof()); err != nil {
			t.Fatal(err)
		}
		a.open()
		a.close()
		a.wants(a.check(nil))
		if again := a.text(); again != text {
			t.Errorf("%v: read from the files the leaves are others:\n%.500s\n%.500s", packed, again, text)
		}
	}
}

// Records of several pages that are added together are each of its own page and moment.
func TestLeavesOfSeveralPagesAreAddedTogether(t *testing.T) {
	a := newArchive(t, warc.Gzip)
	var records []byte
	var parts []Part
	for i, url := range []string{"https://a.example/", "https://a.example/", "https://b.example/\x01ü\x7f\xff"} {
		at := time.Unix(1790000000+int64(i), 0)
		x := &warc.Exchange{URI: url, At: at, Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head: []byte("HTTP/1.1 200 OK\r\n\r\n")}
		var m warc.Members
		records, m = a.builder.AppendExchange(records, x)
		parts = append(parts, Part{m.Capture, warc.Response, at, url}, Part{m.Request, warc.Request, at, url})
	}
	offset, err := a.writer.Append(records)
	if err != nil {
		t.Fatal(err)
	}
	a.log.Add(a.writer.Name(), offset, records, parts)
	a.file(0, true)
	a.close()
	text := a.text()
	for _, p := range parts {
		leaf := " " + string(p.Type) + " " + stamp(p.At) + " " + plain(p.TargetURI) + "\n"
		if strings.Count(text, leaf) != 1 {
			t.Errorf("%q is not there once: %s", leaf, text)
		}
	}
	for field, want := range map[string]string{"": "-", " \t": "-", "a\r\nb": "a  b", "\x7fé": "é",
		"a\xff": "a\ufffd"} {
		if got := plain(field); got != want {
			t.Errorf("%q is %q, want %q", field, got, want)
		}
	}
}

// The tree is that of tlog, at every size.
func TestTheTreeIsThatOfRFC6962(t *testing.T) {
	var ours tree
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (all []tlog.Hash, _ error) {
		for _, i := range at {
			all = append(all, stored[i])
		}
		return all, nil
	})
	for n := range int64(3*perTile + 300) {
		want, err := tlog.TreeHash(n, read)
		if err != nil || ours.root() != want || ours.size != n {
			t.Fatalf("the root of %d leaves is %v, not %v; %v", n, ours.root(), want, err)
		}
		line := fmt.Appendf(nil, "leaf %d\n", n)
		more, err := tlog.StoredHashes(n, line, read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		if err := ours.add(tlog.RecordHash(line), func(level int, n int64, hashes []tlog.Hash) error {
			data, err := tlog.ReadTileData(tlog.Tile{H: height, L: level, N: n, W: perTile}, read)
			if err == nil && !bytes.Equal(data, joined(hashes)) {
				err = fmt.Errorf("tile %d of level %d is another", n, level)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever of a log is there when a process dies, the next one goes on from the newest checkpoint, and no index ever
// has two leaves that a checkpoint has named.
func TestALogGoesOnWhereverItsProcessDied(t *testing.T) {
	a := newArchive(t, warc.Gzip)
	a.file(550, true)
	a.close()
	first := a.newest()
	whole := snapshot(t, a.proof())
	a.open()
	second := a.file(550, true)
	a.close()
	grown := snapshot(t, a.proof())
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		// What the second file added is there by chance, cut off or not; the checkpoint is the old one.
		restore(t, a.proof(), whole)
		for path, data := range grown {
			if filepath.Base(path) == checkpointFile || bytes.Equal(whole[path], data) || random.IntN(2) == 0 {
				continue
			}
			restore(t, "", map[string][]byte{path: data[:random.IntN(len(data)+1)]})
		}
		restore(t, "", map[string][]byte{filepath.Join(a.proof(), second+openSuffix): []byte("henro/1 rec")})
		a.open()
		a.close()
		if faults := a.check(first); len(faults) > 0 {
			t.Fatalf("round %d: %q", round, faults)
		}
		if got := a.text(); strings.Count(got, " end "+second) != 1 {
			t.Fatalf("round %d: %s is not logged once", round, second)
		}
		if left, _ := filepath.Glob(filepath.Join(a.proof(), "*"+openSuffix)); len(left) > 0 {
			t.Errorf("round %d: %q are left", round, left)
		}
	}
}

func snapshot(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[path], err = os.ReadFile(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// restore writes files; what else is in dir, if it is not "", goes.
func restore(t testing.TB, dir string, all map[string][]byte) {
	t.Helper()
	if dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for path, data := range all {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEachFaultHasItsName(t *testing.T) {
	a := newArchive(t, warc.Gzip)
	a.file(400, true)
	a.close()
	early := a.newest()
	a.open()
	name := a.file(1200, true)
	a.close()
	latest := a.newest()
	before := snapshot(t, a.root)
	path := filepath.Join(a.folder(), name)
	log := filepath.Join(a.proof(), latest.Log)
	var records []Leaf
	for line := range strings.Lines(a.text()) {
		if l, err := ParseLeaf([]byte(line)); err != nil {
			t.Fatal(err)
		} else if l.File == name && !l.IsEnd {
			records = append(records, l)
		}
	}
	cut := func(from, to int64) {
		data := before[path]
		restore(t, "", map[string][]byte{path: slices.Concat(data[:from], data[to:])})
	}
	flip := func(file string, at int) {
		data := bytes.Clone(before[file])
		data[at] ^= 1
		restore(t, "", map[string][]byte{file: data})
	}
	grow := func() { restore(t, "", map[string][]byte{path: append(bytes.Clone(before[path]), 1)}) }
	r, end := records[100], int64(len(before[path]))
	last := records[len(records)-1]
	for what, c := range map[string]struct {
		do   func()
		want []string
	}{
		"nothing": {func() {},
			nil},
		"a file is gone": {func() { os.Remove(path) },
			[]string{name + ": the file is gone, with 2401 records"}},
		"a byte of a record": {func() { flip(path, int(r.Offset)+30) },
			[]string{r.String() + " was altered"}},
		"a record is gone": {func() { cut(r.Offset, r.Offset+r.Length) },
			[]string{r.String() + " was removed"}},
		"records are gone": {func() { cut(r.Offset, records[104].Offset) },
			[]string{records[103].String() + " was removed"}},
		"the last record is gone": {func() { cut(last.Offset, end) },
			[]string{last.String() + " was removed"}},
		"a record is cut off": {func() { cut(end-3, end) },
			[]string{last.String() + " was altered", "bytes, the log says"}},
		"bytes are added": {grow,
			[]string{"bytes, the log says"}},
		"a tile of hashes": {func() { flip(filepath.Join(log, hashTile(0, 1, perTile)), 40) },
			[]string{"tile/10/0/001: was altered: it does not fit its leaves"}},
		"a tile above": {func() { flip(filepath.Join(log, hashTile(1, 0, 3)), 40) },
			[]string{"tile/10/1/000.p/3: was altered"}},
		"a tile of leaves": {func() { flip(filepath.Join(log, leafTile(2, perTile)), 400) },
			[]string{"tile/10/data/002: was altered: it does not fit its hashes"}},
		"a tile is gone": {func() { os.Remove(filepath.Join(log, leafTile(0, perTile))) },
			[]string{"tile/10/data/000: no such file"}},
		"the checkpoint": {func() { flip(filepath.Join(log, checkpointFile), 60) },
			[]string{"/checkpoint: "}},
		"the checkpoint is gone": {func() { os.Remove(filepath.Join(log, checkpointFile)) },
			[]string{"/checkpoint: no such file"}},
		"an earlier checkpoint": {func() { flip(filepath.Join(log, keptFile(early.Size)), 60) },
			[]string{keptFile(early.Size) + ": "}},
		"it is gone": {func() { os.Remove(filepath.Join(log, keptFile(early.Size))) },
			[]string{"is missing"}},
		"the log is gone": {func() { os.RemoveAll(log) },
			[]string{"the log " + latest.Log + " of the earlier checkpoint is not here"}},
	} {
		restore(t, a.root, before)
		c.do()
		faults := a.check(latest)
		t.Logf("%s: %q", what, faults)
		a.wants(faults, c.want...)
	}
}

// Whoever has the key and logs other leaves is found by a checkpoint of the first history; so is a log that was cut
// back.
func TestTwoHistoriesOfALogAreNamed(t *testing.T) {
	a := newArchive(t, warc.Gzip)
	first := a.file(100, true)
	a.close()
	begun := snapshot(t, a.root)
	a.open()
	a.file(100, true)
	a.close()
	kept := a.newest()

	restore(t, a.root, begun)
	a.wants(a.check(kept), "it was cut back")
	a.open()
	a.file(150, true)
	a.close()
	a.wants(a.check(kept), "two histories of one log")
	a.wants(a.check(nil))

	// Another log of the name, with a key of its own.
	key, err := os.ReadFile(filepath.Join(a.proof(), keyFile))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(a.proof(), keyFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is not its owner's alone: %v %v", info.Mode(), err)
	}
	secret, _, _ := bytes.Cut(key, []byte("\n"))
	for path, data := range snapshot(t, a.proof()) {
		if filepath.Base(path) != keyFile && bytes.Contains(data, secret) {
			t.Errorf("%s holds the private key", path)
		}
	}
	if err := os.Remove(filepath.Join(a.folder(), first)); err != nil {
		t.Fatal(err)
	}
	a.wants(a.check(nil), first+": the file is gone")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("henro/1 record A-1.warc.gz 0 10 " + strings.Repeat("ab", 32) +
		" response 2026-11-27T04:00:00Z https://a b\n"))
	f.Add([]byte("henro/1 end A-1.warc.gz 10 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := ParseLeaf(data); err == nil && !bytes.Equal(l.Append(nil), data) {
			t.Errorf("%q is another leaf: %q", data, l.Append(nil))
		}
		if c, err := ParseCheckpoint(data); err == nil && !isLog(c.Log) {
			t.Error(c)
		}
	})
}

// What henro check --repair did to files is logged, so that the archive agrees with its log again; by an earlier
// checkpoint, what it took away is named, and what it moved is not.
func TestWhatWasMendedIsLogged(t *testing.T) {
	a := newArchive(t, warc.Gzip)
	first, second := a.file(50, true), a.file(60, true)
	a.close()
	kept := a.newest()
	var gone Leaf
	for line := range strings.Lines(a.text()) {
		if l, err := ParseLeaf([]byte(line)); err == nil && l.File == first && !l.IsEnd && gone.Offset < 2000 {
			gone = l
		}
	}
	path := filepath.Join(a.folder(), first)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	restore(t, "", map[string][]byte{path: slices.Concat(data[:gone.Offset], data[gone.Offset+gone.Length:])})
	if err := os.Remove(filepath.Join(a.folder(), second)); err != nil {
		t.Fatal(err)
	}
	a.wants(a.check(nil), gone.String()+" was removed", second+": the file is gone")
	mended, err := Mend(Options{Dir: a.proof(), Archive: a.folder()}, []string{first})
	if err != nil || len(mended) != 2 {
		t.Fatal(mended, err)
	}
	a.wants(a.check(nil))
	faults := a.check(kept)
	a.wants(faults, gone.String()+" was removed when the file was mended", "/page/110?q=ü b at")
	if len(faults) != 1+1+2*60 {
		t.Errorf("%d faults: %q", len(faults), faults)
	}
	if mended, err := Mend(Options{Dir: a.proof(), Archive: a.folder()}, nil); err != nil || len(mended) != 0 {
		t.Error(mended, err)
	}
	a.open()
	a.close()
	a.wants(a.check(nil))
}

// A proof of any record is checked without the archive; it is small, and no byte of it can be another.
func TestARecordIsProvedWithoutTheArchive(t *testing.T) {
	a := newArchive(t, warc.Gzip)
	for i := range 4 {
		a.file(30+100*i, true)
	}
	a.close()
	var some []byte
	for line := range strings.Lines(a.text()) {
		l, err := ParseLeaf([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if l.IsEnd || l.Offset > 9000 && l.Offset%7 != 0 {
			continue
		}
		p, err := Prove(Disk(a.proof()), l.File, l.Offset)
		if err != nil {
			t.Fatal(err)
		}
		some = p.Format()
		again, err := ParseProof(some)
		if err != nil || !bytes.Equal(again.Format(), some) || string(again.Line) != line || len(some) > 4096 {
			t.Fatalf("%v: %d bytes: %s", err, len(some), some)
		}
		if err := p.CheckRecord(filepath.Join(a.folder(), l.File)); err != nil {
			t.Error(err)
		}
	}
	for i := range 2 * len(some) {
		damaged, at := bytes.Clone(some), i/2
		damaged[at] ^= byte(i%2 + 1)
		if _, err := ParseProof(damaged); err == nil {
			t.Errorf("byte %d may be another: %q", at, damaged[max(0, at-20):at+1])
		}
	}
	sign := bytes.LastIndex(some, []byte("="))
	for digit := byte('A'); digit <= 'Z'; digit++ { // the last of the signature has bits that a signature has not
		if other := slices.Concat(some[:sign-1], []byte{digit}, some[sign:]); !bytes.Equal(other, some) {
			if _, err := ParseProof(other); err == nil {
				t.Errorf("the signature may be written in two ways: %s", other[sign-90:])
			}
		}
	}
	p, err := ParseProof(some)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.folder(), p.Leaf.File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "record")
	stored := data[p.Leaf.Offset:][:p.Leaf.Length]
	for _, c := range []struct {
		bytes []byte
		ok    bool
	}{{stored, true}, {stored[1:], false}, {slices.Concat(stored[:9], []byte("x"), stored[10:]), false}} {
		restore(t, "", map[string][]byte{record: c.bytes})
		if err := p.CheckRecord(record); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.ok, err)
		}
	}
	if _, err := Prove(Disk(a.proof()), p.Leaf.File, p.Leaf.Offset+1); !errors.Is(err, ErrNotLogged) {
		t.Error(err)
	}
	if _, err := Prove(Disk(a.proof()), "HENRO-2.warc.gz", 0); !errors.Is(err, ErrNotLogged) {
		t.Error(err)
	}
}

func TestTheSidesOfAPathLeadToTheRoot(t *testing.T) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (all []tlog.Hash, _ error) {
		for _, i := range at {
			all = append(all, stored[i])
		}
		return all, nil
	})
	for n := range int64(70) {
		more, err := tlog.StoredHashes(n, fmt.Append(nil, n), read)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		root, err := tlog.TreeHash(n+1, read)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n + 1 {
			path, err := tlog.ProveRecord(n+1, i, read)
			if err != nil {
				t.Fatal(err)
			}
			hash := tlog.RecordHash(fmt.Append(nil, i))
			p := Proof{Index: i, Path: path, Checkpoint: &Checkpoint{Size: n + 1}}
			for k, left := range p.sides() {
				if left {
					hash = tlog.NodeHash(path[k], hash)
				} else {
					hash = tlog.NodeHash(hash, path[k])
				}
			}
			if hash != root {
				t.Fatalf("leaf %d of %d", i, n+1)
			}
		}
	}
}
