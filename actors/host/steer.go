package host

import (
	"time"

	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/store"
)

// Retimed moves the next visit of a known page as a person has ordered, and reports whether it moves. A page that is
// due is left alone: it may be lent, and follows at its visit.
//
// The interval in its record stays as it is until then, so that the load index remains the sum over the records.
func Retimed(page *store.Page, order *protocol.Retime, now time.Time) bool {
	if page.Flags&store.Dropped != 0 || page.LastVisit.IsZero() || !page.Next.IsZero() && !page.Next.After(now) ||
		!order.Pages.Matches(page.URL) {
		return false
	}
	interval := order.Every
	switch history := revisit.History(page.Timing); {
	case order.Now:
		page.Next = now.Truncate(time.Second) // as the store keeps it: moved once
		return true
	case page.Next.IsZero():
		return false
	case order.Auto:
		o := &order.Timetable
		if interval = time.Duration(o.Aim * float64(o.Estimate(&history))); interval <= 0 {
			return false
		}
		interval = min(max(interval, o.Min), o.Max)
	}
	next := later(page.LastVisit.Add(interval), now).Truncate(time.Second)
	if !next.Before(page.Next.Add(-time.Second)) && !next.After(page.Next.Add(time.Second)) {
		return false
	}
	page.Next = next
	return true
}
