package walls

import (
	"encoding/binary"
	"math/bits"
)

// found has a bit for each word of a class that was found.
type found [kinds][classes]uint64

// of is how many words of a class were found.
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
	by     map[uint32][]entry
}

var all = makeFinder()

func makeFinder() *finder {
	f := &finder{by: map[uint32][]entry{}}
	for k := range words {
		for c, list := range words[k] {
			for i, word := range list {
				key := binary.BigEndian.Uint32([]byte(word))
				f.by[key] = append(f.by[key], entry{word, Kind(k), class(c), 1 << i})
				f.begins[hash(key)>>6] |= 1 << (hash(key) & 63)
			}
		}
	}
	return f
}

func hash(key uint32) uint32 { return key * 2654435761 >> 16 }

// find notes the words in a text, whose capitals of ASCII count as small letters.
func (f *finder) find(text []byte, out *found) {
	key := uint32(0)
	for i := 0; i < len(text); i++ {
		key = key<<8 | uint32(lowered[text[i]])
		if h := hash(key); i < 3 || f.begins[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, e := range f.by[key] {
			if begins(text[i-3:], e.word) {
				out[e.kind][e.class] |= e.bit
			}
		}
	}
}

func begins(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := 4; i < len(word); i++ {
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
