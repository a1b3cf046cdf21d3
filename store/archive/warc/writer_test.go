package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"henro/store/archive/warc"
)

// failing is a disk whose at-th operation fails, half done where it can be; at 0 none does.
type failing struct {
	warc.OS
	at, n int
}

var errDisk = errors.New("the disk says no")

func (d *failing) ok() bool {
	d.n++
	return d.n != d.at
}

func (d *failing) Create(name string) (warc.DiskFile, error) {
	if !d.ok() {
		return nil, errDisk
	}
	f, err := d.OS.Create(name)
	if err != nil {
		return nil, err
	}
	return &failingFile{f, d}, nil
}

func (d *failing) Rename(from, to string) error {
	if !d.ok() {
		return errDisk
	}
	return d.OS.Rename(from, to)
}

func (d *failing) Remove(name string) error {
	if !d.ok() {
		return errDisk
	}
	return d.OS.Remove(name)
}

func (d *failing) SyncDir(dir string) error {
	if !d.ok() {
		return errDisk
	}
	return d.OS.SyncDir(dir)
}

type failingFile struct {
	warc.DiskFile
	disk *failing
}

func (f *failingFile) Write(p []byte) (int, error) {
	if !f.disk.ok() {
		n, _ := f.DiskFile.Write(p[:len(p)/2])
		return n, errDisk
	}
	return f.DiskFile.Write(p)
}

func (f *failingFile) Truncate(size int64) error {
	if !f.disk.ok() {
		return errDisk
	}
	return f.DiskFile.Truncate(size)
}

func (f *failingFile) Sync() error {
	if !f.disk.ok() {
		return errDisk
	}
	return nil // without the real one, which costs the test seconds and shows nothing
}

func writer(t *testing.T, change func(*warc.WriterOptions)) (*warc.Writer, string) {
	t.Helper()
	o := warc.DefaultWriterOptions()
	o.Dir, o.Host, o.Port = t.TempDir(), "lab 1.docs.test", 7782
	o.Info.Software = "henro/0.1"
	if change != nil {
		change(&o)
	}
	w, err := warc.NewWriter(o)
	if err != nil {
		t.Fatal(err)
	}
	return w, o.Dir
}

// members returns n records, whose URIs end in their number.
func members(t testing.TB, o warc.Options, n int) [][]byte {
	b := builder(t, o)
	var all [][]byte
	for i := range n {
		r := warc.Record{Type: warc.Resource, Date: noon, TargetURI: fmt.Sprintf("http://docs.test/%d", i),
			ContentType: "text/plain"}
		r.Head = bytes.Repeat([]byte{'a' + byte(i)}, 100*i)
		all = append(all, b.Append(nil, &r))
	}
	return all
}

func uris(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range readAll(t, data) {
		if r.entry.Type() != warc.Warcinfo {
			all = append(all, r.entry.TargetURI())
		}
	}
	return all
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestWriterSaysWhereRecordsLie(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}} {
		w, dir := writer(t, func(wo *warc.WriterOptions) { wo.Records = o })
		records := members(t, o, 4)
		var offsets []int64
		for _, r := range records {
			at, err := w.Append(r)
			if err != nil {
				t.Fatal(err)
			}
			offsets = append(offsets, at)
		}
		if got := names(t, dir); len(got) != 1 || got[0] != w.Name()+warc.OpenSuffix {
			t.Errorf("while it grows: %v", got)
		}
		name, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		form := regexp.MustCompile(`^HENRO-\d{17}-00000-\d+~lab_1\.docs\.test~7782\.warc(\.gz|\.zst)?$`)
		if !form.MatchString(name) || !strings.HasSuffix(name, o.Compression.Suffix()) {
			t.Errorf("name is %s", name)
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range offsets {
			if !bytes.Equal(data[at:at+int64(len(records[i]))], records[i]) {
				t.Errorf("record %d is not at %d", i, at)
			}
		}
		info := readAll(t, data)[0]
		if info.entry.Type() != warc.Warcinfo || info.entry.Header.Get("WARC-Filename") != name ||
			!strings.HasPrefix(string(info.block), "software: henro/0.1\r\nformat: WARC File Format 1.1\r\n") {
			t.Errorf("warcinfo is %v %q", info.entry.Header, info.block)
		}
	}
}

func TestWriterRollsWithoutSplitting(t *testing.T) {
	w, dir := writer(t, func(o *warc.WriterOptions) { o.MaxFile = 1 << 10; o.Records.Compression = warc.None })
	var want []string
	for i, r := range members(t, warc.Options{Compression: warc.None}, 20) {
		if w.Full(len(r)) {
			if _, err := w.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Append(r); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("http://docs.test/%d", i))
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, name := range names(t, dir) {
		if !strings.Contains(name, fmt.Sprintf("-%05d-", i)) {
			t.Errorf("file %d is called %s", i, name)
		}
		got = append(got, uris(t, filepath.Join(dir, name))...)
	}
	if !slices.Equal(got, want) || len(names(t, dir)) < 10 {
		t.Errorf("in %v: %v", names(t, dir), got)
	}
}

// TestNothingDoubtfulSurvivesAFailure writes four times two records with a Sync after every two, one operation of the
// disk failing, and checks that the files hold exactly the records whose Sync succeeded, each pair being tried again
// until it does.
func TestNothingDoubtfulSurvivesAFailure(t *testing.T) {
	records := members(t, warc.DefaultOptions(), 8)
	for at := 0; ; at++ {
		disk := &failing{at: at}
		w, dir := writer(t, func(o *warc.WriterOptions) { o.Disk = disk; o.MaxFile = 1 << 10 })
		store := func(pair [][]byte) error {
			if w.Full(len(pair[0]) + len(pair[1])) {
				if _, err := w.Finish(); err != nil {
					return err
				}
			}
			for _, r := range pair {
				if _, err := w.Append(r); err != nil {
					return err
				}
			}
			return w.Sync()
		}
		for pair := range slices.Chunk(records, 2) {
			for store(pair) != nil {
				for tries := 0; ; tries++ {
					if _, err := w.Abandon(); err == nil {
						break
					} else if tries > 3 {
						t.Fatalf("operation %d failing: %v", at, err)
					}
				}
			}
		}
		if _, err := w.Finish(); err != nil {
			if _, err := w.Abandon(); err != nil {
				t.Errorf("operation %d failing: %v", at, err)
			}
		}
		var got []string
		for _, name := range names(t, dir) {
			if strings.HasSuffix(name, warc.OpenSuffix) {
				t.Errorf("operation %d failing: %s is left", at, name)
			}
			got = append(got, uris(t, filepath.Join(dir, name))...)
		}
		if len(got) != len(records) || !slices.IsSorted(got) {
			t.Errorf("operation %d failing: %v", at, got)
		}
		if at > disk.n {
			break
		}
	}
}

// TestWalkFindsEveryWholeRecord cuts a file at every byte, as a kill may.
func TestWalkFindsEveryWholeRecord(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}} {
		data, ends := file(t, o)
		for cut := range len(data) + 1 {
			whole, end := wholeOf(ends, cut)
			seen := 0
			w, err := warc.Walk(bytes.NewReader(data[:cut]), func(e *warc.Entry) error {
				if err := e.Close(); err != nil {
					return err
				}
				seen++
				return nil
			})
			if err != nil || w.Records != whole || seen != whole || w.End != int64(end) {
				t.Fatalf("cut at %d: %+v and %d seen, want %d records, %d bytes: %v", cut, w, seen, whole, end, err)
			}
		}
	}
}

// file returns five records, and where each ends.
func file(t *testing.T, o warc.Options) (data []byte, ends []int) {
	for _, r := range members(t, o, 5) {
		data = append(data, r...)
		ends = append(ends, len(data))
	}
	return data, ends
}

// wholeOf returns how many records end up to cut, and where the last of them does.
func wholeOf(ends []int, cut int) (whole, end int) {
	for _, e := range ends {
		if e <= cut {
			whole, end = whole+1, e
		}
	}
	return whole, end
}

func TestRepairKeepsEveryWholeRecord(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}} {
		data, ends := file(t, o)
		path := filepath.Join(t.TempDir(), "HENRO-1"+o.Compression.Suffix())
		for _, cut := range []int{0, 1, ends[0] - 1, ends[0], ends[0] + 1, ends[2] - 4, ends[3] + 300, len(data)} {
			if err := os.WriteFile(path+warc.OpenSuffix, data[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			whole, end := wholeOf(ends, cut)
			done, err := warc.Repair(path+warc.OpenSuffix, nil)
			if err != nil || done.Records != whole || done.Kept != int64(end) || done.Cut != int64(cut-end) {
				t.Fatalf("cut at %d: %+v, want %d records, %d bytes: %v", cut, done, whole, end, err)
			}
			if left := names(t, filepath.Dir(path)); whole == 0 {
				if len(left) != 0 || done.Path != "" {
					t.Fatalf("cut at %d: %v is left", cut, left)
				}
				continue
			}
			got, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(got, data[:end]) || done.Path != path {
				t.Fatalf("cut at %d: %d bytes left, want %d: %v", cut, len(got), end, err)
			}
			os.Remove(path)
		}
	}
}

// TestWhatStandsBehindDamageIsFound breaks every byte of the third record.
func TestWhatStandsBehindDamageIsFound(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}} {
		records := members(t, o, 5)
		data := bytes.Join(records, nil)
		at := len(records[0]) + len(records[1])
		for i := range len(records[2]) {
			broken := bytes.Clone(data)
			broken[at+i] ^= 0x55
			var seen []string
			w, err := warc.Walk(bytes.NewReader(append(broken, records[0][:20]...)), func(e *warc.Entry) error {
				uri := e.TargetURI()
				if err := e.Close(); err != nil {
					return err
				}
				seen = append(seen, uri)
				return nil
			})
			if err != nil || w.End != int64(len(data)) {
				t.Fatalf("byte %d: %+v %v", i, w, err)
			}
			for _, n := range []int{0, 1, 3, 4} {
				if !slices.Contains(seen, fmt.Sprintf("http://docs.test/%d", n)) {
					t.Fatalf("byte %d: record %d is not seen: %v, %+v", i, n, seen, w)
				}
			}
			// Nothing vouches for the fields of a gzip header and the text of a plain record, so that some damage
			// cannot be seen.
			if len(seen) == 4 && (len(w.Damaged) != 2 || w.Damaged[0].Offset != int64(at) ||
				w.Damaged[0].Length != int64(len(records[2]))) {
				t.Fatalf("byte %d: damage is %v", i, w.Damaged)
			}
		}
	}
}

// A loss of power leaves holes of sectors among the records that were not synced, and cuts the last. What is whole is
// kept, and is shown where it lies then.
func TestRepairTakesHolesOut(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}} {
		records := members(t, o, 4)
		path := filepath.Join(t.TempDir(), "HENRO-1"+o.Compression.Suffix())
		for holes := range 1 << len(records) {
			var data, want []byte
			var at []int64 // where the whole ones begin, and the last ends
			for i, record := range records {
				if holes&(1<<i) == 0 {
					at = append(at, int64(len(want)))
					want = append(want, record...)
				} else {
					record = slices.Clone(record)
					clear(record[:min(len(record), 100)])
				}
				data = append(data, record...)
			}
			at = append(at, int64(len(want)))
			data = append(data, records[0][:20]...)
			if err := os.WriteFile(path+warc.OpenSuffix, data, 0o600); err != nil {
				t.Fatal(err)
			}
			var shown []int64
			done, err := warc.Repair(path+warc.OpenSuffix, func(e *warc.Entry) error {
				err := e.Close()
				if err == nil {
					shown = append(shown, e.Offset)
					if e.Offset+e.Length != at[len(shown)] {
						t.Errorf("holes %b: record %d ends at %d of %v", holes, len(shown), e.Offset+e.Length, at)
					}
				}
				return err
			})
			if err != nil || done.Records != len(at)-1 || done.Kept != int64(len(want)) ||
				done.Cut != int64(len(data)-len(want)) || !slices.Equal(shown, at[:len(at)-1]) {
				t.Fatalf("holes %b: %+v, shown at %v, want %v: %v", holes, done, shown, at, err)
			}
			got, err := os.ReadFile(path)
			if left := names(t, filepath.Dir(path)); len(want) == 0 && len(left) != 0 || len(left) > 1 {
				t.Fatalf("holes %b: %v is left", holes, left)
			} else if len(want) > 0 && (err != nil || !bytes.Equal(got, want)) {
				t.Fatalf("holes %b: %d bytes left, want %d: %v", holes, len(got), len(want), err)
			}
			os.Remove(path)
		}
	}
}

func TestLeftoversAreThoseOfThePrefix(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"B-2.warc.gz.open", "B-1.warc.open", "B-0.warc.gz", "BC-1.warc.gz.open",
		"B-3.cdxj.open", "B-4.warc.gz.open.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := warc.Leftovers(dir, "B")
	if err != nil || len(got) != 2 || filepath.Base(got[0]) != "B-1.warc.open" ||
		filepath.Base(got[1]) != "B-2.warc.gz.open" {
		t.Errorf("%v %v", got, err)
	}
}

func TestWriterOptionsAreChecked(t *testing.T) {
	for sentence, change := range map[string]func(*warc.WriterOptions){
		"no directory":        func(o *warc.WriterOptions) { o.Dir = "" },
		"no prefix":           func(o *warc.WriterOptions) { o.Prefix = "" },
		"a folder for prefix": func(o *warc.WriterOptions) { o.Prefix = "../x" },
		"tiny files":          func(o *warc.WriterOptions) { o.MaxFile = 10 },
		"no disk":             func(o *warc.WriterOptions) { o.Disk = nil },
		"level 0":             func(o *warc.WriterOptions) { o.Records.Level = 0 },
	} {
		o := warc.DefaultWriterOptions()
		o.Dir = t.TempDir()
		change(&o)
		if _, err := warc.NewWriter(o); err == nil {
			t.Errorf("%s is taken", sentence)
		}
	}
}
