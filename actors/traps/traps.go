// Package traps decides which links lead into pages without end.
//
// A trap is told by its URLs alone, before anything is fetched: URLs too long or too deep to be written by anybody,
// segments and pairs that repeat, numbers that only grow, and the same page under one session id after another. Most
// rules are pure functions of the link, so that the master admitting a link and a slave following it inside a lease
// agree without a word; only Sessions remembers, for one host, and a host where it found any is not followed inside
// leases.
//
// Growth is told without counting, from where a link stands: a calendar, read breadth first, is a chain of pages of one
// shape whose depth grows with every step, while the pages of a catalogue are found a few links from the top however
// many there are. Counting the pages of one shape was dropped: it stops at the size of a shop.
//
// Invariants: no rule looks at the clock, and none depends on the order of the links of other pages, Sessions apart.
package traps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"henro/messages/weburl"
	"henro/store/fingerprint"
)

// Verdict says whether a link leads into a trap, and by which rule.
type Verdict uint8

// The verdicts.
const (
	Fine      Verdict = iota
	TooLong           // longer than MaxURL
	TooDeep           // more segments than MaxSegments
	Repeating         // a segment or a pair of the query repeats more than MaxRepeats times
	TooMany           // more pairs in the query than MaxPairs
	Growing           // the same shape as the page it is on, MaxGrowth links from the seed
	Session           // a page already known under MaxSessions other session ids
)

var words = [...]string{Fine: "fine", TooLong: "too long", TooDeep: "too many segments", Repeating: "repeats itself",
	TooMany: "too many parameters", Growing: "grows without end", Session: "another session id"}

// String returns the reason in words.
func (v Verdict) String() string { return words[v] }

// Options are the bounds; zero switches a rule off.
type Options struct {
	// MaxURL is the most bytes of a URL. 4096: twice what the browsers could hold for whom most of the web was written.
	MaxURL int
	// MaxSegments is the most segments of a path. 32: deeper folders are those of a link that is resolved against
	// itself.
	MaxSegments int
	// MaxRepeats is how often one segment may stand in a path, or one pair in a query. 3: /ja/docs/ja/ happens, a
	// fourth does not. Segments of digits do not count: /11/11/11/11/ is a moment.
	MaxRepeats int
	// MaxPairs is the most pairs of a query. 40: facets of a shop come to a dozen, forms to more.
	MaxPairs int
	// MaxGrowth is the depth from which a page is no longer left for one of its own shape, digits and session ids
	// apart. 200: a serial that can only be read page by page may have as many parts. It must stay below 254, where
	// depths are no longer counted.
	MaxGrowth int
	// MaxSessions is under how many session ids one page is taken. 8: a real session makes thousands, and what looks
	// like one but names a page (a long sid) keeps some.
	MaxSessions int
}

// DefaultOptions lose no page that a person could have reached.
func DefaultOptions() Options {
	return Options{MaxURL: 4096, MaxSegments: 32, MaxRepeats: 3, MaxPairs: 40, MaxGrowth: 200, MaxSessions: 8}
}

// Validate says what makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.MaxURL < 0 || o.MaxSegments < 0 || o.MaxRepeats < 0 || o.MaxPairs < 0 || o.MaxGrowth < 0 ||
		o.MaxSessions < 0:
		return errors.New("bounds of traps: want 0 or more")
	case o.MaxGrowth > 253:
		return fmt.Errorf("growth of traps %d: want at most 253", o.MaxGrowth)
	}
	return nil
}

// mostPieces bounds what is compared on the stack; a path or query with more is judged by its first ones.
const mostPieces = 64

// Judge looks at the URL of a link alone. The URL is canonical.
func (o *Options) Judge(url string) Verdict {
	if o.MaxURL > 0 && len(url) > o.MaxURL {
		return TooLong
	}
	path := url[hostEnd(url):]
	query := ""
	if i := strings.IndexByte(path, '?'); i >= 0 {
		path, query = path[:i], path[i+1:]
	}
	count := strings.Count(path, "/")
	if o.MaxSegments > 0 && count > o.MaxSegments {
		return TooDeep
	}
	if o.MaxRepeats > 0 && count > o.MaxRepeats && repeats(path, '/', o.MaxRepeats) {
		return Repeating
	}
	if query == "" {
		return Fine
	}
	count = strings.Count(query, "&") + 1
	if o.MaxPairs > 0 && count > o.MaxPairs {
		return TooMany
	}
	if o.MaxRepeats > 0 && count > o.MaxRepeats && repeats(query, '&', o.MaxRepeats) {
		return Repeating
	}
	return Fine
}

// repeats reports whether one of the first pieces of a text stands in it more than most times.
func repeats(text string, separator byte, most int) bool {
	var ends [mostPieces]int
	var alike [64]uint8 // pieces by length and first byte: only where this goes above most can there be repeats
	count, start, suspect := 0, 0, false
	for i := 0; i <= len(text) && count < mostPieces; i++ {
		if i < len(text) && text[i] != separator {
			continue
		}
		if i > start {
			kind := &alike[(i-start+int(text[start]))%64]
			*kind++
			suspect = suspect || int(*kind) > most
		}
		ends[count], start = i, i+1
		count++
	}
	if !suspect {
		return false
	}
	for i := range count - most {
		piece := text[begin(&ends, i):ends[i]]
		if numeric(piece) {
			continue
		}
		n := 1
		for j := i + 1; j < count; j++ {
			if text[begin(&ends, j):ends[j]] == piece {
				n++
			}
		}
		if n > most {
			return true
		}
	}
	return false
}

func begin(ends *[mostPieces]int, i int) int {
	if i == 0 {
		return 0
	}
	return ends[i-1] + 1
}

func numeric(piece string) bool {
	for i := 0; i < len(piece); i++ {
		if piece[i]-'0' > 9 {
			return false
		}
	}
	return true
}

// Growing reports whether a link that is depth links from the seed only goes on from a page of the same shape.
func (o *Options) Growing(from, url string, depth int) bool {
	return o.MaxGrowth > 0 && depth > o.MaxGrowth && SameShape(from, url)
}

// SameShape reports whether two URLs differ in digits and machine-made words alone.
func SameShape(a, b string) bool {
	for {
		wordA, wordB := word(a), word(b)
		switch {
		case a[:wordA] == b[:wordB]:
		case shapeless(a[:wordA]) && shapeless(b[:wordB]):
		default:
			return false
		}
		a, b = a[wordA:], b[wordB:]
		if a == "" || b == "" {
			return a == b
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// word is the length of the letters and digits at the beginning.
func word(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c-'0' > 9 && c|0x20-'a' > 25 {
			return i
		}
	}
	return len(s)
}

// shapeless reports whether a word is a number, or holds digits and is as long as a session id.
func shapeless(word string) bool {
	digits := 0
	for i := 0; i < len(word); i++ {
		if word[i]-'0' <= 9 {
			digits++
		}
	}
	return digits > 0 && (digits == len(word) || len(word) >= 16)
}

func hostEnd(url string) int {
	i := strings.Index(url, "://")
	if i < 0 {
		return len(url)
	}
	i += 3
	if j := strings.IndexByte(url[i:], '/'); j >= 0 {
		return i + j
	}
	return len(url)
}

// sessionsKept bounds how many pages of one host are remembered with their session ids: some 300 kB.
const sessionsKept = 4096

// Sessions remembers the session ids of one host. The zero value is ready for use, and costs nothing until one is met.
type Sessions struct {
	seen    map[uint64][]uint32 // of the URL without its session id, the fingerprints of those that were taken
	changed bool                // since Changed was asked
}

// Found reports whether any URL carried a session id.
func (s *Sessions) Found() bool { return len(s.seen) > 0 }

// Judge looks for session ids in a URL. One that was taken before is taken again.
func (s *Sessions) Judge(o *Options, url string) Verdict {
	if o.MaxSessions == 0 || !mayHoldSession(url) {
		return Fine
	}
	u, err := weburl.Parse(url)
	if err != nil {
		return Fine
	}
	bare := u.WithoutSession()
	if bare == u {
		return Fine
	}
	if s.seen == nil || len(s.seen) >= sessionsKept {
		s.seen = map[uint64][]uint32{}
	}
	key, full := fingerprint.URL(bare.String()), uint32(fingerprint.URL(url))
	taken := s.seen[key]
	if slices.Contains(taken, full) {
		return Fine
	}
	if len(taken) >= o.MaxSessions {
		return Session
	}
	s.seen[key], s.changed = append(taken, full), true
	return Fine
}

// Changed reports whether there is anything new since it was last asked.
func (s *Sessions) Changed() bool {
	changed := s.changed
	s.changed = false
	return changed
}

// MarshalBinary writes what is remembered, in the order of the pages: count uv ‖ count × (page8 ‖ n1 ‖ n × taken4),
// little endian.
func (s *Sessions) MarshalBinary() ([]byte, error) {
	keys := slices.Sorted(maps.Keys(s.seen))
	b := binary.AppendUvarint(nil, uint64(len(keys)))
	for _, key := range keys {
		taken := s.seen[key]
		if len(taken) > 255 {
			taken = taken[:255]
		}
		b = binary.LittleEndian.AppendUint64(b, key)
		b = append(b, uint8(len(taken)))
		for _, t := range taken {
			b = binary.LittleEndian.AppendUint32(b, t)
		}
	}
	return b, nil
}

// ErrSessions is returned for bytes that MarshalBinary has not written.
var ErrSessions = errors.New("session ids cannot be read")

// UnmarshalBinary reads what MarshalBinary wrote; nothing is a host without session ids.
func (s *Sessions) UnmarshalBinary(b []byte) error {
	s.seen = nil
	if len(b) == 0 {
		return nil
	}
	count, n := binary.Uvarint(b)
	if n <= 0 || count > sessionsKept {
		return ErrSessions
	}
	b = b[n:]
	seen := make(map[uint64][]uint32, count)
	for range count {
		if len(b) < 9 || len(b)-9 < 4*int(b[8]) {
			return ErrSessions
		}
		key, taken := binary.LittleEndian.Uint64(b), make([]uint32, b[8])
		b = b[9:]
		for i := range taken {
			taken[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		b = b[4*len(taken):]
		seen[key] = taken
	}
	if len(b) > 0 {
		return ErrSessions
	}
	if count > 0 {
		s.seen = seen
	}
	return nil
}

// mayHoldSession is a quick look for the beginnings of the names that weburl's rules know: nearly every URL has none.
func mayHoldSession(url string) bool {
	i := strings.IndexAny(url, "?;(")
	if i < 0 {
		return false
	}
	for ; i+2 < len(url); i++ {
		switch url[i] {
		case '(':
			return true
		case '?', '&', ';':
			second := url[i+2] | 0x20
			switch url[i+1] | 0x20 {
			case 's': // sid, sessionid
				if second == 'i' || second == 'e' {
					return true
				}
			case 'j', 'a', 'o': // jsessionid, aspsessionid, oscsid
				if second == 's' {
					return true
				}
			case 'p': // phpsessid
				if second == 'h' {
					return true
				}
			case 'z': // zenid
				if second == 'e' {
					return true
				}
			case 'c': // cfid, cftoken
				if second == 'f' {
					return true
				}
			}
		}
	}
	return false
}
