package config

import (
	"github.com/prometheus/client_golang/prometheus"

	"henro/actors/console"
	"henro/store/consensus"
)

var (
	mastersRole = console.Described("henro_masters_role", "1 for what this master is among several.", "role")
	mastersTerm = console.Described("henro_masters_term", "Term of the consensus of masters.")
	mastersLog  = console.Described("henro_masters_log_index",
		"Index of the last entry that is in the log, that a majority has, and that the state has.", "entry")
	mastersSilence = console.Described("henro_masters_leader_silence_seconds",
		"Time since this master heard of the one that leads; 0 if it leads.")
	mastersChanges = console.Described("henro_masters_leader_changes_total",
		"Times that another master led than before, since the start of this one.")
	mastersCheckpoints = console.Described("henro_masters_checkpoints_total",
		"Checkpoints of the state, since the start: the log is cut there.")
	mastersCopies = console.Described("henro_masters_state_copies_total",
		"Copies of the whole state for masters that were new or far behind, since the start: sent and received.", "way")
	mastersBehind = console.Described("henro_masters_behind_entries",
		"While this master leads: entries that the state of a master lacks.", "master")
	mastersLost = console.Described("henro_masters_lost",
		"While this master leads: 1 for a master that does not answer.", "master")
	mastersVotes     = console.Described("henro_masters_votes", "While this master leads: masters with a vote.")
	mastersCollected = []*prometheus.Desc{mastersRole, mastersTerm, mastersLog, mastersSilence, mastersChanges,
		mastersCheckpoints, mastersCopies, mastersBehind, mastersLost, mastersVotes}
)

// GroupMetrics are those of a master among several.
type GroupMetrics struct{ figures func() consensus.Figures }

// NewGroupMetrics gives figures to Prometheus. Those of other masters are from when they were looked for last, so that
// a scrape waits for none of them.
func NewGroupMetrics(figures func() consensus.Figures) *GroupMetrics { return &GroupMetrics{figures} }

func (*GroupMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range mastersCollected {
		to <- d
	}
}

func (g *GroupMetrics) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	one := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	f := g.figures()
	for _, role := range consensus.Roles {
		gauge(mastersRole, one(f.Role == role), string(role))
	}
	gauge(mastersTerm, float64(f.Term))
	gauge(mastersLog, float64(f.Last), "last")
	gauge(mastersLog, float64(f.Committed), "committed")
	gauge(mastersLog, float64(f.Applied), "applied")
	gauge(mastersSilence, f.Silence.Seconds())
	counter(mastersChanges, f.LeaderChanges)
	counter(mastersCheckpoints, f.Checkpoints)
	counter(mastersCopies, f.Sent, "sent")
	counter(mastersCopies, f.Received, "received")
	votes := 0
	for _, m := range f.Members {
		if m.Voter {
			votes++
		}
		gauge(mastersLost, one(m.Lost != ""), m.Name)
		if m.Lost == "" {
			gauge(mastersBehind, float64(m.Behind), m.Name)
		}
	}
	if len(f.Members) > 0 {
		gauge(mastersVotes, float64(votes))
	}
}
