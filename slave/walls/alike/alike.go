// Package alike tells walls of vendors that nobody wrote down by what no content does: pages of a host that differed
// answer the same few words, one after the other, and nothing else comes in between. It decides and does nothing.
//
// Whether a page differed is known of those whose text was seen since the slave began: pages that say the same but for
// their figures at each visit, as those of sensors do, are none.
//
// The first two of such answers pass, since they might be anything: what is said of a run is said from the third on, of
// all pages of the host that answer the same. What says nothing is left out of it: a page without text, the shell of an
// application, failures, what is no HTML. A run ends with the first page that says something else. It also ends after
// Lasts: what a site says for so long it means, say one that became an application or closed, and it is content until
// it says something else. A host that was forgotten meanwhile, by a restart or for others (Most), begins anew: two
// answers pass again.
package alike

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"henro/slave/walls"
)

// The rules of a run.
const (
	Enough = 3              // pages that answer the same, one after the other, are a wall
	Within = time.Hour      // between two of them, at most, until they are enough
	Lasts  = 72 * time.Hour // a wall from its first answer on; afterwards the same text is content
	Most   = 4096           // hosts that are remembered, some 200 bytes each
	Pages  = 1 << 16        // of all hosts, some 100 bytes each, of which is remembered what they said
)

// A text is of use from leastText bytes on, figures left out, and short up to mostText bytes: what walls say fits.
const leastText, mostText = 16, 2000

// Hosts remembers what the hosts of a slave answered. The zero Hosts is ready, and safe for concurrent use.
type Hosts struct {
	mu   sync.Mutex
	seed maphash.Seed
	runs *simplelru.LRU[string, *run]   // by host
	said *simplelru.LRU[uint64, uint64] // hash of the text, by that of the URL; 0: something else than walls say
	kept []byte                         // of the last page; what it lies in is used again
}

// run is the same text, one page after the other.
type run struct {
	text, body  uint64 // hashes; of the body that of the last answer
	since, last time.Time
	urls        []uint64 // of known pages that changed into it, Enough at most
}

// Look is walls.Look, and finds walls.Same as well. An unchanged page, byte for byte or by the server's word, is no
// wall; its Document may be nil.
func (h *Hosts) Look(host string, p *walls.Page, unchanged bool, now time.Time) walls.Kind {
	if !unchanged {
		if k := walls.Look(p); k != walls.None || p.Status != 200 || p.Document == nil {
			return k
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == nil {
		h.seed = maphash.MakeSeed()
		h.runs, _ = simplelru.NewLRU[string, *run](Most, nil) // its error is of no room
		h.said, _ = simplelru.NewLRU[uint64, uint64](Pages, nil)
	}
	r, _ := h.runs.Get(host)
	d := p.Document
	if unchanged {
		if r != nil && (d == nil || maphash.Bytes(h.seed, p.Body) != r.body) {
			h.runs.Remove(host)
		}
		return walls.None
	}
	h.kept = kept(h.kept[:0], d.Title, d.Text)
	url, text := maphash.String(h.seed, p.URL), maphash.Bytes(h.seed, h.kept)
	before, remembered := h.said.Get(url)
	switch {
	case len(d.Text) > mostText:
		h.runs.Remove(host)
		fallthrough
	case d.Scripted, len(h.kept) < leastText:
		h.said.Add(url, 0)
		return walls.None
	case r == nil:
		r = &run{text: text, since: now}
		h.runs.Add(host, r)
	case r.text != text:
		*r = run{text: text, since: now, urls: r.urls[:0]}
	case len(r.urls) < Enough && now.Sub(r.last) > Within:
		r.urls, r.since = nil, now
	}
	r.last, r.body = now, maphash.Bytes(h.seed, p.Body)
	differed := p.Known && remembered && before != text
	if differed && len(r.urls) < Enough && !slices.Contains(r.urls, url) {
		r.urls = append(r.urls, url)
	}
	if len(r.urls) < Enough || now.Sub(r.since) >= Lasts {
		h.said.Add(url, text)
		return walls.None
	}
	return walls.Same
}

// kept appends what is said, without what differs from page to page of the same wall: words of ASCII that have a figure
// or a slash, as times, addresses, identifiers and URLs do, and figures and spaces in all others. Of a title without a
// text, or with a long one, it is nothing.
func kept(dst []byte, title string, text []byte) []byte {
	if len(text) == 0 || len(text) > mostText {
		return dst
	}
	from := len(dst)
	dst = append(append(append(dst, title...), ' '), text...)
	said, out := dst[from:], dst[:from]
	for len(said) > 0 {
		end, has := 0, uint8(0)
		for ; end < len(said) && said[end] != ' '; end++ {
			has |= signs[said[end]]
		}
		switch word := said[:end]; {
		case has&(figure|slash) == 0:
			out = append(out, word...)
		case has&foreign != 0:
			for _, c := range word {
				if signs[c] != figure {
					out = append(out, c)
				}
			}
		}
		said = said[min(end+1, len(said)):]
	}
	return out
}

// What a byte of a word may be.
const (
	figure = 1 << iota
	slash
	foreign // not ASCII
)

var signs = func() (of [256]uint8) {
	of['/'] = slash
	for c := '0'; c <= '9'; c++ {
		of[c] = figure
	}
	for c := utf8.RuneSelf; c < len(of); c++ {
		of[c] = foreign
	}
	return of
}()
