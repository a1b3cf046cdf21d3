package slave

import (
	"sync/atomic"
	"time"
)

// window counts what a slave keeps in memory, for its Fetchers to look at before each request. The Slave writes how
// many facts wait to be stored; Fetchers and Parsers write how many responses wait to be parsed; all of them write how
// many bytes that is.
type window struct {
	facts, responses, bytes struct {
		bound int
		count atomic.Int64
	}
	unparsed atomic.Int64 // of the bytes, those of responses that wait to be parsed
	share    int          // of the bytes, that one lease may keep while all together keep too much
	storedAt atomic.Int64 // when the master said last that it has stored facts, in nanoseconds since 1970
	served   atomic.Int64 // virtual time: the service tag of the page that was chosen last
	// of the Slave alone: service tags of hosts whose leases are over, where they are beyond the virtual time
	beyond map[string]int64
}

// maxBeyond bounds the hosts whose service tags are known beyond their leases, at some 100 bytes each; when there are
// more, all of them start again.
const maxBeyond = 4096

// account counts the bytes of one lease. Where all together are too many, only those leases wait that keep more than
// their share.
//
// It also is the flow of the lease under start-time fair queuing (Goyal, Vin and Cheng 1996), by which hosts share the
// Parsers and the memory of large bodies, whatever their pages cost. A page's start tag is the service tag of its lease
// when it is chosen; what the page cost is added: the time that a Parser took, and linkCost. The least tag is next.
// A lease of which nothing waited is raised to the virtual time, but for a credit, so that no rest is made up for.
type account struct {
	window   *window
	count    atomic.Int64
	unparsed atomic.Int64 // of these, those of responses that wait to be parsed
	served   atomic.Int64 // service tag in nanoseconds
}

// open begins the account of a lease.
func (w *window) open(host string) *account {
	kept := &account{window: w}
	kept.served.Store(w.beyond[host])
	delete(w.beyond, host)
	return kept
}

// close ends the account.
func (w *window) close(host string, kept *account) {
	if served := kept.served.Load(); served > w.served.Load() {
		if len(w.beyond) >= maxBeyond {
			clear(w.beyond)
		}
		w.beyond[host] = served
	}
}

// arrive is called before a request while no page of the lease waits, and while its pages wait for facts to be stored.
func (a *account) arrive() { raise(&a.served, a.window.served.Load()-int64(restCredit)) }

// serve is called when a page of the lease was chosen.
func (a *account) serve() { raise(&a.window.served, a.served.Load()) }

// raise sets a tag to another if that is greater.
func raise(tag *atomic.Int64, to int64) {
	for is := tag.Load(); is < to && !tag.CompareAndSwap(is, to); is = tag.Load() {
	}
}

func newWindow(o *Options) *window {
	w := &window{beyond: map[string]int64{}}
	w.facts.bound, w.responses.bound, w.bytes.bound = o.UnstoredFacts, o.UnparsedResponses, o.KeptBytes
	w.share = o.KeptBytes / o.Leases()
	return w
}

func (w *window) used() int { return int(w.facts.count.Load()) }
func (w *window) free() int { return max(0, w.facts.bound-w.used()) }

// Keep counts facts, and bytes of responses, records and facts; less than nothing when they are gone.
func (a *account) Keep(facts, bytes int) {
	a.window.facts.count.Add(int64(facts))
	a.count.Add(int64(bytes))
	a.window.bytes.count.Add(int64(bytes))
}

// Filling says that the master should store facts now rather than collect more of them, or a bound will be reached.
func (a *account) Filling() bool {
	w := a.window
	return 4*w.used() >= 3*w.facts.bound || 4*w.bytes.count.Load() >= 3*int64(w.bytes.bound)
}

// full says that nothing more may be fetched under this lease until facts were stored; what is under way may go beyond
// the bound by walk.MaxAhead pages of each lease.
func (a *account) full() bool {
	w := a.window
	return w.used() >= w.facts.bound || w.bytes.count.Load() >= int64(w.bytes.bound) && a.count.Load() > int64(w.share)
}

func (a *account) fetched(bytes int) { a.wait(1, bytes) }

func (a *account) parsed(bytes int, took time.Duration) {
	a.served.Add(int64(took))
	a.wait(-1, -bytes)
}

func (a *account) wait(responses, bytes int) {
	a.window.responses.count.Add(int64(responses))
	a.window.unparsed.Add(int64(bytes))
	a.unparsed.Add(int64(bytes))
	a.Keep(0, bytes)
}

const (
	// gatedBody is the size in bytes from which on a response waits while facts of many bytes do: its links may be ten
	// times as much.
	gatedBody = 64 << 10
	// storedWithin is how long a response waits while no facts are stored: after it there is taken to be no master.
	storedWithin = 5 * time.Second
	// restCredit is what a lease of which nothing waited has before those that are level, one of which is served.
	restCredit = 20 * time.Millisecond
	// linkCost is what each link of a page costs beside the time of its Parser, to be judged and committed: of 30 link
	// farms with 12,000 links a page 11 µs at the Host and 22 µs at the Partition, on two busy cores.
	linkCost = 20 * time.Microsecond
)

// gated says that a large response is not to be parsed yet, because records and facts wait: once they take half of the
// bytes that may be kept, if its lease has more than its share, and once they take all, in any case. Without it the
// requests that were under way when full became true would have as many pages parsed as there are leases.
func (a *account) gated(now time.Time) bool {
	w := a.window
	facts := w.bytes.count.Load() - w.unparsed.Load()
	greedy := a.count.Load()-a.unparsed.Load() > int64(w.share)
	return (facts >= int64(w.bytes.bound) || greedy && 2*facts >= int64(w.bytes.bound)) &&
		now.Sub(time.Unix(0, w.storedAt.Load())) < storedWithin
}

// behind says that the Parsers have enough to do. A lease whose page waits for them fetches no other then, so that at
// most one more page of each lease comes.
func (w *window) behind() bool { return int(w.responses.count.Load()) >= w.responses.bound }
