package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"henro/actors/admission"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/scope"
	"henro/store"
	"henro/store/fsync"
)

// Settings are those by which a crawl treats hosts and pages. They are written to crawl.json at every start, so that a
// look into the directory later explains each decision by the settings that were in force.
type Settings struct {
	Continuous bool   `json:"continuous"`
	Relief     string `json:"relief"`
	// spans in nanoseconds; Connections are those that the crawl had when it ran last, Servers of a running one
	Politeness politeness.Options `json:"politeness"`
	Revisit    revisit.Options    `json:"revisit"`
	Admission  admission.Rules    `json:"admission"` // which links are taken
	Scope      scope.Options      `json:"scope"`     // without the seeds
	// every page of it that was captured has its record in an archive, since its first start
	ArchivesAll bool `json:"archives_all"`
}

// SettingsOf returns the settings in options of a crawl.
func SettingsOf(o *Options) Settings {
	h := &o.Hosts
	return Settings{Continuous: h.Continuous, Relief: h.Relief.String(), Politeness: h.Politeness, Revisit: h.Revisit,
		Admission: h.Admission, Scope: o.Scope}
}

func (n *Node) settings() *Settings {
	o := n.Options()
	m := SettingsOf(&o)
	f := n.o.Fetch
	m.ArchivesAll = !f.HtmlOnly && !f.ObeyNoindex && len(f.Languages)+len(f.Obey) == 0
	return &m
}

func settingsPath(dir string) string { return filepath.Join(dir, "crawl.json") }

// ReadSettings reads the settings of the crawl in a directory: the default one when none was left there.
func ReadSettings(dir string) (Settings, error) {
	o := DefaultOptions()
	m := SettingsOf(&o)
	err := readJSON(settingsPath(dir), &m)
	if err == nil {
		err = errors.Join(m.Politeness.Validate(), m.Revisit.Validate(), m.Admission.Validate())
	}
	if err != nil {
		return m, fmt.Errorf("read how the crawl goes from %s: %w", settingsPath(dir), err)
	}
	return m, nil
}

// AtRest are the settings of a crawl that is not running: S is all its hosts, C the connections that
// it had, or as many as are given.
func AtRest(state *store.State, dir string, connections int) (Settings, error) {
	m, err := ReadSettings(dir)
	if err != nil {
		return m, err
	}
	m.Politeness.Servers = 0
	for _, p := range state.Partitions {
		stats, err := p.Stats()
		if err != nil {
			return m, err
		}
		m.Politeness.Servers += int(stats.Hosts)
	}
	if connections > 0 {
		m.Politeness.Connections = connections
	}
	return m, nil
}

// write leaves the settings in the directory of the crawl. What it left out of its archive once is not there later.
func (m *Settings) write(dir string) error {
	if _, err := os.Stat(settingsPath(dir)); err == nil {
		before, err := ReadSettings(dir)
		m.ArchivesAll = m.ArchivesAll && err == nil && before.ArchivesAll
		if m.Politeness.Connections == 0 { // none yet
			m.Politeness.Connections = before.Politeness.Connections
		}
	}
	return writeJSON(settingsPath(dir), m)
}

// readJSON reads what writeJSON wrote; where there is no file, thing stays as it is.
func readJSON(path string, thing any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, thing)
}

// writeJSON writes a file, whole or not at all, whatever happens to the power.
func writeJSON(path string, thing any) error {
	data, err := json.MarshalIndent(thing, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return fsync.WriteFile(path, append(data, '\n'), 0o666)
}
