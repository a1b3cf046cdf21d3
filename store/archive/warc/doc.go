// Package warc writes and reads WARC 1.1 files, the archive format of ISO 28500:2017.
//
// Building a record is separate from appending it. A Builder turns a Record, or one whole HTTP exchange, into finished
// bytes: one gzip member for each record, so that a reader can begin at any record whose offset it knows. That is where
// the time goes, so every goroutine that fetches has a Builder of its own, and the one that owns the Writer only
// copies. A Writer appends to one file at a time, returns the offset, and reports when a file has reached its size.
//
// A file carries the suffix ".open" while it grows and loses it when it is finished. After a kill the suffix is still
// there: Repair leaves its whole records in such a file, and finishes it. A Reader gives the records of any WARC, also
// of the older and the sloppy ones found in the wild, one after the other in bounded memory; Walk goes on behind a
// damaged stretch. (The Reader is our own: the two libraries called gowarc bound no header line, which took 1,043 MB of
// heap for a file of 261 kB with one of 256 MB in it, spool every block into memory or files, and the one of them that
// reads zstd stops at the first damaged record.)
//
// # What is stored of an exchange
//
// The head of the answer and its content coding are stored as they came. Transfer coding is taken off: the chunks of
// HTTP/1.1 belong to the connection and not to the page, and the tools of the field disagree about them. The standard
// takes the payload digest after chunks are removed (section 6.3.2; so do jwarc and Heritrix), warcio and gowarc take
// it over the stored bytes, and so each calls the other's records broken. A body stored without chunks has one digest
// under both readings. Its head says "X-Archive-Orig-Transfer-Encoding: chunked" where it said "Transfer-Encoding:
// chunked", as the browser-based crawlers do; every other byte is the server's.
//
// # Invariants
//
//   - What Append returns is whole: a member is never split over two files.
//   - Dates are whole seconds, because WARC-Refers-To-Date of a revisit must repeat the WARC-Date of the capture it
//     means, and the state of a crawl keeps times in seconds.
//   - Repair never removes a whole record, even if a damaged one stands before it.
//   - A Reader holds at most one header and fixed buffers, whatever the file says about itself.
package warc
