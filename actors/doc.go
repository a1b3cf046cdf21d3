// Package actors holds the actors that master and slaves share, and the floor they stand on.
//
// The floor is protoactor, made fit for use: NewSystem has our logging and our supervision (log.go, supervise.go), and
// a Tracer looks into mailboxes of a running system (trace.go).
//
// Invariants:
//
//   - An actor that fails is restarted after a pause that grows, for as long as the process lives, unless what it
//     panicked with is Fatal; it never stops in silence.
//   - Nothing that is switched off in the Tracer costs an actor more than a few nanoseconds a message.
package actors
