package messages

// Claim is what a master says of itself to be told from others: the crawl, the term in which it leads that crawl, and
// the boot of its process. With one master the term is how often the state of the crawl was opened (store.State.Term).
type Claim struct {
	Crawl string
	Term  uint64 // 0: it does not lead
	Boot  string
}

// Beats reports whether c leads the crawl that both claim: the greater term leads, and in the same term, of two copies
// of one state, the process that was started first.
func (c Claim) Beats(other Claim) bool {
	if c.Crawl != other.Crawl {
		return false
	}
	return c.Term > other.Term || c.Term == other.Term && c.Term > 0 && c.Boot < other.Boot
}
