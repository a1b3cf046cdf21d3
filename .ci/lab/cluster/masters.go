package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"henro/.ci/lab/play"
	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
	"henro/store/consensus"
)

// randomSpan is how long random nodes are killed where no other time is given.
const randomSpan = 30 * time.Minute

// ofMasters are the scenarios of a crawl with several masters.
func ofMasters(count int) []*scenario {
	all := []*scenario{
		{name: "lead-kill", says: "the leader is killed, and comes back", run: loseLeaders(killLeader)},
		{name: "lead-freeze", says: "the leader is stopped, and goes on under another one",
			run: loseLeaders(freezeLeader)},
		{name: "lead-cut", says: "the leader sees the web only", run: loseLeaders(cutLeader(true, true))},
		{name: "lead-deaf", says: "the same, but only what it is sent is lost",
			run: loseLeaders(cutLeader(true, false))},
		{name: "lead-mute", says: "the same, but only what it sends is lost",
			run: loseLeaders(cutLeader(false, true))},
		{name: "lead-late", says: "it sees the other masters no more, and what it sends to slaves takes 3 s",
			run: loseLeaders(delayLeader)},
		{name: "lead-full", says: "the leader's disk is full, and has room when another one leads", pages: 12,
			run: fillLeader},
		{name: "lead-slow", says: "the leader's disk stands still for 0.4 s of each 0.5 s", run: slowLeader},
		{name: "empty", says: "a master that follows loses its disk, is removed, and comes back as a new one",
			once: true, run: emptyDisk},
		{name: "roll", says: "all masters are ended in order and started again, one after another", pages: 15,
			run: rollMasters},
		{name: "upgrade", says: "all nodes of an earlier commit are replaced by this one's, one after another",
			once: true, run: upgradeMasters},
		{name: "moves", says: "the lead is moved 100 times", pages: 60, run: moveLead},
		{name: "random", says: "every 10 s a random node is killed, and comes back", long: true, pages: -1,
			run: killRandom},
	}
	for _, s := range all {
		s.masters, s.hosts = count, 100
		s.slaves, s.connections = 10, 6 // so that hosts wait for a slave
		s.pages, s.times = cmp.Or(s.pages, 30), 100
	}
	return all
}

// handover is how long it took after a leader was lost until another one did its work.
type handover struct{ leads, lends, asks time.Duration }

// amongMasters are the arguments of a node whose crawl has several masters.
func (n *node) amongMasters() (arguments []string) {
	leads := n.role == "henro-master"
	for _, m := range n.t.masters {
		if m != n && (!leads || n.stays || n.Process != nil) {
			arguments = append(arguments, "--join", netip.AddrPortFrom(m.lan, gossipPort).String())
		}
	}
	arguments = append(arguments, "--log-level", "debug")
	if leads {
		arguments = append(arguments, "--masters", netip.AddrPortFrom(n.lan, groupPort).String())
	}
	if n.stays {
		arguments = append(arguments, "--standby")
	}
	return arguments
}

// underMasters starts everything, and waits until all masters have a vote and a share of the pages is stored.
func (t *trial) underMasters(ctx context.Context) error {
	if err := t.startAll(); err != nil {
		return err
	}
	if err := t.allVote(ctx); err != nil {
		return err
	}
	return t.until(ctx, 0.02)
}

// allVote waits until every master has a vote, answers, and has what the others have but for a moment's work.
func (t *trial) allVote(ctx context.Context) error {
	const near = 20 // entries
	var all []consensus.Member
	var trouble error
	for since := time.Now(); time.Since(since) < process.Patience/2; {
		if err := t.master.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		all = nil // what is left out of an answer would stay
		text, err := t.master.read(ctx, "/api/masters")
		if trouble = err; err == nil {
			if err := json.Unmarshal(text, &all); err != nil {
				return err
			}
		}
		if len(all) == len(t.masters) && !slices.ContainsFunc(all, func(m consensus.Member) bool {
			return !m.Voter || m.Lost != "" || m.Behind > near
		}) {
			return nil
		}
	}
	for _, m := range t.masters {
		_ = m.Signal(syscall.SIGQUIT) // their goroutines are in their logs
	}
	return errors.Join(fmt.Errorf("not all masters have a vote: %+v (%v)", all, trouble),
		t.master.AwaitEnd(ctx, process.Patience))
}

// lines are what a node has logged since they were asked for last.
func (n *node) lines() []string {
	f, err := os.Open(n.t.path(n.name + ".log"))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.NewSectionReader(f, n.heard, 1<<30))
	end := 0
	var all []string
	for i, c := range text {
		if c == '\n' {
			all = append(all, string(text[end:i]))
			end = i + 1
		}
	}
	n.heard += int64(end)
	return all
}

// said is a line of a master's log that tells of a lead, or of a lease.
type said struct {
	verdict.Step
	leads bool // from now on
	lends bool
	first bool // lease of this lead
	slave string
}

// read reads a line.
func (s *said) read(line string) bool {
	var of struct {
		Time             time.Time
		Level, Msg       string
		Host, Slave      string
		Lease, Term, Seq uint64
		Visits           int
	}
	if err := json.Unmarshal([]byte(line), &of); err != nil ||
		!slices.Contains([]string{"leading", "host lent", "facts stored"}, of.Msg) {
		return false
	}
	*s = said{leads: of.Msg == "leading", lends: of.Msg == "host lent", first: of.Level == "info", slave: of.Slave}
	s.At, s.Host, s.Lease, s.Term, s.Seq, s.Visits = of.Time, of.Host, of.Lease, of.Term, of.Seq, of.Visits
	return true
}

// takenOver waits until another master than the lost one has lent a host and its slave has asked it, and measures.
func (t *trial) takenOver(ctx context.Context, at time.Time, lost *node) error {
	var h handover
	var lent said
	at = at.Truncate(time.Millisecond) // as the logs have it
	for lent.Host == "" {
		for _, m := range t.masters {
			for _, line := range m.lines() {
				var s said
				switch {
				case m == lost || !s.read(line) || s.At.Before(at):
				case s.leads:
					h.leads = s.At.Sub(at)
				case s.lends && s.first && lent.Host == "":
					lent, h.lends, t.master = s, s.At.Sub(at), m
				}
			}
		}
		if time.Since(at) > process.Patience {
			for _, m := range t.masters {
				_ = m.Signal(syscall.SIGQUIT) // their goroutines are in their logs
			}
			return fmt.Errorf("no other master lends %v after %s was lost", process.Patience, lost.name)
		}
		if err := t.wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	for h.asks == 0 {
		log := t.web.Log()
		for i := len(log) - 1; i >= 0 && log[i].Start.After(lent.At.Add(-time.Second)); i-- {
			e := log[i]
			if e.Origin() == lent.Host && !e.Start.Before(lent.At) && e.From.Addr() == t.webOf(lent.slave) {
				h.asks = e.Start.Sub(at)
			}
		}
		if time.Since(lent.At) > t.o.rule() { // it was refused, or its slave died
			h.asks = -1
		}
		if err := t.wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	t.master.Note("took over from %s: leads %s, lends %s, asks %s", lost.name, play.MS(h.leads), play.MS(h.lends),
		play.MS(h.asks))
	t.handovers = append(t.handovers, h)
	t.crawl.Resumed = max(t.crawl.Resumed, h.lends)
	return nil
}

// webOf is the address at which the web sees a slave.
func (t *trial) webOf(name string) (address netip.Addr) {
	for _, s := range t.slaves {
		if s.name == name {
			address = s.web
		}
	}
	return address
}

// wait lets time pass, whoever leads.
func (t *trial) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stored is the share of the pages that are.
func (t *trial) stored(ctx context.Context) float64 {
	s, err := t.status(ctx)
	if err != nil {
		return 0
	}
	return float64(s.Totals.Pages) / float64(t.expected)
}

// enough is the share of the pages after which nothing more is done to a crawl.
const enough = 0.85

// loseLeaders loses the leader until most pages are stored. lose returns since when, and how the lost one comes back.
func loseLeaders(lose func(*trial) (at time.Time, back func() error, err error)) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := t.underMasters(ctx); err != nil {
			return err
		}
		for t.stored(ctx) < enough && len(t.handovers) < t.what.times {
			lost := t.master
			at, back, err := lose(t)
			if err != nil {
				return err
			}
			err = t.takenOver(ctx, at, lost)
			if err == nil {
				err = t.wait(ctx, time.Duration(t.rnd.Int64N(int64(2*time.Second))))
			}
			if err := errors.Join(err, back()); err != nil {
				return err
			}
			t.happened(at)
			if err := t.allVote(ctx); err != nil {
				return err
			}
			if err := t.wait(ctx, time.Second+time.Duration(t.rnd.Int64N(int64(time.Second)))); err != nil {
				return err
			}
		}
		if len(t.handovers) == 0 {
			return process.ErrEarly
		}
		return nil
	}
}

func killLeader(t *trial) (time.Time, func() error, error) {
	at, err := t.master.Kill()
	return at, t.master.start, err
}

func freezeLeader(t *trial) (time.Time, func() error, error) {
	lost, at := t.master, time.Now()
	return at, func() error { return lost.Signal(syscall.SIGCONT) }, lost.Signal(syscall.SIGSTOP)
}

// cutLeader takes the leader from all other nodes.
func cutLeader(in, out bool) func(*trial) (time.Time, func() error, error) {
	return func(t *trial) (time.Time, func() error, error) {
		lost := t.master
		set := func(f fault) {
			lost.Note("%+v", f)
			t.between([]*node{lost}, slices.Concat(t.masters, t.slaves), in, out, f)
		}
		at := time.Now()
		set(fault{cut: true})
		return at, func() error { set(fault{}); return nil }, nil
	}
}

// delayLeader takes the leader from the other masters only, when what it sends to slaves has become slow: they hear it
// when another one leads already.
func delayLeader(t *trial) (time.Time, func() error, error) {
	lost := t.master
	set := func(late, cut fault) {
		lost.Note("late %+v, cut %+v", late, cut)
		t.between([]*node{lost}, t.slaves, false, true, late)
		t.between([]*node{lost}, t.masters, true, true, cut)
	}
	late := fault{delay: 3 * time.Second}
	set(late, fault{})
	time.Sleep(time.Second)
	at := time.Now()
	set(late, fault{cut: true})
	return at, func() error { set(fault{}, fault{}); return nil }, nil
}

// ownDisk gives a node a disk of its own, on a file.
func (t *trial) ownDisk(n *node) error {
	image := t.path(n.name + ".disk")
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(256<<20), f.Close()); err != nil {
		return err
	}
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, n.dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", command, err, out)
		}
	}
	t.undo = append(t.undo, func() error { return syscall.Unmount(n.dir, 0) })
	return nil
}

// fillLeader fills the disk of the leader.
func fillLeader(ctx context.Context, t *trial) error {
	lost := t.master
	if err := t.ownDisk(lost); err != nil {
		return err
	}
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	ballast, err := os.Create(filepath.Join(lost.dir, "ballast"))
	if err != nil {
		return err
	}
	defer ballast.Close()
	at := time.Now()
	for size, end := int64(64<<20), int64(0); size >= 4<<10; {
		if err := unix.Fallocate(int(ballast.Fd()), 0, end, size); err != nil {
			size /= 2
		} else {
			end += size
		}
	}
	lost.Note("its disk is full")
	if err := t.takenOver(ctx, at, lost); err != nil {
		return err
	}
	t.note("another one lends %s later", play.MS(t.handovers[0].lends))
	t.handovers, t.crawl.Resumed = nil, 0 // its files had room, so that nobody was lost for a while
	if err := t.wait(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := errors.Join(os.Remove(ballast.Name()), ballast.Close()); err != nil {
		return err
	}
	select { // where its log had room for an entry and its state had none, it ends; else it goes on
	case <-lost.Over:
	case <-time.After(3 * time.Second):
	}
	t.note("it went on: %t", lost.Running())
	if !lost.Running() {
		if err := lost.start(); err != nil {
			return err
		}
	}
	t.happened(at)
	return t.allVote(ctx)
}

// slowLeader stops the disk of the leader again and again, which must not cost it the lead.
func slowLeader(ctx context.Context, t *trial) error {
	n := t.master
	if err := t.ownDisk(n); err != nil {
		return err
	}
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	disk, err := os.Open(n.dir)
	if err != nil {
		return err
	}
	defer disk.Close()
	before, err := t.status(ctx)
	if err != nil {
		return err
	}
	at, stops := time.Now(), 0
	for ; time.Since(at) < 20*time.Second; stops++ {
		if err := unix.IoctlSetInt(int(disk.Fd()), fiFreeze, 0); err != nil {
			return fmt.Errorf("stop the disk: %w", err)
		}
		time.Sleep(400 * time.Millisecond)
		if err := unix.IoctlSetInt(int(disk.Fd()), fiThaw, 0); err != nil {
			return fmt.Errorf("have the disk go on: %w", err)
		}
		if err := t.wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	t.happened(at)
	after, err := t.status(ctx)
	if err != nil {
		return fmt.Errorf("a slow disk has cost the lead: %w", err)
	}
	for _, m := range t.masters {
		for _, line := range m.lines() {
			if s := (said{}); s.read(line) && s.leads && s.At.After(at) {
				return fmt.Errorf("a slow disk has cost the lead: %s leads", m.name)
			}
		}
	}
	t.note("%d stops, %d pages stored meanwhile, no election", stops, after.Totals.Pages-before.Totals.Pages)
	return nil
}

// Requests of linux/fs.h.
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// emptyDisk has a master lose its disk, so that it gets the state from another one while that one leads.
func emptyDisk(ctx context.Context, t *trial) error {
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	if err := t.until(ctx, 0.5); err != nil {
		return err
	}
	lost := t.masters[2]
	if lost == t.master {
		return process.ErrEarly // an election that nobody wanted
	}
	if _, err := lost.Kill(); err != nil {
		return err
	}
	_, err := t.master.request(ctx, http.MethodPost, "/api/masters/remove?master="+lost.name)
	if err := errors.Join(err, os.RemoveAll(lost.dir), os.MkdirAll(lost.dir, 0o755), lost.start()); err != nil {
		return err
	}
	if err := t.allVote(ctx); err != nil {
		return err
	}
	t.note("has all of it, and a vote, %s after its start", play.MS(time.Since(lost.Begun)))
	return nil
}

// rollMasters renews all masters, one after another.
func rollMasters(ctx context.Context, t *trial) error {
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	return t.renewMasters(ctx)
}

// upgradeMasters replaces the programs of all nodes by newer ones.
func upgradeMasters(ctx context.Context, t *trial) error {
	if err := t.age(ctx); err != nil {
		return err
	}
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	if err := renew(ctx, 0, t.slaves[:5]...); err != nil {
		return err
	}
	if err := t.renewMasters(ctx); err != nil {
		return err
	}
	return renew(ctx, 0, t.slaves[5:]...)
}

// renewMasters ends the masters one after another, the one that leads last, and starts each with this tree's programs.
func (t *trial) renewMasters(ctx context.Context) error {
	for _, m := range slices.Backward(t.masters) {
		led, at := m == t.master, time.Now()
		if err := m.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if led {
			if err := t.takenOver(ctx, at, m); err != nil {
				return err
			}
		}
		if err := m.AwaitEnd(ctx, process.Patience); err != nil {
			return err
		}
		m.bin = t.o.bin
		if err := m.start(); err != nil {
			return err
		}
		t.happened(at)
		if err := t.allVote(ctx); err != nil {
			return err
		}
	}
	return nil
}

// moveLead has another master lead, again and again.
func moveLead(ctx context.Context, t *trial) error {
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	for i := range 100 {
		before := t.master
		next := t.masters[(slices.Index(t.masters, before)+1+t.rnd.IntN(len(t.masters)-1))%len(t.masters)]
		at := time.Now()
		_, err := before.request(ctx, http.MethodPost, "/api/masters/move?master="+next.name)
		for err != nil && (errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "503")) {
			// it has just begun to lead
			if err := t.wait(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			at = time.Now()
			_, err = before.request(ctx, http.MethodPost, "/api/masters/move?master="+next.name)
		}
		if err != nil { // an answer may be cut off by the move
			before.Note("move %d: %v", i, err)
		}
		if err := t.takenOver(ctx, at, before); err != nil {
			return fmt.Errorf("move %d: %w", i, err)
		}
		t.happened(at)
		if t.stored(ctx) > 0.97 {
			return fmt.Errorf("after %d moves: %w", i, process.ErrEarly)
		}
	}
	return nil
}

// killRandom kills a random node every 10 s. It comes back after 4 s.
func killRandom(ctx context.Context, t *trial) error {
	if err := t.underMasters(ctx); err != nil {
		return err
	}
	begun, kills := time.Now(), 0
	for t.stored(ctx) < enough && time.Since(begun) < cmp.Or(t.o.span, randomSpan) {
		every := time.After(10 * time.Second)
		n := slices.Concat(t.masters, t.slaves)[t.rnd.IntN(len(t.masters)+len(t.slaves))]
		at, err := n.Kill()
		if err != nil {
			return err
		}
		kills++
		back := time.Now().Add(4 * time.Second)
		if n == t.master {
			if err := t.takenOver(ctx, at, n); err != nil {
				return err
			}
		}
		if err := t.wait(ctx, time.Until(back)); err != nil {
			return err
		}
		if err := n.start(); err != nil {
			return err
		}
		<-every
		if slices.Contains(t.masters, n) {
			if err := t.allVote(ctx); err != nil {
				return err
			}
		} else { // only what it had asked before may be asked again, and that is so with no master
			t.crawl.Events = append(t.crawl.Events, verdict.Event{From: at, To: at.Add(time.Second), Of: n.web})
		}
	}
	t.note("%d kills in %s", kills, time.Since(begun).Round(time.Second))
	return nil
}

// judgeGroup compares the states of all masters.
func (t *trial) judgeGroup() error {
	if len(t.masters) == 1 {
		return nil
	}
	var all []string
	for _, m := range t.masters {
		all = append(all, filepath.Join(m.dir, "state"))
	}
	if n := len(t.handovers); n > 0 {
		leads, lends, asks := middle(t.handovers)
		t.note("%d handovers: leads %s, lends %s, asks %s in the median; lends %s at worst", n, play.MS(leads),
			play.MS(lends), play.MS(asks), play.MS(slices.MaxFunc(t.handovers, byLends).lends))
	}
	late := 0
	for _, s := range t.slaves {
		late += strings.Count(s.Log(), `"msg":"nothing is taken from the master of another term"`)
	}
	t.note("slaves heard %d times from a master of another term", late)
	if late == 0 && t.what.name == "lead-late" {
		return process.ErrEarly
	}
	if t.what.name == "moves" {
		for _, m := range t.masters {
			m.heard = 0
			for _, line := range m.lines() {
				if strings.Contains(line, `"level":"error"`) {
					return fmt.Errorf("%s: a move in order is no error: %s", m.name, line)
				}
			}
		}
	}
	steps, log := t.steps(), t.web.Log()
	pages, err := verdict.StoredOnce(steps, log, t.crawl.Denied)
	t.note("%d lends and stores of %d pages and %d requests in order", len(steps), pages, len(log))
	return errors.Join(err, verdict.OneAtATime(steps, log), verdict.SameStates(all...))
}

// steps are what all masters have said of leases. One that is old says no term; leases are numbered by terms.
func (t *trial) steps() (all []verdict.Step) {
	for _, m := range t.masters {
		m.heard = 0
		for _, line := range m.lines() {
			if s := (said{}); s.read(line) && s.Lease > 0 {
				s.To, s.Term = t.webOf(s.slave), cmp.Or(s.Term, s.Lease>>40)
				all = append(all, s.Step)
			}
		}
	}
	return all
}

func byLends(a, b handover) int { return cmp.Compare(a.lends, b.lends) }

// middle are the medians.
func middle(all []handover) (leads, lends, asks time.Duration) {
	median := func(of func(handover) time.Duration) time.Duration {
		var some []time.Duration
		for _, h := range all {
			if d := of(h); d > 0 {
				some = append(some, d)
			}
		}
		if len(some) == 0 {
			return 0
		}
		slices.Sort(some)
		return some[len(some)/2]
	}
	return median(func(h handover) time.Duration { return h.leads }),
		median(func(h handover) time.Duration { return h.lends }),
		median(func(h handover) time.Duration { return h.asks })
}

// tellHandovers prints how long all losses of a leader took.
func tellHandovers(played []*trial) {
	var all []handover
	for _, t := range played {
		if t != nil && t.what.name != "moves" && t.what.name != "roll" { // nobody was lost
			all = append(all, t.handovers...)
		}
	}
	if len(all) == 0 {
		return
	}
	leads, lends, asks := middle(all)
	worst := all[0]
	for _, h := range all {
		worst = handover{max(worst.leads, h.leads), max(worst.lends, h.lends), max(worst.asks, h.asks)}
	}
	fmt.Printf("%d times a leader was lost. Until another one leads %s in the median, %s at worst; "+
		"until it lends %s, %s; until a slave asks for what was lent %s, %s\n", len(all), play.MS(leads),
		play.MS(worst.leads), play.MS(lends), play.MS(worst.lends), play.MS(asks), play.MS(worst.asks))
}
