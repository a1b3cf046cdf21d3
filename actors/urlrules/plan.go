package urlrules

import (
	"henro/store/fingerprint"
	"slices"
)

// Turn is when a URL that waits is best visited.
type Turn uint8

// The turns.
const (
	Evidence  Turn = iota // soon: it shows whether a rule holds of which too little is known
	Ordinary              // as it stands in line
	Suspected             // later: it is a page that was visited, if a rule holds that has some evidence
)

// promising is how many confirmations without a contradiction make a rule likely.
const promising = 2

// Promising reports whether a rule is applied, or has some evidence for and none against it.
func (s *Set) Promising() bool {
	return slices.ContainsFunc(s.rules, func(r Rule) bool { return r.Applied() || r.likely() })
}

func (r *Rule) likely() bool {
	return r.Person == "" && r.Contradicted == 0 && r.Confirmed >= promising
}

// Plan puts URLs that wait into an order in which rules are learnt early: pages are visited under a second form as soon
// as that is evidence, and otherwise once it is known whether the rule holds. It is used for one group of URLs.
type Plan struct {
	set    *Set
	wanted map[uint64]int     // evidence that is still to be had, by rule and value
	taken  map[place]struct{} // of URLs that were given a turn before
}

// Plan begins a group.
func (s *Set) Plan() *Plan { return &Plan{s, map[uint64]int{}, map[place]struct{}{}} }

// Turn says when the next URL of the group is best visited.
func (p *Plan) Turn(url string) Turn {
	u, whole, turn := split(url), fingerprint.URL(url), Ordinary
	places := []place{{url: whole}}
	for i := range p.set.rules {
		r := &p.set.rules[i]
		if r.Person != "" || r.Contradicted > 0 {
			continue
		}
		at, value := u.place(r, whole)
		if value != 0 {
			places = append(places, at)
		}
		other := p.set.table.other(at, value, uint32(whole)) != nil
		if !other {
			_, plain := p.taken[place{url: at.url}]
			_, same := p.taken[at]
			other = plain && value != 0 || same
		}
		if !other {
			continue
		}
		if p.wants(r, value) {
			turn = Evidence
			break
		}
		if r.likely() {
			turn = Suspected
		}
	}
	if turn != Suspected {
		for _, at := range places {
			p.taken[at] = struct{}{}
		}
	}
	return turn
}

// wants takes note that there is one piece of evidence more for a rule and a value, unless there is enough.
func (p *Plan) wants(r *Rule, value uint32) bool {
	key := uint64(r.id())<<32 | uint64(value)
	left, known := p.wanted[key]
	if !known {
		left = r.lacks(value)
	}
	p.wanted[key] = left - 1
	return left > 0
}

// lacks is how many confirmations a rule lacks, with a value if it is about values.
func (r *Rule) lacks(value uint32) int {
	lacks := int(r.Needs()) - int(r.Confirmed)
	if r.Kind != Parameter || r.passes(value) {
		return lacks
	}
	for _, v := range r.Values {
		if v.Hash == value {
			return max(lacks, int(r.first())-len(v.Texts))
		}
	}
	return max(lacks, int(r.first()))
}
