package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// bbolt trusts the pages of its file. One that leads back to a page above it is followed until the stack or the memory
// ends, which no recover catches; a length that is wrong is read beyond the file. So a file is looked through before it
// is used: every page that a tree reaches is reached once, its elements lie within it and are in order, and no page of
// a tree is in the list of free pages. Values are not judged; they carry checksums of their own. A file that is as the
// last close left it was looked through before that, and is not again.
//
// Trees are followed level by level, the pages of a level in the order of the file, so that the disk reads forward.
// Memory is some 32 bytes for each page of the widest level.

// The layout of bbolt's pages: header id8 ‖ flags2 ‖ count2 ‖ overflow4, then elements of 16 bytes: pos4 ‖ ksize4 ‖
// child8 on a branch, flags4 ‖ pos4 ‖ ksize4 ‖ vsize4 on a leaf, pos counted from the element. A bucket is root8 ‖
// sequence8, with a page of its own behind it if the root is 0.
const (
	pageHead     = 16
	pageElement  = 16
	bucketHead   = 16
	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10
	noFreelist   = math.MaxUint64
	bboltMagic   = 0xED0CDAED
	bboltVersion = 2
)

// meta is one of the two meta pages: behind the page header magic4 ‖ version4 ‖ page size4 ‖ flags4 ‖ root8 ‖
// sequence8 ‖ freelist8 ‖ pages8 ‖ transaction8 ‖ FNV-1a of all that.
type meta struct {
	size                          int64 // of a page
	root, freelist, pages, number uint64
}

const metaLen = pageHead + 64

func parseMeta(page []byte) (m meta, ok bool) {
	b := page[pageHead:]
	sum := fnv.New64a()
	sum.Write(b[:56])
	if binary.LittleEndian.Uint32(b) != bboltMagic || binary.LittleEndian.Uint32(b[4:]) != bboltVersion ||
		binary.LittleEndian.Uint64(b[56:]) != sum.Sum64() {
		return m, false
	}
	m = meta{int64(binary.LittleEndian.Uint32(b[8:])), binary.LittleEndian.Uint64(b[16:]),
		binary.LittleEndian.Uint64(b[32:]), binary.LittleEndian.Uint64(b[40:]), binary.LittleEndian.Uint64(b[48:])}
	return m, m.size >= 512 && m.size <= 1<<16 && m.pages < 1<<40
}

// readMeta finds the meta page that bbolt uses: the valid one of the later transaction.
func readMeta(f io.ReaderAt) (newest meta, err error) {
	err = fmt.Errorf("no meta page is whole: %w", ErrCorrupt)
	for at := int64(0); at <= 1<<16; at = max(512, 2*at) { // the first, or the second behind a page of any size
		var page [metaLen]byte
		if _, err := f.ReadAt(page[:], at); err != nil {
			break
		}
		m, ok := parseMeta(page[:])
		if !ok || at != 0 && at != m.size {
			continue
		}
		id, flags := binary.LittleEndian.Uint64(page[:]), binary.LittleEndian.Uint16(page[8:])
		if id != uint64(min(at, 1)) || flags != metaPage {
			return m, fmt.Errorf("a meta page claims to be page %d of kind %#x: %w", id, flags, ErrCorrupt)
		}
		if err != nil || m.number > newest.number {
			newest, err = m, nil
		}
	}
	return newest, err
}

// Inspect looks through the pages of a file of bbolt that is not part of a state, under its lock, for which it waits so
// long. bbolt itself panics or reads beyond the file where one is damaged, also in goroutines of its own. A damaged
// file is ErrCorrupt, one that another process holds ErrInUse; one that is not there, or is empty, is sound.
func Inspect(path string, lockTimeout time.Duration) (err error) {
	doing := "look through " + path
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer rescue(doing, &err)
	return diagnose(doing, inspect(path, &bbolt.Options{Timeout: lockTimeout, ReadOnly: true}, true))
}

// inspect looks through the pages of a file, under its lock; always: also if it is as the last close left it.
func inspect(path string, lock *bbolt.Options, always bool) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil // to be created
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	db, err := bbolt.Open(path, 0o644, lock)
	if errors.Is(err, berrors.ErrTimeout) {
		return err
	}
	if err == nil {
		defer db.Close()
	}
	info, gone := f.Stat()
	m, failed := readMeta(f)
	if failed = errors.Join(gone, failed); failed != nil {
		return failed
	}
	if int64(m.pages)*m.size > info.Size() {
		return fmt.Errorf("cut off at %d of %d bytes: %w", info.Size(), int64(m.pages)*m.size, ErrCorrupt)
	}
	if err != nil {
		return err
	}
	if closed, ok := closedIn(filepath.Dir(path))[filepath.Base(path)]; ok && !always && closed == closedOf(info, m) {
		return nil
	}
	w := &pageWalk{meta: m, file: f, reached: make([]uint64, m.pages/64+1)}
	return w.walk()
}

// branchTo is a page to be looked at, and what the first bytes of its keys may be.
type branchTo struct {
	page   uint64
	lo, hi uint64
}

// pageWalk follows the trees of one file.
type pageWalk struct {
	meta
	file    io.ReaderAt
	reached []uint64 // a bit for each page
	next    []branchTo

	window   []byte // of the file
	windowAt int64
}

// windowLen is how much is read at once.
const windowLen = 1 << 18

func (w *pageWalk) walk() error {
	for page := range uint64(2) {
		w.reached[0] |= 1 << page // the meta pages
	}
	w.next = []branchTo{{w.root, 0, math.MaxUint64}}
	for len(w.next) > 0 {
		level := w.next
		w.next = nil
		slices.SortFunc(level, func(a, b branchTo) int { return cmp.Compare(a.page, b.page) })
		for _, to := range level {
			if err := w.node(to); err != nil {
				return fmt.Errorf("page %d: %w", to.page, err)
			}
		}
	}
	if w.freelist == noFreelist {
		return nil
	}
	if err := w.free(); err != nil {
		return fmt.Errorf("list of free pages, page %d: %w", w.freelist, err)
	}
	return nil
}

// claim notes that a page has been reached, which happens once.
func (w *pageWalk) claim(page uint64) error {
	if page < 2 || page >= w.pages {
		return fmt.Errorf("there is no page %d: %w", page, ErrCorrupt)
	}
	if w.reached[page/64]>>(page%64)&1 != 0 {
		return fmt.Errorf("page %d has a second use: %w", page, ErrCorrupt)
	}
	w.reached[page/64] |= 1 << (page % 64)
	return nil
}

// read claims a page with those that continue it, and returns their bytes.
func (w *pageWalk) read(page uint64) ([]byte, error) {
	if err := w.claim(page); err != nil {
		return nil, err
	}
	b, err := w.bytes(page, 1)
	if err != nil {
		return nil, err
	}
	more := uint64(binary.LittleEndian.Uint32(b[12:]))
	if id := binary.LittleEndian.Uint64(b); id != page {
		return nil, fmt.Errorf("it claims to be page %d: %w", id, ErrCorrupt)
	}
	for i := range more {
		if err := w.claim(page + 1 + i); err != nil {
			return nil, err
		}
	}
	return w.bytes(page, more+1)
}

// bytes reads some pages; they are valid until the next call.
func (w *pageWalk) bytes(page, count uint64) ([]byte, error) {
	at, n := int64(page)*w.size, int64(count)*w.size
	if at < w.windowAt || at+n > w.windowAt+int64(len(w.window)) {
		length := min(max(n, windowLen), int64(w.pages)*w.size-at)
		w.window = slices.Grow(w.window[:0], int(length))[:length]
		w.windowAt = at
		if _, err := w.file.ReadAt(w.window, at); err != nil {
			w.window = w.window[:0]
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return w.window[at-w.windowAt:][:n], nil
}

// node looks at a page of a tree.
func (w *pageWalk) node(to branchTo) error {
	b, err := w.read(to.page)
	if err != nil {
		return err
	}
	return w.elements(b, to, false)
}

// elements looks at the elements of a branch or a leaf, and notes the pages to which they lead. A page within a value
// leads nowhere.
func (w *pageWalk) elements(b []byte, to branchTo, within bool) error {
	flags, count := binary.LittleEndian.Uint16(b[8:]), int(binary.LittleEndian.Uint16(b[10:]))
	branch := flags == branchPage
	switch {
	case !branch && flags != leafPage, branch && (within || count == 0):
		return fmt.Errorf("its kind is %#x, with %d elements: %w", flags, count, ErrCorrupt)
	case pageHead+count*pageElement > len(b):
		return fmt.Errorf("%d elements do not fit: %w", count, ErrCorrupt)
	}
	var last []byte
	for i := range count {
		e := b[pageHead+i*pageElement:]
		if branch { // as an element of a leaf, with the child at its end
			e = append([]byte{0, 0, 0, 0}, e[:16]...)
		}
		kind, pos := binary.LittleEndian.Uint32(e), uint64(binary.LittleEndian.Uint32(e[4:]))
		keyLen, valueLen := uint64(binary.LittleEndian.Uint32(e[8:])), uint64(0)
		if !branch {
			valueLen = uint64(binary.LittleEndian.Uint32(e[12:]))
		}
		start := uint64(pageHead+i*pageElement) + pos
		if kind > 1 || keyLen == 0 || start < uint64(pageHead+count*pageElement) ||
			start+keyLen+valueLen > uint64(len(b)) {
			return fmt.Errorf("element %d does not lie in it: %w", i, ErrCorrupt)
		}
		key, value := b[start:start+keyLen], b[start+keyLen:start+keyLen+valueLen]
		if i > 0 && bytes.Compare(last, key) >= 0 || prefix(key) < to.lo || prefix(key) > to.hi {
			return fmt.Errorf("element %d is not in order: %w", i, ErrCorrupt)
		}
		switch {
		case branch:
			if i > 0 {
				w.next[len(w.next)-1].hi = prefix(key)
			}
			w.next = append(w.next, branchTo{binary.LittleEndian.Uint64(e[12:]), prefix(key), to.hi})
		case kind == 1:
			if err := w.bucket(value, within); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		last = key
	}
	return nil
}

// prefix is the first eight bytes of a key as a number that is ordered as keys are.
func prefix(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// bucket looks at the value of a bucket.
func (w *pageWalk) bucket(value []byte, within bool) error {
	if within || len(value) < bucketHead {
		return fmt.Errorf("no bucket: %w", ErrCorrupt)
	}
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		w.next = append(w.next, branchTo{root, 0, math.MaxUint64})
		return nil
	}
	if len(value) < bucketHead+pageHead {
		return fmt.Errorf("no page in the bucket: %w", ErrCorrupt)
	}
	return w.elements(value[bucketHead:], branchTo{0, 0, math.MaxUint64}, true)
}

// free looks at the list of free pages: each is one, once, and in no tree.
func (w *pageWalk) free() error {
	b, err := w.read(w.meta.freelist)
	if err != nil {
		return err
	}
	count, ids := uint64(binary.LittleEndian.Uint16(b[10:])), b[pageHead:]
	if count == 1<<16-1 { // the true count is the first entry
		count, ids = binary.LittleEndian.Uint64(ids), ids[8:]
	}
	if flags := binary.LittleEndian.Uint16(b[8:]); flags != freelistPage || count > uint64(len(ids)/8) {
		return fmt.Errorf("its kind is %#x, with %d entries: %w", flags, count, ErrCorrupt)
	}
	for i := range count {
		if err := w.claim(binary.LittleEndian.Uint64(ids[8*i:])); err != nil {
			return err
		}
	}
	return nil
}
