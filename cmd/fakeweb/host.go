package fakeweb

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Host is what one host of the web is like. Options.Shape may change all but Index and Name.
type Host struct {
	Index int
	Name  string // without port

	Pages  int // pages in the tree; traps, robots.txt and the like are beyond it
	Fanout int // k of the tree; zero in Shape: computed from Pages, Degree and Depth

	Latency    time.Duration // mean time to answer
	State      State
	Robots     RobotsKind
	CrawlDelay time.Duration // of Delayed robots
	Validator  Validator
	Charset    Charset
	Declared   Declared // where the charset is named
	Errors     Errors
	Changes    Changes
	Redirects  float64 // share of pages reached through a redirect
	Trivial    bool    // date and counter in the navigation bar move
	Calendar   bool
	Sessions   bool
	Soft       bool // what does not exist answers 200
	Indexed    bool // the sitemap is an index of compressed parts
	Fed        bool // the root names a feed
	Lastmod    Lastmod

	// what its pages have in common with others, as Twins says
	Aliased, Mirror, Dust, Variants, Lookalike, Near, Templated, Parked, Front, Translated bool
	Moved, Counter                                                                         bool

	guest     *Guest      // nil: one of the web's own
	redirects redirecting // under this name
	twin      bool        // it answers under the name of its translation
	folder    string      // of a mirror, in which its pages are; empty: none
	live      int         // pages at the moment it is looked at, those born since included; Pages until then
}

// State says whether a host answers at all.
type State uint8

// The states of a host.
const (
	Answering State = iota
	Silent          // accepts connections, reads requests, never answers
	Dead            // refuses connections
	Blackhole       // connecting never ends
	Unknown         // the name does not resolve
)

// RobotsKind says what a host's /robots.txt does.
type RobotsKind uint8

// The kinds of robots.txt.
const (
	RobotsOpen RobotsKind = iota // allows everything, names the sitemap
	RobotsMissing
	RobotsFolders
	RobotsClosed
	RobotsDelayed
	RobotsUnavailable
	RobotsSilent
	RobotsRedirected
)

// Lastmod says what a host's sitemap and feed say of the last change of a page.
type Lastmod uint8

// The kinds of lastmod.
const (
	LastmodHonest Lastmod = iota // the second
	LastmodLying                 // the last full hour, whatever happened
	LastmodDaily                 // the day
)

// Validator is a set of validators.
type Validator uint8

// The validators a host may send.
const (
	ETag         Validator = 1
	LastModified Validator = 2
)

// Charset is the encoding of a host's pages; the Japanese ones hold Japanese texts, Latin holds English ones.
type Charset uint8

// The charsets.
const (
	Latin Charset = iota // UTF-8 without a character beyond ASCII
	UTF8                 // Japanese from here on
	EUCJP
	ShiftJIS
)

// String returns the name used in headers and meta elements.
func (c Charset) String() string {
	return [...]string{"utf-8", "utf-8", "euc-jp", "shift_jis"}[c]
}

// Declared says where a host names its charset.
type Declared uint8

// The places for the name of a charset.
const (
	InHeader  Declared = 1
	InMeta    Declared = 2
	InBoth             = InHeader | InMeta
	InNothing Declared = 0
)

// pick gives the index of the part that u, a number in (0,1), falls into, or len(parts).
func pick(u float64, parts ...float64) int {
	for i, p := range parts {
		if u < p {
			return i
		}
		u -= p
	}
	return len(parts)
}

// Host gives the host of this number, 0 ≤ i < Hosts.
func (w *Web) Host(i int) Host { return w.host(i) }

func (w *Web) host(i int) Host {
	o, n := &w.o, uint64(i)
	h := Host{Index: i, Name: w.name(i), Pages: o.Pages, Changes: o.Changes, Errors: o.Errors,
		Redirects: o.RedirectShare, CrawlDelay: o.Robots.Delay}
	if o.Pareto > 1 {
		r := draw(o.Seed, forPages, n)
		least := float64(o.Pages) * (o.Pareto - 1) / o.Pareto
		h.Pages = max(1, int(math.Round(min(least*math.Pow(r.unit(), -1/o.Pareto), 100*float64(o.Pages)))))
	}
	if o.Latency.Mean > 0 {
		r, s := draw(o.Seed, forLatency, n), o.Latency.Spread
		h.Latency = time.Duration(float64(o.Latency.Mean) * math.Exp(s*r.normal()-s*s/2))
	}
	if f := &o.Faults; *f != (Faults{}) {
		r := draw(o.Seed, forState, n)
		h.State = [...]State{Silent, Dead, Blackhole, Unknown,
			Answering}[pick(r.unit(), f.Silent, f.Dead, f.Blackhole, f.Unknown)]
	}
	r := draw(o.Seed, forRobots, n)
	rb := &o.Robots
	h.Robots = [...]RobotsKind{RobotsMissing, RobotsFolders, RobotsClosed, RobotsDelayed, RobotsUnavailable,
		RobotsSilent, RobotsRedirected, RobotsOpen}[pick(
		r.unit(), rb.Missing, rb.Folders, rb.Closed, rb.Delayed, rb.Unavailable, rb.Silent, rb.Redirected)]
	r = draw(o.Seed, forValidator, n)
	h.Validator = [...]Validator{ETag, LastModified, ETag | LastModified,
		0}[pick(r.unit(), o.Validators.ETag, o.Validators.LastModified, o.Validators.Both)]
	if r = draw(o.Seed, forCharset, n); r.chance(o.Japanese) {
		h.Charset = UTF8 + Charset(r.below(3))
		h.Declared = [...]Declared{InHeader, InMeta, InBoth, InNothing}[pick(r.unit(), 3.0/8, 3.0/8, 1.0/8)]
	} else {
		h.Declared = InHeader
	}
	r = draw(o.Seed, forTrivial, n)
	h.Trivial = r.chance(o.TrivialShare)
	r = draw(o.Seed, forTrap, n)
	h.Calendar = r.chance(o.Traps.Calendar)
	h.Sessions = r.chance(o.Traps.Sessions)
	h.Soft = r.chance(o.Traps.SoftNotFound)
	if t := &o.Hints; *t != (Hints{Part: t.Part}) {
		r = draw(o.Seed, forHints, n)
		h.Indexed = r.chance(t.Indexed)
		h.Fed = r.chance(t.Feeds)
		h.Lastmod = [...]Lastmod{LastmodLying, LastmodDaily, LastmodHonest}[pick(r.unit(), t.Lying, t.Daily)]
	}
	w.drawTwins(&h)
	if o.Shape != nil {
		o.Shape(&h)
	}
	if h.Fanout == 0 {
		h.Fanout = fanout(h.Pages, o.Degree, o.Depth)
	}
	h.live = h.Pages
	return h
}

// fanout gives the least k with which a tree of so many pages has no more than depth layers below its root.
func fanout(pages, degree, depth int) int {
	if depth == 0 {
		return max(1, (degree+1)/2)
	}
	k := max(1, int(math.Pow(float64(pages)/2, 1/float64(depth)))-1)
	for within(k, depth) < pages {
		k++
	}
	return k
}

// within counts the pages of the layers 0 … layer in a tree of fanout k, or a number beyond any host.
func within(k, layer int) int {
	if k == 1 {
		return layer + 1
	}
	sum, width := 1, 1
	for range layer {
		if width *= k; width > 1e9 {
			return 1e9
		}
		sum += width
	}
	return sum
}

// layer gives the layer page p lies in.
func layer(k, p int) int {
	if k == 1 {
		return p
	}
	l := 0
	for p > 0 {
		p = (p - 1) / k
		l++
	}
	return l
}

// leaf reports whether page p has no page below it.
func (h *Host) leaf(p int) bool { return p*h.Fanout+1 >= h.Pages }

// leaves counts the pages with none below them.
func (h *Host) leaves() int {
	if h.Pages < 2 {
		return h.Pages
	}
	return h.Pages - ((h.Pages-2)/h.Fanout + 1)
}

// name gives the name of host i: host0007.fakeweb.test, or host0007.fakeweb03.test when there are several domains.
func (w *Web) name(i int) string { return string(w.appendName(make([]byte, 0, 32), i)) }

func (w *Web) appendName(dst []byte, i int) []byte {
	dst = append(dst, "host"...)
	dst = appendPadded(dst, i, 4)
	dst = append(dst, ".fakeweb"...)
	if w.o.Domains > 1 {
		dst = appendPadded(dst, i%w.o.Domains, 2)
	}
	return append(dst, ".test"...)
}

func appendPadded(dst []byte, n, width int) []byte {
	for limit := 10; width > 1; width-- {
		if n < limit {
			dst = append(dst, '0')
		}
		limit *= 10
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

// find gives the number of the ordinary host of this name.
func (w *Web) find(name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, "host")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 || i >= w.o.Hosts {
		return 0, false
	}
	var room [48]byte
	return i, string(w.appendName(room[:0], i)) == name
}

// hostNamed gives the host of this name, which may be a guest.
func (w *Web) hostNamed(name string) (Host, bool) {
	if i, ok := w.find(name); ok {
		return w.host(i), true
	}
	if h, ok := w.twinNamed(name); ok {
		return h, true
	}
	return w.guestNamed(name)
}
