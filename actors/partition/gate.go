package partition

import (
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/store"
)

// Gate decides which unknown URLs become pages: the frontier of a crawl that does not keep all it finds. It is called
// from several Partitions at once. Candidates are judged by a call and not by a question to an actor, since a Write is
// taken whole before the next message is; a call holds a lock for as long as a map is looked at, or the counts of one
// host are read.
type Gate interface {
	// Offer asks for room for a URL that no page has. A seed always finds some.
	Offer(c *store.Candidate, seed bool) Offered
	// Raise reports that a better link leads to a URL that may wait.
	Raise(c *store.Candidate)
	// Stored reports that an accepted URL is on disk, or never will be.
	Stored(host store.HostID)
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

// Order is what makes a crawl go another way than breadth-first within each host. The zero value does not.
type Order struct {
	Gate      Gate      // nil: every URL is admitted
	Ranks     Ranks     // nil: by depth
	Collector Collector // nil: links beyond the depth of the crawl are not wanted
	Texts     Texts     // nil: nobody compares the texts of hosts
	// what becomes of a Write before it is taken, called from several Partitions at once; nil: nothing
	Sieve  func(*protocol.Write) *protocol.Write
	Rising bool // a URL that waits takes the band of a better link
}

// rankWindow is how many times more waiting URLs are looked at than are wanted, to find the best by what is known now:
// what was known when they were admitted is little, since that was at the first link to them. rankMost bounds them.
const (
	rankWindow = 8
	rankMost   = 4000
)
