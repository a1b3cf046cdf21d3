package revisitsim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// Kept is a file of scores: a long comparison can be made in pieces, and what was simulated once is not simulated
// again. It knows nothing of the programs that made the scores: whoever changes a policy begins a new file.
type Kept struct {
	mu     sync.Mutex
	file   *os.File
	scores map[string]Score
	err    error
}

// keptScore is a line of the file.
type keptScore struct {
	Key   string
	Score Score
}

// OpenKept reads the scores of a file, which need not be there, and adds to it. A last line that was cut off is
// simulated again.
func OpenKept(path string) (*Kept, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("kept scores: %w", err)
	}
	k := &Kept{file: f, scores: map[string]Score{}}
	whole := int64(0)
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		var s keptScore
		if err != nil || json.Unmarshal(line, &s) != nil {
			break
		}
		k.scores[s.Key] = s.Score
		whole += int64(len(line))
	}
	if err := f.Truncate(whole); err != nil {
		return nil, fmt.Errorf("kept scores: %w", err)
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return nil, fmt.Errorf("kept scores: %w", err)
	}
	return k, nil
}

// Close closes the file.
func (k *Kept) Close() error { return k.file.Close() }

// score returns the score that is kept of a simulation, or simulates and keeps it.
func (k *Kept) score(o *Options, site *Site, e entry, budget float64) Score {
	if k == nil {
		return simulate(o, site, e, budget)
	}
	key := fmt.Sprint(e.name, " ", budget, " ", site.Name, " ", len(site.Pages), " ", site.Versions(), " ", site.Life(),
		" ", o.Seed, " ", o.Spacing, " ", o.Signals)
	k.mu.Lock()
	s, ok := k.scores[key]
	k.mu.Unlock()
	if ok {
		s.Class = site.Class
		return s
	}
	s = simulate(o, site, e, budget)
	line, err := json.Marshal(keptScore{key, s})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		_, err = k.file.Write(append(line, '\n'))
	}
	if err != nil && k.err == nil {
		k.err = fmt.Errorf("kept scores: %w", err)
	}
	return s
}

// failed returns why scores could not be kept.
func (k *Kept) failed() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
