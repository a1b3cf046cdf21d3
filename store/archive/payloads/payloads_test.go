package payloads_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"henro/messages/weburl"
	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/payloads"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func entry(url, payload string, at time.Time) *cdxj.Entry {
	return &cdxj.Entry{URL: url, At: at, Mime: "text/html", Digest: warc.Sum([]byte(payload)).Base32()}
}

func opened(t *testing.T, path string) *payloads.Index {
	t.Helper()
	x := payloads.New(path)
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func add(t *testing.T, x *payloads.Index, entries ...*cdxj.Entry) {
	t.Helper()
	for _, e := range entries {
		if err := x.Add(e); err != nil {
			t.Fatal(err)
		}
	}
}

// finds returns "URL moment" of the capture with a payload, or nothing.
func finds(x *payloads.Index, payload string) string {
	e, ok := x.Find(warc.Sum([]byte(payload)))
	if !ok {
		return ""
	}
	return e.URI + " " + cdxj.Stamp(e.At)
}

func TestTheFirstCaptureOfAPayloadIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	x := opened(t, path)
	add(t, x, entry("http://a.example/1", "one", noon), entry("http://b.example/", "one", noon.Add(time.Hour)),
		entry("http://a.example/2", "two", noon))
	revisit := entry("http://a.example/3", "three", noon)
	revisit.Mime = cdxj.Revisit
	other := entry("http://a.example/4", "four", noon)
	other.Digest = "not a digest"
	add(t, x, revisit, other)
	check := func(x *payloads.Index, when string) {
		t.Helper()
		for payload, want := range map[string]string{"one": "http://a.example/1 20260314120000",
			"two": "http://a.example/2 20260314120000", "three": "", "four": "", "five": ""} {
			if got := finds(x, payload); got != want {
				t.Errorf("%s %s is found at %q, want %q", when, payload, got, want)
			}
		}
	}
	check(x, "waiting,")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if got := finds(x, "one"); got != "" {
		t.Errorf("a closed index finds %q", got)
	}
	check(opened(t, path), "on disk,")
}

func TestAnIndexThatIsNoneKnowsNothing(t *testing.T) {
	var x *payloads.Index
	if _, err := x.Open(); err != nil {
		t.Error(err)
	}
	add(t, x, entry("http://a.example/", "one", noon))
	if got := finds(x, "one"); got != "" {
		t.Errorf("found %q", got)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	x = payloads.New(filepath.Join(t.TempDir(), "x")) // and so does one that is not open
	add(t, x, entry("http://a.example/", "one", noon))
	if got := finds(x, "one"); got != "" {
		t.Errorf("found %q", got)
	}
	for range 2 { // opened once, it stays as it is
		if _, err := x.Open(); err != nil {
			t.Error(err)
		}
		if got := finds(x, "one"); got != "" {
			t.Errorf("found %q", got)
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// What is not flushed when the process ends is forgotten, and never what was flushed. Memory stays bounded.
func TestWhatIsAddedIsFlushedInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	x := opened(t, path)
	const count = 30_000
	for i := range count {
		add(t, x, entry(fmt.Sprint("http://a.example/", i), fmt.Sprint(i), noon))
	}
	copied := filepath.Join(t.TempDir(), "copy") // as kill -9 leaves the file
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, b, 0o666); err != nil {
		t.Fatal(err)
	}
	y, kept := opened(t, copied), 0
	for i := range count {
		switch got := finds(y, fmt.Sprint(i)); got {
		case fmt.Sprint("http://a.example/", i, " 20260314120000"):
			kept++
		case "":
		default:
			t.Fatalf("payload %d is found at %q", i, got)
		}
	}
	if kept < count/2 || kept == count {
		t.Errorf("%d of %d captures are on disk; some are to be written and some to wait", kept, count)
	}
}

func TestADamagedIndexIsBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database", 10_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	x := opened(t, path)
	add(t, x, entry("http://a.example/", "one", noon))
	if finds(x, "one") == "" {
		t.Error("nothing is kept")
	}
}

func TestAnIndexWithoutItsBucketsIsBegunAnew(t *testing.T) {
	for name, spoil := range map[string]func(tx *bbolt.Tx) error{
		"a value in the place of a run": func(tx *bbolt.Tx) error {
			all, err := tx.CreateBucket([]byte("runs"))
			return errors.Join(err, all.Put([]byte("run"), []byte("x")))
		},
		"an empty value there": func(tx *bbolt.Tx) error {
			all, err := tx.CreateBucket([]byte("runs"))
			return errors.Join(err, all.Put([]byte("run"), nil))
		},
	} {
		path := filepath.Join(t.TempDir(), "x")
		db, err := bbolt.Open(path, 0o666, nil)
		if err == nil {
			err = errors.Join(db.Update(spoil), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		x := payloads.New(path)
		aside, err := x.Open()
		if err != nil || aside == "" || finds(x, "one") != "" || x.Close() != nil {
			t.Errorf("%s: set aside as %q, %v", name, aside, err)
		}
	}
}

// Each page of a file, and each end of it: it opens, and if it was set aside, what the CDXJ files list is found again.
func TestNoDamageOfAFileEndsTheProcess(t *testing.T) {
	dir := t.TempDir()
	path := payloads.Path(dir, "henro")
	x := payloads.New(path)
	if _, err := x.Open(); err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for i := range 150 {
		e := entry(fmt.Sprintf("http://a.example/%0200d", i), fmt.Sprint(i), noon)
		add(t, x, e)
		e.Key = fmt.Sprintf("example,a)/%0200d", i)
		lines = e.Append(lines)
	}
	if err := errors.Join(x.Close(), os.WriteFile(filepath.Join(dir, "a.cdxj"), lines, 0o666)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	pages, aside := len(whole)/size, 0
	random := rand.New(rand.NewPCG(1, 2))
	for page := range pages {
		for kind, spoil := range map[string]func([]byte) []byte{
			"zeroed":  func(b []byte) []byte { clear(b[page*size:][:size]); return b },
			"cut off": func(b []byte) []byte { return b[:page*size+100] },
			"emptied": func([]byte) []byte { return nil },
			"random": func(b []byte) []byte {
				for i := range size {
					b[page*size+i] = byte(random.Uint32())
				}
				return b
			},
			"another page": func(b []byte) []byte {
				copy(b[page*size:][:size], whole[(page+1)%pages*size:])
				return b
			},
			"another page that says to be this one": func(b []byte) []byte {
				copy(b[page*size+8:][:size-8], whole[(page+1)%pages*size+8:])
				return b
			},
		} {
			if err := os.WriteFile(path, spoil(bytes.Clone(whole)), 0o666); err != nil {
				t.Fatal(err)
			}
			isEmpty := kind == "emptied"
			if _, err := payloads.Imported(dir); (err != nil || isEmpty) && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("page %d %s: %v", page, kind, err)
			}
			x := payloads.New(path)
			damaged, err := x.Open()
			if err != nil {
				t.Fatalf("page %d %s: %v", page, kind, err)
			}
			for i := range 150 {
				if found := finds(x, fmt.Sprint(i)); found == "" && (damaged != "" || isEmpty) {
					t.Fatalf("page %d %s: capture %d is not found in what was made again", page, kind, i)
				}
			}
			if err := x.Close(); err != nil {
				t.Errorf("page %d %s: %v", page, kind, err)
			}
			if damaged != "" {
				aside++
				if err := os.Remove(damaged); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if t.Logf("%d pages, %d of %d files were set aside", pages, aside, 6*pages); aside < 2*pages {
		t.Error("damage is not seen")
	}
}

func TestCapturesOfAnEarlierCrawlAreImported(t *testing.T) {
	dir := t.TempDir()
	o := warc.DefaultWriterOptions()
	o.Dir = dir
	w, err := warc.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := warc.NewBuilder(o.Records)
	if err != nil {
		t.Fatal(err)
	}
	for i, truncated := range []string{"", "length"} {
		x := &warc.Exchange{URI: fmt.Sprint("http://w.example/", i), At: noon, Truncated: truncated,
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: []byte(fmt.Sprint("warc", i))}
		records, _ := b.AppendExchange(nil, x)
		if _, err := w.Append(records); err != nil {
			t.Fatal(err)
		}
	}
	name, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	e := entry("http://c.example/", "cdxj", noon)
	e.Key, e.Filename = cdxj.Key(weburl.MustParse(e.URL)), "elsewhere.warc.gz"
	line := "!OpenWayback-CDXJ 1.0\n" + string(e.Append(nil))
	if err := os.WriteFile(filepath.Join(dir, "other"+cdxj.Suffix), []byte(line), 0o666); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		from  string
		added int
	}{{filepath.Join(dir, name), 1}, {dir, 1}, {dir, 0}, {filepath.Join(dir, "other"+cdxj.Suffix), 0}} {
		if added, err := payloads.New(path).Import(c.from, func(string) {}); err != nil || added != c.added {
			t.Errorf("%s: %d captures, %v; want %d", c.from, added, err, c.added)
		}
	}
	merged, err := cdxj.MergeDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	// the index of a file that came since
	e = entry("http://c.example/", "again", noon)
	e.Key, e.Filename = cdxj.Key(weburl.MustParse(e.URL)), "again.warc.gz"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "again.warc.gz"), nil, 0o666),
		os.WriteFile(filepath.Join(dir, "again.cdxj"), e.Append(nil), 0o666)); err != nil {
		t.Fatal(err)
	}
	z := filepath.Join(t.TempDir(), "z")
	if added, err := payloads.New(z).Import(dir, func(string) {}); err != nil || added != 4 {
		t.Errorf("with a file that is not in the merged index: %d captures, %v", added, err)
	}
	if got := finds(opened(t, z), "again"); got != "http://c.example/ 20260314120000" {
		t.Errorf("of a file that is not in the merged index: found at %q", got)
	}
	packed, err := os.Create(filepath.Join(t.TempDir(), "a.wacz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(wacz.Write(packed, dir, merged, wacz.Lists{}, wacz.DefaultOptions()),
		packed.Close()); err != nil {
		t.Fatal(err)
	}
	y := filepath.Join(t.TempDir(), "y")
	if added, err := payloads.New(y).Import(packed.Name(), func(string) {}); err != nil || added != 2 {
		t.Errorf("of a package: %d captures, %v", added, err)
	}
	if got := finds(opened(t, y), "warc0"); got != "http://w.example/0 20260314120000" {
		t.Errorf("of a package: found at %q", got)
	}
	x := opened(t, path)
	for payload, want := range map[string]string{"warc0": "http://w.example/0 20260314120000", "warc1": "",
		"cdxj": "http://c.example/ 20260314120000"} {
		if got := finds(x, payload); got != want {
			t.Errorf("%s is found at %q, want %q", payload, got, want)
		}
	}
	if imported, err := payloads.Imported(filepath.Dir(path)); err != nil || imported {
		t.Errorf("an index of another name: %v, %v", imported, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	hidden := payloads.Path(t.TempDir(), "a")
	if err := os.Rename(path, hidden); err != nil {
		t.Fatal(err)
	}
	if imported, err := payloads.Imported(filepath.Dir(hidden)); err != nil || !imported {
		t.Errorf("an index with what was imported: %v, %v", imported, err)
	}
	opened(t, hidden)
	if imported, err := payloads.Imported(filepath.Dir(hidden)); err != nil || imported {
		t.Errorf("an index that is in use: %v, %v", imported, err)
	}
	empty := t.TempDir()
	bad := filepath.Join(empty, "bad.cdxj")
	for _, from := range []string{empty, filepath.Join(dir, "not there"), bad} {
		y := payloads.New(filepath.Join(t.TempDir(), "y"))
		if added, err := y.Import(from, func(string) {}); err == nil || from == empty && !strings.Contains(err.Error(),
			"neither") || added > 0 {
			t.Errorf("%s is imported", from)
		}
		if err := os.WriteFile(bad, []byte("com,a)/ 2026 no json\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSeveralMayAskAndOneAdds(t *testing.T) {
	x := opened(t, filepath.Join(t.TempDir(), "x"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 3000 {
				want := fmt.Sprint("http://a.example/", i, " 20260314120000")
				if got := finds(x, fmt.Sprint(i)); got != "" && got != want {
					t.Errorf("payload %d is found at %q", i, got)
				}
			}
		})
	}
	for i := range 3000 {
		add(t, x, entry(fmt.Sprint("http://a.example/", i), fmt.Sprint(i), noon))
	}
	all.Wait()
}

// BenchmarkAdd makes an index of 100,000 captures, each of which is looked for before.
func BenchmarkAdd(b *testing.B) {
	const count = 100_000
	entries := make([]*cdxj.Entry, count)
	for i := range entries {
		entries[i] = entry(fmt.Sprint("http://a.example/", i), fmt.Sprint(i), noon)
	}
	b.ReportAllocs()
	for b.Loop() {
		x := payloads.New(filepath.Join(b.TempDir(), "x"))
		if _, err := x.Open(); err != nil {
			b.Fatal(err)
		}
		for i, e := range entries {
			finds(x, fmt.Sprint(i))
			if err := x.Add(e); err != nil {
				b.Fatal(err)
			}
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
