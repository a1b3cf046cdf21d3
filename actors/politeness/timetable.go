package politeness

import (
	"time"

	"henro/actors/revisit"
	"henro/actors/template"
)

// Timetable is what the pages of one host ask for: how many there are, how often each is visited, and how far what
// foretells their changes can be believed. It is the part of a State that the schedule of the host keeps.
type Timetable struct {
	load  Load
	pages uint64 // known pages and requisites of pages, those without a timetable included
	// of these, requisites that are no pages by themselves
	requisites uint64
	// rates counts the pages by their change rates: what relief and the prior of new pages need.
	rates revisit.Rates
	trust revisit.Trust // how far those foretell

	hints    revisit.Claims // of its sitemaps and feeds
	modified revisit.Claims // of its Last-Modified
	recall   revisit.Claims // of the changes found, which its sitemaps, feeds and notices had announced
	told     revisit.Claims // of notices of its pages
	foretold revisit.Claims // of the changes found since there are notices, which notices had announced

	late uint64 // share of the visits of late, in 2⁻¹⁶, that came later than an interval after their time

	groups *template.Groups // of its pages by the shapes of their URLs; nil: not asked for by the relief
}

// AddPage counts a known page that is visited so often; 0 for a page without a timetable yet.
func (t *Timetable) AddPage(every time.Duration) {
	t.pages++
	if every > 0 {
		t.load.Add(every)
	}
}

// RemovePage takes back a page that was added, or re-timed, with the same interval.
func (t *Timetable) RemovePage(every time.Duration) {
	if t.pages > 0 {
		t.pages--
	}
	if every > 0 {
		t.load.Remove(every)
	}
}

// Retime changes the interval of a page; 0 stands for none.
func (t *Timetable) Retime(old, new time.Duration) {
	if old == new {
		return
	}
	if new > 0 {
		t.load.Add(new)
	}
	if old > 0 {
		t.load.Remove(old)
	}
}

// Rates gives access to the histogram of change rates: move a page's estimate in it whenever it changes.
func (t *Timetable) Rates() *revisit.Rates { return &t.rates }

// Trust gives access to the track record of the estimates: let it see what every visit found.
func (t *Timetable) Trust() *revisit.Trust { return &t.trust }

// Groups gives access to the groups of its pages; nil: there are none.
func (t *Timetable) Groups() *template.Groups { return t.groups }

// Group has its pages grouped from now on, or no more.
func (t *Timetable) Group(asked bool, now time.Time) {
	if !asked {
		t.groups = nil
	} else if t.groups == nil {
		t.groups = template.New(now)
	}
}

// Hints gives access to the track record of the host's sitemaps and feeds.
func (t *Timetable) Hints() *revisit.Claims { return &t.hints }

// Recall gives access to the record of the changes found: which of them the host's sitemaps, feeds and notices
// had announced.
func (t *Timetable) Recall() *revisit.Claims { return &t.recall }

// Told gives access to the track record of notices of the host's pages (POST /api/changed).
func (t *Timetable) Told() *revisit.Claims { return &t.told }

// Foretold gives access to the record of the changes found since there are notices: which of them notices had
// announced.
func (t *Timetable) Foretold() *revisit.Claims { return &t.foretold }

// Modified gives access to the track record of its Last-Modified.
func (t *Timetable) Modified() *revisit.Claims { return &t.modified }

// Demand returns what the pages ask for, for Relieve.
func (t *Timetable) Demand(o *revisit.Options) Demand {
	known := t.rates.Pages()
	return Demand{Rates: &t.rates, Unknown: max(0, int(t.pages)-known), Center: t.rates.Prior().Center(o),
		Trust: t.trust.Share(), Aim: o.Aim, Min: o.Min, Max: o.Max, Objective: o.Objective, Groups: t.groups}
}

// Asked returns what the timetable asks for without relief, and what that captures.
func (t *Timetable) Asked(o *revisit.Options) Cost {
	demand := t.Demand(o)
	return Price(demand, Plan{Min: demand.Min, Max: demand.Max})
}

// Wanted returns the visits per second that the pages want: what the timetable asks for without relief, which L of a
// relieved host does not tell any more, or L, if persons have had pages visited more often.
func (t *Timetable) Wanted(o *revisit.Options) float64 { return max(t.Asked(o).Load, t.Load()) }

// Kept notes whether a visit of a known page came no later than its interval after its time. Some 32 visits count.
func (t *Timetable) Kept(kept bool) {
	if t.late -= t.late / lateMemory; !kept {
		t.late += lateOne / lateMemory
	}
}

const lateOne, lateMemory = 1 << 16, 32

// Late returns the share of visits of late that came later than an interval of their page after their time.
func (t *Timetable) Late() float64 { return float64(t.late) / lateOne }

// Load returns the load index L, in visits per second.
func (t *Timetable) Load() float64 { return t.load.PerSecond() }

// Known returns the number of known pages and requisites.
func (t *Timetable) Known() uint64 { return t.pages }

// Pages returns the number of known pages, their requisites left out.
func (t *Timetable) Pages() uint64 { return t.pages - min(t.pages, t.requisites) }

// CountRequisites says that so many more of the known pages are requisites, or so many less.
func (t *Timetable) CountRequisites(more int) {
	t.requisites = uint64(max(0, int64(t.requisites)+int64(more)))
}

// Upper returns 1/L, the longest interval that still meets the timetable.
func (t *Timetable) Upper() time.Duration { return t.load.Upper() }
