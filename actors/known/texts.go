package known

import (
	"fmt"
	"slices"
	"sync"

	"henro/actors/alias"
	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

// Texts takes note of which hosts have the same text under the same path, and of which they have others: evidence that
// one is the other under a second name. All Partitions of a crawl call it.
type Texts struct {
	state *store.State
	mu    sync.Mutex
	// hosts that had the same text under the same path, each with the others: a text that is new on one of them is
	// looked for on the others. They are in memory only: what is missed is found by the next agreement.
	pairs map[string][]string
}

// Bounds of the pairs: hosts, and others of each. Evidence of more is not collected.
const (
	pairHosts  = 1 << 16
	pairOthers = 8
)

// CompareTexts begins with the hosts of which there is evidence.
func CompareTexts(state *store.State) (*Texts, error) {
	t := &Texts{state: state, pairs: map[string][]string{}}
	for _, disk := range state.Partitions {
		if err := EachAlias(disk, func(a *Alias) error {
			for i := range a.Hosts {
				if !a.Hosts[i].Redirects {
					t.pair(a.Host, a.Hosts[i].Host)
				}
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("read the aliases: %w", err)
		}
	}
	return t, nil
}

// pair takes note of two hosts that had a text in common.
func (t *Texts) pair(a, b string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range 2 {
		others, known := t.pairs[a]
		if !slices.Contains(others, b) && len(others) < pairOthers && (known || len(t.pairs) < pairHosts) {
			t.pairs[a] = append(others, b)
		}
		a, b = b, a
	}
}

func (t *Texts) others(host string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.pairs[host])
}

// Committed returns what the texts of a commit show of which hosts.
func (t *Texts) Committed(texts []store.Text) (messages []*protocol.ToHost) {
	found := map[string][]alias.Comparison{}
	firsts := map[string]string{} // pages of this commit whose text another had first
	for i := range texts {
		if text := &texts[i]; text.First != "" {
			firsts[text.URL] = text.First
		}
	}
	note := func(own, other, target string, agrees bool) {
		if alias.Second(own, other) == other {
			own, other = other, own
		}
		found[own] = append(found[own], alias.Comparison{Other: other, Target: target, Agrees: agrees})
	}
	for i := range texts {
		text := &texts[i]
		own := weburl.HostOf(text.URL)
		target := text.URL[len(own):]
		if text.First == "" {
			for _, other := range t.others(own) {
				if text.New && firsts[other+target] != text.URL && t.visited(other, target) {
					note(own, other, target, false)
				}
			}
			continue
		}
		if other := weburl.HostOf(text.First); other != own && text.First[len(other):] == target {
			note(own, other, target, true)
			t.pair(own, other)
		}
	}
	for name, comparisons := range found {
		messages = append(messages, &protocol.ToHost{Host: name,
			Message: &protocol.TextsCompared{Comparisons: comparisons}})
	}
	return messages
}

// visited reports whether a host of any partition has answered a path, or has failed to.
func (t *Texts) visited(host, target string) bool {
	_, visited, _, err := t.state.Partitions[t.state.PartitionOf(host)].Seen.Get(host + target)
	return err == nil && visited
}
