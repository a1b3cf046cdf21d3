// Package alias weighs the evidence that two hosts are one server under two names.
//
// The evidence is pages of both that were visited anyway: under the same path and query they have the same text
// (agreement) or not (contradiction). A host collects it about each other host that it may be, and the belief that a
// page of the one has the text of the other follows a Beta distribution: with a agreements and c contradictions its
// mean is (a+1)/(a+c+2). What counts is two standard deviations below it, so that few pages prove nothing.
//
// An agreement is about a text that no other path of either host had before: the index of texts names the page that had
// a text first, and only that path agrees. A host with one text on all its paths agrees once. The front page agrees
// never, since a new server shows the same one everywhere. Where front pages differ, this contradicts as much as four
// pages, and as much as one page once many others agree: some front pages are different at each visit.
//
// Redirects are evidence of their own. A host that redirects a path to the same path and query of another host agrees
// with it on that path; a path that it answers itself, or redirects elsewhere, contradicts.
//
// Evidence is shown and leaves nothing out: a host may copy another until it is believed, and answer otherwise then. A
// person alone says which hosts are one (Order). Evidence loses half of its weight in a month.
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

const (
	frontAgainst  = 4  // contradictions that another front page counts for
	frontOutvoted = 40 // agreements from which on it counts for one
)

// agreeing is the bit of a path that agreed. Two partitions may store their pages at the same moment: neither sees the
// text of the other then, which counts as a contradiction, until the later page is found to be the same. So an
// agreement takes back the contradiction of its path.
const agreeing = 1

// halfLife is the time in which evidence loses half of its weight.
const halfLife = 30 * 24 * time.Hour

// Evidence is what is known of one host and another.
type Evidence struct {
	Host      string    `json:"host"`                // the other
	Redirects bool      `json:"redirects,omitempty"` // it is about redirects to the other, not about equal texts
	Agreed    float64   `json:"agreed"`
	Against   float64   `json:"against"`         // without the front page
	Front     bool      `json:"front,omitempty"` // the front pages differ
	At        time.Time `json:"at"`              // as of when the weights are
	Paths     []byte    `json:"paths"`           // fingerprints of the paths compared, four bytes each
	Begun     time.Time `json:"begun"`           // when the first of Paths was noted
}

// Beliefs are those of one host about others. They are changed by their owner alone.
type Beliefs struct {
	Hosts []Evidence `json:"hosts,omitempty"`
}

// Decision is what a person has said of a host.
type Decision struct {
	Of string    `json:"of,omitempty"` // the representative; empty: the host stands for itself
	At time.Time `json:"at"`
}

// Comparison is one path that two hosts answered.
type Comparison struct {
	Other  string // the host that it may be
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

// Saw takes a comparison of the host with another. A path counts once in ten days.
func (b *Beliefs) Saw(c *Comparison, now time.Time) {
	e := b.about(c, now)
	if e == nil {
		return
	}
	if now.Sub(e.Begun) > pathsFor {
		e.Paths, e.Begun = nil, now
	}
	if c.Target == "/" {
		e.Front = !c.Agrees
		return
	}
	path := uint32(fingerprint.URL(c.Target)) &^ agreeing
	for known := range slices.Chunk(e.Paths, 4) {
		if before := binary.LittleEndian.Uint32(known); before&^agreeing == path {
			if before&agreeing == 0 && c.Agrees {
				binary.LittleEndian.PutUint32(known, path|agreeing)
				e.Agreed, e.Against = e.Agreed+1, max(0, e.Against-1)
			}
			return
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
		b.Saw(&Comparison{other, target, true, true}, now)
		evidence = true
	}
	for i := range b.Hosts {
		if e := &b.Hosts[i]; e.Redirects && e.Host != other {
			b.Saw(&Comparison{e.Host, target, false, true}, now)
			evidence = true
		}
	}
	return evidence
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

// Second says which of two hosts would be the second name: not the one with https, a name before an address, the
// default port before others, without www. before with it, then the shorter name, then the first by spelling.
func Second(a, b string) string {
	rank := func(host string) string {
		name := weburl.HostName(host)
		_, rest, _ := strings.Cut(host, "://")
		address := strings.HasPrefix(name, "[") || strings.Trim(name, "0123456789.") == ""
		return fmt.Sprint(host[:len(host)-len(rest)] != "https://", address, rest != name,
			strings.HasPrefix(name, "www."), 1000+len(name), host) // false sorts before true
	}
	if rank(a) > rank(b) {
		return a
	}
	return b
}
