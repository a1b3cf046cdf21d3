package beside

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"henro/cluster"
	"henro/master/changefeed"
	"henro/master/lending"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/changes"
)

// post carries messages to another node, as bytes.
type post struct{ to *actor.ActorSystem }

func (p post) SendUserMessage(pid *actor.PID, message any) {
	_, inner, sender := actor.UnwrapEnvelope(message)
	if sender != nil { // a PID remembers where it leads on its node
		sender = actor.NewPID(sender.Address, sender.Id)
	}
	p.to.Root.RequestWithCustomSender(actor.NewPID(pid.Address, pid.Id), proto.Clone(inner.(proto.Message)), sender)
}
func (post) SendSystemMessage(*actor.PID, any) {}
func (post) Stop(*actor.PID)                   {}

// node is a system whose messages reach others.
func node(t *testing.T, address string, others map[string]*actor.ActorSystem) *actor.ActorSystem {
	system := actor.NewActorSystem()
	t.Cleanup(func() { system.Shutdown() })
	system.ProcessRegistry.Address = address
	system.ProcessRegistry.RegisterAddressResolver(func(pid *actor.PID) (actor.Process, bool) {
		to, is := others[pid.Address]
		return post{to}, is
	})
	return system
}

// bee is a slave, as a test has it: a page with a price that is another one at each visit.
type bee struct {
	t       *testing.T
	system  *actor.ActorSystem
	dir     string
	changes *Changes
	log     *logrus.Entry
	members func() []cluster.Member // the others
}

func newBee(t *testing.T, system *actor.ActorSystem, members func() []cluster.Member) *bee {
	log := logrus.New()
	log.SetOutput(io.Discard)
	b := &bee{t, system, t.TempDir(), &Changes{On: true}, logrus.NewEntry(log), members}
	if err := b.changes.Start(system, b.dir, false, b.log); err != nil {
		t.Fatal(err)
	}
	return b
}

// visit archives the page, as it is on a day.
func (v *bee) visit(day int) {
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		v.t.Fatal(err)
	}
	data, _ := b.AppendExchange(nil, &warc.Exchange{URI: "http://a.test/",
		At:      time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC),
		Request: []byte("GET / HTTP/1.1\r\n\r\n"),
		Body:    fmt.Appendf(nil, "<title>Salt</title><p>Salt costs %d €</p>", day),
		Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")})
	path := filepath.Join(v.dir, "warc", fmt.Sprint(day, ".warc.gz"))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		v.t.Fatal(err)
	}
	if err := cdxj.IndexFile(path); err != nil {
		v.t.Fatal(err)
	}
}

// run has the slave run until do returns.
func (v *bee) run(do func()) {
	ctx, end := context.WithCancel(v.t.Context())
	var running sync.WaitGroup
	v.changes.Go(ctx, &running, v.system, v.dir, v.members, v.log)
	do()
	end()
	running.Wait()
}

var masterThere = cluster.Member{Name: "m", Role: cluster.Master}

// reader is who reads and teaches at a master.
type reader struct {
	*testing.T
	latest *changefeed.Latest
}

func newReader(t *testing.T, master *actor.ActorSystem, slaves ...string) reader {
	there := []lending.SlaveStatus{{Name: "m", Address: "master:1"}}
	for _, name := range slaves {
		there = append(there, lending.SlaveStatus{Name: name, Address: name + ":1"})
	}
	return reader{t, changefeed.NewLatest(t.TempDir(), master, func(context.Context) ([]lending.SlaveStatus, error) {
		return there, nil
	})}
}

// shown are the changes of a page of the dashboard, once there are so many, the latest first.
func (r reader) shown(query string, count int) []changes.Change {
	for range 600 {
		page := r.latest.Page(httptest.NewRequest("GET", "/changes"+query, nil), false)
		if len(page.Changes) == count {
			return page.Changes
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.Fatalf("/changes%s never shows %d changes", query, count)
	return nil
}

func (r reader) teach(id string, noise bool) error {
	for {
		err := r.latest.Teach(r.Context(), id, noise)
		if err == nil || !strings.Contains(err.Error(), "not told at this moment") {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// What a reader dismisses at a master is learnt by the slave that found the change: it holds from then on, also once
// that starts again, is seen among the noise, and is taken back in the same way.
func TestAReaderTeachesASlave(t *testing.T) {
	systems := map[string]*actor.ActorSystem{}
	master, slave := node(t, "master:1", systems), node(t, "bee:1", systems)
	systems["master:1"], systems["bee:1"] = master, slave
	b := newBee(t, slave, func() []cluster.Member { return []cluster.Member{masterThere} })
	r := newReader(t, master, "bee")
	b.visit(1)
	b.visit(2)
	b.run(func() {
		told := r.shown("", 1)
		if told[0].Cursor == "" {
			t.Error("it cannot be seen that a slave found it")
		}
		if err := r.teach(changes.IDOf("http://b.test/", time.Now(), ""), true); err == nil ||
			!strings.Contains(err.Error(), "none of 1 slaves") {
			t.Errorf("a change that nobody found: %v", err)
		}
		if err := r.teach(told[0].ID, true); err != nil {
			t.Error(err)
		}
	})
	b.visit(3)
	b.run(func() {
		quiet := r.shown("?noise=true", 1)
		if len(r.latest.Get(t.Context())) != 1 {
			t.Error("what was dismissed is told again")
		}
		if err := r.teach(quiet[0].ID, false); err != nil {
			t.Error(err)
		}
	})
	b.visit(4)
	b.run(func() { r.shown("", 2) })
}

// What a reader dismisses goes with the host: the slave that visits its pages next knows it, whether it was there when
// it was dismissed and the one that learnt it has died since, or it came later and the other is there. So does what is
// taken back.
func TestADismissalGoesWithItsHost(t *testing.T) {
	for name, later := range map[string]bool{"the one that was taught dies": false, "the other comes later": true} {
		t.Run(name, func(t *testing.T) {
			systems := map[string]*actor.ActorSystem{}
			for _, name := range []string{"master", "bee", "wasp"} {
				systems[name+":1"] = node(t, name+":1", systems)
			}
			of := func(name string) cluster.Member {
				return cluster.Member{Name: name, Boot: "1", Role: cluster.Slave, ActorAddress: name + ":1"}
			}
			there := []cluster.Member{masterThere, of("wasp")}
			if later {
				there = there[:1]
			}
			b := newBee(t, systems["bee:1"], func() []cluster.Member { return there })
			ofWasp := []cluster.Member{masterThere}
			w := newBee(t, systems["wasp:1"], func() []cluster.Member { return ofWasp })
			r := newReader(t, systems["master:1"], "bee", "wasp")
			b.visit(1)
			b.visit(2)
			w.visit(1) // an older version, which is no news of it
			teaching := func() {
				told := r.shown("", 1)
				for _, noise := range []bool{false, true} {
					if err := r.teach(told[0].ID, noise); err != nil {
						t.Error(err)
					}
				}
			}
			if later {
				b.run(func() {
					teaching()
					ofWasp = append(ofWasp, of("bee"))
					w.visit(3)
					w.run(func() { r.shown("?noise=true", 1) })
				})
			} else {
				w.run(func() { b.run(teaching) })
				w.visit(3)
				w.run(func() { r.shown("?noise=true", 1) })
			}
			if told := r.latest.Get(t.Context()); len(told) != 1 {
				t.Errorf("what was dismissed is told by the slave that has the host now: %+v", told)
			}
		})
	}
}

// A master that follows knows what all slaves tell, whoever leads: it asks those that the gossip shows, each by its
// latest start.
func TestAMasterThatFollowsTellsChanges(t *testing.T) {
	systems := map[string]*actor.ActorSystem{}
	systems["standby:1"], systems["bee:1"] = node(t, "standby:1", systems), node(t, "bee:1", systems)
	b := newBee(t, systems["bee:1"], func() []cluster.Member { return []cluster.Member{masterThere} })
	b.visit(1)
	b.visit(2)
	route := changefeed.Routes(t.TempDir(), systems["standby:1"], func() []cluster.Member {
		return []cluster.Member{masterThere, {Name: "bee", Boot: "2", Role: cluster.Slave, ActorAddress: "bee:1"},
			{Name: "bee", Boot: "1", Role: cluster.Slave, ActorAddress: "gone:1"}}
	})[0]
	if route.Pattern != "GET /api/changes" {
		t.Error(route.Pattern)
	}
	b.run(func() {
		var said string
		for range 600 {
			w := httptest.NewRecorder()
			route.Serve(w, httptest.NewRequest("GET", "/api/changes", nil))
			if said = w.Body.String(); said != "" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if strings.Count(said, "\n") != 1 || !strings.Contains(said, "bee:") {
			t.Errorf("told: %q", said)
		}
	})
}
