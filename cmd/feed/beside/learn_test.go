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

// What a reader dismisses at a master is learnt by the slave that found the change: it holds from then on, also once
// that starts again, is seen among the noise, and is taken back in the same way.
func TestAReaderTeachesASlave(t *testing.T) {
	systems := map[string]*actor.ActorSystem{}
	master, slave := node(t, "master:1", systems), node(t, "bee:1", systems)
	systems["master:1"], systems["bee:1"] = master, slave
	dir := t.TempDir()
	day := 0
	price := func() {
		b, err := warc.NewBuilder(warc.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		day++
		data, _ := b.AppendExchange(nil, &warc.Exchange{URI: "http://a.test/",
			At:      time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Body:    fmt.Appendf(nil, "<title>Salt</title><p>Salt costs %d €</p>", day),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")})
		path := filepath.Join(dir, "warc", fmt.Sprint(day, ".warc.gz"))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cdxj.IndexFile(path); err != nil {
			t.Fatal(err)
		}
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	c := &Changes{On: true}
	if err := c.Start(slave, dir, false, logrus.NewEntry(log)); err != nil {
		t.Fatal(err)
	}
	// run has the slave run until do returns.
	run := func(do func()) {
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		c.Go(ctx, &running, slave, dir, func() []cluster.Member {
			return []cluster.Member{{Name: "m", Role: cluster.Master}}
		}, logrus.NewEntry(log))
		do()
		end()
		running.Wait()
	}
	latest := changefeed.NewLatest(t.TempDir(), master, func(context.Context) ([]lending.SlaveStatus, error) {
		return []lending.SlaveStatus{{Name: "m", Address: "master:1"}, {Name: "bee", Address: "bee:1"}}, nil
	})
	// shown are the changes of a page of the dashboard, once there are so many, the latest first.
	shown := func(query string, count int) []changes.Change {
		for range 600 {
			page := latest.Page(httptest.NewRequest("GET", "/changes"+query, nil), false)
			if len(page.Changes) == count {
				return page.Changes
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("/changes%s never shows %d changes", query, count)
		return nil
	}
	teach := func(id string, noise bool) error {
		for {
			err := latest.Teach(t.Context(), id, noise)
			if err == nil || !strings.Contains(err.Error(), "not told at this moment") {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	price()
	price()
	run(func() {
		told := shown("", 1)
		if told[0].Cursor == "" {
			t.Error("it cannot be seen that a slave found it")
		}
		if err := teach(changes.IDOf("http://b.test/", time.Now(), ""), true); err == nil ||
			!strings.Contains(err.Error(), "none of 1 slaves") {
			t.Errorf("a change that nobody found: %v", err)
		}
		if err := teach(told[0].ID, true); err != nil {
			t.Error(err)
		}
	})
	price()
	run(func() {
		quiet := shown("?noise=true", 1)
		if len(latest.Get(t.Context())) != 1 {
			t.Error("what was dismissed is told again")
		}
		if err := teach(quiet[0].ID, false); err != nil {
			t.Error(err)
		}
	})
	price()
	run(func() { shown("", 2) })
}
