package walls

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/url"
	"slices"
	"strings"
)

// enough is how many signs of shape make a wall of a page of which no vendor's words are known.
const enough = 4

// maxShapeLinks is how many links to pages a page of which only hints are known has at most.
const maxShapeLinks = 5

// perIdea is for how many letters a hint speaks. Where many of one kind do, each speaks for more, and the page may be
// longer than a bare one: questions for consent and notes of hosters are.
const perIdea, perManyIdeas, manyIdeas = 150, 200, 5

// maxButton is how many letters a button has at most: a page with a captcha that says no more than that asks for it.
const maxButton = 16

// What any page's body does, by the lines of words.txt.
const (
	asks = 1 << iota
	setsCookie
	goesOn
	scripts
	stays
)

// byShape looks at a page that has hardly anything: what it does instead of showing content, and of which kind of wall
// its few words give hints. Words alone need three ideas of one kind and no link to another page of the site, or two of
// which the whole page consists; a status that refuses, a form, an address or a way back makes up for one.
func (s *signs) byShape() Kind {
	d, status := s.page.Document, s.page.Status
	switch {
	case status == 404, status == 410, status == 500, status == 502, status == 504: // each says itself what it is
		return None
	case s.content, s.pages > maxShapeLinks && (s.bare || s.pages > maxBareLinks):
		return None
	}
	hinted.find(lower([]byte(d.Title)), &s.title)
	hinted.find(s.words, &s.text)
	best, second, most := s.mostHinted()
	size := letters(d.Text, max(len(d.Text)/2, sentence))
	switch {
	case s.page.Redirected && best == Consent && most > 1 && s.says(Consent):
		return best
	case !s.bare:
		return s.byIdeas(best, most, size)
	}
	if !s.failed && most < 2 && size > sentence || s.here() == nil {
		return None // before its body and its URL are looked at
	}
	asked := !s.page.Redirected && !s.isDenied() && s.says(LogIn) // a page for logging in is content there
	if asked && best == LogIn {
		best, most = second, s.hinted(second)
	}
	does := s.inBody()[None][marks]
	if k := s.byDeeds(does, size, asked); k != None {
		return k
	}
	few := most < 2 && best != Parked && !s.page.Redirected
	if !s.failed && (few || s.hinted(None) > 0 || d.Scripted && s.hinted(best) < 3) {
		return None // of the last two: it says that there is no such page, or that scripts make it
	}
	if !s.isShaped(best, size, does) && status != 503 { // which asks to come again later
		return None
	}
	return best
}

// mostHinted returns the kind of which hints say most, the one that was before it, and how many hints these are.
func (s *signs) mostHinted() (best, second Kind, most int) {
	best, second = None, None
	for k := Challenge; k < kinds; k++ {
		if n := s.hinted(k) + s.around(k); n > most {
			best, second, most = k, best, n
		}
	}
	return best, second, most
}

// byIdeas looks at a page of some text of which hints say a kind: many, and nothing else.
func (s *signs) byIdeas(best Kind, most, size int) Kind {
	if most < manyIdeas || size > most*perManyIdeas || s.hasSite() || s.asked(best) || s.isLaidOut() {
		return None
	}
	return best
}

// asked reports that a page about a kind was asked for: it is content there.
func (s *signs) asked(k Kind) bool {
	return s.here() == nil || !s.page.Redirected && (s.says(None) || s.says(k))
}

// byDeeds needs no words: a form for a password, a status, a script that goes on to the page. asked: for a page for
// logging in, which is content there.
func (s *signs) byDeeds(does uint64, size int, asked bool) Kind {
	status := s.page.Status
	comesAgain := does&setsCookie != 0 && does&goesOn != 0
	sends := does&stays == 0 || s.failed || s.page.Redirected
	script := does&scripts != 0 && size == 0 && s.pages == 0
	switch forms := s.body.of(LogIn, widgets); {
	case forms > 0 && sends && !asked && !s.talks(LogIn), status == 401 && !script, status == 402:
		return LogIn
	case script && (s.failed || does&setsCookie != 0 && (does&goesOn != 0 || s.page.Document.Title == "")),
		size <= sentence && s.pages == 0 && s.hinted(Challenge) > 0 && comesAgain:
		return Challenge
	case s.failed && (comesAgain || size == 0 && (does&scripts != 0 || status == 202)):
		return Challenge // it lets in who keeps the cookie, or proves something in frames, or comes again
	case status == 429:
		return RateLimit
	case size <= sentence && s.leadsBack() && s.says(LogIn):
		return LogIn
	case s.isButton(does, size):
		return Captcha
	}
	return None
}

// isButton reports a captcha that is all that a page has, but for a button.
func (s *signs) isButton(does uint64, size int) bool {
	return size <= maxButton && s.pages == 0 && does&asks != 0 && s.body.of(Captcha, widgets) > 0 && !s.asked(None)
}

// isShaped weighs the ideas that a page of so many letters gives hints of against what it does.
func (s *signs) isShaped(k Kind, size int, does uint64) bool {
	ideas, shape, own, back := s.hinted(k), 0, s.ownLinks() > 0, s.leadsBack()
	own = own && (s.own > 1 || !s.home || k == Parked) // others lead to the start of the site
	guarded := s.body.of(Challenge, widgets)+s.body.of(Captcha, widgets) > 0
	for _, sign := range [...]bool{
		does&asks != 0 && !own, !own && s.title.of(k, titles) > 0, s.page.Document.NoIndex,
		!own && s.tellsAddress(), back, back,
		s.failed && (guarded || does&goesOn != 0), s.page.Redirected && s.says(k), isStrange(s.page.Status)} {
		if sign {
			shape++
		}
	}
	if k == Parked && !own && size <= sentence && s.namesHost() {
		shape, ideas = shape+1, ideas+1
	}
	if !s.failed && s.isContent(k, shape, ideas, size) {
		return false
	}
	n, around := min(shape, 2), s.around(k)
	if own {
		around = 0
	} else if size <= ideas*perIdea {
		n++
		if size <= sentence*2/3 && !s.failed {
			n++ // hardly more than the ideas
		}
	}
	n += min(ideas+around, 3)
	if s.failed {
		n++
	}
	return (ideas >= 2 || shape > 0 && (s.failed || s.page.Redirected)) && n >= enough
}

// isStrange reports a status of no standard, or the one for laws: who sends it says of nothing what it is, but refuses.
func isStrange(code int) bool {
	return code > 599 || code >= 418 && code < 500 && (code < 421 || code > 431)
}

// isContent reports a page that was asked for, or one without a shape that does not speak to its reader, as walls do,
// or is laid out as content is.
func (s *signs) isContent(k Kind, shape, ideas, size int) bool {
	switch {
	case !s.page.Redirected && s.says(None):
		return true
	case shape > 0:
		return false
	case s.asked(k), s.isLaidOut() && (size > sentence || ideas < manyIdeas/2+1):
		return true
	}
	spoken := s.title[None][around]|s.text[None][around] != 0
	return size > sentence && ideas < manyIdeas && k != Parked && !spoken
}

// isLaidOut reports that a page is laid out as content is.
func (s *signs) isLaidOut() bool {
	body := s.page.Body[:min(len(s.page.Body), maxRead)]
	return slices.ContainsFunc(layouts, func(tag []byte) bool { return bytes.Contains(body, tag) })
}

// layouts are tags of content: lists with an order, examples, articles.
var layouts = [][]byte{[]byte("<ol"), []byte("<pre"), []byte("<article"), []byte("<th>"), []byte("<dl")}

// hinted is how many ideas of a kind title and text give a hint of.
func (s *signs) hinted(k Kind) int {
	return bits.OnesCount64(s.title[k][hints] | s.text[k][hints])
}

// around is how many phrases that walls put around these ideas there are, up to two, and no more than ideas.
func (s *signs) around(k Kind) int {
	return min(2, s.hinted(k), bits.OnesCount64(s.title[k][around]|s.text[k][around]))
}

// leastSite is how many links to other pages of its site a page of content has at least that talks of walls.
const leastSite = 2

// ownLinks is how many links lead to other pages of the same site, up to leastSite, but those that walls have as well.
// They are looked at once.
func (s *signs) ownLinks() int {
	u := s.here()
	if s.own >= 0 || u == nil {
		return s.own
	}
	s.own = 0
	var paths [leastSite]string
	for _, l := range s.page.Document.Links {
		if !l.Kind.Navigates() {
			continue
		}
		to, err := u.Parse(l.Raw)
		if err != nil || to.Host != u.Host || to.Path == u.Path || slices.Contains(paths[:s.own], to.Path) ||
			wallsLink(to) {
			continue
		}
		start := to.Path == "" || to.Path == "/" || strings.HasPrefix(to.Path, "/index.") // of the site
		if s.home = s.home || start; s.own == leastSite-1 {
			s.own++
			break
		}
		paths[s.own], s.own = to.Path, s.own+1
	}
	return s.own
}

// wallsLink reports a link that walls have as well, by its path or its query.
func wallsLink(to *url.URL) bool {
	var f found
	addressed.find([]byte("//"+to.Host+to.Path+"?"+to.RawQuery), &f)
	return f.of(None, urls) > 0 || f.of(LogIn, urls) > 0
}

// letters is how much a text says, in letters, of which one of Chinese, Japanese or Korean counts as two. A text that
// is not longer in bytes than most, or three times as long, is counted by bytes.
func letters(text []byte, most int) (n int) {
	if len(text) <= most || len(text) > 3*most {
		return len(text)
	}
	const tops = 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		x := binary.LittleEndian.Uint64(text)
		n += 8 - bits.OnesCount64(x&^(x<<1)&tops) + bits.OnesCount64(x&(x<<1)&(x<<2)&tops)
	}
	for _, b := range text {
		if b < 0x80 || b >= 0xc0 {
			n++
		}
		if b >= 0xe0 {
			n++
		}
	}
	return n
}

// tellsAddress reports that the text has an IP address or a long identifier: who asked, and what for.
func (s *signs) tellsAddress() bool {
	for word := range bytes.FieldsSeq(s.page.Document.Text) {
		word = bytes.Trim(word, ".,;:()[]\"'#")
		digits, others, dots := 0, 0, 0
		for _, b := range word {
			switch {
			case b >= '0' && b <= '9':
				digits++
			case b == '.':
				dots++
			case b|0x20 < 'a' || b|0x20 > 'z':
				others = len(word)
			}
		}
		if dots == 3 && digits+dots == len(word) || dots == 0 && others <= 4 && digits >= 4 && len(word) >= 12 {
			return true
		}
	}
	return false
}

// leadsBack reports that the page was reached by a redirect, and that its URL says where to go afterwards.
func (s *signs) leadsBack() bool {
	u := s.here()
	if !s.page.Redirected || u.RawQuery == "" || len(u.RawQuery) > maxText {
		return false
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if strings.HasPrefix(v, "/") || strings.Contains(v, "://") {
				return true
			}
		}
	}
	return false
}
