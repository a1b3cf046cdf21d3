package master

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"henro/actors/admission"
	"henro/actors/scope"
	"henro/messages/weburl"
	"henro/store"
)

// Definition is a crawl as crawl.json of its directory has it: what goes on when the directory is all that is given.
// Secrets, and what belongs to a machine (addresses, connections, logs), are not in it.
type Definition struct {
	Version int `json:"version"` // definitionVersion
	// every seed that the crawl was ever given, by URL
	Seeds []KeptSeed `json:"seeds"`
	// settings that are not the defaults, by the names of their flags, as these take them; a list has any number
	Given map[string][]string `json:"settings"`
	// names of settings that were given and are secrets
	Secrets []string `json:"secrets,omitempty"`
	// the latest last, changesKept at most
	Changes []SettingChange `json:"changes,omitempty"`
	// digest of the rules by which the links of known pages were judged; none: there is no page
	Judged  string   `json:"judged,omitempty"`
	InForce Settings `json:"in_force"` // what follows from the settings, for a look into the directory
}

// definitionVersion is that of crawl.json as this program writes it.
const definitionVersion = 1

// KeptSeed is a Seed as crawl.json has it.
type KeptSeed struct {
	URL   string `json:"url"`
	Depth int    `json:"depth"` // links followed from it; -1: without end
}

// SettingChange is one setting that was given another value when a crawl went on.
type SettingChange struct {
	At      time.Time `json:"at"`
	Setting string    `json:"setting"`
	From    []string  `json:"from"` // none: the default
	To      []string  `json:"to"`
}

// changesKept bounds the changes in crawl.json.
const changesKept = 1000

// seedsNamed bounds the seeds that a Status names.
const seedsNamed = 3

const definitionName = "crawl.json"

func definitionPath(dir string) string { return filepath.Join(dir, definitionName) }

// ReadDefinition reads the definition of the crawl in a directory; of one that is new it is empty.
func ReadDefinition(dir string) (*Definition, error) {
	o := DefaultOptions()
	d := &Definition{Given: map[string][]string{}, InForce: SettingsOf(&o)}
	path := definitionPath(dir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.Version = definitionVersion
		return d, nil
	}
	err := readJSON(path, d)
	if err == nil && d.Version == 0 {
		err = d.readUnversioned(dir)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read what the crawl is from %s: %w", path, err)
	case d.Version != definitionVersion:
		return nil, fmt.Errorf("%s has version %d, this henro reads %d: use the henro that wrote it", path, d.Version,
			definitionVersion)
	}
	m := &d.InForce
	if err := errors.Join(m.Politeness.Validate(), m.Revisit.Validate(), m.Admission.Validate()); err != nil {
		return nil, fmt.Errorf("read what the crawl is from %s: %w", path, err)
	}
	if d.Given == nil {
		d.Given = map[string][]string{}
	}
	return d, nil
}

// readUnversioned reads the files of a crawl that was begun before crawl.json had a version: the settings in force
// without what was given, and the seeds in seeds.json without their depths.
func (d *Definition) readUnversioned(dir string) (err error) {
	var urls []string
	if err = errors.Join(readJSON(definitionPath(dir), &d.InForce),
		readJSON(filepath.Join(dir, "seeds.json"), &urls)); err != nil {
		return err
	}
	for _, url := range urls {
		d.Seeds = append(d.Seeds, KeptSeed{URL: url, Depth: d.InForce.Admission.Depth})
	}
	d.Version = definitionVersion
	d.Judged, err = rulesOf(&d.InForce)
	return err
}

// Change notes that a setting has another value from now on.
func (d *Definition) Change(c SettingChange) {
	d.Changes = append(d.Changes[max(0, len(d.Changes)+1-changesKept):], c)
}

// addMissing adds those seeds that are not there at any depth.
func (d *Definition) addMissing(seeds []KeptSeed) {
	known := make(map[string]bool, len(d.Seeds))
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

// Deepen gives the crawl another depth, and the seeds that had the one before.
func (d *Definition) Deepen(depth int) {
	for i := range d.Seeds {
		if d.Seeds[i].Depth == d.InForce.Admission.Depth {
			d.Seeds[i].Depth = depth
		}
	}
}

// ParsedSeeds are the seeds as URLs.
func (d *Definition) ParsedSeeds() ([]Seed, error) {
	seeds := make([]Seed, 0, len(d.Seeds))
	for _, kept := range d.Seeds {
		url, err := weburl.Parse(kept.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: seed %q: %w", definitionName, kept.URL, err)
		}
		seeds = append(seeds, Seed{URL: url, Depth: kept.Depth})
	}
	return seeds, nil
}

// Rules are the rules of what belongs to the crawl.
func (d *Definition) Rules() (*scope.Rules, error) {
	seeds, err := d.ParsedSeeds()
	if err != nil {
		return nil, err
	}
	urls := make([]weburl.URL, len(seeds))
	for i, seed := range seeds {
		urls[i] = seed.URL
	}
	rules, err := scope.New(d.InForce.Scope)
	if err != nil {
		return nil, err
	}
	return rules.With(urls...), nil
}

// definition is that of a crawl which runs. It is used by the Master and by its Node.
type definition struct {
	o *Options

	mu sync.Mutex
	Definition
}

// openDefinition returns the definition of a crawl that runs by these settings from now on, and writes it down. Where
// the rules for links are others than before, what they take now of the links of known pages is visited too.
func openDefinition(o *Options, state *store.State, settings *Settings) (*definition, error) {
	before, err := ReadDefinition(o.Dir)
	if err != nil {
		return nil, err
	}
	d := &definition{o: o, Definition: *before}
	if o.Definition != nil {
		d.Definition = *o.Definition
		d.addMissing(before.Seeds) // planted since it was made, when a crawl goes on in one process
	}
	rules, err := rulesOf(settings)
	if err != nil {
		return nil, err
	}
	if begun := before.Judged != ""; begun {
		// What was left out of the archive once is not there later.
		settings.ArchivesAll = settings.ArchivesAll && before.InForce.ArchivesAll
		settings.Politeness.Connections = before.InForce.Politeness.Connections // of the run before
		d.Judged = before.Judged
	} else {
		d.Judged = rules
	}
	d.InForce = *settings
	if err := d.write(); err != nil || d.Judged == rules {
		return d, err
	}
	if err := d.judgeAgain(state); err != nil {
		return nil, err
	}
	d.Judged = rules
	return d, d.write()
}

// rulesOf is a digest of the settings by which links are judged.
func rulesOf(m *Settings) (string, error) {
	text, err := json.Marshal(struct {
		Scope     scope.Options
		Admission admission.Rules
	}{m.Scope, m.Admission})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// judgeAgain puts the links of all known pages down to be judged anew, and gives the seeds the depth that they have
// now. It may be done twice.
func (d *definition) judgeAgain(state *store.State) error {
	seeds, err := d.ParsedSeeds()
	if err != nil {
		return err
	}
	batches := make([]*store.Batch, len(state.Partitions))
	for i := range batches {
		batches[i] = store.NewBatch(time.Now())
		batches[i].Rejudge(0)
	}
	for _, seed := range seeds {
		batches[state.PartitionOf(seed.URL.Host())].Admit(seed.candidate())
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

// renewRefused has the pages wait again that were known when the crawl was told to leave them out. Those that it still
// leaves out are found out again, without a request.
func renewRefused(p *store.Partition) error {
	refused := []string{admission.Excluded.String(), admission.Portal.String()}
	var entries []store.Entry
	for after, begun := store.Position(nil), false; !begun || after != nil; begun = true {
		var err error
		if entries, after, err = p.Visited(after, passed, entries[:0]); err != nil {
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

func (d *definition) write() error { return d.o.writeJSON(definitionName, &d.Definition) }

// named are the first seeds, and how many there are.
func (d *definition) named() (first []string, all int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first = []string{}
	for _, kept := range d.Seeds[:min(seedsNamed, len(d.Seeds))] {
		first = append(first, kept.URL)
	}
	return first, len(d.Seeds)
}

// keep adds seeds, and waits until they are on the disk. One that is known has the depth given last.
func (d *definition) keep(seeds []Seed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]int, len(d.Seeds)+len(seeds))
	for _, kept := range d.Seeds {
		all[kept.URL] = kept.Depth
	}
	before := maps.Clone(all)
	for _, seed := range seeds {
		all[seed.URL.String()] = seed.Depth
	}
	if maps.Equal(all, before) {
		return nil
	}
	d.Seeds = d.Seeds[:0]
	for _, url := range slices.Sorted(maps.Keys(all)) {
		d.Seeds = append(d.Seeds, KeptSeed{URL: url, Depth: all[url]})
	}
	return d.write()
}

// rest notes with how many connections the crawl has run, and what it archives.
func (d *definition) rest(settings *Settings) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	settings.ArchivesAll = d.InForce.ArchivesAll
	if settings.Politeness.Connections == 0 { // none yet
		settings.Politeness.Connections = d.InForce.Politeness.Connections
	}
	d.InForce = *settings
	return d.write()
}
