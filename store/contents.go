package store

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"

	"go.etcd.io/bbolt"
)

// bucketContents has the first page of each main content, by its digest.
var bucketContents = []byte("contents")

// contents is the index of main contents of a state: which page had a content first, whatever its host. Each partition
// has the entries of its own pages in its file, written in the commit of their visit; all partitions are asked. What
// commits at hand are about to write is in claims, so that of two pages that are stored at the same time one is the
// first.
type contents struct {
	partitions []*Partition
	most       int        // Options.Contents
	mu         sync.Mutex // held while the files are asked, never while one is written
	claims     map[uint64]string
}

// decodeContent reads an entry of the index: the URL of the page that had the content first.
func decodeContent(key, v []byte) (url string, err error) {
	b, err := unseal(key, v)
	if err != nil || len(key) != 8 {
		return "", fmt.Errorf("content: %w", ErrCorrupt)
	}
	return string(b), nil
}

// hasContent reports whether the text of a page is compared with others: it is a page, was had as a whole, and has
// words. Sitemaps and feeds are not compared.
func (p *Page) hasContent() bool {
	return p.Status == http.StatusOK && p.Reason == 0 && p.SimHash != 0 && p.MainDigest != 0 &&
		p.Flags&(Listing|Dropped) == 0 && p.Flags.Requisite() == 0
}

// shareContents begins the index of a state that is open for writing.
func (s *State) shareContents(o Options) {
	if o.Contents == 0 || o.ReadOnly {
		return
	}
	c := &contents{partitions: s.Partitions, most: o.Contents, claims: map[uint64]string{}}
	for _, p := range s.Partitions {
		p.contents = c
	}
}

// firstPage is what the index says of one visit.
type firstPage struct {
	known bool   // the page is the first with its content
	claim bool   // it becomes the first
	url   string // of the page that is the first; empty: this one, or none
}

// find says of each visit of a batch which page had its content first, and claims the contents that are new. What it
// claims is to be released when the batch is on disk or was refused.
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
	held, err := c.lookUp(first, p)
	if err != nil {
		return nil, err
	}
	room := c.most - held
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
			if room > 0 {
				l.claim, c.claims[digest] = true, v.Page.URL
				room--
			}
		}
	}
	return out, nil
}

// lookUp fills in the pages that had contents first, and returns how many entries a partition holds.
func (c *contents) lookUp(first map[uint64]string, own *Partition) (held int, err error) {
	for _, p := range c.partitions {
		if err := p.view("look up contents", func(tx *bbolt.Tx) error {
			bucket := tx.Bucket(bucketContents)
			if bucket == nil {
				return nil
			}
			if p == own {
				held = int(bucket.Sequence())
			}
			for digest, url := range first {
				if url != "" {
					continue
				}
				key := key64(digest)
				if v := bucket.Get(key); v != nil {
					var err error
					if first[digest], err = decodeContent(key, v); err != nil {
						return err
					}
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
func (c *contents) release(b *Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.firsts {
		if b.firsts[i].claim {
			delete(c.claims, b.visits[i].Page.MainDigest)
		}
	}
}

// storeContent notes in a page which one had its content first, and in the index which contents it is the first to
// have, or no longer has. before is the digest of its content until now.
func (c *commit) storeContent(page *Page, before uint64, first firstPage) error {
	if before != page.MainDigest || !page.hasContent() {
		if err := c.leaveContent(page.URL, before); err != nil {
			return err
		}
	}
	if first.known {
		return nil
	}
	if page.SameAs = first.url; !first.claim {
		return nil
	}
	bucket, err := c.tx.CreateBucketIfNotExists(bucketContents)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", bucketContents, err)
	}
	key := key64(page.MainDigest)
	if bucket.Get(key) != nil {
		return nil
	}
	if err := put(bucket, key, append(make([]byte, 4, 4+len(page.URL)), page.URL...)); err != nil {
		return fmt.Errorf("content of %s: %w", page.URL, err)
	}
	return bucket.SetSequence(bucket.Sequence() + 1)
}

// leaveContent takes a page that no longer has a content out of the index, if it was the first to have it. The others
// name it until they are visited again.
func (c *commit) leaveContent(url string, digest uint64) error {
	bucket, key := c.tx.Bucket(bucketContents), key64(digest)
	if bucket == nil {
		return nil
	}
	if v := bucket.Get(key); digest == 0 || len(v) < 4 || string(v[4:]) != url {
		return nil
	}
	if err := bucket.Delete(key); err != nil {
		return fmt.Errorf("content of %s: %w", url, err)
	}
	return bucket.SetSequence(bucket.Sequence() - 1)
}
