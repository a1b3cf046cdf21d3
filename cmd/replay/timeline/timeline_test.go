package timeline

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// pictured are resource records of what a page looked like, and of what is no picture.
func pictured(t *testing.T, a *captures.Archive, all ...warc.Record) {
	t.Helper()
	b, err := warc.NewBuilder(warc.Options{Compression: warc.Gzip, Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, r := range all {
		r.Type, r.PayloadDigest = warc.Resource, warc.Sum(r.Body)
		data = b.Append(data, &r)
	}
	err = os.WriteFile(filepath.Join(a.Dir(), "b.warc.gz"), data, 0o600)
	if err = errors.Join(err, a.Refresh()); err != nil {
		t.Fatal(err)
	}
}

// A version has the pictures of the page before it and with it, at each width, where they differ.
func TestAVersionHasPicturesBeforeAndAfter(t *testing.T) {
	a, _ := archived(t, body("one"), body("two"), body("three"), body("four"))
	look := func(name string, day, minute int, is string) warc.Record {
		return warc.Record{TargetURI: name + page, ContentType: "image/png", Body: []byte(is),
			Date: noon.AddDate(0, 0, day).Add(time.Duration(minute) * time.Minute)}
	}
	html := look("urn:view:", 2, 2, "<script>")
	html.ContentType = "text/html"
	other := look("urn:view:", 2, 1, "x")
	other.TargetURI = strings.ToUpper(other.TargetURI)
	pictured(t, a, look("urn:view:", 0, 1, "a"), look("urn:view:", 1, 1, "a"), look("urn:view:", 1, 2, "b"), html,
		look("urn:view:", 2, 3, "c"), look("urn:view-390:", 0, 1, "d"), look("urn:view-390:", 1, 0, "e"),
		look("urn:view:", 9, 1, "f"), look("urn:thumbnail:", 2, 3, "g"), look("urn:view-390:", 3, 1, "h"), other)
	l, err := timelineOf(a, weburl.MustParse(page), 2026)
	if err != nil {
		t.Fatal(err)
	}
	show := func(path string) (int, string, http.Header) {
		w := httptest.NewRecorder()
		err := Show(w, httptest.NewRequest("GET", path, nil), a)
		if err != nil {
			return 0, err.Error(), nil
		}
		return w.Code, w.Body.String(), w.Header()
	}
	got := ""
	for _, v := range l.Versions {
		for _, look := range v.Looks {
			_, before, _ := show(look.Before.Path())
			_, after, h := show(look.After.Path())
			got += fmt.Sprintf("%d: %d %s %s\n", v.At.Day(), look.Width, before, after)
			if h.Get("Content-Type") != "image/png" || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v", h)
			}
		}
	}
	if want := "4: 1280 c f\n4: 390 e h\n3: 1280 b c\n2: 390 d e\n"; got != want {
		t.Errorf("pictures:\n%swant\n%s", got, want)
	}
	for _, path := range []string{"?width=1280&url=" + page + "&at=20260303120200",
		"?url=" + page + "&at=20260301120000", "?width=640&url=" + page + "&at=20260303120300",
		"?width=1280&url=" + page + "&at=2", "", "?width=1280&url=%00&at=%ff"} {
		if status, text, _ := show(PicturePath + path); status != 0 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
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
