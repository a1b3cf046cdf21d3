package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"henro/actors/floor"
	"henro/master"
	"henro/master/lending"
)

// nowView is how the crawl goes.
type nowView struct {
	Figures   []figure
	Errors    []errorRow
	Failed    uint64 // of all errors since the crawl began
	Mailboxes []floor.Row
	Idle      *idleness
	Day       bool // the chart shows a day instead of ten minutes
	Pages     []float64
	Peak      float64 // of Pages
	Depth     int     // of seeds, unless another is given
	Whole     *surveyed[wholeView]
}

// figure is one number at the head of the page, with what it was lately.
type figure struct {
	Key, Number, Unit string
	Note              string
	Spark             []float64
	Tone              string // of the drawing: a class
}

// errorRow is one reason for which visits fail.
type errorRow struct {
	Reason string
	Lately uint64 // in the last minute
	All    uint64
	Share  float64 // of the largest
	Latest master.FailedVisit
}

// rateOver is the span that rates at the head of the page are of: shorter ones jump.
const rateOver = 5 * time.Second

// sparkSpan is what the small drawings show.
const sparkSpan = 2 * time.Minute

const (
	errorsShown    = 8
	mailboxesShown = 6
)

func (d *Dashboard) now(r *http.Request, p *page) (any, error) {
	v := &nowView{Day: r.URL.Query().Get("range") == "day", Depth: d.crawl.Options().Depth, Whole: d.whole.look()}
	s := p.Status
	if s == nil {
		return v, nil
	}
	w := p.words
	rate, _ := d.history.lately(rateOver)
	_, errors := d.history.lately(time.Minute)
	recent := d.history.after(p.Now.Add(-sparkSpan), false)
	pick := func(of func(Sample) float64) []float64 {
		values := make([]float64, len(recent))
		for i := range recent {
			values[i] = of(recent[i])
		}
		return values
	}
	bytes, unit, _ := strings.Cut(size(uint64(rate.Bytes)), " ")
	failed := sum(errors)
	v.Figures = []figure{
		{Key: "pages", Number: decimal(rate.Pages), Unit: w.t("unit.pages"),
			Note:  w.t("note.pages", n(s.Totals.Visits())),
			Spark: pick(func(s Sample) float64 { return s.Pages }), Tone: "one"},
		{Key: "bytes", Number: bytes, Unit: unit + w.t("unit.per.second"),
			Note: w.t("note.bytes", size(s.Totals.Bytes)), Spark: pick(func(s Sample) float64 { return s.Bytes }),
			Tone: "one"},
		{Key: "waiting", Number: n(s.Waiting), Unit: w.t("unit.urls"), Note: w.t("note.waiting", n(s.Known)),
			Spark: pick(func(s Sample) float64 { return float64(s.Waiting) }), Tone: "two"},
		{Key: "errors", Number: n(failed), Unit: w.t("unit.minute"), Note: w.t("note.errors", n(sum(s.Totals.Errors))),
			Spark: pick(func(s Sample) float64 { return s.Errors }), Tone: "bad"},
	}
	v.Errors, v.Failed = errorRows(s, errors), sum(s.Totals.Errors)
	v.Mailboxes = longest(d.crawl.Actors(mailboxesShown), s.Slaves)
	v.Idle = idle(w, s, rate.Pages, p.Now)
	for _, sample := range d.history.after(time.Time{}, v.Day) {
		v.Pages = append(v.Pages, sample.Pages)
		v.Peak = max(v.Peak, sample.Pages)
	}
	return v, nil
}

// longest are the longest mailboxes of all nodes. Of a slave the longest of each kind is known, and by how many actors.
func longest(rows []floor.Row, slaves []lending.SlaveStatus) []floor.Row {
	for _, slave := range slaves {
		for _, kind := range slave.Mailboxes {
			if kind.Longest > 0 {
				rows = append(rows, floor.Row{Actor: slave.Name + ": " + kind.Kind, Queue: kind.Longest,
					Taken: kind.Taken})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b floor.Row) int { return cmp.Compare(b.Queue, a.Queue) })
	return rows[:min(len(rows), mailboxesShown)]
}

// errorRows are the most frequent reasons.
func errorRows(s *master.Status, lately map[string]uint64) []errorRow {
	rows := make([]errorRow, 0, len(s.Totals.Errors))
	for reason, count := range s.Totals.Errors {
		rows = append(rows, errorRow{Reason: reason, All: count, Lately: lately[reason],
			Latest: s.Failures[reason]})
	}
	slices.SortFunc(rows, func(a, b errorRow) int {
		return cmp.Or(cmp.Compare(b.All, a.All), cmp.Compare(a.Reason, b.Reason))
	})
	rows = rows[:min(len(rows), errorsShown)]
	for i := range rows {
		rows[i].Share = float64(rows[i].All) / float64(rows[0].All)
	}
	return rows
}

// idleness is why nothing is fetched, and what to do about it.
type idleness struct {
	Key   string    // of the catalogue
	Value string    // in it
	At    time.Time // when it goes on, if that is known
	Bad   bool      // somebody should act
}

// idle says why a crawl that should run fetches nothing; nil when it does, or need not.
func idle(w *words, s *master.Status, rate float64, now time.Time) *idleness {
	seen := 0
	for _, slave := range s.Slaves {
		if slave.Slots > 0 || slave.Leases > 0 {
			seen++
		}
	}
	switch {
	case !s.Stalled.IsZero() && s.Stalls == nil:
		return &idleness{Key: "idle.stalled", Value: w.say(s.Stalled), Bad: true}
	case !s.Stalled.IsZero():
		return &idleness{Key: "idle.quiet", Value: w.say(s.Stalled), Bad: true}
	case s.State == master.Paused:
		return &idleness{Key: "idle.paused"}
	case s.State == master.Deposed:
		return &idleness{Key: "idle.deposed", Bad: true}
	case s.State == master.Closed:
		return &idleness{Key: "idle.closed", At: s.Opens}
	case s.State != master.Running || rate > 0 || s.Seconds < 5:
		return nil
	case len(s.Slaves) == 0:
		return &idleness{Key: "idle.slaves", Bad: true}
	case s.Leases > 0:
		return &idleness{Key: "idle.lent", Value: n(s.Leases)}
	case !s.NextReady.IsZero() && s.NextReady.After(now):
		return &idleness{Key: "idle.resting", At: s.NextReady}
	case s.Waiting == 0 && s.Due == 0 && s.Queued > 0:
		return &idleness{Key: "idle.due"}
	case s.Waiting == 0 && s.Queued == 0:
		return &idleness{Key: "idle.empty"}
	case s.Ready > 0 && seen == 0:
		return &idleness{Key: "idle.full"}
	}
	return &idleness{Key: "idle.unknown"}
}
