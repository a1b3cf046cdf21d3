// Package docs carries those pages of this directory that the programs show themselves. They are the files that people
// read here: there is no second copy.
package docs

import (
	"embed"
	"io/fs"
	"strings"
)

// OpenAPI describes what nodes answer over HTTP.
//
//go:embed openapi.yaml
var OpenAPI string

//go:embed *.md
var pages embed.FS

// Topics returns the names of all pages and their titles, in order.
func Topics() (names, titles []string) {
	files, err := fs.Glob(pages, "*.md")
	if err != nil {
		panic(err) // the pattern is right
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".md")
		title, _, _ := strings.Cut(strings.TrimPrefix(Page(name), "# "), "\n")
		names, titles = append(names, name), append(titles, title)
	}
	return names, titles
}

// Page returns the text of a page in Markdown, or "" if there is none of that name.
func Page(name string) string {
	text, err := pages.ReadFile(name + ".md")
	if err != nil {
		return ""
	}
	return string(text)
}
