package mediatype

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// latin1 makes bytes of the characters by which the cases write them.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

func TestParseAgreesWithTheWebPlatformTests(t *testing.T) {
	f, err := os.Open("testdata/mime_type_parse.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		var c struct {
			Input            string
			Output, Encoding *string
		}
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(c.Input, func(r rune) bool { return r > 0xff }) {
			continue // no byte of a header
		}
		got, ok := Parse(latin1(c.Input))
		if ok != (c.Output != nil) || ok && got.String() != latin1(*c.Output) {
			t.Errorf("%q: %q, %v", c.Input, got, ok)
			continue
		}
		if c.Encoding == nil {
			continue
		}
		enc, err := htmlindex.Get(got.Param("charset"))
		if err != nil {
			t.Errorf("%q: %v", c.Input, err)
		} else if name, _ := htmlindex.Name(enc); !strings.EqualFold(name, *c.Encoding) {
			t.Errorf("%q: %s, want %s", c.Input, name, *c.Encoding)
		}
	}
	if n < 500 {
		t.Errorf("%d cases", n)
	}
}

// The examples of Fetch, "extract a MIME type", and what follows from its steps.
func TestExtract(t *testing.T) {
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{[]string{"text/plain;charset=gbk", "text/html"}, "text/html"},
		{[]string{"text/html;charset=gbk;a=b", "text/html;x=y"}, "text/html;x=y;charset=gbk"},
		{[]string{"text/html;charset=gbk;a=b", "text/html;charset=big5"}, "text/html;charset=big5"},
		{[]string{"text/html;x=y", "text/html", "text/plain"}, "text/plain"},
		{[]string{"text/html;charset=gbk", "x/x", "text/html;x=y"}, "text/html;x=y"},
		{[]string{"text/html", "cannot-parse"}, "text/html"},
		{[]string{"text/html", "*/*"}, "text/html"},
		{[]string{"text/html", ""}, "text/html"},
		{[]string{"text/html;charset=gbk, text/plain"}, "text/plain"},
		{[]string{`text/html;a="b,c", `}, `text/html;a="b,c"`},
		{[]string{`text/html;"`, `",text/plain`}, "text/plain"},
		{[]string{"", ","}, ""},
		{nil, ""},
		{[]string{"*/*;charset=utf-8"}, ""},
	} {
		if got, ok := Extract(c.fields); got.String() != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, want %q", c.fields, got, c.want)
		}
	}
}

func TestComputed(t *testing.T) {
	const png, gif = "\x89PNG\r\n\x1a\n", "GIF89a"
	for _, c := range []struct {
		name    string
		fields  string
		noSniff bool
		body    string
		want    string
	}{
		{"HTML is believed, whatever comes", "text/html", false, png, "text/html"},
		{"so is XML", "application/rss+xml", false, "<html>", "application/rss+xml"},
		{"and text of a charset that Apache does not put on everything", "text/plain; charset=utf-8", false, "\x00\x01",
			"text/plain"},
		{"text with binary bytes is none", "text/plain", false, "a\x00b", "application/octet-stream"},
		{"nor with the charset of old Apaches", "text/plain; charset=ISO-8859-1", false, "a\x01b",
			"application/octet-stream"},
		{"text is never made HTML", "text/plain", false, "<!DOCTYPE html><html>", "text/plain"},
		{"marked UTF-16 is text", "text/plain", false, "\xff\xfea\x00", "text/plain"},
		{"escapes are text", "text/plain", false, "\x1b$B", "text/plain"},
		{"the host's wish holds", "text/plain", true, "a\x00b", "text/plain"},
		{"nothing said", "", false, "  <!doctype HTML >", "text/html"},
		{"a tag is ended by a space or >", "", false, "<pre>", "text/plain"},
		{"a paragraph", "", false, "<p>", "text/html"},
		{"a comment", "", false, "\n<!--x -->", "text/plain"},
		{"a comment with a space behind it", "", false, "<!-- ", "text/html"},
		{"an XML declaration", "", false, "<?xml version=", "text/xml"},
		{"PDF", "unknown/unknown", false, "%PDF-1.7", "application/pdf"},
		{"PostScript", "application/unknown", false, "%!PS-Adobe-", "application/postscript"},
		{"anything", "*/*", false, gif, "image/gif"},
		{"no type", "html", false, "<html>", "text/html"},
		{"a mark of UTF-16", "", false, "\xff\xfea\x00", "text/plain"},
		{"WebP", "", false, "RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"},
		{"WAVE", "", false, "RIFF\x10\x00\x00\x00WAVEfmt ", "audio/wave"},
		{"MP4", "", false, "\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp42", "video/mp4"},
		{"another box", "", false, "\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00qt  ", "application/octet-stream"},
		{"WebM", "", false, "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "video/webm"},
		{"an icon", "", false, "\x00\x00\x01\x00\x01", "image/x-icon"},
		{"JPEG", "", false, "\xff\xd8\xff\xe0", "image/jpeg"},
		{"ZIP", "", false, "PK\x03\x04\x14", "application/zip"},
		{"white space before the tag", "", false, "\n\t <HTML>", "text/html"},
		{"white space before a picture", "", false, " GIF89a", "text/plain"},
		{"gzip", "", false, "\x1f\x8b\x08", "application/x-gzip"},
		{"words", "", false, "hello", "text/plain"},
		{"bytes", "", false, "\x00\x01\x02", "application/octet-stream"},
		{"what could run is not guessed against the host's wish", "", true, "<html>", "text/plain"},
		{"pictures are told from each other", "image/jpeg", false, png, "image/png"},
		{"a picture that is none stays what it is called", "image/jpeg", false, "<html>", "image/jpeg"},
		{"SVG is XML", "image/svg+xml", false, png, "image/svg+xml"},
		{"other types are believed", "application/json", false, "<html>", "application/json"},
		{"nothing at all", "", false, "", ""},
	} {
		var fields []string
		if c.fields != "" {
			fields = []string{c.fields}
		}
		if got := Computed(fields, c.noSniff, []byte(c.body)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(`text/html;charset="a\"b;c", x/y;a=b`, "body")
	f.Fuzz(func(t *testing.T, field, body string) {
		if got, ok := Extract([]string{field}); ok {
			if again, is := Parse(got.String()); !is || again.String() != got.String() {
				t.Fatalf("%q reads as %q, that as %q", field, got, again)
			}
		}
		Computed([]string{field}, false, []byte(body))
	})
}

func TestIsScript(t *testing.T) {
	for essence, want := range map[string]bool{"text/javascript": true, "Application/X-ECMAScript": true,
		"text/javascript1.5": true, "application/javascript1.5": false, "text/javascript1.6": false, "module": false,
		"text/template": false, "application/json": false, "": false, "image/javascript": false} {
		if got := IsScript(essence); got != want {
			t.Errorf("IsScript(%q) = %v", essence, got)
		}
	}
}

// String writes the type as the standard serializes it.
func (t Type) String() string {
	b := []byte(t.Essence)
	for _, p := range t.Params {
		b = append(append(append(b, ';'), p.Name...), '=')
		if isToken(p.Value) {
			b = append(b, p.Value...)
			continue
		}
		b = append(b, '"')
		for i := range len(p.Value) {
			if p.Value[i] == '"' || p.Value[i] == '\\' {
				b = append(b, '\\')
			}
			b = append(b, p.Value[i])
		}
		b = append(b, '"')
	}
	return string(b)
}

func TestIsPacked(t *testing.T) {
	for _, c := range []struct {
		essence, encoding string
		want              bool
	}{{"image/png", "", true}, {"text/html", "", false}, {"text/html", " GZip", true}, {"image/svg+xml", "", false},
		{"image/svg+xml", "br", true}, {"", "identity", false}} {
		if got := IsPacked(c.essence, c.encoding); got != c.want {
			t.Errorf("%s, %q: %v", c.essence, c.encoding, got)
		}
	}
}
