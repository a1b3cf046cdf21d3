package living

import (
	"bytes"
	"strings"

	"henro/messages/weburl"
)

// A rule is a URL in which codes stand for what differs from page to page. A rule that begins with a slash, or with the
// folder of the page, is of the page's own host; others begin with http:// or https:// and the name of a host, in which
// no code stands. Codes are bytes below a space, which no URL has.
const (
	each  = 1 + iota // at the very beginning: one URL for each link of the page, whose address takes the page's place
	noise            // a value that cannot be known beforehand: a time, a random number, the name of a function
	end              // of what follows the two below
	found            // the word in the HTML behind what follows, which may have codes itself
	query            // the value of the query that has the name that follows

	// parts of an address: /guide/one.html, /guide/
	whole     // guide/one.html, guide
	bare      // guide/one, guide/index
	joined    // guide_one, guide_index
	lower     // the same in small letters
	dashed    // guide-one
	dotted    // guide.one
	folder    // with its slashes, at the beginning of a rule alone: /guide/
	last      // one.html
	name      // one
	number    // 17 of item17
	segment   // and the seven codes that follow: the first, second, … folder
	afterLast = segment + segmentsMost
)

// Bounds of rules, of what they make, and of pages.
const (
	segmentsMost = 6
	ruleBytes    = 300
	madeBytes    = 2000
	wordBytes    = 128     // of a word in the HTML
	htmlBytes    = 1 << 20 // of a page, looked at
	linksMost    = 100     // of a page, looked at
	scanBytes    = 1 << 26 // looked through for one page
)

// shown are codes in words.
var shown = map[byte]string{each: "each link: ", noise: "{*}", end: "}", found: "{after ", query: "{query ",
	whole: "{path}", bare: "{path without ending}", joined: "{path_joined}", lower: "{path_joined in small letters}",
	dashed: "{path-joined}", dotted: "{path.joined}", folder: "{folder}", last: "{last}",
	name: "{last without ending}", number: "{number}"}

// show returns a rule for people.
func show(rule string) string {
	var b strings.Builder
	for _, c := range []byte(rule) {
		switch word := shown[c]; {
		case word != "":
			b.WriteString(word)
		case c < ' ':
			b.WriteString("{folder " + string('1'+c-segment) + "}")
		default:
			b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), "?")
}

// isRule reports whether a rule is well formed.
func isRule(rule string) bool {
	if len(rule) > ruleBytes {
		return false
	}
	rule = strings.TrimPrefix(rule, string(rune(each)))
	first := origin(rule)
	if first < 0 || rule == "" || first == 0 && rule[0] != '/' && rule[0] != folder {
		return false
	}
	context := false
	for i := 0; i < len(rule); i++ {
		switch c := rule[i]; {
		case c > ' ' && c < 0x7f, context && (c == ' ' || c > 0x7f):
		case i < first, c == folder && i > 0 && !context, c <= each, c >= afterLast,
			context && (c == noise || c == found):
			return false
		case c == found:
			context = true
		case c == end:
			if !context {
				return false
			}
			context = false
		case c == query:
			name, _, closed := strings.Cut(rule[i+1:], string(rune(end)))
			if !closed || strings.IndexFunc(name, isOdd) >= 0 {
				return false
			}
			i += len(name) + 1
		}
	}
	return !context
}

// origin returns where the path of an absolute rule begins, 0 for one of the page's own host, and -1 for what is
// neither.
func origin(rule string) int {
	scheme, rest, absolute := strings.Cut(rule, "://")
	if !absolute || rule[0] == '/' || rule[0] < ' ' {
		return 0
	}
	at := strings.IndexByte(rest, '/')
	if at <= 0 || scheme != "http" && scheme != "https" {
		return -1
	}
	return len(scheme) + len("://") + at
}

// isConstant reports whether a rule names the same URL for all pages.
func isConstant(rule string) bool {
	return strings.IndexFunc(rule, func(r rune) bool { return r < ' ' }) < 0
}

// rank is how far-fetched a rule is: of two that explain the same, the lesser is taken. Letters that a rule says, and
// need not, make it worse; a constant, which has nothing to go wrong, is best.
func rank(rule string) int {
	if isConstant(rule) {
		return 0
	}
	n := 0
	for _, c := range []byte(rule) {
		switch {
		case c == found, c == folder, c == lower, c >= segment && c < afterLast:
			n += 5
		case c >= query && c < ' ', c >= '0' && c <= '9':
			n += 3
		case isLetter(c):
			n++
		}
	}
	return n
}

// isOdd reports what no URL has.
func isOdd(r rune) bool { return r <= ' ' || r >= 0x7f }

// place is the address of a page or a link, in parts.
type place struct {
	origin, query string
	segments      []string
	folder        bool // it ends in a slash
	base          string
}

// at returns the parts of a URL, and whether it is one of http or https.
func at(url string) (p place, ok bool) {
	url, _, _ = strings.Cut(url, "#")
	n := origin(url)
	if n <= 0 || len(url) > madeBytes || strings.IndexFunc(url, isOdd) >= 0 {
		return p, false
	}
	path := url[n:]
	path, p.query, _ = strings.Cut(path, "?")
	p.origin = url[:n]
	p.folder = strings.HasSuffix(path, "/")
	if path = strings.Trim(path, "/"); path != "" {
		p.segments = strings.Split(path, "/")
	}
	if len(p.segments) == 0 || p.folder {
		p.base = "index"
	} else {
		p.base = withoutEnding(p.segments[len(p.segments)-1])
	}
	return p, true
}

func withoutEnding(word string) string {
	if dot := strings.LastIndexByte(word, '.'); dot > 0 && len(word)-dot <= 6 {
		return word[:dot]
	}
	return word
}

// of returns the part of an address that a code stands for; empty: it has none.
func (p *place) of(code byte) string {
	n := len(p.segments)
	switch code {
	case whole:
		if n == 0 {
			return "index"
		}
		return strings.Join(p.segments, "/")
	case bare:
		return p.join("/")
	case joined:
		return p.join("_")
	case lower:
		return strings.ToLower(p.join("_"))
	case dashed:
		return p.join("-")
	case dotted:
		return p.join(".")
	case folder:
		if !p.folder {
			n--
		}
		if n <= 0 {
			return "/"
		}
		return "/" + strings.Join(p.segments[:n], "/") + "/"
	case last:
		if n > 0 {
			return p.segments[n-1]
		}
	case name:
		if n > 0 {
			return withoutEnding(p.segments[n-1])
		}
	case number:
		if n > 0 {
			word := withoutEnding(p.segments[n-1])
			return word[len(strings.TrimRight(word, "0123456789")):]
		}
	default:
		if i := int(code) - segment; i >= 0 && i < min(n-1, segmentsMost) {
			return p.segments[i]
		}
	}
	return ""
}

// join returns the path without its ending, its folders joined.
func (p *place) join(by string) string {
	folders := p.segments
	if !p.folder && len(folders) > 0 {
		folders = folders[:len(folders)-1]
	}
	return strings.Join(append(folders[:len(folders):len(folders)], p.base), by)
}

// asked returns the value of a query, as it stands in the address.
func (p *place) asked(name string) string {
	for rest := p.query; rest != ""; {
		var param string
		param, rest, _ = strings.Cut(rest, "&")
		if n, value, _ := strings.Cut(param, "="); n == name {
			return value
		}
	}
	return ""
}

// page is a page for which rules are made or followed.
type page struct {
	place
	url   string
	html  []byte
	scans int // bytes that may still be looked through
	heard map[string]string
}

func newPage(url string, html []byte) (*page, bool) {
	p, ok := at(url)
	return &page{place: p, url: url, html: html[:min(len(html), htmlBytes)], scans: scanBytes,
		heard: map[string]string{}}, ok
}

// make returns the URL that a rule names for an address, which is the page's or one of its links'.
func (g *page) make(rule string, p *place) (url string, ok bool) {
	b := make([]byte, 0, 128)
	if rule = strings.TrimPrefix(rule, string(rune(each))); rule[0] == '/' || rule[0] == folder {
		b = append(b, g.origin...)
	}
	opened := 0 // where what is looked for in the HTML begins in b
	for i := 0; i < len(rule) && len(b) <= madeBytes; i++ {
		c := rule[i]
		switch value := ""; {
		case c >= ' ':
			b = append(b, c)
			continue
		case c == found:
			opened = len(b)
			continue
		case c == noise:
			return "", false
		case c == end:
			value = g.behind(b[opened:])
			b = b[:opened]
			fallthrough
		default:
			if c == query {
				n := strings.IndexByte(rule[i:], end)
				value = p.asked(rule[i+1 : i+n])
				i += n
			} else if c != end {
				value = p.of(c)
			}
			if value == "" {
				return "", false
			}
			b = append(b, value...)
		}
	}
	if len(b) > madeBytes {
		return "", false
	}
	return string(b), true
}

// behind returns the word that stands behind the first place in the HTML that has these bytes.
func (g *page) behind(context []byte) string {
	word, known := g.heard[string(context)]
	if known || len(context) == 0 || g.scans < len(g.html) {
		return word
	}
	g.scans -= len(g.html)
	if i := bytes.Index(g.html, context); i >= 0 {
		rest := g.html[i+len(context):]
		n := 0
		for n < len(rest) && n <= wordBytes && isWord(rest[n]) {
			n++
		}
		if n <= wordBytes {
			word = string(rest[:n])
		}
	}
	g.heard[string(context)] = word
	return word
}

func isLetter(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || c == '_' || c == '-' }

// follow hands on the URLs that a rule names for the page.
func (g *page) follow(rule string, links []place, yield func(url string)) {
	if rule[0] != each {
		if url, ok := g.make(rule, &g.place); ok {
			yield(url)
		}
		return
	}
	for i := range links {
		if url, ok := g.make(rule, &links[i]); ok {
			yield(url)
		}
	}
}

// links returns where the page's anchors lead on its host, the page itself aside.
func (g *page) links() (all []place) {
	base, err := weburl.Parse(g.url)
	if err != nil {
		return nil
	}
	known := map[string]bool{base.String(): true}
	for html := g.html; len(all) < linksMost; {
		i := bytes.Index(html, []byte("<a"))
		if i < 0 {
			return all
		}
		html = html[i+2:]
		tag, _, closed := bytes.Cut(html[:min(len(html), 2048)], []byte(">"))
		if i = bytes.Index(tag, []byte("href=")); !closed || len(tag) == 0 || tag[0] > ' ' || i < 0 {
			continue
		}
		ref := tag[i+len("href="):]
		if quote := ref[:min(1, len(ref))]; string(quote) == `"` || string(quote) == `'` {
			ref, _, _ = bytes.Cut(ref[1:], quote)
		} else {
			ref, _, _ = bytes.Cut(ref, []byte(" "))
		}
		url, err := base.Resolve(string(ref))
		if err != nil || url.Host() != base.Host() || known[url.String()] {
			continue
		}
		known[url.String()] = true
		if p, ok := at(url.String()); ok {
			all = append(all, p)
		}
	}
	return all
}

// matches reports whether a rule may have named a URL: whatever its codes stand for.
func matches(rule, url string) bool {
	rule = strings.TrimPrefix(rule, string(rune(each)))
	if rule[0] == '/' || rule[0] == folder {
		url = url[max(0, origin(url)):]
	}
	var pieces []string // between which is something
	for from, i := 0, 0; ; i++ {
		if i == len(rule) {
			pieces = append(pieces, rule[from:])
			break
		}
		if rule[i] >= ' ' {
			continue
		}
		pieces = append(pieces, rule[from:i])
		for open := 0; rule[i] == query || rule[i] == found || open > 0; i++ {
			if rule[i] == end {
				if open--; open == 0 {
					break
				}
			} else if rule[i] == query || rule[i] == found {
				open++
			}
		}
		from = i + 1
	}
	url, ok := strings.CutPrefix(url, pieces[0])
	if len(pieces) == 1 || !ok {
		return ok && url == ""
	}
	n := len(pieces) - 1
	for _, piece := range pieces[1:n] {
		_, after, ok := strings.Cut(url[min(1, len(url)):], piece)
		if !ok || url == "" {
			return false
		}
		url = after
	}
	return len(url) > len(pieces[n]) && strings.HasSuffix(url, pieces[n])
}
