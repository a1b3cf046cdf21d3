// Package messages holds the words that masters and slaves say to each other.
//
// Facts are past participles, orders are nouns of what is lent, questions and answers pair up. Everything may arrive
// twice or never: facts are numbered under their lease and repeated until stored, questions are repeated until
// answered. Spans travel as durations; no node believes another's clock.
//
// # How a slave finds work
//
//	slave                                  master
//	  │ SlaveRegistered (until welcomed)      │   the gossip has the address of the master
//	  ├──────────────────────────────────────►│
//	  │◄──────────────────────────────────────┤ SlaveWelcomed: rules of fetching, length of a lease
//	  │ WorkRequested {windows, held}         │   every second, and whenever room appears
//	  ├──────────────────────────────────────►│   leases are committed before they are lent
//	  │◄──────────────────────────────────────┤ TaskBatch {HostTask…, renewed, revoked}
//
// # Which master leads
//
// A master leads a crawl in a term, which is on disk before it lends anything: with one master, how often the state was
// opened. The gossip shows crawl and term of each master (Claim); a slave works for the one with the greatest term, and
// takes TaskBatch and Stored of that term alone. A smaller term counts again when the greatest has been away for a
// lease.
//
//	slave                 master, term 5       master, term 6, on a copy of the state or elected
//	  │                     │ frozen              │
//	  │ SlaveRegistered {held, crawl, term 6}     │   the gossip shows the greater term
//	  ├──────────────────────────────────────────►│
//	  │◄──────────────────────────────────────────┤ SlaveWelcomed {unknown, crawl, term 6}
//	  │ Report {facts not stored yet, term 6}     │   of leases of all terms
//	  ├──────────────────────────────────────────►│
//	  │                     │ goes on             │
//	  │◄────────────────────┤ Stored, TaskBatch {term 5}: not taken, tasks are refused
//	  │ Report              │                     │   of a slave that does not know yet
//	  ├────────────────────►│ has seen term 6 in the gossip
//	  │◄────────────────────┤ NotLeading {term 6, boot of its master}
//
// # How a page comes to count
//
//	slave                                  master
//	  │ fetch, archive, sync the WARC         │
//	  │ Report {Fact{lease, seq, …}…}         │
//	  ├──────────────────────────────────────►│ one transaction: the page's new record, its links, new URLs,
//	  │                                       │ the outbox for other partitions, seq of the lease
//	  │◄──────────────────────────────────────┤ Stored {lease, seq}: all up to seq
//	  │ forgets them                          │
//
// A slave that receives no Stored repeats the facts in order; the master skips those it has (seq ≤ stored) and those
// that come too early (seq > stored + 1). A lease that is not renewed ends by itself on the slave, counted from the
// moment it asked, so never later than the master believes.
package messages

//go:generate protoc --go_out=.. --go_opt=module=henro -I .. ../messages/wire.proto
