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
	from  int // where in it the four bytes are by which it is found
	kind  Kind
	class class
	bit   uint64
}

// finder looks for all words in one pass: four bytes in a row tell most places where none is. Where all words have at
// least step more than three bytes, every step-th place will do.
type finder struct {
	has  [1 << 10]uint64 // a bit for each hash of four bytes by which a word is found
	at   [1 << 16]uint16 // of a hash, where in by the words are
	by   [][]entry
	step int
}

// The finders of what titles and texts say, of what bodies do, and of URLs.
var (
	titled             = makeFinder(titles, says)
	said, hinted       = makeFinder(says), makeFinder(hints, around)
	written, addressed = makeFinder(marks, widgets), makeFinder(urls)
)

func makeFinder(of ...class) *finder {
	f := &finder{by: [][]entry{nil}, step: 4}
	for k := range words {
		for _, c := range of {
			for _, w := range words[k][c] {
				f.step = max(1, min(f.step, len(w.text)-3))
			}
		}
	}
	for k := range words {
		for _, c := range of {
			for _, w := range words[k][c] {
				for from := range f.step {
					h := hash(binary.LittleEndian.Uint32([]byte(w.text[from:])))
					if f.at[h] == 0 {
						f.at[h] = uint16(len(f.by))
						f.by = append(f.by, nil)
					}
					by := &f.by[f.at[h]]
					*by = append(*by, entry{w.text, from, Kind(k), c, 1 << w.idea})
					f.has[h>>6] |= 1 << (h & 63)
				}
			}
		}
	}
	return f
}

// hash is that of four bytes, whether letters of ASCII among them are capitals or small.
func hash(key uint32) uint16 { return uint16((key | 0x20202020) * 2654435761 >> 16) }

// find notes the words in a text, whose capitals of ASCII count as small letters.
func (f *finder) find(text []byte, out *found) {
	for i := 0; i+4 <= len(text); i += f.step {
		h := hash(binary.LittleEndian.Uint32(text[i:]))
		if f.has[h>>6]>>(h&63)&1 == 0 {
			continue
		}
		for _, e := range f.by[f.at[h]] {
			if i >= e.from && begins(text[i-e.from:], e.word) {
				out[e.kind][e.class] |= e.bit
			}
		}
	}
}

// lower is a text behind a space, so that its first word has one before it as all others have. Of a text that is not
// all ASCII it makes the capitals small.
func lower(text []byte) []byte {
	text = append([]byte(" "), text...)
	if bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return bytes.ToLower(text)
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
