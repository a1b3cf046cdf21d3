package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/scope"
	"henro/store"
	"henro/store/fsync"
)

// Settings are those by which a crawl treats hosts and pages, as they follow from what was given. They are part of its
// Definition, so that a look into the directory later explains each decision by the settings that were in force.
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
	m.ArchivesAll = !f.HtmlOnly && len(f.Languages)+len(f.Obey) == 0
	return &m
}

// ReadSettings reads the settings of the crawl in a directory: the default ones when none were left there.
func ReadSettings(dir string) (Settings, error) {
	d, err := ReadDefinition(dir)
	if err != nil {
		o := DefaultOptions()
		return SettingsOf(&o), err
	}
	return d.InForce, nil
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
