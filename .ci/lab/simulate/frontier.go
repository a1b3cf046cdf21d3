package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/.ci/lab/simulate/frontiersim"
	"henro/.ci/lab/simulate/orders"
	"henro/cmd/config"
	"henro/master/frontier"
	"henro/store/report/chart"
)

// frontierSimulation is what the flags of simulate frontier say.
type frontierSimulation struct {
	graph   string
	columns []int
	web     frontiersim.WebOptions
	seeds   int
	draw    uint64
	policy  string
	order   string
	crawl   frontiersim.CrawlOptions
	b, h    int
	out     string
	cost    bool
	most    int
}

func newFrontierCommand() *cobra.Command {
	s := frontierSimulation{web: frontiersim.DefaultWebOptions(), crawl: frontiersim.DefaultCrawlOptions()}
	cmd := &cobra.Command{
		Use:   "frontier",
		Short: "Compare orders of URLs by crawling a graph in memory",
		Long: `Crawl a graph of the web in memory and tell how much PageRank is collected by how many pages, and how
many URLs wait meanwhile. Without --policy it repeats the experiments of the paper on the O(1) scheduler and writes its
figures 2 to 6 as SVG and CSV: pages needed for a share of the PageRank; pages and PageRank by B; by H; PageRank by
pages crawled, for every policy; URLs stored. With --policy it writes the curve of that one crawl as CSV.

Graphs: edge lists (--columns says which fields), LAW's ASCII form (*.graph-txt), successor differences (*.delta), each
also with .gz, the hosts of the pages in a file "hosts" beside; without --graph a web is made.`,
		Example: `  simulate frontier --web 1000000 --out figures
  simulate frontier --graph uk-2007/arcs.delta.gz --policy slots -B 2048 -H 2048
  simulate frontier --cost --out figures`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.graph, "graph", "", "graph `FILE`; without one a web is made")
	f.IntSliceVar(&s.columns, "columns", []int{1, 2}, "fields of an edge list that hold the two ends")
	f.IntVar(&s.web.Pages, "web", s.web.Pages, "pages of a made web")
	f.Float64Var(&s.web.LinksPerPage, "web-links", s.web.LinksPerPage, "links of its pages, in the mean")
	f.Float64Var(&s.web.PagesPerHost, "web-host", s.web.PagesPerHost, "pages of its hosts, in the mean")
	f.Uint64Var(&s.web.Seed, "web-seed", s.web.Seed, "names the web")
	f.IntVar(&s.seeds, "seeds", 1024, "seeds, one from each of the largest strongly connected components")
	f.Uint64Var(&s.draw, "draw", 1, "names the draw of the seeds")
	f.StringVar(&s.policy, "policy", "", "crawl once, by fifo, host, mercator, irlbot, slots or ranked")
	f.StringVar(&s.order, "order", string(frontier.OrderOPIC), "priorities: breadth, inlinks or opic")
	f.IntVarP(&s.b, "slots-b", "B", 0, "B of slots and ranked; 0 is what stores a tenth of irlbot's URLs")
	f.IntVarP(&s.h, "slots-h", "H", 0, "H of slots and ranked; 0 is B")
	f.IntVar(&s.crawl.Reread, "reread", 0,
		"link lists of visited pages read again for each visit, so that dropped URLs return")
	f.DurationVar(&s.crawl.Frontier.Interval, "interval", 0,
		"least time between visits of a host; 0 is the order alone")
	f.IntVar(&s.crawl.Width, "width", 0, "pages visited in one interval at most; 0 is no limit")
	f.IntVar(&s.crawl.SketchSize, "sketch", s.crawl.SketchSize, "cells of the sketch that ranks URLs, 4 bytes each")
	f.Uint64Var(&s.crawl.Salt, "salt", 0, "changes which hosts share a residue")
	f.StringVar(&s.out, "out", "figures", "directory of the figures")
	f.BoolVar(&s.cost, "cost", false, "measure what a URL costs instead, for 10⁴ to --cost-urls URLs")
	f.IntVar(&s.most, "cost-urls", 10_000_000, "most URLs that are measured")
	return cmd
}

func (s *frontierSimulation) run(ctx context.Context, out, progress io.Writer) error {
	order, err := frontier.ParseOrder(s.order)
	if err != nil {
		return config.Usage("%v", err)
	}
	s.crawl.Order = order
	if len(s.columns) != 2 {
		return config.Usage("--columns takes two numbers: --columns 2,3")
	}
	if s.crawl.SketchSize < 1 || s.crawl.SketchSize > 1<<32 {
		return config.Usage("a sketch of %d cells is not within 1 to 2³²", s.crawl.SketchSize)
	}
	if s.seeds < 1 {
		return config.Usage("a crawl needs a seed at least, not %d", s.seeds)
	}
	if err := s.web.Validate(); err != nil {
		return config.Usage("%v", err)
	}
	if s.h == 0 {
		s.h = s.b
	}
	o := s.crawl.Frontier
	if s.b != 0 {
		o.SlotsB, o.SlotsH = s.b, s.h
	}
	if s.policy != "" {
		o.Policy = frontier.Policy(s.policy)
	}
	if err := o.Validate(); err != nil {
		return config.Usage("%v", err)
	}
	if s.cost {
		return s.costs(ctx, out, progress)
	}
	started := time.Now()
	note := func(format string, args ...any) {
		fmt.Fprintf(progress, "%7.1fs  %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
	}
	var g *frontiersim.Graph
	if s.graph != "" {
		g, err = frontiersim.Open(s.graph, [2]int{s.columns[0], s.columns[1]})
	} else {
		g, err = frontiersim.Web(s.web)
	}
	if err != nil {
		return err
	}
	note("%s: %d pages, %d links, %d hosts", g.Name, g.Pages(), g.Arcs(), g.Hosts())
	w := frontiersim.NewWorld(g, s.seeds, s.draw)
	note("%d pages and %d links can be reached from %d seeds", w.Graph.Pages(), w.Graph.Arcs(), len(w.Seeds))
	if w.Graph.Pages() == 0 {
		return fmt.Errorf("graph %s has no pages", g.Name)
	}
	x := frontierExperiment{ctx: ctx, s: s, w: w, note: note}
	if s.policy != "" {
		return x.one(out, frontier.Policy(s.policy))
	}
	return x.all(out)
}

// frontierExperiment is a simulation in work.
type frontierExperiment struct {
	ctx  context.Context
	s    *frontierSimulation
	w    *frontiersim.World
	note func(string, ...any)
}

// crawl runs one crawl with changed options.
func (x *frontierExperiment) crawl(change func(*frontiersim.CrawlOptions)) (frontiersim.Run, error) {
	if err := x.ctx.Err(); err != nil {
		return frontiersim.Run{}, err
	}
	o := x.s.crawl
	change(&o)
	run, err := x.w.Crawl(o)
	if err == nil {
		pace := ""
		if t := o.Frontier.Interval; t > 0 {
			pace = fmt.Sprintf(", %d steps, a host every %.2f T", run.Steps, float64(run.Pace.Mean())/float64(t))
		}
		x.note("%-36s %8d pages, %.3f of the rank, at most %d waiting%s", run.Name, run.Pages, run.Mass, run.Peak, pace)
	}
	return run, err
}

// one writes the curve of one crawl.
func (x *frontierExperiment) one(out io.Writer, policy frontier.Policy) error {
	run, err := x.crawl(func(o *frontiersim.CrawlOptions) {
		o.Frontier.Policy = policy
		if x.s.b != 0 {
			o.Frontier.SlotsB, o.Frontier.SlotsH = x.s.b, x.s.h
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "pages,mass,stored,step")
	for _, p := range run.Points {
		fmt.Fprintf(out, "%d,%.6f,%d,%d\n", p.Pages, p.Mass, p.Stored, p.Step)
	}
	return nil
}

// all repeats the experiments of the paper.
func (x *frontierExperiment) all(out io.Writer) error {
	unbounded := func(policy frontier.Policy) (frontiersim.Run, error) {
		return x.crawl(func(o *frontiersim.CrawlOptions) { o.Frontier.Policy, o.Reread = policy, 0 })
	}
	breadth, err := unbounded(orders.PolicyFIFO)
	if err != nil {
		return err
	}
	irlbot, err := unbounded(orders.PolicyIRLbot)
	if err != nil {
		return err
	}
	b, h := x.s.b, x.s.h
	if b == 0 {
		if b, err = x.w.Fit(x.s.crawl, irlbot.Peak/10); err != nil {
			return err
		}
		h = b
		x.note("slots with B = H = %d stores a tenth of irlbot's %d URLs", b, irlbot.Peak)
	}
	slots := func(b, h, reread int) (frontiersim.Run, error) {
		return x.crawl(func(o *frontiersim.CrawlOptions) {
			o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH, o.Reread = orders.PolicySlots, b, h, reread
		})
	}
	sweep := func(size func(n int) (b, h int)) (runs []frontiersim.Run, err error) {
		for n := -5; n <= 2 && err == nil; n++ {
			var run frontiersim.Run
			b, h := size(n)
			run, err = slots(b, h, x.s.crawl.Reread)
			runs = append(runs, run)
		}
		return runs, err
	}
	byB, err := sweep(func(n int) (int, int) { return scale(b, n), h })
	if err != nil {
		return err
	}
	byH, err := sweep(func(n int) (int, int) { return b, scale(h, n) })
	if err != nil {
		return err
	}
	curves := []frontiersim.Run{x.w.Optimal(x.s.crawl.Samples), breadth, irlbot}
	for _, n := range []int{-1, 0, 1} {
		run, err := slots(scale(b, n), scale(h, n), 0)
		if err != nil {
			return err
		}
		curves = append(curves, run)
	}
	// The same room for the variants: M places, M being a tenth of what irlbot stores, or what B and H give.
	most := b * h / 2
	if x.s.b == 0 {
		most = irlbot.Peak / 10
	}
	reread, err := slots(b, h, max(2, x.s.crawl.Reread))
	if err != nil {
		return err
	}
	ranked, err := x.crawl(func(o *frontiersim.CrawlOptions) {
		o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH, o.Reread = frontier.PolicyRanked, max(2, most/2*2), 2,
			max(2, o.Reread)
	})
	if err != nil {
		return err
	}
	ranked.Name = fmt.Sprintf("ranked, %d places, reread", ranked.B)
	host, err := unbounded(frontier.PolicyHost)
	if err != nil {
		return err
	}
	curves = append(curves, reread, ranked, host)

	if err := os.MkdirAll(x.s.out, 0o755); err != nil {
		return err
	}
	for name, c := range map[string]*chart.Chart{
		"figure2": x.needed(), "figure3": x.bySize(byB, "B", h), "figure4": x.bySize(byH, "H", b),
		"figure5": x.mass(curves), "figure6": x.stored(curves[1:]),
	} {
		if err := writeChart(filepath.Join(x.s.out, name), c); err != nil {
			return err
		}
	}
	x.table(out, curves, breadth, irlbot)
	return nil
}

// scale is an even number about 2ⁿ times the given one, at least 2.
func scale(size, n int) int {
	if n < 0 {
		size >>= -n
	} else {
		size <<= n
	}
	return max(2, size/2*2)
}

// needed is figure 2: how few pages could have a share of the PageRank.
func (x *frontierExperiment) needed() *chart.Chart {
	var shares []float64
	for i := 1; i <= 99; i++ {
		shares = append(shares, float64(i)/100)
	}
	line := chart.Series{Name: "OPT", X: shares}
	for _, n := range frontiersim.Needed(x.w.Rank, shares) {
		line.Y = append(line.Y, float64(max(n, 1)))
	}
	return &chart.Chart{Title: "Pages needed at least for a share of the PageRank", X: "share of the PageRank",
		Y: "pages", LogY: true, Series: []chart.Series{line}}
}

// bySize is figures 3 and 4: what slots collects by B or by H.
func (x *frontierExperiment) bySize(runs []frontiersim.Run, letter string, other int) *chart.Chart {
	pages, mass := chart.Series{Name: "pages crawled"}, chart.Series{Name: "PageRank"}
	for _, run := range runs {
		size := float64(run.B)
		if letter == "H" {
			size = float64(run.H)
		}
		pages.X, mass.X = append(pages.X, size), append(mass.X, size)
		pages.Y = append(pages.Y, float64(run.Pages)/float64(x.w.Graph.Pages()))
		mass.Y = append(mass.Y, run.Mass)
	}
	fixed := map[string]string{"B": "H", "H": "B"}[letter]
	return &chart.Chart{Title: fmt.Sprintf("Slots by %s, with %s = %d", letter, fixed, other), X: letter,
		Y: "share of the web", LogX: true, Dots: true, Series: []chart.Series{pages, mass}}
}

// mass is figure 5: PageRank collected by pages crawled.
func (x *frontierExperiment) mass(runs []frontiersim.Run) *chart.Chart {
	c := &chart.Chart{Title: "PageRank collected: " + x.w.Graph.Name, X: "pages crawled", Y: "share of the PageRank"}
	for _, run := range runs {
		line := chart.Series{Name: run.Name}
		for i := 0; i <= 200; i++ {
			if n := x.w.Graph.Pages() * i / 200; n <= run.Pages {
				line.X, line.Y = append(line.X, float64(n)), append(line.Y, run.MassAt(n))
			}
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// stored is figure 6: URLs that wait by pages crawled.
func (x *frontierExperiment) stored(runs []frontiersim.Run) *chart.Chart {
	c := &chart.Chart{Title: "URLs stored: " + x.w.Graph.Name, X: "pages crawled", Y: "URLs waiting", LogY: true}
	for _, run := range runs {
		line := chart.Series{Name: run.Name}
		for _, p := range run.Points {
			line.X, line.Y = append(line.X, float64(p.Pages)), append(line.Y, float64(p.Stored))
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// table tells the numbers behind figures 5 and 6. A run is ahead by what it has more of the PageRank than the better of
// breadth-first and irlbot after as many pages, over the hundredths of the web.
func (x *frontierExperiment) table(out io.Writer, runs []frontiersim.Run, breadth, irlbot frontiersim.Run) {
	shares := []int{1, 2, 5, 10, 20, 30, 50, 80}
	fmt.Fprint(out, "| order |")
	for _, s := range shares {
		fmt.Fprintf(out, " %d %% |", s)
	}
	fmt.Fprint(out,
		" pages | PageRank | stored | dropped | returned | lists reread | ahead: mean | least |\n|---|"+
			strings.Repeat("---|", len(shares)+8)+"\n")
	for _, run := range runs {
		fmt.Fprintf(out, "| %s |", run.Name)
		for _, s := range shares {
			if n := x.w.Graph.Pages() * s / 100; n <= run.Pages {
				fmt.Fprintf(out, " %.3f |", run.MassAt(n))
			} else {
				fmt.Fprint(out, " – |")
			}
		}
		fmt.Fprintf(out, " %.1f %% | %.3f | %d | %d | %d | %d |", 100*float64(run.Pages)/float64(x.w.Graph.Pages()),
			run.Mass, run.Peak, run.Dropped, run.Returns, run.Reread)
		if slices.Contains([]string{breadth.Name, irlbot.Name, "OPT"}, run.Name) {
			fmt.Fprint(out, " | |\n")
			continue
		}
		mean, least, at := x.w.Lead(run, breadth, irlbot)
		fmt.Fprintf(out, " %+.3f | %+.3f at %d %% |\n", mean, least, at)
	}
}

// costs measures what a URL costs, by how many were discovered.
func (s *frontierSimulation) costs(ctx context.Context, out, progress io.Writer) error {
	size := s.b
	if size == 0 {
		size = 2048
	}
	started := time.Now()
	clock := func() time.Duration { return time.Since(started) }
	queues := []struct {
		name string
		most int
		make func() (frontiersim.Queue, error)
	}{
		{"slots", s.most, s.queue(orders.PolicySlots, size)},
		{"ranked", s.most, s.queue(frontier.PolicyRanked, size)},
		{"heap of URLs", s.most, func() (frontiersim.Queue, error) { return frontiersim.HeapQueue(), nil }},
	}
	c := &chart.Chart{Title: "Cost of a URL by URLs discovered", X: "URLs discovered", Y: "ns", LogX: true, LogY: true,
		Dots: true}
	fmt.Fprintln(out, "| URLs | queue | Enqueue, ns | Next, ns | waiting |\n|---|---|---|---|---|")
	for _, q := range queues {
		enqueue, next := chart.Series{Name: q.name + ", Enqueue"}, chart.Series{Name: q.name + ", Next"}
		for urls := 10_000; urls <= q.most; urls *= 10 {
			if err := ctx.Err(); err != nil {
				return err
			}
			cost, err := medianCost(q.make, urls, clock)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "| %d | %s | %d | %d | %d |\n", urls, q.name, cost.Enqueue.Nanoseconds(),
				cost.Next.Nanoseconds(), cost.Waiting)
			enqueue.X, enqueue.Y = append(enqueue.X, float64(urls)), append(enqueue.Y, float64(cost.Enqueue))
			next.X, next.Y = append(next.X, float64(urls)), append(next.Y, float64(cost.Next))
			fmt.Fprintf(progress, "%7.1fs  %s, %d URLs\n", time.Since(started).Seconds(), q.name, urls)
		}
		c.Series = append(c.Series, enqueue, next)
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	return writeChart(filepath.Join(s.out, "cost"), c)
}

// medianCost measures five times what is over soon.
func medianCost(queue func() (frontiersim.Queue, error), urls int, clock func() time.Duration) (frontiersim.Cost,
	error) {
	var costs []frontiersim.Cost
	for len(costs) == 0 || urls <= 1_000_000 && len(costs) < 5 {
		q, err := queue()
		if err != nil {
			return frontiersim.Cost{}, err
		}
		costs = append(costs, frontiersim.MeasureCost(q, urls, clock))
	}
	median := costs[0]
	slices.SortFunc(costs, func(a, b frontiersim.Cost) int { return cmp.Compare(a.Enqueue, b.Enqueue) })
	median.Enqueue = costs[len(costs)/2].Enqueue
	slices.SortFunc(costs, func(a, b frontiersim.Cost) int { return cmp.Compare(a.Next, b.Next) })
	median.Next = costs[len(costs)/2].Next
	return median, nil
}

func (s *frontierSimulation) queue(policy frontier.Policy, size int) func() (frontiersim.Queue, error) {
	return func() (frontiersim.Queue, error) {
		o := orders.DefaultOptions()
		o.Policy, o.SlotsB, o.SlotsH = policy, size, size
		return frontiersim.PolicyQueue(o)
	}
}

// writeChart writes path.svg and path.csv.
func writeChart(path string, c *chart.Chart) error {
	for ending, write := range map[string]func(io.Writer) error{".svg": c.WriteSVG, ".csv": c.WriteCSV} {
		if err := writeFile(path+ending, write); err != nil {
			return err
		}
	}
	return nil
}
