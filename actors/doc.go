// Package actors holds the actors that master and slaves share: Hosts, Host, Revisit, Partition and Archivist.
//
// What they stand on is package floor, what they decide by are the pure packages beside it.
package actors
