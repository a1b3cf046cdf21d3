// Package store keeps the state of a crawl on disk: which URLs are known, when each is due, what was found, who holds
// which lease.
//
// The host space is divided into partitions by registrable domain, and each partition is one bbolt file with one
// writer. Readers run beside the writer in short transactions. FORMAT.md draws every bucket, key and value.
//
// # Three places
//
// The record of a page is live in exactly one place at a time:
//
//	fresh   never visited: first in, first out, per host and priority band; a page may rise to a better band
//	queue   to be visited again: a time queue whose slots are minutes, hours and days (package timequeue)
//	rest    no visit planned: given up, with the reason, or done for good
//
// A Position names the place, and never comes to mean another record. The transaction that ends a position
// writes the page's next one, so a crash at any instruction leaves the page in the old place or in the new one.
//
// # One commit
//
// Whatever belongs together is filled into one Batch and stored by one Commit: new records, links, new candidates, the
// outbox for other partitions, hosts and leases. Every change of a batch may be repeated:
//
//   - a Visit whose position has ended, or that has none while the page has been visited already, changes nothing;
//   - a Candidate that is known with at least its depth left changes nothing;
//   - Put and Delete are absolute.
//
// # Depth
//
// The seen set remembers with how many links left each page was admitted. A candidate that comes along a shorter path
// raises that number. If the page was visited before, its links were judged with too little depth: it becomes a
// Relaxation, in the same transaction, and the owner admits its stored links again with the new depth and ticks it off
// in the same batch. So the set of pages reached does not depend on the order of arrival, whatever crashes in between.
//
// # Memory
//
// A partition keeps no memory per URL, only what one batch holds.
package store
