package actors

import (
	"henro/messages/outlink"
	"henro/store"
)

// Manners say which links are followed of pages that ask for it, or that are not what is looked for.
type Manners struct {
	ObeyNofollow bool // links marked rel=nofollow are not followed, nor those of pages that say nofollow

	// Selective is a crawl by language (S0 §5): pages in other languages are not kept, and their links are followed as
	// far as Beyond links from a page that is. Behind such a page, Depth counts from the seed again.
	Selective bool
	Beyond    int
	Depth     int // of the crawl; negative: unlimited
}

// left is how many links may still be followed from a page, as its links say in which language it is.
func (m *Manners) left(left, depth uint8, flags outlink.Flags) uint8 {
	switch {
	case !m.Selective:
		return left
	case flags&outlink.Foreign != 0:
		return min(left, uint8(min(m.Beyond, store.UnlimitedDepth-1)))
	case m.Depth < 0:
		return store.UnlimitedDepth
	}
	return max(left, uint8(max(0, min(m.Depth, store.UnlimitedDepth-1)-int(depth))))
}
