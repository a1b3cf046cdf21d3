package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"henro/.ci/lab/play"
	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
	"henro/cmd/fakeweb"
	"henro/master"
)

// round is one crawl to which something is done.
type round struct {
	o      *options
	name   string
	number int
	seed   uint64
	rnd    *rand.Rand
	dir    string
	bin    string

	ctx       context.Context
	begun     time.Time
	web       *fakeweb.Web
	listening *fakeweb.Listening
	flags     []string // of the crawl
	processes process.Group
	crawl     verdict.Crawl
	told      string // what was done

	gossip, actors, api string            // addresses of the master
	panics              map[string]string // by process, where it is to panic
	archives            []string
	masters             string // address of the master's consensus; empty: it stays alone
	state               string // that is judged; empty: the master's
}

const (
	depth     = 5
	slaves    = 3
	crawlMost = 5 * time.Minute // a crawl that takes longer hangs
)

func (r *round) path(name string) string { return filepath.Join(r.dir, name) }

func (r *round) note(format string, args ...any) {
	r.told = strings.TrimPrefix(r.told+", "+fmt.Sprintf(format, args...), ", ")
}

// Line is the round in the table.
func (r *round) Line() string {
	v := &r.crawl
	return fmt.Sprintf("%-10s %5d  %6d %6d %8s %8s  %s", r.name, r.number, v.Pages, v.Twice(), play.MS(v.Interval),
		play.MS(v.Resumed), r.told)
}

// Play plays the round, and judges.
func (r *round) Play(ctx context.Context) (err error) {
	r.ctx = ctx
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if err := r.serve(); err != nil {
		return err
	}
	defer r.web.Close()
	defer r.processes.End()
	r.begun = time.Now()
	if err := actions[r.name](r); err != nil {
		return err
	}
	r.processes.End()
	r.crawl.State, r.crawl.Archives = cmp.Or(r.state, r.path("crawl/state")), r.archives
	err = r.crawl.Judge()
	r.note("%d payloads stored once", r.crawl.Revisits)
	if r.crawl.Stood > 0 {
		r.note("its hosts went on %s after", play.MS(r.crawl.Stood))
	}
	return err
}

// serve makes the web: redirects, errors, every sort of robots.txt, links between hosts, hosts that differ in size.
func (r *round) serve() (err error) {
	r.web, err = fakeweb.New(fakeweb.Options{
		Seed: r.seed, Hosts: 14, Domains: 7, Pages: 36, Degree: 8, CrossShare: 0.15, RedirectShare: 0.1,
		PageBytes: 8 << 10, TemplateBytes: 4 << 10, // stored once, whichever process dies
		Latency: fakeweb.Latency{Mean: 20 * time.Millisecond, Spread: 0.5, Jitter: 0.3},
		Errors:  fakeweb.Errors{NotFound: 0.04, Gone: 0.02, Internal: 0.02},
		Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.25, Closed: 0.07, Delayed: 0.1,
			Delay: 300 * time.Millisecond, Redirected: 0.1},
		Japanese:   0.3,
		LogFile:    r.path("access.log"),
		LogEntries: 1 << 16,
	})
	if err != nil {
		return err
	}
	if r.listening, err = r.web.Listen(context.WithoutCancel(r.ctx), fakeweb.ListenOptions{}); err != nil {
		return err
	}
	r.processes.Dir = r.dir
	r.crawl = verdict.Crawl{Web: r.web, Port: r.listening.Port, Seeds: r.listening.Seeds(), Depth: depth,
		Delay: r.o.delay, Requisites: true}
	seeds := r.path("seeds.txt")
	if err := os.WriteFile(seeds, []byte(strings.Join(r.listening.Seeds(), "\n")+"\n"), 0o644); err != nil {
		return err
	}
	r.flags = []string{
		"--allow-private", "--delay", r.o.delay.String(), "--fetch-timeout", r.o.lease.String(),
		"--depth", fmt.Sprint(depth), "--page-budget", "40", "--seeds", seeds, "--log-level", "debug",
		"--dir", r.path("crawl"),
	}
	for _, line := range r.listening.Resolve() {
		r.flags = append(r.flags, "--resolve", line)
	}
	return nil
}

// moment is a random one of the crawl, which takes the time of some 40 pages of a host.
func (r *round) moment() time.Duration {
	return 300*time.Millisecond + r.between(0, 40*(r.o.delay+25*time.Millisecond))
}

func (r *round) between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.rnd.Int64N(int64(most-least)))
}

// signal does to the process what the round is about; note is the name for it.
func (r *round) signal(p *process.Process, what syscall.Signal, note string) error {
	r.note("%s %s at %s", note, p.Name, play.MS(time.Since(r.begun)))
	return p.Signal(what)
}

// kill ends a process without a word, and returns when.
func (r *round) kill(p *process.Process) (time.Time, error) {
	r.note("killed %s at %s", p.Name, play.MS(time.Since(r.begun)))
	at, err := p.Kill()
	r.crawl.Events = append(r.crawl.Events, verdict.Event{From: at, To: time.Now()})
	return at, err
}

// killCrawl ends henro crawl in the middle, and what is started in its place too, sometimes.
func killCrawl(r *round) error {
	r.archives = []string{r.path("crawl/warc")}
	arguments := append([]string{"crawl", "--progress", "off", "--listen-http", "off", "--connections", "16"},
		r.flags...)
	p, err := r.processes.Start("crawl", r.bin+"/henro", arguments...)
	if err != nil {
		return err
	}
	for kills := 1 + r.rnd.IntN(3); kills > 0; kills-- {
		if err := p.Pause(r.ctx, r.moment()/time.Duration(kills)); err != nil {
			return err
		}
		if _, err := r.kill(p); err != nil {
			return err
		}
		if p, err = r.processes.Start("crawl", r.bin+"/henro", arguments...); err != nil {
			return err
		}
		r.crawl.SinceStart = append(r.crawl.SinceStart, p.Begun)
	}
	return p.Await(r.ctx, crawlMost, 0)
}

func (r *round) startMaster() (*process.Process, error) {
	flags := r.flags
	if r.masters != "" {
		flags = append([]string{"--masters", r.masters}, flags...)
	}
	return r.start("master", "henro-master",
		append([]string{"--name", "master", "--gossip", r.gossip, "--actors", r.actors, "--listen-http", r.api},
			flags...)...)
}

// start starts a program, which panics if the round wants it to.
func (r *round) start(name, program string, arguments ...string) (*process.Process, error) {
	if at := r.panics[name]; at != "" {
		arguments = append([]string{"PANIC_AT=" + at, r.bin + "/" + program}, arguments...)
		return r.processes.Start(name, "/usr/bin/env", arguments...)
	}
	return r.processes.Start(name, r.bin+"/"+program, arguments...)
}

// slaveAt are addresses that a slave keeps when it comes back; without them it takes what is free.
func (r *round) startSlave(i int, addresses ...string) (*process.Process, error) {
	if len(addresses) == 0 {
		addresses = []string{"127.0.0.1:0", "127.0.0.1:0"}
	}
	name := fmt.Sprintf("slave%d", i)
	return r.start(name, "henro-slave", "--join", r.gossip, "--name", name, "--dir", r.path(name),
		"--connections", "8", "--log-level", "debug",
		"--gossip", addresses[0], "--actors", addresses[1])
}

// cluster is a master and its slaves.
type cluster struct {
	master    *process.Process
	slaves    [slaves]*process.Process
	addresses [slaves][]string
}

func (r *round) startCluster() (*cluster, error) {
	c := &cluster{}
	for _, to := range []*string{&r.gossip, &r.actors, &r.api} {
		var err error
		if *to, err = process.FreePort(); err != nil {
			return nil, err
		}
	}
	var err error
	if c.master, err = r.startMaster(); err != nil {
		return nil, err
	}
	for i := range c.slaves {
		for range 2 {
			address, err := process.FreePort()
			if err != nil {
				return nil, err
			}
			c.addresses[i] = append(c.addresses[i], address)
		}
		if c.slaves[i], err = r.startSlave(i, c.addresses[i]...); err != nil {
			return nil, err
		}
		r.archives = append(r.archives, r.path(fmt.Sprintf("slave%d/warc", i)))
	}
	return c, nil
}

// finish waits for the end of the crawl and ends the slaves in order. A slave that was killed is started once more,
// since its WARC file was left open: the next start repairs it.
func (r *round) finish(c *cluster) error {
	if err := c.master.Await(r.ctx, crawlMost, 0); err != nil {
		return err
	}
	for i, p := range c.slaves {
		if !p.Running() {
			var err error
			if c.slaves[i], err = r.startSlave(i); err != nil {
				return err
			}
		}
	}
	return process.EndSlaves(r.ctx, c.slaves[:]...)
}

// back starts a slave again under its name, where it was or elsewhere.
func (r *round) back(c *cluster, i int) (err error) {
	if r.rnd.IntN(2) == 0 {
		r.note("back")
		c.slaves[i], err = r.startSlave(i, c.addresses[i]...)
	} else {
		r.note("back elsewhere")
		c.slaves[i], err = r.startSlave(i)
	}
	return err
}

func killSlave(r *round) error {
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	if err := c.master.Pause(r.ctx, time.Second+r.moment()); err != nil {
		return err
	}
	i := r.rnd.IntN(slaves)
	at, err := r.kill(c.slaves[i])
	if err != nil {
		return err
	}
	r.crawl.Death, r.crawl.Rule = at, r.o.lease+verdict.Margin
	if r.number%2 == 1 {
		if err := c.master.Pause(r.ctx, time.Second); err != nil && !errors.Is(err, process.ErrEarly) {
			return err
		}
		if err := r.back(c, i); err != nil {
			return err
		}
	}
	return r.finish(c)
}

func killMaster(r *round) error {
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	if err := c.master.Pause(r.ctx, time.Second+r.moment()); err != nil {
		return err
	}
	if _, err := r.kill(c.master); err != nil {
		return err
	}
	down := r.between(0, 3*time.Second)
	if r.number%4 == 3 {
		// every slave's leases end meanwhile, and the gossip has lost the master
		down = r.o.lease + verdict.Margin + 3*time.Second
	}
	r.note("down for %s", play.MS(down))
	time.Sleep(down)
	if c.master, err = r.startMaster(); err != nil {
		return err
	}
	r.awaitProgress(c)
	return r.finish(c)
}

// awaitProgress measures how long it takes a master to store the first page after its start.
func (r *round) awaitProgress(c *cluster) {
	r.crawl.AwaitProgress(r.ctx, c.master.Begun, c.running(), c.master.Running, r.status)
}

// running is how many slaves run.
func (c *cluster) running() (n int) {
	for _, p := range c.slaves {
		if p.Running() {
			n++
		}
	}
	return n
}

func (r *round) status(ctx context.Context) (*master.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.api+"/api/status", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	s := &master.Status{}
	return s, json.NewDecoder(response.Body).Decode(s)
}

// freezeSlave stops a slave for longer than its lease. When it wakes, its hosts are with others, and it must see that
// at once.
func freezeSlave(r *round) error {
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	if err := c.master.Pause(r.ctx, time.Second+r.moment()/2); err != nil {
		return err
	}
	p := c.slaves[r.rnd.IntN(slaves)]
	from := time.Now()
	if err := r.signal(p, syscall.SIGSTOP, "froze"); err != nil {
		return err
	}
	r.crawl.Death, r.crawl.Rule = from, r.o.lease+verdict.Margin
	time.Sleep(r.o.lease + verdict.Margin + r.between(500*time.Millisecond, 3*time.Second))
	r.crawl.Events = append(r.crawl.Events, verdict.Event{From: from, To: time.Now()})
	if err := r.signal(p, syscall.SIGCONT, "thawed"); err != nil {
		return err
	}
	return r.finish(c)
}

// endInOrder asks a slave to end, and later the master: nothing at all is fetched twice.
func endInOrder(r *round) error {
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	if err := c.master.Pause(r.ctx, time.Second+r.moment()/3); err != nil {
		return err
	}
	i := r.rnd.IntN(slaves)
	if err := r.signal(c.slaves[i], syscall.SIGTERM, "asked to end:"); err != nil {
		return err
	}
	if err := c.slaves[i].Await(r.ctx, process.Patience, 0); err != nil {
		return err
	}
	if err := verdict.NoneOpen(r.archives[i]); err != nil {
		return err
	}
	if err := r.back(c, i); err != nil {
		return err
	}
	if err := c.master.Pause(r.ctx, r.moment()/3); err != nil {
		return err
	}
	if err := r.signal(c.master, syscall.SIGTERM, "asked to end:"); err != nil {
		return err
	}
	if err := c.master.Await(r.ctx, process.Patience, 130); err != nil {
		return err
	}
	if c.master, err = r.startMaster(); err != nil {
		return err
	}
	r.awaitProgress(c)
	return r.finish(c)
}

// endAtOnce asks a slave to end while its master is away, so that it cannot give its hosts back, and then once more.
func endAtOnce(r *round) error {
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	if err := c.master.Pause(r.ctx, time.Second+r.moment()/2); err != nil {
		return err
	}
	if _, err := r.kill(c.master); err != nil {
		return err
	}
	i := r.rnd.IntN(slaves)
	from := time.Now()
	if err := r.signal(c.slaves[i], syscall.SIGTERM, "asked to end:"); err != nil {
		return err
	}
	time.Sleep(time.Second)
	again := c.slaves[i].Running()
	if !again {
		r.note("had nothing to give back")
	}
	for range 3 { // on a slow machine the first is still being heard when the second comes
		if !c.slaves[i].Running() {
			break
		}
		if err := r.signal(c.slaves[i], syscall.SIGTERM, "asked again:"); err != nil &&
			!errors.Is(err, process.ErrEarly) {
			return err
		}
		time.Sleep(time.Second)
	}
	if err := c.slaves[i].AwaitEnd(r.ctx, process.Patience); err != nil {
		return err
	}
	if code := c.slaves[i].Code(); again && code >= 0 { // it came to its end by itself
		return fmt.Errorf("%s went on after a second signal, and ended with code %d", c.slaves[i].Name, code)
	}
	r.crawl.Events = append(r.crawl.Events, verdict.Event{From: from, To: time.Now()})
	if c.master, err = r.startMaster(); err != nil {
		return err
	}
	r.awaitProgress(c)
	return r.finish(c)
}

// panicAtOnce makes an actor of the master and one of a slave panic, of kinds that may not restart. Each process ends
// with the exit code for that and one line in its log, and goes on from its disk when it is started again.
func panicAtOnce(r *round) error {
	i := r.rnd.IntN(slaves)
	name := fmt.Sprintf("slave%d", i)
	ofMaster, ofSlave := []string{"master", "hosts", "partition", "committer"}, []string{"archivist", "binder"}
	r.panics = map[string]string{
		"master": fmt.Sprintf("%s:%d", ofMaster[r.rnd.IntN(len(ofMaster))], 20+r.rnd.IntN(30)),
		name:     fmt.Sprintf("%s:%d", ofSlave[r.rnd.IntN(len(ofSlave))], 4+r.rnd.IntN(8)),
	}
	r.note("master panics at %s, %s at %s", r.panics["master"], name, r.panics[name])
	c, err := r.startCluster()
	if err != nil {
		return err
	}
	clear(r.panics)
	if err := r.awaitPanic(c.master); err != nil {
		return err
	}
	if c.master, err = r.startMaster(); err != nil {
		return err
	}
	r.awaitProgress(c)
	select {
	case <-c.slaves[i].Over:
	case <-c.master.Over: // the others have done the crawl, before it had so much to store
		return fmt.Errorf("the crawl: %w", process.ErrEarly)
	case <-r.ctx.Done():
	}
	if err := r.awaitPanic(c.slaves[i]); err != nil {
		return err
	}
	if err := r.back(c, i); err != nil {
		return err
	}
	return r.finish(c)
}

// exitPanicked is config.ExitPanicked.
const exitPanicked = 5

// awaitPanic waits until a process has panicked.
func (r *round) awaitPanic(p *process.Process) error {
	if err := p.AwaitEnd(r.ctx, crawlMost); err != nil {
		return err
	}
	r.crawl.Events = append(r.crawl.Events, verdict.Event{From: p.Ended.Add(-time.Second), To: p.Ended})
	lines := strings.Count(p.Log(), "an actor panicked")
	if code := p.Code(); code != exitPanicked || lines != 1 {
		return fmt.Errorf("%s ended with code %d and %d lines about it, want %d and one", p.Name, code, lines,
			exitPanicked)
	}
	return nil
}
