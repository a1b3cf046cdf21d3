package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"henro/.ci/lab/play"
	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
	"henro/cluster"
	"henro/cmd/fakeweb"
	"henro/master"
)

// trial is one crawl to which something is done, in namespaces of its own: the web on a bridge, and beside it the hub
// on which master and slaves speak with each other.
type trial struct {
	o     *options
	what  *scenario
	seed  uint64
	rnd   *rand.Rand
	hosts int
	pages int // of a host
	dir   string
	begun time.Time

	hub       *hub
	webSpace  *namespace
	web       *fakeweb.Web
	listening *fakeweb.Listening
	expected  int // pages of a correct crawl
	key       string
	config    string // henro.yaml of the master

	master    *node   // that leads
	masters   []*node // all of them
	slaves    []*node
	processes process.Group
	handovers []handover // from a leader that was lost
	crawl     verdict.Crawl
	told      string
	undo      []func() error // at the end, the last first
}

// node is a place for one process: a namespace with a foot in the web and one on the hub, and a directory.
type node struct {
	*process.Process
	t     *trial
	name  string
	role  string // of the program: henro-master, henro-slave
	bin   string
	space *namespace
	port  *port
	lan   netip.Addr // as the other nodes see it
	join  netip.Addr // of a master, where it looks for the others; none: they come
	stays bool       // a standby master
	heard int64      // bytes of its log that were read
	web   netip.Addr // as the web sees it
	dir   string
	clock *clock // nil: the machine's own
}

const (
	depth      = 5
	gossipPort = 7781
	actorsPort = 7782
	groupPort  = 7783 // of several masters
	apiAddress = "127.0.0.1:7780"
	webPort    = 8080
)

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

func (t *trial) note(format string, args ...any) {
	t.told = strings.TrimPrefix(t.told+", "+fmt.Sprintf(format, args...), ", ")
}

// setUp builds the networks.
func (t *trial) setUp(ctx context.Context) error {
	t.begun = time.Now()
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	t.processes.Dir = t.dir
	return t.build(ctx)
}

// tearDown ends the processes and removes the networks.
func (t *trial) tearDown(err *error) {
	t.processes.End()
	for i := len(t.undo) - 1; i >= 0; i-- {
		*err = errors.Join(*err, t.undo[i]())
	}
}

// Play runs the scenario, and judges.
func (t *trial) Play(ctx context.Context) (err error) {
	defer t.tearDown(&err)
	if err := t.setUp(ctx); err != nil {
		return err
	}
	if err := t.what.run(ctx, t); err != nil {
		return err
	}
	if err := t.finish(ctx); err != nil {
		return err
	}
	t.processes.End()
	t.crawl.State, t.crawl.Archives = filepath.Join(t.masters[0].dir, "state"), nil
	for _, s := range t.slaves {
		t.crawl.Archives = append(t.crawl.Archives, filepath.Join(s.dir, "warc"))
	}
	err = errors.Join(t.crawl.Judge(), t.noPanic(), t.judgeGroup())
	if t.crawl.Stood > 0 {
		t.note("hosts stood still for %s", play.MS(t.crawl.Stood))
	}
	if t.what.once && t.crawl.Twice() > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d pages", verdict.ErrTwice, t.crawl.Twice()))
	}
	return err
}

// build makes the networks, the web, the key and the places of the nodes.
func (t *trial) build(ctx context.Context) (err error) {
	if t.webSpace, err = newNamespace(t.what.name + "-web"); err != nil {
		return err
	}
	t.undo = append(t.undo, t.webSpace.remove)
	if err := ip(t.webSpace.name, "link add br0 type bridge", "link set br0 up",
		fmt.Sprintf("addr add %s/16 dev br0", webAddress(0))); err != nil {
		return err
	}
	t.hub = newHub(t.seed)
	t.undo = append(t.undo, func() error { t.hub.close(); return nil })
	if err := t.serve(ctx); err != nil {
		return err
	}
	text, err := cluster.NewKeys().MarshalText()
	if err != nil {
		return err
	}
	t.key = t.path("cluster.key")
	if err := os.WriteFile(t.key, text, 0o600); err != nil {
		return err
	}
	if t.master, err = t.place("master", "henro-master", 1); err != nil {
		return err
	}
	for i := range t.what.slaves {
		s, err := t.place(fmt.Sprintf("slave%d", i), "henro-slave", i+2)
		if err != nil {
			return err
		}
		t.slaves = append(t.slaves, s)
	}
	t.masters = []*node{t.master}
	for i := 1; i < t.what.masters; i++ {
		m, err := t.place(fmt.Sprintf("standby%d", i), "henro-master", 150+i)
		if err != nil {
			return err
		}
		m.stays = true
		t.masters = append(t.masters, m)
	}
	return nil
}

// place makes the namespace of a node.
func (t *trial) place(name, role string, i int) (*node, error) {
	space, err := newNamespace(t.what.name + "-" + name)
	if err != nil {
		return nil, err
	}
	t.undo = append(t.undo, space.remove)
	n := &node{t: t, name: name, role: role, bin: t.o.bin, space: space, lan: lanAddress(i), web: webAddress(i),
		dir: t.path(name)}
	err = ip(t.webSpace.name, fmt.Sprintf("link add v%d type veth peer name web netns %s", i, space.name),
		fmt.Sprintf("link set v%d master br0 up", i))
	if err == nil {
		err = ip(space.name, fmt.Sprintf("addr add %s/16 dev web", n.web), "link set web up")
	}
	if err == nil {
		n.port, err = t.hub.plug(space, n.lan)
	}
	return n, errors.Join(err, os.MkdirAll(n.dir, 0o755))
}

// serve makes the web: redirects, errors, every sort of robots.txt, links between hosts.
func (t *trial) serve(ctx context.Context) (err error) {
	web := fakeweb.Options{
		Seed: t.seed, Hosts: t.hosts, Domains: max(1, t.hosts/5), Pages: t.pages, Degree: 8, CrossShare: 0.15,
		RedirectShare: 0.1, PageBytes: 4 << 10,
		Latency: fakeweb.Latency{Mean: 20 * time.Millisecond, Spread: 0.5, Jitter: 0.3},
		Errors:  fakeweb.Errors{NotFound: 0.04, Gone: 0.02, Internal: 0.02},
		Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.25, Closed: 0.02, Delayed: 0.1, Delay: t.o.delay * 5 / 4,
			Redirected: 0.1},
		Japanese:   0.3,
		LogFile:    t.path("access.log"),
		LogEntries: 1 << 20,
	}
	if t.what.shape != nil {
		t.what.shape(&web)
	}
	if t.web, err = fakeweb.New(web); err != nil {
		return err
	}
	t.undo = append(t.undo, t.web.Close)
	err = t.webSpace.do(func() (err error) {
		t.listening, err = t.web.Listen(context.WithoutCancel(ctx),
			fakeweb.ListenOptions{First: webAddress(0), Port: webPort})
		return err
	})
	if err != nil {
		return err
	}
	t.crawl = verdict.Crawl{Web: t.web, Port: webPort, Seeds: t.listening.Seeds(), Depth: depth, Delay: t.o.delay}
	if t.what.run != nil { // it counts them
		truth, err := t.web.Reachable(fakeweb.Crawl{Seeds: t.crawl.Seeds, Depth: depth})
		if err != nil {
			return err
		}
		t.expected = len(truth.Fetched)
	}
	t.config = t.path("henro.yaml")
	settings := "resolve:\n  - " + strings.Join(t.listening.Resolve(), "\n  - ") + "\n"
	return errors.Join(os.WriteFile(t.config, []byte(settings), 0o644),
		os.WriteFile(t.path("seeds.txt"), []byte(strings.Join(t.crawl.Seeds, "\n")+"\n"), 0o644))
}

// command is how the node's program is started.
func (n *node) command() []string {
	t := n.t
	arguments := []string{"--name", n.name, "--dir", n.dir, "--key", t.key, "--log-level", t.o.level, "--listen-http",
		apiAddress,
		"--gossip", netip.AddrPortFrom(n.lan, gossipPort).String(), "--actors",
		netip.AddrPortFrom(n.lan, actorsPort).String()}
	if len(t.masters) > 1 {
		arguments = append(arguments, n.amongMasters()...)
	}
	if n.role == "henro-master" {
		if n.join.IsValid() {
			arguments = append(arguments, "--join", netip.AddrPortFrom(n.join, gossipPort).String())
		}
		return append(arguments, "--config", t.config, "--seeds", t.path("seeds.txt"), "--allow-private",
			"--delay", t.o.delay.String(), "--fetch-timeout", t.o.lease.String(), "--depth",
			fmt.Sprint(depth), "--page-budget", "40")
	}
	if len(t.masters) == 1 {
		arguments = append(arguments, "--join", netip.AddrPortFrom(t.master.lan, gossipPort).String())
	}
	return append(arguments, "--connections", fmt.Sprint(t.what.connections))
}

// start begins the node's program in its namespace.
func (n *node) start() error {
	return n.space.do(func() (err error) {
		program := filepath.Join(n.bin, n.role)
		if n.clock == nil {
			n.Process, err = n.t.processes.Start(n.name, program, n.command()...)
		} else {
			n.Process, err = n.t.processes.StartTraced(n.clock.wind, n.name, program, n.command()...)
		}
		return err
	})
}

// startAll begins the masters and all slaves.
func (t *trial) startAll() error {
	for _, n := range slices.Concat(t.masters, t.slaves) {
		if err := n.start(); err != nil {
			return err
		}
	}
	return nil
}

// status asks the master, in its namespace.
func (t *trial) status(ctx context.Context) (*master.Status, error) {
	s := &master.Status{}
	return s, t.ask(ctx, http.MethodGet, "/api/status", s)
}

func (t *trial) ask(ctx context.Context, method, path string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	text, err := t.master.request(ctx, method, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// read asks a node for what it serves at a path of its own HTTP.
func (n *node) read(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	return n.request(ctx, http.MethodGet, path)
}

// request speaks HTTP with a node, in its namespace.
func (n *node) request(ctx context.Context, method, path string) ([]byte, error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (c net.Conn, err error) {
			err = n.space.do(func() (err error) {
				c, err = (&net.Dialer{}).DialContext(ctx, network, address)
				return err
			})
			return c, err
		}}}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+apiAddress+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, response.Status)
	}
	return io.ReadAll(response.Body)
}

// until waits until a share of the pages is stored.
func (t *trial) until(ctx context.Context, share float64) error {
	for since := time.Now(); time.Since(since) < t.o.most; {
		if err := t.master.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if s, err := t.status(ctx); err == nil && float64(s.Totals.Pages) >= share*float64(t.expected) {
			return nil
		}
	}
	return fmt.Errorf("%.0f %% of %d pages were not stored after %v", 100*share, t.expected, t.o.most)
}

// happened notes a stretch of time whose fetches may have to be repeated.
func (t *trial) happened(from time.Time, of ...*node) {
	if len(of) == 0 {
		t.crawl.Events = append(t.crawl.Events, verdict.Event{From: from, To: time.Now()})
	}
	for _, n := range of {
		t.crawl.Events = append(t.crawl.Events, verdict.Event{From: from, To: time.Now(), Of: n.web})
	}
}

// died says that the hosts of a node had to wait for the rule from a moment on.
func (t *trial) died(at time.Time, n *node, rule time.Duration) {
	t.crawl.Death, t.crawl.Rule, t.crawl.Of = at, rule, n.web
}

// awaitProgress measures how long it takes from a moment until the master stores another page.
func (t *trial) awaitProgress(ctx context.Context, since time.Time) {
	slaves := 0
	for _, s := range t.slaves {
		if s.Process != nil && s.Running() {
			slaves++
		}
	}
	t.crawl.AwaitProgress(ctx, since, slaves, t.master.Running, t.status)
}

// finish waits for the end of the crawl, and ends the slaves in order. One that was killed is started once more, since
// its WARC file was left open: the next start repairs it.
func (t *trial) finish(ctx context.Context) error {
	for _, m := range t.masters {
		if err := m.Await(ctx, t.o.most, 0); err != nil {
			return err
		}
	}
	var all []*process.Process
	for _, s := range t.slaves {
		if !s.Running() {
			s.clock = nil
			if err := s.start(); err != nil {
				return err
			}
		}
		all = append(all, s.Process)
	}
	return process.EndSlaves(ctx, all...)
}

// noPanic looks for the trace of a process, or of an actor, that broke.
func (t *trial) noPanic() error {
	logs, err := filepath.Glob(t.path("*.log"))
	if err != nil {
		return err
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, word := range []string{"panic:", "fatal error:", "actor panicked"} {
			if strings.Contains(string(text), word) {
				return fmt.Errorf("%s has %q", name, word)
			}
		}
	}
	return nil
}

// between sets what happens to packets of the others to some nodes, and out of these to the others.
func (t *trial) between(some, others []*node, in, out bool, f fault) {
	for _, n := range some {
		for _, other := range others {
			if in {
				t.hub.set(other.port, n.port, f)
			}
			if out {
				t.hub.set(n.port, other.port, f)
			}
		}
	}
}
