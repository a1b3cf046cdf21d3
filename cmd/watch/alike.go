package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"go.etcd.io/bbolt"

	"henro/store/archive/cdxj"
	"henro/store/report/news"
)

// alike counts the visits that found pages as they were, for the pages that are like them. An update that reaches page
// after page is known by those: most visits found no change, while noise is there at each. What came since a template
// learnt last is counted, in slots of time that grow wider as there are more of them.
type alike struct {
	db    *bbolt.DB
	of    map[uint64]*unchanged // by template
	size  int                   // templates and slots
	width time.Duration         // of a slot
	url   string                // that was counted last
	its   *unchanged
}

// unchanged are the visits that found pages of a template as they were.
type unchanged struct {
	since time.Time // what was before is in the record
	slots []slot
	mixed bool // not in the order of time
}

type slot struct {
	at     int64 // in widths since 1970
	visits int
}

// Bounds of what is counted: about 7 MB, and ten years.
const (
	maxSlots = 200_000
	widest   = 10 * 365 * 24 * time.Hour
)

func newAlike(db *bbolt.DB) *alike {
	return &alike{db: db, of: map[uint64]*unchanged{}, width: time.Second}
}

func (a *alike) add(e *cdxj.Entry) {
	if a.its == nil || a.url != e.URL {
		a.url, a.its = e.URL, a.template(xxhash.Sum64String(templateOf(e.URL)))
	}
	if !e.At.After(a.its.since) {
		return
	}
	u, at := a.its, e.At.UnixNano()/int64(a.width)
	if last := len(u.slots) - 1; last >= 0 && u.slots[last].at == at {
		u.slots[last].visits++
		return
	} else if last >= 0 && u.slots[last].at > at {
		u.mixed = true
	}
	u.slots = append(u.slots, slot{at, 1})
	if a.size++; a.size > maxSlots {
		a.widen()
	}
}

func (a *alike) template(key uint64) *unchanged {
	u := a.of[key]
	if u == nil {
		u = &unchanged{}
		_ = a.db.View(func(tx *bbolt.Tx) error { // it fails where all is closed, and nobody asks any more
			u.since = load(tx, 1, key, news.NewTemplate())
			return nil
		})
		a.of[key] = u
		a.size++
	}
	return u
}

// widen makes slots wider until they are half as many. Where that does not help, all is forgotten.
func (a *alike) widen() {
	for a.size > maxSlots/2 {
		if a.width *= 2; a.width > widest {
			*a = *newAlike(a.db)
			return
		}
		a.size = len(a.of)
		for _, u := range a.of {
			for i := range u.slots {
				u.slots[i].at /= 2
			}
			u.order()
			a.size += len(u.slots)
		}
	}
}

// order has each slot once, in the order of time.
func (u *unchanged) order() {
	slices.SortFunc(u.slots, func(a, b slot) int { return cmp.Compare(a.at, b.at) })
	kept := u.slots[:0]
	for _, s := range u.slots {
		if n := len(kept); n > 0 && kept[n-1].at == s.at {
			kept[n-1].visits += s.visits
		} else {
			kept = append(kept, s)
		}
	}
	u.slots, u.mixed = kept, false
}

// take returns how many visits of a template there were until a moment. Each is returned once.
func (a *alike) take(key uint64, until time.Time) (visits int) {
	u := a.of[key]
	if u == nil {
		return 0
	}
	if u.mixed {
		a.size -= len(u.slots)
		u.order()
		a.size += len(u.slots)
	}
	for len(u.slots) > 0 && u.slots[0].at <= until.UnixNano()/int64(a.width) {
		visits += u.slots[0].visits
		u.slots = u.slots[1:]
		a.size--
	}
	return visits
}
