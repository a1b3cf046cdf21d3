package config

import (
	"henro/actors/console"
	"henro/store/consensus"
)

// GroupFigures gives those of a master among several to Prometheus. Those of other masters are from when they were
// looked for last, so that a scrape waits for none of them.
func GroupFigures(figures func() consensus.Figures) func(console.Figures) {
	return func(to console.Figures) {
		f := figures()
		for _, role := range consensus.Roles {
			to.Is("henro_masters_role", "1 for what this master is among several.", f.Role == role, "role",
				string(role))
		}
		to.Gauge("henro_masters_term", "Term of the consensus of masters.", float64(f.Term))
		for entry, index := range map[string]uint64{"last": f.Last, "committed": f.Committed, "applied": f.Applied} {
			to.Gauge("henro_masters_log_index",
				"Index of the last entry that is in the log, that a majority has, and that the state has.",
				float64(index), "entry", entry)
		}
		to.Gauge("henro_masters_leader_silence_seconds",
			"Time since this master heard of the one that leads; 0 if it leads.", f.Silence.Seconds())
		to.Counter("henro_masters_leader_changes_total",
			"Times that another master led than before, since the start of this one.", f.LeaderChanges)
		to.Counter("henro_masters_checkpoints_total",
			"Checkpoints of the state, since the start: the log is cut there.", f.Checkpoints)
		for way, n := range map[string]uint64{"sent": f.Sent, "received": f.Received} {
			to.Counter("henro_masters_state_copies_total", "Copies of the whole state for masters that were new or "+
				"far behind, since the start: sent and received.", n, "way", way)
		}
		votes := 0
		for _, m := range f.Members {
			if m.Voter {
				votes++
			}
			to.Is("henro_masters_lost", "While this master leads: 1 for a master that does not answer.", m.Lost != "",
				"master", m.Name)
			if m.Lost == "" {
				to.Gauge("henro_masters_behind_entries",
					"While this master leads: entries that the state of a master lacks.", float64(m.Behind), "master",
					m.Name)
			}
		}
		if len(f.Members) > 0 {
			to.Gauge("henro_masters_votes", "While this master leads: masters with a vote.", float64(votes))
		}
	}
}
