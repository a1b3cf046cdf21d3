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

// Figures gives those of the slave to Prometheus. If it does not answer, the scrape lacks them.
func (a *API) Figures(f console.Figures) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := a.Counts(ctx)
	if err != nil {
		f.Fail(err)
		return
	}
	f.Counter("henro_slave_visits_total", "Visits of this slave since its start.", uint64(c.Visits))
	f.Counter("henro_slave_payload_bytes_total", "Payload that this slave received since its start.", uint64(c.Bytes))
	f.Counter("henro_slave_identical_payloads_total",
		"Answers since the start whose payload the archive held already; it was not stored again.", uint64(c.Identical))
	f.Counter("henro_slave_identical_bytes_total", "Payload that was not stored again.", uint64(c.IdenticalBytes))
	f.Gauge("henro_slave_leases", "Hosts that this slave holds.", float64(c.Leases))
	f.Gauge("henro_slave_unstored_facts",
		"Facts that the master has not acknowledged; fetching stops at a bound.", float64(c.Unstored))
	f.Is("henro_slave_welcomed", "1 while a master is known that has welcomed this slave.", c.Master != "")
}
