package chart

import (
	_ "embed"
	"html/template"
)

//go:embed style.css
var style string

// Style returns the style sheet of a page that stands alone and shows charts: light or dark as its reader likes, on a
// screen of any width.
func Style() template.CSS { return template.CSS(style) }
