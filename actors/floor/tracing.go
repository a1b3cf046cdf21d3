package floor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"henro/messages"
)

// tracingName is where the others find a node's Tracing, and the kind of it.
const tracingName = "tracing"

// Bounds of what a node tells of itself at once. A report stays below the 128 kB of a message.
const (
	tracingEvery  = 200 * time.Millisecond // between two reports to one reader
	tracingBuffer = 4096                   // events that wait for the next report
	tracingEvents = 1000                   // events of one report
	tracingBytes  = 96 << 10
	tracingRows   = 200
	tracingLines  = 200
	tracingFor    = 30 * time.Second // a reader who does not ask again is gone
)

// Tracing lets other nodes look into the mailboxes of this one: it answers TraceAsked with TraceReported. Its own
// mailbox is not looked into, since every look would be something to look at. It restarts after a panic, without its
// readers, who ask again: what another node asks must not end this one.
type Tracing struct {
	tracer  *Tracer
	readers map[uint64]*traceReader
	timer   Timer
}

type traceReader struct {
	pid      *actor.PID
	follower *Follower
	kept     []TraceEvent // from the ring, not reported yet
	until    time.Time
}

type traceFlush struct{}

// StartTracing sets a Tracing to work in a system.
func StartTracing(system *actor.ActorSystem, tracer *Tracer) (*actor.PID, error) {
	props := actor.PropsFromProducer(func() actor.Actor {
		return &Tracing{tracer: tracer, readers: map[uint64]*traceReader{}}
	}, actor.WithMailbox(actor.Unbounded()))
	pid, err := system.Root.SpawnNamed(props, tracingName)
	if err != nil {
		return nil, fmt.Errorf("spawn the tracing: %w", err)
	}
	return pid, nil
}

// Receive is the table of contents.
func (t *Tracing) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *messages.TraceAsked:
		t.listen(ctx, m)
	case *traceFlush:
		t.flush(ctx)
	case *actor.Stopping, *actor.Restarting:
		t.timer.Stop()
		for _, r := range t.readers {
			r.close()
		}
	}
}

// listen begins to follow for a reader, or goes on, or ends.
func (t *Tracing) listen(ctx actor.Context, m *messages.TraceAsked) {
	r, known := t.readers[m.Id]
	if !known {
		r = &traceReader{pid: ctx.Sender()}
		first := &messages.TraceReported{Id: m.Id, Node: t.tracer.o.Node}
		f := Filter{Actor: m.Actor, Message: m.Message, About: m.About, URL: m.Url, Every: int(m.Every)}
		if m.ForNs > 0 {
			var err error
			if r.follower, err = t.tracer.Follow(f, tracingBuffer); err != nil {
				first.Err = err.Error()
			}
		}
		if m.Recent {
			r.kept = t.tracer.remembered(f)
		}
		if m.Rows > 0 {
			for _, row := range t.tracer.Table(m.Actor, min(int(m.Rows), tracingRows)) {
				first.Rows = append(first.Rows, asJSON(row))
			}
		}
		if m.Lines > 0 && t.tracer.o.Lines != nil {
			first.Lines = latestThatFit(t.tracer.o.Lines(min(int(m.Lines), tracingLines)))
		}
		if len(first.Rows) > 0 || len(first.Lines) > 0 || first.Err != "" {
			ctx.Send(r.pid, first)
		}
		t.readers[m.Id] = r
	}
	r.until = time.Now().Add(min(time.Duration(m.ForNs), tracingFor))
	t.flush(ctx)
}

// flush reports what has happened, and says good-bye to readers who are gone.
func (t *Tracing) flush(ctx actor.Context) {
	now := time.Now()
	for id, r := range t.readers {
		ended := !now.Before(r.until)
		for {
			report := r.report(id, t.tracer.o.Node)
			report.Last = ended && !r.more()
			if len(report.Events) > 0 || report.Last {
				ctx.Send(r.pid, report)
			}
			if report.Last {
				r.close()
				delete(t.readers, id)
			}
			if !ended || report.Last {
				break
			}
		}
	}
	if len(t.readers) > 0 {
		t.timer.After(ctx, tracingEvery, &traceFlush{})
	}
}

// latestThatFit leaves out the oldest lines if there are more than a message holds.
func latestThatFit(lines [][]byte) [][]byte {
	size, from := 0, len(lines)
	for from > 0 && size+len(lines[from-1]) <= tracingBytes {
		from--
		size += len(lines[from])
	}
	return lines[from:]
}

// more reports whether there is anything to report.
func (r *traceReader) more() bool {
	return len(r.kept) > 0 || r.follower != nil && len(r.follower.Events()) > 0
}

// report takes what fits into one message.
func (r *traceReader) report(id uint64, node string) *messages.TraceReported {
	report, size := &messages.TraceReported{Id: id, Node: node}, 0
	for len(report.Events) < tracingEvents && size < tracingBytes && r.more() {
		var e TraceEvent
		if len(r.kept) > 0 {
			e, r.kept = r.kept[0], r.kept[1:]
		} else {
			e = <-r.follower.Events()
		}
		line := asJSON(e)
		report.Events = append(report.Events, line)
		size += len(line)
	}
	if r.follower != nil {
		report.Dropped = r.follower.Dropped()
	}
	return report
}

func (r *traceReader) close() {
	if r.follower != nil {
		r.follower.Close()
	}
}

func asJSON(v any) []byte {
	line, err := json.Marshal(v)
	Need(err, "write as JSON") // of types of ours: it cannot be
	return line
}

// remembered are the events of the ring that fit.
func (t *Tracer) remembered(f Filter) []TraceEvent {
	var fitting []TraceEvent
	for _, e := range t.Recent() {
		if (f.Actor == "" || globPath(f.Actor, e.Actor)) && (f.Message == "" || glob(f.Message, e.Message)) &&
			aboutHas(e.About, f.About) && aboutHas(e.About, f.URL) {
			fitting = append(fitting, e)
		}
	}
	return fitting
}

// aboutHas reports whether what an event is about has the value; an empty one is everywhere.
func aboutHas(about, wanted string) bool {
	if wanted == "" {
		return true
	}
	for word := range strings.FieldsSeq(about) {
		if _, value, _ := strings.Cut(word, "="); value == wanted {
			return true
		}
	}
	return false
}

// ErrNobodyTraced is returned when no node answered a question about its mailboxes.
var ErrNobodyTraced = errors.New("no node answers: those asked are gone, or of an older henro")

// traceAgain is how often a reader asks again, and traceWait how long an answer is awaited when nothing is followed.
const (
	traceAgain = 5 * time.Second
	traceWait  = 3 * time.Second
)

// ReadTraces asks the Tracings of nodes, those that nodes returns now and when it is asked again, and hands each report
// to each until that fails, the context ends or, when nothing is to be followed, every node has answered.
func ReadTraces(ctx context.Context, system *actor.ActorSystem, asked *messages.TraceAsked, nodes func() []*actor.PID,
	each func(*messages.TraceReported) error) error {
	asked.Id = rand.Uint64()
	follow := asked.ForNs > 0
	reports := make(chan *messages.TraceReported, 256)
	var lost uint64 // written and read by the reader alone
	props := actor.PropsFromFunc(func(c actor.Context) {
		if m, ok := c.Message().(*messages.TraceReported); ok {
			m.Dropped += lost
			select {
			case reports <- m:
			default: // the reader is slow
				lost += uint64(len(m.Events))
			}
		}
	}, actor.WithMailbox(actor.Unbounded()))
	reader := system.Root.Spawn(props)
	defer system.Root.Stop(reader)
	pids := nodes()
	ask := func(forNs int64) {
		again := proto.CloneOf(asked)
		again.ForNs = forNs
		for _, pid := range pids {
			system.Root.RequestWithCustomSender(pid, again, reader)
		}
	}
	ask(asked.ForNs)
	if follow {
		defer ask(0)
	}
	wait := traceAgain
	if !follow {
		wait = traceWait
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	answered := 0
	for follow || answered < len(pids) {
		select {
		case <-ctx.Done():
			return nil
		case m := <-reports:
			if err := each(m); err != nil {
				return err
			}
			if m.Err != "" {
				return fmt.Errorf("node %s: %s", m.Node, m.Err)
			}
			if m.Last {
				answered++
			}
		case <-timer.C:
			if !follow {
				if answered == 0 {
					return ErrNobodyTraced
				}
				return nil
			}
			pids = nodes()
			ask(asked.ForNs)
			timer.Reset(wait)
		}
	}
	return nil
}

// TracingAt is the Tracing of the node whose actors have this address.
func TracingAt(address string) *actor.PID { return actor.NewPID(address, tracingName) }
