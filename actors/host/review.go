package host

import (
	"cmp"
	"slices"

	"henro/actors/alias"
	"henro/actors/protocol"
	"henro/store"
	"henro/store/fingerprint"
)

// reviewKey names a review: a comparison of all pages that a host and another have both answered; or of those that the
// host answers itself, if it redirects.
type reviewKey struct {
	host, of  string
	redirects bool
}

// review goes with the questions for the pages, first of the host, then of the other. A Host may ask for a review of
// another host: the answers go to the Host of that.
type review struct {
	reviewKey
	pages map[string]store.Page // of the host, by path and query; nil: not read yet
}

// read takes the pages of one of the two hosts. It returns what was found, at most alias.ReviewedMost comparisons; over
// is false when the pages of the other are to be read, too.
func (r *review) read(m *protocol.RecordsFound) (found []alias.Comparison, over bool) {
	note := func(page *store.Page, agrees bool) {
		found = append(found, alias.Comparison{Other: r.of, Target: page.URL[len(m.Of):], Agrees: agrees,
			Redirects: r.redirects})
	}
	switch {
	case r.redirects:
		for i := range m.Pages {
			if answersItself(&m.Pages[i]) {
				note(&m.Pages[i], false)
			}
		}
	case r.pages == nil:
		r.pages = make(map[string]store.Page, len(m.Pages))
		for i := range m.Pages {
			r.pages[m.Pages[i].URL[len(m.Of):]] = m.Pages[i]
		}
		return nil, false
	default:
		texts := map[uint64]struct{}{} // a text that a host has under many paths agrees once
		for i := range m.Pages {
			other := &m.Pages[i]
			own := r.pages[other.URL[len(m.Of):]]
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
	slices.SortFunc(found, func(a, b alias.Comparison) int {
		return cmp.Or(cmp.Compare(fingerprint.URL(a.Target), fingerprint.URL(b.Target)),
			cmp.Compare(a.Target, b.Target))
	})
	return found[:min(len(found), alias.ReviewedMost)], true
}

type (
	// representatives goes along a chain of hosts with the question for whom each stands. A circle of them is to be
	// broken before pages wait for each other.
	representatives struct {
		hops   int
		others []string // hosts of the chain that stand for the next one by evidence, not by a person's word
	}
	// counterparts goes with the question for the pages that stand for those of an alias.
	counterparts struct{}
)

// mostRepresentatives bounds a chain of representatives, of which each is an alias of the next. A longer one is taken
// for a circle.
const mostRepresentatives = 16

// askRepresentative asks for whom the host at the far end of the chain stands.
func (a *aliases) askRepresentative(so *representatives, far string) {
	so.hops++
	a.send(Partition, &protocol.RecordsAsked{Host: a.name, Of: far, Notes: []string{BeliefsNote, OrderNote}, Tag: so})
}

// followRepresentatives takes the answer of a host of the chain. When the last stands for itself, or a person has said
// whom this host stands for, the pages are asked for. In a circle one host comes to stand for itself.
func (a *aliases) followRepresentatives(so *representatives, m *protocol.RecordsFound) {
	if a.asked == nil {
		return
	}
	next, evident := "", false
	var beliefs alias.Beliefs
	order, err := ReadOrder(m.Notes[OrderNote])
	switch {
	case err != nil || beliefs.UnmarshalBinary(m.Notes[BeliefsNote]) != nil:
	case order != nil:
		next = order.Of
	case a.o.Aliases == MapAliases:
		next, evident = beliefs.Of, true
	}
	if next != "" && evident {
		so.others = append(so.others, m.Of)
	}
	switch {
	case next != "" && next != a.name && so.hops < mostRepresentatives:
		a.askRepresentative(so, next)
	case next != "" && a.order == nil && alias.Breaks(a.name, so.others):
		before := a.of()
		a.beliefs.Refute(a.name, a.now)
		a.writeBeliefs(before, true)
	default:
		asked := &protocol.RecordsAsked{Host: a.name, Of: a.of(), Tag: &counterparts{}}
		for url := range a.asked {
			asked.URLs = append(asked.URLs, url)
		}
		a.send(Partition, asked)
	}
}
