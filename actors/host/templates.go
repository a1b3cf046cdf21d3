package host

import (
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/template"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// groups groups the host's pages if the relief is by group, and forgets the groups otherwise.
func (s *schedule) groups() {
	asked := s.o.Continuous && s.o.Relief == politeness.Template
	switch {
	case !asked:
		s.clock.timetable().SetGroups(nil)
	case s.clock.timetable().Groups() == nil:
		s.clock.timetable().SetGroups(template.New(s.now))
	}
}

// group returns the group of a URL; nil: there are none.
func (s *schedule) group(url string) *template.Group {
	if groups := s.clock.timetable().Groups(); groups != nil {
		return groups.Of(url)
	}
	return nil
}

// prior returns what is believed of a new page of the host, given what is believed of one of the host.
func (s *schedule) prior(url string, host revisit.Prior) revisit.Prior {
	if group := s.group(url); group != nil {
		return group.Prior(host)
	}
	return host
}

// center returns the mean interval about which pages like this one lie, given that of the host's pages.
func (s *schedule) center(url string, host time.Duration) time.Duration {
	if group := s.group(url); group != nil {
		return group.Center(host)
	}
	return host
}

// relieved returns the interval of a page by the host's plan: see politeness.Plan.Interval.
func (s *schedule) relieved(url string, t, mean, last time.Duration) time.Duration {
	plan := s.plan
	if plan.Relief == politeness.Template {
		if s.group(url).Representative(url, plan.Sample) {
			return t
		}
		plan.Center = s.center(url, plan.Center)
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
		if made.links[i].Kind != outlink.Link {
			continue
		}
		group.Links++
		if s.named.Add(fingerprint.URL(made.links[i].URL)) {
			group.News++
		}
	}
}
