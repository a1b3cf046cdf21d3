// Package linkstest is a site that names the requisites of a page in every form, with links beside them and what only
// looks like either, for tests and labs that compare what is read here with what a browser loads.
//
// What Chromium asks the site for is kept in Loaded; .ci/lab/requisites.sh compares it with what it asks for today.
package linkstest

import (
	_ "embed"
	"net/http"
	"path"
	"strings"
)

//go:embed site.txtar
var site string

//go:embed chromium.txt
var loaded string

// Other stands in the site for the address of another host, "far.example:8080".
const Other = "OTHER"

// Loaded are the paths that Chromium asks for when it shows index.html and scrolls to its end, those at the other host
// after "//OTHER".
func Loaded() []string { return strings.Fields(loaded) }

// types are the Content-Types of the site, and what stands in a file that is named but not written.
var types = map[string]struct{ mime, body string }{
	".html":        {"text/html", "<!DOCTYPE html><title>Empty</title>"},
	".xhtml":       {"application/xhtml+xml", ""},
	".css":         {"text/css", "p { color: black }"},
	".js":          {"text/javascript", "// nothing"},
	".json":        {"application/json", "{}"},
	".webmanifest": {"application/manifest+json", "{}"},
	".svg":         {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`},
	".png": {"image/png",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f" +
			"\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0P\x0f\x00\x04\x85\x01" +
			"\x80\x84\xa9\x8c!\x00\x00\x00\x00IEND\xaeB`\x82"},
	".webp":  {"image/webp", ""},
	".woff":  {"font/woff", ""},
	".woff2": {"font/woff2", ""},
	".vtt":   {"text/vtt", "WEBVTT\n"},
	".mp3":   {"audio/mpeg", ""},
	".mp4":   {"video/mp4", ""},
	".webm":  {"video/webm", ""},
}

// File answers one path, other being the address of the other host.
func File(name, other string) (mime, body string) {
	name = strings.TrimPrefix(name, "/")
	t := types[path.Ext(name)]
	if _, after, found := strings.Cut(site, "\n-- "+name+" --\n"); found {
		text, _, _ := strings.Cut(after, "\n-- ")
		return t.mime, strings.ReplaceAll(text, Other, other)
	}
	return t.mime, t.body
}

// Handler answers every path of the site; seen is called with each.
func Handler(other string, seen func(r *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen(r)
		mime, body := File(r.URL.Path, other)
		if mime == "" {
			mime = "application/octet-stream"
		}
		w.Header().Set("Content-Type", mime)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = w.Write([]byte(body)) // the client may have hung up
	})
}
