package walls

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// found has a bit for each idea of a class that was found.
type found [kinds][classes]uint64

// of is how many ideas of a class were found.
func (f *found) of(k Kind, c class) int { return bits.OnesCount64(f[k][c]) }

// entry is one of the words that are looked for.
type entry struct {
	word  string
	kind  Kind
	class class
	bit   uint64
}

// finder looks for all words in one pass: four bytes in a row tell most places where none begins.
type finder struct {
	begins [1 << 10]uint64 // a bit for each hash of four bytes with which a word begins
	at     [1 << 16]uint16 // of a hash, where in by the words are
	by     [][]entry
}

// The finders of what is said, of what bodies do, and of URLs.
var said, written, addressed = makeFinder(titles, says, hints), makeFinder(marks, widgets), makeFinder(urls)

func makeFinder(of ...class) *finder {
	f := &finder{by: [][]entry{nil}}
	for k := range words {
		for _, c := range of {
			for _, w := range words[k][c] {
				h := hash(binary.BigEndian.Uint32([]byte(w.text)))
				if f.at[h] == 0 {
					f.at[h] = uint16(len(f.by))
					f.by = append(f.by, nil)
				}
				by := &f.by[f.at[h]]
				*by = append(*by, entry{w.text, Kind(k), c, 1 << w.idea})
				f.begins[h>>6] |= 1 << (h & 63)
			}
		}
	}
	return f
}

func hash(key uint32) uint16 { return uint16(key * 2654435761 >> 16) }

// find notes the words in a text, whose capitals of ASCII count as small letters.
func (f *finder) find(text []byte, out *found) {
	key := uint32(0)
	for i, c := range text {
		key = key<<8 | uint32(lowered[c])
		h := hash(key)
		if f.begins[h>>6]>>(h&63)&1 == 0 || i < 3 {
			continue
		}
		for _, e := range f.by[f.at[h]] {
			if begins(text[i-3:], e.word) {
				out[e.kind][e.class] |= e.bit
			}
		}
	}
}

// lower makes small letters of the capitals of a text that is not all ASCII.
func lower(text []byte) []byte {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return bytes.ToLower(text)
		}
	}
	return text
}

func begins(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lowered[text[i]] != word[i] {
			return false
		}
	}
	return true
}

// lowered are the bytes, the capitals among them made small.
var lowered = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		t[c] = c + 'a' - 'A'
	}
	return t
}()
