// Package timequeue keeps records in buckets of time: a queue that is read in the order of due times, and in which
// nothing is ever looked up by key.
//
// A crawler that keys its records by URL changes two random pages of its database per visit. Here a record is taken
// from the slot in which it was due and appended to the slot in which it is due next, so nearly everything written is
// an append, and the cost of a record falls with the number of records stored together ("time resolution of the
// archive", Tamura and Kitsuregawa). Fine slots mean many appends of few records each; so slots are coarse far away and
// fine nearby, and a coarse slot is split as it comes near, which is what that paper proposes as future work.
//
// Each slot is a bucket of its own, because an append to it is then an append to a B+tree, which leaves full pages
// behind; in one bucket keyed by slot it would be an insertion in the middle, which leaves half-empty ones, and the
// file grows for ever.
//
// Visits end minutes later and out of order, so a slot that has opened keeps a bit for each of its records. Invariants:
//
//   - a record is live iff its bit is not set, and it is live in one slot only: the transaction that sets the bit
//     writes the record's next place in the same transaction;
//   - nothing is appended to a slot that has opened, so a reader that passed a slot has seen all of it;
//   - a slot whose bits are all set is deleted in the transaction that sets the last one;
//   - a Ref is never given to a second record: slots are numbered by generation, records within a slot by ordinal.
package timequeue
