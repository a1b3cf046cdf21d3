package master

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"henro/actors/partition"
	"henro/actors/reading"
	"henro/store"
	"henro/store/fsync"
)

// Run is what several masters know of the run under way, so that one of them can go on where another died. A run goes
// from the start of the crawl, or from its resumption, to its end.
type Run struct {
	Begun  time.Time `json:"begun"`  // zero: at the start of this master
	Before uint64    `json:"before"` // visits before it
	Paused bool      `json:"paused"`
	End    End       `json:"end"`  // why it is ending; empty: it is not
	Over   bool      `json:"over"` // it has ended
	// the boot of each slave that is to be lent nothing, by its name
	Drained map[string]string `json:"drained,omitempty"`
}

// RunName is the file in which a Run is kept.
const RunName = "run.json"

// SharedFiles are the files of the crawl's directory from which a master that takes over goes on.
var SharedFiles = [...]string{reading.DefinitionName, roundsName}

// runAsked is a question to the Master, which answers with a Run: whether it is paused, its end, and drained slaves.
type runAsked struct{}

// WriteShared puts SharedFiles into a directory as the state has them, which meta reads.
func WriteShared(dir string, meta func(name string) ([]byte, error)) error {
	for _, name := range SharedFiles {
		kept, err := meta(KeptName(name))
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if here, err := os.ReadFile(path); kept == nil || err == nil && bytes.Equal(here, kept) {
			continue
		}
		if err := fsync.WriteFile(path, kept, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// BeginRun is a run that begins now.
func BeginRun(state *store.State) (Run, error) {
	totals, err := partition.TotalsOf(state)
	return Run{Begun: time.Now(), Before: totals.Visits()}, err
}

// visited is how many visits the run has had.
func (r *Run) visited(state *store.State) (uint64, error) {
	if r.Begun.IsZero() {
		return 0, nil
	}
	totals, err := partition.TotalsOf(state)
	return totals.Visits() - min(r.Before, totals.Visits()), err
}

// KeptName is where the state keeps a file of the crawl's directory for all masters.
func KeptName(file string) string { return "master/" + file }

// keepRun has the other masters know how the run stands.
func (m *Master) keepRun() {
	status := m.course.Status()
	m.o.Run.Paused, m.o.Run.End = status.State == Paused, status.End
	m.o.Run.Drained = m.desk.Drained()
	if m.o.Keep == nil {
		return
	}
	if err := m.o.writeJSON(RunName, &m.o.Run); err != nil {
		m.log.WithField("err", err).Error("the other masters cannot be told how the run stands")
	}
}

func (o *Options) others() map[string]string {
	if o.Others == nil {
		return nil
	}
	return o.Others()
}
