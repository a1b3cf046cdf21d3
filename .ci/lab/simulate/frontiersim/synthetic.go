package frontiersim

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// WebOptions shape a synthetic web.
type WebOptions struct {
	// Pages is the number of pages. Default 1,000,000.
	Pages int

	// PagesPerHost is the mean size of a host; sizes follow a power law. Default 120; at most a fiftieth of the web.
	PagesPerHost float64

	// LinksPerPage is the mean number of links, a twelfth of the pages having none. Default 16, that of LAW's
	// uk-2007-05 at 100,000 pages being 30, of the whole uk-2006-05 38: fewer, so that five million pages fit.
	LinksPerPage float64

	// Inside is the share of the links that stay on their host. Default 0.85.
	Inside float64

	// Seed makes it repeatable. Default 1.
	Seed uint64
}

// DefaultWebOptions make a web of a million pages.
func DefaultWebOptions() WebOptions {
	return WebOptions{Pages: 1_000_000, PagesPerHost: 120, LinksPerPage: 16, Inside: 0.85, Seed: 1}
}

// Validate says what is wrong with the options.
func (o *WebOptions) Validate() error {
	switch {
	case o.Pages < 1 || o.Pages > MaxPages:
		return fmt.Errorf("a web of %d pages is not within 1 to %d", o.Pages, MaxPages)
	case o.PagesPerHost < 2:
		return fmt.Errorf("hosts of %v pages are below 2", o.PagesPerHost)
	case o.LinksPerPage < 1:
		return fmt.Errorf("%v links a page are below 1", o.LinksPerPage)
	case o.Inside < 0 || o.Inside > 1:
		return fmt.Errorf("a share of %v of the links is not within 0 to 1", o.Inside)
	}
	return nil
}

// Web makes a web with hosts.
//
// Pages of a host are numbered in a row, its home page first, and hang together as a tree: a page is linked from an
// earlier one, so everything can be reached from the home page. Other links inside a host go half to a few pages that
// all link to (menus), else to neighbours or anywhere. Links between hosts go to hosts by a power law and mostly to
// their home page; a third of them copies a link of an earlier page, which makes in-links of single pages follow a
// power law, as in Kumar et al.'s copying model (FOCS 2000). Every fourth host shares its domain with the one before
// it.
func Web(o WebOptions) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(o.Seed, 0))

	// Sizes follow a Pareto law of exponent 1.1 from least on, cut at a fiftieth of the web: their mean is
	// least · (1 + 10 · (1 − (most/least)^-0.1)), which grows with least.
	most := max(2, float64(o.Pages)/50)
	least, high := 0.1, most
	for range 60 {
		if mid := (least + high) / 2; mid*(1+10*(1-math.Pow(most/mid, -0.1))) < o.PagesPerHost {
			least = mid
		} else {
			high = mid
		}
	}
	var homes []uint32
	host := make([]uint32, o.Pages)
	for at := 0; at < o.Pages; {
		size := int(min(most, max(1, least*math.Pow(1-rnd.Float64(), -1/1.1))))
		size = min(size, o.Pages-at)
		for u := at; u < at+size; u++ {
			host[u] = uint32(len(homes))
		}
		homes = append(homes, uint32(at))
		at += size
	}
	// The popularity of a host is its place in a random order.
	popular := make([]uint32, len(homes))
	for i, h := range rnd.Perm(len(homes)) {
		popular[i] = uint32(h)
	}
	end := func(h uint32) uint32 {
		if int(h)+1 < len(homes) {
			return homes[h+1]
		}
		return uint32(o.Pages)
	}
	// A page has its children in the tree, and others so that the mean comes out: Pareto with exponent 2.2, mean 1.83 x
	// least.
	extra := max(0, o.LinksPerPage-1) * 12 / 11 / (2.2 / 1.2)
	b := newBuilder(o.Pages, int(float64(o.Pages)*o.LinksPerPage*1.1))
	const fan = 12 // children of a page in the tree
	for u := range uint32(o.Pages) {
		h := host[u]
		home, last := homes[h], end(h)
		size := last - home
		for child := int64(u-home)*fan + 1; child <= int64(u-home)*fan+fan && child < int64(size); child++ {
			b.g.links = append(b.g.links, home+uint32(child))
		}
		count := 0
		if rnd.IntN(12) > 0 {
			count = int(min(2000, extra*math.Pow(1-rnd.Float64(), -1/2.2)+rnd.Float64()))
		}
		for range count {
			if rnd.Float64() < o.Inside {
				b.g.links = append(b.g.links, inside(rnd, u, home, size))
				continue
			}
			if u > 0 && rnd.IntN(3) == 0 { // copy
				other := b.g.Links(uint32(rnd.IntN(int(u))))
				if len(other) > 0 {
					b.g.links = append(b.g.links, other[rnd.IntN(len(other))])
					continue
				}
			}
			h := popular[int(float64(len(homes))*math.Pow(rnd.Float64(), 3))]
			v := homes[h]
			if rnd.IntN(5) < 2 {
				v += uint32(float64(end(h)-homes[h]) * math.Pow(rnd.Float64(), 3))
			}
			b.g.links = append(b.g.links, v)
		}
		b.add()
	}
	g := b.g
	g.Name = fmt.Sprintf("synthetic web of %d pages", o.Pages)
	g.host, g.domain = host, make([]uint32, len(homes))
	for h := range g.domain {
		if h == 0 || h%4 != 0 {
			g.domains++
		}
		g.domain[h] = uint32(g.domains - 1)
	}
	return &g, nil
}

// inside draws a page of a host for a link from u.
func inside(rnd *rand.Rand, u, home, size uint32) uint32 {
	switch rnd.IntN(10) {
	case 0, 1: // home page
		return home
	case 2, 3, 4: // menu
		return home + uint32(rnd.IntN(int(min(size, 20))))
	case 5, 6, 7: // neighbours
		d := uint32(rnd.IntN(20))
		if v := u + d; v < home+size && rnd.IntN(2) == 0 {
			return v
		}
		return max(home, u-min(u, d))
	default:
		return home + uint32(float64(size)*math.Pow(rnd.Float64(), 2))
	}
}
