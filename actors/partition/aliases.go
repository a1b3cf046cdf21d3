package partition

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/alias"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// pairs are hosts that had the same text under the same path, each with the others: a text that is new on one of them
// is looked for on the others. They are in memory only: what is missed is found by the next agreement.
type pairs map[string][]string

// pairFound tells a Partition about hosts of which one is its own.
type pairFound struct{ host, other string }

// Bounds of pairs: hosts, and others of each. Evidence of more is not collected.
const (
	pairHosts  = 1 << 14
	pairOthers = 8
)

// add adds a pair, and reports whether it is new.
func (p pairs) add(host, other string) bool {
	others, known := p[host]
	if slices.Contains(others, other) || len(others) >= pairOthers || !known && len(p) >= pairHosts {
		return false
	}
	p[host] = append(others, other)
	return true
}

// takeOfAlias takes what is asked and found about hosts that are others under a second name.
func (p *Partition) takeOfAlias(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *protocol.CounterpartsAsked:
		p.findCounterparts(ctx, m)
	case *protocol.ReviewAsked:
		p.review(ctx, &review{asked: m})
	case *review:
		p.review(ctx, m)
	case *pairFound:
		p.pairs.add(m.host, m.other)
	}
}

// compare takes note of which texts of a commit other hosts have under the same path, and of which they have others.
func (p *Partition) compare(ctx actor.Context, texts []store.Text) {
	found := map[string][]alias.Comparison{}
	firsts := map[string]string{} // pages of this commit whose text another had first
	for i := range texts {
		if text := &texts[i]; text.First != "" {
			firsts[text.URL] = text.First
		}
	}
	note := func(own, other, target string, agrees bool) {
		representative := alias.Representative(own, other)
		c := alias.Comparison{Other: other, Target: target, Agrees: agrees}
		if representative == own {
			own, c.Other = other, own
		}
		found[own] = append(found[own], c)
	}
	for i := range texts {
		text := &texts[i]
		own := weburl.HostOf(text.URL)
		target := text.URL[len(own):]
		if text.First == "" {
			for _, other := range p.pairs[own] {
				if text.New && firsts[other+target] != text.URL && p.visited(other, target) {
					note(own, other, target, false)
				}
			}
			continue
		}
		other := weburl.HostOf(text.First)
		if other == own || text.First[len(other):] != target {
			continue
		}
		note(own, other, target, true)
		if p.pairs.add(own, other) && p.peers != nil {
			ctx.Send(p.peers[p.ownerOf(p.state, other)], &pairFound{other, own})
		}
	}
	for name, comparisons := range found {
		ctx.Send(p.hosts, &protocol.ToHost{Host: name, Message: &protocol.TextsCompared{Comparisons: comparisons}})
	}
}

// visited reports whether a host of any partition has answered a path, or has failed to.
func (p *Partition) visited(host, target string) bool {
	_, visited, _, err := p.state.Partitions[p.ownerOf(p.state, host)].Seen(host + target)
	return err == nil && visited
}

// restorePairs begins with the hosts of which there is evidence.
func (p *Partition) restorePairs(ctx actor.Context) {
	if err := EachAlias(p.disk, func(a *Alias) error {
		for i := range a.Hosts {
			other := a.Hosts[i].Host
			if a.Hosts[i].Redirects {
				continue
			}
			p.pairs.add(a.Host, other)
			ctx.Send(p.peers[p.ownerOf(p.state, other)], &pairFound{other, a.Host})
		}
		return nil
	}); err != nil {
		panic(fmt.Errorf("read the aliases: %w", err))
	}
}

// findCounterparts has the pages looked for that stand for those of an alias. Those that were not visited yet are left
// out.
func (p *Partition) findCounterparts(ctx actor.Context, m *protocol.CounterpartsAsked) {
	if owner := p.ownerOf(p.state, m.Of); owner != p.index {
		if p.peers != nil {
			ctx.Send(p.peers[owner], m)
		}
		return
	}
	if p.breaks(m) {
		ctx.Send(p.hosts, &protocol.ToHost{Host: m.Host, Message: &protocol.CounterpartsFound{Of: m.Of,
			Circular: true}})
		return
	}
	asked := &findPages{asker: p.hosts, host: m.Host, counterparts: m, pages: map[string]outlink.Hint{}}
	for _, url := range m.URLs {
		if _, visited, _, err := p.disk.Seen(url); err == nil && visited {
			asked.pages[url] = outlink.Hint{}
		}
	}
	if len(asked.pages) == 0 {
		ctx.Send(p.hosts, &protocol.ToHost{Host: m.Host, Message: &protocol.CounterpartsFound{Of: m.Of}})
		return
	}
	ctx.Send(p.finder, asked)
}

// review is a comparison of all pages of a host with those of another: first the pages of the host are read, in its
// Partition, then those of the other in its own.
type review struct {
	asked *protocol.ReviewAsked
	pages map[string]store.Page // of the host, by path and query; nil: not read yet
}

// of is the host whose pages are to be read.
func (r *review) of() string {
	if r.pages == nil {
		return r.asked.Host
	}
	return r.asked.Of
}

// review has the next pages of a review read, where they are.
func (p *Partition) review(ctx actor.Context, r *review) {
	if owner := p.ownerOf(p.state, r.of()); owner != p.index {
		if p.peers != nil {
			ctx.Send(p.peers[owner], r)
		}
		return
	}
	ctx.Send(p.finder, &findPages{asker: p.hosts, host: r.asked.Host, review: r})
}

// read takes the pages of a host. It returns the answer, or nothing when those of the other are to be read too.
func (r *review) read(pages []store.Page) *protocol.Reviewed {
	name := r.of()
	answer := &protocol.Reviewed{Of: r.asked.Of, Redirects: r.asked.Redirects}
	note := func(page *store.Page, agrees bool) {
		answer.Comparisons = append(answer.Comparisons, alias.Comparison{Other: r.asked.Of,
			Target: page.URL[len(name):], Agrees: agrees, Redirects: r.asked.Redirects})
	}
	switch {
	case r.asked.Redirects:
		for i := range pages {
			if host.AnswersItself(&pages[i]) {
				note(&pages[i], false)
			}
		}
	case r.pages == nil:
		r.pages = make(map[string]store.Page, len(pages))
		for i := range pages {
			r.pages[pages[i].URL[len(name):]] = pages[i]
		}
		return nil
	default:
		texts := map[uint64]struct{}{} // a text that a host has under many paths agrees once
		for i := range pages {
			other := &pages[i]
			own := r.pages[other.URL[len(name):]]
			_, again := texts[own.MainDigest]
			switch {
			case own.Status != 200 || own.SimHash == 0 || other.Reason != 0 ||
				(own.Flags|other.Flags)&store.Dropped != 0:
			case own.MainDigest != other.MainDigest:
				note(other, false)
			case !again:
				texts[own.MainDigest] = struct{}{}
				note(other, true)
			}
		}
	}
	slices.SortFunc(answer.Comparisons, func(a, b alias.Comparison) int {
		return cmp.Or(cmp.Compare(fingerprint.URL(a.Target), fingerprint.URL(b.Target)),
			cmp.Compare(a.Target, b.Target))
	})
	answer.Comparisons = answer.Comparisons[:min(len(answer.Comparisons), alias.ReviewedMost)]
	return answer
}

// mostRepresentatives bounds a chain of representatives, of which each is an alias of the next.
const mostRepresentatives = 16

// breaks reports whether the representatives of an alias lead back to it, so that their pages would wait for each
// other, and it is the one that stands for itself. A chain that is too long is taken for a circle.
func (p *Partition) breaks(m *protocol.CounterpartsAsked) bool {
	var others []string
	for next, hops := m.Of, 0; next != m.Host && hops < mostRepresentatives; hops++ {
		a, err := AliasOf(p.state.Partitions[p.ownerOf(p.state, next)], next)
		switch {
		case err != nil:
			return false
		case a.Order != nil:
			next = a.Order.Of
		case m.Mapped && a.Of != "":
			others, next = append(others, next), a.Of
		default:
			return false
		}
		if next == "" {
			return false
		}
	}
	return !m.Ordered && alias.Breaks(m.Host, others)
}

// counterparts says of pages whether they stand for those of an alias.
func counterparts(m *protocol.CounterpartsAsked, found map[string]*store.Entry) *protocol.CounterpartsFound {
	answer := &protocol.CounterpartsFound{Of: m.Of, Answers: map[string]bool{}}
	for _, url := range m.URLs {
		if entry := found[url]; entry != nil {
			answer.Answers[url] = host.HasCounterpart(&entry.Page)
		}
	}
	return answer
}

// beliefsMeta is where the evidence that a host is an alias is kept, in its partition.
func beliefsMeta(name string) string { return fmt.Sprintf("alias/%016x", uint64(store.IDOf(name))) }

// orderMeta is where the word of a person is kept of whom a host stands for, in its partition.
func orderMeta(name string) string { return fmt.Sprintf("alias-order/%016x", uint64(store.IDOf(name))) }

// Alias is what is known of a host being another under a second name.
type Alias struct {
	Host string `json:"host"`
	alias.Beliefs
	Order *alias.Order `json:"order,omitempty"` // of a person, which overrules the beliefs
}

// AliasOf reads what is known of one host.
func AliasOf(disk *store.Partition, name string) (a Alias, err error) {
	a.Host = name
	b, err := disk.Meta(beliefsMeta(name))
	if err == nil {
		err = a.UnmarshalBinary(b)
	}
	if err == nil {
		b, err = disk.Meta(orderMeta(name))
	}
	if err == nil && len(b) > 0 {
		a.Order = &alias.Order{}
		err = json.Unmarshal(b, a.Order)
	}
	if err != nil {
		err = fmt.Errorf("aliases of %s: %w", name, err)
	}
	return a, err
}

// EachAlias calls fn for all hosts of a partition of which there is evidence, or the word of a person.
func EachAlias(disk *store.Partition, fn func(*Alias) error) error {
	known := map[store.HostID]struct{}{}
	for _, prefix := range []string{"alias/", "alias-order/"} {
		if err := disk.EachMeta(prefix, func(name string, _ []byte) error {
			var id uint64
			if _, err := fmt.Sscanf(name[len(prefix):], "%x", &id); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			known[store.HostID(id)] = struct{}{}
			return nil
		}); err != nil {
			return err
		}
	}
	for id := range known {
		record, err := disk.Host(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		var a Alias
		if err == nil {
			a, err = AliasOf(disk, record.Name)
		}
		if err == nil {
			err = fn(&a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
