// Package consensus keeps the copies of a state that several masters have equal: one Raft group (hashicorp/raft), whose
// log holds the batches of all partitions and whose state machine is Partition.Apply.
//
// The log is synced (files of its own beside the state), the state is not: it is synced at checkpoints, and goes back
// to the last one when the power fails (store.Options.Replica). A checkpoint is also what Raft calls a snapshot, so
// nothing is copied for it. Only a member that is far behind gets the files, as they are then. They may be ahead of the
// snapshot that Raft knows: entries that a file holds already are passed over.
//
// Invariants:
//
//   - an entry is applied in the transaction that notes its index: so once, and in the order of the log;
//   - an entry that was made under one leadership changes nothing if it is committed under a later one: a deposed
//     leader cannot write, even if it leads again;
//   - a member that cannot apply an entry, as when its disk is full, leaves the group until it is started again: it
//     passes over no entry;
//   - Commit returns without an error only when a majority has the batch on disk and it is applied here.
package consensus
