package partition

import (
	"strings"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// spareCopies takes candidates out of a Write that are copies: links of a page whose main text another page had first,
// if all its links lead where those of that page lead, and the counterpart of the link is known there, with as many
// links left to follow. Seeds are followed whatever their text is.
//
// What is known is on disk and is visited, or given up, by itself: so a copy that is left out is lost only if it is
// another page than its counterpart.
func (p *Partition) spareCopies(m *protocol.Write) *protocol.Write {
	firsts, err := p.disk.FirstPages(m.Visits)
	if err != nil { // the commit meets the damage
		return m
	}
	copies := make([]bool, len(m.Candidates))
	for i := range m.Visits {
		if v := &m.Visits[i]; firsts[i] != "" && !v.Retry && v.Page.Depth > 0 && v.Page.Number > 0 {
			p.findCopies(copies, m.Candidates, v, firsts[i])
		}
	}
	spared := *m
	spared.Candidates = nil
	for i := range m.Candidates {
		if copies[i] {
			spared.Totals.Skipped[admission.Copy]++
		} else {
			spared.Candidates = append(spared.Candidates, m.Candidates[i])
		}
	}
	return &spared
}

// findCopies finds the candidates that are copies, of the links of one page.
func (p *Partition) findCopies(copies []bool, all []store.Candidate, v *store.Visited, first string) {
	host := weburl.HostOf(first)
	owner := p.state.Partitions[p.intake.outbox.ownerOf(host)]
	links, err := owner.Links.Of(store.IDOf(host), fingerprint.URL(first))
	if err != nil || !sameLinks(v, first, links) {
		return
	}
	var at []int
	var there []store.Candidate
	for i := range all {
		c := &all[i]
		if c.From != v.Page.Number || c.Requisite > 0 {
			continue
		}
		if to := Counterpart(v.Page.URL, first, c.URL); to != c.URL {
			counterpart := *c
			counterpart.URL, counterpart.Host = to, host
			at, there = append(at, i), append(there, counterpart)
		}
	}
	held, err := owner.Holds(there)
	if err != nil {
		return
	}
	for i, held := range held {
		copies[at[i]] = held
	}
}

// sameLinks reports whether the links of a page are the counterparts of these links of another, and no more or less.
func sameLinks(v *store.Visited, first string, links []outlink.Outlink) bool {
	leads := make(map[string]bool, len(links))
	for i := range links {
		leads[links[i].URL] = false
	}
	found := 0
	for i := range v.Links {
		to := Counterpart(v.Page.URL, first, v.Links[i].URL)
		seen, ok := leads[to]
		if !ok {
			return false
		}
		if !seen {
			leads[to] = true
			found++
		}
	}
	return found == len(leads)
}

// Counterpart is the URL that stands to one page as another URL stands to its copy: the host and the folders in which
// the URLs of both pages differ are replaced. A URL outside of these folders is its own counterpart.
func Counterpart(page, first, url string) string {
	host, firstHost := len(weburl.HostOf(page)), len(weburl.HostOf(first))
	same, end := 0, 0 // bytes at the end of both; of these, whole segments
	for same < len(page)-host && same < len(first)-firstHost && page[len(page)-1-same] == first[len(first)-1-same] {
		same++
		if page[len(page)-same] == '/' {
			end = same
		}
	}
	if rest, below := strings.CutPrefix(url, page[:len(page)-end]); below && strings.HasPrefix(rest, "/") {
		return first[:len(first)-end] + rest
	}
	return url
}
