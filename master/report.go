package master

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"henro/actors/figures"
	"henro/actors/partition"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/store"
)

// Report sums up the timetable of a crawl whose S and C are among the settings: each partition as of one moment. It
// reads all hosts and pages, and ends early with the context.
func Report(ctx context.Context, state *store.State, m *Settings, now time.Time) (*figures.Report, error) {
	o := figures.Options{Now: now, Politeness: m.Politeness, Revisit: m.Revisit, Continuous: m.Continuous}
	var err error
	if o.Relief, err = politeness.ParseRelief(m.Relief); err != nil {
		return nil, err
	}
	c := figures.New(o)
	for _, p := range state.Partitions {
		if err := p.EachHost(func(h store.HostRecord) error {
			s, err := politenessOf(&h)
			if err == nil {
				c.Host(figures.Host{Name: h.Name, Waiting: h.Waiting, State: s})
			}
			return cmp.Or(err, ctx.Err())
		}); err != nil {
			return nil, err
		}
		if err := p.EachPage(func(page store.Page, _ store.Place) error {
			if !page.LastVisit.IsZero() {
				c.Page(figures.Page{Timing: revisit.History(page.Timing), LastVisit: page.LastVisit, Next: page.Next})
			}
			return ctx.Err()
		}); err != nil {
			return nil, err
		}
	}
	r := c.Report()
	for _, p := range state.Partitions {
		if err := partition.EachRule(p, func(rule revisit.Rule) {
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

// reports keeps the last report of a running crawl: reading every page takes a second or two a million.
type reports struct {
	mu   sync.Mutex
	last *figures.Report
	took time.Duration
}

// reportEvery is how old a report of a running crawl may be. It is not made again sooner, nor before ten times as long
// as it took.
const reportEvery = 5 * time.Second

// Report returns the report of the running crawl, a few seconds old at most.
func (n *Node) Report(ctx context.Context) (*figures.Report, error) {
	r := &n.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.last != nil && now.Sub(r.last.Taken) < max(reportEvery, 10*r.took) {
		return r.last, nil
	}
	last, err := Report(ctx, n.state, n.settings(), now)
	if err != nil {
		return nil, err
	}
	r.last, r.took = last, time.Since(now)
	return last, nil
}

// getReport answers with figures.Report.
func (n *Node) getReport(w http.ResponseWriter, r *http.Request) {
	report, err := n.Report(r.Context())
	reply(w, report, err)
}
