// Package floor is what all actors of henro stand on: spawning, timers, supervision, logging and tracing.
//
// It is protoactor, made fit for use: NewSystem has our logging and our supervision (log.go, supervise.go), and a
// Tracer looks into the mailboxes of a running system (trace.go).
//
// Invariants:
//
//   - A panic never stops an actor in silence. One that is Restartable is restarted, after a pause that grows, for as
//     long as the process lives; any other ends the process, which restores everything from disk when it is started
//     again.
//   - Nothing that is switched off in the Tracer costs an actor more than a few nanoseconds a message.
package floor
