package captures

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// holding is an archive of one file with these exchanges.
func holding(t *testing.T, dir string, exchanges ...*warc.Exchange) *Archive {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, x := range exchanges {
		x.At = noon
		x.Request = []byte("GET / HTTP/1.1\r\n\r\n")
		data, _ = b.AppendExchange(data, x)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestWhatIsNearIsLookedForInBounds: in the folders of the page's own host, so many lines, so many results.
func TestWhatIsNearIsLookedForInBounds(t *testing.T) {
	var exchanges []*warc.Exchange
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
	for i := range nearLooked + 10 {
		exchanges = append(exchanges, &warc.Exchange{URI: fmt.Sprintf("http://many.test/p%05d", i), Head: head})
	}
	exchanges = append(exchanges, &warc.Exchange{URI: "http://many.test/zz", Head: head})
	a := holding(t, t.TempDir(), exchanges...)
	near := a.Near(weburl.MustParse("http://many.test/zzz"))
	if len(near) != nearListed {
		t.Errorf("%d are near", len(near))
	}
	for _, e := range near {
		if e.URL == "http://many.test/zz" {
			t.Errorf("more than %d lines were looked at", nearLooked)
		}
	}
	if near := a.Near(weburl.MustParse("http://other.test/folder/page")); len(near) > 0 {
		t.Errorf("near a page of another host is %v", near)
	}
}

// What is near is of the folder of a page, or of the nearest above it that has any, and each page is named once.
func TestWhatIsNearIsOfTheNearestFolder(t *testing.T) {
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
	var exchanges []*warc.Exchange
	for _, uri := range []string{"a", "f/a", "f/b", "f/b", "f/g/h/c"} {
		exchanges = append(exchanges, &warc.Exchange{URI: "http://a.test/" + uri, Head: head})
	}
	a := holding(t, t.TempDir(), exchanges...)
	for missing, want := range map[string]string{"f/bb": "f/b f/a f/g/h/c", "f/g/h/i/d": "f/g/h/c",
		"b": "a f/a f/b f/g/h/c"} {
		var got []string
		for _, e := range a.Near(weburl.MustParse("http://a.test/" + missing)) {
			got = append(got, strings.TrimPrefix(e.URL, "http://a.test/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("near %s are %q, want %q", missing, got, want)
		}
	}
}

// A record that is beyond a bound keeps no other from being replayed, and is named with its file and place.
func TestARecordThatCannotBeReadIsNamedAndPassedOver(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i := range 3 {
		x := &warc.Exchange{URI: fmt.Sprint("http://a.test/", i), At: noon, Body: []byte("words"),
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")}
		if i == 1 {
			x.Head = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nX: %s\r\n\r\n", strings.Repeat("x", 5<<20))
		}
		data, _ = b.AppendExchange(data, x)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var unread []string
	a, err := Open(dir, func(what string) { unread = append(unread, what) })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(unread) != 1 || !strings.HasPrefix(unread[0], "a.warc.gz: ") || !strings.Contains(unread[0], " bytes at ") ||
		!strings.Contains(unread[0], "longer than the bound") {
		t.Errorf("what cannot be read: %q", unread)
	}
	for i, want := range []int{1, 0, 1} {
		url, err := weburl.Parse(fmt.Sprint("http://a.test/", i))
		if err != nil {
			t.Fatal(err)
		}
		captures := 0
		if err := a.Captures(url, func(cdxj.Entry) bool { captures++; return true }); err != nil || captures != want {
			t.Errorf("%s: %d captures, want %d, %v", url, captures, want, err)
		}
	}
}

// TestCodingsAreBounded: layers without end, and windows larger than the web may ask for.
func TestCodingsAreBounded(t *testing.T) {
	if n := len(Codings(strings.Repeat("gzip,", 1000))); n > MaxCodings+1 {
		t.Errorf("%d codings", n)
	}
	if _, err := Uncoded(strings.NewReader(""), "gzip, gzip, gzip, gzip"); err == nil {
		t.Error("four layers are taken off")
	}
	if _, err := Uncoded(strings.NewReader(""), "gzip, rot13"); err == nil {
		t.Error("a coding that is unknown is taken off")
	}
	for window, want := range map[int]bool{8 << 20: true, 32 << 20: false} {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, io.LimitReader(zeros{}, 40<<20)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		in, err := Uncoded(&b, "zstd")
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		if (err == nil) != want {
			t.Errorf("a window of %d MB: %v", window>>20, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
