// Package template groups the pages of a host by the shape of their URLs, and knows of each group what its pages are
// like: how often they change, how many fail, repeat what is archived already, and lead to what is new.
//
// Shops, boards and calendars make pages without end from a few templates, and most of those pages are visited too
// seldom for an estimate of their own. What their group has shown is then the best that is known of them. Of each group
// a sample is visited as its pages ask for; the others wait as long as their group bears.
//
// Which pages are the sample follows from the hashes of their URLs and from how many pages the group has: nothing is
// kept of a page.
//
// Invariants: at most Most groups; a group is never removed, and a URL belongs to the same group for as long as the
// Groups live.
package template

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"henro/actors/revisit"
	"henro/store/fingerprint"
)

// ErrCorrupt is returned by Groups.UnmarshalBinary for bytes that MarshalBinary cannot have made.
var ErrCorrupt = errors.New("template: corrupt groups")

// Bounds of the groups of one host. Beyond Fine groups URLs are grouped by the first folder alone; beyond Most all
// others are one group.
const (
	Most = 64
	fine = 48
	// young is how many pages of a group are visited before others: what they show is worth most
	young = 8
)

// rest is the shape of the last group, of all that found no other.
const rest = "*"

// Group is the pages of a host whose URLs have one shape.
type Group struct {
	Shape string
	Pages uint64        // that are to be visited again
	Rates revisit.Rates // of these, by their estimated mean intervals between changes

	// what visits found
	Visits     uint64
	Errors     uint64 // of the visits: no answer, or status 400 and above
	Duplicates uint64 // of the visits: what is archived already under another URL
	Links      uint64 // that pages named
	News       uint64 // of these, that no page of the host had named before, as far as is remembered
}

// Groups are the groups of one host. The zero value is none.
type Groups struct {
	since   int64 // unix seconds: pages visited last before it are not counted
	groups  []Group
	sampled map[string]int // URLs of young groups that were asked for, by shape; not kept
	named   Memory         // URLs that pages have linked to; not kept
}

// New returns groups without pages, as of a moment: pages that were visited before it are counted when they are visited
// again.
func New(now time.Time) *Groups { return &Groups{since: now.Unix()} }

// Counted reports whether a page that was visited at this moment last is counted.
func (g *Groups) Counted(lastVisit time.Time) bool {
	return !lastVisit.IsZero() && lastVisit.Unix() >= g.since
}

// All returns the groups in the order in which they were found: to be read, not to be changed.
func (g *Groups) All() []Group {
	if g == nil {
		return nil
	}
	return g.groups
}

// find returns the group of a URL, or nil and the shape of the group that is to be made for it.
func (g *Groups) find(url string) (group *Group, shape string) {
	shape = Shape(url)
	for _, level := range [...]struct {
		room int
		next string
	}{{fine, folder(shape)}, {Most - 1, rest}, {Most, ""}} {
		at := slices.IndexFunc(g.groups, func(known Group) bool { return known.Shape == shape })
		if at >= 0 {
			return &g.groups[at], shape
		}
		if len(g.groups) < level.room {
			break
		}
		shape = level.next
	}
	return nil, shape
}

// Of returns the group of a URL, which is made if there is none. It may be used until the next is made.
func (g *Groups) Of(url string) *Group {
	group, shape := g.find(url)
	if group == nil {
		g.groups = append(g.groups, Group{Shape: shape})
		group = &g.groups[len(g.groups)-1]
	}
	return group
}

// Sample reports whether a URL is one of the first of a group of which too little is known: these are visited first, so
// that it is known soon what their group is like.
func (g *Groups) Sample(url string) bool {
	if g == nil {
		return false
	}
	group, shape := g.find(url)
	if group != nil && group.Pages >= young || g.sampled[shape] == young || len(g.sampled) == Most {
		return false
	}
	if g.sampled == nil {
		g.sampled = map[string]int{}
	}
	g.sampled[shape]++
	return true
}

// Prior returns what is believed of a new page of the host, given what is believed of one of the host.
func (g *Groups) Prior(url string, host revisit.Prior) revisit.Prior {
	if g == nil {
		return host
	}
	return g.Of(url).Prior(host)
}

// Center returns the mean interval about which pages like this one lie, given that of the host's pages.
func (g *Groups) Center(url string, host time.Duration) time.Duration {
	if g == nil {
		return host
	}
	return g.Of(url).Center(host)
}

// Named counts a link of one of the group's pages, as new if no page of the host had it before.
func (g *Groups) Named(group *Group, url string) {
	group.Links++
	if g.named.Add(fingerprint.URL(url)) {
		group.News++
	}
}

// Add counts a page whose changes are estimated to come every mean; 0: not known.
func (g *Group) Add(mean time.Duration) {
	g.Pages++
	g.Rates.Add(mean)
}

// Remove takes back a page that was added with the same mean.
func (g *Group) Remove(mean time.Duration) {
	g.Pages -= min(1, g.Pages)
	g.Rates.Remove(mean)
}

// sampleShare of a group's pages may be representatives: of a few pages each is a kind of its own.
const sampleShare = 8

// Representatives returns how many pages a sample of so many has, in the mean.
func (g *Group) Representatives(sample int) int { return int(min(g.Pages/sampleShare, uint64(sample))) }

// Representative reports whether a page is one of such a sample.
func (g *Group) Representative(url string, sample int) bool {
	n := g.Representatives(sample)
	return n > 0 && float64(fingerprint.URL(url)) < float64(n)/float64(g.Pages)*math.MaxUint64
}

// doubt is how many pages of a group weigh as much as the host of which it is.
const doubt = 4

// Center returns the mean interval about which the group's pages lie: that of its host, until more is known.
func (g *Group) Center(host time.Duration) time.Duration {
	own := g.Rates.Prior()
	if own.Pages == 0 || host <= 0 {
		return host
	}
	share := float64(own.Pages) / float64(own.Pages+doubt)
	return revisit.Believe(own.Mean, host, share)
}

// Prior returns what the group suggests for one more of its pages: what its host suggests, until more is known.
func (g *Group) Prior(host revisit.Prior) revisit.Prior {
	own := g.Rates.Prior()
	if own.Pages == 0 {
		return host
	}
	if host.Pages == 0 {
		return own
	}
	n := float64(own.Pages)
	apart := math.Log(own.Mean.Seconds()) - math.Log(host.Mean.Seconds())
	host.Mean = g.Center(host.Mean)
	variance := (n*own.Spread*own.Spread + doubt*host.Spread*host.Spread + n*doubt/(n+doubt)*apart*apart) / (n + doubt)
	host.Spread = math.Sqrt(variance)
	return host
}

// Marshalled form: a byte with the version 1, uvarints since and the number of groups, then of each group the length
// of its shape, the shape, the uvarints below, and the length and bytes of its revisit.Rates. A group of twenty pages
// takes some 60 bytes, so a host of 64 groups 4 kB; it cannot take more than 64 groups of 500 bytes.
const version = 1

func (g *Group) counts() [6]*uint64 {
	return [...]*uint64{&g.Pages, &g.Visits, &g.Errors, &g.Duplicates, &g.Links, &g.News}
}

// MarshalBinary returns g.
func (g *Groups) MarshalBinary() ([]byte, error) {
	b := []byte{version}
	b = binary.AppendUvarint(b, uint64(max(0, g.since)))
	b = binary.AppendUvarint(b, uint64(len(g.groups)))
	for i := range g.groups {
		group := &g.groups[i]
		b = binary.AppendUvarint(b, uint64(len(group.Shape)))
		b = append(b, group.Shape...)
		for _, n := range group.counts() {
			b = binary.AppendUvarint(b, *n)
		}
		rates, err := group.Rates.MarshalBinary()
		if err != nil {
			return nil, err
		}
		b = binary.AppendUvarint(b, uint64(len(rates)))
		b = append(b, rates...)
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary returned.
func (g *Groups) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != version {
		return fmt.Errorf("%w: version", ErrCorrupt)
	}
	b = b[1:]
	bad := false
	number := func() uint64 {
		v, used := binary.Uvarint(b)
		if used <= 0 || v > math.MaxInt64 {
			bad = true
			return 0
		}
		b = b[used:]
		return v
	}
	bytes := func(n uint64) []byte {
		if n > uint64(len(b)) {
			bad = true
			return nil
		}
		piece := b[:n]
		b = b[n:]
		return piece
	}
	n := Groups{since: int64(number())}
	count := number()
	if count > Most {
		return fmt.Errorf("%w: %d groups", ErrCorrupt, count)
	}
	for i := range int(count) {
		group := Group{Shape: string(bytes(number()))}
		for _, c := range group.counts() {
			*c = number()
		}
		if err := group.Rates.UnmarshalBinary(bytes(number())); err != nil {
			return fmt.Errorf("%w: group %d: %w", ErrCorrupt, i, err)
		}
		same := func(known Group) bool { return known.Shape == group.Shape }
		if group.Shape == "" || slices.ContainsFunc(n.groups, same) {
			return fmt.Errorf("%w: shape %q", ErrCorrupt, group.Shape)
		}
		n.groups = append(n.groups, group)
	}
	if bad || len(b) > 0 {
		return fmt.Errorf("%w: %d bytes too many or too few", ErrCorrupt, len(b))
	}
	*g = n
	return nil
}
