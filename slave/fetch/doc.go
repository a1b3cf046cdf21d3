// Package fetch visits one URL and hands back what came, byte for byte.
//
// A visit is a request of a gocolly/colly Collector with the URL as it is: its callbacks, its context and the redirect
// hook of its client carry it (collector.go), and callers may add callbacks of theirs. Everything colly does of its own
// accord is switched off, since an actor does it. Beneath lies a RoundTripper of our own, because an archive needs the
// bytes as they were sent and as they came, and net/http gives neither. HTTP/1.1 is therefore spoken here (http1.go): a
// request is one Write, the response is read by the goroutine that asked, straight into one buffer of which head and
// body are slices; colly reads the body, and gets none of it. No goroutine and no 4 kB reader stand behind an idle
// connection, and a limit is one deadline. A recording net.Conn under net/http.Transport was the other way: it keeps
// two goroutines and two buffers per host, copies every body twice more, and hides what went wrong in unexported
// errors. Processor time of one fetch of 5.8 kB over loopback, both ends together: 27 µs through colly, of which 6 are
// colly's; 31 by plain net/http; 58 if colly fetches by net/http (BenchmarkFetch and its neighbours). HTTP/2, where a
// server prefers it, is net/http's (http2.go); there the head is written as HTTP/1.1 would have it.
//
// Invariants:
//   - Fetch never fails: a Response has a Status, or a Reason from the closed set and no Status;
//   - nothing is asked at an address that the guard forbids, whatever DNS, a redirect or a table says: the guard judges
//     the address of each connect;
//   - a fetch ends before Options.TotalTimeout, whatever the server does;
//   - memory is bounded: each fetch holds at most three small buffers (256 kB) outside the budget, everything larger is
//     reserved from Options.Memory before it is read, and lies outside the heap; decompressors with wide windows take
//     turns;
//   - no redirect is followed, no cookie kept, no robots.txt read, nothing taken from the environment.
package fetch
