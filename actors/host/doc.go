// Package host decides about one host: when it may be asked, what is asked next, what its robots.txt says, and when
// each of its pages is due again.
//
// A Book is what a Host actor knows. Updated takes a fact, at a moment, changes the Book and returns what is to be
// done: messages, and to whom. Its parts are the clock (when the host may be asked), robotsBook, the queue of waiting
// pages, the schedule (when each page is due again), the judge (links), the loan with its openLease and the terms by
// which reports are believed, and the features (stop list, URL rules, aliases and more); base is what they share.
// Nothing here knows of actors, clocks or disks, so whole lives of a host are scripts (testdata/*.script). Unlike the
// book of leases (master/ledger) a Book is changed in place: it holds the stop list, the session ids and the pages of a
// lease, too much to copy for a visit.
//
//	                Lend            lease written       LeaseFinished or LeaseVoid written
//	idle ► announced ───► preparing ─────────────► lent ─────────────────────────────────────► idle
//	            ▲            │ nothing there, or given up
//	            └────────────┘
//
// An idle host with nothing to do asks its parent for rest, and gets it unless something came meanwhile.
//
// docs/architecture.md lists the messages of one visit.
//
// Invariants:
//   - at most one lease is open, and it is on disk before its first request can be made;
//   - the next lease begins no sooner than the interval after the last request of the one before, on whatever slave: a
//     slave is not believed when that was, so the interval runs from the moment at which the lease is known to be over;
//   - a fact changes anything only if it is the one due next (seq), so facts may come twice, late, or out of order;
//   - a fact changes anything only if it can be true under its lease (terms); one that cannot ends the lease;
//   - the timetable is changed by the schedule alone.
package host
