// Package changefeed streams what changed over HTTP, as henro feed or henro watch finds it: of the crawl's own
// directory, and of those of its slaves.
//
// Each slave writes down what changed on the pages that it visited, and answers for that (Start). A stream asks all of
// them again and again, and says with each change how far it has read which of them: the cursor. No master keeps
// anything of it, so that every one of them knows every cursor, also one that has just begun to lead, and whoever goes
// on with the cursor of the last change that it has got gets each change once.
package changefeed

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/cluster"
	"henro/cluster/peers"
	"henro/master/lending"
	"henro/messages"
	"henro/messages/ticks"
	"henro/store/report/changes"
)

// AtOnce bounds how many follow the changes of a crawl.
const AtOnce = 16

const (
	followEvery = 200 * time.Millisecond // between two looks at what has come
	slavesEvery = 5                      // looks, after which it is asked which slaves are there
	respite     = 75                     // looks, some 15 s, after which an empty line shows if a reader is there
	patience    = 2 * time.Second        // for an answer of a slave
	rest        = time.Second            // until one that has not answered is asked again
)

// Slaves returns those that are there.
type Slaves func(context.Context) ([]lending.SlaveStatus, error)

// Routes is the table of a master that follows: what changed it knows as well as the one that leads, and so nobody who
// reads it here waits for an election.
func Routes(dir string, system *actor.ActorSystem, members func() []cluster.Member) []console.Route {
	return []console.Route{{Pattern: "GET /api/changes", AtOnce: AtOnce, Serve: Serve(dir, system,
		func(context.Context) (found []lending.SlaveStatus, _ error) {
			for name, m := range new(peers.Slaves).Of(members()) {
				found = append(found, lending.SlaveStatus{Name: name, Address: m.ActorAddress})
			}
			return found, nil
		})}}
}

// Serve answers with the changes of the crawl in a directory and those of its slaves, each a line of JSON: those behind
// ?since=, the id or the cursor of a change, and with ?follow=true on, as they come, until the reader goes. ?pages=,
// ?tag= and ?q= say which (selection), ?format= whether they are a feed (writeFeed).
func Serve(dir string, system *actor.ActorSystem, slaves Slaves) http.HandlerFunc {
	folder := filepath.Join(dir, changes.Folder)
	return func(w http.ResponseWriter, r *http.Request) {
		s := newStream(folder, system, slaves)
		s.follow, s.fresh = r.FormValue("follow") == "true", earliest
		out := json.NewEncoder(w)
		s.take = func(c *changes.Change) error { return out.Encode(c) }
		var err error
		if s.wants, err = parseSelection(r.FormValue("pages"), r.FormValue("tag"), r.FormValue("q")); err != nil {
			console.Fail(w, http.StatusBadRequest, err)
			return
		}
		if format := r.FormValue("format"); format != "" {
			s.serveFeed(w, r, format, filepath.Base(filepath.Clean(dir)))
			return
		}
		since := r.FormValue("since")
		if since == "" && s.follow {
			s.fresh = ""
		}
		s.cursor = parseCursor(since)
		w.Header().Set("Content-Type", "application/x-ndjson")
		control := http.NewResponseController(w)
		s.flush = func(line string) error {
			_, err := w.Write([]byte(line))
			return cmp.Or(err, control.Flush())
		}
		if s.flush("") != nil && s.follow {
			return
		}
		ctx, end := context.WithCancel(r.Context())
		defer end()
		s.run(ctx)
	}
}

// stream is one answer.
type stream struct {
	system  *actor.ActorSystem
	slaves  Slaves
	own     *book
	slave   func(address, since string) *messages.ChangesTold // nil: it does not answer
	cursor  cursor
	fresh   string // where a source begins that the cursor does not have
	follow  bool
	wants   *selection
	asking  map[string]bool // who has not answered yet, by the address of its actors; "": own
	answers chan answer
	take    func(*changes.Change) error // an error ends the stream
	flush   func(line string) error     // writes a line, and sends what was written
}

func newStream(folder string, system *actor.ActorSystem, slaves Slaves) *stream {
	return &stream{system: system, slaves: slaves, own: &book{dir: folder}, answers: make(chan answer),
		flush:  func(string) error { return nil },
		asking: map[string]bool{}, slave: func(address, since string) *messages.ChangesTold {
			return told(system, address, &messages.ChangesAsked{Since: since})
		}}
}

// told is what a slave answers; nil: it does not.
func told(system *actor.ActorSystem, address string, asked any) *messages.ChangesTold {
	said, _ := system.Root.RequestFuture(actor.NewPID(address, actorName), asked, patience).Result()
	told, _ := said.(*messages.ChangesTold)
	return told
}

// answer is that of one source.
type answer struct {
	address, name string
	since         string
	told          *messages.ChangesTold // nil: it has not answered
}

// run shows what there is and, if it follows, what comes, until the reader is gone.
func (s *stream) run(ctx context.Context) {
	looking := time.NewTicker(followEvery)
	defer looking.Stop()
	there := map[string]string{"": ""} // names by the address of their actors
	for looks := 1; ; looks++ {
		if looks%slavesEvery == 1 {
			soon, end := context.WithTimeout(ctx, patience)
			found, err := s.slaves(soon)
			end()
			if err == nil {
				there = map[string]string{"": ""}
				for i := range found {
					if at := found[i].Address; at != "" && at != s.system.Address() {
						there[at] = found[i].Name
					}
				}
			}
		}
		for address, name := range there {
			s.ask(ctx, address, name)
		}
		for looked := false; !looked; {
			select {
			case a := <-s.answers:
				delete(s.asking, a.address)
				if s.show(ctx, &a) != nil {
					return
				}
				looked = !s.follow && len(s.asking) == 0
			case <-looking.C:
				looked = s.follow
			case <-ctx.Done():
				return
			}
		}
		if !s.follow || looks%respite == 0 && s.flush("\n") != nil {
			return
		}
	}
}

// ask asks a source for what came behind the cursor, unless it has not answered yet.
func (s *stream) ask(ctx context.Context, address, name string) {
	if s.asking[address] {
		return
	}
	s.asking[address] = true
	a := answer{address: address, name: name, since: cmp.Or(s.cursor[name], s.fresh)}
	go func() {
		defer floor.Guard(s.system, "a question for what changed")
		if address == "" {
			a.told = s.own.told(a.since)
		} else {
			a.told = s.slave(address, a.since)
		}
		if a.told == nil && s.follow {
			_ = ticks.Rest(ctx, rest)
		}
		select {
		case s.answers <- a:
		case <-ctx.Done():
		}
	}()
}

// show writes what a source has answered. One that has more is asked at once.
func (s *stream) show(ctx context.Context, a *answer) error {
	if a.told == nil || a.since != cmp.Or(s.cursor[a.name], s.fresh) || !isPlace(a.told.Last) {
		return nil // or the slave has answered at another address meanwhile
	}
	for _, line := range a.told.Changes {
		var c changes.Change
		if err := json.Unmarshal(line, &c); err != nil || !isPlace(placeOf(c.ID)) {
			continue
		}
		s.cursor[a.name] = placeOf(c.ID)
		if !s.wants.has(&c) {
			continue
		}
		c.Cursor = s.cursor.String()
		if err := s.take(&c); err != nil {
			return err
		}
	}
	s.cursor[a.name] = a.told.Last
	if a.told.More && len(a.told.Changes) > 0 {
		s.ask(ctx, a.address, a.name)
	}
	if len(a.told.Changes) == 0 {
		return nil
	}
	return s.flush("")
}
