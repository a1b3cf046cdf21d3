package master

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"henro/actors/figures"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/store"
)

// Report sums up the timetable of a crawl, running or not: each partition as of one moment. S and C are hosts and
// connections; without connections the resources are not looked at.
func Report(state *store.State, m *Settings, connections int, now time.Time) (*figures.Report, error) {
	o := figures.Options{Now: now, Politeness: m.Politeness, Revisit: m.Revisit, Continuous: m.Continuous}
	var err error
	if o.Relief, err = politeness.ParseRelief(m.Relief); err != nil {
		return nil, err
	}
	o.Politeness.Servers, o.Politeness.Connections = 0, connections
	for _, p := range state.Partitions {
		stats, err := p.Stats()
		if err != nil {
			return nil, err
		}
		o.Politeness.Servers += int(stats.Hosts)
	}
	c := figures.New(o)
	for _, p := range state.Partitions {
		if err := p.EachHost(func(h store.HostRecord) error {
			var s politeness.State
			if len(h.Politeness) > 0 {
				if err := s.UnmarshalBinary(h.Politeness); err != nil {
					return fmt.Errorf("politeness of %s: %w", h.Name, err)
				}
			}
			c.Host(figures.Host{Name: h.Name, Waiting: h.Waiting, State: &s})
			return nil
		}); err != nil {
			return nil, err
		}
		if err := p.EachPage(func(page store.Page, _ store.Place) error {
			if !page.LastVisit.IsZero() {
				c.Page(figures.Page{Timing: revisit.History(page.Timing), LastVisit: page.LastVisit, Next: page.Next})
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return c.Report(), nil
}

// reports keeps the last report of a running crawl: reading every page takes a second or two a million.
type reports struct {
	mu   sync.Mutex
	last *figures.Report
	took time.Duration
}

// reportEvery is how old a report of a running crawl may be: it is not made anew before that, nor before ten times what
// it took.
const reportEvery = 5 * time.Second

// Report returns the report of the running crawl, a few seconds old at most.
func (n *Node) Report(ctx context.Context) (*figures.Report, error) {
	status, err := Ask[*Status](ctx, n, &StatusAsked{})
	if err != nil {
		return nil, err
	}
	connections := 0
	for _, s := range status.Slaves {
		connections += s.Connections
	}
	r := &n.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.last != nil && now.Sub(r.last.Taken) < max(reportEvery, 10*r.took) {
		return r.last, nil
	}
	report, err := Report(n.state, n.settings(), connections, now)
	if err != nil {
		return nil, err
	}
	r.last, r.took = report, time.Since(now)
	return report, nil
}

// getReport answers with figures.Report.
func (n *Node) getReport(w http.ResponseWriter, r *http.Request) {
	report, err := n.Report(r.Context())
	reply(w, report, err)
}
