package hosts

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/host"
	"henro/store"
)

// Revisit is the timing actor of one host: it owns the timetable of the host's pages. What it knows and decides is its
// host.Schedule.
type Revisit struct {
	schedule *host.Schedule
	log      *logrus.Entry
}

func revisitProps(e *hostEnvironment) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Revisit{
			schedule: host.NewSchedule(e.Options, uint64(store.IDOf(e.name)), uint64(time.Now().UnixNano())),
			log:      e.log.WithFields(logrus.Fields{"actor": "revisit", "host": e.name}),
		}
	})
}

// Failed implements floor.Restartable: its Host fails with it.
func (r *Revisit) Failed(actor.Context, any) {}

// Receive is the table of contents.
func (r *Revisit) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		answer, known := r.schedule.Updated(time.Now(), m)
		if !known {
			floor.Unhandled(ctx, r.log)
		}
		if answer != nil {
			ctx.Respond(answer)
		}
	}
}
