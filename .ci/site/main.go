// Command site renders the documents of the tree as a static site: each page with its contents, search without a
// server, light and dark, English and Japanese where there is both.
//
//	site OUT
//
// A link to a document leads to its page. Any other file that a document links to is copied; a source file is shown as
// text. A link to a file or a heading that is not there fails.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	render "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

//go:embed search.js
var search []byte

// root is the tree, seen from this directory.
const root = "../.."

// menu is the order of the pages; documents that it does not name come behind it.
var menu = []string{"README.md", "docs/start.md", "docs/start.ja.md", "docs/install.md", "docs/settings.md",
	"docs/flags.md", "docs/fetch.md", "docs/output.md", "docs/replay.md", "docs/tables.md", "docs/dashboard.md",
	"docs/revisit.md", "docs/topic.md", "docs/duplicates.md", "docs/frontier.md", "docs/library.md", "docs/lab.md",
	"docs/cluster.md", "docs/metrics.md", "docs/tracing.md", "docs/security.md", "docs/glossary.md",
	"docs/architecture.md"}

type page struct {
	Path, Title, Lang, Root string // Path is that of the document; Root leads from the page to the first
	Out                     string
	Body                    template.HTML
	Contents                []heading
	Menu                    []*page
	Other                   *page // in the other language
	source                  []byte
	anchors                 map[string]bool
	document                ast.Node
}

type heading struct{ ID, Text string }

// found is what the search finds: a section of a page.
type found struct {
	Page string `json:"p"`
	Head string `json:"h"`
	URL  string `json:"u"`
	Text string `json:"t"`
}

type site struct {
	markdown goldmark.Markdown
	pages    map[string]*page // by path of the document
	files    map[string]bool  // others that are linked to
	index    []found
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: site OUT")
		os.Exit(2)
	}
	if err := build(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func build(out string) error {
	s := &site{pages: map[string]*page{}, files: map[string]bool{}, markdown: goldmark.New(
		goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(render.WithUnsafe()),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
	documents, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		return err
	}
	measured, err := filepath.Glob(root + "/docs/measured/*.md")
	if err != nil {
		return err
	}
	documents = append(documents, measured...)
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "store/FORMAT.md"} {
		documents = append(documents, root+"/"+name)
	}
	for _, name := range documents {
		if err := s.read(strings.TrimPrefix(filepath.ToSlash(name), root+"/")); err != nil {
			return err
		}
	}
	list := s.inOrder()
	var failed error
	for _, p := range list {
		failed = errors.Join(failed, s.link(p))
	}
	if failed != nil {
		return failed
	}
	t := template.Must(template.New("page").Parse(layout))
	for _, p := range list {
		var body, whole bytes.Buffer
		if err := s.markdown.Renderer().Render(&body, p.source, p.document); err != nil {
			return err
		}
		p.Body, p.Menu = template.HTML(usable(body.String())), list
		if err := t.Execute(&whole, p); err != nil {
			return err
		}
		if err := write(filepath.Join(out, p.Out), whole.Bytes()); err != nil {
			return err
		}
	}
	if err := s.pictures(); err != nil {
		return err
	}
	for name := range s.files {
		if err := s.copy(out, name); err != nil {
			return err
		}
	}
	index, err := json.Marshal(s.index)
	if err != nil {
		return err
	}
	return errors.Join(write(filepath.Join(out, "style.css"), style), write(filepath.Join(out, "search.js"), search),
		write(filepath.Join(out, "index.js"), slices.Concat([]byte("const index = "), index, []byte(";\n"))))
}

var emptyHead = regexp.MustCompile(`<th( [^>]*)?></th>`)

// usable lets the keyboard scroll what may be wider than the window, and makes no head of an empty cell.
func usable(body string) string {
	body = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`).Replace(body)
	return emptyHead.ReplaceAllString(body, "<td$1></td>")
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// read parses a document; one that is not there is left out.
func (s *site) read(name string) error {
	source, err := os.ReadFile(filepath.Join(root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	p := &page{Path: name, Title: name, Lang: "en", source: source, anchors: map[string]bool{}, Out: outOf(name)}
	p.Root = strings.Repeat("../", strings.Count(p.Out, "/"))
	if strings.HasSuffix(name, ".ja.md") {
		p.Lang = "ja"
	}
	p.document = s.markdown.Parser().Parse(text.NewReader(source))
	section := &found{Page: name, URL: p.Out}
	add := func() {
		if section.Text = strings.Join(strings.Fields(section.Text), " "); section.Text != "" {
			s.index = append(s.index, *section)
		}
	}
	err = ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			value, _ := n.AttributeString("id")
			id, _ := value.([]byte)
			words := wordsOf(n, source)
			if n.Level == 1 {
				p.Title = words
			} else if n.Level < 4 {
				p.Contents = append(p.Contents, heading{string(id), words})
			}
			p.anchors[string(id)] = true
			add()
			section = &found{Head: words, URL: p.Out + "#" + string(id)}
		case *ast.Text:
			section.Text += string(n.Segment.Value(source)) + " "
		case *ast.FencedCodeBlock:
			section.Text += string(n.Lines().Value(source)) + " "
		}
		return ast.WalkContinue, nil
	})
	add()
	for i := range s.index {
		if strings.HasPrefix(s.index[i].URL, p.Out) {
			s.index[i].Page = p.Title
		}
	}
	s.pages[name] = p
	return err
}

// wordsOf is the text of a heading.
func wordsOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func outOf(name string) string {
	if name == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

func (s *site) inOrder() []*page {
	var list []*page
	for _, name := range menu {
		if p := s.pages[name]; p != nil {
			list = append(list, p)
		}
	}
	rest := len(list)
	for _, p := range s.pages {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
		p.Other = s.pages[strings.TrimSuffix(p.Path, ".md")+".ja.md"]
		if english := strings.TrimSuffix(p.Path, ".ja.md"); english != p.Path {
			p.Other = s.pages[english+".md"]
		}
	}
	slices.SortFunc(list[rest:], func(a, b *page) int { return strings.Compare(a.Title, b.Title) })
	return list
}

// link lets the links of a page lead to pages and files of the site.
func (s *site) link(p *page) error {
	var failed error
	err := ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			to, err := s.resolve(p, string(n.Destination))
			failed, n.Destination = errors.Join(failed, err), []byte(to)
		case *ast.Image:
			to, err := s.resolve(p, string(n.Destination))
			failed, n.Destination = errors.Join(failed, err), []byte(to)
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(err, failed)
}

func (s *site) resolve(p *page, destination string) (string, error) {
	u, err := url.Parse(destination)
	if err != nil || u.Scheme != "" {
		return destination, err
	}
	name := p.Path
	if u.Path != "" {
		name = path.Join(path.Dir(p.Path), u.Path)
	}
	if to := s.pages[name]; to != nil {
		if u.Fragment != "" && !to.anchors[u.Fragment] {
			return "", fmt.Errorf("%s: %s has no heading #%s", p.Path, name, u.Fragment)
		}
		u.Path = p.Root + to.Out
		return u.String(), nil
	}
	info, err := os.Stat(filepath.Join(root, name))
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Path, err)
	}
	if info.IsDir() {
		name += "/index"
	}
	s.files[name] = true
	return p.Root + fileOut(name), nil
}

// pictures has all pictures of the documents copied: some are named in HTML within a document.
func (s *site) pictures() error {
	return filepath.WalkDir(root+"/docs", func(name string, entry fs.DirEntry, err error) error {
		if ext := path.Ext(name); ext == ".svg" || ext == ".png" {
			s.files[strings.TrimPrefix(filepath.ToSlash(name), root+"/")] = true
		}
		return err
	})
}

// shown are the kinds of files that are copied as they are; others are shown as text.
var shown = []string{".svg", ".png", ".json", ".yaml", ".csv", ".tsv"}

// fileOut is where a file lies in the site. Names that begin with a dot are not served everywhere.
func fileOut(name string) string {
	name = strings.TrimPrefix(name, ".")
	if !slices.Contains(shown, path.Ext(name)) {
		name += ".html"
	}
	return name
}

func (s *site) copy(out, name string) error {
	from := filepath.Join(root, name)
	if dir, isDir := strings.CutSuffix(name, "/index"); isDir {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			return err
		}
		var list strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&list, "%s\n", e.Name())
		}
		return write(filepath.Join(out, fileOut(name)), asText(dir, list.String()))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if !slices.Contains(shown, path.Ext(name)) {
		data = asText(name, string(data))
	}
	return write(filepath.Join(out, fileOut(name)), data)
}

func asText(name, content string) []byte {
	return []byte("<!doctype html><meta charset=utf-8><meta name=color-scheme content=\"light dark\"><title>" +
		html.EscapeString(name) + "</title><pre>" + html.EscapeString(content) + "</pre>\n")
}
