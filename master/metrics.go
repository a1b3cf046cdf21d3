package master

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"henro/actors/console"
)

// CommitSeconds is the histogram of the time that commits of the state take, for Options.Partition.Committed.
func CommitSeconds() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "henro_store_commit_seconds", Help: "Time that one transaction of the state takes, with its sync.",
		Buckets: []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10},
	})
}

// figuresWithin bounds the wait for the status. If the master does not answer, the scrape lacks these figures.
const figuresWithin = 5 * time.Second

// Figures gives those of the crawl, which are those of its status, to Prometheus.
func (n *Node) Figures(f console.Figures) {
	ctx, cancel := context.WithTimeout(context.Background(), figuresWithin)
	defer cancel()
	s, err := Ask[*Status](ctx, n, &StatusAsked{})
	if err != nil {
		f.Fail(err)
		return
	}
	t := &s.Totals
	f.Counter("henro_pages_total", "Pages visited for the first time, with a response, since the crawl began.",
		t.Pages)
	f.Counter("henro_requisites_total",
		"Requisites of pages (images, styles, scripts, frames) visited for the first time, since the crawl began.",
		t.Requisites)
	f.Counter("henro_revisits_total", "Later visits with a response, since the crawl began.", t.Revisits)
	f.Counter("henro_links_total", "Links found, those of a page at each of its visits.", t.Links)
	f.Counter("henro_payload_bytes_total", "Payload as it came, since the crawl began.", t.Bytes)
	f.Counter("henro_identical_payloads_total",
		"Answers whose payload the archive held already, of whatever URL, since the crawl began.", t.Identical)
	f.Counter("henro_identical_bytes_total", "Payload that was not stored again, since the crawl began.",
		t.IdenticalBytes)
	if s.Whole != nil {
		f.Gauge("henro_whole_pages_ratio",
			"Share of the pages that are archived with all they are made of, at the latest count.", s.Whole.Share())
	}
	f.Counter("henro_out_of_scope_links_total", "Links not admitted because they are out of scope.", t.OutOfScope)
	f.Counter("henro_stop_listed_links_total", "Links not admitted because of the stop list.", t.StopListed)
	f.Counter("henro_trapped_links_total", "Links not admitted because they lead into a trap.", t.Trapped)
	for reason, n := range t.Errors {
		f.Counter("henro_errors_total", "Visits that failed, by cause: no response (TIMEOUT …), an answer from 400 on "+
			"(HTTP 404 …), a body that is not whole (TRUNCATED), or a WALL.", n, "reason", reason)
	}
	for result, n := range n.notices.results() {
		f.Counter("henro_changed_urls_total", "URLs that were said to have changed (POST /api/changed) since the "+
			"start: known, new, waiting for their first visit, or foreign: of a host that the crawl does not know.", n,
			"result", result)
	}
	f.Gauge("henro_hosts", "Hosts that are known.", float64(s.Hosts))
	f.Gauge("henro_hosts_ready", "Hosts that wait to be lent.", float64(s.Ready))
	f.Gauge("henro_frontier_urls", "URLs that wait for their first visit.", float64(s.Waiting))
	f.Gauge("henro_timetable_urls", "Known URLs with a time for their next visit.", float64(s.Queued))
	f.Gauge("henro_due_urls", "Known URLs in line to be visited now.", float64(s.Due))
	f.Gauge("henro_known_urls", "URLs ever admitted.", float64(s.Known))
	f.Gauge("henro_slaves", "Slaves that the master knows.", float64(len(s.Slaves)))
	for _, slave := range s.Slaves {
		f.Gauge("henro_leases", "Hosts that are lent, by slave.", float64(slave.Leases), "slave", slave.Name)
		f.Gauge("henro_slave_busy", "Part of a slave's connections in use in the last minutes.", slave.Busy, "slave",
			slave.Name)
	}
	for _, state := range []State{Running, Paused, Ending, Ended} {
		f.Is("henro_crawl_state", "1 for what the crawl is doing.", s.State == state, "state", string(state))
	}
	f.Is("henro_crawl_stalled", "1 while nothing is fetched, or nothing can be stored, though there is work.",
		!s.Stalled.IsZero())
}
