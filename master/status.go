package master

import (
	"path/filepath"
	"time"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/master/course"
	"henro/master/forecast"
	"henro/master/lending"
	"henro/messages/speech"
)

// What a crawl is doing, and why it ended, are words of package course.
type (
	State = course.State
	End   = course.End
	Round = course.Round
)

// The states and the ends of a crawl.
const (
	Running = course.Running
	Paused  = course.Paused
	Deposed = course.Deposed
	Closed  = course.Closed
	Ending  = course.Ending
	Ended   = course.Ended

	Finished   = course.Finished
	PageLimit  = course.PageLimit
	TimeLimit  = course.TimeLimit
	SizeLimit  = course.SizeLimit
	Stopped    = course.Stopped
	DiskFull   = course.DiskFull
	StoreFault = course.StoreFault
	Damaged    = course.Damaged
)

// Status is how a crawl goes.
type Status struct {
	Dir       string                `json:"dir"`        // of the crawl, from the root
	Seeds     []string              `json:"seeds"`      // the first ones
	SeedCount int                   `json:"seed_count"` // how many there are
	State     State                 `json:"state"`
	End       End                   `json:"end,omitempty"`
	Totals    protocol.Totals       `json:"totals"`
	Hosts     uint64                `json:"hosts"`
	Waiting   uint64                `json:"waiting"` // URLs in the frontier
	Queued    uint64                `json:"queued"`  // known URLs with a timetable
	Due       int                   `json:"due"`     // of these, in line to be visited now
	Known     uint64                `json:"known"`   // URLs ever admitted
	Ready     int                   `json:"ready"`   // hosts that wait to be lent
	NextReady time.Time             `json:"next_ready,omitzero"`
	Opens     time.Time             `json:"opens,omitzero"` // when the hours of the crawl begin, outside of them
	Leases    int                   `json:"leases"`
	Tasks     int                   `json:"tasks,omitempty"`    // drawn in this run, under the policy thesis
	Frontier  *FrontierStatus       `json:"frontier,omitempty"` // without one, the Hosts take turns
	Slaves    []lending.SlaveStatus `json:"slaves"`
	// C, of all slaves that are there, and what part of it was in use in the last minutes: Σe/(C·τ)
	Connections int     `json:"connections"`
	Busy        float64 `json:"busy"`
	Memory      uint64  `json:"memory_bytes"` // of the master's process, as its runtime sees it
	Routines    int     `json:"goroutines"`
	Seconds     float64 `json:"seconds"` // of this run
	PerSecond   float64 `json:"pages_per_second"`
	// how many pages are whole, when that was counted last: at the end of a run, and while the dashboard shows it
	Whole *reading.Wholeness `json:"whole,omitempty"`
	// why nothing can be stored, or nothing is fetched though there is work
	Stalled speech.Sentence `json:"stalled,omitzero"`
	// how many hosts or slaves wait for what, when nothing is fetched; nothing when it is the state that stalls
	Stalls map[string]int `json:"stalls,omitempty"`
	// when it will have ended, and what bounds its pace; nothing: it has just begun
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	Round    *Round             `json:"round,omitempty"` // the latest round, of a crawl that goes in rounds
	// by the word of a cause, the latest visit that failed for it in this run
	Failures map[string]FailedVisit `json:"failures,omitempty"`
	// the first seeds of a crawl that has finished, if every seed of this run failed
	FailedSeeds []FailedVisit `json:"failed_seeds,omitempty"`
}

// status is how the crawl goes, by the latest survey.
func (m *Master) status() *Status {
	c := m.course.Status()
	s := Status{State: c.State, End: c.End, Totals: c.Totals, Hosts: c.Hosts, Waiting: c.Waiting, Queued: c.Queued,
		Due: c.Due, Known: c.Known, Opens: c.Opens, Leases: m.desk.OpenCount(), Tasks: m.drawn,
		Slaves: m.desk.Slaves(floor.Now()), Stalled: c.Stalled, Stalls: c.Stalls, Round: c.Round,
		Failures: m.latest.clone(), Whole: m.seen.whole.Load(), Seconds: time.Since(m.begun).Seconds()}
	if m.o.defined != nil {
		s.Seeds, s.SeedCount = m.o.defined.named()
		s.Dir, _ = filepath.Abs(m.o.Dir) // else it stays empty
	}
	s.Ready, s.NextReady = m.desk.Ready()
	s.Connections, s.Busy = m.desk.Connections()
	s.Memory, s.Routines = floor.Footprint()
	if m.frontier != nil {
		s.Frontier = m.frontier.status()
	}
	if s.Seconds > 0 {
		s.PerSecond = float64(s.Totals.Visits()-c.Earlier) / s.Seconds
	}
	if s.State == Running {
		s.Forecast = m.seen.forecast.Load()
	}
	return &s
}
