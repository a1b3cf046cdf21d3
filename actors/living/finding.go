package living

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sample is what a rendering showed of a page, beside what its static scan found.
type Sample struct {
	URL    string   // of the page, as henro writes URLs
	HTML   []byte   // as the host sent it, decoded
	Static []string // absolute URLs that the static scan named, as requisites or links
	// Asked are URLs that the browser asked for by GET and that were answered with a good status. Schemes other than
	// http and https are left out.
	Asked                    []string
	StaticText, RenderedText string // words of the page; those of StaticText and of HTML are taken together
	NewLinks                 int    // links that only the DOM had
	Failed                   bool   // it was not rendered to its end: nothing is learnt
}

// Finding is what a sample teaches: for each URL that only the rendering showed, the rules that would have named it. It
// is made where the page is, and is small enough to travel: MarshalBinary returns at most 4 kB.
type Finding struct {
	asks    [][]string // the rules that explain a URL, the simplest first; none: nothing does
	dynamic bool       // text or links that a static visit does not have
	failed  bool
}

// Bounds of a finding.
const (
	asksMost  = 64     // URLs that only the rendering showed; more are not explained
	rulesEach = 9      // of one URL
	rulesLink = 4      // of these, for each link
	linkTries = 5      // links that a URL is compared with
	tokensTry = 3      // words of a URL that are looked for in the HTML
	placesTry = 4      // where each of them stands there
	contextBy = 48     // bytes of a name before a word
	triesMost = 20_000 // rules that are tried
)

// Finding explains what was asked for. It takes time linear in the HTML, with bounds on all else.
func (s *Sample) Finding() Finding {
	if s.Failed {
		return Finding{failed: true}
	}
	g, ok := newPage(s.URL, s.HTML)
	if !ok {
		return Finding{failed: true}
	}
	f := Finding{dynamic: s.NewLinks >= newLinks || differs(s.HTML, s.StaticText, s.RenderedText)}
	named := map[string]bool{plain(s.URL): true}
	for _, url := range s.Static {
		named[plain(url)] = true
	}
	g.scans *= 4
	e := explainer{page: g, links: g.links(), here: map[string]bool{}}
	for _, url := range s.Asked {
		e.here[plain(url)] = true
	}
	for url := range named {
		e.here[url] = true
	}
	e.index()
	for _, url := range s.Asked {
		url = plain(url)
		if named[url] || !strings.HasPrefix(url, "http") {
			continue
		}
		named[url] = true
		if len(f.asks) == asksMost {
			f.asks = append(f.asks, nil)
			break
		}
		rules := e.explain(url)
		slices.Sort(rules)
		f.asks = append(f.asks, slices.Compact(rules))
	}
	explains := map[string]int{}
	for _, rules := range f.asks {
		for _, rule := range rules {
			explains[rule]++
		}
	}
	for i, rules := range f.asks {
		f.asks[i] = best(rules, explains)
	}
	return f
}

// plain is a URL without its fragment.
func plain(url string) string {
	url, _, _ = strings.Cut(url, "#")
	return url
}

// explainer finds rules for what one page asked for.
type explainer struct {
	*page
	links []place
	here  map[string]bool // what was asked for or named
	parts [][]part        // of the links
	tries int
}

// part is what a code stands for in an address.
type part struct{ code, value string }

// parts returns what codes stand for in an address, the most telling first.
func parts(p *place, all bool) (list []part) {
	for _, code := range [...]byte{whole, bare, joined, lower, dashed, dotted, last, name, number, segment, segment + 1,
		segment + 2, segment + 3, segment + 4, segment + 5} {
		if value := p.of(code); value != "" && (all || code <= dotted || code == name) {
			list = append(list, part{string(rune(code)), value})
		}
	}
	for rest, n := p.query, 0; all && rest != "" && n < segmentsMost; n++ {
		var param string
		param, rest, _ = strings.Cut(rest, "&")
		if key, value, _ := strings.Cut(param, "="); value != "" {
			list = append(list, part{string(rune(query)) + key + string(rune(end)), value})
		}
	}
	return list
}

func (e *explainer) index() {
	for i := range e.links {
		e.parts = append(e.parts, parts(&e.links[i], false))
	}
}

// explain returns the rules that name a URL.
func (e *explainer) explain(url string) (rules []string) {
	text, from := strings.TrimPrefix(url, e.origin), 0
	if text == url || text == "" || text[0] != '/' {
		if text, from = url, origin(url); from <= 0 {
			return nil
		}
	}
	parts := parts(&e.place, true)
	if silent := without(text, isNoise); silent != text {
		bad := func(rule string) bool { return !isRule(rule) }
		return slices.DeleteFunc(forms(silent, from, parts), bad)
	}
	for _, i := range e.alike(text, from) {
		rules = append(rules, e.rules(string(rune(each)), text, from, e.parts[i], &e.links[i], url)...)
	}
	return append(rules, e.rules("", text, from, parts, &e.place, url)...)
}

// alike returns which links have most in common with a text.
func (e *explainer) alike(text string, from int) []int {
	common, which := make([]int, len(e.links)), []int(nil)
	for i, list := range e.parts {
		for _, p := range list {
			if len(p.value) > common[i] && put(text, from, p) != text {
				common[i] = len(p.value)
			}
		}
		if common[i] > 0 {
			which = append(which, i)
		}
	}
	slices.SortStableFunc(which, func(a, b int) int { return common[b] - common[a] })
	return which[:min(len(which), linkTries)]
}

// best leaves of the rules that explain a URL the best: what explains more of what the page asked for, then what is
// simpler. A constant, and rules for each link, have places of their own. What explains many leaves no room for what
// explains one.
func best(rules []string, explains map[string]int) (chosen []string) {
	slices.SortFunc(rules, func(a, b string) int {
		return cmp.Or(explains[b]-explains[a], rank(a)-rank(b), cmp.Compare(a, b))
	})
	own, links, many := 0, 0, len(rules) > 0 && explains[rules[0]] >= agree
	for _, rule := range rules {
		switch {
		case isConstant(rule):
			chosen = slices.Insert(chosen, 0, rule)
			continue
		case many && explains[rule] < agree:
			continue
		case rule[0] == each:
			links++
		default:
			own++
		}
		if links <= rulesLink && own < rulesEach-rulesLink {
			chosen = append(chosen, rule)
		}
	}
	return chosen
}

// rules returns the rules that begin so and name a URL for an address.
func (e *explainer) rules(begin, text string, from int, list []part, p *place, url string) (rules []string) {
	add := func(rule string) bool {
		rule = begin + rule
		if e.tries++; e.tries > triesMost || !isRule(rule) || begin != "" && !hasPart(rule) {
			return false
		}
		made, ok := e.make(rule, p)
		if ok = ok && made == url; ok && (begin == "" || e.pays(rule)) {
			rules = append(rules, rule)
		}
		return ok
	}
	for _, form := range forms(text, from, list) {
		add(form)
		if dir := p.of(folder); begin == "" && from == 0 && form == text && strings.HasPrefix(text, dir) {
			add(string(rune(folder)) + text[len(dir):])
		}
		every, several := form, 0
		for _, word := range slices.Backward(words(form, from)) {
			behind := func(rule, context string) string {
				return rule[:word.from] + string(rune(found)) + context + string(rune(end)) + rule[word.to:]
			}
			first := ""
			for _, context := range e.contexts(form[word.from:word.to]) {
				for _, c := range forms(context, 0, list) {
					if add(behind(form, c)) {
						first = cmp.Or(first, c)
					}
				}
			}
			if first != "" {
				every, several = behind(every, first), several+1
			}
		}
		if several > 1 {
			add(every)
		}
	}
	return rules
}

// pays reports whether a rule for each link names what is there. One with a word of the HTML in it names nothing that
// the page does not know; what others name must mostly have been asked for.
func (e *explainer) pays(rule string) bool {
	if strings.IndexByte(rule, found) >= 0 {
		return true
	}
	made, there := 0, 0
	e.follow(rule, e.links, func(url string) {
		made++
		if e.here[url] {
			there++
		}
	})
	return 2*there >= made
}

// forms returns a text as it is, and with each part of an address that stands in it, and all at once, replaced.
func forms(text string, from int, list []part) []string {
	all := []string{text}
	every := text
	longest := slices.Clone(list)
	slices.SortStableFunc(longest, func(a, b part) int { return len(b.value) - len(a.value) })
	for _, p := range list {
		if form := put(text, from, p); form != text && !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	for _, p := range longest {
		every = put(every, from, p)
	}
	if !slices.Contains(all, every) {
		all = append(all, every)
	}
	return all
}

// put replaces a part of an address wherever it stands in a text as a word.
func put(text string, from int, p part) string {
	var b strings.Builder
	done, i := 0, from
	for {
		n := strings.Index(text[i:], p.value)
		if n < 0 {
			break
		}
		n += i
		if after := n + len(p.value); bounded(text, n, after) && !inName(text, n) {
			b.WriteString(text[done:n])
			b.WriteString(p.code)
			done, i = after, after
		} else {
			i = n + 1
		}
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// hasPart reports whether a rule has parts of an address in it.
func hasPart(rule string) bool {
	return strings.IndexFunc(rule, func(r rune) bool { return r >= query && r < ' ' }) >= 0
}

// bounded reports whether a piece of a text is no piece of a longer word.
func bounded(text string, from, to int) bool {
	return (from == 0 || !isLetter(text[from-1]) || !isLetter(text[from])) &&
		(to == len(text) || !isLetter(text[to]) || !isLetter(text[to-1]))
}

// inName reports whether a place in a rule is within the name of a query.
func inName(rule string, i int) bool {
	at := strings.LastIndexByte(rule[:i], query)
	return at >= 0 && strings.IndexByte(rule[at:i], end) < 0
}

// span is where a word stands.
type span struct{ from, to int }

// words returns the words of a rule's path and query that may come from the HTML.
func words(rule string, from int) (list []span) {
	for i := from; i < len(rule) && len(list) < tokensTry; {
		n := i
		for n < len(rule) && isWord(rule[n]) {
			n++
		}
		if word := rule[i:n]; n > i && isValue(word) && !inName(rule, i) {
			list = append(list, span{i, n})
		}
		i = n + 1
	}
	return list
}

// isValue reports whether a word is more than a name: digits, capitals among small letters, several words, or long.
func isValue(word string) bool {
	return strings.ContainsAny(word, "0123456789-_") || len(word) > 11 ||
		len(word) > 3 && strings.ToLower(word) != word && strings.ToUpper(word) != word
}

// contexts returns what stands before a word in the HTML: a name, and the name before that.
func (e *explainer) contexts(word string) (list []string) {
	for i, tries := 0, 0; tries < placesTry; tries++ {
		if e.scans -= len(e.html) - i; e.scans < 0 {
			return list
		}
		n := bytes.Index(e.html[i:], []byte(word))
		if n < 0 {
			return list
		}
		n += i
		i = n + len(word)
		if n > 0 && isWord(e.html[n-1]) || i < len(e.html) && isWord(e.html[i]) {
			continue
		}
		start := n
		for range 2 {
			if start = nameBefore(e.html, start); start == n {
				break
			}
			if context := string(e.html[start:n]); !slices.Contains(list, context) {
				list = append(list, context)
			}
		}
	}
	return list
}

// nameBefore returns where the name begins that stands before a place, with one byte before it.
func nameBefore(html []byte, to int) int {
	i, least := to, max(0, to-contextBy)
	for i > least && html[i-1] >= ' ' && html[i-1] != 0x7f && !isName(html[i-1]) {
		i--
	}
	for i > least && isName(html[i-1]) {
		i--
	}
	if i > least && html[i-1] >= ' ' && html[i-1] < 0x7f {
		i--
	}
	return i
}

func isName(c byte) bool { return isWord(c) || c == '.' || c == '/' || c == '$' }

// WithoutNoise returns a URL in which values that tell nothing are marked: times, random numbers, names of functions.
// Of two that are equal then one is answered as the other.
func WithoutNoise(url string) string {
	return without(url, func(name, value string) bool { return name == steady || isNoise(name, value) })
}

// steady is what Next.js makes of fields of the request: it is the same again on a page, and another on the next.
const steady = "_rsc"

func without(url string, isNoise func(name, value string) bool) string {
	path, rest, asks := strings.Cut(url, "?")
	if !asks {
		return url
	}
	params := strings.Split(rest, "&")
	for i, param := range params {
		if name, value, _ := strings.Cut(param, "="); isNoise(strings.ToLower(name), value) {
			params[i] = name + "=" + string(rune(noise))
		}
	}
	return path + "?" + strings.Join(params, "&")
}

// quiet are names of values that keep an answer out of caches.
var quiet = []string{"_", "_t", "t", "ts", "rnd", "rand", "random", "nocache", "cachebuster", "timestamp"}

func isNoise(name, value string) bool {
	digits := len(value) - len(strings.TrimLeft(value, "0123456789"))
	switch {
	case digits == len(value) && (digits == 10 || digits == 13) && value[0] == '1', // since 1970
		strings.HasPrefix(value, "0.") && len(value) > 12 && strings.Trim(value[2:], "0123456789") == "":
		return true
	case name == "callback" || name == "jsonp" || name == "cb":
		return strings.ContainsAny(value, "0123456789")
	}
	return digits == len(value) && digits > 5 && slices.Contains(quiet, name)
}

// What a rendering has beyond a static visit, for the page to be rendered: so many links, or so many words, which are
// one in so many of all.
const (
	newLinks  = 3
	newWords  = 12
	wordShare = 4
	textBytes = 1 << 18
)

// differs reports whether much of the rendered text stands neither in the static one nor in the HTML.
func differs(html []byte, static, rendered string) bool {
	had := [2]map[string]int{{}, {}} // each of the two may leave out something of the other
	count(static, had[0])
	count(text(html[:min(len(html), htmlBytes)]), had[1])
	got := map[string]int{}
	total, more := count(rendered, got), 0
	for word, n := range got {
		more += max(0, n-max(had[0][word], had[1][word]))
	}
	return more >= newWords && more*wordShare > total
}

// count counts the words of a text: runs of letters and digits, small, and each letter that is not of ASCII.
func count(text string, words map[string]int) (total int) {
	text = text[:min(len(text), textBytes)]
	for i := 0; i < len(text); {
		n := i
		for n < len(text) && isLetter(text[n]) {
			n++
		}
		counts := n > i
		if !counts {
			r, size := utf8.DecodeRuneInString(text[i:])
			n, counts = i+size, unicode.IsLetter(r)
		}
		if counts {
			words[strings.ToLower(text[i:n])]++
			total++
		}
		i = n
	}
	return total
}

// text returns what a page says without its tags, scripts and styles, roughly.
func text(html []byte) string {
	var b strings.Builder
	for len(html) > 0 && b.Len() < textBytes {
		words, rest, _ := bytes.Cut(html, []byte("<"))
		b.Write(words)
		b.WriteByte(' ')
		for raw, end := range map[string]string{"script": "</script", "style": "</style", "!--": "--"} {
			if len(rest) > len(raw) && strings.EqualFold(string(rest[:len(raw)]), raw) {
				_, rest, _ = bytes.Cut(rest[len(raw):], []byte(end))
			}
		}
		_, html, _ = bytes.Cut(rest, []byte(">"))
	}
	return b.String()
}
