package reading

import (
	"fmt"
	"net/http"
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/speech"
	"henro/store"
)

// Schedule is a host's timetable as its actor sees it.
type Schedule struct {
	Interval  time.Duration `json:"interval_ns"` // I: least time between two requests
	Load      float64       `json:"load"`        // L, visits per second
	Asked     float64       `json:"asked"`       // L as it were without relief
	Bears     float64       `json:"bears"`       // visits of known pages per second that there is time for
	R         float64       `json:"r,omitempty"` // (1/L)/max e, 0 while it is not known
	Verdict   string        `json:"verdict"`     // on what is asked for without relief
	Relief    string        `json:"relief"`
	Captured  float64       `json:"captured"` // share of versions, expected
	Latest    time.Duration `json:"latest_ns"`
	Mean      time.Duration `json:"mean_ns"`
	Worst     time.Duration `json:"worst_ns"`
	Failures  int           `json:"failures"`
	Dead      bool          `json:"dead"`
	RestUntil time.Time     `json:"rest_until,omitzero"`

	Groups []Group `json:"groups,omitempty"` // of its pages, with --relief template

	ails Ailment
}

// Group is the pages of a host whose URLs have one shape.
type Group struct {
	Shape           string        `json:"shape"`
	Pages           int           `json:"pages"`           // that are visited again
	Representatives int           `json:"representatives"` // of these, that keep their timetable: the mean of a sample
	Every           time.Duration `json:"every_ns"`        // a page changes, by what is believed of the group
	Visits          uint64        `json:"visits"`
	Errors          float64       `json:"errors"`     // share of the visits
	Duplicates      float64       `json:"duplicates"` // share of the visits
	News            float64       `json:"news"`       // links to what no page had named before, a visit
}

// groupsOf are the groups of a host's pages under a plan.
func groupsOf(s *politeness.State, o *revisit.Options, plan politeness.Plan) (all []Group) {
	center := s.Timetable.Rates().Prior().Center(o)
	for _, g := range s.Timetable.Groups().All() {
		visits := float64(max(1, g.Visits))
		all = append(all, Group{Shape: g.Shape, Pages: int(g.Pages), Representatives: g.Representatives(plan.Sample),
			Every: g.Center(center), Visits: g.Visits, Errors: float64(g.Errors) / visits,
			Duplicates: float64(g.Duplicates) / visits, News: float64(g.News) / visits})
	}
	return all
}

// explainHost says why a host is asked when it is, in one sentence a line.
func explainHost(h *store.HostRecord, m *Settings, now time.Time) (*Schedule, []speech.Sentence, error) {
	s, err := Politeness(h)
	if err != nil {
		return nil, nil, err
	}
	o := &m.Politeness
	latest, mean, worst := s.Took()
	demand := s.Timetable.Demand(&m.Revisit)
	asked := s.Timetable.Asked(&m.Revisit)
	verdict := s.Judge(o, s.Timetable.Wanted(&m.Revisit), h.Waiting > 0)
	kind, err := politeness.ParseRelief(m.Relief)
	if err != nil {
		return nil, nil, err
	}
	capacity := s.Spare(o)
	plan, cost := politeness.Relieve(kind, demand, capacity)
	out := &Schedule{
		Interval: s.Interval(o), Load: s.Timetable.Load(), Asked: asked.Load, Bears: capacity,
		Verdict: verdict.String(), Relief: plan.Relief.String(),
		Captured: cost.Share(), Latest: latest, Mean: mean, Worst: worst, Failures: s.Failures(), Dead: s.Dead(),
		RestUntil: s.BackoffUntil(), ails: Ails(h, s, m.Continuous), Groups: groupsOf(s, &m.Revisit, plan),
	}
	if s.Timetable.Load() > 0 && worst > 0 {
		out.R = s.R()
	}
	var says []speech.Sentence
	over := h.Waiting == 0 && h.GivenUp > 0 && !m.Continuous
	if !out.ails.IsZero() {
		says = append(says, speech.Say("It failed %s ago: %s.", now.Sub(h.Failure.At), out.ails.String()))
	}
	switch {
	case over:
		says = append(says, speech.Say("Nothing is asked of it any more: %d of its pages were given up.", h.GivenUp))
		return out, says, nil
	case h.NextAllowed.After(now):
		says = append(says, speech.Say("It may be asked again in %s.", h.NextAllowed.Sub(now)))
	default:
		says = append(says, speech.Say("It may be asked now."))
	}
	says = append(says, speech.Say("It gets %s.", s.Explain(o, verdict)))
	if n := s.Parallel(); n > 1 {
		says = append(says, speech.Say("Since its operator consents, up to %d requests may be under way at once.", n))
	}
	if out.RestUntil.After(now) && !out.RestUntil.Before(h.NextAllowed) && !s.Dead() {
		says = append(says,
			speech.Say("It rests for another %s: each failure doubles the rest, each success forgives half of them.",
				out.RestUntil.Sub(now)))
	}
	if s.Dead() && !s.LastOK().IsZero() {
		says = append(says, speech.Say("It last answered %s ago.", now.Sub(s.LastOK())))
	}
	switch {
	case len(h.Robots) == 0 && !h.AskedAt.IsZero():
		says = append(says,
			speech.Say("Its robots.txt could not be fetched, which forbids all else: it is asked for first."))
	case len(h.Robots) == 0:
		says = append(says, speech.Say("Its robots.txt was not asked for yet: that comes first."))
	case !h.RobotsUntil.After(now):
		says = append(says, speech.Say("Its robots.txt is old: the next lease begins with it."))
	}
	if !m.Continuous {
		return out, says, nil
	}
	if hints := s.Timetable.Hints(); hints.Judged() > 0 {
		heeded := speech.Say("so pages that they name come sooner")
		if !hints.Believed() {
			heeded = speech.Say("so only two pages of a reading come sooner, in case that changes")
		}
		says = append(says, speech.Say("What its sitemaps and feeds say of changes is right with a chance of %.2f, %s.",
			hints.Chance(), heeded))
	}
	if told := s.Timetable.Told(); told.Judged() > 0 {
		says = append(says, speech.Say("What was told of changes of its pages is right with a chance of %.2f, and "+
			"%.0f %% of the changes found were told: the more, the less often its sitemaps and feeds are read.",
			told.Chance(), 100*s.Timetable.Foretold().Chance()))
	}
	if h.Waiting > 0 && s.Timetable.Load() > 0 {
		says = append(says, speech.Say("New and known pages take turns while both wait; %d are new.", h.Waiting))
	}
	if m.Revisit.Objective != revisit.Versions {
		says = append(says, speech.Say("Its visits are shared out for %s: the captures of %.0f %% of its pages are "+
			"current, the mean age over all pages is %s, and %.0f %% of the versions are captured.",
			m.Revisit.Objective.String(), 100*cost.FreshShare(), cost.MeanAge(), 100*cost.Share()))
	}
	switch {
	case asked.Load <= capacity:
	case plan.Relief == politeness.NoRelief:
		says = append(says,
			speech.Say("Its pages ask for one visit in %s and there is time for one in %s: they wait in line, since "+
				"there is no relief.", every(asked.Load), every(capacity)))
	default:
		says = append(says,
			speech.Say("Its pages ask for one visit in %s and there is time for one in %s: %s, so that %.0f %% of "+
				"the versions are captured where %.0f %% would be.",
				every(asked.Load), every(capacity), reliefWords(plan), 100*cost.Share(), 100*asked.Share()))
	}
	return out, says, nil
}

// Politeness is the politeness of a host, as its record has it.
func Politeness(h *store.HostRecord) (*politeness.State, error) {
	s := &politeness.State{}
	if len(h.Politeness) > 0 {
		if err := s.UnmarshalBinary(h.Politeness); err != nil {
			return nil, fmt.Errorf("politeness of %s: %w", h.Name, err)
		}
	}
	return s, nil
}

// Robots are the rules of a host, as its record has them; nil: it has none that can be read, and is asked again.
func Robots(h *store.HostRecord) *robots.Rules {
	rules := new(robots.Rules)
	if len(h.Robots) == 0 || rules.UnmarshalBinary(h.Robots) != nil {
		return nil
	}
	return rules
}

// Ailment is what ails a host now: why it failed its latest request; zero: it did not.
type Ailment struct {
	messages.Cause
	Since time.Time `json:"since,omitzero"` // it fails so
	Again time.Time `json:"again,omitzero"` // it may be asked; zero: no new page waits for that
}

// Ails says what ails a host, of a continuous crawl or of another. All tools have it from here.
func Ails(h *store.HostRecord, s *politeness.State, continuous bool) (a Ailment) {
	if h.Failure.At.IsZero() || s.LastOK().Truncate(time.Second).After(h.Failure.At) { // which is in whole seconds
		return a
	}
	a.Cause, a.Since = h.Failure.Cause(), h.Failure.Since
	if h.Waiting > 0 || continuous && s.Timetable.Load() > 0 {
		a.Again = h.NextAllowed
	}
	return a
}

func reliefWords(p politeness.Plan) speech.Sentence {
	switch p.Relief {
	case politeness.Stretch:
		return speech.Say("every interval is multiplied by %.3g", p.By)
	case politeness.Delay:
		return speech.Say("every interval is made %s longer", time.Duration(min(p.By, 9e9)*float64(time.Second)))
	}
	if p.Relief == politeness.Template {
		return speech.Say("a sample of each group of pages keeps its timetable, and each other page is visited after "+
			"%.3g times the time in which it is believed to change, by what its group has shown", p.By)
	}
	if p.Objective != revisit.Versions {
		return speech.Say("all intervals are chosen anew for %s", p.Objective.String())
	}
	return speech.Say("each page is visited after %.3g times the time in which it is believed to change", p.By)
}

func every(perSecond float64) time.Duration {
	return time.Duration(min(1/perSecond, 9e9) * float64(time.Second))
}

// explainGroup says of which group of its host's pages a known page is, with the relief template, and whether it is a
// representative.
func explainGroup(url string, h *store.HostRecord, m *Settings) (says []speech.Sentence) {
	var s politeness.State
	if m.Relief != politeness.Template.String() || len(h.Politeness) == 0 || s.UnmarshalBinary(h.Politeness) != nil ||
		len(s.Timetable.Groups().All()) == 0 {
		return nil
	}
	plan, _ := politeness.Relieve(politeness.Template, s.Timetable.Demand(&m.Revisit), s.Spare(&m.Politeness))
	group := s.Timetable.Groups().Of(url)
	if group.Pages == 0 {
		return nil
	}
	says = append(says, speech.Say("Its group is %s: %d pages of its host, each of which changes about every %s.",
		group.Shape, group.Pages, group.Center(s.Timetable.Rates().Prior().Center(&m.Revisit))))
	switch {
	case plan.Relief != politeness.Template:
	case group.Representative(url, plan.Sample):
		says = append(says, speech.Say("It is a representative of its group, and keeps its timetable."))
	default:
		says = append(says, speech.Say("It is no representative of its group: its visits give way when its host does "+
			"not bear all."))
	}
	return says
}

// explainPage says why a page is visited when it is, in one sentence a line.
func explainPage(p *store.Page, place store.Place, h *store.HostRecord, rules revisit.FixedIntervals, m *Settings,
	now time.Time) []speech.Sentence {
	history := revisit.History(p.Timing)
	interval := time.Duration(float64(history.Interval) * float64(time.Second))
	failed, ruled := p.Reason != 0 || p.Status >= 400, rules.Of(p.URL)
	var says []speech.Sentence
	say := func(format string, values ...any) { says = append(says, speech.Say(format, values...)) }
	score := fmt.Sprintf("%.2f", m.Admission.Topic.Score(p.Band))
	switch {
	case m.Admission.Topic == nil || p.Flags.Requisite() > 0:
	case p.LastVisit.IsZero():
		say("Its score for the topic of the crawl is %s of 1: henro why has the words.", score)
	default:
		say("It hands a score of %s of 1 for the topic of the crawl on to its links.", score)
	}
	switch {
	case p.Flags&store.Dropped != 0:
		say("It was given up: %s.", p.Cause().String())
		return says
	case place == store.InFresh && p.Attempts > 0:
		say("It was never fetched: %d visits failed, the last with %s; it is tried again.", p.Attempts,
			p.Cause().String())
	case place == store.InFresh:
		say("It has never been visited and waits for its host's turn, %d links from a seed.", p.Depth)
	case p.Status == http.StatusGone && place == store.InRest:
		say("Its host says that it is gone for good (410): it is asked for no more.")
	case failed && interval > 0 && ruled == 0:
		say("It could not be fetched: %s. Each further try comes after twice as long, the next after %s; what is "+
			"known of its changes is kept until it returns.", p.Cause().String(), interval)
	default:
		say("It %s.", m.Revisit.Explain(&history))
	}
	if p.Next.IsZero() && place != store.InFresh {
		say("No visit is planned.")
		return says
	}
	if !m.Continuous && place == store.InQueue {
		say("But this crawl ends when nothing new is left: known pages are visited again with --continuous or " +
			"--again only.")
		return says
	}
	if ruled > 0 {
		say("Its visits were set by hand: one every %s, until henro revisit --auto.", ruled)
	}
	timetable := time.Duration(m.Revisit.Aim * float64(m.Revisit.Estimate(&history)))
	if place == store.InQueue && !failed && ruled == 0 && timetable > 0 && timetable < m.Revisit.Max &&
		(interval > timetable+timetable/10 || interval < timetable-timetable/10) && interval > m.Revisit.Min {
		why := speech.Say("its host does not bear that for all its pages")
		switch {
		case p.Flags&store.Announced != 0 && interval > timetable:
			why = speech.Say("its host announces its changes, so it can wait while none is announced")
		case p.Flags&store.Listing != 0 && interval > timetable:
			why = speech.Say("the changes that it lists are told of sooner, so it can wait")
		case m.Revisit.Objective != revisit.Versions:
			why = speech.Say("the visits of its host are shared out for %s", m.Revisit.Objective.String())
		}
		say("The timetable alone would visit it every %s; %s, and its share is a visit every %s.", timetable, why,
			interval)
	}
	if place == store.InQueue {
		says = append(says, explainGroup(p.URL, h, m)...)
	}
	switch {
	case p.Flags&store.Told != 0:
		say("It was told that it has changed since: its visit was brought forward.")
	case p.Flags&store.Hinted != 0:
		say("A sitemap or a feed says that it has changed since: its visit was brought forward.")
	}
	switch wait := p.Next.Sub(now); {
	case place == store.InFresh && !p.Next.After(now):
	case wait > 0:
		say("The next visit is due in %s.", wait)
	default:
		say("It has been due for %s and waits for its host's turn.", -wait)
	}
	if h.NextAllowed.After(now) && h.NextAllowed.After(p.Next) {
		say("Its host may be asked in %s: see henro host %s.", h.NextAllowed.Sub(now), h.Name)
	}
	return says
}
