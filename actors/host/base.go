package host

import (
	"fmt"
	"maps"
	"time"

	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/messages"
	"henro/store"
)

// base is what the parts of a Book share, by one pointer: the row of the host, its clock, the moment, and what is to be
// done.
type base struct {
	o      *Options // its own copy: what slaves are there changes
	name   string
	now    time.Time
	out    []Effect
	record store.HostRecord
	clock  clock
	writes int             // not answered yet
	failed protocol.Totals // the visits that failed and are not written yet

	features []Feature
}

// send notes an effect.
func (b *base) send(to Recipient, message any) {
	b.out = append(b.out, Effect{To: to, Message: message})
}

// sendLater notes a message of the Book to itself.
func (b *base) sendLater(message any, after time.Duration) {
	b.out = append(b.out, Effect{To: Self, Message: message, After: after})
}

func (b *base) write(w *protocol.Write) {
	if w.Answered() {
		b.writes++
	}
	b.send(Partition, w)
}

// countError counts a visit that failed, for the host and for the crawl.
func (b *base) countError(word string) {
	b.record.CountError(word, 1)
	b.failed.AddError(word, 1)
}

// countFailure keeps why a visit failed: of the host's own failures the last, of others how many.
func (b *base) countFailure(v *messages.PageVisited) {
	says := messages.Says(v.Says)
	cause := messages.CauseOf(int(v.Status), v.Reason, says)
	if cause.IsZero() {
		if v.Truncated {
			b.countError(messages.Truncated)
		}
		return
	}
	b.countError(cause.Word)
	switch outcomeOf(v.Status, v.Reason) {
	case politeness.ClientError:
		return
	case politeness.OK:
		if v.Reason != messages.Reason_ADDRESS_FORBIDDEN {
			return
		}
	}
	b.fail(store.Failure{At: b.now, Status: uint16(v.Status), Reason: uint8(v.Reason), Says: says})
}

// fail notes that the host has failed a request. The log has it when the host did not fail before, or otherwise: since
// then it fails so.
func (b *base) fail(f store.Failure) {
	last := &b.record.Failure
	if f.Since = last.Since; last.Cause().Word != f.Cause().Word || b.clock.polite.LastOK().After(last.At) {
		f.Since = f.At
		b.send(Log, &Failing{f.Cause()})
	}
	b.record.Failure = f
}

// row is this host as it is written.
func (b *base) row() *store.HostRecord {
	blob, err := b.clock.polite.MarshalBinary()
	if err != nil {
		panic(fmt.Errorf("politeness of %s: %w", b.name, err))
	}
	b.record.Politeness, b.record.NextAllowed, b.record.AskedAt = blob, b.clock.polite.NextAllowed(), b.clock.askedAt
	row := b.record
	row.Errors = maps.Clone(row.Errors) // it is written beside what comes next
	return &row
}

// countVerdict keeps the totals of hosts by verdict in step with this host's.
func (b *base) countVerdict(w *protocol.Write) {
	if !b.o.Continuous {
		return
	}
	now := uint32(b.clock.verdict) + 1
	if before := b.record.Flags & verdictFlags; before != now {
		if before != 0 {
			w.Totals.Verdicts[before-1]--
		}
		w.Totals.Verdicts[now-1]++
		b.record.Flags = b.record.Flags&^verdictFlags | now
		w.Host = b.row()
	}
}

// HostRecord.Flags: the lowest bits hold the verdict last counted, plus one, 0: none was; the others the minute since
// 1970 since which robots.txt could not be had, 0: it could.
const (
	verdictBits  = 3
	verdictFlags = 1<<verdictBits - 1
)
