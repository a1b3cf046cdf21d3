// Package pagetext reads what an archived page says, as the slave that fetched it saw it.
package pagetext

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"henro/slave/charset"
	"henro/slave/links"
	"henro/slave/mediatype"
	"henro/slave/walls"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/fingerprint"
)

// Text is what a captured page says, as the crawl that fetched it saw it.
type Text struct {
	Words    []byte // the main text, in UTF-8
	Title    string
	Language string // as package charset guesses it; empty: unknown
	Charset  string
	Bytes    int // of the page, its content coding off
	Main     uint64
	Sim      uint64
}

// MaxBytes bounds how much of a page is read.
const MaxBytes = 16 << 20

// Read reads a captured page. A wall in its place (package walls) has no text: it is an error.
func Read(a *captures.Archive, e cdxj.Entry) (*Text, error) {
	page, err := HTML(a, e)
	if err != nil {
		return nil, err
	}
	t, d := &Text{Bytes: page.Bytes, Charset: page.Charset}, page.scanned
	t.Words, t.Title, t.Language = d.Text, d.Title, charset.Language(d.Lang, t.Charset, d.Text)
	t.Main, t.Sim = fingerprint.Main(d.Text), fingerprint.Sim(d.Text)
	return t, nil
}

// Page is the HTML of a captured page.
type Page struct {
	Body     []byte // in UTF-8, unless its encoding is unknown
	Charset  string
	Bytes    int // as it came, its content coding off
	Status   int
	Location string // where it is redirected to; empty: nowhere
	scanned  *links.Document
}

// HTML reads a captured page as it is. A wall in its place is an error.
func HTML(a *captures.Archive, e cdxj.Entry) (*Page, error) {
	c, err := a.Read(e)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	body, err := c.Uncoded()
	if err != nil {
		return nil, err
	}
	page, err := io.ReadAll(io.LimitReader(body, MaxBytes))
	if err != nil && len(page) == 0 {
		return nil, err // of a torn page, what there is
	}
	p := &Page{Bytes: len(page), Status: c.Status, Location: c.Header.Get("Location"), scanned: &links.Document{}}
	p.Charset, _ = charset.Detect(c.Header.Get("Content-Type"), page)
	if decoded, err := charset.Decode(page, p.Charset); err == nil {
		page = decoded
	}
	p.Body = page
	o := links.DefaultOptions()
	o.MaxLinks = 100 // a page that has more than a wall is none
	p.scanned.Scan(page, o)
	wall := &walls.Page{URL: e.URL, Status: c.Status, Body: page, Document: p.scanned}
	if kind := walls.Look(wall); kind != walls.None {
		return nil, fmt.Errorf("wall: %s", kind)
	}
	return p, nil
}

// Mime is the media type of a capture, also of one that is a revisit; empty if its content is not in the archive.
func Mime(a *captures.Archive, e cdxj.Entry) string {
	c, err := a.Read(e)
	if err != nil {
		return ""
	}
	defer c.Close()
	t, _ := mediatype.Parse(c.Header.Get("Content-Type"))
	return t.Essence
}

// Sentences are the title and the main text, a sentence a line, so that a change shows where it is.
func (t *Text) Sentences() string { return t.Title + "\n" + Sentences(t.Words) }

// Sentences are those of a text, a sentence a line.
func Sentences(text []byte) string {
	var b strings.Builder
	words := bytes.Fields(text)
	for i, word := range words {
		b.Write(word)
		last := word[len(word)-1]
		switch {
		case i == len(words)-1, last == '.', last == '!', last == '?', bytes.HasSuffix(word, []byte("。")),
			bytes.HasSuffix(word, []byte("！")), bytes.HasSuffix(word, []byte("？")):
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
	}
	return strings.NewReplacer("。\n", "。\n", "。", "。\n").Replace(b.String())
}
