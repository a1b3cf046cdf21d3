package partition

import (
	"henro/actors/floor"
	"henro/actors/groupcommit"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// intake takes URLs that were found into the state: those of this partition through the gate, those of others through
// the outbox.
type intake struct {
	steering *Steering
	index    int
	all      []*store.Partition
	bands    *bands // nil: no URL rises
	outbox   outbox
	group    *groupcommit.Group[turn] // into whose batch they go
	totals   *protocol.Totals
}

// take admits the candidates that are of this partition, and sends the others off in the batch. It returns the seeds
// that are known pages.
func (i *intake) take(candidates []store.Candidate, seeds bool) (known map[string]outlink.Hint) {
	known = map[string]outlink.Hint{}
	foreign := map[int][]store.Candidate{}
	for n := range candidates {
		c := &candidates[n]
		owner := i.outbox.ownerOf(c.Host)
		switch {
		case owner == i.index:
			i.admit(c, seeds)
			if seeds {
				if _, visited, _, err := i.all[owner].Seen.Get(c.URL); err == nil && visited {
					known[c.URL] = outlink.Hint{}
				}
			}
		case i.outbox.lacks(c):
			foreign[owner] = append(foreign[owner], *c)
		}
	}
	for owner, candidates := range foreign {
		i.group.Next.Send(owner, i.lacking(i.all[owner], candidates))
	}
	return known
}

// lacking returns the candidates that their owner does not have on disk yet, or that may rise there. Most links between
// hosts lead to known URLs, and a parcel is written twice and makes two partitions commit.
func (i *intake) lacking(owner *store.Partition, candidates []store.Candidate) []store.Candidate {
	held, err := owner.Holds(candidates)
	if err != nil { // its own actor meets the damage
		return candidates
	}
	lacking := candidates[:0]
	for n := range candidates {
		if i.bands != nil && !held[n] {
			i.bands.note(candidates[n].URL, candidates[n].Band)
		}
		if held[n] && (i.bands == nil || !i.bands.sends(&candidates[n], owner)) {
			i.outbox.Updated(&candidates[n])
		} else {
			lacking = append(lacking, candidates[n])
		}
	}
	return lacking
}

// visited takes in what a visit says of what URLs are worth.
func (i *intake) visited(v *store.Visited) {
	if i.bands != nil && v.Retry {
		i.bands.note(v.Page.URL, 0) // no better link makes the next trial earlier
	}
	if !v.Retry && v.Links != nil && v.Page.Timing.Visits == 0 {
		if i.steering.Ranks != nil {
			i.steering.Ranks.Read(fingerprint.URL(v.Page.URL), v.Links)
		}
		if i.steering.Collector != nil {
			i.steering.Collector.Collect(v.Page.URL, v.Links)
		}
	}
}

// admit adds a candidate to the batch, unless this batch or one before has the URL with as much depth left: most links
// lead to pages that other links of the same minute lead to, and a batch full of them has few visits.
func (i *intake) admit(c *store.Candidate, seed bool) {
	if i.outbox.lacks(c) {
		i.outbox.Updated(c)
		i.admitFirst(*c, seed)
	}
}

// admitFirst is admit without that look at what is in batches: it adds a candidate, unless the gate turns it away.
func (i *intake) admitFirst(c store.Candidate, seed bool) {
	if i.steering.Ranks != nil && c.Requisite == 0 {
		c.Band = i.steering.Ranks.Band(fingerprint.URL(c.URL), c.Depth, c.Priority)
	}
	noted := true
	if i.bands != nil {
		var was uint8
		if was, noted = i.bands.of(c.URL); noted {
			c.Rises = i.bands.rises(&c, was)
		}
	}
	if i.steering.Gate != nil && !i.pass(&c, seed) {
		return
	}
	if !noted && !i.known(&c) { // not what was noted and had to make room
		i.bands.note(c.URL, c.Band)
	}
	i.group.Next.Admit(c)
}

// pass has the gate judge a URL that is neither on disk nor on its way there.
func (i *intake) pass(c *store.Candidate, seed bool) bool {
	if c.Rises {
		i.steering.Gate.Raise(c)
		return true
	}
	fp := fingerprint.URL(c.URL)
	for _, t := range []*turn{i.group.Next, i.group.Storing} {
		if t != nil {
			if _, ok := t.accepted[fp]; ok {
				return true
			}
		}
	}
	if i.known(c) {
		return true
	}
	offered := i.steering.Gate.Offer(c, seed)
	if offered.Dropped {
		i.totals.Dropped++
		return false
	}
	if offered.Again {
		i.totals.Returned++
	}
	i.group.Next.accepted[fp] = store.IDOf(c.Host)
	return true
}

// known reports whether a URL is known on disk.
func (i *intake) known(c *store.Candidate) bool {
	_, _, known, err := i.all[i.index].Seen.Get(c.URL)
	floor.Need(err, "look whether a URL is known")
	return known
}
