// Package spans sends the visits of URLs to a collector of OpenTelemetry, as traces.
//
// It makes nothing up and sends nothing along: the messages that pass between actors anyway say what happens to a URL,
// and an observer of the tracer reads them in each process. What a trace is called follows from the URL and the lease
// under which it is visited, which master and slave both know; so the spans of several processes meet in one trace, and
// no message grows. A trace is one visit:
//
//	visit                     master   from the first time the URL was found, or lent, until the visit is on disk
//	├ admission               master   a Partition takes the URL in (of a first visit)
//	├ host queue              master   it waits until its host is lent (of a first visit)
//	└ lease                   master   from lending the host until the fact of the visit is back
//	  ├ turn                  slave    it waits for the host's interval, behind other pages of the lease
//	  ├ fetch                 slave    from dial to last byte
//	  ├ parse                 slave    links, digests and records, with the wait for a Parser
//	  └ archive               slave    until the capture is synced
//	└ commit                  master   from the fact to the transaction that holds it
//
// Pages that are followed inside a lease were never lent: their visit begins with the fetch.
//
// Invariants:
//   - only URLs are looked at that their fingerprint selects, one in Every, in every process the same;
//   - memory is bounded: lifeCount URLs are remembered and spanQueue spans wait for the collector, and what is beyond
//     is dropped;
//   - no actor waits: See does some map work under a lock, and the sending is the exporter's own goroutine.
package spans

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages"
	"henro/store"
	"henro/store/fingerprint"
)

// Options say where spans are sent, and of which URLs.
type Options struct {
	// of a collector that takes OTLP over HTTP: http://127.0.0.1:4318. Empty: nothing is sent, and nothing is looked at
	Endpoint string
	Every    int    // one URL in so many. Default 100: at 1,000 pages/s some 80 spans a second
	Node     string // name of this process
	Version  string
}

// DefaultOptions send nothing.
func DefaultOptions() Options { return Options{Every: 100} }

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	u, err := url.Parse(o.Endpoint)
	switch {
	case o.Endpoint == "":
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("OTLP endpoint %q: want http://HOST:PORT, as of a collector's port 4318", o.Endpoint)
	case o.Every < 1:
		return fmt.Errorf("one URL in %d: want 1, which is all, or more", o.Every)
	}
	return nil
}

// Bounds of one process. A URL that waits takes some 300 bytes, a span about a kilobyte.
const (
	lifeCount = 10_000
	spanQueue = 4096
	sendEvery = 2 * time.Second
	sendTime  = 10 * time.Second
)

// Spans is the telling of one process.
type Spans struct {
	o        Options
	tracer   *floor.Tracer
	provider *sdktrace.TracerProvider
	spans    trace.Tracer

	mu    sync.Mutex
	lives map[string]*life   // by URL
	facts map[uint64][]*life // by lease: those that are not on disk
}

// life is what is known in this process of a URL that is on its way.
type life struct {
	url        string
	lease, seq uint64
	posted     time.Time // the first candidate of it
	admitted   time.Time
	lent       time.Time
	tasked     time.Time // it came to the slave
	archiving  time.Time
	fact       time.Time // its fact came to the master
	visited    *messages.PageVisited
}

// Start begins to tell, until Close.
func Start(ctx context.Context, o Options, tracer *floor.Tracer, log *logrus.Entry) (*Spans, error) {
	// No proxy, whatever the environment says, and no redirect of the collector is followed.
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: sendTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint+"/v1/traces"),
		otlptracehttp.WithHTTPClient(client), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("tell traces to %s: %w", o.Endpoint, err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.WithField("err",
			err).Debug("traces were not told")
	}))
	s := &Spans{o: o, tracer: tracer, lives: map[string]*life{}, facts: map[uint64][]*life{}}
	s.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(spanQueue), sdktrace.WithBatchTimeout(sendEvery),
			sdktrace.WithExportTimeout(sendTime)),
		sdktrace.WithIDGenerator(named{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "henro"),
			attribute.String("service.instance.id", o.Node),
			attribute.String("service.version", o.Version))),
	)
	s.spans = s.provider.Tracer("henro")
	tracer.Observe(&floor.Observer{Wants: wants, See: s.see})
	return s, nil
}

// Close sends what is left, for as long as the context allows.
func (s *Spans) Close(ctx context.Context) error {
	s.tracer.Observe(nil)
	if err := s.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("tell the last traces: %w", err)
	}
	return nil
}

// Fetched is a message about a response that has come.
type Fetched interface {
	Lasted() (url string, lease uint64, began time.Time, took time.Duration)
}

func wants(message any) bool {
	switch message.(type) {
	case *protocol.Write, *protocol.PlantSeeds, *protocol.Lent, *messages.TaskBatch, Fetched, *archivist.Archive,
		*archivist.ArchivedBatch, *messages.Report, *protocol.FactsCommitted:
		return true
	}
	return false
}

// chosen reports whether a URL is one of those whose visits are sent.
func (s *Spans) chosen(url string) bool {
	return url != "" && (s.o.Every == 1 || fingerprint.URL(url)%uint64(s.o.Every) == 0)
}

// admit notes when URLs came to a Partition.
func (s *Spans) admit(candidates []store.Candidate, at floor.Handling) {
	for i := range candidates {
		if url := candidates[i].URL; s.chosen(url) && s.lives[url] == nil {
			l := s.remember(url)
			l.posted, l.admitted = at.Posted, at.Ended
		}
	}
}

// see takes a message in.
func (s *Spans) see(message any, at floor.Handling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.facts) > lifeCount {
		clear(s.facts) // of leases whose end was never reported
	}
	switch m := message.(type) {
	case *protocol.Write:
		s.admit(m.Candidates, at)
	case *protocol.PlantSeeds:
		s.admit(m.Candidates, at)
	case *protocol.Lent:
		for _, task := range m.Task.GetTasks() {
			if s.chosen(task.Url) {
				s.lend(task, m.Lease, m.Slave, at)
			}
		}
	case *messages.TaskBatch:
		for _, host := range m.Tasks {
			for _, task := range host.Tasks {
				if s.chosen(task.Url) {
					l := s.remember(task.Url)
					l.lease, l.tasked = host.Lease, at.Ended
				}
			}
		}
	case Fetched:
		s.fetched(m, at)
	case *archivist.Archive:
		floor.About(m, func(key, url string) bool {
			if l := s.lives[url]; key == "url" && l != nil {
				l.archiving = at.Posted
			}
			return true
		})
	case *archivist.ArchivedBatch:
		floor.About(m, func(key, url string) bool {
			if l := s.lives[url]; key == "url" && l != nil && !l.archiving.IsZero() {
				s.tell(l, "archive", "lease", l.archiving, at.Ended)
				l.archiving = time.Time{}
				if l.lent.IsZero() {
					delete(s.lives, url) // of a slave: the rest happens elsewhere
				}
			}
			return true
		})
	case *messages.Report:
		for _, fact := range m.Facts {
			if v := fact.GetVisited(); v != nil && s.chosen(v.Url) {
				s.report(fact, v, at)
			}
		}
	case *protocol.FactsCommitted:
		for _, stored := range m.Facts {
			s.stored(stored, at)
		}
	}
}

// remember is the life of a URL, a new one if there is none. When there are too many, any other is forgotten.
func (s *Spans) remember(url string) *life {
	if l := s.lives[url]; l != nil {
		return l
	}
	if len(s.lives) >= lifeCount {
		for other := range s.lives {
			delete(s.lives, other)
			break
		}
	}
	l := &life{url: url}
	s.lives[url] = l
	return l
}

func (s *Spans) lend(task *messages.Task, lease uint64, slave string, at floor.Handling) {
	l := s.remember(task.Url)
	l.lease, l.lent = lease, at.Ended
	if task.CapturedUnix != 0 || task.Attempts > 0 || l.admitted.IsZero() {
		l.posted = at.Posted // not its first visit, or admitted before this process was there
		return
	}
	s.tell(l, "admission", "visit", l.posted, l.admitted)
	s.tell(l, "host queue", "visit", l.admitted, l.lent, attribute.String("henro.slave", slave))
}

func (s *Spans) fetched(m Fetched, at floor.Handling) {
	url, lease, began, took := m.Lasted()
	if !s.chosen(url) {
		return
	}
	l := s.remember(url)
	if l.lease == lease && !l.tasked.IsZero() && began.After(l.tasked) {
		s.tell(l, "turn", "lease", l.tasked, began)
	}
	l.lease, l.tasked = lease, time.Time{}
	s.tell(l, "fetch", "lease", began, began.Add(took))
	s.tell(l, "parse", "lease", at.Posted, at.Ended)
}

func (s *Spans) report(fact *messages.Fact, v *messages.PageVisited, at floor.Handling) {
	l := s.remember(v.Url)
	if l.fact.IsZero() || l.lease != fact.Lease {
		if l.lease != fact.Lease || l.lent.IsZero() {
			l.lent = at.Posted.Add(-time.Duration(v.AgoNs)) // followed inside the lease
			l.posted = l.lent
		}
		l.lease, l.seq, l.fact, l.visited = fact.Lease, fact.Seq, at.Ended, v
		s.tell(l, "lease", "visit", l.lent, at.Ended, attribute.Int64("henro.lease", int64(fact.Lease)))
		s.facts[fact.Lease] = append(s.facts[fact.Lease], l)
	}
}

func (s *Spans) stored(m *protocol.FactsStored, at floor.Handling) {
	var left []*life
	for _, l := range s.facts[m.Lease] {
		if l.seq > m.Seq && !m.Closed {
			left = append(left, l)
			continue
		}
		s.tell(l, "commit", "visit", l.fact, at.Ended)
		s.tell(l, "visit", "", l.posted, at.Ended, attribute.String("url.full", l.url),
			attribute.Int("http.response.status_code", int(l.visited.Status)),
			attribute.String("henro.reason", l.visited.Reason.String()),
			attribute.Int64("http.response.body.size", int64(l.visited.BodyBytes)))
		if s.lives[l.url] == l {
			delete(s.lives, l.url)
		}
	}
	if delete(s.facts, m.Lease); len(left) > 0 {
		s.facts[m.Lease] = left
	}
}

// tell hands one span to the exporter. Its parent is another span of the trace; none: it is the root.
func (s *Spans) tell(l *life, name, parent string, from, to time.Time, attributes ...attribute.KeyValue) {
	id := identity{traceOf(l.url, l.lease), spanOf(l.url, l.lease, name)}
	ctx := context.WithValue(context.Background(), identityKey{}, id)
	if parent != "" {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id.trace, SpanID: spanOf(l.url, l.lease, parent), TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	_, span := s.spans.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attributes...))
	if name == "visit" && l.visited.Status == 0 {
		span.SetStatus(codes.Error, l.visited.Reason.String())
	}
	span.End(trace.WithTimestamp(to))
}

// identity is what a span is called.
type identity struct {
	trace trace.TraceID
	span  trace.SpanID
}

type identityKey struct{}

// named gives spans the names that were found for them.
type named struct{}

// NewIDs names a span without a parent.
func (named) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := ctx.Value(identityKey{}).(identity)
	return id.trace, id.span
}

// NewSpanID names a span with one.
func (named) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(identityKey{}).(identity).span
}

func traceOf(url string, lease uint64) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:], fingerprint.URL(url))
	binary.BigEndian.PutUint64(id[8:], lease)
	return id
}

func spanOf(url string, lease uint64, name string) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], fingerprint.URL(fmt.Sprint(url, " ", lease, " ", name)))
	return id
}
