// Package scope decides which URLs belong to a crawl.
//
// A Scope is a value made from the seeds and the operator's wishes; adding a seed makes a new value, so that it can be
// handed to every actor without a lock. A URL is in scope when a seed's region contains it (its host, its registrable
// domain, the folder of the seed, or anywhere), when its top-level domain is wanted, when some include pattern matches
// (or there is none) and no exclude pattern does, and when no portal of the stop list contains it.
//
// A host is compared by name and port here, not by scheme: a seed at http://example.com also means https://example.com,
// since sites move between the two by redirect. Non-default ports are sites of their own.
//
// It is asked about one host at a time: Of gives the Part that concerns it, which is small enough to be sent to the
// slave that visits the host.
//
// Invariant: Part.Decide is a pure function of the part and the URL, so that a slave following links inside a lease and
// the master admitting them agree.
package scope

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"henro/messages/weburl"
)

// Mode is how far a crawl reaches from its seeds.
type Mode uint8

// The modes, from the narrowest.
const (
	Prefix Mode = iota // below the folder of a seed
	Host               // on the host of a seed
	Domain             // on the registrable domain of a seed
	Any                // anywhere
)

var modeNames = [...]string{Prefix: "prefix", Host: "host", Domain: "domain", Any: "any"}

// String returns the word that ParseMode understands.
func (m Mode) String() string { return modeNames[m] }

// ParseMode reads one of host, domain, prefix, any.
func ParseMode(word string) (Mode, error) {
	for m, name := range modeNames {
		if name == word {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("scope %q is not one of host, domain, prefix, any", word)
}

// Verdict says whether a URL belongs to the crawl, and if not, by which rule.
type Verdict uint8

// The verdicts.
const (
	In          Verdict = iota // belongs to the crawl
	OutOfReach                 // no seed's region contains it
	WrongTLD                   // its top-level domain is not wanted
	NotIncluded                // no include pattern matches
	Excluded                   // an exclude pattern matches
	StopListed                 // a portal of the stop list contains it
)

var verdictNames = [...]string{In: "in", OutOfReach: "out of scope", WrongTLD: "wrong top-level domain",
	NotIncluded: "not included", Excluded: "excluded", StopListed: "stop-listed"}

// String returns the reason in words.
func (v Verdict) String() string { return verdictNames[v] }

// Options are the operator's wishes.
type Options struct {
	Mode    Mode
	Include []string // regular expressions over the whole URL; empty means all
	Exclude []string // regular expressions over the whole URL
	TLDs    []string // wanted top-level domains without the dot; empty means all
	Portals []string // stop list given beforehand: host names (with everything below them) or URL prefixes
}

// DefaultOptions stay on the hosts of the seeds.
func DefaultOptions() Options { return Options{Mode: Host} }

// Scope says what belongs to one crawl. It is immutable: With returns a new one.
type Scope struct {
	options  Options
	include  []*regexp.Regexp
	exclude  []*regexp.Regexp
	portals  map[string]bool // host names
	prefixes []string        // stop-listed URL prefixes

	// of the seeds: a host is its name, or name:port for ports that are no scheme's default
	hosts, domains map[string]bool
	folders        map[string][]string // below them, without the scheme, by site; each once
}

// New compiles the operator's wishes, without any seed yet.
func New(o Options) (*Scope, error) {
	r := &Scope{options: o, hosts: map[string]bool{}, domains: map[string]bool{}, folders: map[string][]string{},
		portals: map[string]bool{}}
	for _, set := range []struct {
		patterns []string
		to       *[]*regexp.Regexp
		name     string
	}{{o.Include, &r.include, "include"}, {o.Exclude, &r.exclude, "exclude"}} {
		for _, pattern := range set.patterns {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, fmt.Errorf("%s pattern %q: %w", set.name, pattern, err)
			}
			*set.to = append(*set.to, re)
		}
	}
	for _, portal := range o.Portals {
		if strings.Contains(portal, "://") {
			u, err := weburl.Parse(portal)
			if err != nil {
				return nil, fmt.Errorf("stop list entry %q: %w", portal, err)
			}
			r.prefixes = append(r.prefixes, schemeless(u.String()))
			continue
		}
		r.portals[strings.ToLower(strings.Trim(portal, "."))] = true
	}
	return r, nil
}

// With returns a scope that also reaches what these seeds stand for. It copies what the seeds before them stand for:
// give it all seeds at once.
func (r *Scope) With(seeds ...weburl.URL) *Scope {
	next := *r
	next.hosts, next.domains, next.folders = maps.Clone(r.hosts), maps.Clone(r.domains), maps.Clone(r.folders)
	for _, seed := range seeds {
		at := site(seed)
		next.hosts[at] = true
		next.domains[domain(seed)] = true
		folder := schemeless(seed.String())
		if i := strings.IndexAny(folder, "?#"); i >= 0 {
			folder = folder[:i]
		}
		folder = folder[:strings.LastIndexByte(folder, '/')+1]
		if known := next.folders[at]; !slices.Contains(known, folder) {
			next.folders[at] = append(slices.Clip(known), folder) // r has the array too
		}
	}
	return &next
}

// Part is what the scope says of one host: all of it that concerns its visits. It is immutable.
type Part struct {
	Outside  Verdict  // why nothing of the host is in; In: what lies below one of Prefixes may be
	Prefixes []string // of URLs that a seed's region contains, "scheme://name[:port]/…"
	Closed   []string // of URLs that are not in all the same: the stop list's
	portal   bool     // the stop list names the host

	include, exclude []*regexp.Regexp
}

// Part is the part of a host that Of said elsewhere, with the patterns of this scope.
func (r *Scope) Part(prefixes, closed []string) *Part {
	return &Part{Prefixes: prefixes, Closed: closed, include: r.include, exclude: r.exclude}
}

// Refuses says whether a URL of the host is refused wherever it stands: by the stop list, or by an exclude pattern.
// What a page is made of is asked about here; it may lie where no seed's region is.
func (p *Part) Refuses(url string) Verdict {
	if p.portal || below(url, p.Closed) {
		return StopListed
	}
	for _, re := range p.exclude {
		if re.MatchString(url) {
			return Excluded
		}
	}
	return In
}

// Decide says whether a URL of the host belongs to the crawl. Nothing is parsed, since most links of a crawl are asked
// about here.
func (p *Part) Decide(url string) Verdict {
	switch {
	case p.Outside != In:
		return p.Outside
	case !below(url, p.Prefixes):
		return OutOfReach
	case below(url, p.Closed):
		return StopListed
	}
	included := len(p.include) == 0
	for _, re := range p.include {
		if included = re.MatchString(url); included {
			break
		}
	}
	if !included {
		return NotIncluded
	}
	return p.Refuses(url)
}

func below(url string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(url, prefix) })
}

// Of says what the scope says of one host ("scheme://name[:port]").
func (r *Scope) Of(host string) *Part {
	p := &Part{include: r.include, exclude: r.exclude}
	root, err := weburl.Parse(host + "/")
	if err != nil {
		p.Outside = OutOfReach
		return p
	}
	p.Prefixes, p.portal = r.region(root), r.isPortal(root.Hostname())
	base := schemeless(root.String())
	for _, prefix := range r.prefixes {
		if strings.HasPrefix(prefix, base) {
			p.Closed = append(p.Closed, root.Scheme()+"://"+prefix)
		}
	}
	switch {
	case len(p.Prefixes) == 0:
		p.Outside = OutOfReach
	case len(r.options.TLDs) > 0 && !r.wantedTLD(root.Hostname()):
		p.Outside = WrongTLD
	case p.portal:
		p.Outside = StopListed
	}
	return p
}

// region returns the prefixes of the URLs of a host that the seeds' regions contain.
func (r *Scope) region(root weburl.URL) (prefixes []string) {
	reached := false
	switch r.options.Mode {
	case Any:
		reached = true
	case Domain:
		reached = r.domains[domain(root)]
	case Host:
		reached = r.hosts[site(root)]
	default:
		for _, folder := range r.folders[site(root)] {
			prefixes = append(prefixes, root.Scheme()+"://"+folder)
		}
	}
	if reached {
		return []string{root.String()}
	}
	return prefixes
}

func (r *Scope) wantedTLD(name string) bool {
	tld := name[strings.LastIndexByte(name, '.')+1:]
	return slices.ContainsFunc(r.options.TLDs, func(wanted string) bool {
		return strings.EqualFold(strings.TrimPrefix(wanted, "."), tld)
	})
}

// isPortal reports whether the stop list names the host or a domain above it.
func (r *Scope) isPortal(name string) bool {
	for len(r.portals) > 0 {
		if r.portals[name] {
			return true
		}
		_, rest, found := strings.Cut(name, ".")
		if !found {
			break
		}
		name = rest
	}
	return false
}

// site is the name of a URL's host, with the port unless it is a scheme's default.
func site(u weburl.URL) string {
	host := u.Host()
	return host[strings.Index(host, "://")+3:]
}

// domain is the registrable domain, or the site itself where there is none (addresses, single labels).
func domain(u weburl.URL) string {
	if _, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]")); err == nil {
		return u.Hostname()
	}
	if pld := u.PLD(); pld != "" {
		return pld
	}
	return u.Hostname()
}

func schemeless(url string) string { return url[strings.Index(url, "://")+3:] }
