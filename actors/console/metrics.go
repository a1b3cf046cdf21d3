package console

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
)

// Metrics is what a process tells Prometheus. Labels are few and their values a closed set: never a host, a URL or an
// actor's name. docs/metrics.md explains each.
type Metrics struct{ registry *prometheus.Registry }

// NewMetrics tells of the process and its actors; Register adds what its role knows.
func NewMetrics(version string, tracer *floor.Tracer, counts *floor.Counts) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "henro_build_info", Help: "1, with the version of henro.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.Register(build, &actorMetrics{tracer, counts}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Register adds collectors. Two of one name are a mistake in the program.
func (m *Metrics) Register(all ...prometheus.Collector) { m.registry.MustRegister(all...) }

// Unregister takes a collector out.
func (m *Metrics) Unregister(c prometheus.Collector) { m.registry.Unregister(c) }

// Routes of metrics:
//
//	GET /metrics   in the text format of Prometheus
func (m *Metrics) Routes(log *logrus.Entry) []Route {
	handler := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: log, MaxRequestsInFlight: 4})
	return []Route{{Pattern: "GET /metrics", Serve: handler.ServeHTTP}}
}

// Described makes a description without constant labels.
func Described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	actorsLive    = Described("henro_actors", "Actors that live, by kind.", "kind")
	actorsQueue   = Described("henro_mailbox_messages", "Messages that wait in mailboxes, by kind of actor.", "kind")
	actorsLongest = Described("henro_mailbox_longest_messages",
		"Messages that wait in the longest mailbox, by kind of actor.", "kind")
	actorsTaken    = Described("henro_messages_total", "Messages that actors began with, by kind.", "kind")
	actorsHandling = Described("henro_message_handling_seconds",
		"Time in an actor's hands of one message in 64, by kind.", "kind")
	actorsDead      = Described("henro_dead_letters_total", "Messages to actors that are not there.")
	actorsUnhandled = Described("henro_unhandled_messages_total", "Messages that their receivers did not know.")
	actorsRestarts  = Described("henro_actor_restarts_total", "Actors restarted after a failure.")
)

// actorMetrics are read from the tracer when they are asked for: nothing is counted twice.
type actorMetrics struct {
	tracer *floor.Tracer
	counts *floor.Counts
}

func (a *actorMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{actorsLive, actorsQueue, actorsLongest, actorsTaken, actorsHandling,
		actorsDead, actorsUnhandled, actorsRestarts} {
		to <- d
	}
}

func (a *actorMetrics) Collect(to chan<- prometheus.Metric) {
	for _, k := range a.tracer.Kinds() {
		to <- prometheus.MustNewConstMetric(actorsLive, prometheus.GaugeValue, float64(k.Actors), k.Kind)
		to <- prometheus.MustNewConstMetric(actorsQueue, prometheus.GaugeValue, float64(k.Queue), k.Kind)
		to <- prometheus.MustNewConstMetric(actorsLongest, prometheus.GaugeValue, float64(k.Longest), k.Kind)
		to <- prometheus.MustNewConstMetric(actorsTaken, prometheus.CounterValue, float64(k.Taken), k.Kind)
		buckets, below := make(map[float64]uint64, len(floor.HandlingBounds)), uint64(0)
		for i, bound := range floor.HandlingBounds {
			below += k.Handling.Buckets[i]
			buckets[bound] = below
		}
		to <- prometheus.MustNewConstHistogram(actorsHandling, k.Handling.Count, k.Handling.Sum.Seconds(), buckets,
			k.Kind)
	}
	for _, c := range []struct {
		desc *prometheus.Desc
		n    uint64
	}{
		{actorsDead, a.counts.DeadLetters.Load()}, {actorsUnhandled, a.counts.Unhandled.Load()},
		{actorsRestarts, a.counts.Restarts.Load()},
	} {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.n))
	}
}
