package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/s2"
	"go.etcd.io/bbolt"

	"henro/messages/outlink"
	"henro/store/fingerprint"
)

// maxLinksLen bounds what a link set unpacks to, so that a damaged length cannot take all memory. 100,000 links are
// some 8 MB; links behind the bound are left out.
const maxLinksLen = 16 << 20

// minLink is the length of the shortest link: its kind, its flags and three lengths.
const minLink = 5

// How a link set is packed.
const (
	linksPlain = 0
	linksS2    = 1
)

// bucketLinkSets has the link sets by numbers, in the order in which their pages first had links, so that a commit
// fills pages of the file one after the other. Keyed by host and fingerprint, each set changed a page that had room for
// four: three times its length was written. bucketLinks, which has these keys, leads to the number of each.
var bucketLinkSets = []byte("linksets")

// setOf finds the link set of an entry of bucketLinks, and the key of its checksum: that of the page, with the number
// behind it.
func setOf(tx *bbolt.Tx, key, v []byte) (of, set []byte, err error) {
	at, err := setRefOf(key, v)
	if err != nil {
		return nil, nil, err
	}
	of = binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), key...), at.number)
	if set = tx.Bucket(bucketLinkSets).Get(of[len(key):]); set == nil {
		return nil, nil, fmt.Errorf("%w (no link set %d)", ErrCorrupt, at.number)
	}
	return of, set, nil
}

// setRef is what the entry of a page says of its link set.
type setRef struct {
	number uint64
	count  uint64 // of its links, so that they are counted without being read
}

func (r setRef) encode() []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{0, 0, 0, 0}, r.number), r.count)
}

func setRefOf(key, v []byte) (at setRef, err error) {
	b, err := unseal(key, v)
	if err != nil {
		return at, err
	}
	s := scanner{rest: b}
	at.number, at.count = s.uvarint(), s.uvarint()
	return at, s.err("place of a link set")
}

// linkWriter changes the links of pages, and which of them are to be admitted again, within one commit.
type linkWriter struct {
	tx     *bbolt.Tx
	totals *totals
}

// put stores the link set of a page under the number that it has, or the next; none: the page has no links any more.
func (w *linkWriter) put(key []byte, url string, links []outlink.Outlink) error {
	if len(links) == 0 {
		return w.delete(key, url)
	}
	old := w.tx.Bucket(bucketLinks).Get(key)
	if old == nil {
		w.totals.linked++
	}
	if err := putLinks(w.tx, key, old, links); err != nil {
		return fmt.Errorf("links of %s: %w", url, err)
	}
	return nil
}

// putLinks stores a link set; old is what lies in bucketLinks.
func putLinks(tx *bbolt.Tx, key, old []byte, links []outlink.Outlink) (err error) {
	set, count := encodeLinks(links)
	sets := tx.Bucket(bucketLinkSets)
	sets.FillPercent = 1 // nothing comes between its keys
	var at setRef
	if old != nil {
		at, err = setRefOf(key, old)
	} else {
		at.number, err = sets.NextSequence()
	}
	if err != nil {
		return err
	}
	if old == nil || at.count != uint64(count) {
		at.count = uint64(count)
		if err := put(tx.Bucket(bucketLinks), key, at.encode()); err != nil {
			return err
		}
	}
	of := binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), key...), at.number)
	if seal(of, set); bytes.Equal(sets.Get(of[len(key):]), set) {
		return nil // most pages keep their links
	}
	return sets.Put(of[len(key):], set)
}

// delete deletes the link set of a page, if it has one.
func (w *linkWriter) delete(key []byte, url string) error {
	links := w.tx.Bucket(bucketLinks)
	old := links.Get(key)
	if old == nil {
		return nil
	}
	at, err := setRefOf(key, old)
	if err == nil {
		err = w.tx.Bucket(bucketLinkSets).Delete(key64(at.number))
	}
	if err == nil {
		err = remove(links, key, &w.totals.linked)
	}
	if err != nil {
		return fmt.Errorf("links of %s: %w", url, err)
	}
	return nil
}

// relax puts a page down for its links, if it has any, to be admitted again with more depth left.
func (w *linkWriter) relax(to *Relaxation, fp uint64) error {
	relax, key := w.tx.Bucket(bucketRelax), key128(to.Host, fp)
	if w.tx.Bucket(bucketLinks).Get(key) == nil {
		return nil
	}
	if v := relax.Get(key); v != nil {
		if r, err := decodeRelaxation(key, v); err != nil || r.DepthLeft >= to.DepthLeft {
			return err
		}
	}
	return insert(relax, key, encodeRelaxation(to), &w.totals.relaxations)
}

// relaxed ticks off pages whose links were admitted again, except those that were put down with more depth meanwhile.
func (w *linkWriter) relaxed(done []Relaxation) error {
	for i := range done {
		r := &done[i]
		key := key128(r.Host, fingerprint.URL(r.URL))
		v := w.tx.Bucket(bucketRelax).Get(key)
		if v == nil {
			continue
		}
		stored, err := decodeRelaxation(key, v)
		if err == nil && stored.DepthLeft <= r.DepthLeft {
			err = w.unrelax(key, r.URL)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unrelax takes back that the links of a page are to be admitted again.
func (w *linkWriter) unrelax(key []byte, url string) error {
	if err := remove(w.tx.Bucket(bucketRelax), key, &w.totals.relaxations); err != nil {
		return fmt.Errorf("relaxation of %s: %w", url, err)
	}
	return nil
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
		plain = appendBytes(plain, l.Anchor)
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

// Next reads the next one; false: there is none, or it is damaged, which the walk that shows it returns as an error.
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

// LinkSets reads the links that were found at the last visits of pages.
type LinkSets struct{ *reader }

// Of reads the links of a page, or ErrNotFound.
func (t LinkSets) Of(host HostID, fp uint64) (links []outlink.Outlink, err error) {
	err = t.Read(host, fp, new(Links), func(read *Links) error {
		links, err = read.All()
		return err
	})
	return links, err
}

// Read calls fn for the links of a page, valid until it returns, or returns ErrNotFound.
func (t LinkSets) Read(host HostID, fp uint64, links *Links, fn func(*Links) error) error {
	return t.view("read links", func(tx *bbolt.Tx) error {
		key := key128(host, fp)
		v := tx.Bucket(bucketLinks).Get(key)
		if v == nil {
			return ErrNotFound
		}
		if err := links.readOf(tx, key, v); err != nil {
			return err
		}
		return cmp.Or(fn(links), links.end())
	})
}

// Each calls fn for the links of every page, on one snapshot, until it returns an error.
func (t LinkSets) Each(fn func(host HostID, fp uint64, links []outlink.Outlink) error) error {
	return t.Scan(func(host HostID, fp uint64, read *Links) error {
		links, err := read.All()
		if err != nil {
			return fmt.Errorf("links of host %016x, fingerprint %016x: %w", uint64(host), fp, err)
		}
		return fn(host, fp, links)
	})
}

// Scan calls fn for the links of every page, likewise, in the order in which they lie, which is that of first visits;
// they are valid until fn returns.
func (t LinkSets) Scan(fn func(host HostID, fp uint64, links *Links) error) error {
	return t.view("read links", func(tx *bbolt.Tx) error { return scanLinks(tx, scanChunk, fn) })
}

// ScanByPage likewise, in the order of hosts and fingerprints.
func (t LinkSets) ScanByPage(fn func(host HostID, fp uint64, links *Links) error) error {
	return t.view("read links", func(tx *bbolt.Tx) error { return scanLinksOf(tx, nil, fn) })
}

// ScanHost calls fn for the links of every page of one host, likewise.
func (t LinkSets) ScanHost(host HostID, fn func(fp uint64, links *Links) error) error {
	return t.view("read links", func(tx *bbolt.Tx) error {
		return scanLinksOf(tx, key64(uint64(host)), func(_ HostID, fp uint64, links *Links) error {
			return fn(fp, links)
		})
	})
}

// Count counts the links of all pages, without reading them.
func (t LinkSets) Count() (total uint64, err error) {
	err = t.view("count links", func(tx *bbolt.Tx) error {
		return eachSetRef(tx, func(_ []byte, at setRef) error {
			total += at.count
			return nil
		})
	})
	return total, err
}

// readRelaxation reads a page whose links are to be admitted again, with these.
func readRelaxation(tx *bbolt.Tx, key, v []byte) (Relaxation, error) {
	r, err := decodeRelaxation(key, v)
	if err != nil {
		return r, err
	}
	if v := tx.Bucket(bucketLinks).Get(key); v != nil {
		var l Links
		if err = l.readOf(tx, key, v); err == nil {
			r.Links, err = l.All()
		}
		if err != nil {
			return r, fmt.Errorf("links of %s: %w", r.URL, err)
		}
	}
	return r, nil
}

// scanLinksOf shows the link sets whose keys have a prefix, in the order of their keys. Each is looked up.
func scanLinksOf(tx *bbolt.Tx, prefix []byte, fn func(host HostID, fp uint64, links *Links) error) error {
	var l Links
	c := tx.Bucket(bucketLinks).Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		of, set, err := setOf(tx, k, v)
		if err != nil || len(k) != 16 {
			return fmt.Errorf("links %x: %w", k, cmp.Or(err, ErrCorrupt))
		}
		if err := l.show(of, set, fn); err != nil {
			return err
		}
	}
	return nil
}

// show shows the link set of a page. The key of its checksum begins with that of the page.
func (l *Links) show(of, set []byte, fn func(host HostID, fp uint64, links *Links) error) error {
	if err := l.read(of, set); err != nil {
		return fmt.Errorf("links %x: %w", of[:16], err)
	}
	if err := fn(hostKey(of), binary.BigEndian.Uint64(of[8:]), l); err != nil {
		return err
	}
	if err := l.end(); err != nil {
		return fmt.Errorf("links %x: %w", of[:16], err)
	}
	return nil
}

// scanChunk is how many entries scanLinks has in memory at most, 24 bytes each. If there are more link sets, the
// entries are read again for each half of so many.
const scanChunk = 2 << 20

// scanLinks shows all link sets in the order in which they lie, so that the file is read forward: looked up one by one,
// in the order of their pages, those of 9 million links took 2.5 times as long. Their entries are put into that order
// first, a chunk of the lowest numbers at a time.
func scanLinks(tx *bbolt.Tx, chunk int, fn func(host HostID, fp uint64, links *Links) error) error {
	var l Links
	sets := make([]pageSet, 0, 1024)
	for from, more := uint64(0), true; more; {
		below := uint64(math.MaxUint64)
		var err error
		sets, below, more, err = setsFrom(tx, sets[:0], from, chunk)
		if err != nil {
			return err
		}
		if err := l.showAll(tx, sets, fn); err != nil {
			return err
		}
		from = below
	}
	return nil
}

// pageSet is the number of a link set, and the key of its page.
type pageSet struct{ number, host, fp uint64 }

func (p pageSet) compare(q pageSet) int { return cmp.Compare(p.number, q.number) }

// setsFrom returns the sets of the lowest numbers from one on, in order; more: there are others, from below on.
func setsFrom(tx *bbolt.Tx, sets []pageSet, from uint64, most int) (
	_ []pageSet, below uint64, more bool, err error) {
	err = eachSetRef(tx, func(key []byte, at setRef) error {
		switch {
		case at.number < from, more && at.number >= below:
			return nil
		case len(sets) == most:
			slices.SortFunc(sets, pageSet.compare)
			below, more = sets[most/2].number, true
			first, _ := slices.BinarySearchFunc(sets, pageSet{number: below}, pageSet.compare)
			if sets = sets[:first]; first == 0 {
				return fmt.Errorf("links %x: %w (link set %d is that of several)", key, ErrCorrupt, below)
			}
			if at.number >= below {
				return nil
			}
		}
		sets = append(sets, pageSet{at.number, uint64(hostKey(key)), binary.BigEndian.Uint64(key[8:])})
		return nil
	})
	slices.SortFunc(sets, pageSet.compare)
	return sets, below, more, err
}

// showAll shows some link sets, which are in order.
func (l *Links) showAll(tx *bbolt.Tx, sets []pageSet, fn func(HostID, uint64, *Links) error) error {
	if len(sets) == 0 {
		return nil
	}
	c := tx.Bucket(bucketLinkSets).Cursor()
	k, v := c.Seek(key64(sets[0].number))
	of := make([]byte, 24)
	for _, p := range sets {
		binary.BigEndian.PutUint64(of, p.host)
		binary.BigEndian.PutUint64(of[8:], p.fp)
		binary.BigEndian.PutUint64(of[16:], p.number)
		for k != nil && bytes.Compare(k, of[16:]) < 0 {
			k, v = c.Next()
		}
		if v == nil || !bytes.Equal(k, of[16:]) {
			return fmt.Errorf("links %x: %w (no link set %d)", of[:16], ErrCorrupt, p.number)
		}
		if err := l.show(of, v, fn); err != nil {
			return err
		}
	}
	return nil
}

// eachSetRef shows the entries of bucketLinks.
func eachSetRef(tx *bbolt.Tx, fn func(key []byte, at setRef) error) error {
	c := tx.Bucket(bucketLinks).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		at, err := setRefOf(k, v)
		if err != nil || len(k) != 16 {
			return fmt.Errorf("links %x: %w", k, cmp.Or(err, ErrCorrupt))
		}
		if err := fn(k, at); err != nil {
			return err
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
