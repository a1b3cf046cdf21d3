// Package news tells what changed between two versions of a page, and whether it matters.
//
// A version is cut into blocks: of its main text (a paragraph, a cell, a line of code), the addresses of its links and
// pictures, its title, its status and where it is redirected to. Blocks that only moved have not changed. What the
// reader wants left out or watched stands in watches (of watch.yaml); what changes at nearly each visit is learnt
// (Record) and told from news.
//
// Sources: HTML as golang.org/x/net/html reads it, selectors as github.com/andybalholm/cascadia, patterns as RE2.
package news

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Kind says what a block is of.
type Kind byte

// Kinds of blocks.
const (
	Text     Kind = iota // of the main text
	Title                // of the page
	Link                 // an address that a link of the main text leads to
	Picture              // the address of a picture in the main text
	Status               // of the answer, where it is not 200
	Location             // where the page is redirected to
)

// String names the kind as people read it.
func (k Kind) String() string {
	return [...]string{"text", "title", "link", "picture", "status", "redirect"}[k]
}

// Bounds of what is read of a page. What lies behind them is one last block, which changes when any of it does.
const (
	MaxBytes  = 4 << 20 // bytes of HTML that are cut into blocks
	maxBlocks = 50_000
	maxText   = 8 << 10 // bytes of one block
	maxWhere  = 120     // bytes of Where
	maxTitle  = 200     // letters of Page.Title
)

// Block is a piece of a page.
type Block struct {
	Kind  Kind
	Text  string
	Where string // the last elements that it lies in, as a selector names them
	// hashes of all elements that it lies in, without and with their classes and ids
	tags, place uint64
}

// hash names a block by what it says.
func (b *Block) hash() uint64 { return xxhash.Sum64String(b.Text) ^ uint64(b.Kind)*0x9e3779b97f4a7c15 }

// Page is one version of a page.
type Page struct {
	Title  string // the first, white space folded, as long as people read it
	Blocks []Block
	Cut    bool // it is larger than what is read of it
}

// Read cuts a page into blocks. body is HTML in UTF-8, status that of the answer, location its redirect, if it is one;
// r may be nil. It reads any bytes: of what is nested deeper than 512 elements, and of what lies behind the bounds,
// only the text.
func Read(body []byte, status int, location string, r *Watch) *Page {
	rd := &reader{page: &Page{}, watch: r}
	if r == nil {
		rd.watch = &none
	}
	if status != 200 {
		rd.add(Block{Kind: Status, Text: itoa(status)})
	}
	if location != "" {
		rd.add(Block{Kind: Location, Text: location})
	}
	rest := body[min(len(body), MaxBytes):]
	body = body[:len(body)-len(rest)]
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		root = flat(body)
	}
	rd.root(root)
	if len(rest) > 0 {
		rd.page.Cut = true
		rd.rest = append(rd.rest, rest...)
	}
	if len(rd.rest) > 0 {
		rd.page.Blocks = append(rd.page.Blocks, Block{Kind: Text, Where: "…",
			Text: "(the end of the page, which is too long to be shown: " + hex(xxhash.Sum64(rd.rest)) + ")"})
	}
	return rd.page
}

// flat makes a tree of a page that the parser refuses: the pieces of its text, without their elements.
func flat(body []byte) *html.Node {
	root := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(MaxBytes)
	for skip := ""; ; {
		switch z.Next() {
		case html.ErrorToken:
			return root
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "script" || string(name) == "style" {
				skip = string(name)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		case html.TextToken:
			if skip == "" {
				p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P}
				p.AppendChild(&html.Node{Type: html.TextNode, Data: string(z.Text())})
				root.AppendChild(p)
			}
		}
	}
}

// reader walks over the tree of a page.
type reader struct {
	page  *Page
	watch *Watch
	rest  []byte // of blocks that are too many
	text  strings.Builder
	at    frame // of the block at hand
}

// frame is where in the tree something lies.
type frame struct {
	names       []string // of the elements, the outermost first
	tags, place uint64
	pre         bool
	kept        bool // within what a selector wants watched, or none does
	aside       bool // within navigation and the like
}

func (r *reader) add(b Block) {
	b.Text = r.watch.clean(fold(b.Text))
	switch {
	case b.Text == "":
	case len(r.page.Blocks) >= maxBlocks:
		r.page.Cut = true
		if len(r.rest) < MaxBytes {
			r.rest = append(append(r.rest, b.Text...), '\n')
		}
	default:
		if len(b.Text) > maxText {
			b.Text = strings.ToValidUTF8(b.Text[:maxText], "") + "… " + hex(xxhash.Sum64String(b.Text))
		}
		r.page.Blocks = append(r.page.Blocks, b)
	}
}

// flush ends the block at hand.
func (r *reader) flush() {
	if r.text.Len() == 0 {
		return
	}
	text := r.text.String()
	r.text.Reset()
	if !r.at.shown() {
		return
	}
	lines := []string{text}
	if r.at.pre {
		lines = strings.Split(text, "\n")
	}
	for _, line := range lines {
		r.add(Block{Kind: Text, Text: line, Where: r.at.where(), tags: r.at.tags, place: r.at.place})
	}
}

func (f *frame) shown() bool { return f.kept && !f.aside }

func (f *frame) where() string {
	words := ""
	for i := len(f.names) - 1; i >= max(0, len(f.names)-4); i-- {
		if longer := strings.TrimSuffix(f.names[i]+" > "+words, " > "); len(longer) <= maxWhere {
			words = longer
			continue
		}
		break
	}
	return words
}

func (r *reader) root(root *html.Node) {
	r.walk(root, frame{kept: len(r.watch.only) == 0, tags: 1, place: 1})
	r.flush()
}

// asides are elements whose text is not of the main text; hidden, those that nobody reads.
var (
	asides = map[atom.Atom]bool{atom.Nav: true, atom.Header: true, atom.Footer: true, atom.Aside: true}
	hidden = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true,
		atom.Iframe: true, atom.Object: true, atom.Svg: true, atom.Math: true, atom.Textarea: true, atom.Select: true}
	// inline are elements that do not end a block
	inline = map[atom.Atom]bool{atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true,
		atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true, atom.Em: true,
		atom.Font: true, atom.I: true, atom.Img: true, atom.Ins: true, atom.Kbd: true, atom.Label: true,
		atom.Mark: true, atom.Q: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true,
		atom.Strong: true, atom.Sub: true,
		atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true}
)

// walk goes over the children of a node; f is where it lies. The parser bounds the depth.
func (r *reader) walk(n *html.Node, f frame) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			if r.text.Len() == 0 {
				r.at = f
			}
			if r.text.Len() < MaxBytes {
				r.text.WriteString(c.Data)
			}
		case html.ElementNode:
			r.element(c, f)
		}
	}
}

func (r *reader) element(n *html.Node, f frame) {
	if n.DataAtom == atom.Title && n.Namespace == "" {
		if n.FirstChild == nil || r.page.Title != "" {
			return
		}
		title := fold(n.FirstChild.Data)
		if r.page.Title = title; utf8.RuneCountInString(title) > maxTitle {
			r.page.Title = string([]rune(title)[:maxTitle]) + "…"
		}
		if len(r.watch.only) == 0 {
			r.add(Block{Kind: Title, Text: title, Where: "title"})
		}
		return
	}
	if hidden[n.DataAtom] || r.watch.leaves(n) {
		return
	}
	wanted := r.watch.wants(n)
	f.kept = f.kept || wanted
	f.aside = !wanted && (f.aside || asides[n.DataAtom])
	if n.DataAtom == atom.Main || n.DataAtom == atom.Article {
		f.aside = false
	}
	if inline[n.DataAtom] && !wanted {
		r.address(n, &f)
		r.walk(n, f)
		return
	}
	r.flush()
	name := nameOf(n)
	f.names = append(f.names[:len(f.names):len(f.names)], name)
	f.tags = mix(f.tags, xxhash.Sum64String(n.Data))
	f.place = mix(f.place, xxhash.Sum64String(name))
	f.pre = f.pre || n.DataAtom == atom.Pre
	r.address(n, &f)
	r.walk(n, f)
	r.flush()
}

// address adds where a link leads to, or where a picture lies.
func (r *reader) address(n *html.Node, f *frame) {
	kind, name := Link, "href"
	switch {
	case !f.shown():
		return
	case n.DataAtom == atom.Img && r.watch.pictures():
		kind, name = Picture, "src"
	case n.DataAtom != atom.A || !r.watch.links():
		return
	}
	for _, a := range n.Attr {
		if a.Key == name && !strings.HasPrefix(a.Val, "data:") && !strings.HasPrefix(a.Val, "#") {
			r.add(Block{Kind: kind, Text: a.Val, Where: f.where(), tags: f.tags, place: f.place})
			return
		}
	}
}

// nameOf names an element with its id and classes, numbers in them left out, as they count what is on the page.
func nameOf(n *html.Node) string {
	name := n.Data
	for _, a := range n.Attr {
		sign := ""
		switch a.Key {
		case "id":
			sign = "#"
		case "class":
			sign = "."
		default:
			continue
		}
		for i, word := range strings.Fields(a.Val) {
			if i == 4 {
				break
			}
			name += sign + strings.TrimFunc(word, func(c rune) bool { return c >= '0' && c <= '9' })
		}
	}
	return name[:min(len(name), maxWhere)]
}

// fold makes all white space one space, as it does what is no text or turns text round, and takes soft hyphens out.
func fold(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	return strings.Join(strings.FieldsFunc(strings.ReplaceAll(s, "\u00ad", ""), func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) ||
			c == '\u200b' || c == '\ufeff'
	}), " ")
}

func mix(a, b uint64) uint64 { return (a^b)*0x9e3779b97f4a7c15 ^ a>>29 }
