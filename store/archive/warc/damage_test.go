package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"henro/store/archive/warc"
)

// foreign is a record of another writer, with lines instead of a Content-Length where these are given.
func foreign(uri, block, end string, lines ...string) string {
	if lines == nil {
		lines = []string{fmt.Sprintf("Content-Length: %d", len(block))}
	}
	return "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: " + uri + "\r\n" +
		strings.Join(append(lines, "", block), "\r\n") + end
}

const ended = "\r\n\r\n"

// seen is what of a file a reader sees: the ends of the URIs, and the blocks of them.
func seen(t *testing.T, file string, walk func(io.ReadSeeker, func(*warc.Entry) error) (warc.Walked, error)) (
	all string, damaged int) {
	t.Helper()
	w, err := walk(strings.NewReader(file), func(e *warc.Entry) error {
		block, err := io.ReadAll(e)
		if err == nil {
			err = e.Close()
		}
		if err == nil {
			all += fmt.Sprintf("%s=%s ", e.TargetURI(), block)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(all), len(w.Damaged)
}

// Our own files must be as they were written; of others as much is read as can be.
func TestDamageIsFoundAndReadOnBehind(t *testing.T) {
	const sum = "LNBH46MPYHEQM77IWE2DP67EEQVWWR76" // of "aaaa"
	const hex = "70c881d4a26984ddce795f6f71817c9cf4480e79"
	a, b, c := foreign("a", "aaaa", ended), foreign("b", "bbbb", ended), foreign("c", "cccc", ended)
	digest := func(is string) string {
		return foreign("a", "aaaa", ended, "WARC-Block-Digest: "+is, "Content-Length: 4")
	}
	gz := string(bytes.Join(members(t, warc.DefaultOptions(), 2)[:1], nil))
	for sentence, file := range map[string]struct {
		file         string
		ours, others string
		damaged      bool // for us
	}{
		"whole":                       {a + b + c, "a=aaaa b=bbbb c=cccc", "a=aaaa b=bbbb c=cccc", false},
		"a digest in base 16":         {digest("sha1:" + hex), "a=aaaa", "a=aaaa", false},
		"the digest of another block": {digest("sha1:"+sum) + b, "b=bbbb", "a=aaaa b=bbbb", true},
		"the digest of another in base 16": {digest("sha1:"+strings.Repeat("0", 40)) + b,
			"b=bbbb", "a=aaaa b=bbbb", true},
		"a length into the next record": {foreign("a", "aaaa", ended, "Content-Length: 20") + b + c,
			"b=bbbb c=cccc", "a=aaaa\r\n\r\nWARC/1.1\r\nWA b=bbbb c=cccc", true},
		"no length, in the middle": {a + foreign("b", "bbbb", ended, "X: y") + c,
			"a=aaaa c=cccc", "a=aaaa b=bbbb c=cccc", true},
		"no length, at the end": {a + foreign("b", "bbbb", ended, "X: y"),
			"a=aaaa", "a=aaaa b=bbbb", true},
		"a plain record behind a packed one": {gz + b, "http://docs.test/0=", "http://docs.test/0= b=bbbb", true},
		"a line without a colon in the header": {foreign("a", "aaaa", ended, "nothing", "Content-Length: 4"),
			"a=aaaa", "a=aaaa", false},
	} {
		got, damaged := seen(t, file.file, warc.Walk)
		if got != file.ours || (damaged > 0) != file.damaged {
			t.Errorf("%s: %q and %d stretches of damage, want %q", sentence, got, damaged, file.ours)
		}
		if got, _ := seen(t, file.file, warc.List); got != file.others {
			t.Errorf("%s, as another's: %q, want %q", sentence, got, file.others)
		}
	}
}

func TestALineWithoutAColonIsNoField(t *testing.T) {
	e, err := warc.NewReader(strings.NewReader(foreign("a", "", ended, "nothing", "Content-Length: 0"))).Next()
	if err != nil || len(e.Header) != 3 {
		t.Errorf("%v, %v", e, err)
	}
}

// No byte of a block changes unnoticed, packed or not.
func TestAByteOfABlockIsNotChangedUnnoticed(t *testing.T) {
	for _, o := range []warc.Options{warc.DefaultOptions(), {Compression: warc.None},
		{Compression: warc.Zstd, Level: 3}} {
		record := members(t, o, 4)[3]
		from := 0
		if o.Compression == warc.None {
			from = bytes.Index(record, []byte(ended)) + len(ended)
		}
		for i := from; i < len(record); i++ {
			file := bytes.Clone(record)
			file[i] ^= 0x20
			var blocks string
			w, err := warc.Walk(bytes.NewReader(file), func(e *warc.Entry) error {
				block, err := io.ReadAll(e)
				if err == nil {
					err = e.Close()
				}
				if err == nil {
					blocks += string(block)
				}
				return err
			})
			if err != nil || w.Records > 0 && blocks != strings.Repeat("d", 300) {
				t.Fatalf("%v, byte %d: %+v, %q, %v", o.Compression, i, w, blocks, err)
			}
		}
	}
}

// What ended the reading is said again, and nothing is looked for behind it.
func TestAReaderStaysWhereItBrokeOff(t *testing.T) {
	r := warc.NewReader(strings.NewReader(foreign("a", "", "", "X: y") + foreign("b", "", ended)))
	_, first := r.Next()
	_, second := r.Next()
	if !errors.Is(first, warc.ErrDamaged) || second != first {
		t.Errorf("%v, then %v", first, second)
	}
}

// A head that is torn with its member, or too long, is no message.
func TestAHeadThatCannotBeReadIsNoMessage(t *testing.T) {
	b := builder(t, warc.DefaultOptions())
	answer := func(head string) []byte {
		return b.Append(nil, &warc.Record{Type: warc.Response, Date: noon, TargetURI: "http://docs.test/",
			ContentType: "application/http;msgtype=response", Head: []byte(head)})
	}
	var random strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&random, "X-%x: %x\r\n", i*i*i*7919, i*i*104729)
	}
	torn := answer("HTTP/1.1 200 OK\r\n" + random.String() + "\r\n")
	for sentence, c := range map[string]struct {
		file []byte
		want error
	}{
		"torn":     {torn[:len(torn)/2], warc.ErrDamaged},
		"too long": {answer("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20)), warc.ErrTooLarge},
	} {
		e, err := warc.NewReader(bytes.NewReader(c.file)).Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.HTTP(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > 64<<20 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestALineWithoutAnEndIsNotReadToItsEnd(t *testing.T) {
	var e endless
	_, err := warc.NewReader(io.MultiReader(strings.NewReader("WARC/1.1\r\nX: "), &e)).Next()
	if !errors.Is(err, warc.ErrTooLarge) || e.read > 4<<20 {
		t.Errorf("%v after %d bytes", err, e.read)
	}
}

func TestABlockWithoutALengthHasNone(t *testing.T) {
	a := foreign("a", "aaaa", ended)
	e, err := warc.At(strings.NewReader(a+foreign("b", "bbbb", ended, "X: y")), int64(len(a)))
	if err != nil || e.BlockLength() != math.MaxInt64 {
		t.Fatalf("%v", err)
	}
	if block, err := io.ReadAll(e); err != nil || string(block) != "bbbb" {
		t.Errorf("%q, %v", block, err)
	}
}

// An error of the one who is shown records ends the walk, and is not taken for damage.
func TestAnErrorOfTheVisitorEndsTheWalk(t *testing.T) {
	stop, calls := errors.New("enough"), 0
	w, err := warc.Walk(strings.NewReader(foreign("a", "", ended)+foreign("b", "", ended)), func(*warc.Entry) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 || len(w.Damaged) > 0 {
		t.Errorf("%+v, %v after %d calls", w, err, calls)
	}
}

// A file that is not open belongs to someone else by now.
func TestOnlyOpenFilesAreRepaired(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.warc")
	text := foreign("a", "aaaa", ended) + "torn"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := warc.Repair(name, nil)
	if is, _ := os.ReadFile(name); err == nil || string(is) != text {
		t.Errorf("%q, %v", is, err)
	}
}

// A record that could not be written is not stored by the Sync that follows.
func TestASyncBehindAFailureFails(t *testing.T) {
	disk := &failing{at: 4} // made, described, synced; then the first records
	w, _ := writer(t, func(o *warc.WriterOptions) { o.Disk = disk; o.Records.Compression = warc.None })
	large := bytes.Repeat(members(t, warc.Options{Compression: warc.None}, 40)[39], 100)
	if _, err := w.Append(large); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Sync(); err == nil {
			t.Error("synced")
		}
		if _, err := w.Append(large); err == nil {
			t.Error("appended")
		}
	}
	if name, err := w.Finish(); err == nil {
		t.Errorf("%s is finished", name)
	}
}

// What is large is not gathered in memory until the next Sync, and a name that is taken is passed over.
func TestAWriterGathersLittleAndTakesNoOthersFile(t *testing.T) {
	var all []string
	dir := t.TempDir()
	large := bytes.Repeat(members(t, warc.Options{Compression: warc.None}, 40)[39], 100)
	for range 2 {
		w, _ := writer(t, func(o *warc.WriterOptions) {
			o.Dir, o.Records.Compression, o.Now = dir, warc.None, func() time.Time { return noon }
		})
		if name := w.Name(); name != "" {
			t.Errorf("nothing is open, and is called %s", name)
		}
		if name, err := w.Finish(); err != nil || name != "" || w.Sync() != nil {
			t.Errorf("nothing was open, and %s finished: %v", name, err)
		}
		if _, err := w.Append(large); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, w.Name()) + warc.OpenSuffix)
		if err != nil || info.Size() < int64(len(large)) {
			t.Errorf("%v, %v", info, err)
		}
		all = append(all, w.Name())
	}
	if all[0] == all[1] {
		t.Errorf("both are called %s", all[0])
	}
}

// A file of doubtful bytes that cannot be removed is not forgotten.
func TestAFileThatCannotBeRemovedIsTriedAgain(t *testing.T) {
	disk := &failing{at: 5}
	w, dir := writer(t, func(o *warc.WriterOptions) { o.Disk = disk })
	if _, err := w.Append(members(t, warc.DefaultOptions(), 1)[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Abandon(); !errors.Is(err, errDisk) {
		t.Errorf("abandoned: %v", err)
	}
	if name, err := w.Abandon(); err != nil || name != "" || len(names(t, dir)) > 0 {
		t.Errorf("%s, %v, %v are left", name, err, names(t, dir))
	}
}

// flaky is a file of which one read fails, as of a disk that is asked again.
type flaky struct {
	*strings.Reader
	at int
}

func (f *flaky) Read(p []byte) (int, error) {
	if f.at--; f.at == 0 {
		return 0, errDisk
	}
	return f.Reader.Read(p)
}

// What the disk does not give is no damage of the file.
func TestAnErrorOfTheDiskIsSaid(t *testing.T) {
	file := foreign("a", "aaaa", ended)
	if w, err := warc.Walk(&flaky{strings.NewReader(file), 1}, nil); !errors.Is(err, errDisk) {
		t.Errorf("%+v, %v", w, err)
	}
	skipped := io.MultiReader(strings.NewReader("\x50\x2a\x4d\x18\x01\x00\x00\x00x"), iotest.ErrReader(errDisk))
	if _, err := warc.NewReader(skipped).Next(); !errors.Is(err, errDisk) {
		t.Errorf("behind a frame: %v", err)
	}
}

func TestFoldersAreMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := warc.MakeDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}
