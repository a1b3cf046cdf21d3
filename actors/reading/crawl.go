// Package reading is the reading room: what is known of a crawl, whether it runs or has ended, is read here.
//
// A Crawl is the state of one with the settings that are in force. Of a crawl that has ended AtRest reads these from
// its directory; of one that runs its master has them. The same question has the same answer either way: a page and a
// host and why they are visited when they are, why a URL is not, what pages lack, the report of the timetable. The
// state is read beside its writers, in short transactions or in one snapshot.
package reading

import (
	"errors"
	"os"
	"path/filepath"

	"henro/actors/known"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/store"
	"henro/store/report/tables"
)

// Crawl is a crawl that is open for reading.
type Crawl struct {
	Dir      string // its archive is below it
	State    *store.State
	Settings *Settings
	Scope    *scope.Scope // with all seeds; nil: whether a URL belongs to the crawl is not judged

	Unread error // why the settings, which are the defaults then, cannot be read; nil: they can

	Copied string // the folder of State, if that is a copy
}

// Open opens the crawl in a directory for reading; store.ErrInUse: a process runs it.
func Open(dir string) (*Crawl, error) {
	return open(dir, filepath.Join(dir, "state"), true)
}

// OpenToChange opens the crawl in a directory, or begins one there, so that it can be changed.
func OpenToChange(dir string) (*Crawl, error) {
	return open(dir, filepath.Join(dir, "state"), false)
}

func open(dir, path string, readOnly bool) (*Crawl, error) {
	o := store.DefaultOptions()
	o.ReadOnly = readOnly
	state, err := store.OpenState(path, o)
	if err != nil {
		return nil, err
	}
	c, err := AtRest(state, dir)
	if err == nil && !readOnly {
		err = c.Unread
	}
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return c, nil
}

// Tables are what the tables of the crawl are read from. Answers are kept beside it while it does not go on.
func (c *Crawl) Tables() *tables.Source {
	source := &tables.Source{State: c.State, Archive: filepath.Join(c.Dir, "warc"),
		Stops: func(disk *store.Partition, fn func(tables.Stop) error) error {
			return known.EachStop(disk, func(e stoplist.Entry) error { return fn(tables.Stop(e)) })
		}}
	if c.Copied == "" {
		source.Cache = filepath.Join(c.Dir, "cache")
	}
	return source
}

// AtRest is the crawl in a directory whose state is open and that is not running: S of its politeness is all its hosts,
// C the connections that it had.
func AtRest(state *store.State, dir string) (*Crawl, error) {
	d, err := ReadDefinition(dir)
	c := &Crawl{Dir: dir, State: state}
	if err == nil {
		c.Scope, err = d.Scope()
	}
	if c.Unread = err; err != nil {
		d = &Definition{InForce: defaultSettings()}
	}
	c.Settings = &d.InForce
	c.Settings.Politeness.Servers = 0
	for _, p := range state.Partitions {
		stats, err := p.Stats()
		if err != nil {
			return nil, err
		}
		c.Settings.Politeness.Servers += int(stats.Hosts)
	}
	return c, nil
}

// Close closes the state; there may be no Crawl.
func (c *Crawl) Close() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.State.Close(), os.RemoveAll(c.Copied))
}

// disk is the partition that has a host.
func (c *Crawl) disk(host string) *store.Partition {
	return c.State.Partitions[c.State.PartitionOf(host)]
}
