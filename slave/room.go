package slave

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/messages"
	"henro/store/archive/warc"
)

// archiveRest is how long no work is asked for after captures could not be written, until room is looked for again.
const archiveRest = 3 * time.Second

// archiveRoom is how much can be written before work is asked for again: some hundred captures, so that a disk that has
// room for a few bytes does not have pages fetched that it cannot hold.
const archiveRoom = 8 << 20

// room says whether there is room in the archive.
type room struct {
	lacking bool           // captures could not be written, and no room was found since
	seeking bool           // a goroutine looks for room
	sought  sync.WaitGroup // that goroutine
	resting time.Time      // no room is looked for until then
	waits   string         // what Options.Waits said last
}

// roomSought says whether there is room in the archive again.
type roomSought struct{ err error }

// keepFailed reports visits whose records could not be written: they do not count, and will be tried again.
func (s *Slave) keepFailed(ctx actor.Context, m *archivist.Failed) {
	if !s.room.lacking {
		s.log.WithField("err",
			m.Err).Error("the archive cannot be written: make room on the disk; giving the leases back until then")
		s.tellStopped(m.Err)
	}
	s.room.lacking, s.room.resting = true, time.Now().Add(archiveRest)
	s.finishAll(ctx, "archive")
	made := make([]*factMade, len(m.Tags))
	for i, tag := range m.Tags {
		made[i] = tag.(*factMade)
		if v := made[i].Message.Visited; v != nil {
			s.renderer.Archived(v.Url, time.Time{}, "", 0)
			v.Status, v.Reason, v.Links = 0, messages.Reason_NOT_ARCHIVED, nil
		}
	}
	s.keep(ctx, made...)
}

// tellStopped says that the archive cannot be written, or, with nil, that it can be again.
func (s *Slave) tellStopped(err error) {
	if s.o.ArchiveStopped != nil {
		s.o.ArchiveStopped(err)
	}
}

// wait asks why pages are to wait, and reports whether they begin to.
func (r *room) wait(why func() string, log *logrus.Entry) bool {
	was := r.waits
	if why != nil {
		r.waits = why()
	}
	if was != "" && r.waits == "" {
		log.Info("pages wait no more")
	} else if was == "" && r.waits != "" {
		log.WithField("why", r.waits).Warn("pages wait; giving the leases back until they need not")
	}
	return was == "" && r.waits != ""
}

// seekRoom looks whether the archive can be written again, beside the mailbox.
func (s *Slave) seekRoom(ctx actor.Context) {
	if !s.room.lacking || s.room.seeking || time.Now().Before(s.room.resting) {
		return
	}
	s.room.seeking = true
	root, self, o := ctx.ActorSystem().Root, ctx.Self(), s.o.Archive.Writer
	s.room.sought.Go(func() {
		defer floor.Guard(root.ActorSystem(), "the search for room")
		root.Send(self, &roomSought{warc.Probe(o.Disk, o.Dir, archiveRoom)})
	})
}

func (s *Slave) takeRoom(ctx actor.Context, m *roomSought) {
	s.room.seeking, s.room.resting = false, time.Now().Add(archiveRest)
	if m.err != nil {
		return
	}
	s.room.lacking = false
	s.log.Info("the archive can be written again")
	s.tellStopped(nil)
	s.ask(ctx)
}
