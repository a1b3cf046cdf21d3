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

var (
	crawlPages = console.Described("henro_pages_total",
		"Pages visited for the first time, with a response, since the crawl began.")
	crawlRequisites = console.Described("henro_requisites_total",
		"Requisites of pages (images, styles, scripts, frames) visited for the first time, since the crawl began.")
	crawlRevisits = console.Described("henro_revisits_total", "Later visits with a response, since the crawl began.")
	crawlLinks    = console.Described("henro_links_total", "Links found, those of a page at each of its visits.")
	crawlBytes    = console.Described("henro_payload_bytes_total", "Payload as it came, since the crawl began.")

	crawlIdentical = console.Described("henro_identical_payloads_total",
		"Answers whose payload the archive held already, of whatever URL, since the crawl began.")
	crawlIdenticalBytes = console.Described("henro_identical_bytes_total",
		"Payload that was not stored again, since the crawl began.")
	crawlWhole = console.Described("henro_whole_pages_ratio",
		"Share of the pages that are archived with all they are made of, at the latest count.")

	crawlErrors = console.Described("henro_errors_total",
		"Visits that failed, by cause: no response (TIMEOUT …), an answer from 400 on (HTTP 404 …), or a body that is "+
			"not whole (TRUNCATED).", "reason")
	crawlHosts  = console.Described("henro_hosts", "Hosts that are known.")
	crawlReady  = console.Described("henro_hosts_ready", "Hosts that wait to be lent.")
	crawlLeases = console.Described("henro_leases", "Hosts that are lent, by slave.", "slave")
	crawlBusy   = console.Described("henro_slave_busy",
		"Part of a slave's connections in use in the last minutes.", "slave")
	crawlSlaves  = console.Described("henro_slaves", "Slaves that the master knows.")
	crawlWaiting = console.Described("henro_frontier_urls", "URLs that wait for their first visit.")
	crawlQueued  = console.Described("henro_timetable_urls", "Known URLs with a time for their next visit.")
	crawlDue     = console.Described("henro_due_urls", "Known URLs in line to be visited now.")
	crawlKnown   = console.Described("henro_known_urls", "URLs ever admitted.")
	crawlOutside = console.Described("henro_out_of_scope_links_total",
		"Links not admitted because they are out of scope.")
	crawlStopped = console.Described("henro_stop_listed_links_total", "Links not admitted because of the stop list.")
	crawlTrapped = console.Described("henro_trapped_links_total", "Links not admitted because they lead into a trap.")
	crawlChanged = console.Described("henro_changed_urls_total",
		"URLs that were said to have changed (POST /api/changed) since the start: known, new, waiting for their first "+
			"visit, or foreign: of a host that the crawl does not know.", "result")
	crawlState   = console.Described("henro_crawl_state", "1 for what the crawl is doing.", "state")
	crawlStalled = console.Described("henro_crawl_stalled",
		"1 while nothing is fetched, or nothing can be stored, though there is work.")
	crawlCollected = []*prometheus.Desc{
		crawlPages, crawlRequisites, crawlIdentical, crawlIdenticalBytes, crawlWhole,
		crawlRevisits, crawlLinks, crawlBytes, crawlErrors, crawlHosts, crawlReady,
		crawlLeases, crawlBusy,
		crawlSlaves, crawlWaiting, crawlChanged,
		crawlQueued, crawlDue, crawlKnown, crawlOutside, crawlStopped, crawlTrapped, crawlState, crawlStalled,
	}
)

// crawlMetrics are the figures of the status, which is asked for when Prometheus asks.
type crawlMetrics struct{ node *Node }

// Collector gives the figures of the crawl to Prometheus.
func (n *Node) Collector() prometheus.Collector { return &crawlMetrics{n} }

// Describe names them.
func (*crawlMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range crawlCollected {
		to <- d
	}
}

// collectWithin bounds the wait for the status. If the master does not answer, the scrape lacks these figures.
const collectWithin = 5 * time.Second

// Collect asks for the status.
func (c *crawlMetrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectWithin)
	defer cancel()
	s, err := Ask[*Status](ctx, c.node, &StatusAsked{})
	if err != nil {
		to <- prometheus.NewInvalidMetric(crawlState, err)
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	counter(crawlPages, s.Totals.Pages)
	counter(crawlRequisites, s.Totals.Requisites)
	counter(crawlRevisits, s.Totals.Revisits)
	counter(crawlLinks, s.Totals.Links)
	counter(crawlBytes, s.Totals.Bytes)
	counter(crawlIdentical, s.Totals.Identical)
	counter(crawlIdenticalBytes, s.Totals.IdenticalBytes)
	if s.Whole != nil {
		gauge(crawlWhole, s.Whole.Share())
	}
	counter(crawlOutside, s.Totals.OutOfScope)
	counter(crawlStopped, s.Totals.StopListed)
	counter(crawlTrapped, s.Totals.Trapped)
	for reason, n := range s.Totals.Errors {
		counter(crawlErrors, n, reason)
	}
	for result, n := range c.node.notices.results() {
		counter(crawlChanged, n, result)
	}
	gauge(crawlHosts, float64(s.Hosts))
	gauge(crawlReady, float64(s.Ready))
	gauge(crawlWaiting, float64(s.Waiting))
	gauge(crawlQueued, float64(s.Queued))
	gauge(crawlDue, float64(s.Due))
	gauge(crawlKnown, float64(s.Known))
	gauge(crawlSlaves, float64(len(s.Slaves)))
	for _, slave := range s.Slaves {
		gauge(crawlLeases, float64(slave.Leases), slave.Name)
		gauge(crawlBusy, slave.Busy, slave.Name)
	}
	for _, state := range []State{Running, Paused, Ending, Ended} {
		v := 0.0
		if s.State == state {
			v = 1
		}
		gauge(crawlState, v, string(state))
	}
	stalled := 0.0
	if !s.Stalled.IsZero() {
		stalled = 1
	}
	gauge(crawlStalled, stalled)
}
