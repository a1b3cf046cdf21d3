package robots

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Marshalled form, version 1:
//
//	byte     version = 1
//	byte     bits 0-1 kind, bit 2 cut, bit 3 a crawl delay follows, bit 4 statements about use are at the end
//	uvarint  crawl delay, milliseconds (only with bit 3)
//	uvarint  number of rules, then for each, in order of precedence:
//	    uvarint  length of the pattern × 2, + 1 for Allow
//	    bytes    pattern in normal form
//	uvarint  number of sitemaps, then for each: uvarint length, bytes
//	uvarint  number of statements about use, sorted, then for each (only with bit 4):
//	    byte     origin: 0 Content-Usage, 1 Content-Signal, 2 tdmrep.json, 3 License
//	    bytes    pattern in normal form, its length as uvarint before it
//	    bytes    what is said, its length as uvarint before it
const version = 1

const (
	bitCut   = 1 << 2
	bitDelay = 1 << 3
	bitUsage = 1 << 4
)

// MarshalBinary returns r in at most MaxMarshalled bytes, the same bytes for the same rules. What does not fit is cut
// to the safe side, in this order and no further than needed: the last sitemaps; the longest Allow patterns; then all
// Allow patterns go and Disallow patterns are shortened, so that each covers more.
func (r *Rules) MarshalBinary() ([]byte, error) {
	s := cmp.Or(r, AllowAll()).shrink(MaxMarshalled)
	b := make([]byte, 0, s.size())
	flags := byte(s.kind)
	if s.cut {
		flags |= bitCut
	}
	if s.delay >= 0 && s.kind == parsed {
		flags |= bitDelay
	}
	if len(s.usage) > 0 {
		flags |= bitUsage
	}
	b = append(b, version, flags)
	if flags&bitDelay != 0 {
		b = binary.AppendUvarint(b, uint64(s.delay))
	}
	b = binary.AppendUvarint(b, uint64(len(s.rules)))
	for _, rule := range s.rules {
		n := uint64(len(rule.pattern)) << 1
		if rule.allow {
			n |= 1
		}
		b = append(binary.AppendUvarint(b, n), rule.pattern...)
	}
	b = binary.AppendUvarint(b, uint64(len(s.sitemaps)))
	for _, address := range s.sitemaps {
		b = append(binary.AppendUvarint(b, uint64(len(address))), address...)
	}
	if flags&bitUsage != 0 {
		b = binary.AppendUvarint(b, uint64(len(s.usage)))
		for _, u := range s.usage {
			b = append(b, byte(u.origin))
			b = append(binary.AppendUvarint(b, uint64(len(u.pattern))), u.pattern...)
			b = append(binary.AppendUvarint(b, uint64(len(u.text))), u.text...)
		}
	}
	return b, nil
}

// size returns an upper bound of the marshalled size: no length field is longer than three bytes, since no line is.
func (r *Rules) size() int {
	n := 32
	for _, rule := range r.rules {
		n += 3 + len(rule.pattern)
	}
	for _, address := range r.sitemaps {
		n += 3 + len(address)
	}
	for _, u := range r.usage { // at most 52 kB, never left out
		n += 7 + len(u.pattern) + len(u.text)
	}
	return n
}

// shrink returns r, or what is left of it within limit bytes.
func (r *Rules) shrink(limit int) *Rules {
	if r.size() <= limit {
		return r
	}
	s := &Rules{kind: r.kind, cut: true, delay: r.delay, rules: slices.Clone(r.rules),
		sitemaps: slices.Clone(r.sitemaps), usage: r.usage}
	size := s.size()
	for len(s.sitemaps) > 0 && size > limit {
		last := len(s.sitemaps) - 1
		size -= 3 + len(s.sitemaps[last])
		s.sitemaps = s.sitemaps[:last]
	}
	s.rules = slices.DeleteFunc(s.rules, func(rule rule) bool { // heaviest first
		if !rule.allow || size <= limit {
			return false
		}
		size -= 3 + len(rule.pattern)
		return true
	})
	// No Allow is left now, so weights no longer matter and a shorter pattern only forbids more.
	for most := maxLine / 2; size > limit; most /= 2 {
		for i := range s.rules {
			if p := &s.rules[i].pattern; len(*p) > most {
				*p = (*p)[:most]
			}
		}
		s.rules = canonical(s.rules)
		size = s.size()
	}
	return s
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (r *Rules) UnmarshalBinary(data []byte) error {
	if len(data) > MaxMarshalled {
		return fmt.Errorf("%w: %d bytes", ErrCorrupt, len(data))
	}
	if len(data) < 2 {
		return fmt.Errorf("%w: too short", ErrCorrupt)
	}
	if data[0] != version {
		return fmt.Errorf("%w: %d", ErrVersion, data[0])
	}
	d := decoder{rest: string(data[2:])} // one copy for all patterns
	flags := data[1]
	n := Rules{kind: kind(flags & 3), cut: flags&bitCut != 0, delay: -1}
	if flags&bitDelay != 0 {
		if n.delay = int64(d.uvarint(uint64(maxDelay.Milliseconds()))); n.kind != parsed {
			d.bad = true
		}
	}
	count := d.uvarint(MaxMarshalled)
	for i := uint64(0); i < count && !d.bad; i++ {
		length := d.uvarint(MaxMarshalled << 1)
		p := d.bytes(length >> 1)
		if p == "" || p[0] != '/' && p[0] != '*' {
			d.bad = true
		}
		n.rules = append(n.rules, rule{p, length&1 == 1})
	}
	count = d.uvarint(maxSitemaps)
	for i := uint64(0); i < count && !d.bad; i++ {
		n.sitemaps = append(n.sitemaps, d.bytes(d.uvarint(MaxMarshalled)))
	}
	if flags&bitUsage != 0 {
		n.usage = d.usages()
	}
	if d.bad || d.rest != "" || n.kind != parsed && (len(n.rules) > 0 || len(n.sitemaps) > 0) || flags>>5 != 0 ||
		n.kind == unreachable && len(n.usage) > 0 {
		return fmt.Errorf("%w: %d bytes, flags %#x", ErrCorrupt, len(data), flags)
	}
	if sorted := canonical(slices.Clone(n.rules)); !slices.Equal(sorted, n.rules) {
		return fmt.Errorf("%w: rules out of order", ErrCorrupt)
	}
	n.compile()
	*r = n
	return nil
}

// decoder reads fields until one is wrong; from then on everything is empty and bad is set.
type decoder struct {
	rest string
	bad  bool
}

// usages reads statements about use.
func (d *decoder) usages() (all []usage) {
	count := d.uvarint(maxUsages)
	for i := uint64(0); i < count && !d.bad; i++ {
		u := usage{origin: origin(d.uvarint(uint64(origins - 1)))}
		u.pattern = d.bytes(d.uvarint(maxUsage))
		u.text = d.bytes(d.uvarint(maxUsage))
		d.bad = d.bad || u.text == "" || u.pattern == "" || u.pattern[0] != '/' && u.pattern[0] != '*'
		all = append(all, u)
	}
	d.bad = d.bad || count == 0 || !slices.Equal(compact(slices.Clone(all)), all)
	return all
}

func (d *decoder) uvarint(most uint64) uint64 {
	var v uint64
	for i := 0; i < len(d.rest) && i < 9; i++ {
		c := d.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 || v > most {
				break // not the shortest form, or too large
			}
			d.rest = d.rest[i+1:]
			return v
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) bytes(n uint64) string {
	if n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

// String describes r in one line for logs and for "henro host".
func (r *Rules) String() string {
	if r == nil {
		return "no rules"
	}
	switch r.kind {
	case unavailable:
		return "no robots.txt: everything allowed"
	case unreachable:
		return "robots.txt unreachable: everything forbidden for now"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rules", len(r.rules))
	if d, ok := r.CrawlDelay(); ok {
		fmt.Fprintf(&b, ", crawl-delay %v", d)
	}
	if n := len(r.sitemaps); n > 0 {
		fmt.Fprintf(&b, ", %d sitemaps", n)
	}
	for _, statement := range r.Usage("/") {
		b.WriteString(", " + statement)
	}
	if r.cut {
		b.WriteString(", cut")
	}
	return b.String()
}
