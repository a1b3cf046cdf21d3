package graph

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"henro/store/archive/warc"
	"henro/store/report/tables"
)

// archived is a WARC file of answers, each a URL, the head and the body.
func archived(t *testing.T, answers ...[3]string) []byte { return archivedAs(t, warc.Gzip, answers...) }

func archivedAs(t *testing.T, as warc.Compression, answers ...[3]string) []byte {
	t.Helper()
	o := warc.DefaultOptions()
	o.Compression = as
	b, err := warc.NewBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for i, a := range answers {
		x := &warc.Exchange{URI: a[0], At: time.Date(2026, 3, 14, 12, 0, i, 5000, time.UTC),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head:    []byte(strings.ReplaceAll(a[1], "\n", "\r\n") + "\r\n\r\n"),
			Body:    []byte(a[2]), Payload: []byte(a[2])}
		file, _ = b.AppendExchange(file, x)
	}
	return file
}

func rowsOf(t *testing.T, file []byte) (pages, edges []string) {
	t.Helper()
	err := read(bytes.NewReader(file), "a.warc.gz", func(edge bool, r tables.Row) error {
		of, to := Beside().Pages, &pages
		if edge {
			of, to = Beside().Edges, &edges
		}
		line := ""
		for i, c := range of.Columns {
			v := r.Value(i)
			if v.Kind != tables.Empty && v.Kind != c.Kind {
				t.Errorf("%s is of kind %d", c.Name, v.Kind)
			}
			if c.Name != "main_digest" && c.Name != "simhash" && c.Name != "warc_record_offset" &&
				c.Name != "usage_preference" {
				line += v.String() + "|"
			}
		}
		*to = append(*to, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, edges
}

func TestAnAnswerIsAPageAndItsLinksAreEdges(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, `<html lang=de><title>Die Seite</title><meta name=robots content=nofollow><p>Ein Text, der steht.`+
		`<base href=/in/><a href=a>Erste</a><a href="a#x">wieder</a><img src=a><a href=mailto:x@y.z>post</a>`)
	z.Close()
	file := archived(t,
		[3]string{"http://a.test/", "HTTP/1.1 200 OK\nContent-Type: text/html; charset=iso-8859-1\n" +
			"Content-Encoding: gzip\nLink: </next>; rel=next", packed.String()},
		[3]string{"http://a.test/old", "HTTP/1.1 301 Moved\nLocation: /new", ""},
		[3]string{"http://a.test/s.css", "HTTP/1.1 200 OK\nLocation: /no\nContent-Type: text/css",
			"a{background:url(b.png)}"},
		[3]string{"http://a.test/gone.css", "HTTP/1.1 404 No\nContent-Type: text/css", "a{background:url(b.png)}"},
		[3]string{"http://a.test/404", "HTTP/1.1 404 No\nX-Robots-Tag: noindex\nContent-Type: text/html",
			"<a href=/>Home</a>"},
		[3]string{"http://a.test/x", "HTTP/1.1 200 OK", "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 5000)},
		[3]string{"http://a.test/bad", "HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: none-such",
			"<a href=/>"},
	)
	pages, edges := rowsOf(t, file)
	at := func(second int) string { return fmt.Sprintf("2026-03-14T12:00:%02dZ|", second) }
	want := []string{
		"http://a.test/|" + at(0) + "200|text/html|WINDOWS-1252|deu|Die Seite|false|true|3|a.warc.gz|",
		"http://a.test/old|" + at(1) + "301|||||false|false|1|a.warc.gz|",
		"http://a.test/s.css|" + at(2) + "200|text/css||||false|false|1|a.warc.gz|",
		"http://a.test/gone.css|" + at(3) + "404|text/css||||false|false|0|a.warc.gz|",
		"http://a.test/404|" + at(4) + "404|text/html|WINDOWS-1252|||true|false|1|a.warc.gz|",
		"http://a.test/x|" + at(5) + "200|image/png||||false|false|0|a.warc.gz|",
		"http://a.test/bad|" + at(6) + "200|text/html|WINDOWS-1252|||false|false|0|a.warc.gz|",
	}
	if !reflect.DeepEqual(pages, want) {
		t.Errorf("pages:\n%s\nwant\n%s", strings.Join(pages, "\n"), strings.Join(want, "\n"))
	}
	host := "http://a.test|http://a.test|"
	want = []string{
		"0|http://a.test/|http://a.test/in/a|a|true|Erste|" + host + at(0) + "a.warc.gz|",
		"1|http://a.test/|http://a.test/in/a|image|true||" + host + at(0) + "a.warc.gz|",
		"2|http://a.test/|http://a.test/next|header|true||" + host + at(0) + "a.warc.gz|",
		"0|http://a.test/old|http://a.test/new|redirect|false||" + host + at(1) + "a.warc.gz|",
		"0|http://a.test/s.css|http://a.test/b.png|css|false||" + host + at(2) + "a.warc.gz|",
		"0|http://a.test/404|http://a.test/|a|false|Home|" + host + at(4) + "a.warc.gz|",
	}
	if !reflect.DeepEqual(edges, want) {
		t.Errorf("edges:\n%s\nwant\n%s", strings.Join(edges, "\n"), strings.Join(want, "\n"))
	}
	plain := bytes.Replace(archivedAs(t, warc.None,
		[3]string{"http://a.test/", "HTTP/1.1 200 OK", "<a href=/>as it was"},
		[3]string{"http://a.test/2", "HTTP/1.1 200 OK", ""}), []byte("as it was"), []byte("as it is!"), 1)
	if some, _ := rowsOf(t, plain); len(some) != 1 {
		t.Errorf("with a record that was altered: %q", some)
	}
	torn := bytes.Clone(file)
	torn[len(torn)/2] ^= 1
	if some, _ := rowsOf(t, torn); len(some) != len(pages)-1 {
		t.Errorf("with a damaged record: %d pages", len(some))
	}
	for cut := 0; cut < len(file); cut += 11 {
		rowsOf(t, file[:cut])
	}
}

// The links of a page are bounded.
func TestALinkFarmIsBounded(t *testing.T) {
	var page strings.Builder
	for i := range maxLinks + 10 {
		fmt.Fprintf(&page, "<a href=/%d>%s</a>", i, strings.Repeat("x", 200))
	}
	pages, edges := rowsOf(t, archived(t, [3]string{"http://a.test/", "HTTP/1.1 200 " + http.StatusText(200) +
		"\nContent-Type: text/html", page.String()}))
	if n := maxLinkBytes / (200 + len("http://a.test/12345")); len(pages) != 1 || len(edges) < n || len(edges) > n+200 {
		t.Errorf("%d pages, %d edges", len(pages), len(edges))
	}
}

// TestWhatPublishersSayIsWithThePage: from the metadata record behind it, and from no other.
func TestWhatPublishersSayIsWithThePage(t *testing.T) {
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for i, about := range [][]warc.Field{{{Name: "tlsError", Value: "expired"},
		{Name: "usagePreference", Value: "a: b=n"}, {Name: "usagePreference", Value: "robots: noarchive"}}, nil,
		{{Name: "usagePreference", Value: "c: d"}}} {
		file, _ = b.AppendExchange(file, &warc.Exchange{URI: fmt.Sprint("http://a.test/", i), About: about,
			At: time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Body: []byte("<a href=/x>x</a>")})
	}
	file = b.Append(file, &warc.Record{Type: warc.Metadata, ConcurrentTo: []warc.ID{warc.NewID()},
		ContentType: warc.TypeFields, Head: []byte("usagePreference: of another\r\n")})
	var got []string
	at := pages.Column("usage_preference")
	if err := read(bytes.NewReader(file), "a.warc.gz", func(edge bool, r tables.Row) error {
		if !edge {
			got = append(got, r.Value(0).Text+" "+r.Value(at).Text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"http://a.test/0 a: b=n\nrobots: noarchive", "http://a.test/1 ", "http://a.test/2 c: d"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
