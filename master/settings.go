package master

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"henro/actors/reading"
	"henro/store"
	"henro/store/fsync"
)

// SettingsOf returns the settings in options of a crawl.
func SettingsOf(o *Options) reading.Settings {
	return reading.SettingsOf(&o.Hosts, o.Scope, o.Partition.SkipLinks)
}

// State is what is on disk, to be read beside the crawl.
func (n *Node) State() *store.State { return n.state }

// Options are those of the crawl, with S and C as they are now.
func (n *Node) Options() Options {
	o := n.o
	if r := n.resources.sent.Load(); r != nil {
		o.Hosts.Politeness.Servers, o.Hosts.Politeness.Connections = r.Servers, r.Connections
	}
	return o
}

func (n *Node) settings() *reading.Settings {
	o := n.Options()
	m := SettingsOf(&o)
	f := n.o.Fetch
	m.ArchivesAll = !f.HtmlOnly && len(f.Languages)+len(f.Obey) == 0
	return &m
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
