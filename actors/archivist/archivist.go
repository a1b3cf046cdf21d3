// Package archivist holds the actor that stores captures in WARC files, lists them in an index and syncs both before it
// answers.
package archivist

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/groupcommit"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
)

// What an Archivist receives, and what it answers. Captures of one sender are stored in the order in which it sent
// them; between senders there is no order.
type (
	// Archive asks to store one capture. It may be sent again as it is after it failed.
	Archive struct {
		Records  []byte       // finished by a warc.Builder of the same options; not to be changed before the answer
		Captures []cdxj.Entry // to be listed in the index; Offset is relative to Records, Filename is filled in
		Members  warc.Members // of the exchange that Records is; zero: each of Captures is a record
		Whole    bool         // the first capture holds a whole payload, to which later ones may refer
		Tag      any          // sent back
	}
	// Sync asks not to wait for more captures before the next sync, because nothing else is going on.
	Sync struct{}
	// Describe says who crawls, for the head of the files that are begun from now on.
	Describe struct{ Operator, UserAgent string }
	// Archived says where a capture lies, on a disk, synced.
	Archived struct {
		Tag            any
		File           string // its name once it is finished; while it grows, warc.OpenSuffix follows
		Offset, Length int64  // of the first of Captures, or of all Records when there is none
	}
	// ArchivedBatch answers all of a sender's captures that one sync has covered.
	ArchivedBatch struct{ Captures []Archived }
	// Failed answers all of a sender's captures that are not stored. Nothing of them is left in the archive.
	Failed struct {
		Tags     []any
		Err      error
		DiskFull bool // there is no room: nothing else will be stored before there is
	}
)

// ErrBehind is the Err of Failed when more waits to be stored than MaxPending.
var ErrBehind = errors.New("archive is behind: too much waits to be stored")

// Options say where captures go and when they are synced.
type Options struct {
	Writer warc.WriterOptions
	// Payloads is given what was stored whole; nil: nothing is kept of it.
	Payloads *payloads.Index
	// Proof is the folder of the log of what was stored (package proof); "": there is none.
	Proof string
	// Recovered is given what a process that died had left open, once it is finished; nil: nobody asks.
	Recovered func([]folder.Repaired)
	// SyncAfter is how long a capture waits for others to share its sync. Default 100 ms: a sync takes some
	// milliseconds, so syncs are a few per cent of the time, and a page that counts a tenth of a second later delays
	// nothing.
	SyncAfter time.Duration
	// SyncBytes syncs earlier when so much waits. Default 4 MB, about 700 pages.
	SyncBytes int
	// MaxPending bounds the bytes that wait; more is refused. Default 256 MB.
	MaxPending int
	// RetryAfter is the rest after a failure, doubled up to RetryMax while it fails again. Default 1 s and 1 min.
	RetryAfter, RetryMax time.Duration
}

// DefaultOptions returns the defaults; Writer.Dir is left to be set.
func DefaultOptions() Options {
	return Options{
		Writer: warc.DefaultWriterOptions(), SyncAfter: 100 * time.Millisecond, SyncBytes: 4 << 20,
		MaxPending: 256 << 20,
		RetryAfter: time.Second, RetryMax: time.Minute,
	}
}

// Archivist owns the WARC files of one process. Captures gather in a batch; a child, the binder, appends them and
// syncs (package groupcommit); then every sender is answered. They are written as soon as the binder is free: what is
// written outlives the process, and after kill -9 package recall finds it. The sync is for the loss of power.
//
// Invariants: what is answered by Archived survives kill -9 at any later instruction and, if the disk does what it says
// of a sync, a loss of power; what is answered by Failed is in no file; every Archive is answered, also when the
// Archivist is poisoned.
type Archivist struct {
	o       Options
	log     *logrus.Entry
	files   *files
	group   groupcommit.Group[binding]
	resting time.Duration // the last rest of a row of failures; 0 after a success
}

// binding is a batch of captures on its way to the disk. The first has none, and opens the files.
type binding struct {
	items     []*bindItem
	bytes     int
	describes *Describe // who crawls from now on; nil: as before
	ripe      time.Time // when the file that is open then must be finished; zero: never
	err       error     // why items are not stored
	shut      bool      // the files could not be opened
}

type bindItem struct {
	sender   *actor.PID
	order    *Archive
	stored   bool
	Archived // File is "" before it is written
}

// Props makes the Archivist of a directory. Poison it, do not stop it: then what it was sent before is still stored.
func Props(o Options, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Archivist{o: o, log: log.WithField("actor", "archivist")}
	})
}

// Receive is the table of contents.
func (a *Archivist) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		a.start(ctx)
	case *Archive:
		a.gather(ctx, m)
	case *Sync:
		if len(a.group.Next.items) > 0 {
			a.group.By(ctx, time.Now())
		}
	case *Describe:
		a.group.Next.describes = m
	case *groupcommit.Due:
		a.group.Turn(ctx, func(*binding) {})
	case *groupcommit.Synced:
		a.settle(ctx)
	case *actor.Stopping:
		a.group.Stop()
	case *actor.Stopped:
		a.finish(ctx)
	default:
		floor.Unhandled(ctx, a.log)
	}
}

func (a *Archivist) start(ctx actor.Context) {
	a.files = &files{o: a.o.Writer, payloads: a.o.Payloads, proofs: a.o.Proof, log: a.log, mended: a.o.Recovered}
	a.group.Start(ctx, "binder", func(time.Time) *binding { return new(binding) }, a.files.store)
	a.group.By(ctx, time.Now())
	a.group.Turn(ctx, func(*binding) {}) // not through the mailbox, where captures may lie already
}

// gather takes a capture into the batch.
func (a *Archivist) gather(ctx actor.Context, m *Archive) {
	b := a.group.Next
	waiting := b.bytes
	if storing := a.group.Storing; storing != nil {
		waiting += storing.bytes
	}
	if waiting > 0 && waiting+len(m.Records) > a.o.MaxPending {
		if ctx.Sender() != nil {
			ctx.Respond(&Failed{Tags: []any{m.Tag}, Err: ErrBehind})
		}
		return
	}
	item := &bindItem{sender: ctx.Sender(), order: m}
	b.items = append(b.items, item)
	b.bytes += len(m.Records)
	at := time.Now()
	if b.bytes < a.o.SyncBytes {
		at = at.Add(a.o.SyncAfter)
	}
	a.group.By(ctx, at)
	if b.describes == nil { // else its turn says first who crawls
		a.group.Before(ctx, func() { a.files.write(item) })
	}
}

// settle answers a batch that the binder has had. After a failure the disk is left alone for a while, and files that
// are not open are opened then, or finished if they are old, whatever waits.
func (a *Archivist) settle(ctx actor.Context) {
	b, _ := a.group.Settle(ctx, 0)
	a.answer(ctx, b)
	if b.err == nil {
		a.resting = 0
		if !b.ripe.IsZero() {
			a.group.By(ctx, b.ripe)
		}
		return
	}
	a.resting = min(max(2*a.resting, a.o.RetryAfter), a.o.RetryMax)
	a.log.WithFields(logrus.Fields{"err": b.err, "full": warc.DiskFull(b.err),
		"rest": a.resting}).Error("captures cannot be stored")
	a.group.Rest(ctx, a.resting)
	if b.shut || len(b.items) == 0 {
		a.group.By(ctx, time.Now())
	}
}

// answer tells every sender what became of its captures, with one message of each kind.
func (a *Archivist) answer(ctx actor.Context, b *binding) {
	type answers struct {
		sender *actor.PID
		stored ArchivedBatch
		failed Failed
	}
	bySender := make(map[[2]string]*answers) // by address and id
	var all []*answers
	for _, item := range b.items {
		if item.sender == nil {
			continue
		}
		sender := [2]string{item.sender.Address, item.sender.Id}
		to := bySender[sender]
		if to == nil {
			to = &answers{sender: item.sender}
			bySender[sender] = to
			all = append(all, to)
		}
		if item.stored {
			to.stored.Captures = append(to.stored.Captures, item.Archived)
		} else {
			to.failed.Tags = append(to.failed.Tags, item.order.Tag)
		}
	}
	for _, to := range all {
		if len(to.stored.Captures) > 0 {
			ctx.Send(to.sender, &to.stored)
		}
		if len(to.failed.Tags) > 0 {
			to.failed.Err, to.failed.DiskFull = b.err, warc.DiskFull(b.err)
			ctx.Send(to.sender, &to.failed)
		}
	}
}

// finish stores what is left and closes the files, which nothing else uses any more: the binder is gone.
func (a *Archivist) finish(ctx actor.Context) {
	a.group.Finish(func(*binding) {}, func(b *binding, _ error) bool {
		a.answer(ctx, b)
		return true
	})
	if err := a.files.close(); err != nil {
		a.log.WithField("err", err).Error("archive not closed; the next start repairs it")
	}
}
