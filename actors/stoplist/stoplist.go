// Package stoplist decides which folders of a host are left alone because nothing is to be had there.
//
// The thesis that henro follows puts a URL on its stop list once it was missing, redirected or very slow, and then
// skips everything under the same folder. One dead link in a folder of a thousand pages is enough for that, so here a
// folder needs evidence: MinBroken pages in a row that were broken, without one good page between them, and more of
// them the more good pages the folder had before. A broken page counts for its own folder, a third of it for the folder
// above, a ninth for the one above that: so a folder of folders falls only when several of its folders have. With ten
// failures and no success, the share of good pages is below 26 % at a confidence of 95 %.
//
// A page of which the host says that all is well, but whose text it has given under many other URLs already, is broken
// too: that is how a host without a proper 404 looks, or a calendar of empty months. (Asking each host for a URL that
// cannot exist would tell the former sooner; it costs a request to every host, and says nothing about folders with an
// answer of their own.)
//
// Nothing stays on the list for good. An entry holds for FirstSpan; then its folder is on probation, where a third of
// the evidence puts it back for four times as long, and one good page takes it off.
//
// The rule of the thesis can be chosen: MinBroken 1.
//
// Invariants: one broken page never stops anything, and a good page takes every folder above it off the list, both but
// under the rule of the thesis; the root of a host is never listed by what was seen, since whether a host is asked at
// all is decided by persons; memory of one List is bounded by Options, its entries by maxListed too.
package stoplist

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"henro/messages/speech"
	"henro/store/fingerprint"
)

// Outcome is what one visit says about the folder of its page.
type Outcome uint8

// The outcomes.
const (
	Silent  Outcome = iota // nothing: a redirect, a page that needs a password, a host that asks for patience
	Good                   // there was a page
	Missing                // there is none: 404, 410
	Failing                // the host cannot make it: 500, an answer that is not HTTP, a connection that breaks
	Slow                   // it does not come in time
	Alike                  // a page as under many other URLs: Saw finds this itself
	Moved                  // redirected: broken by the rule of the thesis, silent by that of henro
)

var words = [...]string{Silent: "silent", Good: "good", Missing: "missing", Failing: "failing", Slow: "slow",
	Alike: "alike", Moved: "moved"}

// String returns the word that an Entry has for its reason.
func (o Outcome) String() string { return words[o] }

// Options say how much evidence a folder needs.
type Options struct {
	// MinBroken is how many pages in a row must be broken; 0 switches the list off. 10: see the package comment. 1 is
	// the rule of the thesis: each broken page lists its folder at once, whatever good pages there are, and no other.
	MinBroken int
	// MaxAlike is under how many URLs a host may give the same text before that is no page any more; 0: any number. 8:
	// a page has its few aliases, an error has thousands.
	MaxAlike int
	// FirstSpan is how long an entry holds at first, MaxSpan how long at most. A day, 64 days: four rounds.
	FirstSpan, MaxSpan time.Duration
	// MaxFolders bounds the folders of one host that are watched, and those that are listed. 512: some 20 kB.
	MaxFolders int
}

// DefaultOptions are the defaults named at the fields.
func DefaultOptions() Options {
	return Options{MinBroken: 10, MaxAlike: 8, FirstSpan: 24 * time.Hour, MaxSpan: 64 * 24 * time.Hour, MaxFolders: 512}
}

// Validate says what makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.MinBroken < 0 || o.MaxAlike < 0:
		return errors.New("evidence for the stop list: want 1 broken page or more, 0 for no list, and no negative " +
			"number of pages alike")
	case o.FirstSpan <= 0 || o.MaxSpan < o.FirstSpan || o.MaxFolders < 1:
		return fmt.Errorf("spans of the stop list %v to %v, %d folders: want more than nothing, and the longest last",
			o.FirstSpan, o.MaxSpan, o.MaxFolders)
	}
	return nil
}

// Thesis reports that the rule of the thesis applies.
func (o *Options) Thesis() bool { return o.MinBroken == 1 }

// Entry is one folder that is left alone, or a whole host.
type Entry struct {
	Prefix   string    `json:"prefix"`   // of its URLs, ending in "/"
	Reason   string    `json:"reason"`   // an Outcome, or that a person has excluded the host
	Evidence string    `json:"evidence"` // in words
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"` // from then on it is on probation; zero: for good
	Rounds   int       `json:"rounds"`         // how often it was listed in a row
}

// holds reports whether its URLs are left alone now.
func (e *Entry) holds(now time.Time) bool { return e.Until.IsZero() || now.Before(e.Until) }

// Words of evidence, as they are kept.
const (
	brokenInARow = "%.0f broken pages in a row, the last %s (%s)"
	ByPerson     = "excluded by a person"
)

// Says is the evidence of an entry for people.
func Says(evidence string) speech.Sentence { return speech.Heard(evidence, brokenInARow, ByPerson) }

// Visit is what came of one visit.
type Visit struct {
	URL     string // canonical
	Outcome Outcome
	Main    uint64 // fingerprint of a good page's text at its first visit; 0: none, or it is known
}

// evidence is what is known of one folder.
type evidence struct {
	broken float32 // pages since the last good one, of folders below by their weight
	good   uint8   // pages, up to mostGood
}

// mostGood is the standing that a folder can have: it takes up to ten times MinBroken to lose it.
const mostGood = 9

// levels is how many folders a broken page counts for: a fifth would get an eightieth of it.
const levels = 4

// List is the stop list of one host with the evidence for it. The zero value is an empty list.
type List struct {
	watched map[uint64]evidence // by fingerprint of the prefix
	entries []Entry             // sorted by Prefix
	texts   texts
	changes Changes // since they were marshalled
}

// Entries are the folders on the list, those on probation too, in order. They are not to be changed.
func (l *List) Entries() []Entry { return l.entries }

// Put puts an entry on the list, in the place of an earlier one.
func (l *List) Put(e Entry) {
	l.changes |= Listed
	i, found := l.find(e.Prefix)
	if found {
		l.entries[i] = e
		return
	}
	l.entries = slices.Insert(l.entries, i, e)
}

func (l *List) find(prefix string) (int, bool) {
	return slices.BinarySearchFunc(l.entries, prefix, func(e Entry, p string) int { return cmp.Compare(e.Prefix, p) })
}

// Stopped finds the entry for which a URL is not to be visited now.
func (l *List) Stopped(url string, now time.Time) (Entry, bool) {
	if len(l.entries) == 0 {
		return Entry{}, false
	}
	if l.Excluded(now) {
		return l.entries[0], true
	}
	for folder := range above(url) {
		if i, found := l.find(folder); found && l.entries[i].holds(now) {
			return l.entries[i], true
		}
	}
	return Entry{}, false
}

// Excluded reports whether the host as a whole is on the list, which only a person does: its root, the first of all
// prefixes.
func (l *List) Excluded(now time.Time) bool {
	return len(l.entries) > 0 && strings.Count(l.entries[0].Prefix, "/") == 3 && l.entries[0].holds(now)
}

// Remove takes an entry off the list.
func (l *List) Remove(prefix string) {
	if i, found := l.find(prefix); found {
		l.entries = slices.Delete(l.entries, i, i+1)
		l.changes |= Listed
	}
}

// Prefixes are the folders that are left alone now: what a slave is sent, which follows links without this list.
func (l *List) Prefixes(now time.Time) []string {
	var prefixes []string
	for i := range l.entries {
		if l.entries[i].holds(now) {
			prefixes = append(prefixes, l.entries[i].Prefix)
		}
	}
	return prefixes
}

// Saw learns from a visit, and returns what that turned out to be.
func (l *List) Saw(o *Options, v Visit, now time.Time) Outcome {
	if o.MinBroken == 0 || v.Outcome == Silent {
		return v.Outcome
	}
	if o.Thesis() {
		l.listFolder(o, v, now)
		return v.Outcome
	}
	if v.Outcome == Good && v.Main != 0 && o.MaxAlike > 0 && l.texts.count(v.Main) > o.MaxAlike {
		v.Outcome = Alike
	}
	l.changes |= Slight
	if v.Outcome == Good {
		l.praise(o, v.URL)
	} else {
		l.note(o, v, now)
	}
	return v.Outcome
}

// listFolder lists the folder of a broken page, unless it is listed: the rule of the thesis.
func (l *List) listFolder(o *Options, v Visit, now time.Time) {
	if _, stopped := l.Stopped(v.URL, now); v.Outcome == Good || stopped {
		return
	}
	for folder := range above(v.URL) {
		l.list(o, folder, 1, v, now)
		break
	}
}

// praise notes a good page in the folders above it.
func (l *List) praise(o *Options, url string) {
	for folder := range above(url) {
		key := fingerprint.URL(folder)
		w := l.watched[key]
		l.watch(o, key, evidence{good: min(w.good+1, mostGood)})
		l.Remove(folder)
	}
}

// note counts a broken page in the folders above it, and lists those of which it is the last straw. What lies below a
// listed folder is not listed beside it.
func (l *List) note(o *Options, v Visit, now time.Time) {
	l.changes |= Grave
	weight, level := float32(1), 0
	over, stopped := l.Stopped(v.URL, now)
	for folder := range above(v.URL) {
		key := fingerprint.URL(folder)
		w := l.watched[key]
		w.broken += weight
		if v.Outcome == Alike && w.good > 0 {
			w.good-- // the first pages with this text were no better
		}
		need := float32(o.MinBroken * (1 + int(w.good)))
		if _, known := l.find(folder); stopped && len(folder) >= len(over.Prefix) {
			need = 0 // a page that was on its way when its folder was listed
		} else if known {
			need = max(2, float32(o.MinBroken)/3)
		}
		if need > 0 && w.broken >= need-0.01 { // sums of thirds
			l.clearBelow(folder)
			l.list(o, folder, w.broken, v, now)
			w = evidence{}
		}
		l.watch(o, key, w)
		if level++; level >= levels {
			break
		}
		weight /= 3
	}
}

// clearBelow takes entries below a folder off the list.
func (l *List) clearBelow(folder string) {
	before := len(l.entries)
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool {
		return e.Prefix != folder && strings.HasPrefix(e.Prefix, folder)
	})
	if len(l.entries) < before {
		l.changes |= Listed
	}
}

// span is how long an entry holds in its n-th round.
func (o *Options) span(round int) time.Duration {
	span := o.FirstSpan
	for ; round > 1 && span < o.MaxSpan; round-- {
		span *= 4
	}
	return min(span, o.MaxSpan)
}

// maxListed bounds the bytes of prefixes and evidence, since all entries of a host are written when one changes. 512
// entries have some 80 kB; with the longest URLs there is room for some 30.
const maxListed = 128 << 10

// list puts a folder on the list, or keeps it there for longer, unless the list is full.
func (l *List) list(o *Options, folder string, broken float32, v Visit, now time.Time) {
	e := Entry{Prefix: folder, Reason: v.Outcome.String(), At: now, Rounds: 1,
		Evidence: fmt.Sprintf(brokenInARow, broken, v.Outcome, v.URL)}
	others, size := 0, len(e.Prefix)+len(e.Evidence)
	for i := range l.entries {
		if other := &l.entries[i]; other.Prefix == folder {
			e.Rounds += other.Rounds
		} else {
			others++
			size += len(other.Prefix) + len(other.Evidence)
		}
	}
	e.Until = now.Add(o.span(e.Rounds))
	if others < o.MaxFolders && size <= maxListed {
		l.Put(e)
	}
}

// watch remembers a folder. When there are too many, those that are not suspected are forgotten, and if that is none,
// all.
func (l *List) watch(o *Options, key uint64, w evidence) {
	if l.watched == nil {
		l.watched = map[uint64]evidence{}
	}
	if _, known := l.watched[key]; !known && len(l.watched) >= o.MaxFolders {
		maps.DeleteFunc(l.watched, func(_ uint64, other evidence) bool { return other.broken == 0 })
		if len(l.watched) >= o.MaxFolders {
			clear(l.watched)
		}
	}
	l.watched[key] = w
}

// above yields the folders of a URL from the innermost to the one below the root, each with the slash at its end.
func above(url string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		end := len(url)
		if i := strings.IndexAny(url, "?#"); i >= 0 {
			end = i
		}
		host := strings.Index(url, "://")
		if host < 0 {
			return
		}
		root := strings.IndexByte(url[host+3:end], '/')
		if root < 0 {
			return
		}
		root += host + 3
		for {
			slash := strings.LastIndexByte(url[:end], '/')
			if slash <= root || !yield(url[:slash+1]) {
				return
			}
			end = slash
		}
	}
}
