// Package fakeweb makes up a web: hosts, pages, links, changes and faults, all known beforehand, to test a crawler
// against.
//
// Nothing is stored. What a page says, where it links and when it changes is computed by hashing (seed, host, page),
// so a million pages cost nothing, a web of one seed is the same in every process, and a test can ask for the truth:
// which URLs a correct crawl fetches (Reachable), which links a page holds (Page), when it changed (Changes), which
// pages have the same text or nearly so (Like). Time is time.Now(): inside a testing/synctest bubble the web lives
// in virtual time. Make the Web inside the bubble that uses it, and Close it there.
//
// # The shape
//
// The pages of a host form a tree in which page p links to the pages p·k+1 … p·k+k. Every other link leads to a page at
// most one layer deeper, on its own host or on another, so the shortest way from a root is the layer of the tree and
// the depth asked for in Options is the depth there is. Pages that only answer errors are leaves, so an error hides no
// other page.
//
// # Ways in
//
// DialContext serves over net.Pipe in memory, for any port, with TLS when the client begins with TLS. Listen serves
// real sockets on 127.0.0.0/8 and gives the resolve lines a crawler needs; a client without them may use it as its HTTP
// proxy. ServeHTTP puts the same pages into any http.Server.
//
// # The access log
//
// Every request is noted as the host saw it: Start is taken after its head was read, End before its last byte is
// written. The span noted lies inside the span the client saw, so an overlap found in the log is the client's. An
// interval is exact in virtual time; on sockets the scheduler may have read one head later than another, so
// milliseconds must be forgiven there. The log lives with the web and survives the crawler's death.
//
// Invariants, each kept by a test:
//   - the same seed gives the same bytes at the same moment, whatever was asked before;
//   - a link in a page, resolved and canonical, is the link Page names, in the encoding of the page;
//   - the number of versions between two moments is the number of changes named between them;
//   - after Close no goroutine and no connection is left.
package fakeweb
