package store

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/s2"

	"henro/messages/outlink"
)

// maxLinksLen bounds what a link set unpacks to, so that a damaged length cannot take all memory. 100,000 links are
// some 8 MB; what is behind the bound is left out.
const maxLinksLen = 16 << 20

// minLink is the length of the shortest link: its kind, its flags and three lengths.
const minLink = 5

// How a link set is packed.
const (
	linksPlain = 0
	linksS2    = 1
)

// encodeLinks packs the outlinks of one page. Successive links of a page resemble each other, so sharing prefixes
// halves them before s2 halves the rest.
func encodeLinks(links []outlink.Outlink) []byte {
	plain := binary.AppendUvarint(make([]byte, 0, 48*len(links)+8), uint64(len(links)))
	last := ""
	for i := range links {
		l := &links[i]
		if len(plain)+len(l.URL)+len(l.Anchor)+32 > maxLinksLen {
			return encodeLinks(links[:i])
		}
		plain = append(plain, byte(l.Kind), byte(l.Flags))
		plain = appendAfter(plain, last, l.URL)
		plain = appendString(plain, l.Anchor)
		last = l.URL
	}
	if len(plain) > 128 {
		b := make([]byte, 5+s2.MaxEncodedLen(len(plain)))
		b[4] = linksS2
		if packed := s2.Encode(b[5:], plain); len(packed) < len(plain) {
			return b[:5+len(packed)]
		}
	}
	b := append(make([]byte, 4, 5+len(plain)), linksPlain)
	return append(b, plain...)
}

// decodeLinks unpacks the outlinks of one page. Their texts are parts of one string, which lives as long as any of
// them: 20 small strings for each page were half of the time of a pass over all links.
func decodeLinks(key, v []byte) ([]outlink.Outlink, error) {
	plain, err := unpackLinks(key, v)
	if err != nil {
		return nil, err
	}
	s := scanner{rest: plain}
	n := s.uvarint()
	if n > uint64(len(s.rest))/minLink {
		return nil, ErrCorrupt
	}
	links := make([]outlink.Outlink, n)
	ends := make([][2]int, n)                             // of URL and anchor in text
	text, last := make([]byte, 0, 2*len(plain)), [2]int{} // where the URL before lies
	for i := range links {
		links[i].Kind, links[i].Flags = outlink.Kind(s.u8()), outlink.Flags(s.u8())
		from, shared := len(text), s.uvarint()
		if s.bad || shared > uint64(last[1]-last[0]) {
			return nil, ErrCorrupt
		}
		text = append(append(text, text[last[0]:last[0]+int(shared)]...), s.bytes()...)
		last = [2]int{from, len(text)}
		text = append(text, s.bytes()...)
		ends[i] = [2]int{last[1], len(text)}
	}
	if err := s.err("links"); err != nil {
		return nil, err
	}
	whole, from := string(text), 0
	for i, end := range ends {
		links[i].URL, links[i].Anchor = whole[from:end[0]], whole[end[0]:end[1]]
		from = end[1]
	}
	return links, nil
}

// countLinks returns how many links a set has.
func countLinks(key, v []byte) (uint64, error) {
	plain, err := unpackLinks(key, v)
	if err != nil {
		return 0, err
	}
	s := scanner{rest: plain}
	n := s.uvarint()
	if s.bad || n > uint64(len(s.rest))/minLink {
		return 0, ErrCorrupt
	}
	return n, nil
}

// unpackLinks checks and unpacks the value of a link set.
func unpackLinks(key, v []byte) ([]byte, error) {
	b, err := unseal(key, v)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 || b[0] > linksS2 {
		return nil, ErrCorrupt
	}
	if b[0] == linksPlain {
		return b[1:], nil
	}
	n, err := s2.DecodedLen(b[1:])
	if err != nil || n > maxLinksLen {
		return nil, fmt.Errorf("%w (%d bytes of links)", ErrCorrupt, n)
	}
	plain, err := s2.Decode(nil, b[1:])
	if err != nil {
		return nil, fmt.Errorf("%w (%d bytes of links)", ErrCorrupt, n)
	}
	return plain, nil
}
