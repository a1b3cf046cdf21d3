package timeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/changes"
)

const page = "http://docs.test/tea"

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// archived is an archive whose page says each of these, a day after the one before.
func archived(t *testing.T, bodies ...string) (*captures.Archive, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "warc")
	b, err := warc.NewBuilder(warc.Options{Compression: warc.Gzip, Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for day, body := range bodies {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: page, At: noon.AddDate(0, 0, day),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Body: []byte(body),
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")})
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := captures.Open(dir, func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a, filepath.Join(filepath.Dir(dir), changes.Folder)
}

// timelineOf is that of a page in a year.
func timelineOf(a *captures.Archive, u weburl.URL, year int) (*Timeline, error) {
	l := New(year)
	err := a.Captures(u, func(e cdxj.Entry) bool { l.Add(&e); return true })
	return l, errors.Join(err, l.End(a, u))
}

func body(text string) string {
	return "<!doctype html><title>Tea</title><main><p>" + text + "<p>" + strings.Repeat("Leaves are green. ", 30) +
		"</main>"
}

// A point for each version, the latest first; what one brought is compared, or as it was told, without noise.
func TestALineHasWhatEachVersionBrought(t *testing.T) {
	salt := func(price int) string {
		return body(fmt.Sprintf("Salt costs %d €, says clock %d.", price, 100+price))
	}
	a, folder := archived(t, salt(1), salt(1), salt(2), salt(3))
	say := func() (text string) {
		l, err := timelineOf(a, weburl.MustParse(page), 2026)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range l.Versions {
			text += fmt.Sprintf("%d %.0f %v", v.At.Day(), v.Percent, v.First)
			for _, r := range v.Brought {
				text += fmt.Sprintf(" %s[%s|%s]%s", r.Came.Begin, r.Went.Middle, r.Came.Middle, r.Came.End)
			}
			text += "\n"
		}
		return text
	}
	want := "4 100 false Salt costs [2 €, says clock 102|3 €, says clock 103].\n" +
		"3 67 false Salt costs [1 €, says clock 101|2 €, says clock 102].\n1 0 true\n"
	if got := say(); got != want {
		t.Errorf("compared:\n%s, want\n%s", got, want)
	}
	at := noon.AddDate(0, 0, 3)
	if err := changes.Append(folder, []changes.Change{{ID: changes.IDOf(page, at, ""), URL: page, At: at,
		Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-Salt costs 2 €\n+Salt costs 3 €\n"}}); err != nil {
		t.Fatal(err)
	}
	want = strings.Replace(want, "[2 €, says clock 102|3 €, says clock 103].", "[2|3] €", 1)
	if got := say(); got != want {
		t.Errorf("as told:\n%s, want\n%s", got, want)
	}
	if l, err := timelineOf(a, weburl.MustParse(page), 2025); err != nil || len(l.Versions) != 0 {
		t.Errorf("of another year: %v, %v", l, err)
	}
}

// Of many versions the latest are shown, and of much that one brought a part.
func TestALineIsBounded(t *testing.T) {
	var bodies []string
	for n := range most + 3 {
		bodies = append(bodies, body(fmt.Sprint("Version ", n, ".")))
	}
	long := strings.Repeat("x", 3*rowBytes)
	bodies = append(bodies, body(strings.Repeat("New. ", 40)+long))
	a, _ := archived(t, bodies...)
	l, err := timelineOf(a, weburl.MustParse(page), 2026)
	if err != nil || len(l.Versions) != most || l.Earlier != 4 {
		t.Fatalf("%d versions, %d earlier: %v", len(l.Versions), l.Earlier, err)
	}
	v := l.Versions[0]
	size := 0
	for _, r := range v.Brought {
		size += len(r.Came.Begin + r.Came.Middle + r.Came.End + r.Went.Begin + r.Went.Middle + r.Went.End)
	}
	if len(v.Brought) > rows || size > rows*6*(rowBytes+3) || !v.Cut {
		t.Errorf("the latest brought %d lines of %d bytes, cut: %v", len(v.Brought), size, v.Cut)
	}
}
