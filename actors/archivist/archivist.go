// Package archivist holds the actor that stores captures in WARC files, lists them in an index and syncs both before it
// answers.
package archivist

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/store/archive/cdxj"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
)

// What an Archivist receives, and what it answers. It keeps no order between senders, but that of each.
type (
	// Archive asks to store one capture. It may be sent again as it is after it failed.
	Archive struct {
		Records  []byte       // finished by a warc.Builder of the same options; not to be changed before the answer
		Captures []cdxj.Entry // to be listed in the index; Offset is relative to Records, Filename is filled in
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
	// SyncAfter is how long a capture waits for others to share its sync. Default 100 ms: a sync takes some
	// milliseconds, so that they are a few per cent of the time, and a page that counts a tenth of a second later
	// delays nothing.
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
// syncs; then every sender is answered. While the binder works the next batch gathers, so Receive never waits for the
// disk, and a slow disk makes for large batches.
//
//	opening ── files opened ──► waiting ── SyncAfter or SyncBytes ──► binding ── stored ──► waiting
//	   ▲                                                                  │
//	   └─────────────────────────── RetryAfter ◄───────── failed ─────────┘
//
// Invariants: what is answered by Archived survives kill -9 at any later instruction, and by the disk's word a loss of
// power; what is answered by Failed is in no file; every Archive is answered, also when the Archivist is
// poisoned.
type Archivist struct {
	o   Options
	log *logrus.Entry

	files   *files
	binder  *actor.PID
	open    bool      // the files are
	binding *binding  // with the binder
	batch   *binding  // that gathers
	oldest  time.Time // when it was begun
	hurried bool      // it is to be synced as soon as the binder is free
	clock   *time.Timer
	resting time.Duration // the present rest, or the last one of a row of failures; 0 after a success
	asleep  bool          // the rest is not over
}

// binding is a batch of captures on its way to the disk.
type binding struct {
	items []bindItem
	bytes int
	done  bool  // the binder has had it
	err   error // why items are not stored
}

type bindItem struct {
	sender *actor.PID
	order  *Archive
	stored bool
	Archived
}

type (
	gathered    struct{}             // SyncAfter is over
	restOver    struct{}             // a rest after a failure is over
	openFiles   struct{}             // Archivist to binder
	filesOpened struct{ err error }  // binder to Archivist
	bind        struct{ b *binding } // Archivist to binder
	bound       struct{ b *binding } // binder to Archivist
)

// Props makes the Archivist of a directory. It is to be poisoned, not stopped: what it was sent before is
// still stored.
func Props(o Options, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Archivist{o: o, log: log.WithField("actor", "archivist"), batch: new(binding)}
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
		a.hurried = len(a.batch.items) > 0
		a.sync(ctx)
	case *Describe:
		ctx.Send(a.binder, m)
	case *gathered:
		a.clock = nil
		a.sync(ctx)
	case *restOver:
		a.wake(ctx)
	case *filesOpened:
		a.opened(ctx, m)
	case *bound:
		a.settle(ctx, m.b)
	case *actor.Stopping:
		a.set(ctx, 0, nil)
	case *actor.Stopped:
		a.finish(ctx)
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		floor.Unhandled(ctx, a.log)
	}
}

func (a *Archivist) start(ctx actor.Context) {
	a.files = &files{o: a.o.Writer, payloads: a.o.Payloads, log: a.log}
	files := a.files
	binder := actor.PropsFromProducer(func() actor.Actor { return &binder{files: files} })
	a.binder = floor.SpawnAs(ctx, binder, "binder")
}

// gather takes a capture into the batch.
func (a *Archivist) gather(ctx actor.Context, m *Archive) {
	waiting := a.batch.bytes
	if a.binding != nil {
		waiting += a.binding.bytes
	}
	if waiting > 0 && waiting+len(m.Records) > a.o.MaxPending {
		if ctx.Sender() != nil {
			ctx.Respond(&Failed{Tags: []any{m.Tag}, Err: ErrBehind})
		}
		return
	}
	if len(a.batch.items) == 0 {
		a.oldest = time.Now()
	}
	a.batch.items = append(a.batch.items, bindItem{sender: ctx.Sender(), order: m})
	a.batch.bytes += len(m.Records)
	a.sync(ctx)
}

// sync hands the batch to the binder when it is time and the binder is free.
func (a *Archivist) sync(ctx actor.Context) {
	if !a.open || a.asleep || a.binding != nil || len(a.batch.items) == 0 {
		return
	}
	if left := a.o.SyncAfter - time.Since(a.oldest); left > 0 && a.batch.bytes < a.o.SyncBytes && !a.hurried {
		if a.clock == nil {
			a.set(ctx, left, &gathered{})
		}
		return
	}
	a.set(ctx, 0, nil)
	a.binding, a.batch, a.hurried = a.batch, new(binding), false
	ctx.Send(a.binder, &bind{a.binding})
}

// set sends the Archivist a message after a while, instead of any that was to come; nil sends none.
func (a *Archivist) set(ctx actor.Context, d time.Duration, message any) {
	if a.clock != nil {
		a.clock.Stop()
		a.clock = nil
	}
	if message != nil {
		root, self := ctx.ActorSystem().Root, ctx.Self()
		a.clock = time.AfterFunc(d, func() { root.Send(self, message) })
	}
}

// opened learns that the files are open, or why they are not.
func (a *Archivist) opened(ctx actor.Context, m *filesOpened) {
	a.open = m.err == nil
	if m.err != nil {
		a.fail(ctx, m.err)
		return
	}
	a.sync(ctx)
}

// settle answers a batch that the binder has had.
func (a *Archivist) settle(ctx actor.Context, b *binding) {
	a.binding = nil
	a.answer(ctx, b)
	if b.err != nil {
		a.rest(ctx, b.err)
		return
	}
	a.resting = 0
	a.sync(ctx)
}

// fail answers all that waits for files that do not open, and rests.
func (a *Archivist) fail(ctx actor.Context, err error) {
	b := a.batch
	a.batch, a.hurried = new(binding), false
	b.err = err
	a.answer(ctx, b)
	a.rest(ctx, err)
}

// rest leaves the disk alone for a while.
func (a *Archivist) rest(ctx actor.Context, err error) {
	a.resting = min(max(2*a.resting, a.o.RetryAfter), a.o.RetryMax)
	a.asleep = true
	a.log.WithFields(logrus.Fields{"err": err, "full": warc.DiskFull(err),
		"rest": a.resting}).Error("captures cannot be stored")
	a.set(ctx, a.resting, &restOver{})
}

func (a *Archivist) wake(ctx actor.Context) {
	a.asleep = false
	a.clock = nil
	if !a.open {
		ctx.Send(a.binder, &openFiles{})
		return
	}
	a.sync(ctx)
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
	for i := range b.items {
		item := &b.items[i]
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

// finish stores what is left and closes the files. The binder is gone, so that this is the only one that uses the
// files.
func (a *Archivist) finish(ctx actor.Context) {
	if b := a.binding; b != nil {
		if !b.done {
			a.files.store(b)
		}
		a.answer(ctx, b)
	}
	if len(a.batch.items) > 0 {
		a.files.store(a.batch)
		a.answer(ctx, a.batch)
	}
	if err := a.files.close(); err != nil {
		a.log.WithField("err", err).Error("archive not closed; the next start repairs it")
	}
}

// binder is the child that waits for the disk, so that the Archivist does not.
type binder struct{ files *files }

// Receive does one thing at a time.
func (b *binder) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started, *openFiles:
		ctx.Send(ctx.Parent(), &filesOpened{b.files.open()})
	case *Describe:
		b.files.describe(m)
	case *bind:
		b.files.store(m.b)
		ctx.Send(ctx.Parent(), &bound{m.b})
	}
}
