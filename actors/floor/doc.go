// Package floor is what all actors of henro stand on: spawning, timers, supervision, logging and tracing.
//
// It is protoactor, made fit for use: NewSystem has our logging and our supervision (log.go, supervise.go), and a
// Tracer looks into the mailboxes of a running system (trace.go).
//
// Invariants:
//
//   - An actor that fails is restarted after a pause that grows, for as long as the process lives, unless what it
//     panicked with is Fatal; it never stops in silence.
//   - Nothing that is switched off in the Tracer costs an actor more than a few nanoseconds a message.
package floor
