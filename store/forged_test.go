package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"go.etcd.io/bbolt"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
	"henro/store/timequeue"
)

// Forged files have right checksums everywhere: they are the work of a person, or of a program with a fault.

var forgedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func forgeOptions() Options {
	o := DefaultOptions()
	o.NoSync, o.MapBytes, o.LockTimeout, o.Partitions = true, 1<<20, 50*time.Millisecond, 2
	return o
}

// forgeable makes a state of two files with pages of each kind, a lease and a parcel.
func forgeable(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state")
	s, err := OpenState(dir, forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range s.Partitions {
		for range 3 { // so that pages become free
			b := NewBatch(forgedAt)
			for i := range 200 {
				url := fmt.Sprintf("http://h%d.example/%d", i%14, i)
				if s.PartitionOf(weburl.HostOf(url)) != k {
					continue
				}
				if i%3 == 0 {
					b.Admit(Candidate{URL: url, DepthLeft: 3})
					continue
				}
				page := Page{URL: url, Status: 200, Next: forgedAt.Add(time.Hour), Timing: Timing{Interval: 3600}}
				b.Visit(Visited{Page: page, Links: []outlink.Outlink{{URL: url + "/next", Kind: outlink.Anchor}}})
			}
			b.PutLease(Lease{ID: 1, HostName: "http://h1.example"})
			b.Send(1-k, []Candidate{{URL: "http://h1.example/parcel"}})
			b.PutMeta("mine", []byte("value"))
			if _, err := p.Commit(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// own is the first URL of a partition of which ok holds.
func own(t *testing.T, s *State, index int, ok func(i int) bool) (url string) {
	t.Helper()
	for i := range 200 {
		url = fmt.Sprintf("http://h%d.example/%d", i%14, i)
		if ok(i) && s.PartitionOf(weburl.HostOf(url)) == index {
			return url
		}
	}
	t.Fatal("no page")
	return ""
}

// TestCheckNamesEachForgery: whatever part of the state contradicts another is found, by the check that is meant for
// it.
func TestCheckNamesEachForgery(t *testing.T) {
	type forger struct {
		*testing.T
		s              *State
		tx             *bbolt.Tx
		waits, visited string // URLs of this partition
		key            []byte // of the host of visited
	}
	fresh := func(f *forger, host HostID, page Page) error {
		w := newFreshWriter(f.tx)
		return errors.Join(w.put(host, 0, appendPage(nil, &page)), w.flush())
	}
	know := func(f *forger, url string) error {
		return f.s.Partitions[0].seen.Apply(f.tx, []seen.Op{{Host: uint64(IDOf(weburl.HostOf(url))),
			URL: fingerprint.URL(url), Action: seen.Know}})
	}
	flip := func(b *bbolt.Bucket, key []byte) error {
		v := bytes.Clone(b.Get(key))
		v[len(v)-1] ^= 1
		return b.Put(key, v)
	}
	first := func(b *bbolt.Bucket) []byte {
		k, _ := b.Cursor().First()
		return bytes.Clone(k)
	}
	for want, change := range map[string]func(*forger) error{
		"lies with host": func(f *forger) error {
			return fresh(f, 7, Page{URL: f.waits, Number: 2})
		},
		"lies in slot": func(f *forger) error {
			queue := f.tx.Bucket([]byte("queue"))
			if k, _ := queue.Cursor().First(); k != nil {
				slot := queue.Bucket(k)
				ck, cv := slot.Cursor().First()
				chunk := timequeue.Chunk(bytes.Clone(cv))
				records := chunk.Records()
				rec := records.Next()
				clear(rec[:4]) // due never
				ref := timequeue.Ref{Slot: timequeue.Slot{Opens: binary.BigEndian.Uint32(k),
					Level: timequeue.Level(k[4])}, Generation: uint32(slot.Sequence()),
					Ordinal: binary.BigEndian.Uint32(ck)}
				chunk.Seal(ref.Append(nil))
				if err := slot.Put(bytes.Clone(ck), chunk); err != nil {
					return err
				}
			}
			return nil
		},
		"40 pages, is not in the seen set": func(f *forger) error {
			for i := range 40 { // before, between and behind those that are
				url := fmt.Sprintf("http://forged%d.example/", i)
				if err := fresh(f, IDOf(weburl.HostOf(url)), Page{URL: url, Number: 2}); err != nil {
					return err
				}
			}
			return nil
		},
		"0 records wait and 0 lie elsewhere": func(f *forger) error { return know(f, f.waits+"forged") },
		"2 records wait and 0 lie elsewhere": func(f *forger) error {
			return fresh(f, IDOf(weburl.HostOf(f.waits)), Page{URL: f.waits, Number: 2})
		},
		"has number 1099511627777": func(f *forger) error {
			return errors.Join(know(f, f.waits+"forged"), fresh(f, IDOf(weburl.HostOf(f.waits)),
				Page{URL: f.waits + "forged", Number: 1<<40 + 1}))
		},
		"has number 2, as another page": func(f *forger) error {
			return errors.Join(know(f, f.waits+"forged"), fresh(f, IDOf(weburl.HostOf(f.waits)),
				Page{URL: f.waits + "forged", Number: 2}))
		},
		"has the id": func(f *forger) error {
			return put(f.tx.Bucket(bucketHosts), key64(7), encodeHost(&HostRecord{Name: "http://h1.example"}))
		},
		"has the id 616263": func(f *forger) error {
			return put(f.tx.Bucket(bucketHosts), []byte("abc"), encodeHost(&HostRecord{Name: "http://h1.example"}))
		},
		"raised 6162: ": func(f *forger) error {
			rises, err := f.tx.CreateBucketIfNotExists(bucketRises)
			return errors.Join(err, put(rises, []byte("ab"), make([]byte, 5)))
		},
		"raised 00000000000000070000000000000007: ": func(f *forger) error {
			rises, err := f.tx.CreateBucketIfNotExists(bucketRises)
			return errors.Join(err, put(rises, key128(7, 7), make([]byte, 4)))
		},
		"belongs in partition 1": func(f *forger) error {
			name := weburl.HostOf(own(f.T, f.s, 1, func(int) bool { return true }))
			return put(f.tx.Bucket(bucketHosts), key64(uint64(IDOf(name))), encodeHost(&HostRecord{Name: name}))
		},
		"the sums are {": func(f *forger) error {
			c, err := decodeCounts(f.key, f.tx.Bucket(bucketCounts).Get(f.key))
			c.load++
			return errors.Join(err, put(f.tx.Bucket(bucketCounts), f.key, c.encode()))
		},
		"has counts but no record": func(f *forger) error { return f.tx.Bucket(bucketHosts).Delete(f.key) },
		"has no counts":            func(f *forger) error { return f.tx.Bucket(bucketCounts).Delete(f.key) },
		"links of host": func(f *forger) error {
			return putLinks(f.tx, key128(7, 7), nil, []outlink.Outlink{{URL: "http://a/"}})
		},
		" links, counted ": func(f *forger) error {
			links := f.tx.Bucket(bucketLinks)
			key := bytes.Clone(first(links))
			at, err := setRefOf(key, links.Get(key))
			at.count++
			return errors.Join(err, put(links, key, at.encode()))
		},
		"no link set": func(f *forger) error {
			return f.tx.Bucket(bucketLinkSets).Delete(first(f.tx.Bucket(bucketLinkSets)))
		},
		"link sets are -1 more": func(f *forger) error {
			return f.tx.Bucket(bucketLinkSets).Put(key64(1<<40), []byte("of no page"))
		},
		"relaxation of http://a/": func(f *forger) error {
			return put(f.tx.Bucket(bucketRelax), key128(7, 7), encodeRelaxation(&Relaxation{URL: "http://a/"}))
		},
		"1 relaxations, counted 0": func(f *forger) error {
			return put(f.tx.Bucket(bucketRelax), key128(7, 7), encodeRelaxation(&Relaxation{URL: "http://a/"}))
		},
		"it counts {": func(f *forger) error {
			totals, err := readTotals(f.tx)
			totals.queued++
			return errors.Join(err, writeTotals(f.tx, totals))
		},
		"lease 1: the state is damaged": func(f *forger) error { return flip(f.tx.Bucket(bucketLeases), key64(1)) },
		"outbox": func(f *forger) error {
			return flip(f.tx.Bucket(bucketOutbox), first(f.tx.Bucket(bucketOutbox)))
		},
		"p000.db: check: the state is dam": func(f *forger) error {
			return flip(f.tx.Bucket(bucketMeta), []byte("own/mine"))
		},
	} {
		dir := forgeable(t)
		s, err := OpenState(dir, forgeOptions())
		if err != nil {
			t.Fatal(err)
		}
		f := &forger{T: t, s: s, waits: own(t, s, 0, func(i int) bool { return i%3 == 0 }),
			visited: own(t, s, 0, func(i int) bool { return i%3 != 0 })}
		f.key = key64(uint64(IDOf(weburl.HostOf(f.visited))))
		if err := s.Partitions[0].update("forge", func(tx *bbolt.Tx) error {
			f.tx = tx
			return change(f)
		}); err != nil {
			t.Fatal(want, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(want, err)
		}
		report, err := Check(dir, nil)
		if err != nil {
			t.Fatal(want, err)
		}
		all := strings.Join(report.Problems, "\n")
		if n, text, ok := strings.Cut(want, " pages, "); ok && fmt.Sprint(strings.Count(all, text)) != n ||
			!ok && !strings.Contains(all, want) {
			t.Errorf("no %q among\n%s", want, all)
		}
		if len(report.Digests) != len(s.Partitions)-1 {
			t.Errorf("%q: a damaged partition has a digest: %q", want, report.Digests)
		}
	}
}

// TestLinksAreReadInTheOrderInWhichTheyLie reads all link sets, with room for a few places and for all, in a partition
// in which some are forged.
func TestLinksAreReadInTheOrderInWhichTheyLie(t *testing.T) {
	s, err := OpenState(forgeable(t), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for sentence, forge := range map[string]func(links, sets *bbolt.Bucket, key []byte, at setRef) error{
		"": func(_, sets *bbolt.Bucket, _ []byte, _ setRef) error {
			return sets.Put(key64(1<<40), []byte("of no page, which the check says"))
		},
		"no link set": func(_, sets *bbolt.Bucket, _ []byte, at setRef) error { return sets.Delete(key64(at.number)) },
		fmt.Sprint("no link set ", uint64(math.MaxUint64)): func(links, _ *bbolt.Bucket, key []byte, _ setRef) error {
			at := setRef{math.MaxUint64, 1}
			return put(links, key, at.encode())
		},
		"links 00000000000000070000000000000007": func(links, _ *bbolt.Bucket, key []byte, _ setRef) error {
			return put(links, key128(7, 7), append(make([]byte, 4), links.Get(key)[4:]...)) // a second of that number
		},
		"links 0000000000000007:": func(links, _ *bbolt.Bucket, _ []byte, _ setRef) error {
			at := setRef{7, 1}
			return put(links, key64(7), at.encode())
		},
	} {
		for _, chunk := range []int{2, 3, 16, scanChunk} {
			tx, err := s.Partitions[0].db.Begin(true)
			if err != nil {
				t.Fatal(err)
			}
			links, sets := tx.Bucket(bucketLinks), tx.Bucket(bucketLinkSets)
			c := links.Cursor()
			c.First()
			k, v := c.Next()
			key, want := bytes.Clone(k), map[string]uint64{}
			at, err := setRefOf(k, v)
			if err := errors.Join(err, forge(links, sets, key, at)); err != nil {
				t.Fatal(sentence, err)
			}
			err = scanLinksOf(tx, nil, func(host HostID, fp uint64, l *Links) error {
				at, err := setRefOf(key128(host, fp), links.Get(key128(host, fp)))
				want[string(key128(host, fp))] = at.number
				return err
			})
			if sentence == "" && (err != nil || len(want) < 30) {
				t.Fatalf("%d link sets, %v", len(want), err)
			}
			last := uint64(0)
			err = scanLinks(tx, chunk, func(host HostID, fp uint64, l *Links) error {
				key := string(key128(host, fp))
				number, ok := want[key]
				if sentence == "" && (!ok || number < last || number > 0 && number == last || l.Len() != 1) {
					t.Errorf("chunks of %d: links %x, number %d behind %d", chunk, key, number, last)
				}
				last = max(last, number)
				delete(want, key)
				return nil
			})
			switch {
			case sentence == "" && (err != nil || len(want) > 0):
				t.Errorf("chunks of %d: %d link sets were left out, %v", chunk, len(want), err)
			case sentence != "" && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), sentence) &&
				!strings.Contains(err.Error(), "of several")):
				t.Errorf("chunks of %d, %q: %v", chunk, sentence, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCheckSaysNoMoreThanIsRead bounds the report of a state in which all is wrong.
func TestCheckSaysNoMoreThanIsRead(t *testing.T) {
	r := new(Report)
	for range 3 * maxProblems {
		r.add("a problem")
	}
	if len(r.Problems) != maxProblems || r.More != 2*maxProblems {
		t.Errorf("%d problems and %d more", len(r.Problems), r.More)
	}
}

// TestAPageThatNothingReachesIsFound: bbolt's own check knows what opening does not ask for.
func TestAPageThatNothingReachesIsFound(t *testing.T) {
	dir := forgeable(t)
	path := partitionPath(dir, 0)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := readMeta(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	count := file[int64(m.freelist)*m.size+10:]
	if n := binary.LittleEndian.Uint16(count); n == 0 || n > 1000 {
		t.Fatalf("%d pages are free", n)
	} else {
		binary.LittleEndian.PutUint16(count, n-1)
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := Check(dir, nil)
	if err != nil || !strings.Contains(strings.Join(report.Problems, "\n"), "unreachable") {
		t.Errorf("%q, %v", report.Problems, err)
	}
}

// TestForgedFilesDoNotOpen changes what says which file it is.
func TestForgedFilesDoNotOpen(t *testing.T) {
	identity := func(change func(b []byte) []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b := change(bytes.Clone(tx.Bucket(bucketMeta).Get(identityKey)))
			return put(tx.Bucket(bucketMeta), identityKey, b)
		}
	}
	progress := func(n int) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error { return put(tx.Bucket(bucketMeta), progressKey, make([]byte, 4+n)) }
	}
	for sentence, change := range map[string]func(*bbolt.Tx) error{
		"a partition of none":          identity(func(b []byte) []byte { clear(b[10:12]); return b }),
		"a partition behind the last":  identity(func(b []byte) []byte { b[8] = 2; return b }),
		"half of an identity":          identity(func(b []byte) []byte { return b[:20] }),
		"a progress that is too short": progress(16),
		"a progress of half a number":  progress(28),
		"no bucket for the outbox":     func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketOutbox) },
		"no bucket for the time queue": func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("queue")) },
		"no totals":                    func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(totalsKey) },
		"an identity that was not sealed": func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketMeta).Put(identityKey, make([]byte, 40))
		},
	} {
		dir := forgeable(t)
		s, err := OpenState(dir, forgeOptions())
		if err != nil {
			t.Fatal(err)
		}
		p := s.Partitions[1]
		if err := p.update("forge", change); err != nil {
			t.Fatal(sentence, err)
		}
		for _, p := range s.Partitions { // without a word of a clean end
			p.db.Close()
		}
		report, err := Check(dir, nil)
		if err != nil || len(report.Problems) == 0 {
			t.Errorf("%s: checked %+v, %v", sentence, report, err)
		}
		s, err = OpenState(dir, forgeOptions())
		if strings.HasPrefix(sentence, "no bucket for the time") || sentence == "no totals" {
			if err == nil { // the first commit says so
				b := NewBatch(forgedAt)
				b.Admit(Candidate{URL: "http://h1.example/more"})
				_, err = s.Partitions[1].Commit(b)
				s.Close()
			}
		} else if err == nil {
			s.Close()
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// TestWhatReadsTheFileByItselfDoesNotPanic: guards that another one stands behind.
func TestWhatReadsTheFileByItselfDoesNotPanic(t *testing.T) {
	p, err := Open(filepath.Join(t.TempDir(), "p000.db"), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, n := range []int{0, 16, 28} {
		tx, err := p.db.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		if err := put(tx.Bucket(bucketMeta), progressKey, make([]byte, 4+n)); err != nil {
			t.Fatal(err)
		}
		if _, err := readProgress(tx); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a progress of %d bytes: %v", n, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	for name, call := range map[string]func(string, func(*bbolt.Tx) error) error{"view": p.view, "update": p.update} {
		if err := call("x", func(*bbolt.Tx) error { panic("page 7") }); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a panic within %s: %v", name, err)
		}
	}
}

// TestAFileIsCutOffWhileItIsRead: what is mapped and gone ends in an error.
func TestAFileIsCutOffWhileItIsRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a mapped file cannot be cut off there
	}
	dir := forgeable(t)
	o := forgeOptions()
	o.ReadOnly = true
	s, err := OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Truncate(partitionPath(dir, 0), 2*4096); err != nil {
		t.Fatal(err)
	}
	err = s.Partitions[0].Pages.Each(func(Page, Place) error { return nil })
	if !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

func TestAnEmptyFileIsNoPartitionToRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p000.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o := forgeOptions()
	o.ReadOnly = true
	if _, err := Open(path, o); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestPagesThatMakeNoSenseAreRefused: each check of a page by itself, without those of bbolt and without the others.
func TestPagesThatMakeNoSenseAreRefused(t *testing.T) {
	const size = 4096
	le := binary.LittleEndian
	meta := func(id uint64, change func(b []byte)) []byte {
		page := make([]byte, size)
		le.PutUint64(page, id)
		le.PutUint16(page[8:], metaPage)
		b := page[pageHead:]
		le.PutUint32(b, bboltMagic)
		le.PutUint32(b[4:], bboltVersion)
		le.PutUint32(b[8:], size)
		le.PutUint64(b[16:], 3)
		le.PutUint64(b[32:], 2)
		le.PutUint64(b[40:], 4)
		le.PutUint64(b[48:], 7+id)
		change(b)
		sum := fnv.New64a()
		sum.Write(b[:56])
		le.PutUint64(b[56:], sum.Sum64())
		return page
	}
	whole := func([]byte) {}
	for sentence, page := range map[string]func(page []byte){
		"a changed meta":         func(page []byte) { page[pageHead+16] ^= 1 },
		"a meta of another page": func(page []byte) { page[0] = 5 },
		"a meta of another kind": func(page []byte) { page[8] = leafPage },
	} {
		file := append(meta(0, whole), meta(1, whole)...)
		for _, at := range []int{0, size} {
			page(file[at:])
		}
		if m, err := readMeta(bytes.NewReader(file)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %+v, %v", sentence, m, err)
		}
	}
	for sentence, change := range map[string]func(b []byte){
		"no page size":         func(b []byte) { le.PutUint32(b[8:], 0) },
		"pages of 2 GB":        func(b []byte) { le.PutUint32(b[8:], 1<<31) },
		"pages without an end": func(b []byte) { le.PutUint64(b[40:], 1<<50) },
		"a newer bbolt":        func(b []byte) { b[4]++ },
		"another program":      func(b []byte) { b[0]++ },
	} {
		if m, ok := parseMeta(meta(0, change)); ok {
			t.Errorf("%s: %+v", sentence, m)
		}
	}

	type element struct {
		kind       uint32
		key, value string
	}
	leaf := func(elements ...element) []byte {
		page := make([]byte, size)
		le.PutUint64(page, 3)
		le.PutUint16(page[8:], leafPage)
		le.PutUint16(page[10:], uint16(len(elements)))
		end := pageHead + pageElement*len(elements)
		for i, e := range elements {
			at := pageHead + pageElement*i
			le.PutUint32(page[at:], e.kind)
			le.PutUint32(page[at+4:], uint32(end-at))
			le.PutUint32(page[at+8:], uint32(len(e.key)))
			le.PutUint32(page[at+12:], uint32(len(e.value)))
			end += copy(page[end:], e.key+e.value)
		}
		return page
	}
	freelist := func(ids ...uint64) []byte {
		page := make([]byte, size)
		le.PutUint64(page, 2)
		le.PutUint16(page[8:], freelistPage)
		le.PutUint16(page[10:], uint16(len(ids)))
		for i, id := range ids {
			le.PutUint64(page[pageHead+8*i:], id)
		}
		return page
	}
	bucket := func(root uint64, inline []byte) string {
		return string(append(append(le.AppendUint64(nil, root), make([]byte, 8)...), inline...))
	}
	inline := leaf(element{0, "k", "v"})[:64]
	good := func() []byte {
		return leaf(element{0, "a", "1"}, element{1, "b", bucket(0, inline)}, element{0, "c", "3"})
	}
	branch := func(page []byte) []byte {
		le.PutUint16(page[8:], branchPage)
		return page
	}
	edit := func(do func(page []byte)) []byte {
		page := good()
		do(page)
		return page
	}
	for sentence, c := range map[string]struct {
		root, free []byte
		refused    bool
	}{
		"a leaf":                         {root: good()},
		"a page that says to be another": {root: edit(func(p []byte) { p[0] = 9 }), refused: true},
		"a page with more than there is": {root: edit(func(p []byte) { p[12] = 9 }), refused: true},
		"a page of no kind":              {root: edit(func(p []byte) { p[8] = 8 }), refused: true},
		"more elements than fit":         {root: edit(func(p []byte) { p[11] = 9 }), refused: true},
		"a branch without children":      {root: branch(leaf()), refused: true},
		"an element of no kind":          {root: edit(func(p []byte) { p[pageHead] = 2 }), refused: true},
		"an element without a key":       {root: leaf(element{0, "", "v"}), refused: true},
		"an element in the head":         {root: edit(func(p []byte) { p[pageHead+4] = 4 }), refused: true},
		"an element behind the page":     {root: edit(func(p []byte) { p[pageHead+5] = 99 }), refused: true},
		"a value behind the page": {root: edit(func(p []byte) {
			p[pageHead+2*pageElement+13] = 99
		}), refused: true},
		"keys out of order":         {root: leaf(element{0, "b", ""}, element{0, "a", ""}), refused: true},
		"a key twice":               {root: leaf(element{0, "a", ""}, element{0, "a", ""}), refused: true},
		"a bucket of no length":     {root: leaf(element{1, "a", "short"}), refused: true},
		"a bucket without its page": {root: leaf(element{1, "a", bucket(0, nil)}), refused: true},
		"a bucket in a bucket's page": {root: leaf(element{1, "a", bucket(0, leaf(element{1, "x",
			bucket(0, inline)})[:128])}), refused: true},
		"a branch in a bucket's page": {root: leaf(element{1, "a",
			bucket(0, branch(bytes.Clone(inline)))}), refused: true},
		"a bucket's page that is a head alone": {root: leaf(element{1, "a", bucket(0, leaf(element{})[:16])}),
			refused: true},
		"a bucket at a meta page":     {root: leaf(element{1, "a", bucket(1, nil)}), refused: true},
		"a bucket at its own page":    {root: leaf(element{1, "a", bucket(3, nil)}), refused: true},
		"a bucket behind the file":    {root: leaf(element{1, "a", bucket(1<<40, nil)}), refused: true},
		"a free page in a tree":       {root: good(), free: freelist(3), refused: true},
		"a free page behind the file": {root: good(), free: freelist(1 << 40), refused: true},
		"a list of another kind":      {root: good(), free: leaf(), refused: true},
		"more free pages than listed": {root: good(), free: func() []byte {
			page := freelist()
			le.PutUint16(page[10:], 600)
			return page
		}(), refused: true},
	} {
		if c.free == nil {
			c.free = freelist()
		}
		if sentence == "a list of another kind" {
			le.PutUint64(c.free, 2)
		}
		file := append(append(append(meta(0, whole), meta(1, whole)...), c.free...), c.root...)
		m, err := readMeta(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if why := recover(); why != nil {
					t.Errorf("%s: panic: %v", sentence, why)
				}
			}()
			w := &pageWalk{meta: m, file: bytes.NewReader(file), reached: make([]uint64, m.pages/64+1)}
			if err := w.walk(); errors.Is(err, ErrCorrupt) != c.refused || !c.refused && err != nil {
				t.Errorf("%s: %v", sentence, err)
			}
		}()
	}
	// Children of a branch: their keys lie between that of the branch and the next.
	root := branch(leaf(element{0, "b", ""}, element{0, "d", ""}))
	for i, child := range []uint64{4, 5} { // pos4 ‖ ksize4 ‖ child8
		e := root[pageHead+i*pageElement:]
		key := uint32(pageHead + 2*pageElement + i - (pageHead + i*pageElement))
		le.PutUint32(e, key)
		le.PutUint32(e[4:], 1)
		le.PutUint64(e[8:], child)
	}
	for key, refused := range map[string]bool{"b": false, "c": false, "a": true, "e": true} {
		children := []byte{}
		for i, k := range []string{key, "d"} {
			page := leaf(element{0, k, ""})
			page[0] = byte(4 + i)
			children = append(children, page...)
		}
		six := func(b []byte) { le.PutUint64(b[40:], 6) }
		file := append(append(append(append(meta(0, six), meta(1, six)...), freelist()...), root...), children...)
		m, err := readMeta(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		w := &pageWalk{meta: m, file: bytes.NewReader(file), reached: make([]uint64, 1)}
		if err := w.walk(); (err != nil) != refused {
			t.Errorf("a key %q below the branches b and d: %v", key, err)
		}
	}
	// A file that is shorter than its pages, where nothing but the count says so.
	path := filepath.Join(t.TempDir(), "p000.db")
	hundred := func(b []byte) { le.PutUint64(b[40:], 100) }
	file := append(append(append(meta(0, hundred), meta(1, hundred)...), freelist()...), good()...)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	err := inspect(path, &bbolt.Options{ReadOnly: true}, true)
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a file that was cut off: %v", err)
	}
}

// TestFilesOfAnotherPlaceDoNotOpen moves whole files.
func TestFilesOfAnotherPlaceDoNotOpen(t *testing.T) {
	read := func(dir string, index int) []byte {
		b, err := os.ReadFile(partitionPath(dir, index))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for sentence, c := range map[string]struct {
		change func(dir string) error
		want   error
		mended bool // check --repair may make one state of them
	}{
		"a copy of another partition": {func(dir string) error {
			return os.WriteFile(partitionPath(dir, 1), read(dir, 0), 0o644)
		}, ErrMismatch, false},
		"a file of another crawl": {func(dir string) error {
			return os.WriteFile(partitionPath(dir, 1), read(forgeable(t), 1), 0o644)
		}, ErrMismatch, false},
		"no first file": {func(dir string) error { return os.Remove(partitionPath(dir, 0)) }, ErrMismatch, false},
		"no last file":  {func(dir string) error { return os.Remove(partitionPath(dir, 1)) }, ErrMismatch, false},
		"an empty file": {func(dir string) error { return os.Truncate(partitionPath(dir, 1), 0) }, ErrCorrupt, false},
	} {
		dir := forgeable(t)
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		names, _ := filepath.Glob(filepath.Join(dir, "p*.db"))
		var before int64
		for _, name := range names {
			info, _ := os.Stat(name)
			before += info.Size()
		}
		s, err := OpenState(dir, forgeOptions())
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, c.want) || errors.Is(err, ErrMixed) {
			t.Errorf("%s: %v", sentence, err)
		}
		if done, err := Reconcile(dir); err == nil || done != nil {
			t.Errorf("%s: made one state, %+v", sentence, done)
		}
		var after int64
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(sentence, err)
			}
			after += info.Size()
		}
		if now, _ := filepath.Glob(filepath.Join(dir, "p*.db")); after != before || len(now) != len(names) {
			t.Errorf("%s: %d bytes in %d files became %d in %d", sentence, before, len(names), after, len(now))
		}
	}
	if _, err := os.Stat(filepath.Join(t.TempDir(), "state.new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestForgedValuesAreRefused decodes what no henro writes: an error, without a panic and without the memory that it
// asks for.
func TestForgedValuesAreRefused(t *testing.T) {
	key := make([]byte, 16)
	many := binary.AppendUvarint(nil, 1<<27)
	head := binary.LittleEndian.AppendUint64(appendBytes(nil, "http://a"), 0)
	host := append(append(head, make([]byte, 8)...), many...)
	ofLinks := func(b ...byte) []byte { return append([]byte{linksPlain}, b...) }
	bomb := s2.Encode(nil, make([]byte, 2*maxLinksLen))
	chunk := func(count int, records ...byte) timequeue.Chunk {
		c := append(timequeue.NewChunk(nil), records...)
		binary.LittleEndian.PutUint16(c[6:], uint16(count))
		return c
	}
	freshOf := func(c timequeue.Chunk) []byte {
		k := make([]byte, freshKeyLen)
		v := append(make([]byte, freshHeader), c...)
		binary.LittleEndian.PutUint32(v[8:], timequeue.Sum(k, v[:8]))
		timequeue.Chunk(v[freshHeader:]).Seal(k)
		return v
	}
	openedFresh := func(k, v []byte) error {
		_, _, err := openFresh(k, v)
		return err
	}
	whole := freshOf(chunk(1, 1, 'x'))
	bits, record := bytes.Clone(whole), bytes.Clone(whole)
	bits[0] ^= 1
	record[len(record)-1] ^= 1
	version := bytes.Clone(whole)
	version[freshHeader+4]++
	timequeue.Chunk(version[freshHeader:]).Seal(make([]byte, freshKeyLen))
	if err := openedFresh(make([]byte, freshKeyLen), whole); err != nil {
		t.Fatal(err)
	}
	for sentence, decode := range map[string]func() error{
		"a page behind its end": func() error {
			_, err := decodePage([]byte{0, 0, 0, 0, 9, 'x'})
			return err
		},
		"a page with more behind": func() error {
			_, err := decodePage(append(appendPage(nil, &Page{URL: "u"}), 1))
			return err
		},
		"what remains of half a page": func() error {
			_, err := remainsOf(appendPage(nil, &Page{URL: "u", Status: 200})[:20])
			return err
		},
		"nothing of a host": func() error {
			_, err := decodeHost(key[:8], nil)
			return err
		},
		"a checksum of nothing": func() error { _, err := unseal(key, []byte{1, 2, 3}); return err },
		"another checksum":      func() error { _, err := unseal(key, append([]byte{1, 2, 3, 4}, 5)); return err },
		"a host of many rates": func() error {
			_, err := decodeHost(key[:8], sealed(key[:8], host))
			return err
		},
		"a relaxation of nothing": func() error {
			_, err := decodeRelaxation(key, sealed(key, nil))
			return err
		},
		"a relaxation of half a key": func() error {
			_, err := decodeRelaxation(key[:8], sealed(key[:8], make([]byte, 9)))
			return err
		},
		"a parcel that shares what was not there": func() error {
			_, err := decodeParcel(key[:8], sealed(key[:8], []byte{0, 1, 0, 0, 0, 0, 0, 9, 0}))
			return err
		},
		"more links than bytes": func() error {
			_, err := decodeLinks(key, sealed(key, ofLinks(many...)))
			return err
		},
		"as many links as bytes": func() error {
			b := append(binary.AppendUvarint(nil, 4<<20), make([]byte, 4<<20)...)
			_, err := decodeLinks(key, sealed(key, ofLinks(b...)))
			return err
		},
		"a link that shares what was not there": func() error {
			_, err := decodeLinks(key, sealed(key, ofLinks(1, 0, 0, 9, 0, 0)))
			return err
		},
		"links of another kind": func() error {
			_, err := decodeLinks(key, sealed(key, append([]byte{2}, s2.Encode(nil, []byte{0})...)))
			return err
		},
		"links without a kind": func() error {
			_, err := decodeLinks(key, sealed(key, nil))
			return err
		},
		"links that grow": func() error {
			_, err := decodeLinks(key, sealed(key, append([]byte{linksS2}, bomb...)))
			return err
		},
		"a chunk of half a key": func() error {
			return openedFresh(make([]byte, 3), whole)
		},
		"half a chunk": func() error {
			return openedFresh(make([]byte, freshKeyLen), whole[:8])
		},
		"other bits": func() error {
			return openedFresh(make([]byte, freshKeyLen), bits)
		},
		"another record": func() error {
			return openedFresh(make([]byte, freshKeyLen), record)
		},
		"a chunk of a newer kind": func() error {
			return openedFresh(make([]byte, freshKeyLen), version)
		},
		"a chunk of no records": func() error {
			return openedFresh(make([]byte, freshKeyLen), freshOf(chunk(0)))
		},
		"a chunk of 65 records": func() error {
			v := freshOf(chunk(65, make([]byte, 65)...))
			return openedFresh(make([]byte, freshKeyLen), v)
		},
		"a record behind its chunk": func() error {
			if rec := chunk(1, 9, 'x').At(0); rec != nil {
				return fmt.Errorf("read %q", rec)
			}
			return ErrCorrupt
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := func() (err error) {
			defer func() {
				if why := recover(); why != nil {
					err = fmt.Errorf("panic: %v", why)
				}
			}()
			return decode()
		}()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, timequeue.ErrDamaged) {
			t.Errorf("%s: %v", sentence, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 24<<20 {
			t.Errorf("%s: took %d MB", sentence, took>>20)
		}
	}
	h := HostRecord{}
	for i := range 10 * MaxErrors {
		h.CountError(fmt.Sprint("word", i), 1)
	}
	if len(h.Errors) != MaxErrors {
		t.Errorf("a host counts by %d words", len(h.Errors))
	}
}

// TestPositionsOfLiarsEndNothing: positions come back from slaves.
func TestPositionsOfLiarsEndNothing(t *testing.T) {
	p, err := Open(filepath.Join(t.TempDir(), "p000.db"), forgeOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const waiting, other, queued, visited = "http://a.example/1", "http://a.example/2", "http://a.example/3",
		"http://a.example/4"
	b := NewBatch(forgedAt)
	for _, url := range []string{waiting, other} {
		b.Admit(Candidate{URL: url, DepthLeft: 1})
	}
	for _, url := range []string{queued, visited} {
		b.Visit(Visited{Page: Page{URL: url, Status: 200, Next: forgedAt.Add(time.Hour)}})
	}
	if _, err := p.Commit(b); err != nil {
		t.Fatal(err)
	}
	at := map[string]Position{}
	fresh, err := p.Fresh.Of(IDOf("http://a.example"), nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := p.Pages.Visited(nil, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(fresh.Entries, entries...) {
		at[e.Page.URL] = e.Position
	}
	change := func(p Position, do func(Position)) Position {
		p = bytes.Clone(p)
		do(p)
		return p
	}
	last := len(at[waiting]) - 1
	lies := map[string]Position{
		"another page's that waits":  at[other],
		"another page's, visited":    at[visited],
		"a record behind the last":   change(at[waiting], func(p Position) { p[last] = 9 }),
		"a record behind 64":         change(at[waiting], func(p Position) { p[last] = 200 }),
		"another chunk":              change(at[waiting], func(p Position) { p[last-1]++ }),
		"another host":               change(at[waiting], func(p Position) { p[1]++ }),
		"half":                       at[waiting][:last/2],
		"one byte":                   at[waiting][:1],
		"one byte more":              append(bytes.Clone(at[waiting]), 0),
		"another kind":               change(at[waiting], func(p Position) { p[0] = 'x' }),
		"the kind of the queue":      change(at[waiting], func(p Position) { p[0] = kindQueue }),
		"a level that is none":       change(at[queued], func(p Position) { p[5] = 9 }),
		"another slot":               change(at[queued], func(p Position) { p[1] ^= 1 }),
		"another generation":         change(at[queued], func(p Position) { p[9]++ }),
		"a record behind the slot":   change(at[queued], func(p Position) { p[len(p)-1] = 200 }),
		"a record behind every slot": change(at[queued], func(p Position) { p[len(p)-4] = 200 }),
	}
	for _, url := range []string{waiting, queued} {
		for sentence, lie := range lies {
			for name, put := range map[string]func(*Batch, Page){
				"visit": func(b *Batch, page Page) { b.Visit(Visited{Page: page, Position: lie}) },
				"retry": func(b *Batch, page Page) { b.Visit(Visited{Page: page, Position: lie, Retry: true}) },
				"move":  func(b *Batch, page Page) { b.Move(lie, page) },
				"drop":  func(b *Batch, page Page) { b.Drop(lie, page) },
			} {
				b := NewBatch(forgedAt)
				put(b, Page{URL: url, Status: 200, Next: forgedAt.Add(2 * time.Hour)})
				out, err := p.Commit(b)
				if err != nil || out.Replayed != 1 || out.Visited != 0 {
					t.Errorf("%s of %s at the position of %s: %+v, %v", name, url, sentence, out, err)
				}
			}
		}
	}
	for _, lie := range lies {
		if _, err := p.Pages.At(lie); err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("at %x: %v", lie, err)
		}
		if _, _, err := p.Due(forgedAt.Add(3*time.Hour), lie, 10); err != nil {
			t.Errorf("due behind %x: %v", lie, err)
		}
		if _, err := p.Fresh.Of(IDOf("http://a.example"), lie, 10); err != nil {
			t.Errorf("waiting behind %x: %v", lie, err)
		}
	}
	for url, position := range at {
		if e, err := p.Pages.At(position); err != nil || e.Page.URL != url {
			t.Errorf("%s is not at its position any more: %+v, %v", url, e, err)
		}
	}
	if s, err := p.Stats(); err != nil || s.Waiting != 2 || s.Visited != 2 || s.Queued != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	// A position that the page has left: it waits elsewhere.
	b = NewBatch(forgedAt)
	b.Move(at[other], Page{URL: other, DepthLeft: 1, Band: 1})
	if _, err := p.Commit(b); err != nil {
		t.Fatal(err)
	}
	b = NewBatch(forgedAt)
	b.Visit(Visited{Page: Page{URL: other, Status: 200, Next: forgedAt.Add(time.Hour)}, Position: at[other]})
	if out, err := p.Commit(b); err != nil || out.Replayed != 1 {
		t.Errorf("a position that was left: %+v, %v", out, err)
	}
	// One of an order that came twice.
	for i, replayed := range []int{0, 1} {
		b := NewBatch(forgedAt)
		b.Visit(Visited{Page: Page{URL: waiting, Status: 200, Next: forgedAt.Add(time.Hour)}, Position: at[waiting]})
		if out, err := p.Commit(b); err != nil || out.Replayed != replayed {
			t.Errorf("time %d: %+v, %v", i, out, err)
		}
	}
}
