package news

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/bits"
	"slices"
)

// Record is what is remembered of the changes of a page, or of those of all pages of a template: under which keys
// something was replaced, and how often. It is bounded: the keys that changed least are forgotten for new ones.
type Record struct {
	visits uint32 // at which something was compared, or nothing had changed
	marks  []mark // in the order of their keys
	room   int
}

// How many keys a record has.
const (
	ofPage     = 96
	ofTemplate = 384
)

// NewRecord is the record of a page of which nothing is known.
func NewRecord() *Record { return &Record{room: ofPage} }

// NewTemplate is that of a template, or of a site.
func NewTemplate() *Record { return &Record{room: ofTemplate} }

// mark is what is remembered of one key.
type mark struct {
	key   uint64
	first uint32 // number of the visit at which it changed first
	times uint32 // visits at which it has changed
	pages uint8  // a sketch of the pages on which it has
	again uint8  // of those on which it has more than once
	said  verdict
}

// verdict is what a reader has said of a key.
type verdict byte

const (
	silent    verdict = iota
	dismissed         // it is noise
	kept              // it is news, whatever the record says
)

// Limits from which on changes under a key are noise: how often they have been seen, and at which share of the visits
// since they were seen first. Chosen on the half of .ci/lab/watch that is for choosing. What has changed once on each
// page of a template may be an update of the site: it is noise only at nearly all visits, OnceShare of them. What
// comes, goes and comes back needs a smaller share, ToggleShare, and on several pages of a template SharedShare.
type Limits struct {
	PageTimes, TemplateTimes, Pages, Toggles                      int
	PageShare, TemplateShare, OnceShare, ToggleShare, SharedShare float64
}

// DefaultLimits are those that the lab chose.
func DefaultLimits() Limits {
	return Limits{PageTimes: 2, TemplateTimes: 4, Pages: 3, Toggles: 3, PageShare: 0.6, TemplateShare: 0.3,
		OnceShare: 0.7, ToggleShare: 0.35, SharedShare: 0.15}
}

func (r *Record) find(key uint64) (int, bool) {
	return slices.BinarySearchFunc(r.marks, key, func(m mark, k uint64) int {
		switch {
		case m.key < k:
			return -1
		case m.key > k:
			return 1
		}
		return 0
	})
}

// Visited notes visits at which the page was as before.
func (r *Record) Visited(n int) { r.visits += uint32(min(max(n, 0), 1<<20)) }

// learn notes what was replaced at a visit of a page. own is the record of the page, before this visit.
func (r *Record) learn(c *Change, page uint64, own *Record) {
	r.visits++
	replaced, exact := c.replaced()
	for key := range replaced {
		r.note(key, page, own.mark(key).times > 0)
	}
	for key := range exact { // of a template only what has come and gone on one page
		if r.room == ofPage {
			r.note(key, page, false)
		} else if own.mark(key).times > 0 {
			r.note(key, page, true)
		}
	}
	if r.visits > 1<<16 { // what was long ago counts less
		r.visits /= 2
		for i := range r.marks {
			r.marks[i].times, r.marks[i].first = (r.marks[i].times+1)/2, r.marks[i].first/2
		}
	}
}

func (r *Record) note(key, page uint64, again bool) {
	i, known := r.find(key)
	if !known {
		if len(r.marks) >= r.room && !r.forget() {
			return
		}
		i, _ = r.find(key)
		r.marks = slices.Insert(r.marks, i, mark{key: key, first: r.visits})
	}
	r.marks[i].times++
	bit := uint8(1) << (mix(page, 7) >> 61)
	if r.marks[i].pages |= bit; again {
		r.marks[i].again |= bit
	}
}

// forget makes room: it forgets the key that changed least often for its age, never one of which a reader has spoken.
func (r *Record) forget() bool {
	least, at := 2.0, -1
	for i := range r.marks {
		m := &r.marks[i]
		if share := m.share(r.visits); m.said == silent && m.first < r.visits && share < least {
			least, at = share, i
		}
	}
	if at >= 0 {
		r.marks = slices.Delete(r.marks, at, at+1)
	}
	return at >= 0
}

// share is at which share of the visits since it changed first it has; a visit more, so that once is not always.
func (m *mark) share(visits uint32) float64 { return float64(m.times) / float64(visits-m.first+2) }

// Judge says of each block that changed whether it is noise, by the records of the page and of its template, and then
// has them learn from it. page is any number that is the same for the page; template may be nil. At a visit of which
// the records know already, learning again counts it twice.
func Judge(c *Change, page uint64, own, template *Record, l Limits) {
	for i := range c.Blocks {
		b := &c.Blocks[i]
		b.Noise = c.why(b, own, template, &l)
	}
	if template != nil {
		template.learn(c, page, own)
	}
	own.learn(c, page, own)
}

// reasons are those of keys.all.
var reasons = [...]Why{Shape, Place, Place, Toggles}

func (c *Change) why(b *Changed, own, template *Record, l *Limits) (why Why) {
	for j, key := range b.keys.all() {
		if key == 0 {
			continue
		}
		if j == 1 {
			if of := c.places[key]; 2*of.changed < of.all {
				continue
			}
		}
		times, share := l.PageTimes, l.PageShare
		if j == 3 {
			times, share = l.Toggles, l.ToggleShare
		}
		switch m := own.mark(key); {
		case m.said == kept:
			return ""
		case m.said == dismissed:
			why = Dismissed
		case why == "" && int(m.times) >= times && m.share(own.visits) >= share:
			why = reasons[j]
		}
		if template == nil {
			continue
		}
		switch m := template.mark(key); {
		case m.said == kept:
			return ""
		case m.said == dismissed:
			why = Dismissed
		case why == "" && int(m.times) >= l.TemplateTimes && m.isNoise(float64(template.visits+1), j == 3, l):
			why = reasons[j]
		}
	}
	return why
}

// isNoise reports whether what changed on pages of a template, at so many visits, is noise. toggles: it is the same
// text that comes and goes.
func (m *mark) isNoise(visits float64, toggles bool, l *Limits) bool {
	share := float64(m.times) / visits
	if toggles {
		return share >= l.SharedShare && bits.OnesCount8(m.again) >= l.Pages
	}
	return share >= l.TemplateShare && bits.OnesCount8(m.again) >= l.Pages ||
		share >= l.OnceShare && bits.OnesCount8(m.pages) >= l.Pages
}

func (r *Record) mark(key uint64) mark {
	if i, known := r.find(key); known {
		return r.marks[i]
	}
	return mark{}
}

// Dismiss notes that a reader holds what changed for noise; Keep, that it is news. Each is undone by the other, and
// both hold until then, on all pages of a template if the record is one.
func (r *Record) Dismiss(c *Change) { r.say(c, dismissed) }

// Keep notes that a reader holds what changed for news. See Dismiss.
func (r *Record) Keep(c *Change) { r.say(c, kept) }

func (r *Record) say(c *Change, v verdict) {
	for i := range c.Blocks {
		for j, key := range c.Blocks[i].keys.all() {
			if of := c.places[key]; key == 0 || j == 1 && 2*of.changed < of.all {
				continue
			}
			r.note(key, 0, false)
			if at, known := r.find(key); known {
				r.marks[at].said = v
			}
		}
	}
}

// Adopt has a record hold what another of the same page does: all of it, or else what a reader has said alone. What was
// said here stays where nothing was said there. It reports whether that changes anything.
func (r *Record) Adopt(o *Record, all bool) bool {
	was := r.Append(nil)
	from := o.marks
	if all {
		from, r.visits, r.marks = r.marks, o.visits, slices.Clone(o.marks)
	}
	for _, m := range from {
		if m.said == silent {
			continue
		}
		i, known := r.find(m.key)
		switch {
		case known && r.marks[i].said == silent:
			r.marks[i].said = m.said
		case !known && (len(r.marks) < r.room || r.forget()):
			i, _ = r.find(m.key)
			m.first = min(m.first, r.visits)
			r.marks = slices.Insert(r.marks, i, m)
		}
	}
	return !bytes.Equal(was, r.Append(nil))
}

// The form of a record: version1 ‖ crc4 ‖ visits uv ‖ marks × (key8 ‖ first uv ‖ times uv ‖ pages1 ‖ again1 ‖ said1).
const recordVersion = 1

// ErrRecord is returned for bytes that are no record of a page, or none of a template.
var ErrRecord = errors.New("no record of what changes on a page: it is damaged, or of another henro")

// Append writes the record behind b.
func (r *Record) Append(b []byte) []byte {
	begin := len(b)
	b = append(b, recordVersion, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(r.visits))
	for i := range r.marks {
		m := &r.marks[i]
		b = binary.LittleEndian.AppendUint64(b, m.key)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(m.first)), uint64(m.times))
		b = append(b, m.pages, m.again, byte(m.said))
	}
	binary.LittleEndian.PutUint32(b[begin+1:], crc32.Checksum(b[begin+5:], castagnoli))
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Parse reads what Append wrote, in a record that NewRecord or NewTemplate made.
func (r *Record) Parse(b []byte) error {
	if len(b) < 6 || b[0] != recordVersion || binary.LittleEndian.Uint32(b[1:]) != crc32.Checksum(b[5:], castagnoli) {
		return ErrRecord
	}
	b = b[5:]
	next := func() uint32 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > 1<<31 {
			b = nil
			return 0
		}
		b = b[size:]
		return uint32(n)
	}
	visits, marks := next(), []mark(nil)
	for len(b) > 0 {
		if len(marks) >= r.room || len(b) < 8 {
			return ErrRecord
		}
		m := mark{key: binary.LittleEndian.Uint64(b)}
		b = b[8:]
		m.first, m.times = next(), next()
		if len(b) < 3 || m.first > visits || len(marks) > 0 && marks[len(marks)-1].key >= m.key || b[2] > byte(kept) {
			return ErrRecord
		}
		m.pages, m.again, m.said = b[0], b[1], verdict(b[2])
		marks, b = append(marks, m), b[3:]
	}
	r.visits, r.marks = visits, marks
	return nil
}
