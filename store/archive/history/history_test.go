package history

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/store/archive/warc"
)

func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, paths ...string) (all []Capture, err error) {
	t.Helper()
	c := New(t.TempDir(), func(string) {})
	defer c.Close()
	for _, path := range paths {
		if err := c.Read(path); err != nil {
			return nil, err
		}
	}
	err = c.Each(func(capture Capture) error { all = append(all, capture); return nil })
	return all, err
}

const digest = "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"

func TestEverySourceGivesItsCaptures(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2014, 1, 3, 3, 3, 21, 0, time.UTC)
	packed := filepath.Join(dir, "packed.cdx.gz")
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	const cdx = " CDX N b a m s k r M S V g\ncom,example)/ 20140103030321 http://example.com text/html 200 " + digest +
		" - - 1043 333 a.warc.gz\ncom,example)/ 20140103030341 http://example.com/ warc/revisit 304 " + digest +
		" - - 553 1864 a.warc.gz\ncom,example)/gone 20140103030341 http://example.com/gone text/html 404 " + digest +
		" - - 553 1864 a.warc.gz\n"
	if _, err := z.Write([]byte(cdx)); err != nil || z.Close() != nil || f.Close() != nil {
		t.Fatal(err)
	}
	const line = `com,example)/ 20140103030321 {"url":"http://example.com/","status":"200","digest":"sha1:` +
		digest + `"}`
	var pack bytes.Buffer
	parts := zip.NewWriter(&pack)
	for name, text := range map[string]string{"datapackage.json": "{}", "indexes/index.cdxj": line + "\n"} {
		w, err := parts.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := parts.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	records, members := b.AppendExchange(nil, &warc.Exchange{URI: "http://example.com/", At: at, Body: []byte("page"),
		Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Request: []byte("GET / HTTP/1.1\r\n\r\n")})
	two := []Capture{{"http://example.com/", at, digest}, {"http://example.com/", at.Add(20 * time.Second), digest}}
	for _, c := range []struct {
		name string
		path string
		want []Capture
	}{
		{"an index of eleven columns", file(t, dir, "a.cdx", cdx), two},
		{"the same packed", packed, two},
		{"an index of JSON", file(t, dir, "a.cdxj", line+"\n"), two[:1]},
		{"a file with requests", file(t, dir, "b.warc.gz", string(records)),
			[]Capture{{"http://example.com/", at, members.PayloadDigest.Base32()}}},
		{"a package", file(t, dir, "a.wacz", pack.String()), two[:1]},
		{"a table", file(t, dir, "a.csv", "time,digest,url\n2014-01-03T03:03:21Z,"+digest+",http://example.com\n"+
			"20140103030341,"+digest+",http://example.com/\n2014-01-03,x,mailto:a@example.com\n"), two},
	} {
		got, err := read(t, c.path)
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v", c.name, got, err)
			continue
		}
		for i := range got {
			if got[i].URL != c.want[i].URL || !got[i].At.Equal(c.want[i].At) || got[i].Digest != c.want[i].Digest {
				t.Errorf("%s: %v, want %v", c.name, got[i], c.want[i])
			}
		}
	}
}

func TestWhatIsNoArchiveSaysSo(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "missing.cdx"), "no such file"},
		{file(t, dir, "a.txt", "a"), "want .warc"},
		{file(t, dir, "a.cdx", "com,example)/ 20140103 http://example.com/\n"), "line 1: 3 columns"},
		{file(t, dir, "b.cdx", strings.Repeat("x", 2<<20)), "longer than"},
		{file(t, dir, "a.cdxj", "com,example)/ 2014 not json\n"), "line 1"},
		{file(t, dir, "a.csv", "url,time\n"), "no column digest"},
		{file(t, dir, "b.csv", "url,time,digest\nhttp://a.example/,yesterday,x\n"), "line 2"},
		{file(t, dir, "a.cdx.gz", "not packed"), "gzip"},
		{file(t, dir, "a.warc", "not a record"), "no records"},
		{file(t, dir, "b.warc", "WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"),
			"no records"},
		{filepath.Dir(file(t, dir, "empty/readme", "")), "holds no"},
	} {
		if _, err := read(t, c.path); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
}

// A quote that is never closed does not take a file of any length into memory; rows of ordinary length do not add up.
func TestARowOfATableIsBounded(t *testing.T) {
	dir := t.TempDir()
	long := "url,time,digest\n\"" + strings.Repeat("http://a.example/\n", 2*maxRow/18) + "\",x,y\n"
	many := "url,time,digest\n" + strings.Repeat("http://a.example/,2026-03-01T12:00:00Z,abc\n", 2*maxRow/40)
	for name, c := range map[string]struct{ text, says string }{
		"long.csv": {long, "more than"}, "many.csv": {many, ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		collector := New(t.TempDir(), func(string) {})
		err := collector.Read(path)
		refused := errors.Is(err, ErrSource) && strings.Contains(err.Error(), c.says)
		if refused != (c.says != "") || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
		if err := collector.Close(); err != nil {
			t.Error(err)
		}
	}
}
