// Command cluster runs crawls of a whole cluster in network namespaces, does to each what happens in a lab of PCs, and
// measures that nothing is lost by it.
//
//	cluster [-case NAME,…|all|short] [-seed N] [-parallel N] [-dir DIR]     scenarios, and a table
//	cluster scale [-for D]                                                  pages a minute of 2, 5 and 10 slaves
//	cluster soak [-for D] [-csv FILE]                                       a slave dies every 20 s; memory
//	cluster draw [-csv FILE]                                                the figures of a soak again
//
// A cluster is a master, ten slaves and a web of 500 hosts, each in a network namespace of its own, with a key file,
// since their addresses are not loopback. The web hangs on a bridge, and its access log is the judge (package verdict).
// Master and slaves speak over a hub of this program (cable.go), which loses, delays, doubles and reorders packets and
// cuts any direction of any pair.
//
// It needs root and Linux, ends only what it started, and removes its namespaces whatever happens; what a lab that was
// killed has left is removed by the next.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"henro/.ci/lab/play"
	"henro/store"
	"henro/store/fingerprint"
)

// options are those of the whole run.
type options struct {
	cases    string
	seed     uint64
	parallel int
	dir      string
	hosts    int
	pages    int // of a host
	delay    time.Duration
	lease    time.Duration
	most     time.Duration // a crawl that takes longer hangs
	level    string        // of the logs
	masters  int           // where there are several
	before   string        // commit of the old programs

	span time.Duration // of scale and soak
	csv  string

	bin     string // of this tree's programs
	once    sync.Once
	oldBin  string // of the commit before
	oldName string
	oldErr  error
}

// short are the scenarios of a run for every commit: four minutes on two cores.
var short = []string{"kill", "freeze", "moved", "cut", "master", "shuffle", "disk", "rolling", "stranger", "roll"}

func main() {
	o := &options{}
	verb := ""
	arguments := os.Args[1:]
	if len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		verb, arguments = arguments[0], arguments[1:]
	}
	f := flag.NewFlagSet("cluster", flag.ExitOnError)
	f.StringVar(&o.cases, "case", "short", "scenarios, or all, or short; -case list lists them")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all randomness")
	f.IntVar(&o.parallel, "parallel", 3, "clusters at the same time")
	f.StringVar(&o.dir, "dir", "",
		"keep what the crawls leave here; default: a temporary folder, removed unless one fails")
	f.IntVar(&o.hosts, "hosts", 500, "hosts of the web")
	f.IntVar(&o.pages, "pages", 12, "pages of a host")
	f.DurationVar(&o.delay, "delay", 2*time.Second, "politeness interval")
	f.DurationVar(&o.lease, "lease", 6*time.Second, "length of a lease")
	f.StringVar(&o.level, "log-level", "info", "of the nodes")
	f.IntVar(&o.masters, "masters", 3, "how many there are in scenarios with several")
	f.StringVar(&o.before, "before", "HEAD~1", "commit of the programs that are replaced by this one's")
	f.DurationVar(&o.span, "for", 0, "how long scale measures each size (default 1m), or soak lasts (default 30m)")
	f.StringVar(&o.csv, "csv", "soak.csv", "where soak writes what it measures")
	f.Parse(arguments)
	o.most = 10 * time.Minute
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := o.run(ctx, verb)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context, verb string) (err error) {
	if o.cases == "list" {
		for _, s := range o.scenarios() {
			fmt.Printf("%-11s %s\n", s.name, s.says)
		}
		return nil
	}
	if verb == "draw" {
		return draw(o.csv)
	}
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root: run it as root, or with sudo")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("ip is missing: apt-get install iproute2 (cluster.sh does it)")
	}
	if err := sweep(); err != nil {
		return err
	}
	temporary := o.dir == ""
	if temporary {
		if o.dir, err = os.MkdirTemp("", "henro-cluster"); err != nil {
			return err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	o.bin = filepath.Join(o.dir, "bin")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X main.version=lab", "-o", o.bin+"/",
		"./cmd/henro-master", "./cmd/henro-slave")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	switch verb {
	case "":
		err = o.table(ctx)
	case "scale":
		err = o.scale(ctx)
	case "soak":
		err = o.soak(ctx)
	default:
		return fmt.Errorf("no verb %q: want none, scale or soak", verb)
	}
	if err != nil {
		return fmt.Errorf("%w\nEverything is left in %s; repeat with -seed %d", err, o.dir, o.seed)
	}
	if temporary {
		return remove(o.dir)
	}
	return nil
}

// chosen are the scenarios that were asked for.
func (o *options) chosen() ([]*scenario, error) {
	all := o.scenarios()
	names := strings.Split(o.cases, ",")
	if o.cases == "short" {
		names = short
	}
	if o.cases == "all" {
		return slices.DeleteFunc(all, func(s *scenario) bool { return s.long }), nil
	}
	var some []*scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q; -case list lists them", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// trial is an attempt at a scenario. Later ones have more pages, so that the crawl is not over before anything could be
// done to it.
func (o *options) trial(s *scenario, attempt int) *trial {
	pages := cmp.Or(s.pages, o.pages)
	if pages < 0 { // as many as the time takes, and some
		hosts := min(s.hosts, s.slaves*s.connections) // at a time
		pages = int(cmp.Or(o.span, randomSpan)*5/4/o.delay) * hosts / s.hosts
	}
	return &trial{
		o: o, what: s, seed: o.seed, rnd: rand.New(rand.NewPCG(o.seed, fingerprint.Host(s.name)+uint64(attempt))),
		hosts: cmp.Or(s.hosts, o.hosts), pages: pages + attempt*pages/2,
		dir: filepath.Join(o.dir, fmt.Sprintf("%s-%d", s.name, attempt)),
	}
}

// table plays the scenarios, some at a time, and prints a line for each.
func (o *options) table(ctx context.Context) error {
	some, err := o.chosen()
	if err != nil {
		return err
	}
	for _, s := range some {
		if s.long {
			o.most = time.Hour
		}
	}
	fmt.Printf("seed %d; promised: %s between requests, leases of %s, hosts of the dead wait %s\n", o.seed, o.delay,
		o.lease, o.rule())
	fmt.Printf("%-11s %6s %6s %5s %6s %9s %9s  %s\n", "scenario", "time", "pages", "lost", "twice", "interval",
		"resumed", "")
	if slices.ContainsFunc(some, func(s *scenario) bool { return s.name == "random" }) {
		o.most = 2 * cmp.Or(o.span, randomSpan)
	}
	var trials []func(attempt int) *trial
	for _, s := range some {
		trials = append(trials, func(attempt int) *trial { return o.trial(s, attempt) })
	}
	played, failed := play.All(ctx, o.parallel, trials)
	if err := ctx.Err(); err != nil {
		return err
	}
	tellHandovers(played)
	if failed > 0 {
		return fmt.Errorf("%d of %d scenarios failed", failed, len(some))
	}
	return nil
}

// Line is the trial in the table.
func (t *trial) Line() string {
	c := &t.crawl
	said := strings.TrimPrefix(strings.TrimSuffix(play.Reasons(c.Repeats)+", "+t.told, ", "), ", ")
	return fmt.Sprintf("%-11s %6s %6d %5d %6d %9s %9s  %s: %s", t.what.name, time.Since(t.begun).Round(time.Second),
		c.Pages, c.Lost, c.Twice(),
		play.MS(c.Interval), play.MS(c.Resumed), t.what.says, said)
}

// sameFormat reports whether a commit writes the state in the format of these programs.
func sameFormat(ctx context.Context, commit string) bool {
	text, err := exec.CommandContext(ctx, "git", "show", commit+":store/partition.go").Output()
	return err == nil && strings.Contains(string(text), fmt.Sprintf("\nconst Schema = %d\n", store.Schema))
}

// oldPrograms builds the programs of an earlier commit, or, where the history does not reach so far or the state of
// that commit has another format, these under another version.
func (o *options) oldPrograms(ctx context.Context) (string, error) {
	o.once.Do(func() {
		o.oldBin = filepath.Join(o.dir, "old-bin")
		tree := "."
		o.oldName = "these programs under another version"
		if name, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", o.before).Output(); err == nil &&
			sameFormat(ctx, o.before) {
			tree = filepath.Join(o.dir, "old")
			o.oldName = "from " + strings.TrimSpace(string(name))
			unpack := exec.CommandContext(ctx, "sh", "-c", `mkdir -p "$0" && git archive "$1" | tar -x -C "$0"`, tree,
				o.before)
			if out, err := unpack.CombinedOutput(); err != nil {
				o.oldErr = fmt.Errorf("unpack the commit before: %w: %s", err, out)
				return
			}
		}
		build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-X main.version=before", "-o", o.oldBin+"/",
			"./cmd/henro-master", "./cmd/henro-slave")
		build.Dir = tree
		if out, err := build.CombinedOutput(); err != nil {
			o.oldErr = fmt.Errorf("build the commit before: %w: %s", err, out)
		}
	})
	return o.oldBin, o.oldErr
}
