// Package alias decides whether two hosts are one server under two names.
//
// The evidence is pages of both that were visited anyway: under the same path and query they have the same text
// (agreement) or not (contradiction). A host collects it about each other host that would represent it, and the belief
// that a page of the one has the text of the other follows a Beta distribution: with a agreements and c contradictions
// its mean is (a+1)/(a+c+2). What counts is two standard deviations below it, so that few pages prove nothing.
//
// An agreement is about a text that no other path of either host had before: the index of texts names the page that had
// a text first, and only that path agrees. A host with one text on all its paths agrees once. The front page agrees
// never, since a new server shows the same one everywhere. Where front pages differ, this contradicts as much as four
// pages, and as much as one page once many others agree: some front pages are different at each visit.
//
// Pages are compared when they are visited, but only with hosts that are known to have something in common. So before a
// host is believed to be an alias, all pages that both have are compared: a review.
//
// Redirects are evidence of their own. A host that redirects a path to the same path and query of another host agrees
// with it on that path; a path that it answers itself, or redirects elsewhere, contradicts. The host that redirects is
// the alias. So hosts may be aliases of each other in a circle: Breaks says which one stands for itself then.
//
// Evidence loses half of its weight in a month. Of two hosts with equal texts Representative says which one is visited.
// Beliefs are those of one host, and are changed by their owner alone.
package alias

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/fingerprint"
)

// Bounds of the evidence.
const (
	hostsKept = 4   // other hosts of which evidence is kept; the one with the least gives way
	pathsKept = 256 // paths of each that are not counted again
	// a path counts once in this time; a later visit of its page is evidence again
	pathsFor = 10 * 24 * time.Hour
)

// What a belief must reach, and what it may not fall below. 0.8 is reached by 13 agreements without a contradiction, or
// 21 with one; 0.7, for names of which one is www. before the other or which differ in scheme or port alone, by 8.
// Versions of one documentation have most pages in common: of a hundred agreements one more contradiction is borne.
const (
	wanted        = 0.8
	wantedRelated = 0.7
	kept          = 0.6
	frontAgainst  = 4  // contradictions that another front page counts for
	frontOutvoted = 40 // agreements from which on it counts for one
	borne         = 1  // contradictions: a page may have changed between two visits
	borneOf       = 0.01
)

// agreeing is the bit of a path that agreed. Two partitions may store their pages at the same moment: neither sees the
// text of the other then, which counts as a contradiction, until the later page is found to be the same. So an
// agreement takes back the contradiction of its path.
const agreeing = 1

// halfLife is the time in which evidence loses half of its weight.
const halfLife = 30 * 24 * time.Hour

// SampleEvery is the share of the pages of an alias that are visited nevertheless, to be compared: one in so many.
const SampleEvery = 32

// Evidence is what is known of one host and another.
type Evidence struct {
	Host      string    `json:"host"`                // the other
	Redirects bool      `json:"redirects,omitempty"` // it is about redirects to the other, not about equal texts
	Agreed    float64   `json:"agreed"`
	Against   float64   `json:"against"`         // without the front page
	Front     bool      `json:"front,omitempty"` // the front pages differ
	At        time.Time `json:"at"`              // as of when the weights are
	Paths     []byte    `json:"paths"`           // fingerprints of the paths compared, four bytes each
	// the last review; zero: there was none since the evidence suffices
	Reviewed time.Time `json:"reviewed,omitzero"`
	Begun    time.Time `json:"begun"` // when the first of Paths was noted
}

// Beliefs are those of one host about its representatives.
type Beliefs struct {
	Of    string     `json:"of,omitempty"` // the representative; empty: the host stands for itself
	Since time.Time  `json:"since,omitzero"`
	Hosts []Evidence `json:"hosts,omitempty"`
}

// Order is what a person has said of a host, which overrules all evidence.
type Order struct {
	Of string    `json:"of,omitempty"` // the representative; empty: the host stands for itself
	At time.Time `json:"at"`
}

// Comparison is one path that two hosts answered.
type Comparison struct {
	Other  string // the host that would be the representative
	Target string // path and query
	Agrees bool
	// it is about a redirect of the path to the other
	Redirects bool
}

// Contradictions are those of all pages, the front page included.
func (e *Evidence) Contradictions() float64 {
	switch {
	case !e.Front:
		return e.Against
	case e.Redirects || e.Agreed >= frontOutvoted: // a redirect of the front page often names a language
		return e.Against + 1
	}
	return e.Against + frontAgainst
}

// Belief is how sure it is that the hosts are one: two standard deviations below the mean.
func (e *Evidence) Belief() float64 {
	a, c := e.Agreed+1, e.Contradictions()+1
	n := a + c
	return a/n - 2*math.Sqrt(a*c/(n*n*(n+1)))
}

// age has the evidence lose weight until now.
func (e *Evidence) age(now time.Time) {
	if passed := now.Sub(e.At); passed > 0 {
		weight := math.Exp2(-float64(passed) / float64(halfLife))
		e.Agreed, e.Against, e.At = weight*e.Agreed, weight*e.Against, now
	}
}

// Saw takes a comparison of the host with another. It reports whether Of has changed. A path counts once in ten days.
func (b *Beliefs) Saw(host string, c *Comparison, now time.Time) (changed bool) {
	e := b.about(c, now)
	if e == nil {
		return false
	}
	if now.Sub(e.Begun) > pathsFor {
		e.Paths, e.Begun = nil, now
	}
	if c.Target == "/" {
		e.Front = !c.Agrees
		return b.decide(host, now)
	}
	path := uint32(fingerprint.URL(c.Target)) &^ agreeing
	for known := range slices.Chunk(e.Paths, 4) {
		switch before := binary.LittleEndian.Uint32(known); {
		case before&^agreeing != path:
		case before&agreeing == 0 && c.Agrees:
			binary.LittleEndian.PutUint32(known, path|agreeing)
			e.Agreed, e.Against = e.Agreed+1, max(0, e.Against-1)
			return b.decide(host, now)
		default:
			return false
		}
	}
	if c.Agrees {
		e.Agreed, path = e.Agreed+1, path|agreeing
	} else {
		e.Against++
	}
	if e.Paths = binary.LittleEndian.AppendUint32(e.Paths, path); len(e.Paths) > 4*pathsKept {
		e.Paths = slices.Delete(e.Paths, 0, 4)
	}
	return b.decide(host, now)
}

// Answered takes what the host answered for a path: the URL to which it redirects, or nothing if it answers itself. It
// reports whether that is evidence.
func (b *Beliefs) Answered(host, target, redirectsTo string, now time.Time) (evidence bool) {
	other := ""
	if redirectsTo != "" {
		if other = weburl.HostOf(redirectsTo); other == host || redirectsTo[len(other):] != target {
			other = ""
		}
	}
	if other != "" {
		b.Saw(host, &Comparison{other, target, true, true}, now)
		evidence = true
	}
	for i := range b.Hosts {
		if e := &b.Hosts[i]; e.Redirects && e.Host != other {
			b.Saw(host, &Comparison{e.Host, target, false, true}, now)
			evidence = true
		}
	}
	return evidence
}

// Refute ends the belief in the representative, which leads back to the host. What is seen later may revive it.
func (b *Beliefs) Refute(host string, now time.Time) {
	for i := range b.Hosts {
		if e := &b.Hosts[i]; e.Host == b.Of {
			e.age(now)
			e.Against += e.Agreed + borne
		}
	}
	b.decide(host, now)
}

// Breaks reports whether a host that is an alias by evidence is to stand for itself because its representatives form a
// circle. Others are those of the circle that are aliases by evidence too.
func Breaks(host string, others []string) bool {
	for _, other := range others {
		if Representative(host, other) != host {
			return false
		}
	}
	return true
}

// about finds the evidence of the other host, aged; nil: a contradiction of a host that never agreed is not kept.
func (b *Beliefs) about(c *Comparison, now time.Time) *Evidence {
	least := 0
	for i := range b.Hosts {
		e := &b.Hosts[i]
		e.age(now)
		if e.Host == c.Other && e.Redirects == c.Redirects {
			return e
		}
		if e.Agreed < b.Hosts[least].Agreed {
			least = i
		}
	}
	if !c.Agrees {
		return nil
	}
	begun := Evidence{Host: c.Other, Redirects: c.Redirects, At: now, Begun: now}
	if len(b.Hosts) < hostsKept {
		b.Hosts = append(b.Hosts, begun)
		return &b.Hosts[len(b.Hosts)-1]
	}
	b.Hosts[least] = begun
	return &b.Hosts[least]
}

// bears reports whether the evidence suffices.
func (e *Evidence) bears(host, of string) bool {
	least := wanted
	switch {
	case e.Host == of:
		least = kept
	case related(host, e.Host):
		least = wantedRelated
	}
	return e.Belief() >= least && e.Contradictions() <= borne+borneOf*e.Agreed
}

// Unreviewed lists the hosts of which the host would be an alias, if a review confirms it. When two hosts are both
// borne out by equal texts, one of them may be an alias of the other: siblings are such a pair, the alias first.
func (b *Beliefs) Unreviewed(host string) (wanted []Comparison, siblings [][2]string) {
	for i := range b.Hosts {
		e := &b.Hosts[i]
		if !e.bears(host, b.Of) {
			continue
		}
		if e.Reviewed.IsZero() {
			wanted = append(wanted, Comparison{Other: e.Host, Redirects: e.Redirects})
		}
		for j := range b.Hosts[:i] {
			if o := &b.Hosts[j]; !o.Redirects && !e.Redirects && o.bears(host, b.Of) {
				pair := [2]string{o.Host, e.Host}
				if Representative(o.Host, e.Host) == o.Host {
					pair = [2]string{e.Host, o.Host}
				}
				siblings = append(siblings, pair)
			}
		}
	}
	return wanted, siblings
}

// Reviewed takes all comparisons of a review with one other host, ReviewedMost at most.
func (b *Beliefs) Reviewed(host, other string, redirects bool, found []Comparison, now time.Time) {
	for _, agrees := range []bool{true, false} { // a contradiction of a host that never agreed is not kept
		for i := range found {
			if found[i].Agrees == agrees {
				b.Saw(host, &found[i], now)
			}
		}
	}
	for i := range b.Hosts {
		if e := &b.Hosts[i]; e.Host == other && e.Redirects == redirects {
			e.Reviewed = now
		}
	}
	b.decide(host, now)
}

// ReviewedMost bounds the comparisons of a review.
const ReviewedMost = pathsKept / 2

// decide sets Of to the best representative that the evidence bears.
func (b *Beliefs) decide(host string, now time.Time) (changed bool) {
	of := ""
	for i := range b.Hosts {
		e := &b.Hosts[i]
		if !e.bears(host, b.Of) {
			e.Reviewed = time.Time{}
		}
		if e.Reviewed.IsZero() {
			continue
		}
		if of == "" || Representative(of, e.Host) == e.Host {
			of = e.Host
		}
	}
	if of == b.Of {
		return false
	}
	b.Of, b.Since = of, now
	return true
}

// Decay has all evidence lose weight until now. It reports whether Of has changed.
func (b *Beliefs) Decay(host string, now time.Time) (changed bool) {
	for i := range b.Hosts {
		b.Hosts[i].age(now)
	}
	return b.decide(host, now)
}

// MarshalBinary writes the beliefs; nothing when there are none.
func (b *Beliefs) MarshalBinary() ([]byte, error) {
	if len(b.Hosts) == 0 {
		return nil, nil
	}
	return json.Marshal(b)
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (b *Beliefs) UnmarshalBinary(data []byte) error {
	*b = Beliefs{}
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, b); err != nil {
		return fmt.Errorf("beliefs: %w", err)
	}
	for i := range b.Hosts {
		if len(b.Hosts[i].Paths)%4 != 0 {
			return fmt.Errorf("beliefs: %d bytes of paths", len(b.Hosts[i].Paths))
		}
	}
	return nil
}

// Representative says which of two hosts is visited when they are one: https before http, a name before an address,
// the default port before others, without www. before with it, then the shorter name, then the first by spelling.
// Which one was a seed does not count: it is not known where the comparison is made, and both belong to the crawl.
func Representative(a, b string) string {
	rank := func(host string) (marks [5]int) {
		name := weburl.HostName(host)
		scheme, rest, _ := strings.Cut(host, "://")
		for i, worse := range []bool{scheme != "https", isAddress(name), rest != name,
			strings.HasPrefix(name, "www.")} {
			if worse {
				marks[i] = 1
			}
		}
		marks[4] = len(name)
		return marks
	}
	ra, rb := rank(a), rank(b)
	for i := range ra {
		if ra[i] != rb[i] {
			if ra[i] < rb[i] {
				return a
			}
			return b
		}
	}
	return min(a, b)
}

func isAddress(name string) bool {
	return strings.HasPrefix(name, "[") || strings.Trim(name, "0123456789.") == ""
}

// related reports whether the names differ in scheme, port, www. or a dot at the end alone.
func related(a, b string) bool { return bare(a) == bare(b) }

func bare(host string) string {
	return strings.TrimSuffix(strings.TrimPrefix(weburl.HostName(host), "www."), ".")
}

// IsSample reports whether a URL of an alias is visited nevertheless. The front page is: it is what hosts that look
// alike most often have of their own.
func IsSample(url string) bool {
	return len(url) == len(weburl.HostOf(url))+1 || fingerprint.URL(url)%SampleEvery == 0
}
