package host

import (
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/messages/outlink"
	"henro/store"
)

// relieved returns the interval of a page by the host's plan: see politeness.Plan.Interval.
func (s *schedule) relieved(url string, t, mean, last time.Duration) time.Duration {
	plan := s.plan
	if plan.Relief == politeness.Template {
		groups := s.clock.timetable().Groups()
		if groups.Of(url).Representative(url, plan.Sample) {
			return t
		}
		plan.Center = groups.Center(url, plan.Center)
	}
	return plan.Interval(t, mean, last)
}

// regroup keeps the figures of a page's group in step with a visit of the page.
func (s *schedule) regroup(made *visitMade, page *store.Page, estimate time.Duration) {
	groups := s.clock.timetable().Groups()
	if groups == nil {
		return
	}
	group := groups.Of(page.URL)
	old := &made.old
	before := revisit.History(old.Timing)
	was := groups.Counted(old.LastVisit) && !old.Next.IsZero()
	is := groups.Counted(page.LastVisit) && !page.Next.IsZero()
	if was {
		group.Remove(s.o.Revisit.Estimate(&before))
	}
	if is {
		group.Add(estimate)
	}
	group.Visits++
	if page.Reason != 0 || made.fact.Status >= 400 {
		group.Errors++
		return
	}
	if page.SameAs != "" || made.fact.IdenticalBytes > 0 && !made.fact.Unchanged {
		group.Duplicates++
	}
	for i := range made.links {
		if made.links[i].Kind == outlink.Link {
			groups.Named(group, made.links[i].URL)
		}
	}
}
