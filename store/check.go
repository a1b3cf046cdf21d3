package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
	"henro/store/timequeue"
)

// Report is what Check found.
type Report struct {
	Problems []string // the first maxProblems
	More     int      // how many more there are
	Stats    Stats    // sums over the partitions that could be read
	Digests  []string // of the partitions without a problem, in order: the name of the file, and Partition.Digest
}

const maxProblems = 1000

func (r *Report) add(format string, args ...any) {
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	} else {
		r.More++
	}
}

// checkPages bounds how many pages are compared at once, 32 bytes each; a larger partition is read several times.
const checkPages = 4 << 20

// Check reads a whole state and compares everything in it with everything else: every checksum; every page in exactly
// one place; the seen set with the pages; the counts and loads of hosts with the sums over their pages; bbolt's own
// tree and free list. Nothing is written, and no crawl may be running. progress, which may be nil, is called with the
// pages done and the pages there are.
//
// The error is for a state that cannot be looked at (in use, not there); damage is in the report.
func Check(dir string, progress func(done, all uint64)) (*Report, error) {
	o := DefaultOptions()
	o.ReadOnly, o.inspect = true, true
	if progress == nil {
		progress = func(uint64, uint64) {}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "p*.db"))
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", dir, err)
	}
	r := new(Report)
	s, err := OpenState(dir, o)
	if err == nil {
		c := checker{report: r, state: s, progress: progress}
		for _, p := range s.Partitions {
			c.all += p.known()
		}
		for _, p := range s.Partitions {
			c.partition(p)
		}
		return r, s.Close()
	}
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrMismatch) {
		return nil, err
	}
	// The state as a whole does not open: look at each file.
	r.add("%v", err)
	c := checker{report: r, progress: progress}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			r.add("%s is empty", path)
			continue
		}
		p, err := open(path, o, 0, 1, identity{})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				return nil, err
			}
			r.add("%v", err)
			continue
		}
		c.all += p.known()
		c.partition(p)
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (p *Partition) known() uint64 {
	s, err := p.Stats()
	if err != nil {
		return 0
	}
	return s.Known
}

type checker struct {
	report    *Report
	state     *State // nil when it does not open as a whole
	progress  func(done, all uint64)
	done, all uint64
}

// sighting is one live record, as compared with the seen set.
type sighting struct {
	host   HostID
	fp     uint64 // upper 56 bits
	number uint64
	place  Place
}

func (s sighting) compare(t sighting) int {
	return cmp.Or(cmp.Compare(s.host, t.host), cmp.Compare(s.fp, t.fp))
}

// partition checks one file. bbolt's own check comes last, since it reads in a goroutine of its own, where nothing
// catches a fault. Opening has looked through the pages before.
func (c *checker) partition(p *Partition) {
	name := filepath.Base(p.path)
	found := len(c.report.Problems) + c.report.More
	err := p.view("check", func(tx *bbolt.Tx) error {
		t, err := readTotals(tx)
		if err != nil {
			return err
		}
		k := &partitionCheck{checker: c, p: p, tx: tx, name: name, totals: t, sums: map[HostID]*counts{}}
		return k.run()
	})
	if err != nil {
		c.report.add("%s: %v", name, err)
	}
	if found != len(c.report.Problems)+c.report.More {
		return
	}
	err = p.view("check tree", func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			c.report.add("%s: %s", name, strings.TrimPrefix(err.Error(), "panic: ")) // so bbolt's assertions begin
		}
		return nil
	})
	digest := ""
	if err == nil {
		digest, err = p.Digest()
	}
	if err != nil {
		c.report.add("%s: %v", name, err)
		return
	}
	c.report.Digests = append(c.report.Digests, name+" "+digest)
}

// Digest is a hash of all that commits decide: every bucket with its sequence, every key and value in order. Equal
// digests mean equal pages at equal positions. It leaves out what is the file's own: its free pages, what it notes
// about the other files of its state (progress), and how its links are packed, in which processors may differ.
func (p *Partition) Digest() (string, error) {
	h := sha256.New()
	write := func(kind byte, parts ...[]byte) {
		h.Write([]byte{kind})
		for _, part := range parts {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
			h.Write(part)
		}
	}
	var room []byte
	var tx *bbolt.Tx
	var walk func(name []byte, b *bbolt.Bucket) error
	walk = func(name []byte, b *bbolt.Bucket) error {
		if bytes.Equal(name, bucketLinkSets) {
			return nil // read with the pages that have them
		}
		write('b', name, binary.LittleEndian.AppendUint64(nil, b.Sequence()))
		links, meta := bytes.Equal(name, bucketLinks), bytes.Equal(name, bucketMeta)
		err := b.ForEach(func(k, v []byte) (err error) {
			switch {
			case v == nil:
				return walk(k, b.Bucket(k))
			case meta && (bytes.Equal(k, progressKey) || bytes.Equal(k, appliedKey)):
				return nil
			case links:
				of, set, found := setOf(tx, k, v)
				if err = found; err == nil {
					v, err = unpackLinks(&room, of, set)
				}
			}
			write('v', k, v)
			return err
		})
		write('e')
		return err
	}
	err := p.view("make a digest", func(of *bbolt.Tx) error {
		tx = of
		return tx.ForEach(walk)
	})
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

// partitionCheck is the check of one partition on one snapshot.
type partitionCheck struct {
	*checker
	p       *Partition
	tx      *bbolt.Tx
	name    string
	totals  totals
	counted totals
	sums    map[HostID]*counts
	numbers []uint64  // one bit for each page number given
	known   *seen.Set // of the same snapshot, after pages
}

func (k *partitionCheck) add(format string, args ...any) {
	k.report.add("%s: "+format, append([]any{k.name}, args...)...)
}

func (k *partitionCheck) run() error {
	if k.totals.serial < 1<<33 {
		k.numbers = make([]uint64, k.totals.serial/64+1)
	}
	if err := timequeue.Slots(k.tx, func(timequeue.Slot, uint32, uint32) error { return nil }); err != nil {
		return err
	}
	passes := int(k.totals.known/checkPages) + 1
	for pass := range passes {
		if err := k.pages(pass, passes); err != nil {
			return err
		}
	}
	var err error
	if k.known, err = seen.Read(k.tx); err != nil {
		return err
	}
	for _, check := range []func() error{k.hosts, k.links, k.rest} {
		if err := check(); err != nil {
			return err
		}
	}
	k.counted.serial, k.counted.relaxations = k.totals.serial, k.totals.relaxations
	if k.counted != k.totals {
		k.add("it counts %+v, the sums are %+v", k.totals, k.counted)
	}
	s := &k.report.Stats
	t := k.counted
	s.Hosts, s.Known, s.Visited, s.Waiting = s.Hosts+t.hosts, s.Known+t.known, s.Visited+t.visited, s.Waiting+t.waiting
	s.Queued, s.Resting, s.Dropped, s.Linked = s.Queued+t.queued, s.Resting+t.resting, s.Dropped+t.dropped,
		s.Linked+t.linked
	s.Leases, s.Parcels, s.Relaxations = s.Leases+t.leases, s.Parcels+t.parcels, s.Relaxations+t.relaxations
	s.Bytes += k.tx.Size()
	return nil
}

func (k *partitionCheck) sum(host HostID) *counts {
	if k.sums[host] == nil {
		k.sums[host] = new(counts)
	}
	return k.sums[host]
}

// pages compares the pages whose fingerprints fall to one pass with the seen set.
func (k *partitionCheck) pages(pass, passes int) error {
	var all []sighting
	mine := func(fp uint64) bool { return int((fp>>8)%uint64(passes)) == pass }
	take := func(host HostID, rec []byte, place Place) error {
		fp := fingerprint.URL(string(urlOf(rec)))
		if !mine(fp) {
			return nil
		}
		page, err := decodePage(rec)
		if err != nil {
			return err
		}
		if owner := IDOf(weburl.HostOf(page.URL)); host == 0 {
			host = owner
		} else if owner != host {
			k.add("%s lies with host %016x", page.URL, uint64(host))
		}
		all = append(all, sighting{host, fp &^ 0xff, page.Number, place})
		if place == InFresh {
			return nil
		}
		k.sum(host).load += page.loadIn()
		switch {
		case place == InQueue:
			k.counted.queued++
		default:
			k.counted.resting++
			if page.Flags&Dropped != 0 {
				k.counted.dropped++
			}
		}
		if k.done++; k.done%4096 == 0 {
			k.progress(k.done, k.all)
		}
		return nil
	}
	if err := eachFresh(k.tx.Bucket(bucketFresh), nil, nil, func(ref freshRef, rec []byte) error {
		if ghost, err := superseded(k.tx, ref, fingerprint.URL(string(urlOf(rec)))); err != nil || ghost {
			return err
		}
		return take(ref.key.host(), rec, InFresh)
	}); err != nil {
		return err
	}
	if err := timequeue.Each(k.tx, func(ref timequeue.Ref, rec []byte) error {
		place := placeIn(rec)
		if (place == InRest) != (ref.Slot == timequeue.RestSlot) {
			k.add("%s, due %d, lies in slot %v", urlOf(rec), timequeue.DueOf(rec), ref.Slot)
		}
		return take(0, rec, place)
	}); err != nil {
		return err
	}
	slices.SortFunc(all, sighting.compare)
	err := seen.Each(k.tx, func(host uint64, e seen.Entry) error {
		if !mine(e.Fingerprint()) {
			return nil
		}
		at := sighting{host: HostID(host), fp: e.Fingerprint()}
		for len(all) > 0 && all[0].compare(at) < 0 {
			k.add("a page in %v, host %016x, fingerprint %014x, is not in the seen set", all[0].place,
				uint64(all[0].host), all[0].fp>>8)
			all = all[1:]
		}
		waiting, elsewhere := 0, 0
		for ; len(all) > 0 && all[0].compare(at) == 0; all = all[1:] {
			if all[0].place == InFresh {
				waiting++
			} else {
				elsewhere++
			}
			// A page visited inside a lease may leave its waiting record behind, as a ghost, with the number it had.
			if all[0].place != InFresh || !e.Visited() {
				k.number(all[0])
			}
		}
		sum := k.sum(HostID(host))
		sum.known++
		k.counted.known++
		if e.Visited() {
			sum.visited++
			k.counted.visited++
		} else {
			sum.waiting++
			k.counted.waiting++
		}
		if e.Visited() && elsewhere != 1 || !e.Visited() && (elsewhere != 0 || waiting != 1) {
			k.add("host %016x, fingerprint %014x, visited %v: %d records wait and %d lie elsewhere", host,
				e.Fingerprint()>>8, e.Visited(), waiting, elsewhere)
		}
		return nil
	})
	for _, s := range all {
		k.add("a page in %v, host %016x, fingerprint %014x, is not in the seen set", s.place, uint64(s.host), s.fp>>8)
	}
	return err
}

// number checks that a page has a number of this partition that no other page has.
func (k *partitionCheck) number(s sighting) {
	serial := s.number / uint64(k.p.of)
	if s.number%uint64(k.p.of) != uint64(k.p.index) || serial == 0 || serial > k.totals.serial {
		k.add("host %016x, fingerprint %014x has number %d", uint64(s.host), s.fp>>8, s.number)
		return
	}
	if k.numbers == nil {
		return
	}
	if k.numbers[serial/64]&(1<<(serial%64)) != 0 {
		k.add("host %016x, fingerprint %014x has number %d, as another page", uint64(s.host), s.fp>>8, s.number)
	}
	k.numbers[serial/64] |= 1 << (serial % 64)
}

func (k *partitionCheck) hosts() error {
	if err := k.tx.Bucket(bucketHosts).ForEach(func(key, v []byte) error {
		h, err := readHost(k.tx, key, v)
		if err != nil {
			return err
		}
		k.counted.hosts++
		if IDOf(h.Name) != h.ID || len(key) != 8 {
			k.add("host %s has the id %x", h.Name, key)
		}
		if k.state != nil && k.state.PartitionOf(h.Name) != k.p.index {
			k.add("host %s belongs in partition %d", h.Name, k.state.PartitionOf(h.Name))
		}
		return nil
	}); err != nil {
		return err
	}
	bucket := k.tx.Bucket(bucketCounts)
	if err := bucket.ForEach(func(key, v []byte) error {
		stored, err := decodeCounts(key, v)
		if err != nil {
			return err
		}
		sum := *k.sum(hostKey(key))
		delete(k.sums, hostKey(key))
		if stored != sum {
			k.add("host %x counts %+v, the sums are %+v", key, stored, sum)
		}
		if k.tx.Bucket(bucketHosts).Get(key) == nil {
			k.add("host %x has counts but no record", key)
		}
		return nil
	}); err != nil {
		return err
	}
	for id, sum := range k.sums {
		k.add("host %016x has no counts, the sums are %+v", uint64(id), *sum)
	}
	return nil
}

func (k *partitionCheck) links() error {
	pages, total := 0, uint64(0)
	if err := eachSetRef(k.tx, func(key []byte, at setRef) error {
		k.counted.linked++
		pages++
		total += at.count
		host, fp := uint64(hostKey(key)), binary.BigEndian.Uint64(key[8:])
		e, found, err := k.known.Get(host, fp)
		if err == nil && !(found && e.Visited()) {
			k.add("links of host %016x, fingerprint %016x, which was not visited", host, fp)
		}
		return err
	}); err != nil {
		return err
	}
	count := uint64(0)
	if err := scanLinks(k.tx, scanChunk, func(_ HostID, _ uint64, links *Links) error {
		count += links.left
		return nil
	}); err != nil {
		return err
	}
	if total != count {
		k.add("%d links, counted %d", count, total)
	}
	if more := pages - k.tx.Bucket(bucketLinkSets).Stats().KeyN; more != 0 {
		k.add("the pages that have link sets are %d more than the link sets", more)
	}
	relaxations := uint64(0)
	err := k.tx.Bucket(bucketRelax).ForEach(func(key, v []byte) error {
		relaxations++
		r, err := decodeRelaxation(key, v)
		if err != nil {
			return err
		}
		e, found, err := k.known.Get(uint64(r.Host), fingerprint.URL(r.URL))
		if err == nil && !(found && e.Visited() && e.DepthLeft() >= r.DepthLeft) {
			k.add("relaxation of %s, which was not visited or has less depth", r.URL)
		}
		return err
	})
	if relaxations != k.totals.relaxations {
		k.add("%d relaxations, counted %d", relaxations, k.totals.relaxations)
	}
	return err
}

// contents compares the index of contents with its count, and its pages with the seen set.
func (k *partitionCheck) contents() error {
	bucket := k.tx.Bucket(bucketContents)
	count := uint64(0)
	err := bucket.ForEach(func(key, v []byte) error {
		count++
		entry, err := decodeContent(key, v)
		if err != nil {
			return err
		}
		url := entry.url
		e, found, err := k.known.Get(uint64(IDOf(weburl.HostOf(url))), fingerprint.URL(url))
		if err == nil && !(found && e.Visited()) {
			k.add("content %x of %s, which was not visited", key, url)
		}
		return err
	})
	if err == nil && count != bucket.Sequence() {
		k.add("%d contents, counted %d", count, bucket.Sequence())
	}
	return err
}

// rises compares the pages that rose with the seen set: they must wait.
func (k *partitionCheck) rises() error {
	bucket := k.tx.Bucket(bucketRises)
	if bucket == nil {
		return nil
	}
	return bucket.ForEach(func(key, _ []byte) error {
		if len(key) != 16 {
			return fmt.Errorf("raised %x: %w", key, ErrCorrupt)
		}
		host, fp := hostKey(key), binary.BigEndian.Uint64(key[8:])
		if _, _, err := roseTo(k.tx, host, fp); err != nil {
			return err
		}
		e, found, err := k.known.Get(uint64(host), fp)
		if err == nil && (!found || e.Visited()) {
			k.add("host %016x, fingerprint %016x rose and does not wait", uint64(host), fp)
		}
		return err
	})
}

// rest reads what nothing else refers to.
func (k *partitionCheck) rest() error {
	return errors.Join(
		k.tx.Bucket(bucketLeases).ForEach(func(key, v []byte) error {
			k.counted.leases++
			_, err := decodeLease(key, v)
			return err
		}),
		k.tx.Bucket(bucketOutbox).ForEach(func(key, v []byte) error {
			k.counted.parcels++
			_, err := decodeParcel(key, v)
			return err
		}),
		k.contents(),
		k.rises(),
		k.tx.Bucket(bucketMeta).ForEach(func(key, v []byte) error {
			_, err := unseal(key, v)
			return err
		}),
	)
}
