package links

import (
	"slices"
	"strings"
	"testing"

	"henro/messages/outlink"
)

func TestLinkedData(t *testing.T) {
	page := func(json string) string { return `<script type="application/ld+json">` + json + `</script>` }
	for _, c := range []struct {
		what, html string
		want       []string
	}{
		{"addresses",
			page(`{"@context":"https://schema.org","@type":"Article","@id":"https://a.example/#x","url":"https://` +
				`a.example/x","name":"https://a.example/no"}`),
			[]string{"https://a.example/#x", "https://a.example/x"}},
		{"lists", page(`{"sameAs":["https://b.example/a","//c.example/b","/d"],"keywords":["/no"]}`),
			[]string{"https://b.example/a", "//c.example/b", "/d"}},
		{"objects within",
			page(`{"image":{"@type":"ImageObject","contentUrl":"/i.png","caption":"/no"},"author":[{"url":"/me"},"/` +
				`no"],"logo":"/l.png"}`),
			[]string{"/i.png", "/me", "/l.png"}},
		{"objects and addresses in a list", page(`{"image":[{"url":"/1"},"/2",["/3"]],"x":"/no"}`),
			[]string{"/1", "/2", "/3"}},
		{"a graph", page(`{"@graph":[{"@id":"/a"},{"item":{"@id":"/b","name":"b"}}]}`), []string{"/a", "/b"}},
		{"a list at the top", page(`[{"url":"/a"},{"url":"/b"}]`), []string{"/a", "/b"}},
		{"escapes", page(`{"url":"https:\/\/a.example\/\u65e5?a=\u0026b=\ud83d\ude00\"","x":"\\"}`),
			[]string{"https://a.example/日?a=&b=😀\""}},
		{"names are no addresses", page(`{"item":"Home","license":"MIT","menu":"","@id":"#me","url":"mailto:a@b"}`),
			nil},
		{"nor are templates", page(`{"target":"https://a.example/?q={q}"}`), nil},
		{"in a comment", page(`<!-- {"url":"/a"} -->`), []string{"/a"}},
		{"broken", page(`{"url":"/a",,"x":{]}}]"url" : "/b","sameAs":["/c" "/d`), []string{"/a", "/b", "/c"}},
		{"capitals", `<SCRIPT TYPE=Application/LD+JSON>{"url":"/a"}</SCRIPT>`, []string{"/a"}},
		{"parameters", `<script type='application/ld+json; charset=utf-8'>{"url":"/a"}</script>`, []string{"/a"}},
		{"other scripts", `<script>{"url":"/a"}</script><script type=application/json>{"url":"/b"}</script>`, nil},
		{"inert", `<template>` + page(`{"url":"/a"}`) + `</template>`, nil},
	} {
		o := DefaultOptions()
		o.JSONLD = true
		var d Document
		d.Scan([]byte(c.html), o)
		var got []string
		for _, l := range d.Links {
			if l.Kind != outlink.Data || l.Kind.Navigates() {
				t.Errorf("%s: %q is of kind %v", c.what, l.Raw, l.Kind)
			}
			got = append(got, l.Raw)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		if d.Scan([]byte(c.html), DefaultOptions()); len(d.Links) > 0 {
			t.Errorf("%s: found though it was not wanted", c.what)
		}
	}
}

func BenchmarkLinkedData(b *testing.B) {
	html := []byte(`<script type="application/ld+json">[` +
		strings.Repeat(`{"@type":"Product","name":"A name of some `+
			`words","offers":{"price":"12.00","url":"https://a.example/x"}},`, 200) + `]</script>`)
	o := DefaultOptions()
	o.JSONLD = true
	var d Document
	b.SetBytes(int64(len(html)))
	for b.Loop() {
		d.Scan(html, o)
	}
}
