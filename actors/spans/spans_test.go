package spans

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"henro/actors/actortest"
	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages"
	"henro/store"
)

// receiver is a collector on a socket.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
	node  map[*otlp.Span]string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{node: map[*otlp.Span]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body := q.Body
		if q.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		data, err := io.ReadAll(body)
		var told collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(data, &told)
		}
		if err != nil || q.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", q.URL, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, of := range told.ResourceSpans {
			node := ""
			for _, a := range of.Resource.Attributes {
				if a.Key == "service.instance.id" {
					node = a.Value.GetStringValue()
				}
			}
			for _, scope := range of.ScopeSpans {
				for _, span := range scope.Spans {
					r.spans, r.node[span] = append(r.spans, span), node
				}
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// tree draws a trace: every span below its parent, in the order of their beginnings.
func (r *receiver) tree(t *testing.T) string {
	t.Helper()
	slices.SortStableFunc(r.spans,
		func(a, b *otlp.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	var b strings.Builder
	seen := 0
	var draw func(parent []byte, indent string)
	draw = func(parent []byte, indent string) {
		for _, span := range r.spans {
			if string(span.TraceId) != string(r.spans[0].TraceId) {
				t.Fatalf("%s is of another trace", span.Name)
			}
			if string(span.ParentSpanId) == string(parent) {
				seen++
				took := time.Duration(span.EndTimeUnixNano - span.StartTimeUnixNano)
				b.WriteString(indent + span.Name + " " + r.node[span] + " " + took.String() + "\n")
				draw(span.SpanId, indent+"  ")
			}
		}
	}
	draw(nil, "")
	if seen != len(r.spans) {
		t.Errorf("%d of %d spans hang on nothing", len(r.spans)-seen, len(r.spans))
	}
	return b.String()
}

const page = "http://a.test/p"

type tag struct{ URL string }

type parsed struct{ began time.Time }

func (p *parsed) Lasted() (string, uint64, time.Time, time.Duration) {
	return page, 7, p.began, 300 * time.Millisecond
}

// TestAVisitIsOneTraceOfTwoProcesses, told over a socket.
func TestAVisitIsOneTraceOfTwoProcesses(t *testing.T) {
	r := newReceiver(t)
	start := time.Now()
	at := func(posted, ended int) floor.Handling {
		moment := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
		return floor.Handling{Posted: moment(posted), Begun: moment(posted), Ended: moment(ended)}
	}
	begin := func(node string) *Spans {
		s, err := Start(t.Context(), Options{Endpoint: r.URL, Every: 1, Node: node},
			floor.NewTracer(floor.TracerOptions{Node: node}), actortest.Log())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	master, slave := begin("master"), begin("pc-01")
	task := &messages.HostTask{Lease: 7, Tasks: []*messages.Task{{Url: page}}}
	master.see(&protocol.Write{Candidates: []store.Candidate{{URL: page}}}, at(0, 1))
	master.see(&protocol.Write{Candidates: []store.Candidate{{URL: page}}}, at(50, 51)) // linked to once more
	master.see(&protocol.Lent{Lease: 7, Slave: "pc-01", Task: task}, at(99, 100))
	slave.see(&messages.TaskBatch{Tasks: []*messages.HostTask{task}}, at(109, 110))
	slave.see(&parsed{start.Add(200 * time.Millisecond)}, at(500, 510))
	slave.see(&archivist.Archive{Tag: &tag{page}}, at(510, 511))
	slave.see(&archivist.ArchivedBatch{Captures: []archivist.Archived{{Tag: &tag{page}}}}, at(599, 600))
	report := &messages.Report{Facts: []*messages.Fact{{Lease: 7, Seq: 3,
		Visited: &messages.PageVisited{Url: page, Status: 200}}}}
	master.see(report, at(610, 620))
	master.see(report, at(615, 625)) // it came twice
	master.see(&protocol.FactsCommitted{Facts: []*protocol.FactsStored{{Lease: 7, Seq: 2}}}, at(700, 701))
	master.see(&protocol.FactsCommitted{Facts: []*protocol.FactsStored{{Lease: 7, Seq: 3}}}, at(900, 920))
	for _, s := range []*Spans{master, slave} {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.lives)+len(s.facts) > 0 {
			t.Errorf("%s remembers %d lives and %d leases", s.o.Node, len(s.lives), len(s.facts))
		}
	}
	want := `visit master 920ms
  admission master 1ms
  host queue master 99ms
  lease master 520ms
    turn pc-01 90ms
    fetch pc-01 300ms
    parse pc-01 10ms
    archive pc-01 90ms
  commit master 300ms
`
	if got := r.tree(t); got != want {
		t.Errorf("the trace is\n%swant\n%s", got, want)
	}
}

func TestTracesAreNotSentElsewhere(t *testing.T) {
	elsewhere := newReceiver(t)
	var asked atomic.Int32
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		http.Redirect(w, q, elsewhere.URL+q.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer here.Close()
	tracer := floor.NewTracer(floor.TracerOptions{Node: "n"})
	s, err := Start(t.Context(), Options{Endpoint: here.URL, Every: 1, Node: "n"}, tracer, actortest.Log())
	if err != nil {
		t.Fatal(err)
	}
	id := identity{traceOf(page, 1), spanOf(page, 1, "visit")}
	_, span := s.spans.Start(context.WithValue(t.Context(), identityKey{}, id), "visit")
	span.End()
	_ = s.Close(t.Context()) // which may say that nobody took it
	elsewhere.mu.Lock()
	defer elsewhere.mu.Unlock()
	if asked.Load() == 0 || len(elsewhere.spans) > 0 {
		t.Errorf("the collector was asked %d times, another %d spans were told", asked.Load(), len(elsewhere.spans))
	}
}

func TestOneURLInSoManyIsRemembered(t *testing.T) {
	s := &Spans{o: Options{Every: 10}, lives: map[string]*life{}, facts: map[uint64][]*life{}}
	w := &protocol.Write{}
	for i := range 20_000 {
		w.Candidates = append(w.Candidates, store.Candidate{URL: page + strings.Repeat("x", i%50) +
			time.Duration(i).String()})
	}
	s.see(w, floor.Handling{})
	if n := len(s.lives); n < 1700 || n > 2300 {
		t.Errorf("%d of 20000 URLs are told", n)
	}
	s.o.Every = 1
	s.see(w, floor.Handling{})
	if n := len(s.lives); n != lifeCount {
		t.Errorf("%d URLs are remembered, want %d at most", n, lifeCount)
	}
}

// TestAnObserverSeesWhatItWants, of real actors, and nothing once it is gone; a collector that is not there holds
// nobody up.
func TestAnObserverSeesWhatItWants(t *testing.T) {
	tracer := floor.NewTracer(floor.TracerOptions{Node: "n"})
	system := floor.NewSystem("n", actortest.Log(), floor.SystemOptions{Tracer: tracer})
	defer system.Shutdown()
	s, err := Start(t.Context(), Options{Endpoint: "http://127.0.0.1:1", Every: 1, Node: "n"}, tracer, actortest.Log())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}, 10)
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*protocol.FactsCommitted); ok {
			done <- struct{}{}
		}
	}))
	system.Root.Send(pid, &protocol.Write{Candidates: []store.Candidate{{URL: page}}})
	system.Root.Send(pid, &protocol.FactsCommitted{})
	<-done
	s.mu.Lock()
	known := s.lives[page] != nil
	s.mu.Unlock()
	if !known {
		t.Error("a candidate was not seen")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Close(ended) // nobody takes it
	system.Root.Send(pid, &protocol.Write{Candidates: []store.Candidate{{URL: page + "/2"}}})
	system.Root.Send(pid, &protocol.FactsCommitted{})
	<-done
	if len(s.lives) != 1 {
		t.Errorf("%d lives after its end", len(s.lives))
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []Options{{Endpoint: "127.0.0.1:4318", Every: 1}, {Endpoint: "ftp://a.test", Every: 1},
		{Endpoint: "http://a.test:4318"}} {
		if o.Validate() == nil {
			t.Errorf("%+v is allowed", o)
		}
	}
	o := DefaultOptions()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}
