package reading

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"henro/actors/admission"
	"henro/actors/scope"
	"henro/messages/weburl"
)

// Definition is a crawl as crawl.json of its directory has it: what goes on when the directory is all that is given.
// Secrets, and what belongs to a machine (addresses, connections, logs), are not in it.
type Definition struct {
	Version int `json:"version"` // definitionVersion
	// every seed that the crawl was ever given, by URL
	Seeds []Seed `json:"seeds"`
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

// Seed is a URL to begin from.
type Seed struct {
	URL   weburl.URL `json:"url"`
	Depth int        `json:"depth"` // links followed from it; negative: without end
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

// DefinitionName is the file of a crawl's directory that says what the crawl is.
const DefinitionName = "crawl.json"

// ReadDefinition reads the definition of the crawl in a directory; of one that is new it is empty.
func ReadDefinition(dir string) (*Definition, error) {
	d := &Definition{Given: map[string][]string{}, InForce: defaultSettings()}
	path := filepath.Join(dir, DefinitionName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.Version = definitionVersion
		return d, nil
	}
	err := ReadJSON(path, d)
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

// Change notes that a setting has another value from now on.
func (d *Definition) Change(c SettingChange) {
	d.Changes = append(d.Changes[max(0, len(d.Changes)+1-changesKept):], c)
}

// Deepen gives the seeds that have the depth of the crawl another one.
func (d *Definition) Deepen(depth int) {
	for i := range d.Seeds {
		if d.Seeds[i].Depth == d.InForce.Admission.Depth {
			d.Seeds[i].Depth = depth
		}
	}
}

// Scope returns the rules of what belongs to the crawl.
func (d *Definition) Scope() (*scope.Scope, error) {
	rules, err := scope.New(d.InForce.Scope)
	if err != nil {
		return nil, err
	}
	urls := make([]weburl.URL, len(d.Seeds))
	for i, seed := range d.Seeds {
		urls[i] = seed.URL
	}
	return rules.With(urls...), nil
}

// Rules is a digest of the settings by which links are judged.
func (m *Settings) Rules() (string, error) {
	text, err := json.Marshal(struct {
		Scope     scope.Options
		Admission admission.Options
	}{m.Scope, m.Admission})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
