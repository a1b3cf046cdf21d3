package stoplist

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
)

// Changes says what has happened to the evidence and the entries since they were marshalled.
type Changes uint8

// The changes. A slight one may be lost: good pages are seen again. A grave one may not: broken pages were on their way
// to stop a folder.
const (
	Slight Changes = 1 << iota // there was a visit
	Grave                      // there was a broken page
	Listed                     // there are other entries
)

// Changed reports what has happened: after Slight and Grave MarshalBinary would write something else than last, after
// Listed MarshalEntries.
func (l *List) Changed() Changes { return l.changes }

// ErrEvidence is returned for bytes that MarshalBinary has not written.
var ErrEvidence = errors.New("evidence of the stop list cannot be read")

// folderBytes is what one folder takes: its fingerprint, broken pages, good pages.
const folderBytes = 8 + 4 + 1

// MarshalBinary writes the evidence, which is all but the entries: 13 bytes a folder, 7 kB at most by default; nothing
// when there is none.
//
//	count uv ‖ count × (folder8 ‖ broken f32 ‖ good1) ‖ texts1 ‖ texts × (text8 ‖ times u16), little endian,
//	folders by fingerprint
func (l *List) MarshalBinary() ([]byte, error) {
	l.changes &= Listed
	folders := slices.Sorted(maps.Keys(l.watched))
	n := 0
	for _, times := range l.texts.counts {
		if times > 0 {
			n++
		}
	}
	if len(folders) == 0 && n == 0 {
		return nil, nil
	}
	b := binary.AppendUvarint(make([]byte, 0, 4+folderBytes*len(folders)+10*n), uint64(len(folders)))
	for _, folder := range folders {
		w := l.watched[folder]
		b = binary.LittleEndian.AppendUint64(b, folder)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(w.broken))
		b = append(b, w.good)
	}
	b = append(b, uint8(n))
	for i, times := range l.texts.counts {
		if times > 0 {
			b = binary.LittleEndian.AppendUint64(b, l.texts.kept[i])
			b = binary.LittleEndian.AppendUint16(b, times)
		}
	}
	return b, nil
}

// UnmarshalBinary puts the evidence back that MarshalBinary wrote, and leaves the entries as they are; nothing is no
// evidence.
func (l *List) UnmarshalBinary(b []byte) error {
	l.watched, l.texts = nil, texts{}
	if len(b) == 0 {
		return nil
	}
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)-n)/folderBytes {
		return ErrEvidence
	}
	b = b[n:]
	watchedNow := make(map[uint64]evidence, count)
	for range count {
		w := evidence{math.Float32frombits(binary.LittleEndian.Uint32(b[8:])), b[12]}
		if !(w.broken >= 0 && w.broken < 1e9) || w.good > mostGood {
			return ErrEvidence
		}
		watchedNow[binary.LittleEndian.Uint64(b)] = w
		b = b[folderBytes:]
	}
	if len(b) == 0 || b[0] > textsKept || len(b) != 1+10*int(b[0]) {
		return ErrEvidence
	}
	for i := range int(b[0]) {
		l.texts.kept[i], l.texts.counts[i] = binary.LittleEndian.Uint64(b[1+10*i:]),
			binary.LittleEndian.Uint16(b[9+10*i:])
	}
	l.watched = watchedNow
	return nil
}

// MarshalEntries writes the entries, as JSON; nothing when there are none.
func (l *List) MarshalEntries() ([]byte, error) {
	l.changes &^= Listed
	if len(l.entries) == 0 {
		return nil, nil
	}
	return json.Marshal(l.entries)
}

// UnmarshalEntries puts the entries back that MarshalEntries wrote, and leaves the evidence as it is; nothing is no
// entries.
func (l *List) UnmarshalEntries(b []byte) error {
	l.entries = nil
	if len(b) == 0 {
		return nil
	}
	err := json.Unmarshal(b, &l.entries)
	if err == nil && !slices.IsSortedFunc(l.entries, func(a, b Entry) int { return cmp.Compare(a.Prefix, b.Prefix) }) {
		err = ErrEvidence
	}
	return err
}
