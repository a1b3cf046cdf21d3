package frontier

// FIFO hands out the URL that waits longest among those whose host may be asked: a breadth-first crawl, exactly so when
// T is zero.
type FIFO[K any] struct{ lanes[K] }

// NewFIFO makes an empty frontier.
func NewFIFO[K any](o Options) *FIFO[K] { return &FIFO[K]{*newLanes[K](o, false, true)} }

// Host lets hosts take turns: the one that could be asked for longest comes first, and gives its best band, oldest URL
// first. This is the order that the Host actors of a crawl realise together.
type Host[K any] struct{ lanes[K] }

// NewHost makes an empty frontier.
func NewHost[K any](o Options) *Host[K] { return &Host[K]{*newLanes[K](o, true, false)} }
