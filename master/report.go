package master

import (
	"context"
	"sync"
	"time"

	"henro/actors/figures"
)

// reports keeps the last report of a running crawl: reading every page takes a second or two a million.
type reports struct {
	mu   sync.Mutex
	last *figures.Report
	took time.Duration
}

// reportEvery is how old a report of a running crawl may be; ten times as long as it took, if that is more.
const reportEvery = 5 * time.Second

// Report returns the report of the running crawl, as old as reportEvery lets it be.
func (n *Node) Report(ctx context.Context) (*figures.Report, error) {
	r := &n.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.last != nil && now.Sub(r.last.Taken) < max(reportEvery, 10*r.took) {
		return r.last, nil
	}
	last, err := n.Reading().Report(ctx, now)
	if err != nil {
		return nil, err
	}
	r.last, r.took = last, time.Since(now)
	return last, nil
}
