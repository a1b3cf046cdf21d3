package master

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/messages/weburl"
	"henro/store"
)

// seedsNamed bounds the seeds that a Status names.
const seedsNamed = 3

// addMissing adds those seeds that are not there at any depth.
func (d *definition) addMissing(seeds []reading.Seed) {
	known := make(map[weburl.URL]bool, len(d.Seeds))
	for _, seed := range d.Seeds {
		known[seed.URL] = true
	}
	d.Seeds = slices.Clip(d.Seeds)
	for _, seed := range seeds {
		if !known[seed.URL] {
			d.Seeds = append(d.Seeds, seed)
		}
	}
}

// definition is the definition of a crawl that runs. The Master and its Node use it.
type definition struct {
	o *Options

	mu sync.Mutex // for what is below
	reading.Definition
}

// openDefinition returns the definition of a crawl that runs by these settings from now on, and writes it down. If the
// rules for links are others than before, the links of known pages are judged again.
func openDefinition(o *Options, state *store.State, settings reading.Settings) (*definition, error) {
	before, err := reading.ReadDefinition(o.Dir)
	if err != nil {
		return nil, err
	}
	d := &definition{o: o, Definition: *before}
	if o.Definition != nil {
		d.Definition = *o.Definition
		d.addMissing(before.Seeds) // planted since it was made, when a crawl goes on in one process
	}
	rules, err := settings.Rules()
	if err != nil {
		return nil, err
	}
	if begun := before.Judged != ""; begun {
		// An archive that has left something out once does not have it all later.
		settings.ArchivesAll = settings.ArchivesAll && before.InForce.ArchivesAll
		settings.Politeness.Connections = before.InForce.Politeness.Connections // as the run before had them
		d.Judged = before.Judged
	} else {
		d.Judged = rules
	}
	d.InForce = settings
	if err := d.write(); err != nil || d.Judged == rules {
		return d, err
	}
	if err := d.judgeAgain(state); err != nil {
		return nil, err
	}
	d.Judged = rules
	return d, d.write()
}

// judgeAgain notes that the links of all known pages are to be judged again, and gives the seeds the depth that they
// have now. After a crash in the middle it is done again, which does no harm.
func (d *definition) judgeAgain(state *store.State) error {
	batches := make([]*store.Batch, len(state.Partitions))
	for i := range batches {
		batches[i] = store.NewBatch(time.Now())
		batches[i].Rejudge(0)
	}
	for _, seed := range d.Seeds {
		batches[state.PartitionOf(seed.URL.Host())].Admit(candidate(seed))
	}
	for i, p := range state.Partitions {
		if _, err := p.Commit(batches[i]); err != nil {
			return fmt.Errorf("have the links of known pages judged again: %w", err)
		}
		if err := renewRefused(p); err != nil {
			return fmt.Errorf("have the pages that were refused wait again: %w", err)
		}
	}
	return nil
}

// renewRefused has all pages wait again that were given up because of an exclude pattern or a portal. Those that are
// still excluded are given up again, without a request.
func renewRefused(p *store.Partition) error {
	refused := []string{admission.Excluded.String(), admission.Portal.String()}
	var entries []store.Entry
	for after, begun := store.Position(nil), false; !begun || after != nil; begun = true {
		var err error
		if entries, after, err = p.Pages.Visited(after, passed, entries[:0]); err != nil {
			return err
		}
		b := store.NewBatch(time.Now())
		for _, e := range entries {
			if e.Page.Flags&store.Dropped != 0 && slices.Contains(refused, e.Page.Says) {
				b.Renew(e.Position, e.Page)
			}
		}
		if _, err := p.Commit(b); err != nil {
			return err
		}
	}
	return nil
}

// passed is how many pages renewRefused looks at in one commit.
const passed = 4096

func (d *definition) write() error { return d.o.writeJSON(reading.DefinitionName, &d.Definition) }

// named are the first seeds, and how many there are.
func (d *definition) named() (first []string, all int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first = []string{}
	for _, kept := range d.Seeds[:min(seedsNamed, len(d.Seeds))] {
		first = append(first, kept.URL.String())
	}
	return first, len(d.Seeds)
}

// keep adds seeds and writes the definition. A seed that is there already gets the new depth.
func (d *definition) keep(seeds []reading.Seed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[weburl.URL]int, len(d.Seeds)+len(seeds))
	for _, kept := range d.Seeds {
		all[kept.URL] = kept.Depth
	}
	before := maps.Clone(all)
	for _, seed := range seeds {
		all[seed.URL] = seed.Depth
	}
	if maps.Equal(all, before) {
		return nil
	}
	d.Seeds = d.Seeds[:0]
	for url, depth := range all {
		d.Seeds = append(d.Seeds, reading.Seed{URL: url, Depth: depth})
	}
	slices.SortFunc(d.Seeds, func(a, b reading.Seed) int { return strings.Compare(a.URL.String(), b.URL.String()) })
	return d.write()
}

// settings are the settings in force.
func (d *definition) settings() reading.Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.InForce
}

// rest notes at the end with how many connections the crawl has run; 0: with none, and the number before stays.
func (d *definition) rest(connections int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.InForce.Politeness.Connections = cmp.Or(connections, d.InForce.Politeness.Connections)
	return d.write()
}
