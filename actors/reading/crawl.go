// Package reading is the reading room: what is known of a crawl, whether it runs or has ended, is read here.
//
// A Crawl is the state of one with the settings that are in force. Of a crawl that has ended AtRest reads these from
// its directory; of one that runs its master has them. The same question has the same answer either way: a page and a
// host and why they are visited when they are, why a URL is not, what pages lack, the report of the timetable. The
// state is read beside its writers, in short transactions or in one snapshot.
package reading

import (
	"henro/actors/scope"
	"henro/store"
)

// Crawl is a crawl that is open for reading.
type Crawl struct {
	Dir      string // its archive is below it
	State    *store.State
	Settings *Settings
	Scope    *scope.Rules // with all seeds; nil: whether a URL belongs to the crawl is not judged
}

// AtRest is the crawl in a directory whose state is open and that is not running: S of its politeness is all its hosts,
// C the connections that it had.
func AtRest(state *store.State, dir string) (*Crawl, error) {
	d, err := ReadDefinition(dir)
	if err != nil {
		return nil, err
	}
	c := &Crawl{Dir: dir, State: state, Settings: &d.InForce}
	if c.Scope, err = d.Scope(); err != nil {
		return nil, err
	}
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
	return c.State.Close()
}

// disk is the partition that has a host.
func (c *Crawl) disk(host string) *store.Partition {
	return c.State.Partitions[c.State.PartitionOf(host)]
}
