package bucket

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/parquet-go/parquet-go"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/proof"
)

// slave is the folder of one that archives.
type slave struct {
	t    *testing.T
	root string
}

func newSlave(t *testing.T) *slave {
	s := &slave{t: t, root: t.TempDir()}
	if err := os.Mkdir(s.dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *slave) dir() string { return filepath.Join(s.root, "warc") }

// file writes and logs a file of so many pages.
func (s *slave) file(name string, pages int) string {
	s.t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		s.t.Fatal(err)
	}
	var data []byte
	for i := range pages {
		url := weburl.MustParse(fmt.Sprintf("http://%s.test/%d", name, i))
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: url.String(), At: newS3At, Body: []byte(url.String()),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"),
			Request: []byte("GET / HTTP/1.1\r\n\r\n")})
	}
	path := filepath.Join(s.dir(), "HENRO-"+name+".warc.gz")
	err = errors.Join(os.WriteFile(path, data, 0o600), cdxj.IndexFile(path), proof.Complete(proof.Options{
		Dir: proof.Path(s.dir()), Archive: s.dir(), Prefix: "HENRO"}))
	if err != nil {
		s.t.Fatal(err)
	}
	return path
}

// bring puts a file and what belongs to it into a bucket, without its log.
func (s *slave) bring(to *s3, path string) {
	s.t.Helper()
	seal := ""
	for _, path := range []string{path, cdxj.Path(path)} {
		data, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		seal += Seal(hex.EncodeToString(sum[:]), filepath.Base(path))
		to.put(s.t, filepath.Base(path), data)
	}
	to.put(s.t, filepath.Base(path)+SealSuffix, []byte(seal))
}

func (s *s3) put(t *testing.T, name string, data []byte) {
	t.Helper()
	_, err := s.PutObject("archive", s.where.Prefix+"/"+name, map[string]string{"Last-Modified": s.at.UTC().Format(
		"Mon, 02 Jan 2006 15:04:05 GMT")}, bytes.NewReader(data), int64(len(data)), nil)
	if err != nil {
		t.Fatal(err)
	}
}

// all are the objects of the bucket, by name.
func (s *s3) all(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	list, err := s.ListBucket("archive", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		got, err := s.GetObject("archive", o.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if found[strings.TrimPrefix(o.Key, s.where.Prefix+"/")], err = io.ReadAll(got.Contents); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func (s *s3) logs(t *testing.T) *Logs { return s.open(t).Logs(t.Context()) }

func (s *s3) check(t *testing.T, since *proof.Checkpoint) *Checked {
	t.Helper()
	c, err := Check(t.Context(), s.where, since, func(string, uint64, uint64) {})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestALogIsBroughtWhereverItIsCutOff: what is there is clean after each request, and complete after the next try. A
// file that is not in the bucket yet is in no log there, and the key never is.
func TestALogIsBroughtWhereverItIsCutOff(t *testing.T) {
	from := newSlave(t)
	paths := []string{from.file("1", 90), from.file("2", 700), from.file("3", 10)}
	key, err := os.ReadFile(filepath.Join(proof.Path(from.dir()), "key"))
	if err != nil {
		t.Fatal(err)
	}
	private, _, _ := strings.Cut(string(key), "\n")
	for cut := int64(0); ; cut++ {
		s := newS3(t)
		from.bring(s, paths[0])
		if err := s.logs(t).Bring(t.Context(), paths[0]); err != nil {
			t.Fatal(err)
		}
		from.bring(s, paths[1])
		s.left.Store(cut)
		err := s.logs(t).Bring(t.Context(), paths[1])
		s.left.Store(1 << 40)
		if c := s.check(t, nil); c.Count > 0 || c.Unlogged > 1 {
			t.Errorf("cut off at %d: %q, %d are in no log", cut, c.Problems, c.Unlogged)
		}
		if err := s.logs(t).Bring(t.Context(), paths[1]); err != nil {
			t.Fatal(cut, err)
		}
		c := s.check(t, nil)
		if c.Count > 0 || c.Unlogged > 0 || len(c.Logs) != 1 || c.Logs[0].Files != 2 || c.Files != 2 {
			t.Errorf("cut off at %d, and brought again: %+v", cut, c)
		}
		for name, data := range s.all(t) {
			if strings.HasSuffix(name, "key") || bytes.Contains(data, []byte(private)) {
				t.Errorf("cut off at %d: %s has the key", cut, name)
			}
		}
		if err == nil {
			if cut < 20 {
				t.Errorf("a log is brought by %d requests", cut)
			}
			return
		}
	}
}

// TestALogLeavesTheDiskOnceItIsBrought: but for what it goes on from, and the leaves of files that are here. It goes on
// when the store has lost the end of what was brought, and not when all is gone.
func TestALogLeavesTheDiskOnceItIsBrought(t *testing.T) {
	from, s := newSlave(t), newS3(t)
	parts := func() (parts []string) {
		t.Helper()
		dir := proof.Path(from.dir())
		err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
			name := filepath.ToSlash(file)
			if err == nil && !d.IsDir() && (strings.Contains(name, "/tile/") ||
				strings.Contains(name, "/checkpoints/")) {
				parts = append(parts, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	var path, stayed string
	for i := range 8 {
		before := path
		if i < 7 {
			path = from.file(fmt.Sprint(i), 700)
		} else { // the start of a slave that has nothing new
			if err := proof.Complete(proof.Options{Dir: proof.Path(from.dir()), Archive: from.dir(),
				Prefix: "HENRO"}); err != nil {
				t.Fatal(err)
			}
		}
		from.bring(s, path)
		if err := s.logs(t).Bring(t.Context(), path); err != nil {
			t.Fatal(i, err)
		}
		if c := s.check(t, nil); c.Count > 0 || c.Unlogged > 0 || c.Logs[0].Checkpoint.Size != int64(min(i, 6)+1)*1401 {
			t.Fatalf("file %d: %+v", i, c)
		}
		// Of the one that is here 1,400 records are logged, in two or three tiles, and one tile is not full.
		if left := parts(); i > 0 && i < 6 && len(left) > 2*4+2+2 {
			t.Errorf("file %d: %q are here", i, left)
		}
		if i == 6 { // as if the slave was killed
			stayed = before
		} else if i > 0 && i < 6 {
			if err := os.Remove(before); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, data := range s.all(t) {
		if strings.HasSuffix(name, "/checkpoint") {
			s.put(t, name, data[:20])
		}
	}
	bring := func() error { return s.logs(t).Bring(t.Context(), path) }
	if err := errors.Join(s.logs(t).Bring(t.Context(), stayed), bring()); err != nil {
		t.Fatal(err)
	}
	if c := s.check(t, nil); c.Count > 0 {
		t.Errorf("after half a checkpoint: %q", c.Problems)
	}
	remove := func(what string) {
		t.Helper()
		for name := range s.all(t) {
			if strings.HasPrefix(name, LogsFolder) && strings.Contains(name, what) {
				if _, err := s.DeleteObject("archive", s.where.Prefix+"/"+name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	remove("/checkpoint")
	if err := bring(); !errors.Is(err, proof.ErrOther) {
		t.Errorf("all checkpoints are gone: %v", err)
	}
}

// TestWhateverOfALogIsAlteredIsNamed: each object of a log, and each record, altered and removed; and logs that are not
// the one that was brought before.
func TestWhateverOfALogIsAlteredIsNamed(t *testing.T) {
	from, s := newSlave(t), newS3(t)
	var kept *proof.Checkpoint
	for i, pages := range []int{90, 10, 700} {
		path := from.file(fmt.Sprint(i), pages)
		from.bring(s, path)
		if err := s.logs(t).Bring(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if kept == nil {
			kept = s.check(t, nil).Logs[0].Checkpoint
			s.withoutItsOnlyCheckpoint(t, kept)
		}
	}
	if c := s.check(t, kept); c.Count > 0 || c.Unlogged > 0 || c.Logs[0].Records != 1600 {
		t.Fatalf("%+v", c)
	}
	all, objects := s.all(t), 0
	for name, data := range all {
		if _, isLog := strings.CutPrefix(name, LogsFolder+"/"); !isLog && !strings.HasSuffix(name, ".warc.gz") {
			continue
		}
		objects++
		altered := bytes.Clone(data)
		altered[len(data)/2] ^= 1
		for what, is := range map[string][]byte{"altered": altered, "cut off": data[:len(data)-1], "removed": nil} {
			if s.put(t, name, is); is == nil {
				if _, err := s.DeleteObject("archive", s.where.Prefix+"/"+name); err != nil {
					t.Fatal(err)
				}
			}
			c := s.check(t, kept)
			if !slices.ContainsFunc(c.Problems, func(p string) bool { return strings.Contains(p, name) }) {
				t.Errorf("%s was %s: %q", name, what, c.Problems)
			}
		}
		s.put(t, name, data)
	}
	if objects < 3+1+2+3*3 {
		t.Errorf("%d objects", objects)
	}
	if _, err := proof.Prove(s.logs(t), "HENRO-1.warc.gz", 0); err != nil {
		t.Error(err)
	}

	// The log of the slave was put back, and went on to others.
	other := newSlave(t)
	first := other.file("0", 90)
	if err := os.CopyFS(filepath.Join(other.root, "proof2"), os.DirFS(proof.Path(other.dir()))); err != nil {
		t.Fatal(err)
	}
	twice := newS3(t)
	other.bring(twice, first)
	second := other.file("1", 10)
	other.bring(twice, second)
	for _, path := range []string{first, second} {
		if err := twice.logs(t).Bring(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	before := twice.check(t, nil).Logs[0].Checkpoint
	if err := errors.Join(os.RemoveAll(proof.Path(other.dir())), os.Remove(first), os.Remove(second),
		os.Rename(filepath.Join(other.root, "proof2"), proof.Path(other.dir()))); err != nil {
		t.Fatal(err)
	}
	third := other.file("2", 20)
	unchanged := twice.all(t)
	other.bring(twice, third)
	if err := twice.logs(t).Bring(t.Context(), third); !errors.Is(err, proof.ErrOther) {
		t.Errorf("another history of the log: %v", err)
	}
	for name, data := range twice.all(t) {
		if was, there := unchanged[name]; there && !bytes.Equal(was, data) {
			t.Errorf("%s was written over", name)
		}
	}
	// Somebody with the key puts it in place of the first.
	for name := range unchanged {
		if strings.HasPrefix(name, LogsFolder) {
			if _, err := twice.DeleteObject("archive", twice.where.Prefix+"/"+name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := twice.logs(t).Bring(t.Context(), third); err != nil {
		t.Fatal(err)
	}
	if c := twice.check(t, before); !slices.ContainsFunc(c.Problems, func(p string) bool {
		return strings.Contains(p, "two histories of one log")
	}) {
		t.Errorf("another history: %q", c.Problems)
	}
}

// withoutItsOnlyCheckpoint: a log looks as one that is being brought, so it is named, and damage once nothing comes.
func (s *s3) withoutItsOnlyCheckpoint(t *testing.T, kept *proof.Checkpoint) {
	name, began, warcs := LogsFolder+"/"+kept.Log+"/checkpoint", s.at, s.all(t)
	if _, err := s.DeleteObject("archive", s.where.Prefix+"/"+name); err != nil {
		t.Fatal(err)
	}
	for ago, damaged := range map[time.Duration]bool{0: false, keepAfter: true} {
		s.at = time.Now().Add(-ago)
		s.put(t, "HENRO-0.warc.gz", warcs["HENRO-0.warc.gz"])
		c, said := s.check(t, nil), &bytes.Buffer{}
		proof.Print(said, c.Logs, nil, c.Altered)
		fmt.Fprint(said, c.Problems)
		if (c.Count == 1 && c.Altered == 1) != damaged || !strings.Contains(said.String(), name) {
			t.Errorf("%v ago: %s", ago, said)
		}
		if c = s.check(t, kept); c.Altered == 0 { // which says that it was there
			t.Errorf("%v ago, since then: %q", ago, c.Problems)
		}
	}
	s.at = began
	s.put(t, name, kept.Note)
	s.put(t, "HENRO-0.warc.gz", warcs["HENRO-0.warc.gz"])
}

// TestATableIsComparedWithItsIndex, whether it is of a WARC file or of a part of the index. One whose bytes differ and
// whose rows do not, as another henro writes it, is clean.
func TestATableIsComparedWithItsIndex(t *testing.T) {
	from := newSlave(t)
	path := from.file("1", 50)
	index := cdxj.Path(path)
	lines, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	write := func(lines []byte) []byte {
		to, of := filepath.Join(t.TempDir(), "a.parquet"), filepath.Join(t.TempDir(), "a.cdxj")
		if err := errors.Join(os.WriteFile(of, lines, 0o600), WriteTable(to, of)); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	whole := write(lines)
	_, fewer, _ := bytes.Cut(lines, []byte("\n"))
	packed := func(options ...parquet.WriterOption) []byte {
		f, err := parquet.OpenFile(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := parquet.NewWriter(&out, append(options, f.Schema())...)
		for _, group := range f.RowGroups() {
			rows := group.Rows()
			if _, err := parquet.CopyRows(w, rows); err != nil {
				t.Fatal(err)
			}
			rows.Close()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	damaged := bytes.Clone(whole)
	for i := range 256 { // the first column: what is said of columns behind them changes no row
		damaged[4+i] ^= 0xff
	}
	for name, c := range map[string]struct {
		table []byte
		clean bool
	}{
		"as it was written": {whole, true},
		"of another writer": {packed(parquet.Compression(&parquet.Snappy)), true},
		"a row is gone":     {write(fewer), false},
		"a status is other": {write(bytes.Replace(lines, []byte(`s":"200"`), []byte(`s":"404"`), 1)), false},
		"no Parquet":        {[]byte("PAR1 PAR1"), false},
		"empty":             {nil, false},
		"a page is damaged": {damaged, false},
		"cut off":           {whole[:len(whole)-9], false},
	} {
		for _, taken := range []bool{false, true} {
			s := newS3(t)
			s.where.Beside = nil
			from.bring(s, path)
			at := s.where.TableName(filepath.Base(index))
			s.put(t, at, whole)
			if taken {
				if _, err := s.keeper(t).Pass(t.Context()); err != nil {
					t.Fatal(err)
				}
				tables, err := s.open(t).Tables(t.Context())
				if err != nil || len(tables) != 1 {
					t.Fatal(tables, err)
				}
				for _, o := range tables {
					at = o.Name
				}
			}
			s.put(t, at, c.table)
			got := s.check(t, nil)
			named := slices.ContainsFunc(got.Problems, func(p string) bool { return strings.Contains(p, at) })
			if got.Count == 0 != c.clean || named == c.clean {
				t.Errorf("%s, in the index %v: %q", name, taken, got.Problems)
			}
		}
	}
}

// FuzzTable: whatever lies where a table should be, it is compared, and nothing breaks.
func FuzzTable(f *testing.F) {
	dir := f.TempDir()
	want, got := filepath.Join(dir, "want"), filepath.Join(dir, "got")
	var lines bytes.Buffer
	for line := range linesOf(20) {
		lines.Write(line)
	}
	index := filepath.Join(dir, "a.cdxj")
	if err := errors.Join(os.WriteFile(index, lines.Bytes(), 0o600), WriteTable(want, index)); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(want)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(got, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if differs, err := compareTables(got, want); err != nil || bytes.Equal(data, whole) && differs != "" {
			t.Error(differs, err)
		}
	})
}
