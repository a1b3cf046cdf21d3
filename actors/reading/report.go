package reading

import (
	"cmp"
	"context"
	"time"

	"henro/actors/figures"
	"henro/actors/known"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/store"
)

// Report sums up the timetable of the crawl, each partition as of one moment. It reads all hosts and pages, and ends
// early with the context.
func (c *Crawl) Report(ctx context.Context, now time.Time) (*figures.Report, error) {
	m := c.Settings
	o := figures.Options{Now: now, Politeness: m.Politeness, Revisit: m.Revisit, Continuous: m.Continuous}
	var err error
	if o.Relief, err = politeness.ParseRelief(m.Relief); err != nil {
		return nil, err
	}
	all := figures.New(o)
	for _, p := range c.State.Partitions {
		if err := p.Hosts.Each(func(h store.HostRecord) error {
			s, err := Politeness(&h)
			if err == nil {
				all.Host(figures.Host{Name: h.Name, Waiting: h.Waiting, State: s})
			}
			return cmp.Or(err, ctx.Err())
		}); err != nil {
			return nil, err
		}
		if err := p.Pages.Each(func(page store.Page, _ store.Place) error {
			if !page.LastVisit.IsZero() {
				all.Page(figures.Page{Timing: revisit.History(page.Timing), LastVisit: page.LastVisit, Next: page.Next})
			}
			return ctx.Err()
		}); err != nil {
			return nil, err
		}
	}
	r := all.Report()
	for _, p := range c.State.Partitions {
		if err := known.EachInterval(p, func(rule revisit.FixedInterval) {
			if len(r.Rules) < rulesShown {
				r.Rules = append(r.Rules, rule)
			}
		}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// rulesShown bounds the rules that a report shows.
const rulesShown = 200
