package living

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrCorrupt is returned for bytes that MarshalBinary cannot have made.
var ErrCorrupt = errors.New("living: corrupt")

const (
	version      = 1
	findingBytes = 4 << 10
	hostBytes    = 64 << 10
	shapeBytes   = 250 // more than a shape has
)

// Marshalled forms begin with the version 1 and a table: a uvarint of how many rules, of each its length and its bytes.
//
// Finding: the table; a byte, 1: dynamic, 2: failed; the asks.
// Host: the table; the samples of all; the templates: how many, of each the length and bytes of its shape, and its
// samples; then how many rules were dropped, the numbers of these, how many rules were missed, of each its number and
// how often.
// Samples: uvarints seen and failed, how many, of each uvarints of its shape and 0 or 1: dynamic; its asks.
// Asks: how many, of each how many rules, and their numbers.

// writer gathers rules while it writes their numbers.
type writer struct {
	rules   []string
	numbers map[string]uint64
	b       []byte
}

func (w *writer) number(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

func (w *writer) rule(rule string) {
	n, known := w.numbers[rule]
	if !known {
		n = uint64(len(w.rules))
		w.numbers[rule], w.rules = n, append(w.rules, rule)
	}
	w.number(int(n))
}

func (w *writer) asks(asks [][]string, counts map[string]bool) {
	w.number(len(asks))
	for _, rules := range asks {
		if slices.ContainsFunc(rules, func(rule string) bool { return counts[rule] }) {
			rules = slices.DeleteFunc(slices.Clone(rules), func(rule string) bool { return !counts[rule] })
		}
		w.number(len(rules))
		for _, rule := range rules {
			w.rule(rule)
		}
	}
}

// kind writes a template. Of what is explained only the rules that count are kept.
func (w *writer) kind(k *kind, counts map[string]bool) {
	w.number(int(k.seen))
	w.number(int(k.failed))
	w.number(len(k.samples))
	for i := range k.samples {
		s := &k.samples[i]
		w.number(int(s.shape))
		w.flag(s.dynamic, 1)
		w.asks(s.asks, counts)
	}
}

func (w *writer) flag(is bool, bit byte) {
	if !is {
		bit = 0
	}
	w.b = append(w.b, bit)
}

func (w *writer) bytes() []byte {
	table := binary.AppendUvarint([]byte{version}, uint64(len(w.rules)))
	for _, rule := range w.rules {
		table = binary.AppendUvarint(table, uint64(len(rule)))
		table = append(table, rule...)
	}
	return append(table, w.b...)
}

// MarshalBinary returns f, in at most 4 kB. Of what does not fit the last rules of each URL are left out, and then all
// rules of the last URLs.
func (f *Finding) MarshalBinary() ([]byte, error) {
	for room := len(f.asks) + rulesEach - 1; ; room-- {
		w := &writer{numbers: map[string]uint64{}}
		w.flag(f.dynamic, 1)
		w.flag(f.failed, 2)
		asks := slices.Clone(f.asks)
		for i, rules := range asks {
			if asks[i] = rules[:min(len(rules), max(1, room-len(asks)+1))]; i >= room {
				asks[i] = nil
			}
		}
		w.asks(asks, nil)
		if b := w.bytes(); len(b) <= findingBytes {
			return b, nil
		}
	}
}

// MarshalBinary returns h, in at most 64 kB: if need be without the templates that learnt nothing for the longest time.
func (h *Host) MarshalBinary() ([]byte, error) {
	h.changed = false
	for from := 0; ; from++ {
		w := &writer{numbers: map[string]uint64{}}
		kinds := h.kinds[min(from, len(h.kinds)):]
		all := h.all
		if from > len(h.kinds) {
			all.samples = all.samples[min(len(all.samples), from-len(h.kinds)):]
		}
		w.kind(&all, h.planOf(&h.all).counts)
		w.number(len(kinds))
		for _, k := range kinds {
			w.number(len(k.shape))
			w.b = append(w.b, k.shape...)
			w.kind(k, h.planOf(k).counts)
		}
		w.number(len(h.dropped))
		for _, rule := range h.dropped {
			w.rule(rule)
		}
		w.number(len(h.missed))
		for _, rule := range slices.Sorted(maps.Keys(h.missed)) {
			w.rule(rule)
			w.number(int(h.missed[rule]))
		}
		if b := w.bytes(); len(b) <= hostBytes {
			return b, nil
		}
	}
}

// reader reads what a writer wrote; bad: it is something else.
type reader struct {
	rules []string
	b     []byte
	bad   bool
}

func newReader(b []byte, most int) *reader {
	r := &reader{b: b, bad: len(b) == 0 || len(b) > most || b[0] != version}
	if r.bad {
		return r
	}
	r.b = b[1:]
	for range r.number(len(b)) {
		rule := r.text(ruleBytes)
		if r.bad = r.bad || !isRule(rule); r.bad {
			return r
		}
		r.rules = append(r.rules, rule)
	}
	return r
}

// number reads a number that is at most so large.
func (r *reader) number(most int) int {
	n, used := binary.Uvarint(r.b)
	if used <= 0 || n > uint64(most) || r.bad {
		r.bad = true
		return 0
	}
	r.b = r.b[used:]
	return int(n)
}

func (r *reader) text(most int) string {
	n := r.number(most)
	if n > len(r.b) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) rule() string {
	if n := r.number(len(r.rules)); n < len(r.rules) {
		return r.rules[n]
	}
	r.bad = true
	return ""
}

func (r *reader) asks() (asks [][]string) {
	for range r.number(asksMost + 1) {
		var rules []string
		for range r.number(rulesEach) {
			rules = append(rules, r.rule())
		}
		asks = append(asks, rules)
	}
	return asks
}

func (r *reader) kind(most int) (k kind) {
	k.seen, k.failed = uint16(r.number(1<<16-1)), uint8(r.number(255))
	for range r.number(most) {
		s := sample{shape: uint16(r.number(1<<16 - 1)), dynamic: r.number(1) > 0}
		s.asks = r.asks()
		k.samples = append(k.samples, s)
	}
	r.bad = r.bad || int(k.seen) < len(k.samples)
	return k
}

func (r *reader) err(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w %s: no bytes of this version, or too many or too few", ErrCorrupt, what)
	}
	return nil
}

// UnmarshalBinary reads what MarshalBinary returned.
func (f *Finding) UnmarshalBinary(b []byte) error {
	r := newReader(b, findingBytes)
	n := Finding{dynamic: r.number(1) > 0}
	n.failed = r.number(2) > 1
	n.asks = r.asks()
	if err := r.err("finding"); err != nil {
		return err
	}
	*f = n
	return nil
}

// UnmarshalBinary reads what MarshalBinary returned; nothing is known after no bytes.
func (h *Host) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*h = Host{}
		return nil
	}
	r := newReader(b, hostBytes)
	n := Host{all: r.kind(together)}
	for range r.number(templatesMost) {
		shape := r.text(shapeBytes)
		k := r.kind(samplesMost)
		k.shape = shape
		same := func(other *kind) bool { return other.shape == shape }
		r.bad = r.bad || shape == "" || slices.ContainsFunc(n.kinds, same)
		n.kinds = append(n.kinds, &k)
	}
	for range r.number(droppedMost) {
		n.dropped = append(n.dropped, r.rule())
	}
	for range r.number(missedMost) {
		if n.missed == nil {
			n.missed = map[string]uint8{}
		}
		n.missed[r.rule()] = uint8(r.number(missesMost))
	}
	if err := r.err("host"); err != nil {
		return err
	}
	*h = n
	return nil
}
