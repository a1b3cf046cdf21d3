package politeness

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"henro/actors/revisit"
	"henro/actors/template"
)

// Marshalled form, version 7: a byte with the version, then uvarints
//
//	L high, L low, pages, visits, failures, absences × 2 + 1 for a dead host,
//	took, mean, worst, crawl-delay (nanoseconds), lastOK, next, rest (unix milliseconds), late
//
// then a byte (bit 0: sitemaps and feeds, bit 1: Last-Modified, bit 2: what was announced of the changes, bit 3:
// notices, bit 4: what notices announced of the changes) and the revisit.Claims that it names, with its bit 5 how many
// requests may be under way at once, the number of requisites among the pages, revisit.Trust and revisit.Rates as they
// marshal themselves. A host of one page takes some 50 bytes, 100 when it has a track record. Before revisit.Trust
// stands the length of template.Groups, 0 for none, and they as they marshal themselves. Other versions are not read.
const version = 7

// MarshalBinary returns s.
func (s *State) MarshalBinary() ([]byte, error) {
	b := append(make([]byte, 0, 96), version)
	for _, v := range s.fields() {
		b = binary.AppendUvarint(b, v)
	}
	claims := len(b)
	b = append(b, 0)
	var err error
	for i, c := range s.Timetable.claims() {
		if *c == (revisit.Claims{}) {
			continue
		}
		b[claims] |= 1 << i
		if b, err = c.AppendBinary(b); err != nil {
			return nil, err
		}
	}
	if s.parallel > 1 {
		b[claims] |= parallelBit
		b = append(b, s.parallel)
	}
	b = binary.AppendUvarint(b, s.Timetable.requisites)
	var groups []byte
	if s.Timetable.groups != nil {
		if groups, err = s.Timetable.groups.MarshalBinary(); err != nil {
			return nil, err
		}
	}
	b = append(binary.AppendUvarint(b, uint64(len(groups))), groups...)
	if b, err = s.Timetable.trust.AppendBinary(b); err != nil {
		return nil, err
	}
	return s.Timetable.rates.AppendBinary(b)
}

func (t *Timetable) claims() [5]*revisit.Claims {
	return [...]*revisit.Claims{&t.hints, &t.modified, &t.recall, &t.told, &t.foretold}
}

const (
	fieldCount  = 14
	parallelBit = 32
)

func (s *State) fields() [fieldCount]uint64 {
	absences := uint64(s.absences) << 1
	if s.dead {
		absences |= 1
	}
	return [...]uint64{
		s.Timetable.load.high, s.Timetable.load.low, s.Timetable.pages, s.visits, uint64(s.failures), absences,
		uint64(s.took), uint64(s.mean), uint64(s.worst), uint64(s.crawlDelay),
		uint64(s.lastOK), uint64(s.next), uint64(s.rest), s.Timetable.late,
	}
}

// UnmarshalBinary reads what MarshalBinary returned.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("%w: empty", ErrCorrupt)
	}
	if b[0] != version {
		return fmt.Errorf("%w: %d", ErrVersion, b[0])
	}
	b = b[1:]
	var f [fieldCount]uint64
	for i := range fieldCount {
		v, used := binary.Uvarint(b)
		if used <= 0 || i >= 6 && v > math.MaxInt64 {
			return fmt.Errorf("%w: field %d", ErrCorrupt, i)
		}
		f[i], b = v, b[used:]
	}
	if f[4] > maxLevel || f[5]>>1 > math.MaxInt32 {
		return fmt.Errorf("%w: %d failures, %d absences", ErrCorrupt, f[4], f[5])
	}
	const most = uint64(math.MaxInt64 / int64(time.Millisecond))
	if f[10] > most || f[11] > most || f[12] > most || f[13] > lateOne {
		return fmt.Errorf("%w: times %d", ErrCorrupt, f[10:])
	}
	var n State
	t := &n.Timetable
	var err error
	if len(b) == 0 || b[0] >= 2*parallelBit {
		return fmt.Errorf("%w: claims", ErrCorrupt)
	}
	which := b[0]
	b = b[1:]
	for i, c := range t.claims() {
		if which>>i&1 == 0 {
			continue
		}
		if b, err = c.Decode(b); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	if which&parallelBit != 0 {
		if len(b) == 0 || b[0] > MaxParallel {
			return fmt.Errorf("%w: requests at once", ErrCorrupt)
		}
		n.parallel, b = b[0], b[1:]
	}
	v, used := binary.Uvarint(b)
	if used <= 0 || v > math.MaxInt64 {
		return fmt.Errorf("%w: requisites", ErrCorrupt)
	}
	t.requisites, b = v, b[used:]
	if t.groups, b, err = decodeGroups(b); err != nil {
		return err
	}
	if b, err = t.trust.Decode(b); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err := t.rates.UnmarshalBinary(b); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	t.load, t.pages, t.late = Load{f[0], f[1]}, f[2], f[13]
	*s = State{Timetable: *t, visits: f[3], failures: uint32(f[4]), absences: uint32(f[5] >> 1), dead: f[5]&1 == 1,
		took: time.Duration(f[6]), mean: time.Duration(f[7]), worst: time.Duration(f[8]),
		crawlDelay: time.Duration(f[9]), parallel: n.parallel,
		lastOK: int64(f[10]), next: int64(f[11]), rest: int64(f[12])}
	return nil
}

// decodeGroups reads the groups of pages, by their length and their bytes, and returns what follows them. nil: there
// are none.
func decodeGroups(b []byte) (groups *template.Groups, rest []byte, err error) {
	length, used := binary.Uvarint(b)
	if used <= 0 || length > uint64(len(b)-used) {
		return nil, nil, fmt.Errorf("%w: groups", ErrCorrupt)
	}
	b = b[used:]
	if length > 0 {
		groups = &template.Groups{}
		if err := groups.UnmarshalBinary(b[:length]); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return groups, b[length:], nil
}
