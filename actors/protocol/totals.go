package protocol

import (
	"encoding/json"
	"maps"

	"henro/actors/admission"
	"henro/actors/politeness"
)

// Totals are totals of a crawl since it began, kept in the transaction of what they count.
type Totals struct {
	Pages      uint64 `json:"pages"`               // pages visited for the first time, with a response
	Redirects  uint64 `json:"redirects,omitempty"` // of these pages, those that lead to another
	Requisites uint64 `json:"requisites"`          // likewise requisites of pages: images, styles, scripts, frames …
	Revisits   uint64 `json:"revisits"`            // later visits with a response
	// of the later visits, those that found a significant change, and those that found none
	Changed   uint64 `json:"changed,omitempty"`
	Unchanged uint64 `json:"unchanged,omitempty"`
	Gone      uint64 `json:"gone,omitempty"` // visits in which a known page failed; known pages given up
	Links     uint64 `json:"links"`          // links found, those of a page at each of its visits
	Bytes     uint64 `json:"bytes"`          // payload as it came
	// Identical counts answers whose payload the archive held already, of whatever URL, and IdenticalBytes what was not
	// stored again
	Identical      uint64 `json:"identical,omitempty"`
	IdenticalBytes uint64 `json:"identical_bytes,omitempty"`
	StopListed     uint64 `json:"stop_listed"` // links not admitted because of the stop list, or of a portal
	OutOfScope     uint64 `json:"out_of_scope"`
	// unknown URLs that a bounded frontier had no room for, each time they turned up
	Dropped  uint64 `json:"dropped,omitempty"`
	Returned uint64 `json:"returned,omitempty"` // URLs that it took after having dropped them
	Trapped  uint64 `json:"trapped"`            // links not admitted because they lead into a trap
	// Skipped counts by reason: links that were not taken, each time they are met, and pages that were given up. Above
	// are sums of some of them.
	Skipped admission.Counts `json:"skipped,omitzero"`
	// pages visited for the first time, with a response or without, and those left alone because of the stop list
	Tried uint64 `json:"tried"`
	// of these, pages that belong on the stop list: missing, failing, slow, or in a folder of such pages
	Broken uint64 `json:"broken"`
	Alike  uint64 `json:"alike"` // of the broken, pages whose text their host gives under many other URLs
	// Verdicts counts hosts by politeness.Verdict on what their pages ask for. Only a crawl that revisits judges.
	Verdicts [politeness.Verdicts]int64 `json:"verdicts,omitzero"`
	// Errors counts visits that failed, when they fail, by the word of a messages.Cause: without a response, with an
	// answer from 400 on, or with one that is not whole; and each robots.txt that could not be had.
	Errors map[string]uint64 `json:"errors,omitempty"`
}

func (c *Totals) Add(other *Totals) {
	c.Pages += other.Pages
	c.Redirects += other.Redirects
	c.Requisites += other.Requisites
	c.Revisits += other.Revisits
	c.Changed += other.Changed
	c.Unchanged += other.Unchanged
	c.Gone += other.Gone
	c.Links += other.Links
	c.Bytes += other.Bytes
	c.Identical += other.Identical
	c.IdenticalBytes += other.IdenticalBytes
	c.StopListed += other.StopListed
	c.OutOfScope += other.OutOfScope
	c.Dropped += other.Dropped
	c.Returned += other.Returned
	c.Trapped += other.Trapped
	c.Skipped.Add(&other.Skipped)
	c.Tried += other.Tried
	c.Broken += other.Broken
	c.Alike += other.Alike
	for i, n := range other.Verdicts {
		c.Verdicts[i] += n
	}
	for reason, n := range other.Errors {
		c.AddError(reason, n)
	}
}

// Visits are all visits with a response.
func (c *Totals) Visits() uint64 { return c.Pages + c.Requisites + c.Revisits }

// StopShare is the share of the pages tried that belong on the stop list, 0 to 1: some 5 % in the thesis that henro
// follows.
func (c *Totals) StopShare() float64 { return float64(c.Broken) / float64(max(c.Tried, 1)) }

// Clone returns totals that do not change with these.
func (c *Totals) Clone() Totals {
	clone := *c
	clone.Errors = maps.Clone(c.Errors)
	return clone
}

// AddError adds to Errors.
func (c *Totals) AddError(reason string, n uint64) {
	if c.Errors == nil {
		c.Errors = map[string]uint64{}
	}
	c.Errors[reason] += n
}

// MarshalBinary writes the totals for the store.
func (c *Totals) MarshalBinary() ([]byte, error) { return json.Marshal(c) }

// UnmarshalBinary reads what MarshalBinary wrote; no bytes are the totals of a crawl that has not begun.
func (c *Totals) UnmarshalBinary(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, c)
}
