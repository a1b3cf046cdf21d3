package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
	"henro/store/timequeue"
)

// Fresh reads the pages that wait for their first visit.
type Fresh struct{ *reader }

// Waiting is what Fresh.Of read.
type Waiting struct {
	Entries []Entry    // by band, then first come first; DepthLeft is what the seen set says now
	Ghosts  []Position // of pages that were visited inside a lease, or rose: hand them to Batch.Forget
	Next    Position   // go on behind this one; nil at the end
}

// EachWaiting calls fn for every page that waits, and its host, size of either a transaction. What is committed
// meanwhile may be left out.
func (p *Partition) EachWaiting(size int, fn func(*HostRecord, *Page)) error {
	for h, err := range p.Hosts.InBatches(size) {
		for next, more := Position(nil), err == nil && h.Waiting > 0; more; more = next != nil {
			var found Waiting
			if found, err = p.Fresh.Of(h.ID, next, size); err != nil {
				break
			}
			for i := range found.Entries {
				fn(h, &found.Entries[i].Page)
			}
			next = found.Next
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Of reads up to limit waiting pages of a host. Those in RetryBand have a Next to be kept.
func (t Fresh) Of(host HostID, after Position, limit int) (w Waiting, err error) {
	_, from := parsePosition(after)
	var last Position
	err = t.each("read fresh pages", key64(uint64(host)), from, func(r *freshRecord) error {
		if len(w.Entries) >= limit || len(w.Ghosts) >= limit {
			w.Next = last
			return errStop
		}
		page, err := decodePage(r.record)
		if err != nil {
			return err
		}
		waits, err := r.waits(page.URL)
		if err != nil {
			return err
		}
		if last = freshPosition(r.freshRef); !waits {
			w.Ghosts = append(w.Ghosts, last)
			return nil
		}
		page.heed(r.entry)
		w.Entries = append(w.Entries, Entry{page, last})
		return nil
	})
	return w, err
}

// Line is Of from the beginning, with pages whose scripts are to be run that stand behind the limit: as many more.
func (t Fresh) Line(host HostID, limit int) (w Waiting, err error) {
	w, err = t.Of(host, nil, limit)
	if _, next := parsePosition(w.Next); err != nil || next == nil || next.key.band() >= AwaitBand {
		return w, err
	}
	last := freshPosition(freshRef{freshKeyOf(host, LastBand, math.MaxUint64), math.MaxUint8})
	awaiting, err := t.Of(host, last, limit)
	w.Ghosts = append(w.Ghosts, awaiting.Ghosts...)
	for _, e := range awaiting.Entries {
		if e.Page.Flags&Awaits != 0 {
			w.Entries = append(w.Entries, e)
		}
	}
	return w, err
}

// ends reports that a page belongs to those that were visited: a requisite, or a page whose scripts are to be run.
func (p *Page) ends() bool { return p.Flags.Requisite() > 0 || p.Flags&Awaits != 0 }

// Requisites is Of from the beginning, without the pages that were not fetched yet.
func (t Fresh) Requisites(host HostID, limit int) (w Waiting, err error) {
	for more := true; more && len(w.Entries) < limit; more = w.Next != nil {
		next, err := t.Of(host, w.Next, max(limit, 1000))
		if err != nil {
			return w, err
		}
		w.Ghosts, w.Next = append(w.Ghosts, next.Ghosts...), next.Next
		for _, e := range next.Entries {
			if e.Page.ends() && len(w.Entries) < limit {
				w.Entries = append(w.Entries, e)
			}
		}
	}
	return w, nil
}

// HasRequisite reports whether a requisite waits, or a page whose scripts are to be run. It reads what waits until it
// finds one.
func (t Fresh) HasRequisite() (has bool, err error) {
	err = t.each("look for a requisite that waits", nil, nil, func(r *freshRecord) error {
		page, err := decodePage(r.record)
		if err != nil || !page.ends() {
			return err
		}
		awaits := page.Flags&Awaits != 0
		if waits, err := r.waits(page.URL); err != nil || !waits || r.entry.IsPage() && !awaits {
			return err
		}
		has = true
		return errStop
	})
	return has, err
}

// Check compares how many pages wait by the counts with those that can be found, host by host. The error is ErrCorrupt
// where they differ: damage to the tree of the file may hide a page from every reader, though each value that is read
// is sound.
func (t Fresh) Check() error {
	return t.view("look for the pages that wait", func(tx *bbolt.Tx) error {
		counted, err := readTotals(tx)
		if err != nil {
			return err
		}
		all := uint64(0)
		err = tx.Bucket(bucketHosts).ForEach(func(key, v []byte) error {
			h, err := readHost(tx, key, v)
			if err != nil {
				return err
			}
			found := uint64(0)
			err = eachWaiting(tx, key, nil, func(r *freshRecord) error {
				waits, err := r.waits(string(urlOf(r.record)))
				if waits && r.known {
					found++
				}
				return err
			})
			if err == nil && found != h.Waiting {
				err = fmt.Errorf("%d pages of %s wait, and %d are found: %w", h.Waiting, h.Name, found, ErrCorrupt)
			}
			all += found
			return err
		})
		if err == nil && all != counted.waiting {
			err = fmt.Errorf("%d pages wait, and %d are found: %w", counted.waiting, all, ErrCorrupt)
		}
		return err
	})
}

// each calls fn for the records of fresh, until it returns errStop or another error.
func (t Fresh) each(doing string, prefix []byte, after *freshRef, fn func(*freshRecord) error) error {
	return t.view(doing, func(tx *bbolt.Tx) error { return stopped(eachWaiting(tx, prefix, after, fn)) })
}

// freshRecord is a record that lies in fresh, and what the seen set says of its page.
type freshRecord struct {
	freshRef
	record []byte
	entry  seen.Entry // once waits was asked
	known  bool       // likewise: the seen set has an entry

	tx  *bbolt.Tx
	set *seen.Set
}

// eachWaiting is eachFresh with the seen set.
func eachWaiting(tx *bbolt.Tx, prefix []byte, after *freshRef, fn func(*freshRecord) error) error {
	set, err := seen.Read(tx)
	if err != nil {
		return err
	}
	r := freshRecord{tx: tx, set: set}
	return eachFresh(tx.Bucket(bucketFresh), prefix, after, func(ref freshRef, rec []byte) error {
		r.freshRef, r.record = ref, rec
		return fn(&r)
	})
}

// waits reports whether this is the record of a page that waits. It is a ghost if the page was visited inside a lease,
// or has another record in the band to which it rose.
func (r *freshRecord) waits(url string) (bool, error) {
	fp := fingerprint.URL(url)
	var err error
	if r.entry, r.known, err = r.set.Get(uint64(r.key.host()), fp); err != nil || r.entry.Visited() {
		return false, err
	}
	rose, err := superseded(r.tx, r.freshRef, fp)
	return !rose && err == nil, err
}

// heed takes up what the seen set says of a page.
func (p *Page) heed(e seen.Entry) {
	p.DepthLeft, p.Flags = max(p.DepthLeft, e.DepthLeft()), p.Flags.linked(e.IsPage())
}

// Pages reads the records of pages, wherever they lie.
type Pages struct{ *reader }

// NextDue is the earliest moment behind a position at which Due may find more or a slot wants splitting; zero: the
// queue is empty.
func (t Pages) NextDue(after Position) (at time.Time, err error) {
	err = t.view("read next due time", func(tx *bbolt.Tx) error {
		at, err = timequeue.Next(tx, queueRef(after))
		return err
	})
	return at, err
}

// At reads the record at a position, or ErrNotFound when the position has ended.
func (t Pages) At(pos Position) (e Entry, err error) {
	err = t.view("read a position", func(tx *bbolt.Tx) error {
		queue, fresh := parsePosition(pos)
		var rec []byte
		switch {
		case queue != nil:
			rec, err = timequeue.At(tx, *queue)
		case fresh != nil:
			if v := tx.Bucket(bucketFresh).Get(fresh.key[:]); v != nil {
				ended, chunk, err := openFresh(fresh.key[:], v)
				if err != nil {
					return err
				}
				if ended>>fresh.index&1 == 0 {
					rec = chunk.At(int(fresh.index))
				}
			}
		}
		if err != nil {
			return err
		}
		if rec == nil {
			return ErrNotFound
		}
		e.Position = pos
		e.Page, err = decodePage(rec)
		return err
	})
	return e, err
}

// Lookup finds the record of a URL, or ErrNotFound. There is no index by URL: a page that waits is found among those of
// its host, any other by reading the whole queue, at some 15 million records per second.
func (t Pages) Lookup(url string) (e Entry, place Place, err error) {
	host := IDOf(weburl.HostOf(url))
	err = t.view("look up "+url, func(tx *bbolt.Tx) error {
		set, err := seen.Read(tx)
		if err != nil {
			return err
		}
		entry, found, err := set.Get(uint64(host), fingerprint.URL(url))
		if err != nil {
			return err
		}
		if !found {
			return ErrNotFound
		}
		found = false
		take := func(rec []byte, pos Position, where Place) error {
			if e.Page, err = decodePage(rec); err != nil {
				return err
			}
			e.Position, place, found = pos, where, true
			return errStop
		}
		if entry.Visited() {
			err = timequeue.Each(tx, func(ref timequeue.Ref, rec []byte) error {
				if string(urlOf(rec)) != url {
					return nil
				}
				return take(rec, queuePosition(ref), placeIn(rec))
			})
		} else {
			err = eachWaiting(tx, key64(uint64(host)), nil, func(r *freshRecord) error {
				if string(urlOf(r.record)) != url {
					return nil
				}
				if waits, err := r.waits(url); err != nil || !waits {
					return err
				}
				return take(r.record, freshPosition(r.freshRef), InFresh)
			})
		}
		if err = stopped(err); err == nil && !found {
			err = fmt.Errorf("known, but without a record: %w", ErrCorrupt)
		}
		e.Page.heed(entry)
		return err
	})
	return e, place, err
}

// placeIn is where a record of the time queue lies.
func placeIn(rec []byte) Place {
	if timequeue.DueOf(rec) == 0 {
		return InRest
	}
	return InQueue
}

// Find returns those of some pages that were visited before, wherever they lie, in one scan of the partition: 0.06 s
// for a million records in memory.
func (t Pages) Find(urls map[string]struct{}) (found []Entry, err error) {
	err = t.view("find pages", func(tx *bbolt.Tx) error {
		return stopped(timequeue.Each(tx, func(ref timequeue.Ref, rec []byte) error {
			if _, wanted := urls[string(urlOf(rec))]; !wanted {
				return nil
			}
			page, err := decodePage(rec)
			if err != nil {
				return err
			}
			if found = append(found, Entry{page, queuePosition(ref)}); len(found) == len(urls) {
				return errStop
			}
			return nil
		}))
	})
	return found, err
}

// Visited reads up to limit pages that have been visited, whenever due, behind a position (nil: from the first), and
// the position to go on behind: the last one read, or nil when there are no more. Pages that are moved meanwhile may
// come twice or not at all. The entries take the place of those in room, which may be nil.
func (t Pages) Visited(after Position, limit int, room []Entry) (entries []Entry, next Position, err error) {
	err = t.view("read visited pages", func(tx *bbolt.Tx) error {
		entries, err = readQueue(tx, math.MaxUint32, after, limit, room)
		return err
	})
	if len(entries) == limit {
		next = entries[limit-1].Position
	}
	return entries, next, err
}

// readQueue reads up to limit pages of slots that have opened by a minute, behind a position, into room. After some
// pages most of limit usually come, so room for all, 330 bytes each, is made at once: doubling takes three times that.
func readQueue(tx *bbolt.Tx, opened uint32, after Position, limit int, room []Entry) (entries []Entry, err error) {
	const some = 64
	entries = room[:0]
	_, err = timequeue.Read(tx, opened, queueRef(after), limit, func(ref timequeue.Ref, rec []byte) error {
		page, err := decodePage(rec)
		if err != nil {
			return err
		}
		if len(entries) == some {
			entries = slices.Grow(entries, max(limit-some, 0))
		}
		entries = append(entries, Entry{page, queuePosition(ref)})
		return nil
	})
	return entries, err
}

// Each calls fn for every page, on one snapshot, until it returns an error.
func (t Pages) Each(fn func(Page, Place) error) error {
	return t.view("read pages", func(tx *bbolt.Tx) error {
		if err := eachWaiting(tx, nil, nil, func(r *freshRecord) error {
			page, err := decodePage(r.record)
			if err != nil {
				return err
			}
			if waits, err := r.waits(page.URL); err != nil || !waits {
				return err
			}
			page.heed(r.entry)
			return fn(page, InFresh)
		}); err != nil {
			return err
		}
		return eachVisited(tx, fn)
	})
}

// EachVisited calls fn for every page that was visited or given up, likewise.
func (t Pages) EachVisited(fn func(Page, Place) error) error {
	return t.view("read visited pages", func(tx *bbolt.Tx) error { return eachVisited(tx, fn) })
}

func eachVisited(tx *bbolt.Tx, fn func(Page, Place) error) error {
	return timequeue.Each(tx, func(_ timequeue.Ref, rec []byte) error {
		page, err := decodePage(rec)
		if err != nil {
			return err
		}
		return fn(page, placeIn(rec))
	})
}

// errStop ends a walk that has found what it was to find.
var errStop = errors.New("stop")

// stopped is the error of a walk; errStop is none.
func stopped(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}
