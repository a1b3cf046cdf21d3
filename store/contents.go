package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"net/http"
	"slices"
	"sync"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"henro/store/fingerprint"
)

// bucketContents has the first page of each main content, by its digest.
var bucketContents = []byte("contents")

// contents is the index of main contents of a state: which page had a content first, whatever its host. Each partition
// has the entries of its own pages in its file, written in the commit of their visit; all partitions are asked. claims
// holds what running commits are about to write, so that of two pages stored at the same time only one is the first.
type contents struct {
	partitions []*Partition
	most       int        // Options.Contents
	mu         sync.Mutex // held while the files are asked, never while one is written
	claims     map[uint64]string
	sketches   sketches
	remembered bool // sketches has those that are on disk
}

// content is an entry of the index.
type content struct {
	url  string // of the page that had it first
	near []byte // fingerprint.Near; empty: not known
}

// encode returns the entry as bytes, behind room for a checksum. No URL begins with a byte 1.
func (c *content) encode() []byte {
	b := make([]byte, 4, 4+1+len(c.near)+len(c.url))
	if len(c.near) > 0 {
		b = append(append(b, 1), c.near...)
	}
	return append(b, c.url...)
}

func decodeContent(key, v []byte) (c content, err error) {
	b, err := unseal(key, v)
	if err != nil || len(key) != 8 {
		return c, fmt.Errorf("content: %w", ErrCorrupt)
	}
	if len(b) > fingerprint.NearSize && b[0] == 1 {
		c.near, b = b[1:1+fingerprint.NearSize], b[1+fingerprint.NearSize:]
	}
	c.url = string(b)
	return c, nil
}

// hasContent reports whether the text of a page is compared with others: it is a page, was had as a whole, and has
// words. Sitemaps and feeds are not compared.
func (p *Page) hasContent() bool {
	return p.Status == http.StatusOK && p.Reason == 0 && p.SimHash != 0 && p.MainDigest != 0 &&
		p.Flags&(Listing|Dropped) == 0 && p.Flags.Requisite() == 0
}

// shareContents begins the index of a state that is open for writing. It reads nothing, so that opening takes as long
// however many contents there are.
func (s *State) shareContents(o Options) {
	if o.Contents == 0 || o.ReadOnly {
		return
	}
	c := &contents{partitions: s.Partitions, most: o.Contents, claims: map[uint64]string{}}
	for _, p := range s.Partitions {
		p.contents = c
	}
}

// contentReaders is how many read the sketches of one partition at the same time: in a file that is not in memory the
// leaves of the index lie far from each other, and each is waited for.
const contentReaders = 16

// remember reads the sketches that are on disk before the first visit that is compared with them. If there are more
// contents than mostSketches, it reads those with the least digests, which are spread evenly.
func (c *contents) remember(visits []Visited) error {
	if c.remembered || !slices.ContainsFunc(visits, func(v Visited) bool { return len(v.Near) > 0 }) {
		return nil
	}
	total := uint64(0)
	for _, p := range c.partitions {
		stats, err := p.Stats()
		if err != nil {
			return err
		}
		total += stats.Contents
	}
	c.sketches = sketches{}
	each := digestsOf(mostSketches, total)/contentReaders + 1 // the digests of one reader
	for _, p := range c.partitions {
		var reading errgroup.Group
		var found [contentReaders][]sketched
		for i := range found {
			reading.Go(func() error {
				return p.eachSketch(uint64(i)*each, each-1, func(near fingerprint.Near, digest uint64) {
					found[i] = append(found[i], sketched{near: near, digest: digest})
				})
			})
		}
		if err := reading.Wait(); err != nil {
			return err
		}
		for _, part := range found {
			for i := range part {
				c.sketches.add(&part[i].near, part[i].digest)
			}
		}
	}
	c.remembered = true
	return nil
}

// digestsOf returns the digest below which about most of all contents lie.
func digestsOf(most, all uint64) uint64 {
	if all <= most {
		return math.MaxUint64
	}
	below, _ := bits.Div64(most, 0, all)
	return below
}

// eachSketch calls fn for the sketches of the contents with digests from one on, up to more behind it.
func (r *reader) eachSketch(from, more uint64, fn func(near fingerprint.Near, digest uint64)) error {
	return r.view("read the index of contents", func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketContents).Cursor()
		for key, v := c.Seek(key64(from)); key != nil; key, v = c.Next() {
			entry, err := decodeContent(key, v)
			if err != nil {
				return err
			}
			digest := binary.BigEndian.Uint64(key)
			if digest-from > more {
				return nil
			}
			if near, ok := fingerprint.NearOf(entry.near); ok {
				fn(near, digest)
			}
		}
		return nil
	})
}

// firstPage is what the index says of one visit.
type firstPage struct {
	known bool   // the page is the first with its content
	claim bool   // it becomes the first
	url   string // of the page that is the first; empty: this one, or none
	near  string // if url is empty: the first page whose content is nearly the same; empty: there is none
}

// find says of each visit of a batch which page had its content first, and claims the contents that are new. The claims
// must be released when the batch is on disk or was refused.
func (c *contents) find(p *Partition, visits []Visited) ([]firstPage, error) {
	out := make([]firstPage, len(visits))
	first := map[uint64]string{}
	for i := range visits {
		if v := &visits[i]; !v.Retry && v.Page.hasContent() {
			first[v.Page.MainDigest] = ""
		}
	}
	if len(first) == 0 {
		return out, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.remember(visits); err != nil {
		return nil, err
	}
	held, err := c.lookUp(first, p)
	if err != nil {
		return nil, err
	}
	room := c.most - held
	nearest, near := make([]uint64, len(visits)), map[uint64]string{}
	for i := range visits {
		v, l := &visits[i], &out[i]
		if v.Retry || !v.Page.hasContent() {
			continue
		}
		digest := v.Page.MainDigest
		switch l.url = cmp.Or(first[digest], c.claims[digest]); l.url {
		case v.Page.URL:
			l.known, l.url = true, ""
		case "":
			sketch, ok := fingerprint.NearOf(v.Near)
			if ok {
				if nearest[i] = c.sketches.nearest(&sketch); nearest[i] != 0 {
					near[nearest[i]] = ""
				}
			}
			if room > 0 {
				l.claim, c.claims[digest] = true, v.Page.URL
				room--
				if ok {
					c.sketches.add(&sketch, digest)
				}
			}
		}
	}
	if len(near) == 0 {
		return out, nil
	}
	if _, err := c.lookUp(near, p); err != nil {
		return nil, err
	}
	for i := range out {
		url := cmp.Or(near[nearest[i]], c.claims[nearest[i]])
		if url != visits[i].Page.URL { // no earlier text of the page itself
			out[i].near = url
		}
	}
	return out, nil
}

// lookUp fills in the pages that had contents first, and returns how many entries the partition own holds.
func (c *contents) lookUp(first map[uint64]string, own *Partition) (held int, err error) {
	for _, p := range c.partitions {
		if err := p.view("look up contents", func(tx *bbolt.Tx) error {
			bucket := tx.Bucket(bucketContents)
			if p == own {
				held = int(bucket.Sequence())
			}
			for digest, url := range first {
				if url != "" {
					continue
				}
				key := key64(digest)
				if v := bucket.Get(key); v != nil {
					entry, err := decodeContent(key, v)
					if err != nil {
						return err
					}
					first[digest] = entry.url
				}
			}
			return nil
		}); err != nil {
			return 0, err
		}
	}
	return held, nil
}

// release gives up the claims of a batch.
func (c *contents) release(p *Partition, b *Batch, refused bool) {
	claimed := map[uint64][]byte{}
	c.mu.Lock()
	for i := range b.firsts {
		if v := &b.visits[i]; b.firsts[i].claim {
			delete(c.claims, v.Page.MainDigest)
			claimed[v.Page.MainDigest] = v.Near
		}
	}
	c.mu.Unlock()
	if refused {
		c.forget(p, claimed)
	}
}

// forget drops the sketches of contents, unless they are in the index of the partition: a commit that failed may be on
// disk all the same.
func (c *contents) forget(p *Partition, gone map[uint64][]byte) {
	if len(gone) == 0 {
		return
	}
	first := map[uint64]string{}
	for digest := range gone {
		first[digest] = ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.lookUp(first, p) // what cannot be read is not there
	for digest, url := range first {
		if url == "" {
			c.sketches.drop(gone[digest], digest)
		}
	}
}

// contentWriter changes the entries that a partition has in the index within one commit.
type contentWriter struct {
	bucket *bbolt.Bucket
	gone   map[uint64][]byte // contents that the index has no longer, with their sketches
}

// put notes in a page which one had its content first, and in the index the content that it is the first to have, or no
// longer has. before is the digest of its content until now.
func (w *contentWriter) put(page *Page, before uint64, first firstPage, near []byte) error {
	if before != page.MainDigest || !page.hasContent() {
		if err := w.leave(page.URL, before); err != nil {
			return err
		}
	}
	if first.known {
		return nil
	}
	if page.SameAs, page.Near = first.url, first.near; !first.claim {
		return nil
	}
	key := key64(page.MainDigest)
	if w.bucket.Get(key) != nil {
		return nil
	}
	entry := content{url: page.URL}
	if _, ok := fingerprint.NearOf(near); ok {
		entry.near = near
	}
	if err := put(w.bucket, key, entry.encode()); err != nil {
		return fmt.Errorf("content of %s: %w", page.URL, err)
	}
	delete(w.gone, page.MainDigest)
	return w.bucket.SetSequence(w.bucket.Sequence() + 1)
}

// leave takes a page that no longer has a content out of the index, if it was the first to have it. The others name it
// until they are visited again.
func (w *contentWriter) leave(url string, digest uint64) error {
	key := key64(digest)
	v := w.bucket.Get(key)
	if digest == 0 || v == nil {
		return nil
	}
	entry, err := decodeContent(key, v)
	if err != nil || entry.url != url {
		return err
	}
	w.gone[digest] = bytes.Clone(entry.near)
	if err := w.bucket.Delete(key); err != nil {
		return fmt.Errorf("content of %s: %w", url, err)
	}
	return w.bucket.SetSequence(w.bucket.Sequence() - 1)
}

const (
	mostSketches = 1 << 20
	sketchHeads  = 1 << 18
	longestChain = 64 // sketches of a band that are compared, the newest first
)

// sketches finds contents that are nearly the same. It holds the newest mostSketches, some 80 bytes each.
type sketches struct {
	all   []sketched // a ring, once it is full
	next  int        // in the ring
	heads [len(fingerprint.Near{}.Bands)][]int32
}

// sketched is one content, and for each band the entry before it in the same chain, plus one; 0: none.
type sketched struct {
	near   fingerprint.Near
	digest uint64 // 0: it was dropped
	before [len(fingerprint.Near{}.Bands)]int32
}

// add takes a content in, in the place of the oldest if there is no room.
func (s *sketches) add(near *fingerprint.Near, digest uint64) {
	at := s.next
	if s.next = (s.next + 1) % mostSketches; at == len(s.all) {
		s.all = append(s.all, sketched{})
	}
	e := sketched{near: *near, digest: digest}
	for i := range s.heads {
		if s.heads[i] == nil {
			s.heads[i] = make([]int32, sketchHeads)
		}
		head := &s.heads[i][near.Bands[i]%sketchHeads]
		e.before[i], *head = *head, int32(at)+1
	}
	s.all[at] = e
}

// drop takes out a content that can still be found.
func (s *sketches) drop(near []byte, digest uint64) {
	of, ok := fingerprint.NearOf(near)
	if !ok {
		return
	}
	s.chains(&of, func(e *sketched) {
		if e.digest == digest {
			e.digest = 0
		}
	})
}

// chains calls show for the contents that have a band in common with a sketch. What was dropped is taken out of the
// chains on the way: commits that fail do not make them longer.
func (s *sketches) chains(near *fingerprint.Near, show func(*sketched)) {
	for i, heads := range s.heads {
		if heads == nil {
			return
		}
		at := &heads[near.Bands[i]%sketchHeads]
		for range longestChain {
			// A chain ends where an entry was replaced: the one there now is of another chain.
			if *at == 0 || s.all[*at-1].near.Bands[i]%sketchHeads != near.Bands[i]%sketchHeads {
				break
			}
			e := &s.all[*at-1]
			if e.digest != 0 {
				show(e)
			}
			if e.digest == 0 {
				*at = e.before[i]
			} else {
				at = &e.before[i]
			}
		}
	}
}

// nearest gives the digest of the content that is most like another one, 0 if none is near.
func (s *sketches) nearest(near *fingerprint.Near) (digest uint64) {
	best := fingerprint.LeastLikeness
	s.chains(near, func(e *sketched) {
		if like := near.Likeness(&e.near); like > best || like == best && digest == 0 {
			digest, best = e.digest, like
		}
	})
	return digest
}
