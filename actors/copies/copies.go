// Package copies leaves out links of pages whose main text another page had first.
//
// A link is left out if all links of its page lead where those of that page lead, and its counterpart is known there,
// with as many links left to follow. What is known is on disk and is visited, or given up, by itself: so a link that is
// left out is lost only if it leads to another page than its counterpart. Seeds are followed whatever their text is.
package copies

import (
	"slices"
	"strings"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Sieve takes links that are left out away from what the Partitions are to write.
func Sieve(state *store.State) func(*protocol.Write) *protocol.Write {
	return func(w *protocol.Write) *protocol.Write {
		if len(w.Visits) == 0 || len(w.Candidates) == 0 {
			return w
		}
		firsts, err := state.Partitions[0].FirstPages(w.Visits) // of all partitions
		if err != nil {                                         // the commit meets the damage
			return w
		}
		sifted := *w
		for i := range w.Visits {
			if v := &w.Visits[i]; firsts[i] != "" && !v.Retry && v.Page.Depth > 0 && v.Page.Number > 0 {
				sifted.Candidates = sift(state, sifted.Candidates, v, firsts[i])
			}
		}
		sifted.Totals.Skipped[admission.Copy] += uint64(len(w.Candidates) - len(sifted.Candidates))
		return &sifted
	}
}

// sift returns the candidates without those that are copies, of the links of one page.
func sift(state *store.State, all []store.Candidate, v *store.Visited, first string) (left []store.Candidate) {
	host := weburl.HostOf(first)
	owner := state.Partitions[state.PartitionOf(host)]
	links, err := owner.Links.Of(store.IDOf(host), fingerprint.URL(first))
	if err != nil || !sameLinks(v, first, links) {
		return all
	}
	there := slices.Clone(all)
	for i := range there {
		there[i].URL, there[i].Host = Counterpart(v.Page.URL, first, all[i].URL), host
	}
	held, err := owner.Holds(there)
	if err != nil {
		return all
	}
	for i := range all {
		if c := &all[i]; !held[i] || c.From != v.Page.Number || c.Requisite > 0 || there[i].URL == c.URL {
			left = append(left, *c)
		}
	}
	return left
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
