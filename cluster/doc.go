// Package cluster knows which nodes are alive and keeps strangers away from them.
//
// It has three parts that do not need each other:
//
//   - Node is membership: gossip (memberlist) in which every process shows who it is, and from which its listener hears
//     MemberUp, MemberDown and MemberUpdated, settled (settle.go), so that a flapping switch is not mistaken for a
//     death; and MemberRefused, of those whose protocol is not understood.
//   - Remote is speech between actors of several processes: protoactor's remote behind a guard, since by itself it
//     loses large batches in silence, lets any peer spawn, stop and crash actors, and falls over at a message of a
//     newer version.
//   - Keys is trust: one key file, the same on every node, from which come the key of the gossip and the certificates
//     of mutual TLS. Without it only loopback addresses are bound.
//
// A Gate joins the first two: messages go only to addresses that the gossip believes alive.
//
// Invariants:
//
//   - For one name at most one member is up at a time, and MemberUp and MemberDown of a name alternate, beginning with
//     MemberUp.
//   - No callback of memberlist waits for anything; Notify is called from one goroutine, in order.
//   - Nothing that a peer sends ends the process or reaches an actor with a type other than henro's own and the four
//     that watching needs.
//   - Of members whose protocols differ by more than one neither speaks to the other or hears it.
//   - A node without the key learns nothing but that a port is open.
package cluster
