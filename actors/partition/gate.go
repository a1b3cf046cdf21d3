package partition

import (
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/store"
)

// Gate decides which unknown URLs become pages: the frontier of a crawl that does not keep all it finds. It is called
// from several Partitions at once. It is a call and not a question to an actor, since a Write is taken whole before the
// next message is. A call holds a lock, and under it nothing is read from disk.
type Gate interface {
	// Offer asks for room for a URL that no page has. A seed always finds some.
	Offer(c *store.Candidate, seed bool) Offered
	// Raise reports that a better link leads to a URL that may wait.
	Raise(c *store.Candidate)
	// Stored reports after a commit which accepted URLs, by their hosts, are on disk or never will be, and how many
	// URLs of a host wait there now where that has changed.
	Stored(accepted map[uint64]store.HostID, waiting map[store.HostID]uint64)
}

// Offered is what became of an offer.
type Offered struct {
	Dropped bool // no room: it stays unseen, and may come back when another page links to it
	Again   bool // it had been dropped before
}

// Ranks knows what URLs are worth, by the links read so far. It is called from several Partitions at once.
type Ranks interface {
	// Read takes in the links of a page that was read for the first time.
	Read(page uint64, links []outlink.Outlink)
	// Band is the priority of a URL, 0 first, given its fingerprint, its depth and the priority that its sitemap gives
	// it.
	Band(url uint64, depth uint8, sitemap outlink.Priority) uint8
}

// Collector takes in the links of pages that were visited for the first time, given the URL of the page. It is called
// from several Partitions at once.
type Collector interface {
	Collect(page string, links []outlink.Outlink)
}

// Texts is told which texts were committed, and returns what hosts are to be told of them. It is called from several
// Partitions at once.
type Texts interface {
	Committed(texts []store.Text) []*protocol.ToHost
}

// Steering is what has a crawl go otherwise than breadth-first within each host. The zero value changes nothing.
type Steering struct {
	Gate      Gate      // nil: every URL is admitted
	Ranks     Ranks     // nil: by depth
	Collector Collector // nil: links beyond the depth of the crawl are not wanted
	Texts     Texts     // nil: nobody compares the texts of hosts
	Rising    bool      // a URL that waits takes the band of a better link
}

// rankWindow is how many times as many waiting URLs are looked at as are wanted, to find the best by what is known now:
// when they were admitted, by the first link to them, little was known. rankMost bounds them.
const (
	rankWindow = 8
	rankMost   = 4000
)
