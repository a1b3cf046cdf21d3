// Package timeline shows the versions of an archived page as points on a line of time, each with what it brought.
package timeline

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/report/brought"
	"henro/store/report/changes"
	"henro/store/report/looks"
)

// Bounds of one timeline.
const (
	most      = 50              // versions
	rows      = 20              // lines of what one brought
	rowBytes  = 2 << 10         // of one of them
	told      = 2_000           // changes in which it is looked for
	textBytes = 1 << 20         // of versions that are compared here
	within    = 2 * time.Second // for all that are compared here
)

// Timeline is that of the captures of one page that have a year, the latest version first, and at most 50.
type Timeline struct {
	Versions []Version
	Earlier  int // versions that are not shown

	year   int
	before *cdxj.Entry // the latest version of any year
}

// Version is a capture whose content is not that of the one before it.
type Version struct {
	At      time.Time
	Status  int
	Percent float64       // of the line, where its point is: 0 is the first that is shown, 100 the last
	First   bool          // there is no capture before it
	Brought []brought.Row // the text that went and came; none: it is as before, or cannot be compared
	Cut     bool          // there is more
	Looks   []looks.Look  // where a browser took pictures, and it looked otherwise

	entry, before cdxj.Entry
}

// New is the timeline of a year, without captures.
func New(year int) *Timeline { return &Timeline{year: year} }

// Add takes the next capture of the page, in the order of their moments, those of other years too.
func (l *Timeline) Add(e *cdxj.Entry) {
	if isSame(l.before, e) {
		return
	}
	if v := (Version{At: e.At, Status: e.Status, First: l.before == nil, entry: *e}); e.At.Year() == l.year {
		if l.before != nil {
			v.before = *l.before
		}
		if l.Versions = append(l.Versions, v); len(l.Versions) > most {
			l.Versions, l.Earlier = l.Versions[1:], l.Earlier+1
		}
	}
	l.before = e
}

// End says what each version brought, once all captures were added: what was told of it (henro feed, henro watch),
// which leaves noise out; where nothing was, texts are compared, within two seconds.
func (l *Timeline) End(a *captures.Archive, u weburl.URL) error {
	known, err := changes.Recent(filepath.Join(filepath.Dir(filepath.Clean(a.Dir())), changes.Folder), told)
	if err != nil {
		return err
	}
	if err := l.look(a, u); err != nil {
		return err
	}
	turned := make([]Version, 0, len(l.Versions))
	end := time.Now().Add(within)
	for i := len(l.Versions) - 1; i >= 0; i-- {
		v := &l.Versions[i]
		v.Percent = percent(v.At, l.Versions[0].At, l.Versions[len(l.Versions)-1].At)
		if v.Brought = brought.By(known, u.String(), v.At); v.Brought == nil && !v.First && time.Now().Before(end) {
			v.Brought = compare(a, v)
		}
		v.bound()
		turned = append(turned, *v)
	}
	l.Versions = turned
	return nil
}

// isSame reports whether a capture has the content of the one before it.
func isSame(before, e *cdxj.Entry) bool {
	return before != nil && (e.Digest == before.Digest || e.Mime == cdxj.Revisit && e.Digest == "")
}

// percent is how far a moment is from the first to the last.
func percent(at, first, last time.Time) float64 {
	if !last.After(first) {
		return 100
	}
	return 100 * float64(at.Sub(first)) / float64(last.Sub(first))
}

// compare compares the texts of a version and the one before it. Of what is no page there is none.
func compare(a *captures.Archive, v *Version) []brought.Row {
	var text [2]string
	for i, e := range []cdxj.Entry{v.before, v.entry} {
		page, err := pagetext.Read(a, e)
		if err != nil {
			return nil
		}
		text[i] = page.Sentences()
		text[i] = strings.ToValidUTF8(text[i][:min(len(text[i]), textBytes)], "")
	}
	return brought.Rows(udiff.Unified("", "", text[0], text[1]))
}

// bound cuts what is too long to be shown.
func (v *Version) bound() {
	if len(v.Brought) > rows {
		v.Brought, v.Cut = v.Brought[:rows], true
	}
	for i := range v.Brought {
		for _, l := range []*brought.Line{&v.Brought[i].Went, &v.Brought[i].Came} {
			for _, part := range []*string{&l.Begin, &l.Middle, &l.End} {
				if len(*part) > rowBytes {
					*part, v.Cut = strings.ToValidUTF8((*part)[:rowBytes], "")+"…", true
				}
			}
		}
	}
}
