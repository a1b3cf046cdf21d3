// Package short makes gzip members of some hundred bytes of text, as headers of records are: a block of deflate
// (RFC 1951) with a Huffman code that was made beforehand from such texts. A general compressor spends three quarters
// of its time for a short text on making a code for it.
//
// Any inflater reads it. The code has words for all bytes, all lengths and all distances, so that any text can be
// compressed; one that has little of ASCII grows by up to three quarters.
package short

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"
)

// word is a word of the code with the bits that follow it, the first the lowest.
type word struct {
	bits  uint32
	count uint8
}

const (
	endOfBlock, firstLength, longest = 256, 257, 258
	farthest                         = 1 << 15
)

// The words of the code: of literals, of lengths by length and of distances.
var (
	literals  = words(lengths[:286])
	distances = words(lengths[286:])
	matches   = func() (all [longest + 1]word) {
		for length := 3; length <= longest; length++ {
			at, extra := lengthSymbol(length)
			w := literals[at]
			all[length] = word{w.bits | extra.bits<<w.count, w.count + extra.count}
		}
		return all
	}()
)

// words returns the words of a canonical code (RFC 1951 3.2.2) whose lengths stand in hexadecimal digits.
func words(lengths string) []word {
	all, next := make([]word, len(lengths)), uint16(0)
	for count := uint8(1); count <= 15; count, next = count+1, next<<1 {
		for i := range lengths {
			if "0123456789abcdef"[count] == lengths[i] {
				all[i] = word{uint32(bits.Reverse16(next) >> (16 - count)), count}
				next++
			}
		}
	}
	return all
}

// lengthSymbol is the symbol of the length of a match, 3 to 258, and its extra bits (RFC 1951 3.2.5).
func lengthSymbol(length int) (at int, extra word) {
	n := length - 3
	switch {
	case length == longest:
		return 285, word{}
	case n < 8:
		return firstLength + n, word{}
	}
	high := bits.Len(uint(n)) - 1
	return firstLength + 4*(high-1) + n>>(high-2)&3, word{uint32(n & (1<<(high-2) - 1)), uint8(high - 2)}
}

// distanceSymbol is that of a distance from 1 on.
func distanceSymbol(distance int) (at int, extra word) {
	n := distance - 1
	if n < 4 {
		return n, word{}
	}
	high := bits.Len(uint(n)) - 1
	return 2*high + n>>(high-1)&1, word{uint32(n & (1<<(high-1) - 1)), uint8(high - 1)}
}

const hashBits = 10

// Deflater compresses. The zero Deflater is ready; it serves one goroutine at a time.
type Deflater struct {
	seen [1 << hashBits]int32 // one more than where four bytes of a hash were last; 0: nowhere
	made []token              // of the text at hand
}

// token is a byte, or a repeat of so many bytes.
type token struct{ literal, length, distance uint16 }

// divide makes tokens of a text.
func (d *Deflater) divide(text []byte) {
	clear(d.seen[:])
	d.made = d.made[:0]
	at := 0
	see := func() (before int) {
		slot := &d.seen[binary.LittleEndian.Uint32(text[at:])*0x9e3779b1>>(32-hashBits)]
		before, *slot = int(*slot)-1, int32(at+1)
		return before
	}
	for at+4 <= len(text) {
		before, length := see(), 0
		if before >= 0 && at-before <= farthest {
			for most := min(len(text)-at, longest); length < most && text[before+length] == text[at+length]; {
				length++
			}
		}
		if length < 4 {
			d.made = append(d.made, token{literal: uint16(text[at])})
			at++
			continue
		}
		d.made = append(d.made, token{length: uint16(length), distance: uint16(at - before)})
		for end := at + length; at < end; {
			if at++; at < end && at+4 <= len(text) {
				see()
			}
		}
	}
	for _, b := range text[at:] {
		d.made = append(d.made, token{literal: uint16(b)})
	}
}

// Member appends a text as a gzip member of no known moment and system. Behind it stand bodies that are compressed
// already, in stored blocks (RFC 1951 3.2.4).
func (d *Deflater) Member(dst, text []byte, bodies ...[]byte) []byte {
	dst = append(dst, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"...)
	dst = d.Append(dst, text, len(bodies) == 0)
	sum, size := crc32.ChecksumIEEE(text), len(text)
	for i, body := range bodies {
		sum, size = crc32.Update(sum, crc32.IEEETable, body), size+len(body)
		for part := range slices.Chunk(body, math.MaxUint16) {
			last := byte(0)
			if body = body[len(part):]; len(body) == 0 && i == len(bodies)-1 {
				last = 1
			}
			n := uint16(len(part))
			dst = binary.LittleEndian.AppendUint16(append(dst, last), n)
			dst = append(binary.LittleEndian.AppendUint16(dst, ^n), part...)
		}
	}
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, sum), uint32(size))
}

// Append appends a text to dst, as the last block of its stream or as one behind which a byte begins.
func (d *Deflater) Append(dst, text []byte, last bool) []byte {
	d.divide(text)
	dst = append(dst, header...)
	if at := len(dst) - len(header); !last {
		dst[at] &^= 1
	}
	all, count := uint64(headerEnd), uint8(headerEndBits)
	put := func(w word) {
		all |= uint64(w.bits) << count
		if count += w.count; count >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(all))
			all, count = all>>32, count-32
		}
	}
	for _, t := range d.made {
		if t.length == 0 {
			put(literals[t.literal])
			continue
		}
		put(matches[t.length])
		at, extra := distanceSymbol(int(t.distance))
		put(distances[at])
		put(extra)
	}
	put(literals[endOfBlock])
	if !last {
		put(word{0, 3}) // a stored block, of nothing
	}
	for ; count > 0; count -= min(count, 8) {
		dst, all = append(dst, byte(all)), all>>8
	}
	if !last {
		dst = append(dst, 0, 0, 0xff, 0xff)
	}
	return dst
}

// The code, as TestTheCodeFollowsFromTheSamples makes it: how many bits a word has, of literals and lengths, then of
// distances; and what announces this at the begin of the last block of a stream, of which the last bits are no byte.
const (
	lengths = "eeffffffff6ff6ffffffffffffffffff5f9fffffaaaa7566666666666659989bb88888777777778888888877777ffffa" +
		"f555555676f967556a56568978afffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff" +
		"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff9f67868998aabcbfffffcbfffffffe" +
		"a6aaaa5a45433433345aaaaaaaabba"
	header = "\xed\xfd\x05\x80\xe4\xc6\xd6\x05\x8c\xfd\x7f\x38\x4a\x14\x66\xac\x6c\xc8\xd0\x25\xc6\xda\x9d\x7d\x6f" +
		"\xa8\xb9\x87\xa7\x29\xe0\x14\xaa\x95\x55\x57\xc9\xa5\xd2\x6c\x8f\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc" +
		"\xcc\xcc\xbc\x51\x8f\x66\x77\xec\xf7\xbd\xd0\xf7\xc2\xbf\x65\x28\xdf\xba\xe7\xdc\x73\xce\x2d\xb3\xdf"
	headerEnd, headerEndBits = 0x33, 6
)
