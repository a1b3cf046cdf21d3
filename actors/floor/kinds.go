package floor

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// KindRow sums up the actors of one kind since the start of the process.
type KindRow struct {
	Kind    string `json:"kind"`
	Actors  int    `json:"actors"`  // that live
	Queue   int    `json:"queue"`   // messages that wait in their mailboxes
	Longest int    `json:"longest"` // of these mailboxes
	Taken   uint64 `json:"taken"`   // messages that were begun with
	// Handling is the time in an actor's hands of one message in HandlingShare, whether anybody looks or not.
	Handling Histogram `json:"handling"`
}

// HandlingShare is the part of all messages whose handling is timed: two looks at the clock cost some 80 ns, so one in
// 64 costs a message about one.
const HandlingShare = 64

// HandlingBounds are the upper ends of the buckets, in seconds.
var HandlingBounds = [...]float64{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10}

// Histogram counts messages by the time they took.
type Histogram struct {
	// up to each of HandlingBounds, not counting those below; then the rest
	Buckets [len(HandlingBounds) + 1]uint64 `json:"buckets"`
	Count   uint64                          `json:"count"`
	Sum     time.Duration                   `json:"sum_ns"`
}

// kindSum is what is kept of a kind.
type kindSum struct {
	gone    uint64 // messages taken by actors that are gone; guarded by tracer.boxesMu
	buckets [len(HandlingBounds) + 1]atomic.Uint64
	sum     atomic.Int64
}

func (k *kindSum) handled(took time.Duration) {
	i := 0
	for i < len(HandlingBounds) && took.Seconds() > HandlingBounds[i] {
		i++
	}
	k.buckets[i].Add(1)
	k.sum.Add(int64(took))
}

// turn is where in the row of messages an actor's are timed, so that those of actors with few messages are too.
func turn() uint64 { return rand.Uint64N(HandlingShare) }

// Kinds sums up the actors by kind, in the order of their names.
func (t *Tracer) Kinds() []KindRow {
	t.boxesMu.Lock()
	defer t.boxesMu.Unlock()
	rows := make(map[string]*KindRow, len(t.kinds))
	for kind, sum := range t.kinds {
		row := &KindRow{Kind: kind, Taken: sum.gone}
		for i := range sum.buckets {
			row.Handling.Buckets[i] = sum.buckets[i].Load()
			row.Handling.Count += row.Handling.Buckets[i]
		}
		row.Handling.Sum = time.Duration(sum.sum.Load())
		rows[kind] = row
	}
	for b := t.boxes.next; b != &t.boxes; b = b.next {
		row := rows[b.kind]
		queue := b.UserMessageCount()
		row.Actors++
		row.Queue += queue
		row.Longest = max(row.Longest, queue)
		row.Taken += b.taken.Load()
	}
	all := make([]KindRow, 0, len(rows))
	for _, row := range rows {
		all = append(all, *row)
	}
	slices.SortFunc(all, func(a, b KindRow) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}
