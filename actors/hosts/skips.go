package hosts

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/protocol"
)

// flushSkips is how long a line waits in memory at most.
const flushSkips = time.Second

type skipsDue struct{}

// Skips is the actor that writes skipped.jsonl. A line that cannot be written is lost, which is logged once: the crawl
// is worth more.
type Skips struct {
	dir     string
	log     *logrus.Entry
	file    *admission.Log // nil: it could not be opened
	timer   floor.Timer
	waiting bool // lines are in memory
	failing bool // the last write failed
}

// SkipsProps makes the writer of skipped.jsonl in a directory.
func SkipsProps(dir string, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &Skips{dir: dir, log: log.WithField("actor", "skips")} })
}

// Receive is the table of contents.
func (s *Skips) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		file, err := admission.OpenLog(s.dir, admission.DefaultLogBytes)
		if err == nil {
			s.file = file
		}
		s.report(err)
	case *actor.Stopped:
		s.timer.Stop()
		if s.file != nil {
			s.report(s.file.Close())
		}
	case *protocol.URLsSkipped:
		s.write(ctx, m)
	case *skipsDue:
		s.waiting = false
		s.report(s.file.Flush())
	default:
		floor.Unhandled(ctx, s.log)
	}
}

func (s *Skips) write(ctx actor.Context, m *protocol.URLsSkipped) {
	if s.file == nil {
		return
	}
	for i := range m.URLs {
		s.report(s.file.Add(&m.URLs[i]))
	}
	if !s.waiting {
		s.waiting = true
		s.timer.After(ctx, flushSkips, &skipsDue{})
	}
}

func (s *Skips) report(err error) {
	if err != nil && !s.failing {
		s.log.WithField("err", err).Error("skipped URLs cannot be written to skipped.jsonl")
	}
	s.failing = err != nil
}
