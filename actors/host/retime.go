package host

import (
	"time"

	"henro/actors/alias"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/store"
)

// intervalFeature are the intervals that persons have set for pages of the host. Their note is written with the order.
type intervalFeature struct {
	defaults
	schedule *schedule
}

// IntervalsNote is the name of their note.
const IntervalsNote = "rules"

func (r *intervalFeature) Name() string              { return IntervalsNote }
func (r *intervalFeature) Restore(note []byte) error { return r.schedule.rules.UnmarshalBinary(note) }

// takeOrdered carries out what a person orders. The answer comes when it is on disk, or at once if it cannot be done.
func (b *Book) takeOrdered(m *protocol.Ordered) error {
	switch order := m.Order.(type) {
	case *protocol.SetExcluded:
		b.exclude(order, m.Reply)
	case *alias.Decision:
		b.second.takeOrder(order, m.Reply)
	case *protocol.SetURLRule:
		return b.rules.set(order, m.Reply)
	case *protocol.Retime:
		w, rules, err := Retime(order, b.schedule.rules, b.o.Revisit, b.now)
		if err != nil {
			return err
		}
		b.schedule.rules = rules
		w.Sweeps[0].Reply = m.Reply
		b.write(w)
	}
	return nil
}

// Retime returns what follows from an order: the rules of the host after it, and what is to be written.
func Retime(order *protocol.Retime, before revisit.FixedIntervals, timetable revisit.Options, now time.Time) (
	w *protocol.Write, after revisit.FixedIntervals, err error) {
	w = &protocol.Write{Urgent: true, Sweeps: []protocol.Sweep{{
		Moves: func(page *store.Page) bool {
			o := *order
			if every := after.Of(page.URL); every > 0 { // of the most exact rule
				o.Every, o.Auto = every, false
			}
			return retimed(page, &o, &timetable, now)
		}}}}
	if order.Now {
		return w, before, nil
	}
	after, err = before.With(revisit.FixedInterval{Pages: order.Pages, Every: order.Every})
	if err != nil {
		return nil, nil, err
	}
	note, err := after.MarshalBinary()
	w.Notes = []protocol.Note{{Host: order.Pages.Host(), Name: IntervalsNote, Bytes: note}}
	return w, after, err
}

// retimed moves the next visit of a known page as a person has ordered, and reports whether it moves. A page that is
// due is left alone: it may be lent, and follows at its visit.
//
// The interval in its record stays as it is until then, so that the load index remains the sum over the records.
func retimed(page *store.Page, order *protocol.Retime, timetable *revisit.Options, now time.Time) bool {
	if page.Flags&store.Dropped != 0 || page.LastVisit.IsZero() || !page.Next.IsZero() && !page.Next.After(now) ||
		!order.Pages.Matches(page.URL) {
		return false
	}
	interval := order.Every
	switch history := revisit.History(page.Timing); {
	case order.Now:
		page.Next = now.Truncate(time.Second) // as the store keeps it, so that it moves only once
		return true
	case page.Next.IsZero():
		return false
	case order.Auto:
		interval = time.Duration(timetable.Aim * float64(timetable.Estimate(&history)))
		if interval <= 0 {
			return false
		}
		interval = min(max(interval, timetable.Min), timetable.Max)
	}
	next := page.LastVisit.Add(interval)
	if next.Before(now) {
		next = now
	}
	next = next.Truncate(time.Second)
	if !next.Before(page.Next.Add(-time.Second)) && !next.After(page.Next.Add(time.Second)) {
		return false
	}
	page.Next = next
	return true
}
