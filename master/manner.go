package master

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"henro/actors"
	"henro/actors/politeness"
	"henro/actors/revisit"
)

// Manner is how a crawl treats hosts and pages. It is left in crawl.json at every start, so that whoever looks into the
// directory later explains what was done by the rules by which it was done.
type Manner struct {
	Continuous bool               `json:"continuous"`
	Relief     string             `json:"relief"`
	Politeness politeness.Options `json:"politeness"` // spans in nanoseconds
	Revisit    revisit.Options    `json:"revisit"`
}

// MannerOf returns the manner that options of hosts stand for.
func MannerOf(o *actors.HostOptions) Manner {
	return Manner{Continuous: o.Continuous, Relief: o.Relief.String(), Politeness: o.Politeness, Revisit: o.Revisit}
}

func (n *Node) manner() *Manner {
	m := MannerOf(&n.o.Hosts)
	return &m
}

func mannerPath(dir string) string { return filepath.Join(dir, "crawl.json") }

// ReadManner reads the manner of the crawl in a directory: the default one when none was left there.
func ReadManner(dir string) (Manner, error) {
	o := actors.DefaultHostOptions()
	m := MannerOf(&o)
	data, err := os.ReadFile(mannerPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err == nil {
		err = errors.Join(m.Politeness.Validate(), m.Revisit.Validate())
	}
	if err != nil {
		return m, fmt.Errorf("read how the crawl goes from %s: %w", mannerPath(dir), err)
	}
	return m, nil
}

// write leaves the manner in the directory of the crawl.
func (m *Manner) write(dir string) error { return writeJSON(mannerPath(dir), m) }

// writeJSON writes a file, whole or not at all.
func writeJSON(path string, thing any) error {
	data, err := json.MarshalIndent(thing, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
