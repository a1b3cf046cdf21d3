package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/cmd/fakeweb"
	"henro/messages/weburl"
)

// Options say how the experiments are repeated.
type Options struct {
	Dir string // tables, figures, and the crawls while they run
	// how many times as fast time runs. What henro needs between two requests is as many times as long then
	Scale    float64
	Repeats  int    // runs of each setting; the thesis made 3
	Parallel int    // runs at the same time, each of which asks for little of the processors
	Seed     uint64 // which 100 sites each run begins with
	Keep     bool   // leave the crawls of all runs
	Crews    bool   // one master and several only
	Whole    bool   // tasks lent whole beside tasks that are shared only
}

// Validate says what makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.Scale < 1 || o.Scale > 2000:
		return fmt.Errorf("scale %g: want 1 to 2000", o.Scale)
	case o.Repeats < 1 || o.Repeats > 100:
		return fmt.Errorf("repeats %d: want 1 to 100", o.Repeats)
	case o.Parallel < 1 || o.Parallel > 64:
		return fmt.Errorf("%d runs at the same time: want 1 to 64", o.Parallel)
	}
	return nil
}

// setting is one condition of an experiment.
type setting struct {
	name    string
	masters int // each with its slaves, on disjoint seeds
	slaves  int // of each master
	share   int // masters that share the crawl of one; 0: it has it alone
	tasks   int // task URLs
	depth   int
	minutes []int // of the thesis' time, when things are counted
	whole   bool  // a task is one slave's
}

// sample is what was counted in one run, sums over all masters.
type sample struct {
	setting
	repeat int
	at     []count
	twice  int // pages fetched twice, by any slaves
	leases int // that were handed out; with Options.Whole
	drawn  int // tasks
	spent  spending
}

// spending is where the time of the slaves of a run went: shares of all of it. The rest is between two requests.
type spending struct {
	pages, robots float64 // waiting for pages that came, and for robots.txt
	failed        float64 // waiting for what was broken, moved, or did not come
	each          float64 // minutes of the thesis' time that a page took
}

// spent reads from the access log what hosts made the slaves wait for. A host that refuses connections, or whose name
// is not found, costs next to nothing.
func (s *setting) spent(log []fakeweb.Entry, from, to time.Time, scale float64) (all spending) {
	time, pages := to.Sub(from).Seconds()*float64(s.masters*s.slaves), 0.0
	for i := range log {
		e, end := &log[i], log[i].End
		if end.After(to) {
			end = to
		}
		share := max(0, end.Sub(e.Start).Seconds()) / time
		switch {
		case e.Path == "/robots.txt":
			all.robots += share
		case e.Status == 200:
			all.pages += share
			pages++
		default:
			all.failed += share
		}
	}
	all.each = all.pages * time * scale / 60 / pages
	return all
}

// count is what there was at one moment.
type count struct{ pages, links, stopped float64 }

// sites is how many URLs a run begins with: "100 top pages of universities".
const sites = 100

// plan lists the settings: experiment 1, experiment 2 with its two parts, and the crews compared.
func plan() []setting {
	var all []setting
	for _, slaves := range []int{2, 5, 10} {
		all = append(all, setting{"time", 1, slaves, 0, 3, 4, []int{30, 60, 90}, false})
	}
	for i, slaves := range []int{2, 5, 10} {
		for _, tasks := range []int{1, 5, 10} {
			all = append(all, setting{"tasks", 1, slaves, 0, tasks, [...]int{2, 4, 2}[i], []int{60}, false})
		}
	}
	for i, slaves := range []int{2, 5, 10} {
		for _, depth := range []int{2, 4, 6} {
			all = append(all, setting{"depth", 1, slaves, 0, [...]int{1, 3, 5}[i], depth, []int{60}, false})
		}
	}
	return append(all, setting{"crews", 1, 8, 0, 3, 4, []int{60}, false},
		setting{"crews", 4, 2, 0, 3, 4, []int{60}, false},
		setting{"shared", 1, 8, 4, 3, 4, []int{60}, false})
}

// lent lists the settings of Options.Whole: 1 to 8 slaves, at depth 2 and at depth 4.
func lent() (all []setting) {
	for i := range 16 {
		all = append(all, setting{"lent", 1, 1 << (i / 2 % 4), 0, 3, 2 + 2*(i/8), []int{60}, i%2 > 0})
	}
	return all
}

// Run makes all experiments and leaves report.md, runs.csv and the figures in o.Dir, of the runs that have ended when
// the context ends before. It tells progress of each run as it ends.
func Run(ctx context.Context, o Options, progress io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	settings := plan()
	if o.Crews {
		settings = slices.DeleteFunc(settings, func(s setting) bool { return s.name != "crews" && s.name != "shared" })
	}
	if o.Whole {
		settings = lent()
	}
	samples := make([]sample, o.Repeats*len(settings))
	var mu sync.Mutex
	done := 0
	used, machine, begun := processor(), readMachine(), time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Parallel)
	for i := range samples {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s := settings[i%len(settings)]
			got, err := o.run(ctx, s, i/len(settings))
			if err != nil {
				return fmt.Errorf("%s, %d × %d slaves: %w", s.name, s.masters, s.slaves, err)
			}
			samples[i] = got
			mu.Lock()
			defer mu.Unlock()
			done++
			last := samples[i].at[len(s.minutes)-1]
			fmt.Fprintf(progress,
				"%3d of %d  %-6s %d × %2d slaves, %2d task URLs, depth %d: %5.0f pages, %6.0f links, %4.0f "+
					"stop-listed, %d twice\n",
				done, len(samples), s.name, s.masters, s.slaves, s.tasks, s.depth, last.pages, last.links, last.stopped,
				samples[i].twice)
			return nil
		})
	}
	err := group.Wait()
	samples = slices.DeleteFunc(samples, func(s sample) bool { return s.repeat == 0 }) // interrupted, or never begun
	if len(samples) == 0 {
		return err
	}
	load := readMachine().since(machine)
	load.own = (processor() - used).Seconds() / time.Since(begun).Seconds()
	return errors.Join(err, o.report(samples, len(settings)*o.Repeats, load))
}

// scaled is a stretch of the thesis' time as it passes here.
func (o *Options) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) / o.Scale) }

// run crawls a web of its own under one setting.
func (o *Options) run(ctx context.Context, s setting, repeat int) (got sample, err error) {
	web := fakeweb.ThesisOptions(o.Scale)
	web.LogEntries = 1 << 18
	w, err := fakeweb.New(web)
	if err != nil {
		return got, err
	}
	defer w.Close()
	listening, err := w.Listen(ctx, fakeweb.ListenOptions{})
	if err != nil {
		return got, err
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	silent, leases := logrus.NewEntry(quiet), &leaseCount{}
	policy := "thesis"
	if s.whole {
		policy = "thesis-whole"
	}
	if o.Whole {
		quiet.SetLevel(logrus.DebugLevel)
		quiet.AddHook(leases)
	}
	dir := filepath.Join(o.Dir, fmt.Sprintf("%s-%dx%d-t%d-d%d-%v-%d", s.name, s.masters, s.slaves, s.tasks, s.depth,
		s.whole, repeat+1))
	if err := os.RemoveAll(dir); err != nil {
		return got, err
	}
	flags := []string{
		"--frontier", policy, "--depth", fmt.Sprint(s.depth),
		"--stop-after", "1", "--requisites", "off",
		"--scope", "any", "--allow-private", "--delay", "0", "--retries", "0",
		"--page-budget", "40", "--fetch-timeout", o.scaled(time.Minute).String(),
	}
	for _, at := range listening.Resolve() {
		flags = append(flags, "--resolve", at)
	}
	got = sample{setting: s, repeat: repeat + 1, at: make([]count, len(s.minutes))}
	var crews []*crew
	defer func() {
		for _, c := range crews {
			err = errors.Join(err, c.dismiss())
		}
		if err == nil && !o.Keep {
			err = os.RemoveAll(dir)
		}
	}()
	for i := range s.masters {
		c, failed := hire(ctx, work{dir: filepath.Join(dir, fmt.Sprint(i+1)), flags: flags, tasks: s.tasks,
			slaves: s.slaves, share: s.share, flush: o.scaled(5 * time.Second)}, silent)
		if failed != nil {
			return got, failed
		}
		crews = append(crews, c)
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ends := make([]<-chan error, len(crews))
	seeds := o.seeds(listening.Seeds(), repeat)
	for i, c := range crews {
		var mine []reading.Seed
		for j := i; j < len(seeds); j += len(crews) {
			mine = append(mine, reading.Seed{URL: weburl.MustParse(seeds[j]), Depth: s.depth})
		}
		ends[i] = c.begin(working, mine)
	}
	begun := time.Now()
	for i, minutes := range s.minutes {
		select {
		case <-time.After(time.Until(begun.Add(o.scaled(time.Duration(minutes) * time.Minute)))):
		case <-ctx.Done():
			return got, ctx.Err()
		}
		for _, c := range crews {
			status, failed := c.status(ctx)
			if failed != nil {
				return got, failed
			}
			t := &status.Totals
			got.drawn += status.Tasks
			got.at[i].pages += float64(t.Pages)
			got.at[i].links += float64(t.Links)
			// not what is left alone beside them
			got.at[i].stopped += float64(t.Broken + t.StopListed - t.Skipped[admission.StopList])
		}
	}
	ended := time.Now()
	stop()
	for _, end := range ends {
		err = errors.Join(err, <-end)
	}
	log := w.Log()
	got.leases = int(leases.n.Load())
	got.twice, got.spent = twice(log), s.spent(log, begun, ended, o.Scale)
	return got, err
}

// leaseCount counts the leases that a master tells its log of.
type leaseCount struct{ n atomic.Int64 }

// Levels implements logrus.Hook.
func (*leaseCount) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (c *leaseCount) Fire(line *logrus.Entry) error {
	if line.Message == "host lent" {
		c.n.Add(1)
	}
	return nil
}

// seeds draws the sites that a run begins with; those of one repeat are the same under all settings.
func (o *Options) seeds(all []string, repeat int) []string {
	rnd := rand.New(rand.NewPCG(o.Seed, uint64(repeat)))
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(sites, len(all))]
}

// twice counts the requests of what was asked for before.
func twice(log []fakeweb.Entry) (n int) {
	for _, times := range fakeweb.Repeats(log) {
		n += times - 1
	}
	return n
}
