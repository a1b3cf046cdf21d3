package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/store/archive/captures"
	"henro/store/archive/warc"
)

// A page whose scripts were run is found by what they showed, until its next capture, and is listed so in a WACZ file.
func TestWhatScriptsShowedIsFound(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	put := func(file string, add func([]byte) []byte) {
		if err := os.MkdirAll(filepath.Join(dir, "warc"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "warc", file), add(nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page := func(to []byte, at time.Time, html string) []byte {
		to, _ = b.AppendExchange(to, &warc.Exchange{URI: "http://a.example/", At: at, Body: []byte(html),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")})
		return to
	}
	record := func(to []byte, at time.Time, kind, mime, body string) []byte {
		return b.Append(to, &warc.Record{Type: warc.Resource, Date: at, TargetURI: "urn:" + kind + ":http://a.example/",
			ContentType: mime, Body: []byte(body), PayloadDigest: warc.Sum([]byte(body))})
	}
	index := func() {
		f := searchFlags{index: true}
		f.q.Most = 1
		if err := f.run(t.Context(), dir, "", io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	finds := func(words string, want int) {
		t.Helper()
		f := searchFlags{}
		f.q.Most, f.q.Versions = 20, true
		var out bytes.Buffer
		if err := f.run(t.Context(), dir, words, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "http://a.example/  "); got != want {
			t.Errorf("%s is found %d times, want %d:\n%s", words, got, want, &out)
		}
	}
	put("a.warc.gz", func(to []byte) []byte {
		to = page(to, noon, "<title>App</title><div id=root></div>")
		to = record(to, noon.Add(time.Minute), "text", "text/plain", "pomegranates grow here")
		to = record(to, noon.Add(time.Minute), "pageinfo", "application/json", `{"title":"Orchard"}`)
		return page(to, noon.Add(time.Hour), "<title>App</title><div id=root>quinces</div>")
	})
	index()
	finds("pomegranates", 1)
	finds("orchard", 1)
	finds("quinces", 1)
	put("b.warc.gz", func(to []byte) []byte { // the page was shown after its file had been read
		return record(to, noon.Add(2*time.Hour), "text", "text/plain", "medlars grow here")
	})
	index()
	finds("medlars", 1)
	a, err := captures.Open(filepath.Join(dir, "warc"), func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var listed []string
	for p, err := range pagesOf(a, false, func(string) bool { return true }) {
		if listed = append(listed, p.Title+": "+p.Text); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(listed, ", "); got != "Orchard: pomegranates grow here, App: medlars grow here" {
		t.Errorf("a WACZ lists %s", got)
	}
}
