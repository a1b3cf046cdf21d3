package console

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
)

// Metrics is what a process tells Prometheus. Labels are few and their values a closed set: never a host, a URL or an
// actor's name. docs/metrics.md explains each.
type Metrics struct {
	registry *prometheus.Registry
	reads    sync.Map // of *func(Figures)
}

// NewMetrics tells of the process and its actors; Register and Read add what its role knows.
func NewMetrics(version string, tracer *floor.Tracer, counts *floor.Counts) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.Register(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Read(func(f Figures) {
		f.Gauge("henro_build_info", "1, with the version of henro.", 1, "version", version)
		actorFigures(f, tracer, counts)
	})
	return m
}

// Register adds collectors. Two of one name are a mistake in the program.
func (m *Metrics) Register(all ...prometheus.Collector) { m.registry.MustRegister(all...) }

// Read has figures read whenever Prometheus asks, until end is called.
func (m *Metrics) Read(read func(Figures)) (end func()) {
	m.reads.Store(&read, nil)
	return func() { m.reads.Delete(&read) }
}

// Describe names nothing: figures are described where they are read, and compared with each other then.
func (*Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads all figures.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.reads.Range(func(read, _ any) bool {
		(*read.(*func(Figures)))(Figures{to})
		return true
	})
}

// Figures takes what is read. A label is its name and its value.
type Figures struct{ to chan<- prometheus.Metric }

// Gauge takes what may rise and fall.
func (f Figures) Gauge(name, help string, value float64, label ...string) {
	f.take(name, help, prometheus.GaugeValue, value, label)
}

// Is takes what is so, 1, or is not, 0.
func (f Figures) Is(name, help string, so bool, label ...string) {
	f.Gauge(name, help, map[bool]float64{true: 1}[so], label...)
}

// Counter takes what only rises.
func (f Figures) Counter(name, help string, value uint64, label ...string) {
	f.take(name, help, prometheus.CounterValue, float64(value), label)
}

// Fail says why what was to be read cannot be.
func (f Figures) Fail(err error) {
	f.to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

func (f Figures) take(name, help string, kind prometheus.ValueType, value float64, label []string) {
	n := len(label) / 2
	f.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, label[:n], nil), kind, value, label[n:]...)
}

// Routes of metrics:
//
//	GET /metrics   in the text format of Prometheus
func (m *Metrics) Routes(log *logrus.Entry) []Route {
	handler := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: log, MaxRequestsInFlight: 4})
	return []Route{{Pattern: "GET /metrics", Serve: handler.ServeHTTP}}
}

var handling = prometheus.NewDesc("henro_message_handling_seconds",
	"Time in an actor's hands of one message in 64, by kind.", []string{"kind"}, nil)

// actorFigures are read from the tracer when they are asked for: nothing is counted twice.
func actorFigures(f Figures, tracer *floor.Tracer, counts *floor.Counts) {
	for _, k := range tracer.Kinds() {
		f.Gauge("henro_actors", "Actors that live, by kind.", float64(k.Actors), "kind", k.Kind)
		f.Gauge("henro_mailbox_messages", "Messages that wait in mailboxes, by kind of actor.", float64(k.Queue),
			"kind", k.Kind)
		f.Gauge("henro_mailbox_longest_messages", "Messages that wait in the longest mailbox, by kind of actor.",
			float64(k.Longest), "kind", k.Kind)
		f.Counter("henro_messages_total", "Messages that actors began with, by kind.", k.Taken, "kind", k.Kind)
		buckets, below := make(map[float64]uint64, len(floor.HandlingBounds)), uint64(0)
		for i, bound := range floor.HandlingBounds {
			below += k.Handling.Buckets[i]
			buckets[bound] = below
		}
		f.to <- prometheus.MustNewConstHistogram(handling, k.Handling.Count, k.Handling.Sum.Seconds(), buckets, k.Kind)
	}
	f.Counter("henro_dead_letters_total", "Messages to actors that are not there.", counts.DeadLetters.Load())
	f.Counter("henro_unhandled_messages_total", "Messages that their receivers did not know.", counts.Unhandled.Load())
	f.Counter("henro_actor_restarts_total", "Actors restarted after a failure.", counts.Restarts.Load())
}
