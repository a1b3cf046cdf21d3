package links

import (
	"bytes"
	"slices"

	"henro/messages/outlink"
)

// What says that a browser shows more than stands in a page, since scripts make it of what they fetch. The script that
// does so mostly lies elsewhere, and may come later; what can be seen is the page around it: its own scripts, the
// marks of a framework that takes over what its server wrote, and how little there is but scripts. Scripts that add
// something to a page, such as counters, menus and searches, leave no such marks.

// signs are what was seen of that.
type signs struct {
	roots      int  // div elements looked at
	empty      bool // one of them has a name and nothing in it
	fetches    bool // scripts fetch, or a framework takes the page over
	warned     bool // there are words for those who run no scripts
	unscripted int  // bytes of Document.Text that only they see
}

const (
	rootsLooked = 16  // of the first div elements of a page: the root of an application is among them
	rootWords   = 40  // bytes: what stands in a root until it is filled, "Loading ..."
	fewWords    = 24  // bytes of text: an application before it runs has next to none
	warnedWords = 160 // likewise, where a page says that it wants scripts
)

// application are ids that frameworks give the root of an application, takenOver those that they give it only if they
// run in the browser too, whatever stands in it.
var (
	application = []string{"app", "root", "main-app", "react-app", "react-root", "app-root", "q-app"}
	takenOver   = []string{"__next", "__nuxt", "___gatsby", "__docusaurus", "__layout"}
)

// handedOver are names of what scripts in a page hand over to such a framework.
var handedOver = [][]byte{[]byte("__next_f"), []byte("__sveltekit_"), []byte("__remixContext"),
	[]byte("__reactRouterContext"), []byte("__VP_HASH_MAP__"), []byte("__NUXT__")}

// root looks at a div element whose tag ends at end.
func (s *signs) root(d *Document, end int) {
	if s.roots++; s.roots > rootsLooked || d.template > 0 {
		return
	}
	id, _ := d.attr("id")
	_, rendered := d.attr("data-server-rendered")
	s.fetches = s.fetches || rendered || isOneOf(id, takenOver)
	s.empty = s.empty || len(id) > 0 && bytes.HasPrefix(bytes.TrimLeft(d.html[end:], " \t\r\n"), []byte("</"))
	if isOneOf(id, application) {
		within := d.html[end:min(end+rootWords, len(d.html))]
		lt := bytes.IndexByte(within, '<')
		s.fetches = s.fetches || lt >= 0 && bytes.HasPrefix(within[lt:], []byte("</"))
	}
}

// handsOver looks at a script in the page.
func (s *signs) handsOver(js []byte) {
	s.fetches = s.fetches || bytes.Contains(js, []byte("__")) &&
		slices.ContainsFunc(handedOver, func(name []byte) bool { return bytes.Contains(js, name) })
}

func isOneOf(b []byte, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return is(b, word) })
}

// ofScripts reports whether the page, which was read to its end, is made by scripts.
func (s *signs) ofScripts(d *Document) bool {
	words := len(d.Text) + d.skipped - s.unscripted
	if s.fetches || d.o.MaxText == 0 || words >= warnedWords || words >= fewWords && !s.warned {
		return s.fetches
	}
	runs := false
	for i := range d.spans {
		switch d.spans[i].kind {
		case outlink.Script:
			runs = true
		case outlink.Image, outlink.Media, outlink.Object, outlink.Frame, outlink.Iframe:
			if !s.warned {
				return false
			}
		case outlink.Anchor, outlink.Area, outlink.Form: // the frame around what scripts put there
			if !s.empty || words >= fewWords {
				return false
			}
		case outlink.Refresh:
			return false
		}
	}
	return runs
}
