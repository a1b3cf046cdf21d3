// Package lacks remembers what pages lacked when their scripts were run, so that they are run again once something of
// it has come, and no more once it will not.
package lacks

import "slices"

const (
	maxPages = 4096
	// maxEver bounds what a page may lack, one thing after the other as when it is scrolled, while it is shown again
	// and again.
	maxEver = 200
)

// Book is what was lacked, by page. The zero value is empty. It is not for use by several goroutines at once.
type Book struct{ pages map[uint64]lack }

type lack struct {
	now, ever []string // URLs: the last time; each time
	since     uint16   // the attempt that went on
}

// Note notes what a page lacks, and reports that it is stuck: something of it was lacked before, too much was, or the
// page asks again for nothing of what it lacked the last time, as one that asks by lot. Of 4,096 pages it is known; of
// others it is as if they were shown for the first time.
func (b *Book) Note(page uint64, missing []string, again func(url string) bool) (stuck bool) {
	if b.pages == nil {
		b.pages = map[uint64]lack{}
	}
	was := b.pages[page]
	ever := was.ever
	if delete(b.pages, page); len(missing) > 0 && len(b.pages) < maxPages {
		b.pages[page] = lack{missing, slices.Concat(ever, missing), was.since}
	}
	before := func(url string) bool { return slices.Contains(ever, url) }
	return len(ever) >= maxEver || slices.ContainsFunc(missing, before) ||
		len(was.now) > 0 && !slices.ContainsFunc(was.now, again)
}

// Now is what a page lacked when it was shown last: until something of it has come it would be shown as before.
func (b *Book) Now(page uint64) []string { return b.pages[page].now }

// Went notes that an attempt to show a page brought it further.
func (b *Book) Went(page uint64, attempt uint16) {
	if l, known := b.pages[page]; known {
		l.since = attempt
		b.pages[page] = l
	}
}

// Vain is how many attempts came after the one that brought a page further.
func (b *Book) Vain(page uint64, attempt uint16) uint16 {
	return attempt - min(attempt, b.pages[page].since)
}
