package master

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"henro/actors/scope"
	"henro/messages/weburl"
)

// keptSeeds are all seeds that a crawl was ever given, in seeds.json of its directory: they are the scope of the crawl
// when it is resumed without them. It is used by one goroutine at a time.
type keptSeeds struct {
	o     *Options
	known map[string]bool // URLs
}

// readSeeds reads the seeds of a crawl, none if it is new.
func readSeeds(o *Options) (*keptSeeds, error) {
	k := &keptSeeds{o: o, known: map[string]bool{}}
	var urls []string
	if err := readJSON(k.path(), &urls); err != nil {
		return nil, fmt.Errorf("read the seeds of the crawl from %s: %w", k.path(), err)
	}
	for _, url := range urls {
		k.known[url] = true
	}
	return k, nil
}

const seedsName = "seeds.json"

func (k *keptSeeds) path() string { return filepath.Join(k.o.Dir, seedsName) }

// widen lets rules reach what the seeds stand for.
func (k *keptSeeds) widen(rules *scope.Rules) (*scope.Rules, error) {
	var seeds []weburl.URL
	for _, raw := range slices.Sorted(maps.Keys(k.known)) {
		url, err := weburl.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.path(), err)
		}
		seeds = append(seeds, url)
	}
	return rules.With(seeds...), nil
}

// keep adds seeds, and waits until they are on the disk.
func (k *keptSeeds) keep(seeds []Seed) error {
	before := len(k.known)
	for _, seed := range seeds {
		k.known[seed.URL.String()] = true
	}
	if len(k.known) == before {
		return nil
	}
	return k.o.writeJSON(seedsName, slices.Sorted(maps.Keys(k.known)))
}
