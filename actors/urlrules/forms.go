package urlrules

import (
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/fingerprint"
)

// parts are those of a URL.
type parts struct {
	host, path string
	query      []string // parameters as they stand there
}

func split(url string) parts {
	u := parts{host: weburl.HostOf(url)}
	var query string
	var has bool
	if u.path, query, has = strings.Cut(url[len(u.host):], "?"); has {
		u.query = strings.Split(query, "&")
	}
	return u
}

func (u *parts) String() string {
	if len(u.query) == 0 {
		return u.host + u.path
	}
	return u.host + u.path + "?" + strings.Join(u.query, "&")
}

// segment is the parameter at the end of the path, as in /a;id=1, and the path before it.
func (u *parts) segment() (path, parameter string, ok bool) {
	i := strings.LastIndexByte(u.path, ';')
	if i < 0 || strings.IndexByte(u.path[i:], '/') >= 0 {
		return u.path, "", false
	}
	return u.path[:i], u.path[i+1:], true
}

func nameOf(parameter string) string {
	name, _, _ := strings.Cut(parameter, "=")
	return name
}

func hash(s string) uint32 {
	h := fingerprint.URL(s)
	return max(1, uint32(h^h>>32))
}

// without gives the URL without what the rule is about, and the hash of that; 0: the URL has nothing of it.
func (u *parts) without(r *Rule) (parts, uint32) {
	reduced := *u
	switch r.Kind {
	case Parameter:
		if name, ok := strings.CutPrefix(r.Name, ";"); ok {
			path, parameter, has := u.segment()
			if !has || nameOf(parameter) != name {
				return reduced, 0
			}
			reduced.path = path
			return reduced, hash(parameter)
		}
		if !slices.ContainsFunc(u.query, func(p string) bool { return nameOf(p) == r.Name }) {
			return reduced, 0
		}
		var value strings.Builder
		reduced.query = make([]string, 0, len(u.query))
		for _, p := range u.query {
			if nameOf(p) == r.Name {
				value.WriteString(p + "&")
			} else {
				reduced.query = append(reduced.query, p)
			}
		}
		return reduced, hash(value.String())
	case Document:
		folder, ok := strings.CutSuffix(u.path, r.Name)
		if !ok || !strings.HasSuffix(folder, "/") {
			return reduced, 0
		}
		reduced.path = folder
	case Slash:
		if len(u.path) < 2 || u.path[len(u.path)-1] != '/' {
			return reduced, 0
		}
		reduced.path = u.path[:len(u.path)-1]
	case Case:
		if reduced.path = strings.ToLower(u.path); reduced.path == u.path {
			return reduced, 0
		}
	case Order:
		if slices.IsSorted(u.query) {
			return reduced, 0
		}
		reduced.query = slices.Sorted(slices.Values(u.query))
	}
	return reduced, 1
}

// table remembers texts of pages by their URLs, and by their URLs without what a rule is about. When it is full it
// forgets half of all URLs: all forms of one together, so that what it still holds is compared however late.
type table struct {
	entries map[place]entry
	level   uint // fingerprints that end with so many zero bits are kept
}

type place struct {
	url  uint64 // fingerprint
	rule uint32 // that it is without; 0: it is whole
}

type entry struct {
	text  uint64
	url   uint32 // of the page
	value uint32 // of what the rule is about
	at    uint32 // minutes since 1970
	left  uint8  // links that could be followed from the page
}

func minutes(t time.Time) uint32 { return uint32(max(0, t.Unix()) / 60) }

// compare finds the pages whose URLs differ from a page's by one rule alone, and may remember the page.
func (t *table) compare(rules []Rule, u *parts, url uint64, page entry, remember bool,
	pair func(r *Rule, a, b *entry)) {
	for i := range rules {
		r := &rules[i]
		at, value := u.place(r, url)
		own := page
		own.value = value
		if other := t.other(at, value, page.url); other != nil {
			pair(r, &own, other)
		}
		if value != 0 && remember {
			t.put(at, own)
		}
	}
	if remember {
		t.put(place{url: url}, page)
	}
}

// place is where pages are remembered that are one with u but for what a rule is about, and the hash of that; 0: u has
// nothing of it.
func (u *parts) place(r *Rule, url uint64) (place, uint32) {
	reduced, value := u.without(r)
	if value != 0 {
		url = fingerprint.URL(reduced.String())
	}
	return place{url, r.id()}, value
}

// other is a page with another URL that is remembered at a place: the one that has nothing of what the rule is about,
// if there is one.
func (t *table) other(at place, value, url uint32) *entry {
	if value != 0 {
		if plain, ok := t.entries[place{url: at.url}]; ok {
			return &plain
		}
	}
	if other, ok := t.entries[at]; ok && other.url != url {
		return &other
	}
	return nil
}

func (t *table) put(at place, e entry) {
	if at.url&(1<<t.level-1) != 0 {
		return
	}
	if t.entries == nil {
		t.entries = map[place]entry{}
	}
	t.entries[at] = e
	for len(t.entries) > tableMost {
		t.level++
		for at := range t.entries {
			if at.url&(1<<t.level-1) != 0 {
				delete(t.entries, at)
			}
		}
	}
}

// forms are the pages that the table remembers, by the fingerprints of their keys. Without a rule the keys are the
// URLs. With one they are the URLs without what the rule is about, where no page is remembered under that URL itself.
func (t *table) forms(r *Rule) map[uint64]*Form {
	forms := map[uint64]*Form{}
	for at, e := range t.entries {
		form := &Form{Text: e.text, At: time.Unix(int64(e.at)*60, 0), Left: e.left, URL: e.url}
		switch {
		case e.text == Missing:
		case r == nil:
			if at.rule == 0 {
				forms[at.url] = form
			}
		case at.rule == r.id() && r.passes(0) && r.passes(e.value):
			if _, plain := t.entries[place{url: at.url}]; !plain {
				form.By = []uint32{at.rule}
				forms[at.url] = form
			}
		}
	}
	return forms
}
