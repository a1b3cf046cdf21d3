package slave

import (
	"hash/maphash"
	"strings"
)

// once tells which of the things of a page came before, by their indexes among those that its owner keeps. Go's map
// takes as long to be emptied as it is large, and stays as large as the largest page: where some pages have thousands
// of links that was 1.3 % of a crawl.
type once struct {
	slots []slot // open addressing; a power of two of them, at most half of them in use
	turn  uint32 // slots of another are empty
	count int
}

type slot struct {
	turn uint32
	hash uint32
	at   int32
}

// leastSlots is how many slots there are at first: an ordinary page has some 100 links.
const leastSlots = 256

var hashSeed = maphash.MakeSeed()

// hashOf is the hash of a text and a kind.
func hashOf(text string, kind byte) uint32 {
	return uint32(maphash.String(hashSeed, text)) ^ uint32(kind)*0x9e3779b1
}

// reset forgets all things.
func (o *once) reset() {
	o.count = 0
	if o.turn++; o.turn == 0 {
		*o = once{turn: 1}
	}
}

// add notes a thing, unless one that is the same was noted since the last reset.
func (o *once) add(hash uint32, at int, same func(before int) bool) bool {
	if 2*o.count >= len(o.slots) {
		o.grow()
	}
	for i := int(hash); ; i++ {
		s := &o.slots[i&(len(o.slots)-1)]
		switch {
		case s.turn != o.turn:
			*s = slot{o.turn, hash, int32(at)}
			o.count++
			return true
		case s.hash == hash && same(int(s.at)):
			return false
		}
	}
}

func (o *once) grow() {
	before := o.slots
	o.slots, o.count = make([]slot, max(leastSlots, 2*len(before))), 0
	if o.turn == 0 { // of a slot that was never used
		o.turn = 1
	}
	for _, s := range before {
		if s.turn == o.turn {
			o.add(s.hash, int(s.at), func(int) bool { return false })
		}
	}
}

// withoutFragment is what a reference leads to. What stands before the fragment may end in space that would stand at
// the end then, where it counts for nothing.
func withoutFragment(raw string) string {
	if i := strings.IndexByte(raw, '#'); i == 0 || i > 0 && raw[i-1] > ' ' {
		return raw[:i]
	}
	return raw
}
