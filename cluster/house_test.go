package cluster

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"henro/messages"
)

// A house is a process with a remote and one actor, named slave. The tests of the remote speak with houses over real
// sockets of this machine; each is a process of its own, this same program started with houseEnv set, because
// remote.Start writes a variable of grpc that other goroutines read, so that two remotes in one process are a data
// race.

const houseEnv = "HENRO_TEST_HOUSE"

// patience bounds every wait for a house; nothing waits for it to pass.
const patience = 20 * time.Second

// order is what a house is told, one JSON line each.
type order struct {
	// At the start.
	Keys  string `json:",omitempty"` // text of a key file
	Bind  string `json:",omitempty"`
	Say   string `json:",omitempty"` // advertised
	Name  string `json:",omitempty"` // of the node; default house
	Gated bool   `json:",omitempty"`
	// Later.
	Do     string `json:",omitempty"` // tell, ask, burst, watch, poison, admit, expel, count
	To     string `json:",omitempty"` // address of a house
	Who    string `json:",omitempty"` // holder, or an actor's name; default slave
	Number uint64 `json:",omitempty"`
}

// report is what a house tells, one JSON line each.
type report struct {
	What    string // at, failed, heard, answered, terminated, dead letter, counts, burst
	Text    string `json:",omitempty"`
	Number  uint64 `json:",omitempty"`
	Refused Refused
	Started int
	Stopped int
}

// house is one as the tests see it.
type house struct {
	t       *testing.T
	Address string
	in      *json.Encoder
	reports chan report
}

// build starts a house and waits until it stands.
func build(t *testing.T, o order) *house {
	t.Helper()
	h, first := try(t, o)
	if first.What != "at" {
		t.Fatalf("the house says %+v", first)
	}
	h.Address = first.Text
	return h
}

func try(t *testing.T, o order) (*house, report) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	// the race detector sleeps a second at each exit
	cmd.Env = append(os.Environ(), houseEnv+"=1", "GORACE=atexit_sleep_ms=0")
	var trouble strings.Builder
	cmd.Stderr = &trouble
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, in: json.NewEncoder(in), reports: make(chan report, 1000)}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(h.reports)
		lines := json.NewDecoder(out)
		for {
			var r report
			if lines.Decode(&r) != nil {
				return
			}
			h.reports <- r
		}
	})
	t.Cleanup(func() {
		in.Close() // the house shuts down
		kill := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer kill.Stop()
		for range h.reports {
		}
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the house ended with %v:\n%s", err, trouble.String())
		}
	})
	if o.Bind == "" {
		o.Bind = "127.0.0.1:0"
	}
	h.do(o)
	return h, h.next()
}

// do gives an order.
func (h *house) do(o order) {
	h.t.Helper()
	if err := h.in.Encode(o); err != nil {
		h.t.Fatalf("the house is gone: %v", err)
	}
}

// next is the next report.
func (h *house) next() report {
	h.t.Helper()
	select {
	case r, ok := <-h.reports:
		if !ok {
			h.t.Fatal("the house is gone")
		}
		return r
	case <-time.After(patience):
		h.t.Fatal("nothing heard from the house")
	}
	return report{}
}

// wants checks the next report.
func (h *house) wants(what, text string, number uint64) {
	h.t.Helper()
	if r := h.next(); r.What != what || r.Text != text || r.Number != number {
		h.t.Errorf("the house reports %+v, want %s %s %d", r, what, text, number)
	}
}

// counts asks what the guard refused and how the actor fared.
func (h *house) counts() report {
	h.t.Helper()
	h.do(order{Do: "count"})
	r := h.next()
	if r.What != "counts" {
		h.t.Fatalf("the house reports %+v", r)
	}
	return r
}

// live is the life of a house.
func live(in io.Reader, out io.Writer) {
	var mu sync.Mutex
	encoder := json.NewEncoder(out)
	say := func(r report) {
		mu.Lock()
		defer mu.Unlock()
		encoder.Encode(r)
	}
	orders := json.NewDecoder(bufio.NewReader(in))
	var first order
	if orders.Decode(&first) != nil {
		return
	}
	var keys *Keys
	if first.Keys != "" {
		var err error
		if keys, err = ParseKeys([]byte(first.Keys)); err != nil {
			say(report{What: "failed", Text: err.Error()})
			return
		}
	}
	var gate *Gate
	if first.Gated {
		gate = NewGate()
	}
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
	r, err := StartRemote(system, RemoteOptions{Bind: first.Bind, Advertise: first.Say, Key: keys,
		Name: cmp.Or(first.Name, "house"), Gate: gate})
	if err != nil {
		say(report{What: "failed", Text: err.Error()})
		return
	}
	system.EventStream.Subscribe(func(e any) {
		if d, ok := e.(*actor.DeadLetterEvent); ok {
			if m, ok := d.Message.(*messages.Stored); ok {
				say(report{What: "dead letter", Text: d.PID.Address, Number: m.Seqs[0]})
			}
		}
	})
	tenant := &tenant{say: say}
	pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(tenant.receive), "slave")
	if err != nil {
		panic(err)
	}
	say(report{What: "at", Text: r.Address()})
	pids := map[string]*actor.PID{} // one PID for each address throughout, since a PID remembers how it was resolved
	for {
		var o order
		if orders.Decode(&o) != nil {
			break
		}
		if pids[o.To] == nil {
			pids[o.To] = actor.NewPID(o.To, "slave")
		}
		to := pids[o.To]
		switch o.Do {
		case "tell":
			system.Root.Send(to, &messages.Stored{Seqs: []uint64{o.Number}})
		case "ask", "watch":
			system.Root.Send(pid, &ask{watch: o.Do == "watch", whom: to, number: o.Number})
		case "burst":
			url := strings.Repeat("x", 6000)
			for i := range o.Number {
				system.Root.Send(to, &messages.LinkSet{Urls: []string{url}, Kinds: []byte{byte(i)}})
			}
		case "poison":
			system.Root.Poison(pid)
		case "admit":
			gate.admit(o.To, o.Who)
		case "expel":
			gate.expel(o.To, o.Who)
		case "count":
			system.Root.Send(pid, &count{r})
		}
	}
	r.Shutdown()
}

// tenant is the actor of a house.
type tenant struct {
	say              func(report)
	started, stopped int
	burst            uint64 // messages of a burst that came in order
}

type ask struct {
	watch  bool
	whom   *actor.PID
	number uint64
}

type count struct{ remote *Remote }

func (a *tenant) receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.started++
	case *actor.Stopping:
		a.stopped++
	case *ask:
		if m.watch {
			c.Watch(m.whom)
		}
		// behind the Watch: its answer means that this has arrived
		c.Request(m.whom, &messages.WorkRequested{Serial: m.number})
	case *messages.WorkRequested:
		c.Respond(&messages.TaskBatch{Serial: m.Serial})
	case *messages.TaskBatch:
		a.say(report{What: "answered", Text: c.Sender().GetAddress(), Number: m.Serial})
	case *messages.LinkSet:
		if m.Kinds[0] == byte(a.burst) {
			a.burst++
		}
		if a.burst == burst {
			a.say(report{What: "burst", Number: a.burst})
		}
	case *messages.Stored:
		a.say(report{What: "heard", Text: "Stored", Number: m.Seqs[0]})
	case *count:
		a.say(report{What: "counts", Refused: m.remote.Refused(), Started: a.started, Stopped: a.stopped})
	case *actor.Terminated:
		a.say(report{What: "terminated", Text: m.Who.GetAddress(), Number: uint64(m.Why)})
	case proto.Message:
		if _, ok := m.(actor.SystemMessage); !ok {
			a.say(report{What: "heard", Text: string(proto.MessageName(m))})
		}
	}
}

// burst is enough to fill several of remote's default batches of 1000 messages, 6 MB each.
const burst = 4000
