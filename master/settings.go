package master

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/host"
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
	Admission  admission.Rules    `json:"admission"`  // which links are taken
	Scope      scope.Options      `json:"scope"`      // without the seeds
	Aliases    bool               `json:"aliases"`    // hosts that are others under a second name are not visited
	SkipLinks  bool               `json:"skip_links"` // of pages whose text another had first
	// every page of it that was captured has its record in an archive, since its first start
	ArchivesAll bool `json:"archives_all"`
}

// SettingsOf returns the settings in options of a crawl.
func SettingsOf(o *Options) Settings {
	h := &o.Hosts
	return Settings{Continuous: h.Continuous, Relief: h.Relief.String(), Politeness: h.Politeness, Revisit: h.Revisit,
		Admission: h.Admission, Scope: o.Scope, Aliases: h.Aliases == host.MapAliases,
		SkipLinks: o.Partition.SkipLinks}
}

func (n *Node) settings() *Settings {
	o := n.Options()
	m := SettingsOf(&o)
	f := n.o.Fetch
	m.ArchivesAll = !f.HtmlOnly && !f.ObeyNoindex && len(f.Languages)+len(f.Obey) == 0
	return &m
}

const settingsName = "crawl.json"

func settingsPath(dir string) string { return filepath.Join(dir, settingsName) }

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
func (m *Settings) write(o *Options) error {
	if _, err := os.Stat(settingsPath(o.Dir)); err == nil {
		before, err := ReadSettings(o.Dir)
		m.ArchivesAll = m.ArchivesAll && err == nil && before.ArchivesAll
		if m.Politeness.Connections == 0 { // none yet
			m.Politeness.Connections = before.Politeness.Connections
		}
	}
	return o.writeJSON(settingsName, m)
}

// differences names the settings that are others, but for those that follow from how the crawl went.
func (m Settings) differences(other Settings) (names []string) {
	m.Politeness.Connections, m.Politeness.Servers, m.ArchivesAll = 0, 0, false
	other.Politeness.Connections, other.Politeness.Servers, other.ArchivesAll = 0, 0, false
	fields := func(thing any) (all map[string]json.RawMessage) {
		text, err := json.Marshal(thing)
		if err != nil || json.Unmarshal(text, &all) != nil {
			return nil // no object: it is compared as a whole
		}
		return all
	}
	theirs := fields(&other)
	for name, value := range fields(&m) {
		if bytes.Equal(value, theirs[name]) {
			continue
		}
		parts, before := fields(value), fields(theirs[name])
		if parts == nil || before == nil {
			names = append(names, name)
			continue
		}
		for part, value := range parts {
			if !bytes.Equal(value, before[part]) {
				names = append(names, name+"."+part)
			}
		}
	}
	slices.Sort(names)
	return names
}

// compareSettings warns of settings that differ from those of the master that led before this one.
func (n *Node) compareSettings(log *logrus.Entry) error {
	if _, err := os.Stat(settingsPath(n.o.Dir)); n.o.Keep == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	before, err := ReadSettings(n.o.Dir)
	if err != nil {
		return err
	}
	if names := n.settings().differences(before); len(names) > 0 {
		log.WithField("settings", strings.Join(names, ", ")).Warn("the settings of this master differ from those by " +
			"which the crawl was led before, and hold from now on: give all masters the same flags")
	}
	return nil
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

// writeJSON writes a file of the crawl's directory, whole or not at all, whatever happens to the power, and has the
// other masters know it.
func (o *Options) writeJSON(name string, thing any) error {
	path := filepath.Join(o.Dir, name)
	data, err := json.MarshalIndent(thing, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	data = append(data, '\n')
	if err := fsync.WriteFile(path, data, 0o666); err != nil || o.Keep == nil {
		return err
	}
	return o.Keep(name, data)
}
