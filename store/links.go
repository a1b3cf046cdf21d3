package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"go.etcd.io/bbolt"

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
	linksApart = 2 // it is one of bucketLinkSets, and its number lies here
)

// bucketLinkSets has the link sets by numbers, in the order in which their pages first had links, so that those of a
// commit fill pages of the file one after the other. In bucketLinks, by host and fingerprint, each of them changed a
// page that had room for four: three times its length was written. Files of schema 2 have theirs there, until they
// change.
var bucketLinkSets = []byte("linksets")

// setOf finds the link set of an entry of bucketLinks, and the key over which its sum is: that of the page, with the
// number behind it if it lies apart.
func setOf(tx *bbolt.Tx, key, v []byte) (of, set []byte, err error) {
	at, ok, err := apartOf(key, v)
	if !ok || err != nil {
		return key, v, err
	}
	of = binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), key...), at.number)
	if sets := tx.Bucket(bucketLinkSets); sets != nil {
		set = sets.Get(of[len(key):])
	}
	if set == nil {
		return nil, nil, fmt.Errorf("%w (no link set %d)", ErrCorrupt, at.number)
	}
	return of, set, nil
}

// place is what the entry of a link set says that lies apart.
type place struct {
	number uint64
	count  uint64 // of its links, which are so counted without being read
}

// apartOf reads where a link set lies that lies apart.
func apartOf(key, v []byte) (at place, ok bool, err error) {
	if len(v) < 5 || v[4] != linksApart {
		return at, false, nil
	}
	b, err := unseal(key, v)
	if err != nil {
		return at, true, err
	}
	s := scanner{rest: b[1:]}
	at.number, at.count = s.uvarint(), s.uvarint()
	return at, true, s.err("place of a link set")
}

// putLinks stores the link set of a page under the number that it has, or the next; old is what lies in bucketLinks.
func putLinks(tx *bbolt.Tx, key, old []byte, links []outlink.Outlink) error {
	set, count := encodeLinks(links)
	if len(old) == len(set) && bytes.Equal(old[4:], set[4:]) {
		return nil // of schema 2
	}
	sets, err := tx.CreateBucketIfNotExists(bucketLinkSets)
	if err != nil {
		return err
	}
	sets.FillPercent = 1 // nothing comes between its keys
	at, ok, err := apartOf(key, old)
	if err != nil {
		return err
	}
	if !ok {
		if at.number, err = sets.NextSequence(); err != nil {
			return err
		}
	}
	if !ok || at.count != uint64(count) {
		v := binary.AppendUvarint([]byte{0, 0, 0, 0, linksApart}, at.number)
		if err := put(tx.Bucket(bucketLinks), key, binary.AppendUvarint(v, uint64(count))); err != nil {
			return err
		}
	}
	of := binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), key...), at.number)
	if seal(of, set); bytes.Equal(sets.Get(of[len(key):]), set) {
		return nil // most pages keep their links
	}
	return sets.Put(of[len(key):], set)
}

// deleteLinks deletes the link set of a page, if it has one, which it reports.
func deleteLinks(tx *bbolt.Tx, key []byte) (had bool, err error) {
	links := tx.Bucket(bucketLinks)
	old := links.Get(key)
	if old == nil {
		return false, nil
	}
	at, ok, err := apartOf(key, old)
	if err != nil {
		return true, err
	}
	if sets := tx.Bucket(bucketLinkSets); ok && sets != nil {
		if err := sets.Delete(key64(at.number)); err != nil {
			return true, err
		}
	}
	return true, links.Delete(key)
}

// encodeLinks packs the outlinks of one page. Successive links of a page resemble each other, so sharing prefixes
// halves them before s2 halves the rest.
func encodeLinks(links []outlink.Outlink) (set []byte, count int) {
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
			return b[:5+len(packed)], len(links)
		}
	}
	b := append(make([]byte, 4, 5+len(plain)), linksPlain)
	return append(b, plain...), len(links)
}

// Links reads the outlinks of one page, one after the other, without a string for each. What it shows is valid until
// the next one is read.
type Links struct {
	Kind   outlink.Kind
	Flags  outlink.Flags
	URL    []byte
	Anchor []byte

	s    scanner
	left uint64
	room []byte // of what was unpacked last
}

// readOf begins with the link set of an entry of bucketLinks.
func (l *Links) readOf(tx *bbolt.Tx, key, v []byte) error {
	of, set, err := setOf(tx, key, v)
	if err != nil {
		return err
	}
	return l.read(of, set)
}

// read begins with the value of a link set.
func (l *Links) read(key, v []byte) error {
	plain, err := unpackLinks(&l.room, key, v)
	if err != nil {
		return err
	}
	l.URL, l.s = l.URL[:0], scanner{rest: plain}
	l.left = l.s.uvarint()
	if l.s.bad || l.left > uint64(len(l.s.rest))/minLink {
		return ErrCorrupt
	}
	return nil
}

// Len is how many are still to be read.
func (l *Links) Len() int { return int(l.left) }

// Next reads the next one; false: there is none, or what is there is damaged, which ends the walk that gave it.
func (l *Links) Next() bool {
	if l.left == 0 || l.s.bad {
		return false
	}
	l.left--
	l.Kind, l.Flags = outlink.Kind(l.s.u8()), outlink.Flags(l.s.u8())
	shared := l.s.uvarint()
	if shared > uint64(len(l.URL)) {
		l.s.bad = true
		return false
	}
	l.URL, l.Anchor = append(l.URL[:shared], l.s.bytes()...), l.s.bytes()
	return !l.s.bad
}

// Outlink is a copy of the one read last.
func (l *Links) Outlink() outlink.Outlink {
	return outlink.Outlink{URL: string(l.URL), Anchor: string(l.Anchor), Kind: l.Kind, Flags: l.Flags}
}

// end reads what is left, and says whether all was whole.
func (l *Links) end() error {
	for l.Next() {
	}
	return l.s.err("links")
}

// All makes the links that are left. Their texts are parts of one string, which lives as long as any of them: 20 small
// strings for each page were half of the time of a pass over all links.
func (l *Links) All() ([]outlink.Outlink, error) {
	links, ends := make([]outlink.Outlink, l.left), make([][2]int, l.left) // of URL and anchor in text
	text := make([]byte, 0, 2*len(l.s.rest))
	for i := 0; l.Next(); i++ {
		links[i].Kind, links[i].Flags = l.Kind, l.Flags
		text = append(text, l.URL...)
		ends[i][0] = len(text)
		text = append(text, l.Anchor...)
		ends[i][1] = len(text)
	}
	if err := l.end(); err != nil {
		return nil, err
	}
	whole, from := string(text), 0
	for i, end := range ends {
		links[i].URL, links[i].Anchor = whole[from:end[0]], whole[end[0]:end[1]]
		from = end[1]
	}
	return links, nil
}

// decodeLinks unpacks the outlinks of one page.
func decodeLinks(key, v []byte) ([]outlink.Outlink, error) {
	var l Links
	if err := l.read(key, v); err != nil {
		return nil, err
	}
	return l.All()
}

// scanLinks shows the link sets whose keys have a prefix.
func scanLinks(tx *bbolt.Tx, prefix []byte, fn func(host HostID, fp uint64, links *Links) error) error {
	var l Links
	c := tx.Bucket(bucketLinks).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if err := l.readOf(tx, k, v); err != nil || len(k) != 16 {
			return fmt.Errorf("links %x: %w", k, cmp.Or(err, ErrCorrupt))
		}
		if err := fn(hostKey(k), binary.BigEndian.Uint64(k[8:]), &l); err != nil {
			return err
		}
		if err := l.end(); err != nil {
			return fmt.Errorf("links %x: %w", k, err)
		}
	}
	return nil
}

// unpackLinks checks and unpacks the value of a link set. Room is for what was packed; it grows as needed.
func unpackLinks(room *[]byte, key, v []byte) ([]byte, error) {
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
	*room = slices.Grow((*room)[:0], n)[:n]
	plain, err := s2.Decode(*room, b[1:])
	if err != nil {
		return nil, fmt.Errorf("%w (%d bytes of links)", ErrCorrupt, n)
	}
	return plain, nil
}
