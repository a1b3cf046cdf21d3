package master

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"henro/actors/floor"
	"henro/actors/reading"
	"henro/store/fsync"
)

// SettingsOf returns the settings in options of a crawl.
func SettingsOf(o *Options) reading.Settings {
	m := reading.SettingsOf(&o.Hosts, o.Scope)
	m.ArchivesAll = !o.Fetch.HtmlOnly && len(o.Fetch.Languages)+len(o.Fetch.Obey) == 0
	return m
}

// Options are the options of the crawl, with S and C as they are now.
func (n *Node) Options() Options {
	o := n.o
	o.Hosts.Politeness.At = floor.Now()
	if r := n.seen.sent.Load(); r != nil {
		o.Hosts.Politeness.Servers, o.Hosts.Politeness.Connections = r.Servers, r.Connections
	}
	return o
}

// settings are the settings in force, with S and C as they are now.
func (n *Node) settings() *reading.Settings {
	m, now := n.o.defined.settings(), n.Options().Hosts.Politeness
	m.Politeness.Servers, m.Politeness.Connections, m.Politeness.At = now.Servers, now.Connections, now.At
	return &m
}

// writeJSON writes a file of the crawl's directory, whole or not at all even if the power fails, and has the other
// masters know it.
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
