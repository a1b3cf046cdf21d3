package slave

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"henro/actors/console"
)

// FetchSeconds is the histogram of the time that visits take, for Options.Fetched.
func FetchSeconds() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "henro_slave_fetch_seconds", Help: "Time of one visit, from dial to last byte or to giving up.",
		Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60},
	})
}

var (
	slaveVisits = console.Described("henro_slave_visits_total", "Visits of this slave since its start.")
	slaveBytes  = console.Described("henro_slave_payload_bytes_total",
		"Payload that this slave received since its start.")
	slaveIdentical = console.Described("henro_slave_identical_payloads_total",
		"Answers since the start whose payload the archive held already; it was not stored again.")
	slaveIdenticalBytes = console.Described("henro_slave_identical_bytes_total", "Payload that was not stored again.")
	slaveLeases         = console.Described("henro_slave_leases", "Hosts that this slave holds.")
	slaveUnstored       = console.Described("henro_slave_unstored_facts",
		"Facts that the master has not acknowledged; fetching stops at a bound.")
	slaveWelcomed = console.Described("henro_slave_welcomed",
		"1 while a master is known that has welcomed this slave.")
	slaveCollected = []*prometheus.Desc{slaveVisits, slaveBytes, slaveIdentical,
		slaveIdenticalBytes, slaveLeases, slaveUnstored, slaveWelcomed}
)

// slaveMetrics are asked for when Prometheus asks.
type slaveMetrics struct{ api *API }

// Collector gives the figures of the slave to Prometheus.
func (a *API) Collector() prometheus.Collector { return &slaveMetrics{a} }

func (*slaveMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range slaveCollected {
		to <- d
	}
}

func (s *slaveMetrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := s.api.Counts(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(slaveWelcomed, err)
		return
	}
	welcomed := 0.0
	if c.Master != "" {
		welcomed = 1
	}
	to <- prometheus.MustNewConstMetric(slaveVisits, prometheus.CounterValue, float64(c.Visits))
	to <- prometheus.MustNewConstMetric(slaveBytes, prometheus.CounterValue, float64(c.Bytes))
	to <- prometheus.MustNewConstMetric(slaveIdentical, prometheus.CounterValue, float64(c.Identical))
	to <- prometheus.MustNewConstMetric(slaveIdenticalBytes, prometheus.CounterValue, float64(c.IdenticalBytes))
	to <- prometheus.MustNewConstMetric(slaveLeases, prometheus.GaugeValue, float64(c.Leases))
	to <- prometheus.MustNewConstMetric(slaveUnstored, prometheus.GaugeValue, float64(c.Unstored))
	to <- prometheus.MustNewConstMetric(slaveWelcomed, prometheus.GaugeValue, welcomed)
}
