package warc_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"henro/store/archive/warc"
)

// counts returns the number of records of each file by path: those of testdata, and those of
// HENRO_DATA/warc/expected.tsv.
func counts(t *testing.T) map[string]int {
	t.Helper()
	files := map[string]int{
		"testdata/warcio-example.warc.gz":                     6,
		"testdata/warcio-example-bad.warc.gz.bad":             6,
		"testdata/warcio-example-digest.warc":                 4,
		"testdata/warcio-example-resource.warc.gz":            3,
		"testdata/warcio-example-wget-bad-target-uri.warc.gz": 6,
		"testdata/wac-link-extraction-test.warc":              8,
		"testdata/jwarc-cc.warc.gz":                           1,
	}
	if dir := os.Getenv("HENRO_DATA"); dir != "" {
		table, err := os.ReadFile(filepath.Join(dir, "warc", "expected.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			row := strings.Split(strings.TrimSpace(line), "\t")
			if n, err := strconv.Atoi(row[5]); err == nil {
				files[filepath.Join(dir, "warc", row[0])] = n
			}
		}
	}
	return files
}

func TestReadsTheFilesOfOtherWriters(t *testing.T) {
	for path, want := range counts(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r := warc.NewReader(bytes.NewReader(data))
			var n int
			var end int64
			for {
				e, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("record %d: %v", n, err)
				}
				n++
				if e.Type() == "" {
					t.Errorf("record %d at %d has no type: %v", n, e.Offset, e.Header)
				}
				if _, err := e.Date(); err != nil {
					t.Errorf("record %d: %v", n, err)
				}
				if m, err := e.HTTP(); err == nil && (m.HeadLength == 0 || !strings.Contains(m.Start, "HTTP")) {
					t.Errorf("record %d: answer begins with %q", n, m.Start)
				}
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				if e.Shared {
					continue
				}
				// Every record alone in its member can be read from its offset alone.
				end = e.Offset + e.Length
				alone, err := warc.NewReader(bytes.NewReader(data[e.Offset:end])).Next()
				if err != nil || alone.Header.Get("WARC-Record-ID") != e.Header.Get("WARC-Record-ID") {
					t.Fatalf("record %d by itself, from %d to %d: %v", n, e.Offset, end, err)
				}
				if err := alone.Close(); err != nil || alone.Length != e.Length {
					t.Errorf("record %d by itself is %d bytes, not %d: %v", n, alone.Length, e.Length, err)
				}
			}
			if n != want {
				t.Errorf("%d records, want %d", n, want)
			}
		})
	}
}

func TestTellsWhatIsNoWARC(t *testing.T) {
	for sentence, data := range map[string]string{
		"a page":        "<!doctype html>\n<p>Hello",
		"an ARC":        "filedesc://x.arc.gz 0.0.0.0 20080430204825 text/plain 1300\n1 1 x\n\n",
		"torn at once":  "WAR",
		"a long line":   "WARC/1.1" + strings.Repeat("x", 2<<20) + "\r\n",
		"many lines":    "WARC/1.1\r\n" + strings.Repeat("a: b\r\n", 1<<19),
		"no length":     "WARC/1.1\r\nWARC-Type: response\r\n\r\n",
		"a foul length": "WARC/1.1\r\nContent-Length: -1\r\n\r\n",
	} {
		_, err := warc.NewReader(strings.NewReader(data)).Next()
		if !errors.Is(err, warc.ErrFormat) || !errors.Is(err, warc.ErrDamaged) {
			t.Errorf("%s: %v", sentence, err)
		}
		if long := len(data) > 1<<20; errors.Is(err, warc.ErrTooLarge) != long {
			t.Errorf("%s, %d bytes: %v", sentence, len(data), err)
		}
	}
	if _, err := warc.NewReader(strings.NewReader("\r\n\r\n")).Next(); err != io.EOF {
		t.Errorf("nothing: %v", err)
	}
}

// Walk finds what changed in the header of a record where a reader of other writers' files reads on, and takes the
// headers of all writers.
func TestAHeaderThatNoWriterWritesIsDamaged(t *testing.T) {
	const sum = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ" // of an empty block
	record := func(digest string) string {
		return "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:a>\r\nWARC-Date: 2026-03-14T12:00:00Z\r\n" +
			"WARC-Block-Digest: " + digest + "\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	}
	packed := func(text string, flags byte) string {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		io.WriteString(w, text)
		w.Close()
		out.Bytes()[3] |= flags
		return out.String()
	}
	whole := record("sha1:" + sum)
	for sentence, c := range map[string]struct {
		file    string
		records int
	}{
		"as henro writes":               {whole, 1},
		"bare line feeds":               {strings.ReplaceAll(whole[:len(whole)-4], "\r\n", "\n") + "\r\n\r\n", 1},
		"a bare line feed among others": {strings.Replace(whole, "metadata\r\n", "metadata\n", 1), 0},
		"a form feed for a CR":          {strings.Replace(whole, "metadata\r\n", "metadata\f\n", 1), 0},
		"a CR less at the end":          {strings.Replace(whole, "0\r\n\r\n", "0\r\n\n", 1), 0},
		"a label in capitals":           {record("SHA1:" + sum), 1},
		"a label with a hyphen":         {record("sha-1:" + sum), 1},
		"no label":                      {record(sum), 1},
		"another label":                 {record("sha0:" + sum), 0},
		"no colon":                      {record("sha1;" + sum), 0},
		"a digit for the colon":         {record("sha18" + sum), 0},
		"a label behind another byte":   {record("!sha1:" + sum), 0},
		"a hexadecimal one":             {record("sha9:" + strings.Repeat("0a", 20)), 0},
		"MD5":                           {record("md5:d41d8cd98f00b204e9800998ecf8427e"), 1},
		"SHA-256":                       {record("sha256:" + strings.Repeat("0a", 32)), 1},
		"SHA-256 in base 64":            {record("sha-256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), 1},
		"a gzip member":                 {packed(whole, 0), 1},
		"a gzip member that is text":    {packed(whole, 1), 0},
	} {
		walked, err := warc.Walk(strings.NewReader(c.file), nil)
		if err != nil || walked.Records != c.records || (len(walked.Damaged) > 0) != (c.records == 0) {
			t.Errorf("%s: %d records, damaged %v, %v", sentence, walked.Records, walked.Damaged, err)
		}
		if listed, err := warc.List(strings.NewReader(c.file), nil); err != nil || listed.Records != 1 {
			t.Errorf("%s, as another's: %d records, %v, %v", sentence, listed.Records, listed.Damaged, err)
		}
	}
}

func TestPayloadLosesItsChunks(t *testing.T) {
	for sentence, c := range map[string]struct{ stored, want string }{
		"two chunks":                               {"4\r\nab\r\n\r\n3;x=y\r\ncde\r\n0\r\n\r\n", "ab\r\ncde"},
		"bare line feeds":                          {"4\nabcd\n1\ne\n0\n\n", "abcde"},
		"no last chunk":                            {"4\r\nabcd\r\n", "abcd"},
		"torn in a chunk":                          {"8\r\nabcd", "abcd"},
		"chunks taken off already":                 {"<!doctype html>", "<!doctype html>"},
		"text that begins with hexadecimal digits": {"cafe_opens\r\n", "cafe_opens\r\n"},
		"garbage behind a chunk":                   {"2\r\nab\r\nzz\r\n", "ab"},
		"nothing":                                  {"", ""},
		"no chunks promised":                       {"Content-Length: 6\r\n\r\n1\r\na\r\n", "1\r\na\r\n"},
	} {
		if _, _, ok := strings.Cut(c.stored, "\r\n\r\n1"); !ok {
			c.stored = "transfer-encoding: Chunked\r\n\r\n" + c.stored
		}
		block := "HTTP/1.1 200 OK\r\n" + c.stored
		record := "WARC/1.0\r\nWARC-Type: response\r\nContent-Type: " +
			"application/http;msgtype=response\r\nContent-Length: " +
			strconv.Itoa(len(block)) + "\r\n\r\n" + block + "\r\n\r\n"
		e, err := warc.NewReader(strings.NewReader(record)).Next()
		if err != nil {
			t.Fatal(err)
		}
		m, err := e.HTTP()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(m.Payload()); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", sentence, got, err, c.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	files, _ := filepath.Glob("testdata/*warc*")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(bytes.Join(members(f, warc.Options{Compression: warc.Zstd, Level: 3}, 3), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := warc.NewReader(bytes.NewReader(data))
		var end int64
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			if m, err := e.HTTP(); err == nil {
				io.Copy(io.Discard, m.Payload())
			}
			if e.Offset < 0 || !e.Shared && e.Offset < end {
				t.Fatalf("record at %d, the one before ends at %d", e.Offset, end)
			}
			if e.Close() == nil && !e.Shared {
				end = e.Offset + e.Length
			}
		}
		w, err := warc.Walk(bytes.NewReader(data), func(e *warc.Entry) error { return e.Close() })
		if err != nil {
			t.Fatal(err)
		}
		if w.End > int64(len(data)) {
			t.Fatalf("whole up to %d of %d bytes", w.End, len(data))
		}
		for _, span := range w.Damaged {
			if span.Length <= 0 || span.Offset+span.Length > int64(len(data)) {
				t.Fatalf("damage from %d, %d bytes long, in %d", span.Offset, span.Length, len(data))
			}
		}
	})
}
