package warc

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// shortRecord is the length up to which a record without a body is compressed by short: beyond it a code of its own
// saves more than its table takes.
const shortRecord = 2 << 10

// short compresses the requests, revisits and metadata of visits, whose headers differ in little but names, dates and
// digests: into one block of deflate (RFC 1951) with a Huffman code that was made beforehand from samples of such
// records. A general compressor spends most of its time for a short text on making a code for it: 17 µs instead of 53
// for the three records of an unchanged page (BenchmarkUnchanged), which become 3 % longer.
//
// The code has words for line ends and printable ASCII; what holds other bytes is left to the general compressor.
type short struct {
	code  *shortCode
	table [1 << shortHash]uint16 // one more than where four bytes of a hash were seen last; 0: nowhere
	text  []byte
}

const shortHash = 11

// shortCode is a Huffman code for the symbols of deflate: those of distances reach shortRecord and beyond.
type shortCode struct {
	header    bitString // what announces the code at the begin of a block, the last of its member
	literals  [286]symbol
	distances [24]symbol
	lengths   [259]symbol // of a match: its symbol with the extra bits that follow
}

// symbol is a code word, its first bit the lowest.
type symbol struct {
	bits  uint32
	count uint8
}

// bitString is bits in the order of deflate: the first is the lowest of the first byte.
type bitString struct {
	bytes []byte
	last  uint64 // bits that are no whole byte yet
	count uint8
}

func (b *bitString) put(s symbol) {
	b.last |= uint64(s.bits) << b.count
	if b.count += s.count; b.count >= 32 {
		b.bytes = binary.LittleEndian.AppendUint32(b.bytes, uint32(b.last))
		b.last >>= 32
		b.count -= 32
	}
}

// finish fills the last byte with zeros.
func (b *bitString) finish() []byte {
	for ; b.count > 0; b.count -= min(b.count, 8) {
		b.bytes = append(b.bytes, byte(b.last))
		b.last >>= 8
	}
	return b.bytes
}

// append appends parts, in all at most shortRecord bytes, as a gzip member; false if the code has no words for them.
func (s *short) append(dst []byte, parts ...[]byte) ([]byte, bool) {
	s.text = s.text[:0]
	for _, part := range parts {
		s.text = append(s.text, part...)
	}
	for _, c := range s.text {
		if s.code.literals[c].count == 0 {
			return dst, false
		}
	}
	out := s.code.header
	out.bytes = append(append(append(dst, gzipMagic...), 0, 0, 0, 0, 0, 0, 255), out.bytes...)
	s.tokens(func(literal byte, length, distance int) {
		if length == 0 {
			out.put(s.code.literals[literal])
			return
		}
		out.put(s.code.lengths[length])
		at, extra := distanceSymbol(distance)
		out.put(s.code.distances[at])
		out.put(extra)
	})
	out.put(s.code.literals[endOfBlock])
	dst = binary.LittleEndian.AppendUint32(out.finish(), crc32.ChecksumIEEE(s.text))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(s.text))), true
}

// tokens divides text into single bytes, of length 0, and repeats of what stood so far before.
func (s *short) tokens(take func(literal byte, length, distance int)) {
	clear(s.table[:])
	text := s.text
	see := func(at int) (before int) {
		slot := &s.table[binary.LittleEndian.Uint32(text[at:])*0x9e3779b1>>(32-shortHash)]
		before, *slot = int(*slot)-1, uint16(at+1)
		return before
	}
	at := 0
	for at+4 <= len(text) {
		before, length := see(at), 0
		if before >= 0 {
			most := min(len(text)-at, 258)
			for length < most && text[before+length] == text[at+length] {
				length++
			}
		}
		if length < 4 {
			take(text[at], 0, 0)
			at++
			continue
		}
		take(0, length, at-before)
		for end := at + length; at+1 < end; {
			if at++; at+4 <= len(text) {
				see(at)
			}
		}
		at++
	}
	for ; at < len(text); at++ {
		take(text[at], 0, 0)
	}
}

const (
	endOfBlock  = 256
	firstLength = 257
)

// lengthSymbol returns the symbol of the length of a match, 3 to 258, and its extra bits (RFC 1951 3.2.5).
func lengthSymbol(length int) (at int, extra symbol) {
	n := length - 3
	switch {
	case length == 258:
		return 285, symbol{}
	case n < 8:
		return firstLength + n, symbol{}
	}
	high := bits.Len(uint(n)) - 1
	return firstLength + 4*(high-1) + n>>(high-2)&3, symbol{uint32(n & (1<<(high-2) - 1)), uint8(high - 2)}
}

// distanceSymbol does so with a distance from 1.
func distanceSymbol(distance int) (at int, extra symbol) {
	n := distance - 1
	if n < 4 {
		return n, symbol{}
	}
	high := bits.Len(uint(n)) - 1
	return 2*high + n>>(high-1)&1, symbol{uint32(n & (1<<(high-1) - 1)), uint8(high - 1)}
}

// newShortCode makes the code from the samples. Symbols that are not in them get long words.
var newShortCode = sync.OnceValue(func() *shortCode {
	var literals [286]int
	var distances [24]int
	const often = 8 // a symbol that occurs once in the samples against one that does not
	for i := range literals {
		if i == '\r' || i == '\n' || i >= ' ' && i <= '~' || i >= endOfBlock {
			literals[i] = 1
		}
	}
	for i := range distances {
		distances[i] = 1
	}
	for _, sample := range shortSamples {
		s := short{text: []byte(strings.ReplaceAll(sample, "\n", "\r\n"))}
		s.tokens(func(literal byte, length, distance int) {
			if length == 0 {
				literals[literal] += often
				return
			}
			at, _ := lengthSymbol(length)
			literals[at] += often
			at, _ = distanceSymbol(distance)
			distances[at] += often
		})
		literals[endOfBlock] += often
	}
	for _, alike := range [][2]int{{'0', '9'}, {'A', 'Z'}, {'a', 'f'}} { // of numbers, digests and names of records
		sum, n := 0, alike[1]-alike[0]+1
		for _, weight := range literals[alike[0] : alike[1]+1] {
			sum += weight
		}
		for i := alike[0]; i <= alike[1]; i++ {
			literals[i] = sum / n
		}
	}
	c := &shortCode{}
	lengths := append(wordLengths(literals[:]), wordLengths(distances[:])...)
	copy(c.literals[:], words(lengths[:len(literals)]))
	copy(c.distances[:], words(lengths[len(literals):]))
	for length := 3; length < len(c.lengths); length++ {
		at, extra := lengthSymbol(length)
		word := c.literals[at]
		c.lengths[length] = symbol{word.bits | extra.bits<<word.count, word.count + extra.count}
	}
	c.announce(lengths)
	return c
})

// announce makes the header of a block: the lengths of all words, those of literals and of distances in one row, in a
// Huffman code of their own.
func (c *shortCode) announce(lengths []uint8) {
	type step struct {
		at    int // a length; 16: the last one 3 to 6 times more; 18: 11 to 138 times none
		extra symbol
	}
	var steps []step
	var weights [19]int
	take := func(at int, extra symbol) {
		steps = append(steps, step{at, extra})
		weights[at]++
	}
	for i := 0; i < len(lengths); {
		run := 1
		for i+run < len(lengths) && lengths[i+run] == lengths[i] {
			run++
		}
		i += run
		for length := int(lengths[i-1]); run > 0; {
			switch {
			case length == 0 && run >= 11:
				n := min(run, 138)
				take(18, symbol{uint32(n - 11), 7})
				run -= n
				continue
			case len(steps) > 0 && steps[len(steps)-1].at == length && run >= 3:
				n := min(run, 6)
				for ; run >= 3; n = min(run, 6) {
					take(16, symbol{uint32(n - 3), 2})
					run -= n
				}
				continue
			}
			take(length, symbol{})
			run--
		}
	}
	sizes := wordLengths(weights[:])
	b := &c.header
	b.put(symbol{1 | 2<<1, 3}) // the last block, with a code of its own
	b.put(symbol{uint32(len(c.literals) - 257), 5})
	b.put(symbol{uint32(len(c.distances) - 1), 5})
	b.put(symbol{uint32(len(sizes) - 4), 4})
	for _, at := range [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		b.put(symbol{uint32(sizes[at]), 3})
	}
	words := words(sizes)
	for _, s := range steps {
		b.put(words[s.at])
		b.put(s.extra)
	}
}

// wordLengths returns the lengths of the words of a Huffman code; what has no weight has no word.
func wordLengths(weights []int) []uint8 {
	type node struct {
		weight int
		of     []int // symbols below it
	}
	var nodes []node
	for i, weight := range weights {
		if weight > 0 {
			nodes = append(nodes, node{weight, []int{i}})
		}
	}
	lighter := func(a, b node) int { return a.weight - b.weight }
	slices.SortStableFunc(nodes, lighter)
	lengths := make([]uint8, len(weights))
	for len(nodes) > 1 {
		both := node{nodes[0].weight + nodes[1].weight, slices.Concat(nodes[0].of, nodes[1].of)}
		for _, i := range both.of {
			lengths[i]++
		}
		nodes = nodes[2:]
		at, _ := slices.BinarySearchFunc(nodes, both, lighter)
		nodes = slices.Insert(nodes, at, both)
	}
	return lengths
}

// words returns the words of a canonical code with these lengths (RFC 1951 3.2.2).
func words(lengths []uint8) []symbol {
	all := make([]symbol, len(lengths))
	next := uint16(0)
	for count := uint8(1); count <= 15; count++ {
		for i, length := range lengths {
			if length == count {
				all[i] = symbol{uint32(bits.Reverse16(next) >> (16 - count)), count}
				next++
			}
		}
		next <<= 1
	}
	return all
}

// shortSamples are records as a crawl writes them.
var shortSamples = []string{`WARC/1.1
WARC-Type: request
WARC-Record-ID: <urn:uuid:a709ecef-54c8-45b3-9d96-1681b7550df3>
WARC-Date: 2026-11-22T16:47:40Z
WARC-Target-URI: http://www.example.org/events/archive/p5.html
WARC-IP-Address: 192.0.2.17
WARC-Concurrent-To: <urn:uuid:e5fac3e0-dcca-41e6-9b97-13cdf7488ac4>
WARC-Block-Digest: sha1:KMCK4Y237N3CTIBRWYREHDUTEI2AHWY7
Content-Type: application/http; msgtype=request
Content-Length: 242

GET /events/archive/p5.html HTTP/1.1
Host: www.example.org
User-Agent: henro/1.0 (+https://example.org/about)
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8
Accept-Encoding: gzip, deflate, br, zstd
If-None-Match: "22f2238c36190038"



`, `WARC/1.1
WARC-Type: revisit
WARC-Record-ID: <urn:uuid:3427924e-3cb1-4472-bf7f-2373b45bf5a2>
WARC-Date: 2027-03-08T09:35:12Z
WARC-Target-URI: https://docs.example.com:8080/guide/index.php?id=90
WARC-IP-Address: 127.0.0.1
WARC-Concurrent-To: <urn:uuid:b9a949b5-84c2-4aac-a191-6e9f36e9e0c9>
WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified
WARC-Refers-To-Target-URI: https://docs.example.com:8080/guide/index.php?id=90
WARC-Refers-To-Date: 2026-11-22T16:45:47Z
WARC-Payload-Digest: sha1:VOKOSNVRU7XA4RSFKBKMUBRUF7RHXMSX
WARC-Block-Digest: sha1:AJOT6PTVWTOQCAM2XLHJ223WAQPOJK3R
Content-Type: application/http; msgtype=response
Content-Length: 108

HTTP/1.1 304 Not Modified
Server: nginx
Date: Sun, 22 Nov 2026 16:47:40 GMT
Connection: keep-alive
ETag: "591c2189fab837e"
Last-Modified: Wed, 07 Jan 2026 21:18:33 GMT



`, `WARC/1.1
WARC-Type: metadata
WARC-Record-ID: <urn:uuid:1f081896-f321-4501-bbb6-00860df560ce>
WARC-Date: 2026-11-22T16:47:40Z
WARC-Target-URI: http://host.test/people/p43.html
WARC-Concurrent-To: <urn:uuid:58716b2d-0f8b-480b-ad75-cd61e44bb8b7>
WARC-Block-Digest: sha1:S4D5ELNQMR4FZXZIWYSKYB4KFB7MT4N5
Content-Type: application/warc-fields
Content-Length: 217

via: http://host.test/
fetchTimeMs: 35
charsetForLinkExtraction: utf-8
language: en
title: Of the people who made it, and how
hostVerdict: feasible
outlink: http://host.test/docs/ L a
outlink: http://host.test/style.css E link


`}
