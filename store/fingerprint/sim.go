package fingerprint

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// Sim sketches a text as SimHash does: every three words in a row, called a shingle, are digested, and each of the 64
// bits says whether most digests have it set. Texts that share most of their shingles differ in few bits: of 64,
// unrelated texts differ in about 30, and pages of 400 words of which six were changed in about 6.
//
// Words are runs of letters and digits, in lower case. Scripts written without spaces (Han, kana, Thai, Lao, Khmer,
// Burmese) give one word per character. Of an empty text the sketch is 0.
func Sim(text []byte) uint64 { return sim(text, nil) }

// sim also gives the digests of the shingles to near, unless near is nil.
func sim(text []byte, near *Nearer) uint64 {
	s := sketch{near: near}
	var word uint64
	inWord := false
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf { // most of most texts, in two thirds of the time
			i++
			switch c := ascii[b]; {
			case c == 0:
				if inWord {
					s.word(word)
					inWord = false
				}
			case inWord:
				word = mix(word, uint64(c))
			default:
				inWord, word = true, mix(seed, uint64(c))
			}
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		class := classOf(r)
		if inWord && class != letter {
			s.word(word)
			inWord = false
		}
		switch class {
		case letter:
			if !inWord {
				inWord, word = true, seed
			}
			word = mix(word, uint64(unicode.ToLower(r)))
		case character:
			s.word(mix(seed, uint64(r)))
		}
	}
	if inWord {
		s.word(word)
	}
	return s.sum()
}

// Distance counts the bits in which two sketches differ, 0 to 64.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

const seed = 0x9e3779b97f4a7c15

// mix is one round of a multiply-and-shift hash; finish spreads its last round over all bits.
func mix(h, x uint64) uint64 { return (bits.RotateLeft64(h, 23) ^ x) * 0xff51afd7ed558ccd }

func finish(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// What a character is part of.
const (
	space     = iota // nothing: white space, punctuation, marks
	letter           // a word
	character        // is a word by itself
)

// classOf is for characters beyond ASCII.
func classOf(r rune) int {
	switch {
	case r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar):
		return character
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return letter
	}
	return space
}

// ascii holds the lower case of letters and digits, and 0 for what is between words.
var ascii = func() (table [utf8.RuneSelf]byte) {
	for c := byte(0); c < utf8.RuneSelf; c++ {
		switch {
		case 'A' <= c && c <= 'Z':
			table[c] = c + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			table[c] = c
		}
	}
	return table
}()

// sketch counts, for each of 64 bits, how many shingles have it set. planes[k] holds bit k of all 64 counts. The carry
// of one digest ripples through six planes or so, as in a binary counter. So eight are added together, by full adders,
// and only their carry ripples.
type sketch struct {
	planes    [32]uint64
	waiting   [8]uint64 // digests to be added
	shingles  int
	words     int
	last      [2]uint64 // the words before
	remaining uint64    // digest of a text of one or two words
	near      *Nearer   // gets the digests as well; may be nil
}

func (s *sketch) word(w uint64) {
	s.words++
	if s.words >= 3 {
		digest := finish(mix(mix(s.last[0], s.last[1]), w))
		if s.waiting[s.shingles%8] = digest; s.near != nil {
			s.near.add(digest)
		}
		if s.shingles++; s.shingles%8 == 0 {
			s.addEight()
		}
	} else {
		s.remaining = finish(mix(mix(seed, s.last[1]), w))
	}
	s.last[0], s.last[1] = s.last[1], w
}

// addEight adds all that waits.
func (s *sketch) addEight() {
	w, p := &s.waiting, &s.planes
	one, twoA := add(p[0], w[0], w[1])
	one, twoB := add(one, w[2], w[3])
	two, fourA := add(p[1], twoA, twoB)
	one, twoA = add(one, w[4], w[5])
	one, twoB = add(one, w[6], w[7])
	two, fourB := add(two, twoA, twoB)
	four, eight := add(p[2], fourA, fourB)
	p[0], p[1], p[2] = one, two, four
	s.ripple(3, eight)
}

// add adds three numbers of one bit, 64 times.
func add(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

// ripple adds a digest to the planes from k up.
func (s *sketch) ripple(k int, digest uint64) {
	for ; digest != 0; k++ {
		digest, s.planes[k] = s.planes[k]&digest, s.planes[k]^digest
	}
}

// sum sets the bits that more than half of the shingles have set.
func (s *sketch) sum() uint64 {
	if s.shingles == 0 {
		return s.remaining
	}
	for _, digest := range s.waiting[:s.shingles%8] {
		s.ripple(0, digest)
	}
	// Compare all 64 counts with half the number of shingles, from the highest plane down.
	half := uint64(s.shingles / 2)
	more, equal := uint64(0), ^uint64(0)
	for k := bits.Len(uint(s.shingles)); k >= 0; k-- {
		plane := s.planes[k]
		if half>>k&1 == 0 {
			more |= equal & plane
			equal &^= plane
		} else {
			equal &= plane
		}
	}
	return more
}
