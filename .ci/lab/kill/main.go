// Command kill ends the processes of a crawl at random moments, and measures that nothing is lost by it.
//
//	kill [-rounds N] [-case NAME,…] [-seed N] [-parallel N] [-dir DIR]
//
// Each round serves a made-up web from this process, whose access log so survives every death, crawls it with the real
// programs, and does one thing to them in the middle:
//
//	crawl    henro crawl dies by SIGKILL, once to three times, and is started again on its directory
//	slave    one of three slaves dies; in every other round it comes back under its name, at its old
//	         address or at another
//	master   the master dies and is started again after up to three seconds
//	freeze   a slave is stopped for longer than its lease and then goes on
//	term     a slave is asked to end, comes back elsewhere, and then the master is asked to end and started again
//	impatient a slave is asked to end twice at once
//	panic    an actor of the master and one of a slave panic; the process of each ends with exit code 5 and one line,
//	         and is started again
//	leader   of three masters the one that leads dies, and in every other round comes back; the states of all masters
//	         that are there at the end hold the same
//	frozen   of three masters the one that leads is stopped, and goes on up to three seconds after another has stored
//	         a page
//
// At the end of a round the pages in the state are exactly those that the web says a correct crawl fetches, no record
// of any WARC file is damaged, each page with a response has its capture, no two requests to a host overlapped, none
// came before the host's interval was over, and whatever was fetched twice has a reason. The seed is printed; -seed
// repeats the web and the moments, though not what the scheduler makes of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"henro/.ci/lab/play"
	"henro/store/fingerprint"
)

// options are those of the whole run.
type options struct {
	rounds   int
	cases    string
	seed     uint64
	parallel int
	dir      string
	delay    time.Duration
	lease    time.Duration
}

// actions are what may be done to a crawl, by name.
var actions = map[string]func(*round) error{
	"crawl": killCrawl, "slave": killSlave, "master": killMaster, "freeze": freezeSlave, "term": endInOrder,
	"impatient": endAtOnce, "panic": panicAtOnce, "leader": killLeader,
	"frozen": freezeLeader,
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 10, "rounds of each case")
	flag.StringVar(&o.cases, "case", "crawl,slave,master", "cases, or all")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of all randomness")
	flag.IntVar(&o.parallel, "parallel", 3, "rounds at the same time")
	flag.StringVar(&o.dir, "dir", "",
		"keep what the crawls leave here; default: a temporary folder, removed unless a round fails")
	flag.DurationVar(&o.delay, "delay", 200*time.Millisecond, "politeness interval")
	flag.DurationVar(&o.lease, "lease", 6*time.Second, "length of a lease")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "kill:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) (err error) {
	temporary := o.dir == ""
	if temporary {
		if o.dir, err = os.MkdirTemp("", "henro-kill"); err != nil {
			return err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	names := strings.Split(o.cases, ",")
	if o.cases == "all" {
		names = []string{"crawl", "slave", "master", "freeze", "term", "impatient", "panic", "leader", "frozen"}
	}
	var rounds []func(attempt int) *round
	for number := range o.rounds {
		for _, name := range names {
			if actions[name] == nil {
				return fmt.Errorf("no case %q", name)
			}
			seed := o.seed + uint64(number)
			rounds = append(rounds, func(attempt int) *round {
				return &round{
					o: o, name: name, number: number, seed: seed, rnd: rand.New(rand.NewPCG(seed,
						fingerprint.Host(name)+uint64(attempt))),
					dir: filepath.Join(o.dir, fmt.Sprintf("%s%d-%d", name, number, attempt)),
					bin: filepath.Join(o.dir, "bin"),
				}
			})
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", "panics", "-o", filepath.Join(o.dir, "bin")+"/",
		"./cmd/henro", "./cmd/henro-master", "./cmd/henro-slave")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	fmt.Printf("seed %d, %d rounds, in %s\n", o.seed, len(rounds), o.dir)
	fmt.Printf("%-10s %5s  %6s %6s %8s %8s  %s\n", "case", "round", "pages", "twice", "interval", "resumed", "")
	played, failed := play.All(ctx, o.parallel, rounds)
	if err := ctx.Err(); err != nil {
		return err
	}
	summarize(played)
	if failed > 0 {
		return fmt.Errorf("%d of %d rounds failed; everything is left in %s; repeat with -seed %d", failed, len(rounds),
			o.dir, o.seed)
	}
	if temporary {
		return os.RemoveAll(o.dir)
	}
	return nil
}

// summarize prints a line for each case.
func summarize(rounds []*round) {
	type sum struct {
		rounds, pages int
		reasons       map[string]int
		interval      time.Duration
		resumed       []time.Duration
	}
	sums := map[string]*sum{}
	var names []string
	for _, r := range rounds {
		s := sums[r.name]
		if s == nil {
			s = &sum{reasons: map[string]int{}, interval: time.Hour}
			sums[r.name] = s
			names = append(names, r.name)
		}
		s.rounds++
		s.pages += r.crawl.Pages
		for reason, n := range r.crawl.Repeats {
			s.reasons[reason] += n
		}
		s.interval = min(s.interval, r.crawl.Interval)
		s.resumed = append(s.resumed, r.crawl.Resumed)
	}
	fmt.Printf("\n%-10s %6s %7s %14s %15s %15s  %s\n", "case", "rounds", "pages", "least interval", "resumed median",
		"resumed longest", "fetched twice")
	for _, name := range names {
		s := sums[name]
		slices.Sort(s.resumed)
		fmt.Printf("%-10s %6d %7d %14s %15s %15s  %s\n", name, s.rounds, s.pages, play.MS(s.interval),
			play.MS(s.resumed[len(s.resumed)/2]), play.MS(s.resumed[len(s.resumed)-1]), play.Reasons(s.reasons))
	}
}
