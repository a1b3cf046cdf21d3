// Package dashboard shows a running crawl to people with a browser, and lets them steer it.
//
// Every page is rendered here, whole, and can be read and used without a script. Where there is one, it keeps a stream
// of events open, on which the parts of the page that have changed come as the same templates render them again: there
// is one place that decides how a figure looks, and it is tested in Go. Nothing is fetched from anywhere else, and the
// policy sent with each page makes the browser refuse to.
//
// Invariants:
//   - what comes from the web, a log or a form is text: it is escaped by html/template, and the only markup made by
//     hand are drawings of numbers;
//   - what readers cost is bounded: streams by Options.Streams, a stream that is not read by Options.WriteWithin, the
//     table of hosts by Options.Hosts, and the state is read in short transactions, on no goroutine of an actor;
//   - nothing is changed by a GET.
package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/actors/figures"
	"henro/actors/floor"
	"henro/messages/ticks"
)

// Options are those of a dashboard.
type Options struct {
	Streams     int           // open at once; further readers get pages that do not move. Default 32
	WriteWithin time.Duration // a stream that takes longer to take a message is dropped. Default 5 s
	// something is written at least this often, so that both ends notice a dead line. Default 15 s
	Heartbeat time.Duration
	Every     time.Duration // how often the crawl is asked how it goes. Default 1 s
	// how long the first reader of something that is read in the background waits for it, so that of a small crawl it
	// is there, also for a browser without scripts. Default 1 s
	Patience time.Duration
	Hosts    int // in the table of hosts. Default 500,000: some 50 MB while somebody looks at it
}

// DefaultOptions are the defaults named at the fields.
func DefaultOptions() Options {
	return Options{Streams: 32, WriteWithin: 5 * time.Second, Heartbeat: 15 * time.Second, Every: time.Second,
		Patience: time.Second, Hosts: 500_000}
}

// Dashboard shows one crawl.
type Dashboard struct {
	o        Options
	crawl    Crawl
	tail     *console.Tail
	history  *history
	hosts    *survey[hostOrder]
	whole    *survey[wholeView]
	failures *survey[failedPages]
	reports  *survey[figures.Report]
	recalls  recalled
	pages    map[string]map[string]*template.Template // by language and view
	streams  chan struct{}                            // holds one for each that is open
}

// New makes the dashboard of a crawl; the tail is that of its log.
func New(o Options, crawl Crawl, tail *console.Tail) (*Dashboard, error) {
	d := &Dashboard{
		o: o, crawl: crawl, tail: tail, history: newHistory(), streams: make(chan struct{}, o.Streams),
		pages: map[string]map[string]*template.Template{},
	}
	d.whole, d.failures = newSurvey(o.Patience, d.countWhole), newSurvey(o.Patience, d.findFailed)
	d.hosts = newSurvey(hostsWaitFirst, d.readHosts)
	d.reports = newSurvey(o.Patience, func(ctx context.Context) (*figures.Report, error) {
		return crawl.Reading().Report(ctx, time.Now())
	})
	d.hosts.idle = hostsIdle
	for _, w := range languages {
		d.pages[w.code] = map[string]*template.Template{}
		for _, v := range append(views, trouble) {
			page, err := parse(w, v.name)
			if err != nil {
				return nil, fmt.Errorf("templates of %s: %w", v.name, err)
			}
			d.pages[w.code][v.name] = page
		}
	}
	return d, nil
}

// Run keeps the figures until the context ends, on goroutines that begin starts.
func (d *Dashboard) Run(ctx context.Context, begin func(g *errgroup.Group, what string, run func() error)) error {
	group, ctx := errgroup.WithContext(ctx)
	begin(group, "the history", func() error { d.sample(ctx); return nil })
	begin(group, "the table of hosts", func() error { d.hosts.run(ctx); return nil })
	begin(group, "the count of whole pages", func() error { d.whole.run(ctx); return nil })
	begin(group, "the search for failed pages", func() error { d.failures.run(ctx); return nil })
	begin(group, "the report of revisits", func() error { d.reports.run(ctx); return nil })
	return group.Wait()
}

// sample asks how the crawl goes.
func (d *Dashboard) sample(ctx context.Context) {
	for range ticks.FromNow(ctx, d.o.Every) {
		if status, err := d.crawl.Status(ctx); err == nil {
			d.history.add(floor.Now(), status)
		}
	}
}

// Routes is the table of what the dashboard answers.
func (d *Dashboard) Routes() []console.Route {
	routes := []console.Route{
		{Pattern: "GET /events", Serve: d.stream},
		{Pattern: "GET /preferences", Serve: d.prefer},
		{Pattern: "GET /static/{version}/{name}", Serve: serveStatic},
		d.crawl.Pictures().Route(),
		{Pattern: "POST /do/{what}", Body: maxForm, Serve: d.do},
	}
	for _, v := range views {
		routes = append(routes, console.Route{Pattern: "GET " + v.path, Linked: true,
			Serve: func(w http.ResponseWriter, r *http.Request) { d.show(w, r, v) }})
	}
	return routes
}
