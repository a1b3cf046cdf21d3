// Package protocol holds the messages between the Master, its Hosts, each Host, the Partitions and the writer of
// skipped.jsonl, all of one process.
//
// They are plain structs, immutable once sent, and name no actor: an answer goes to the sender. What crosses the
// network is package messages.
package protocol
