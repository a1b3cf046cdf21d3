package crowdsim

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/consensus"
)

var (
	mastersFlag = flag.String("masters", "1,3", "how many masters, one run after another")
	slavesFlag  = flag.Int("slaves", 20, "slaves")
	hostsFlag   = flag.Int("hosts", 10, "hosts for each slave")
	pagesFlag   = flag.Int("pages", 1000, "pages of a host")
	warmFlag    = flag.Duration("warm", 20*time.Second, "virtual time before anything is counted")
	forFlag     = flag.Duration("for", 30*time.Second, "virtual time that is counted")
	latencyFlag = flag.Duration("latency", 5*time.Millisecond, "what a message between masters takes, disks included")
	dirFlag     = flag.String("dir", "", "where states and logs lie; empty: a directory of the test")
	profileFlag = flag.String("profile", "", "file for the processor profile of the last run")
)

// Whose work a goroutine does.
const (
	leader   = "leader"
	follower = "follower"
	crowd    = "slaves"
)

// virtualDeadline is after how much virtual time a run must have come to its end.
const virtualDeadline = time.Hour

// TestACrowd has masters lead a crowd, and prints what that took. No host is asked twice at once or before its
// interval, and all copies of the state are equal.
func TestACrowd(t *testing.T) {
	for word := range strings.SplitSeq(*mastersFlag, ",") {
		count, err := strconv.Atoi(word)
		if err != nil || count < 1 || count%2 == 0 {
			t.Fatalf("-masters %s: want odd numbers", word)
		}
		dir := *dirFlag
		if dir == "" {
			dir = t.TempDir()
		} else if dir, err = os.MkdirTemp(dir, "crowd"); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var r row
		sampled := newProfile()
		synctest.Test(t, func(t *testing.T) { r = run(t, dir, count, sampled) })
		r.took = time.Since(begun)
		if r.times, err = sampled.end(); err != nil {
			t.Fatal(err)
		}
		if *profileFlag != "" {
			if err := os.WriteFile(*profileFlag, sampled.written.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if r.pages == 0 {
			t.Fatal("no page was fetched")
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		r.report(os.Stdout)
	}
}

// masters are those of one run. The first leads.
type masters struct {
	t       *testing.T
	dir     string
	network *network
	groups  []*consensus.Group
	lead    *consensus.Leadership // nil: one master, without a group
	all     []consensus.Member
	tending sync.WaitGroup
	end     context.CancelFunc
}

func (m *masters) path(i int) string { return filepath.Join(m.dir, fmt.Sprintf("m%d", i)) }

// found brings masters together until all have a vote.
func (m *masters) found(count int) {
	for i := range count {
		name := fmt.Sprintf("m%d", i)
		o := consensus.DefaultOptions()
		o.State, o.Name, o.Address, o.Found = filepath.Join(m.path(i), "state"), name, name, i == 0
		o.KeepBytes = 32 << 20 // disks of this machine
		work := follower
		if i == 0 {
			work = leader
		}
		var err error
		var g *consensus.Group
		pprof.Do(context.Background(), pprof.Labels(nodeLabel, work), func(context.Context) {
			g, err = consensus.Start(m.network.listen(name),
				consensus.Security{Dial: m.network.dialer(name)}, o)
		})
		if err != nil {
			m.t.Fatal(err)
		}
		m.groups = append(m.groups, g)
		m.all = append(m.all, consensus.Member{Name: name, Address: name})
	}
	ctx, end := context.WithCancel(context.Background())
	m.end = end
	pprof.Do(ctx, pprof.Labels(nodeLabel, leader), func(ctx context.Context) {
		m.until("the first leads", m.groups[0].Leads)
		var err error
		if m.lead, err = m.groups[0].Lead(); err != nil {
			m.t.Fatal(err)
		}
		m.tending.Go(func() { // as henro-master does
			for ctx.Err() == nil {
				time.Sleep(time.Second)
				_ = m.lead.Tend(ctx, m.all)
			}
		})
	})
	m.until("all vote", func() bool {
		members := m.groups[0].Figures().Members
		return len(members) == count && !slices.ContainsFunc(members, func(of consensus.Member) bool {
			return !of.Voter || of.Lost != ""
		})
	})
}

func (m *masters) until(what string, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(virtualDeadline); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatal("it does not come about that ", what)
		}
	}
}

// close ends all masters, once all have the same.
func (m *masters) close() {
	if m.lead == nil {
		return
	}
	last := m.groups[0].Figures().Last
	m.until("all have the whole log", func() bool {
		return !slices.ContainsFunc(m.groups, func(g *consensus.Group) bool { return g.Figures().Applied < last })
	})
	m.end()
	m.tending.Wait()
	m.lead.End()
	for _, g := range m.groups {
		if err := g.Close(); err != nil {
			m.t.Error(err)
		}
	}
	m.network.close()
	first := m.digest(0)
	for i := range m.groups[1:] {
		if another := m.digest(i + 1); !slices.Equal(first, another) {
			m.t.Errorf("the copy of m%d is another: %x, and that of m0 is %x", i+1, another, first)
		}
	}
}

func (m *masters) digest(i int) (all []string) {
	o := store.DefaultOptions()
	o.Partitions, o.Replica = 0, true
	state, err := store.OpenState(filepath.Join(m.path(i), "state"), o)
	if err != nil {
		m.t.Fatal(err)
	}
	defer state.Close()
	for _, p := range state.Partitions {
		digest, err := p.Digest()
		if err != nil {
			m.t.Fatal(err)
		}
		all = append(all, fmt.Sprint(digest))
	}
	return all
}

// options are those of an ordinary crawl, without requisites, which the model has not.
func (m *masters) options() master.Options {
	o := master.DefaultOptions()
	o.Dir, o.Depth, o.Name, o.Boot = m.path(0), -1, "m0", "1"
	o.Hosts.Admission.Requisites = 0
	o.Fetch.UserAgent = "model"
	if m.lead != nil {
		o.State = m.lead.State
		o.Keep = func(name string, content []byte) error {
			b := store.NewBatch(time.Now())
			b.PutMeta(master.KeptName(name), content)
			_, err := m.lead.State.Partitions[0].Commit(b)
			return err
		}
	}
	return o
}

func run(t *testing.T, dir string, count int, sampled *profile) (r row) {
	m := &masters{t: t, dir: dir, network: newNetwork(*latencyFlag)}
	for i := range count {
		if err := os.MkdirAll(m.path(i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if count > 1 {
		m.found(count)
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	system := floor.NewSystem("henro", logrus.NewEntry(quiet), floor.SystemOptions{
		Receive: func(next actor.ReceiverFunc) actor.ReceiverFunc {
			led, crowded := workOf(leader), workOf(crowd)
			return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
				if strings.HasPrefix(c.Self().Id, crowd) {
					pprof.SetGoroutineLabels(crowded)
				} else {
					pprof.SetGoroutineLabels(led)
				}
				next(c, e)
			}
		}})
	o := m.options()
	node, err := master.Start(system, o, logrus.NewEntry(quiet))
	if err != nil {
		t.Fatal(err)
	}
	w := &web{t: t, hosts: *slavesFlag * *hostsFlag, pages: *pagesFlag, interval: o.Hosts.Politeness.Floor,
		asks: map[string]*asking{}}
	said := &tally{counts: counts{messages: map[string]int{}}}
	var slaves []*actor.PID
	for i := range *slavesFlag {
		s := &slave{web: w, tally: said, name: fmt.Sprintf("%s-%04d", crowd, i), master: node.PID()}
		pid, err := system.Root.SpawnNamed(actor.PropsFromProducer(func() actor.Actor { return s }), s.name)
		if err != nil {
			t.Fatal(err)
		}
		slaves = append(slaves, pid)
	}
	var seeds []reading.Seed
	for i := range w.hosts {
		url, err := weburl.Parse(w.url(w.host(i), 0))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, reading.Seed{URL: url, Depth: -1})
	}
	given, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if status, err := node.Run(context.Background(), given, seeds); given.Err() == nil {
			t.Errorf("the crawl ended with %q, %v", status.End, err)
		}
	})
	time.Sleep(*warmFlag)
	r = m.measure(said, sampled)
	r.masters = count
	for _, pid := range slaves {
		system.Root.Send(pid, &crowded{})
	}
	time.Sleep(10 * time.Second) // all that was reported is stored
	end()
	running.Wait()
	for _, pid := range slaves {
		system.Root.Poison(pid)
	}
	if err := node.Close(); err != nil {
		t.Error(err)
	}
	m.close()
	system.Shutdown()
	actortest.Outlive()
	return r
}

// measure counts for a while.
func (m *masters) measure(said *tally, sampled *profile) (r row) {
	synctest.Wait()
	said.counted()
	m.network.counted()
	entries := m.last()
	sampled.start()
	time.Sleep(*forFlag)
	synctest.Wait()
	sampled.stop()
	r.counts, r.between, r.entries = said.counted(), m.network.counted(), m.last()-entries
	return r
}

func (m *masters) last() uint64 {
	if len(m.groups) == 0 {
		return 0
	}
	return m.groups[0].Figures().Last
}

// row is what one run has shown.
type row struct {
	masters int
	took    time.Duration // real time
	counts
	between map[string]*traffic
	entries uint64
	times   map[string]time.Duration
}

// time is the processor time of a page, with its part of what collects garbage and looks for work.
func (r *row) time(work string) float64 {
	var all time.Duration
	for _, d := range r.times {
		all += d
	}
	if all == r.times[""] {
		return 0
	}
	part := float64(r.times[work]) / float64(all-r.times[""])
	return part * float64(all.Microseconds()) / float64(r.pages)
}

// report prints a run when it has ended, since the next may take longer than there is time for.
func (r *row) report(w io.Writer) {
	pf := func(format string, arguments ...any) { fmt.Fprintf(w, format, arguments...) }
	pf("\n%d slaves, %d hosts, %v counted\n", *slavesFlag, *slavesFlag**hostsFlag, *forFlag)
	pages, seconds := float64(r.pages), forFlag.Seconds()
	said := 0
	for _, n := range r.messages {
		said += n
	}
	said -= r.messages["a page"]
	pf("\n%d masters (%.0f s of real time)\n", r.masters, r.took.Seconds())
	pf("  pages/s %.0f, leases/s %.1f\n", pages/seconds, float64(r.leases)/seconds)
	pf("  slaves and master: %.2f messages a page, %.0f bytes a page\n", float64(said)/pages,
		float64(r.bytes)/pages)
	for _, kind := range slices.Sorted(maps.Keys(r.messages)) {
		if kind != "a page" {
			pf("    %-18s %.3f a page, %.0f/s\n", kind, float64(r.messages[kind])/pages,
				float64(r.messages[kind])/seconds)
		}
	}
	followers := float64(r.masters - 1)
	var of, all traffic
	for name, t := range r.between {
		if name == "m0" {
			of = *t
		}
		all.messages, all.bytes, all.entries = all.messages+t.messages, all.bytes+t.bytes, all.entries+t.entries
	}
	led, followed := r.time(leader), 0.0
	if followers > 0 {
		followed = r.time(follower) / followers
		pf("  masters: %.3f messages a page, %.3f with entries, %.0f bytes a page, %.1f pages an entry\n",
			float64(all.messages)/2/pages, float64(all.entries)/2/pages, float64(all.bytes)/2/pages,
			pages/float64(r.entries))
		n := float64(r.masters)
		other := (float64(all.messages)/2 - float64(of.messages)) / pages
		pf("  share of the leader: %.0f %% of all messages, %.0f %% of all bytes, %.0f %% of processor time\n",
			100*float64(said+of.messages)/float64(said+all.messages/2),
			100*float64(r.bytes+of.bytes)/float64(r.bytes+all.bytes/2), 100*led/(led+followers*followed))
		pf("  between others: %.3f messages a page\n", other)
		pf("  reckoned, leads spread over all: each %.1f µs a page of %.1f, %.2f of the leader's\n",
			(led+followers*followed)/n, led, (led+followers*followed)/n/led)
	}
	pf("  µs a page: leader %.1f, each follower %.1f, all slaves %.1f; a core leads %.0f pages/s\n", led, followed,
		r.time(crowd), 1e6/led)
}
