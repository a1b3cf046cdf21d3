package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"

	"henro/messages/outlink"
)

// maxLinksLen bounds what a link set unpacks to, so that a damaged length cannot take all memory. 100,000 links are some 8 MB; what
// is behind the bound is left out.
const maxLinksLen = 16 << 20

// How a link set is packed.
const (
	linksPlain = 0
	linksS2    = 1
)

// encodeLinks packs the outlinks of one page. Successive links of a page resemble each other, so sharing prefixes halves them before
// s2 halves the rest.
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

func decodeLinks(key, v []byte) ([]outlink.Outlink, error) {
	b, err := unseal(key, v)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 || b[0] > linksS2 {
		return nil, ErrCorrupt
	}
	packed, b := b[0] == linksS2, b[1:]
	if packed {
		n, err := s2.DecodedLen(b)
		if err != nil || n > maxLinksLen {
			return nil, errors.Join(ErrCorrupt, err)
		}
		if b, err = s2.Decode(nil, b); err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrCorrupt, err)
		}
	}
	s := scanner{rest: b}
	n := s.uvarint()
	if n > uint64(len(s.rest)) {
		return nil, ErrCorrupt
	}
	links, last := make([]outlink.Outlink, 0, n), ""
	for ; n > 0 && !s.bad; n-- {
		l := outlink.Outlink{Kind: outlink.Kind(s.u8()), Flags: outlink.Flags(s.u8())}
		l.URL = s.after(last)
		l.Anchor = s.string()
		last = l.URL
		links = append(links, l)
	}
	return links, s.err("links")
}
