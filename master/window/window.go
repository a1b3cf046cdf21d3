// Package window decides at which hours a crawl may ask hosts for pages.
//
// A Window is days of the week and a span of the day, by the clock of a time zone: "Mon-Fri 22:00-06:00 Asia/Tokyo".
// A span that ends before it begins goes on into the next day: in this example the night of Friday ends on Saturday at
// six. When clocks are put forward or back, the time that a clock on the wall shows counts.
package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // machines without zones: Windows, and an image from nothing
)

// Window is one span of hours.
type Window struct {
	text     string
	days     [7]bool // on which it opens, Sunday first
	from, to int     // minutes of the day; to is not in it, and may be 24·60
	zone     *time.Location
}

// ErrWindow is returned for what is no window.
var ErrWindow = errors.New(`want days, hours and a time zone: "Mon-Fri 22:00-06:00 Asia/Tokyo", ` +
	`"Sat,Sun 00:00-24:00 Europe/Berlin" or "daily 01:00-05:00 UTC"`)

var names = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Parse reads a window.
func Parse(text string) (Window, error) {
	w := Window{text: text}
	words := strings.Fields(text)
	if len(words) != 3 {
		return w, ErrWindow
	}
	if !w.setDays(strings.ToLower(words[0])) {
		return w, fmt.Errorf("%q are no days: %w", words[0], ErrWindow)
	}
	if !w.setHours(words[1]) {
		return w, fmt.Errorf("%q are no hours: %w", words[1], ErrWindow)
	}
	var err error
	if w.zone, err = time.LoadLocation(words[2]); err != nil || words[2] == "Local" {
		return w, fmt.Errorf("%q is no time zone: %w", words[2], ErrWindow)
	}
	return w, nil
}

// Daily reads hours that are the same each day, such as 22:00-07:00.
func Daily(hours string, zone *time.Location) (Window, error) {
	w := Window{text: hours, zone: zone}
	if !w.setDays("daily") || !w.setHours(hours) {
		return w, fmt.Errorf("%q are no hours: want 22:00-07:00", hours)
	}
	return w, nil
}

// setHours reads a span of the day.
func (w *Window) setHours(text string) bool {
	from, to, ok := strings.Cut(text, "-")
	var ok1, ok2 bool
	w.from, ok1 = minuteOf(from)
	w.to, ok2 = minuteOf(to)
	return ok && ok1 && ok2 && w.from != w.to && w.from != day
}

// setDays reads daily, or days and spans of days with commas between them.
func (w *Window) setDays(text string) bool {
	if text == "daily" {
		text = "sun-sat"
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		from, to := slices.Index(names[:], first), slices.Index(names[:], last)
		if from < 0 || to < 0 {
			return false
		}
		for d := from; ; d = (d + 1) % 7 {
			w.days[d] = true
			if d == to {
				break
			}
		}
	}
	return true
}

const day = 24 * 60

// minuteOf reads 22:00; 24:00 is the end of a day.
func minuteOf(text string) (int, bool) {
	if text == "24:00" {
		return day, true
	}
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err == nil
}

// String is the window as it was written.
func (w Window) String() string { return w.text }

// contains reports whether a moment lies in the window.
func (w *Window) contains(at time.Time) bool {
	local := at.In(w.zone)
	minute, today := local.Hour()*60+local.Minute(), int(local.Weekday())
	if w.from < w.to {
		return w.days[today] && minute >= w.from && minute < w.to
	}
	return w.days[today] && minute >= w.from || w.days[(today+6)%7] && minute < w.to
}

// Hours are windows: they are open when one of these is. Without any they are always open.
type Hours []Window

// Open reports whether the hours are open at a moment.
func (h Hours) Open(at time.Time) bool {
	return len(h) == 0 || slices.ContainsFunc(h, func(w Window) bool { return w.contains(at) })
}

// Turn is the first minute after a moment at which the hours open, or close if they are open then. The zero time: they
// never do, as when windows cover the whole week.
func (h Hours) Turn(at time.Time) time.Time {
	open := h.Open(at)
	// Since 1972 zones differ by whole minutes. Eight days have every turn: a week, and a day for a change of clocks.
	next := at.Truncate(time.Minute)
	for range 8 * day {
		if next = next.Add(time.Minute); h.Open(next) != open {
			return next
		}
	}
	return time.Time{}
}
