package fakeweb

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"henro/messages/outlink"
)

// Link is one link of a page: canonical address and kind.
type Link struct {
	URL  string
	Kind outlink.Kind
}

// Page is the truth about one URL at a moment.
type Page struct {
	URL     string
	Host    int  // number of the host; -1 for guests
	Allowed bool // robots.txt allows it
	// a correct client gets a status; otherwise the host is out of order or the page never answers whole
	Answers    bool
	Status     int     // of an unconditional request; zero when nothing answers
	Location   string  // of a redirect, canonical
	Links      []Link  // in the order of the page, each address and kind once; embeds last; none unless Status is 200
	Rate       float64 // changes of the text a second; zero: never
	Version    uint64  // of the text; grows with every change
	ModifiedAt time.Time
}

// Page tells the truth about a URL as it is at a moment. The URL must be canonical, as every URL the web itself names
// is.
func (w *Web) Page(url string, at time.Time) (*Page, error) {
	o, name, target, ok := splitURL(url)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownURL, url)
	}
	h, ok := w.hostNamed(name)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownURL, url)
	}
	return w.truth(&h, o, target, url, at), nil
}

func (w *Web) truth(h *Host, o origin, target []byte, url string, now time.Time) *Page {
	p := &Page{URL: url, Host: h.Index, Allowed: h.allowed(string(target))}
	if h.guest != nil {
		p.Host = -1
	}
	h.live = w.live(h, now)
	h = w.inMirror(h, target)
	at := w.locate(h, target)
	if at.kind == content {
		pr := w.changes(h, at.n)
		grown, _ := w.grown(h, at.n, h.live)
		p.Rate, p.Version, p.ModifiedAt = pr.rate*1e9, pr.version(now)+uint64(grown),
			w.modified(h, at.n, &pr, h.live, now)
	}
	q := request{method: "GET", host: h.Name + o.port, target: target, secure: o.scheme == "https"}
	s := sheets.Get().(*sheet)
	defer sheets.Put(s)
	// Rendering the page is the surest way to its status; it costs no more than the links.
	w.answer(&s.a, h, &q, now)
	up := !w.down(h, now)
	if s.a.fault != timeout && up {
		p.Status = s.a.status
	}
	p.Answers = s.a.fault == well && s.a.raw == nil && up
	switch {
	case h.redirects != answering:
		if p.Status/100 == 3 {
			p.Location = string(w.movedTo(h, o, target))
		}
	case at.kind == alias && p.Status/100 == 3:
		p.Location = string(w.appendPath(o.append(nil, w, h), h, at.n))
	case p.Status == 200 && s.a.raw == nil:
		p.Links = w.links(h, o, at)
	}
	return p
}

// links gives the links of a place, canonical.
func (w *Web) links(h *Host, o origin, at place) []Link {
	var room [64]edge
	edges := w.edges(room[:0], h, at)
	links := make([]Link, 0, len(edges)+len(embeds))
	seen := make(map[Link]struct{}, len(edges))
	add := func(l Link) {
		if _, again := seen[l]; !again {
			seen[l] = struct{}{}
			links = append(links, l)
		}
	}
	var room2 [160]byte
	// Links of the head stand before those of the text.
	for _, head := range [...]bool{true, false} {
		for i := range edges {
			e := &edges[i]
			if head != (e.kind == outlink.Link) {
				continue
			}
			to := h
			if e.host >= 0 {
				other := w.host(e.host)
				to = &other
			}
			name := to
			if e.via != answering {
				name = &Host{Name: w.movedName(h.Index, e.via)}
			}
			add(Link{string(w.appendPlace(o.append(room2[:0], w, name), to, e.to)), e.kind})
		}
	}
	if at.kind == content || at.kind == calendar || at.kind == maze {
		for i, path := range staticPaths {
			add(Link{string(append(o.append(room2[:0], w, h), path...)), embeds[i]})
		}
	}
	return links
}

// Changes gives the moments in (from, to] at which the page of a URL changes, in order: its text, or its links when
// pages are born below it. Dates and counters of trivial hosts are no changes, and nothing else is.
func (w *Web) Changes(url string, from, to time.Time) ([]time.Time, error) {
	h, at, err := w.visited(url, to)
	if err != nil || at.kind != content {
		return nil, err
	}
	return w.edits(&h, at.n, from, to), nil
}

// ChangeCount counts the changes in (from, to] without listing them.
func (w *Web) ChangeCount(url string, from, to time.Time) (int, error) {
	h, at, err := w.visited(url, to)
	if err != nil || at.kind != content {
		return 0, err
	}
	pr := w.changes(&h, at.n)
	return pr.count(from, to) + len(w.newborn(&h, at.n, from, to)), nil
}

// visited finds the place of a URL at a moment.
func (w *Web) visited(url string, now time.Time) (Host, place, error) {
	_, name, target, ok := splitURL(url)
	if ok {
		if h, ok := w.hostNamed(name); ok {
			h.live = w.live(&h, now)
			of := w.inMirror(&h, target)
			return *of, w.locate(of, target), nil
		}
	}
	return Host{}, place{}, fmt.Errorf("%w: %q", ErrUnknownURL, url)
}

// PageURL gives the canonical URL of page n of a host, behind a redirect if there is one, under a port (zero: the
// scheme's own).
func (w *Web) PageURL(host, n int, port uint16) string {
	h := w.host(host)
	o := origin{scheme: "http"}
	if port != 0 && port != 80 {
		o.port = fmt.Sprintf(":%d", port)
	}
	return string(w.appendPath(o.append(nil, w, &h), &h, n))
}

// Scope says which links a crawl follows.
type Scope uint8

// The scopes of a crawl.
const (
	SameHost   Scope = iota // hosts of the seeds
	SameDomain              // registrable domains of the seeds
	AnyHost
)

// Crawl is the settings of a crawler.
type Crawl struct {
	Seeds []string // canonical
	Scope Scope
	Depth int       // links followed from a seed; negative: no limit
	At    time.Time // the web as it is at this moment; zero: now
	// RedirectDepth is what following a redirect costs in depth; zero: nothing, a redirect is another name of the page.
	RedirectDepth int
	IgnoreRobots  bool
	Limit         int // most URLs; zero: ten million
}

// Truth is what a correct crawl comes to.
type Truth struct {
	// Fetched holds every URL asked for, with its least depth: pages, errors, redirects, and those that never answer.
	// Without robots.txt, and without embeds.
	Fetched map[string]int
	// Denied holds the URLs that robots.txt forbids, with their least depth. They are in scope and depth.
	Denied map[string]int
	// Outside counts the addresses beyond the scope, TooDeep those beyond the depth, each once.
	Outside, TooDeep int
}

// Reachable computes which URLs a correct crawl fetches: those on a path of links from a seed, in scope, not deeper
// than allowed by their shortest path, and allowed by robots.txt. It takes some 10 µs a page.
func (w *Web) Reachable(c Crawl) (*Truth, error) {
	if c.At.IsZero() {
		c.At = time.Now()
	}
	c.Limit = cmp.Or(c.Limit, 10_000_000)
	t := &Truth{Fetched: map[string]int{}, Denied: map[string]int{}}
	hosts, domains := map[string]bool{}, map[string]bool{}
	depths := map[string]int{} // least depth at which a URL in scope was met, within the depth or not
	outside := map[string]struct{}{}
	type wait struct {
		url   string
		depth int
	}
	// Layers are worked off in order of depth; redirects that cost nothing join the layer at hand, so every URL is
	// first worked off at its least depth.
	layers := [][]wait{nil}
	meet := func(url string, depth int) {
		if least, met := depths[url]; met && least <= depth {
			return
		}
		_, name, _, _ := splitURL(url)
		if c.Scope == SameHost && !hosts[originOf(url)] || c.Scope == SameDomain && !domains[domain(name)] {
			outside[url] = struct{}{}
			return
		}
		depths[url] = depth
		if c.Depth >= 0 && depth > c.Depth {
			return
		}
		for len(layers) <= depth {
			layers = append(layers, nil)
		}
		layers[depth] = append(layers[depth], wait{url, depth})
	}
	for _, seed := range c.Seeds {
		_, name, _, ok := splitURL(seed)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrUnknownURL, seed)
		}
		hosts[originOf(seed)] = true
		domains[domain(name)] = true
	}
	for _, seed := range c.Seeds {
		meet(seed, 0)
	}
	for depth := 0; depth < len(layers); depth++ {
		for i := 0; i < len(layers[depth]); i++ {
			next := layers[depth][i]
			if depths[next.url] < depth {
				continue
			}
			p, err := w.Page(next.url, c.At)
			if err != nil {
				return nil, err
			}
			if !p.Allowed && !c.IgnoreRobots {
				t.Denied[next.url] = depth
				continue
			}
			t.Fetched[next.url] = depth
			if len(t.Fetched) > c.Limit {
				return nil, fmt.Errorf("%w: %d", ErrTooMany, c.Limit)
			}
			if p.Location != "" {
				meet(p.Location, depth+c.RedirectDepth)
			}
			for _, l := range p.Links {
				if l.Kind.Navigates() {
					meet(l.URL, depth+1)
				}
			}
		}
		layers[depth] = nil
	}
	t.Outside = len(outside)
	for _, depth := range depths {
		if c.Depth >= 0 && depth > c.Depth {
			t.TooDeep++
		}
	}
	return t, nil
}

func originOf(url string) string {
	o, name, _, _ := splitURL(url)
	return o.scheme + "://" + name + o.port
}

// domain gives the registrable domain of a name of this web: its last two labels.
func domain(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		if j := strings.LastIndexByte(name[:i], '.'); j >= 0 {
			return name[j+1:]
		}
	}
	return name
}
