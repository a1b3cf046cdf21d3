package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"henro/.ci/lab/play"
	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/lending"
)

// scenario is one thing that is done to a crawl.
type scenario struct {
	name        string
	says        string // what is done
	masters     int    // 0: one
	times       int    // that a leader is lost
	slaves      int
	connections int  // of each
	hosts       int  // of the web; 0: as the options say
	pages       int  // of a host; 0: as the options say
	once        bool // nothing at all may be fetched twice
	long        bool // takes more than two minutes, and is run when named only
	shape       func(*fakeweb.Options)
	run         func(context.Context, *trial) error
}

// scenarios are all there are, in the order of the table.
func (o *options) scenarios() []*scenario {
	all := []*scenario{
		{name: "none", says: "nothing", once: true, run: func(_ context.Context,
			t *trial) error {
			return t.startAll()
		}},
		{name: "kill", says: "a slave is killed and stays away", run: killSlave},
		{name: "moved", says: "a slave is killed and started again with another address", run: moveSlave},
		{name: "freeze", says: "a slave is stopped for longer than its lease, and goes on", run: freezeSlave},
		{name: "clock",
			says: "the wall clocks of two slaves are 5 h fast and 5 h slow, that of a third jumps 3 h ahead, 6 h " +
				"back and 3 h ahead", run: wrongClocks},
		{name: "slow", says: "a slave gets a fifth of its time, in pieces of 0.1 s", once: true, run: slowSlave},
		{name: "disk", says: "a slave's disk is full, and has room again after a while", run: fullDisk},
		{name: "cut", says: "three slaves see each other and the web, but not the others, for longer than their leases",
			run: cutOff(true, true)},
		{name: "deaf", says: "the same, but only what they are sent is lost", run: cutOff(true, false)},
		{name: "mute", says: "the same, but only what they send is lost", run: cutOff(false, true)},
		{name: "loss", says: "5 % of all packets are lost, each takes 50 ms", once: true,
			run: badWeather(fault{lost: 0.05, delay: 50 * time.Millisecond})},
		{name: "shuffle", says: "every tenth packet comes twice, and they overtake each other by up to 80 ms",
			once: true, run: badWeather(fault{twice: 0.1, jitter: 80 * time.Millisecond})},
		{name: "master", says: "the master is killed and started again after a second", run: killMaster(time.Second)},
		{name: "away", says: "the master is killed and started again when all leases have ended", run: killMaster(-1)},
		{name: "stopped", says: "the master is stopped for 3 s, and later until all leases have ended",
			run: freezeMaster},
		{name: "twins", says: "a second master is started on the directory of the first, elsewhere", once: true,
			run: twins},
		{name: "copied",
			says: "the master is stopped, another is started elsewhere on a copy of its directory, and the first " +
				"goes on", run: copied},
		{name: "drain", says: "a slave is drained by henro nodes drain, and killed when it is drained", once: true,
			run: drainSlave},
		{name: "crowd", says: "50 slaves join at once", slaves: 50, connections: 12, once: true, run: crowd},
		{name: "late", says: "five slaves join when five hold all hosts, which take 2 s for a page", once: true,
			shape: sluggish, run: joinLate},
		{name: "rolling",
			says: "the nodes of the commit before are asked to end, one after another, and come back with this " +
				"one's programs", once: true, run: rolling},
		{name: "foreign", says: "slaves join whose protocol is one ahead, and two ahead", once: true, run: foreign},
		{name: "stranger",
			says: "ports are scanned, garbage, other keys, broken and repeated handshakes, foreign orders", once: true,
			run: strangers},
		{name: "night", says: "the master is killed and started again after ten minutes", long: true,
			run: killMaster(10 * time.Minute)},
	}
	all = append(all, ofMasters(o.masters)...)
	for _, s := range all {
		if s.slaves == 0 {
			s.slaves, s.connections = 10, 100 // room for all hosts on half of the slaves
		}
	}
	return all
}

// rule is how long the hosts of a slave that died wait.
func (o *options) rule() time.Duration { return o.lease + verdict.Margin }

// under starts everything and waits until a share of the pages is stored.
func (t *trial) under(ctx context.Context, share float64) error {
	if err := t.startAll(); err != nil {
		return err
	}
	return t.until(ctx, share)
}

func (t *trial) anySlave() *node { return t.slaves[t.rnd.IntN(len(t.slaves))] }

func killSlave(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.2); err != nil {
		return err
	}
	s := t.anySlave()
	at, err := s.Kill()
	t.happened(at, s)
	t.died(at, s, t.o.rule())
	return err
}

func moveSlave(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.2); err != nil {
		return err
	}
	s := t.anySlave()
	at, err := s.Kill()
	if err != nil {
		return err
	}
	t.happened(at, s)
	t.died(at, s, 0)
	s.lan = lanAddress(200)
	if err := t.hub.move(s.port, s.lan); err != nil {
		return err
	}
	if err := t.master.Pause(ctx, time.Second); err != nil {
		return err
	}
	return s.start()
}

func freezeSlave(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.2); err != nil {
		return err
	}
	s := t.anySlave()
	at := time.Now()
	if err := s.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	t.died(at, s, t.o.rule())
	if err := t.master.Pause(ctx, t.o.rule()+3*time.Second); err != nil {
		return err
	}
	t.happened(at, s)
	return s.Signal(syscall.SIGCONT)
}

func wrongClocks(ctx context.Context, t *trial) error {
	for i, off := range []time.Duration{5 * time.Hour, -5 * time.Hour, 0} {
		t.slaves[i].clock = &clock{off: off}
	}
	if err := t.under(ctx, 0.15); err != nil {
		return err
	}
	jumping := t.slaves[2]
	for _, off := range []time.Duration{3 * time.Hour, -3 * time.Hour, 0} {
		at := time.Now()
		if err := jumping.clock.set(off); err != nil {
			return err
		}
		if err := t.master.Pause(ctx, 3*time.Second); err != nil {
			return err
		}
		t.happened(at, jumping)
	}
	return t.worked(ctx, t.slaves[:3]...)
}

// worked waits until each of the slaves has asked something of the web from now on.
func (t *trial) worked(ctx context.Context, some ...*node) error {
	from := time.Now()
	for _, s := range some {
		for !slices.ContainsFunc(t.web.Log(), func(e fakeweb.Entry) bool {
			return e.From.Addr() == s.web &&
				e.Start.After(from)
		}) {
			if err := t.master.Pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			if time.Since(from) > process.Patience {
				return fmt.Errorf("%s does not work any more; %s", s.name, s.LastWords())
			}
		}
	}
	return nil
}

func slowSlave(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.1); err != nil {
		return err
	}
	s := t.anySlave()
	for range 40 {
		if err := s.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(400 * time.Millisecond)
		if err := s.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		if err := t.master.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return t.worked(ctx, s)
}

// fullDisk gives a slave a disk of its own, of a few hundred kB.
func fullDisk(ctx context.Context, t *trial) error {
	s := t.anySlave()
	if err := syscall.Mount("none", s.dir, "tmpfs", 0, "size=256k"); err != nil {
		return fmt.Errorf("mount a small disk: %w", err)
	}
	t.undo = append(t.undo, func() error { return syscall.Unmount(s.dir, syscall.MNT_DETACH) })
	at := time.Now()
	if err := t.startAll(); err != nil {
		return err
	}
	full := func() bool { return strings.Contains(s.Log(), "the archive cannot be written") }
	for !full() {
		if err := t.master.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	t.note("full after %s", play.MS(time.Since(at)))
	if err := t.master.Pause(ctx, 8*time.Second); err != nil {
		return err
	}
	if err := syscall.Mount("none", s.dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		return fmt.Errorf("make room: %w", err)
	}
	t.happened(at, s)
	for since := time.Now(); ; { // it looks for room every 3 s; whether a host is left for it is another matter
		if err := t.master.Pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		status, err := t.status(ctx)
		if err == nil &&
			slices.ContainsFunc(status.Slaves, func(known lending.SlaveStatus) bool {
				return known.Name == s.name &&
					known.Slots > 0
			}) {
			t.note("asked for work again after %s", play.MS(time.Since(since)))
			return nil
		}
		if time.Since(since) > process.Patience {
			return fmt.Errorf("%s asks for no work %v after there is room; %s", s.name, process.Patience, s.LastWords())
		}
	}
}

// cutOff takes three slaves from the others: what they are sent is lost, or what they send, or both.
func cutOff(in, out bool) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := t.under(ctx, 0.15); err != nil {
			return err
		}
		alone := t.slaves[2:5]
		set := func(f fault) {
			t.between(alone, append([]*node{t.master}, append(t.slaves[:2:2], t.slaves[5:]...)...), in, out, f)
		}
		at := time.Now()
		set(fault{cut: true})
		t.died(at, alone[0], t.o.rule())
		t.crawl.Cut = true
		if err := t.master.Pause(ctx, t.o.rule()+6*time.Second); err != nil {
			return err
		}
		set(fault{})
		healed := time.Now()
		t.happened(at, alone...)
		for !t.heard(ctx, alone...) {
			if err := t.master.Pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			if time.Since(healed) > process.Patience {
				return fmt.Errorf("%v after the healing not all ask the master for work", process.Patience)
			}
		}
		t.note("all asked for work again %s after the healing", play.MS(time.Since(healed)))
		return nil
	}
}

// heard reports whether the master hears all of the slaves.
func (t *trial) heard(ctx context.Context, some ...*node) bool {
	s, err := t.status(ctx)
	return err == nil && !slices.ContainsFunc(some, func(n *node) bool {
		return !slices.ContainsFunc(s.Slaves, func(known lending.SlaveStatus) bool {
			return known.Name == n.name &&
				known.State == lending.Working
		})
	})
}

// badWeather lasts from the beginning to the end.
func badWeather(f fault) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.hub.set(nil, nil, f)
		if err := t.under(ctx, 0.9); err != nil {
			return err
		}
		t.note("%d packets, %d lost, %d twice", t.hub.passed.Load(), t.hub.lost.Load(), t.hub.doubled.Load())
		t.hub.set(nil, nil, fault{})
		return nil
	}
}

// killMaster keeps the master away for a while; a negative one lasts until all leases have ended.
func killMaster(down time.Duration) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := t.under(ctx, 0.2); err != nil {
			return err
		}
		at, err := t.master.Kill()
		if err != nil {
			return err
		}
		away := down
		if away < 0 {
			away = t.o.rule() + 3*time.Second
		}
		select {
		case <-time.After(away):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := t.master.start(); err != nil {
			return err
		}
		t.happened(at)
		t.awaitProgress(ctx, t.master.Begun)
		return nil
	}
}

func freezeMaster(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.15); err != nil {
		return err
	}
	at := time.Now()
	for _, d := range []time.Duration{3 * time.Second, t.o.rule() + 3*time.Second} {
		if err := t.master.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(d)
		if err := t.master.Signal(syscall.SIGCONT); err != nil {
			return err
		}
		longest := t.crawl.Resumed
		t.happened(at)
		t.awaitProgress(ctx, time.Now())
		t.crawl.Resumed = max(longest, t.crawl.Resumed)
		if err := t.master.Pause(ctx, 2*time.Second); err != nil {
			return err
		}
	}
	return nil
}

func twins(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.2); err != nil {
		return err
	}
	twin, err := t.place("twin", "henro-master", 100)
	if err != nil {
		return err
	}
	twin.dir = t.master.dir
	if err := twin.start(); err != nil {
		return err
	}
	if err := twin.Await(ctx, process.Patience, 2); err != nil {
		return err
	}
	t.note("refused after %s: %s", play.MS(time.Since(twin.Begun)), lastLine(twin.Log()))
	return nil
}

// copied has two masters of one crawl: slaves must go over to the one with the greater term, and stay with it.
func copied(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.2); err != nil {
		return err
	}
	first, at := t.master, time.Now()
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	heir, err := t.place("heir", "henro-master", 100)
	if err != nil {
		return err
	}
	heir.join = t.slaves[0].lan
	if err := os.CopyFS(heir.dir, os.DirFS(first.dir)); err != nil {
		return err
	}
	if err := heir.start(); err != nil {
		return err
	}
	t.master = heir
	for !t.heard(ctx, t.slaves...) {
		if err := heir.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if time.Since(heir.Begun) > process.Patience {
			return fmt.Errorf("not all slaves have found the second master after %v", process.Patience)
		}
	}
	t.note("all slaves work for the second master %s after its start", play.MS(time.Since(heir.Begun)))
	t.happened(at) // a machine that is slow lets leases end before the second master is there
	t.awaitProgress(ctx, heir.Begun)
	if err := first.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	thawed := time.Now()
	for s := (master.Status{}); s.State != master.Deposed; {
		if time.Since(thawed) > process.Patience {
			return fmt.Errorf("the first master is %s %v after it was thawed", s.State, process.Patience)
		}
		if err := first.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if text, err := first.read(ctx, "/api/status"); err == nil {
			if err := json.Unmarshal(text, &s); err != nil {
				return err
			}
		}
	}
	t.note("deposed %s after it was thawed", play.MS(time.Since(thawed)))
	return nil
}

func drainSlave(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.2); err != nil {
		return err
	}
	s := t.anySlave()
	at := time.Now()
	answer := lending.SlaveStatus{}
	if err := t.ask(ctx, http.MethodPost, "/api/slaves/drain?slave="+s.name, &answer); err != nil {
		return err
	}
	t.note("%s held %d hosts", s.name, answer.Leases)
	for answer.State != lending.Drained {
		if err := t.master.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		status, err := t.status(ctx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(status.Slaves, func(known lending.SlaveStatus) bool { return known.Name == s.name })
		if answer = status.Slaves[i]; time.Since(at) > process.Patience {
			return fmt.Errorf("%s is not drained after %v: %+v", s.name, process.Patience, answer)
		}
	}
	t.note("drained after %s", play.MS(time.Since(at)))
	_, err := s.Kill() // nothing may have to be fetched again
	return err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func crowd(ctx context.Context, t *trial) error {
	if err := t.master.start(); err != nil {
		return err
	}
	begun := time.Now()
	for _, s := range t.slaves {
		if err := s.start(); err != nil {
			return err
		}
	}
	started := time.Since(begun)
	for {
		if err := t.master.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if s, err := t.status(ctx); err == nil && len(s.Slaves) == len(t.slaves) {
			break
		}
		if time.Since(begun) > 2*process.Patience {
			return fmt.Errorf("not all slaves were welcomed within %v", 2*process.Patience)
		}
	}
	t.note("started within %s, all welcomed after %s", play.MS(started), play.MS(time.Since(begun)))
	return nil
}

// sluggish makes hosts that take 2 s for a page: a lease, filled for half a minute at two seconds a page, then lasts
// for a minute.
func sluggish(w *fakeweb.Options) {
	w.Latency = fakeweb.Latency{Mean: 2 * time.Second, Jitter: 0.3}
}

// joinLate measures how long slaves that join a busy crawl wait for their share.
func joinLate(ctx context.Context, t *trial) error {
	early, late := t.slaves[:5], t.slaves[5:]
	for _, n := range append([]*node{t.master}, early...) {
		if err := n.start(); err != nil {
			return err
		}
	}
	holding := func(some []*node) (sum, least int, err error) {
		status, err := t.status(ctx)
		if err != nil {
			return 0, 0, err
		}
		least = t.o.hosts
		for _, n := range some {
			held := 0
			for _, s := range status.Slaves {
				if s.Name == n.name {
					held = s.Leases
				}
			}
			sum, least = sum+held, min(least, held)
		}
		return sum, least, nil
	}
	if err := t.until(ctx, 0.2); err != nil {
		return err
	}
	all, _, err := holding(early)
	if err != nil {
		return err
	}
	for _, n := range late {
		if err := n.start(); err != nil {
			return err
		}
	}
	at := time.Now()
	for {
		if err := t.master.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		sum, _, err := holding(t.slaves)
		if err != nil {
			continue // it is asked again
		}
		if _, least, err := holding(late); err == nil && least*len(t.slaves) >= sum*3/4 && sum > all/2 {
			t.note("%d hosts lent to five; each of the late ones has three quarters of its share after %s", all,
				play.MS(time.Since(at)))
			return nil
		}
		if time.Since(at) > 2*process.Patience {
			return errors.New("the late slaves do not get their share")
		}
	}
}

// rolling replaces the programs of a running cluster by newer ones, one after another.
func rolling(ctx context.Context, t *trial) error {
	if err := t.age(ctx); err != nil {
		return err
	}
	if err := t.under(ctx, 0.1); err != nil {
		return err
	}
	if err := renew(ctx, 0, t.slaves[:5]...); err != nil {
		return err
	}
	if err := renew(ctx, 130, t.master); err != nil {
		return err
	}
	t.awaitProgress(ctx, t.master.Begun)
	return renew(ctx, 0, t.slaves[5:]...)
}

// age gives all nodes the programs of an earlier commit.
func (t *trial) age(ctx context.Context) error {
	old, err := t.o.oldPrograms(ctx)
	t.note("%s", t.o.oldName)
	for _, n := range slices.Concat(t.masters, t.slaves) {
		n.bin = old
	}
	return err
}

// renew asks nodes to end, one after another, each of which must do so with a code, and starts them again with the
// programs of this tree.
func renew(ctx context.Context, code int, all ...*node) error {
	for _, n := range all {
		if err := n.AwaitWord(ctx, "ready"); err != nil {
			return err
		}
		if err := n.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := n.Await(ctx, process.Patience, code); err != nil {
			return err
		}
		n.bin = n.t.o.bin
		if err := n.start(); err != nil {
			return err
		}
	}
	return nil
}

// remove is os.RemoveAll for what may be mounted on.
func remove(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}
