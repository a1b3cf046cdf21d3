// Package walls tells pages that stand where content should: challenges, captchas, questions for consent, log-in pages,
// "too many requests" with status 200, parked domains. It decides and does nothing: no way round a wall is built.
//
// A page is a wall by signs from two places at least: its title, its text, the vendor's marks in head or body, the
// status, and its bareness. A page that has much to say is none, whatever it says. What is looked for stands in
// words.go; how often it is right, and wrong, is measured by .ci/lab/walls.
package walls

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"henro/messages"
	"henro/slave/links"
)

// Kind is what a page is instead of content. The zero Kind: it is no wall.
type Kind uint8

// The kinds of walls.
const (
	None      Kind = iota
	Challenge      // proof of being a browser, or refused as a robot
	Captcha        // proof of being human
	Consent        // a choice about cookies before anything else
	LogIn          // a form for name and password, in the place of what was asked for
	RateLimit      // patience asked for
	Parked         // a domain without a site

	kinds

	Same = kinds // what other pages of the host say as well (package alike); Look alone finds none
)

// String is the kind in words; empty for None.
func (k Kind) String() string {
	return [...]string{"", "challenge", "captcha", "consent", "log-in", "rate limit", "parked",
		"the same page under unrelated URLs", ""}[min(k, Same+1)]
}

// Failed makes the fact of a visit that came before a wall, of one that says no more than why, and what was read: of
// that the archive has its part, and nothing else is told. The status is what it comes to: 503, since the host is to
// rest, and 401 where patience does not help: a log-in page, unless one was given (Gave), which is lost then and is
// said of the host. The record in the archive has the answer's.
func (k Kind) Failed(v, read *messages.PageVisited, gave bool) *messages.PageVisited {
	v.Says, v.Status = "wall: "+k.String(), 503
	switch {
	case k == LogIn && gave:
		v.Says = "wall: the log-in is lost: renew the host's cookies or header"
	case k == LogIn:
		v.Status = 401
	}
	v.TookNs, v.RetryAfterNs, v.Cookies = read.TookNs, read.RetryAfterNs, read.Cookies
	v.Digest, v.BodyBytes, v.Truncated, v.Mime = read.Digest, read.BodyBytes, read.Truncated, read.Mime
	return v
}

// Gave reports that a request carried what a log-in gives: cookies, or a name and password.
func Gave(request []byte) bool {
	return bytes.Contains(request, []byte("\r\nCookie: ")) || bytes.Contains(request, []byte("\r\nAuthorization: "))
}

// Page is an answer, as far as it is looked at. Nothing of it is changed or kept.
type Page struct {
	URL        string // that was asked
	Redirected bool   // another page led there by a redirect
	Known      bool   // it was content before
	Status     int
	Header     map[string][]string // by canonical name
	Body       []byte              // without its content coding; nil: it is no HTML
	Document   *links.Document     // Title, Text and Links of Body, in UTF-8
}

// The bounds of what is looked at, in bytes: a page with more text is none; of text and body no more is read.
const (
	maxText = 5000
	maxRead = 64 << 10

	maxFields = 16 // of one name
)

// maxLinks is how many links to pages a wall has at most: those of a forum's log-in page are some thirty.
const maxLinks = 50

// Look says what a page is. It is a function of the page alone, and safe for concurrent use.
func Look(p *Page) Kind {
	if p.Status >= 300 && p.Status < 400 {
		if p.Known {
			return ledAway(p)
		}
		return None // of a page that was never seen it says nothing
	}
	if p.Document == nil || len(p.Document.Text) > maxText {
		return byHeader(p)
	}
	s := signs{page: p, own: -1}
	if k := s.look(); k != None {
		return k
	}
	if k := byHeader(p); k != None {
		return k
	}
	return s.byShape()
}

// byHeader trusts the fields by which vendors tell programs what they did, where the status says that it is no content.
func byHeader(p *Page) Kind {
	if p.Status < 202 || p.Status == 203 || p.Header == nil {
		return None
	}
	for name, k := range told {
		if v := p.Header[name]; len(v) > 0 && strings.Contains(k, strings.ToLower(v[0])) {
			if v[0] == "captcha" {
				return Captcha
			}
			return Challenge
		}
	}
	return None
}

// ledAway looks at a redirect: to a page for consent or for logging in that is to lead back here.
func ledAway(p *Page) Kind {
	location := p.Header["Location"]
	if len(location) == 0 {
		return None
	}
	to, err := url.Parse(location[0])
	if err != nil || to.RawQuery == "" || len(to.RawQuery) > maxText {
		return None
	}
	from, err := url.Parse(p.URL)
	if err != nil || named(from, LogIn) || named(from, Consent) {
		return None
	}
	query := to.Query()
	back := query.Has("SAMLRequest") // which holds it, compressed
	for _, values := range query {
		path := strings.Trim(from.EscapedPath(), "/")
		back = back || slices.ContainsFunc(values, func(v string) bool {
			v, _, _ = strings.Cut(v, "?")
			return path != "" && strings.Contains(v, "/") && strings.HasSuffix(strings.TrimRight(v, "/"), path)
		})
	}
	switch {
	case !back:
		return None
	case named(to, Consent):
		return Consent
	case named(to, LogIn), query.Has("SAMLRequest"):
		return LogIn
	}
	return None
}

// named reports that a URL says of itself what kind of page it is.
func named(u *url.URL, k Kind) bool {
	var f found
	addressed.find([]byte("//"+u.Host+u.Path), &f)
	return f.of(k, urls) > 0
}

// signs are what a page with little text shows.
type signs struct {
	page              *Page
	title, text, body found
	words             []byte // of the text, small, without what is quoted
	bare, failed      bool
	content, read     bool     // nothing needs to be looked for; the body was
	pages             int      // how many links lead to pages
	at                *url.URL // see here
	own               int      // see ownLinks; -1: not known yet
	home              bool     // one of these leads to the start of the site
}

// here is the URL of the page; nil: it is none.
func (s *signs) here() *url.URL {
	if s.at == nil {
		s.at, _ = url.Parse(s.page.URL)
	}
	return s.at
}

func (s *signs) look() Kind {
	d := s.page.Document
	titled.find(lower([]byte(d.Title)), &s.title)
	s.failed = s.page.Status >= 400 && s.page.Status != 404 && s.page.Status != 410 || s.page.Status == 202
	s.failed = s.failed || s.page.Status > 226 && s.page.Status < 300 // no such status says what it is
	s.bare = letters(d.Text, maxBareText) <= maxBareText && len(d.Links) <= 4*maxBareLinks
	plain := !s.bare && !s.failed && s.title == (found{})
	if plain && !s.standsAlone() {
		s.content = true
		return None // most pages go no further
	}
	pages := 0
	for i := range d.Links {
		if d.Links[i].Kind.Navigates() {
			pages++
		}
	}
	s.pages = pages
	if pages > maxLinks || plain && pages > maxBareLinks {
		return None
	}
	s.words = unquoted(lower(d.Text))
	said.find(s.words, &s.text)
	s.bare = s.bare && pages <= maxBareLinks
	best, most := None, wall-1
	for k := Challenge; k < kinds; k++ {
		if n := s.count(k); k != LogIn && n > most && !s.talks(k) {
			best, most = k, n
		}
	}
	if (best == None || most == wall) && s.isLogIn() {
		return LogIn
	}
	return best
}

// quotes are the marks around what others said, and leastQuote and mostQuote its bytes: less names a button.
var quotes = [...][2][]byte{{[]byte("“"), []byte("”")}, {[]byte("„"), []byte("“")}, {[]byte("„"), []byte("”")},
	{[]byte("«"), []byte("»")}, {[]byte("\""), []byte("\"")}}

const leastQuote, mostQuote = 24, 240

// unquoted is a text without what it quotes, as one that speaks of walls does.
func unquoted(text []byte) []byte {
	for _, mark := range quotes {
		var kept []byte
		rest := text
		for {
			start := bytes.Index(rest, mark[0]) + len(mark[0])
			if start < len(mark[0]) {
				break
			}
			n := bytes.Index(rest[start:], mark[1])
			if n < 0 {
				break
			}
			end := start + n
			if n < leastQuote || n > mostQuote {
				start = end
			}
			kept = append(append(kept, rest[:start]...), mark[1]...)
			rest = rest[end+len(mark[1]):]
		}
		if kept != nil {
			text = append(kept, rest...)
		}
	}
	return text
}

// standsAlone reports that a page of some text may stand in the place of content: it leads to no site of its own.
func (s *signs) standsAlone() bool {
	d := s.page.Document
	return len(d.Text) <= maxText/2 && len(d.Links) <= 4*maxBareLinks && (s.page.Redirected || !s.hasSite())
}

// wall is how many signs make a wall. No place has as many by itself.
const wall = 3

// What a page has at most that has nothing else either: letters of text, links to pages. sentence is how many bytes of
// text are not much more than one sentence.
const maxBareText, maxBareLinks, sentence = 700, 10, 150

// count weighs the signs of one kind: what title and text say and a vendor's mark at most two each, what is a sign
// beside these alone one. Words alone make no wall of a page that has more to say.
func (s *signs) count(k Kind) (n int) {
	sentences, titled, spare := s.text.of(k, says), s.title.of(k, titles) > 0, s.bare || s.failed
	n = min(sentences, 2)
	if s.title.of(k, says) > 0 {
		n, titled = n+2, true
	}
	if n == 0 && !titled && !spare {
		return 0
	}
	marked := s.inBody().of(k, marks) > 0
	if n == 0 && !titled && !marked {
		return 0
	}
	beside := marked || s.inBody().of(k, widgets) > 0 || k == Consent && s.says(Consent) || k == Parked && s.namesHost()
	short := titled && s.title.of(k, says) == 0 && (spare || beside)
	only := sentences > 0 && s.isShort() // it is all that there is
	for _, sign := range [...]bool{marked, beside, s.bare, s.failed, short, only} {
		if sign {
			n++
		}
	}
	if !titled && !marked && !spare || k == Parked && !marked && s.speaksOfDomains() {
		return 0
	}
	return n
}

// talks reports that a page answers as content does, without a mark of a vendor's, and leads to its site: it may speak
// of walls.
func (s *signs) talks(k Kind) bool {
	return !s.failed && !s.page.Redirected && s.inBody().of(k, marks) == 0 &&
		(s.hasSite() || s.says(None) || k != LogIn && len(s.page.Document.Text) > sentence && s.isLaidOut())
}

// hasSite reports that a page leads to others of its site, as what stands in the place of content does not.
func (s *signs) hasSite() bool { return s.ownLinks() >= leastSite }

// inBody looks for the marks in the body, once.
func (s *signs) inBody() *found {
	if !s.read {
		s.read = true
		written.find(s.page.Body[:min(len(s.page.Body), maxRead)], &s.body)
		s.unquote()
		var line []byte
		for name, values := range s.page.Header {
			for _, value := range values[:min(len(values), maxFields)] {
				line = append(append(append(line[:0], '@'), name...), ": "...)
				line = append(line, value[:min(len(value), sentence)]...)
				written.find(line, &s.body)
			}
		}
		if s.page.Redirected {
			written.find([]byte(s.page.URL[:min(len(s.page.URL), maxText)]), &s.body)
		}
	}
	return &s.body
}

// unquote takes the marks out that a page shows its readers, as one that speaks of walls does.
func (s *signs) unquote() {
	if s.bare || s.body == (found{}) {
		return
	}
	var quoted found
	written.find(s.page.Document.Text, &quoted)
	for k := range quoted {
		s.body[k][marks] &^= quoted[k][marks]
	}
}

// says reports that the URL says of itself what kind of page it is.
func (s *signs) says(k Kind) bool {
	u := s.here()
	return u != nil && named(u, k)
}

// speaksOfDomains reports more than a sentence about a domain that is not the page's own, and to which nothing led.
func (s *signs) speaksOfDomains() bool {
	return !s.page.Redirected && len(s.page.Document.Text) > sentence && !s.namesHost()
}

// namesHost reports that title or text name the page's own host, as parked domains do.
func (s *signs) namesHost() bool {
	u := s.here()
	if u == nil {
		return false
	}
	name, d := strings.TrimPrefix(u.Hostname(), "www."), s.page.Document
	return strings.Contains(strings.ToLower(d.Title), name) || bytes.Contains(d.Text, []byte(name))
}

// isShort reports that a page says hardly more than one sentence, and has nothing else.
func (s *signs) isShort() bool { return s.bare && len(s.page.Document.Text) <= sentence }

// isDenied reports a status that asks who it is, or refuses.
func (s *signs) isDenied() bool { return s.page.Status == 401 || s.page.Status == 403 }

// isLogIn reports a form for a password, or a provider's page that makes one, in the place of what was asked for.
func (s *signs) isLogIn() bool {
	denied, redirected := s.isDenied(), s.page.Redirected
	worded, said := s.title.of(LogIn, titles) > 0, s.text.of(LogIn, says) > 0
	if len(s.page.Document.Text) > maxText/2 || !denied && !redirected && !worded && !said && !s.isShort() {
		return false // whatever its body has
	}
	form, marked := s.inBody().of(LogIn, widgets) > 0, s.body.of(LogIn, marks) > 0
	if !form && !marked && !redirected && !denied {
		return false
	}
	if s.here() == nil || !redirected && !denied && s.says(LogIn) {
		return false // of the last: it was asked for
	}
	return (worded || !s.talks(LogIn)) && s.isGate(worded, said, form, marked)
}

// isGate reports that words, a form and marks of logging in suffice, of a page that was not asked for to log in.
func (s *signs) isGate(worded, said, form, marked bool) bool {
	denied, redirected := s.isDenied(), s.page.Redirected
	switch {
	case redirected && s.says(LogIn) && (form || worded || said || s.bare):
		return true
	case marked && (worded || redirected || s.isShort()):
		return true
	}
	return denied && worded && said || form && (worded || denied || said)
}
