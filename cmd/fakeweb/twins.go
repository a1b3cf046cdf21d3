package fakeweb

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/messages/outlink"
)

// Twins are the shares of hosts with pages that stand under several URLs, or look as if they did.
type Twins struct {
	// the host answers under www.NAME and under hostNNNN.copies.test too: the same texts under the same paths
	Aliases float64
	// a quarter of the links of the host name its pages under three other names that redirect: hN.to to the same path,
	// gone.NAME to the root, half.NAME half of its paths to the same and the others to the root
	Moved float64
	// the words of the root are others at each visit
	Counters float64
	// the host has a folder /mirror/ with the pages of the host after it; none of a host with traps or a feed
	Mirrors float64
	// a quarter of the links name a page with a session id, a tracking parameter, a slash at the end, or the default
	// document of the root
	Dust float64
	// half of the links name a page with a sort order, a number ?p=N, parameters in one order or another, or capitals
	// in the last segment of the path; none of a host with Templates
	Variants float64
	// share of these, English ones only, where such a URL may be another page: with capitals always, with sort=down and
	// from p=2 on for a quarter of the pages
	Lookalikes float64
	// half of the pages have a copy /near/pN.html in which 1 to 32 words differ; English hosts only
	Near float64
	// all pages are of two shapes: /shop/item-N.html, which never change, and /shop/list?p=N, which change most often
	Templates float64

	// What looks like a duplicate of a host and is none. The first two are English.
	Parked       float64 // four pages, which all parked hosts have: their names are for sale
	Fronts       float64 // the root is the page that a new server shows, and is the same on all these hosts
	Translations float64 // English hosts that answer under ja.NAME too: the same paths, the texts in Japanese
}

// form is how a URL names a page of the tree.
type form uint8

const (
	plain    form = iota
	session       // a session id, one of sessionIDs
	tracked       // a tracking parameter
	document      // /index.html, the root
	slashed       // a slash at the end
	nearly        // not the page, but a copy in which some words differ
	// those of Variants, one of Variants' values
	sorted
	numbered
	ordered
	upper
)

const (
	sessionIDs    = 4
	numbers       = 4 // of ?p=N
	variantShare  = 0.5
	lookalikeRate = 0.25
	tracking      = "utm_source=feed"
	mirrorFolder  = "/mirror"
	movedDomain   = ".to"
	movedShare    = 0.25
	counterWords  = 8
	copiesDomain  = ".copies.test"
	parkedTexts   = 1 << 30   // in place of the number of a host: the texts of parked hosts
	frontTexts    = 1<<30 + 1 // and of new servers
	parkedPages   = 4
	dustShare     = 0.25
	nearShare     = 0.5
	mostWordsLog2 = 5
)

// drawTwins decides what the pages of a host have in common with others.
func (w *Web) drawTwins(h *Host) {
	t := &w.o.Twins
	if *t == (Twins{}) {
		return
	}
	r := draw(w.o.Seed, forTwins, uint64(h.Index))
	h.Aliased, h.Mirror, h.Dust = r.chance(t.Aliases), r.chance(t.Mirrors), r.chance(t.Dust)
	near, translated := r.chance(t.Near), r.chance(t.Translations)
	h.Near, h.Translated = near && h.Charset == Latin, translated && h.Charset == Latin
	h.Templated = r.chance(t.Templates)
	m := draw(w.o.Seed, forMoved, uint64(h.Index))
	h.Moved, h.Counter = m.chance(t.Moved), m.chance(t.Counters) && h.Charset == Latin
	v := draw(w.o.Seed, forVariants, uint64(h.Index))
	h.Variants = v.chance(t.Variants) && !h.Templated
	h.Lookalike = v.chance(t.Lookalikes) && h.Variants && h.Charset == Latin
	switch pick(r.unit(), t.Parked, t.Fronts) {
	case 0:
		*h = Host{Index: h.Index, Name: h.Name, Pages: parkedPages, Fanout: parkedPages - 1, Latency: h.Latency,
			State: h.State, Declared: InHeader, Parked: true}
	case 1:
		h.Front = h.Charset == Latin
	}
	h.Counter = h.Counter && !h.Front
}

// redirecting is how a name of a host redirects.
type redirecting uint8

const (
	answering redirecting = iota // it does not
	moved                        // each path to the same
	rooted                       // to the root
	half                         // half of its paths to the same, the others to the root
	redirectings
)

// movedName is a name of a host that redirects.
func (w *Web) movedName(i int, how redirecting) string {
	switch how {
	case moved:
		return "h" + strconv.Itoa(i) + movedDomain
	case rooted:
		return "gone." + w.name(i)
	}
	return "half." + w.name(i)
}

// movedNamed gives the host that redirects under a name.
func (w *Web) movedNamed(name string) (Host, bool) {
	digits, _ := strings.CutSuffix(strings.TrimPrefix(name, "h"), movedDomain)
	i, err := strconv.Atoi(digits)
	found := err == nil
	if _, own, cut := strings.Cut(name, "."); !found && cut {
		i, found = w.find(own)
	}
	if !found || i < 0 || i >= w.o.Hosts {
		return Host{}, false
	}
	for how := moved; how < redirectings; how++ {
		if w.movedName(i, how) == name {
			h := w.host(i)
			h.redirects, h.Name = how, name
			return h, h.Moved
		}
	}
	return Host{}, false
}

// movedTo is what a redirecting name of a host answers for a path: the URL there.
func (w *Web) movedTo(h *Host, o origin, target []byte) []byte {
	own := Host{Name: w.name(h.Index)}
	to := o.append(nil, w, &own)
	path := uint64(0)
	for _, c := range target {
		path = mix(path, uint64(c))
	}
	r := draw(w.o.Seed, forMoved, uint64(h.Index), path)
	if h.redirects == rooted || h.redirects == half && r.chance(0.5) {
		return append(to, '/')
	}
	return append(to, target...)
}

// textNumber is the number under which the text of a page is drawn: that of its host, unless hosts share it.
func (h *Host) textNumber(n int) uint64 {
	if h.Front && n == 0 {
		return frontTexts
	}
	return h.pathNumber()
}

// shares reports whether other hosts have the same text on this page.
func (h *Host) shares(n int) bool { return h.Parked || h.Front && n == 0 }

// pathNumber is the number under which the paths of a host are drawn.
func (h *Host) pathNumber() uint64 {
	if h.Parked {
		return parkedTexts
	}
	return uint64(h.Index)
}

// twinNamed gives the host that answers under another name than its own.
func (w *Web) twinNamed(name string) (Host, bool) {
	t := &w.o.Twins
	if t.Moved > 0 {
		if h, ok := w.movedNamed(name); ok {
			return h, true
		}
	}
	if t.Aliases == 0 && t.Translations == 0 {
		return Host{}, false
	}
	other := func(own string) (Host, bool) {
		if i, ok := w.find(own); ok {
			h := w.host(i)
			return h, h.Aliased
		}
		return Host{}, false
	}
	h, ok := Host{}, false
	if own, cut := strings.CutPrefix(name, "www."); cut {
		h, ok = other(own)
	} else if own, cut := strings.CutSuffix(name, copiesDomain); cut {
		if i, err := strconv.Atoi(strings.TrimPrefix(own, "host")); err == nil && i >= 0 && i < w.o.Hosts {
			h, ok = w.host(i), w.copyName(i) == name
			ok = ok && h.Aliased
		}
	} else if own, cut := strings.CutPrefix(name, "ja."); cut {
		if i, found := w.find(own); found {
			h = w.host(i)
			ok, h.twin, h.Charset, h.Near, h.Lookalike = h.Translated, true, UTF8, false, false
		}
	}
	h.Name = name
	return h, ok
}

func (w *Web) copyName(i int) string {
	own, _, _ := strings.Cut(w.name(i), ".")
	return own + copiesDomain
}

// twinNames are the names of a host beside its own.
func (w *Web) twinNames(h *Host) (names []string) {
	if h.Aliased {
		names = append(names, "www."+h.Name, w.copyName(h.Index))
	}
	if h.Translated {
		names = append(names, "ja."+h.Name)
	}
	for how := moved; h.Moved && how < redirectings; how++ {
		names = append(names, w.movedName(h.Index, how))
	}
	return names
}

// names gives the names of all ordinary hosts, in order, then the names beside these.
func (w *Web) names() []string {
	names := make([]string, w.o.Hosts)
	var twins []string
	for i := range names {
		names[i] = w.name(i)
		if w.o.Twins != (Twins{}) {
			h := w.host(i)
			twins = append(twins, w.twinNames(&h)...)
		}
	}
	return append(names, twins...)
}

// mirrored gives the host whose pages are in the folder /mirror/ of another.
func (w *Web) mirrored(h *Host) (Host, bool) {
	if !h.Mirror || w.o.Hosts < 2 || h.guest != nil {
		return Host{}, false
	}
	of := w.host((h.Index + 1) % w.o.Hosts)
	return of, !of.Parked && !of.Calendar && !of.Sessions && !of.Soft && !of.Fed
}

// inMirror gives the host as its folder /mirror/ has it: the pages are of the host mirrored. Any other target is the
// host's own.
func (w *Web) inMirror(h *Host, target []byte) *Host {
	if !h.Mirror || !bytes.HasPrefix(target, []byte(mirrorFolder+"/")) {
		return h
	}
	of, ok := w.mirrored(h)
	if !ok {
		return h
	}
	of.Name, of.folder, of.live = h.Name, mirrorFolder, of.Pages
	of.Mirror, of.Near, of.Dust, of.Variants, of.Robots = false, false, false, false, h.Robots
	of.Moved, of.Counter = false, false
	of.Aliased, of.Translated, of.State = h.Aliased, h.Translated, h.State
	return &of
}

// appendForm writes what a form adds to the path of a page that begins at begin.
func (w *Web) appendForm(dst []byte, begin int, h *Host, at place) []byte {
	parameter := func() {
		if bytes.IndexByte(dst[begin:], '?') >= 0 {
			dst = append(dst, '&')
		} else {
			dst = append(dst, '?')
		}
	}
	switch at.form {
	case session:
		parameter()
		r := draw(w.o.Seed, forDust, uint64(h.Index), uint64(at.n), at.sid)
		dst = fmt.Appendf(dst, "sid=%08x", uint32(r.next()))
	case tracked:
		parameter()
		dst = append(dst, tracking...)
	case document:
		dst = append(dst, "index.html"...)
	case slashed:
		dst = append(dst, '/')
	case sorted:
		parameter()
		dst = append(dst, sortings[at.sid]...)
	case ordered:
		parameter()
		dst = append(dst, orders[at.sid]...)
	case numbered:
		parameter()
		dst = strconv.AppendUint(append(dst, "p="...), at.sid+1, 10)
	case upper:
		path, _, _ := bytes.Cut(dst[begin:], []byte("?"))
		name := path[bytes.LastIndexByte(path, '/')+1:]
		copy(name, bytes.ToUpper(name))
	case nearly:
		dst = append(dst[:begin], h.folder...)
		dst = append(dst, "/near/p"...)
		dst = strconv.AppendInt(dst, int64(at.n), 10)
		dst = append(dst, ".html"...)
	}
	return dst
}

// guessForm reads the form off a target, and gives the rest.
func (w *Web) guessForm(h *Host, target []byte) (rest []byte, at place, ok bool) {
	if h.Near && bytes.HasPrefix(target, []byte("/near/p")) {
		at = place{kind: content, form: nearly, n: number(target[len("/near/p"):])}
		return nil, at, at.n > 0 && at.n < h.live && w.nearWords(h, at.n) > 0
	}
	if h.Variants {
		if rest, at, ok := guessVariant(target); ok {
			return rest, at, ok
		}
	}
	if !h.Dust {
		return nil, place{}, false
	}
	switch {
	case string(target) == "/index.html":
		return nil, place{kind: content, form: document}, true
	case len(target) > 2 && target[len(target)-1] == '/':
		return target[:len(target)-1], place{form: slashed}, true
	case bytes.HasSuffix(target, []byte(tracking)):
		return target[:len(target)-len(tracking)-1], place{form: tracked}, true
	case len(target) > 13 && string(target[len(target)-12:len(target)-8]) == "sid=":
		return target[:len(target)-13], place{form: session}, true
	}
	return nil, place{}, false
}

// Parameters of Variants, by the number of their value.
var (
	sortings = [...]string{"sort=up", "sort=down"}
	orders   = [...]string{"sort=up&" + tracking, tracking + "&sort=up"}
)

// guessVariant reads the form of Variants off a target, and gives the rest.
func guessVariant(target []byte) (rest []byte, at place, ok bool) {
	for form, parameters := range map[form][]string{ordered: orders[:], sorted: sortings[:]} {
		for i, p := range parameters {
			if rest, ok := bytes.CutSuffix(target, []byte(p)); ok && len(rest) > 1 &&
				(form == ordered || !bytes.HasSuffix(rest, []byte(tracking+"&"))) {
				return rest[:len(rest)-1], place{form: form, sid: uint64(i)}, true
			}
		}
	}
	if n := len(target) - len("?p=N"); n > 0 && string(target[n+1:n+3]) == "p=" {
		return target[:n], place{form: numbered, sid: uint64(target[n+3]-'1') % numbers}, true
	}
	path, _, _ := bytes.Cut(target, []byte("?"))
	begin := bytes.LastIndexByte(path, '/') + 1
	if name := path[begin:]; !bytes.Equal(name, bytes.ToLower(name)) {
		rest = bytes.Clone(target)
		copy(rest[begin:], bytes.ToLower(name))
		return rest, place{form: upper}, true
	}
	return nil, place{}, false
}

// differs reports whether a form of Variants is another page on this host.
func (w *Web) differs(h *Host, at place) bool {
	if !h.Lookalike || at.sid == 0 && at.form != upper {
		return false
	}
	switch at.form {
	case upper:
		return true
	case sorted, numbered:
		r := draw(w.o.Seed, forVariants, uint64(h.Index), uint64(at.n))
		return r.chance(lookalikeRate)
	}
	return false
}

// nearWords is the number of words that differ in the copy of a page, zero: there is no copy.
func (w *Web) nearWords(h *Host, n int) int {
	if r := draw(w.o.Seed, forNear, uint64(h.Index), uint64(n)); h.Near && n > 0 && r.chance(nearShare) {
		return 1 << r.below(mostWordsLog2+1)
	}
	return 0
}

// dusty gives links of a page other forms, and adds those to what only links of the head name, so that no text changes
// by it: the copy in which words differ, and the mirror.
func (w *Web) dusty(links []edge, h *Host, p int) []edge {
	for i := range links {
		e := &links[i]
		w.vary(e, h, p, i)
		if r := draw(w.o.Seed, forMoved, uint64(h.Index), uint64(p), uint64(i)); h.Moved && e.host < 0 &&
			e.to.kind == content && r.chance(movedShare) {
			e.via = moved + redirecting(r.below(int(redirectings-moved)))
		}
		if !h.Dust || e.to.form != plain || e.host >= 0 || e.to.kind != content {
			continue
		}
		r := draw(w.o.Seed, forDust, uint64(h.Index), uint64(p), uint64(i), 1)
		if !r.chance(dustShare) {
			continue
		}
		switch form := session + form(r.below(3)); {
		case e.to.n == 0:
			e.to.form = document
		case form == session:
			e.to.form, e.to.sid = session, uint64(r.below(sessionIDs))
		case form == tracked:
			e.to.form = tracked
		default:
			var room [128]byte
			if bytes.IndexByte(w.appendPath(room[:0], h, e.to.n), '?') < 0 {
				e.to.form = slashed
			}
		}
	}
	if w.nearWords(h, p) > 0 {
		links = append(links, edge{host: -1, to: place{kind: content, n: p, form: nearly}, kind: outlink.Link})
	}
	if p == 0 {
		if _, ok := w.mirrored(h); ok {
			links = append(links, edge{host: -1, to: place{kind: mirrorRoot}, kind: outlink.Link})
		}
	}
	return links
}

// vary gives a link of a page one of the forms of Variants.
func (w *Web) vary(e *edge, h *Host, p, i int) {
	if !h.Variants || e.host >= 0 || e.to.kind != content || e.to.n == 0 {
		return
	}
	r := draw(w.o.Seed, forVariants, uint64(h.Index), uint64(p), uint64(i))
	if !r.chance(variantShare) {
		return
	}
	e.to.form = sorted + form(r.below(4))
	switch e.to.form {
	case sorted, ordered:
		e.to.sid = uint64(r.below(len(sortings)))
	case numbered:
		e.to.sid = uint64(r.below(numbers))
	}
}

// changeWords replaces as many words of the main text by others, spread evenly, and leaves all else in place. Every
// sentence of the English stock has at least two of the words that it replaces.
func (w *Web) changeWords(page []byte, h *Host, n, words int, variant uint64) {
	main := page[bytes.Index(page, []byte("<main>")):bytes.Index(page, []byte("</main>"))]
	var at []int
	for i := 0; i+4 < len(main); i++ {
		if main[i+1] == 'h' && main[i+2] == 'e' && main[i+3] == ' ' && (main[i] == 'T' || main[i] == 't') {
			at = append(at, i)
		}
	}
	r := draw(w.o.Seed, forNear, uint64(h.Index), uint64(n), variant)
	for i := range min(words, len(at)) {
		word := main[at[i*len(at)/min(words, len(at))]:][:3]
		for j := range word {
			word[j] = byte('a' + r.below(26))
		}
		word[0] = 'z' // never the word that was there
	}
}

// Likeness is the truth about what a URL has in common with others.
type Likeness struct {
	// Kind is page, alias, mirror, dust, lookalike, near, soft, parked, front, counter or translation; a maze is dust.
	// Empty: it names no page, or one that is an error or redirects.
	Kind string
	// Text names the text of the page: pages of the web have the same main content when their Texts are equal, and
	// only then.
	Text  string
	Near  string // the Text in which Words words were replaced to make this one
	Words int
}

// Like tells what a URL has in common with others, when it answers 200.
func (w *Web) Like(url string) (Likeness, error) {
	_, name, target, ok := splitURL(url)
	if !ok {
		return Likeness{}, fmt.Errorf("%w: %q", ErrUnknownURL, url)
	}
	own, ok := w.hostNamed(name)
	if !ok {
		return Likeness{}, fmt.Errorf("%w: %q", ErrUnknownURL, url)
	}
	if own.redirects != answering {
		return Likeness{}, nil
	}
	h := w.inMirror(&own, target)
	at := w.locate(h, target)
	language := strconv.Itoa(int(min(h.Charset, UTF8)))
	switch at.kind {
	case absent:
		return Likeness{Kind: "soft", Text: "soft " + language}, nil
	case maze:
		return Likeness{Kind: "dust", Text: "maze " + language + " " + strconv.Itoa(at.n%paragraphCount)}, nil
	case content:
	default:
		return Likeness{}, nil
	}
	bare := w.host(h.Index)
	text := bare.Name + string(w.appendPath(nil, &bare, at.n))
	l := Likeness{Kind: "page", Text: text}
	switch {
	case at.form == nearly:
		l = Likeness{Kind: "near", Text: bare.Name + string(w.appendPlace(nil, &bare, at)), Near: text,
			Words: w.nearWords(&bare, at.n)}
	case w.differs(h, at):
		l = Likeness{Kind: "lookalike", Text: bare.Name + string(w.appendPlace(nil, &bare, at))}
	case h.Parked:
		l = Likeness{Kind: "parked", Text: "parked" + string(w.appendPath(nil, &bare, at.n))}
	case h.Counter && at.n == 0:
		return Likeness{Kind: "counter", Text: "counter of " + own.Name + string(target)}, nil
	case h.Front && at.n == 0:
		l = Likeness{Kind: "front", Text: "front"}
	case h.folder != "":
		l.Kind = "mirror"
	case own.Name != bare.Name:
		l.Kind = "alias"
	case at.form != plain:
		l.Kind = "dust"
	}
	if h.twin {
		l.Kind, l.Text = "translation", "ja."+l.Text
	}
	return l, nil
}

// likenesses lists the truth about all URLs that a crawl of all hosts fetches and gets a page from, a line each: kind,
// words that differ, text, the text it is near to, URL, separated by tabs.
func (w *Web) likenesses(seeds []string) ([]string, error) {
	now := time.Now()
	t, err := w.Reachable(Crawl{Seeds: seeds, Scope: AnyHost, Depth: -1, At: now})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, url := range slices.Sorted(maps.Keys(t.Fetched)) {
		l, err := w.Like(url)
		if err != nil {
			return nil, err
		}
		page, err := w.Page(url, now)
		if err != nil {
			return nil, err
		}
		if l.Kind != "" && page.Answers && page.Status == 200 {
			lines = append(lines, fmt.Sprintf("%s\t%d\t%s\t%s\t%s", l.Kind, l.Words, l.Text, l.Near, url))
		}
	}
	return lines, nil
}
