//go:build unix

package consensus

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	random "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"

	"henro/messages/outlink"
	"henro/store"
)

var batches = flag.Uint64("batches", 120, "batches to be committed while members die")

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random tests")

// TestMain is also the process of one member, which tests kill.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CONSENSUS_MEMBER"); dir != "" {
		if err := runMember(dir); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

const answerWait = 30 * time.Second

// runMember is a member that does what it is asked, line by line.
func runMember(dir string) error {
	l, err := net.Listen("tcp", os.Getenv("CONSENSUS_ADDRESS"))
	if err != nil {
		return err
	}
	o := options(dir, os.Getenv("CONSENSUS_FOUND") != "")
	o.Address = os.Getenv("CONSENSUS_FOUND")
	o.KeepEntries = 5 // so that one that was away gets the files
	g, err := Start(l, Security{}, o)
	if err != nil {
		return err
	}
	leading := &leading{Group: g}
	visits := make(chan net.Conn, 100) // they are not answered until it is asked for
	go func() {
		for v := g.Visitors(); ; {
			c, err := v.Accept()
			if err != nil {
				return
			}
			visits <- c
		}
	}()
	var visit net.Conn
	say := func(words ...any) { fmt.Println(words...) }
	say("listening", l.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "add":
			say("done", leading.add(words[1], words[2]))
		case "leader":
			say("leader", g.Status().Leader)
		case "batch":
			var n uint64
			fmt.Sscan(words[1], &n)
			say("done", leading.commit(n))
		case "checkpoint":
			say("done", g.Checkpoint())
		case "transfer":
			say("done", g.Move(words[1]))
		case "digest":
			say(append([]any{"digest"}, digest(g)...)...)
		case "visit":
			visit, err = g.DialLeader(context.Background())
			say("done", err)
		case "reply":
			for answered := false; !answered || len(visits) > 0; answered = true { // those too that were given up
				c := <-visits
				_, err = io.WriteString(c, o.Name)
				err = errors.Join(err, c.Close())
			}
			say("done", err)
		case "answer":
			_ = visit.SetReadDeadline(time.Now().Add(answerWait))
			answer, err := io.ReadAll(visit)
			say("answer", string(answer), errors.Join(err, visit.Close()))
		case "received":
			say("received", g.Figures().Received)
		case "close":
			leading.end()
			say("done", g.Close())
			return nil
		}
	}
	return nil
}

func options(dir string, found bool) Options {
	o := DefaultOptions()
	o.State, o.Name, o.Found, o.Timeout = filepath.Join(dir, "state"), filepath.Base(dir), found, 500*time.Millisecond
	o.Store.Partitions = 2
	return o
}

// add makes a member a voter; the leader does.
func (l *leading) add(name, address string) error {
	if err := l.lead(); err != nil {
		return err
	}
	s, err := l.port.Ask(context.Background(), address)
	if err == nil {
		err = l.now.admit(name, s)
	}
	if err != nil {
		return err
	}
	return l.raft.AddVoter(raft.ServerID(name), raft.ServerAddress(address), 0, enqueueTimeout).Error()
}

// digest is what a state holds, and which entry each file had last.
func digest(g *Group) (words []any) {
	g.machine.use.RLock()
	defer g.machine.use.RUnlock()
	if g.machine.state == nil {
		return []any{ErrNoState}
	}
	var failed error
	for _, p := range g.machine.state.Partitions {
		applied, err := p.Applied()
		sum, err2 := p.Digest()
		words, failed = append(words, applied, sum), errors.Join(failed, err, err2)
	}
	return append(words, failed)
}

// leading leads whenever it is to commit.
type leading struct {
	*Group
	now *Leadership
}

func (l *leading) end() {
	if l.now != nil {
		l.now.End()
		l.now = nil
	}
}

func (l *leading) lead() (err error) {
	if l.now != nil && !l.now.Leads() {
		l.end()
	}
	if l.now == nil {
		l.now, err = l.Lead()
	}
	return err
}

// commit commits the n-th batch.
func (l *leading) commit(n uint64) error {
	if err := l.lead(); err != nil {
		return err
	}
	for i, p := range l.now.State.Partitions {
		if _, err := p.Commit(batch(l.now.State, i, n)); err != nil {
			l.end()
			return err
		}
	}
	return nil
}

// leadings are some members, one of which leads.
type leadings []*leading

func all(groups []*Group) (l leadings) {
	for _, g := range groups {
		l = append(l, &leading{Group: g})
	}
	return l
}

func (all leadings) commit(n uint64) bool {
	return slices.ContainsFunc(all, func(l *leading) bool { return l.commit(n) == nil })
}

func (all leadings) end() {
	for _, l := range all {
		l.end()
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// batch is what one partition of a state gets of the n-th batch of a crawl: pages that are visited, with links,
// candidates and a lease.
func batch(state *store.State, partition int, n uint64) *store.Batch {
	rnd := random.New(random.NewPCG(n, 7))
	now := noon.Add(time.Duration(n) * 30 * time.Second)
	b := store.NewBatch(now)
	for i := range 20 {
		host := fmt.Sprintf("http://h%d.example", rnd.IntN(9))
		url, next := fmt.Sprintf("%s/%d", host, rnd.IntN(5000)), rnd.ExpFloat64()
		if state.PartitionOf(host) != partition {
			continue
		}
		if i%2 == 0 {
			b.Admit(store.Candidate{URL: url, DepthLeft: 3})
			continue
		}
		b.Visit(store.Visited{Page: store.Page{URL: url, Status: 200, LastVisit: now,
			Next: now.Add(time.Duration(next * float64(5*time.Hour)))},
			Links: []outlink.Outlink{{URL: url + "/next", Kind: outlink.Anchor, Anchor: "next"}}})
	}
	if host := "http://h1.example"; state.PartitionOf(host) == partition {
		b.PutLease(store.Lease{ID: n, HostName: host, Until: now, Seq: n})
	}
	b.PutMeta(fmt.Sprintf("done/%d", n), []byte{1})
	return b
}

// member is a process.
type member struct {
	*testing.T
	name, dir, address string // at which others reach it
	own                string // behind the wire
	command            *exec.Cmd
	mu                 sync.Mutex
	in                 *bufio.Writer
	out                *bufio.Scanner
}

func (m *member) start(found bool) {
	m.Helper()
	m.command = exec.Command(os.Args[0], "-test.run", "^$")
	m.command.Env = append(os.Environ(), "CONSENSUS_MEMBER="+m.dir, "CONSENSUS_ADDRESS="+m.own)
	if found {
		m.command.Env = append(m.command.Env, "CONSENSUS_FOUND="+m.address)
	}
	m.command.Stderr = os.Stderr
	in, err := m.command.StdinPipe()
	if err != nil {
		m.Fatal(err)
	}
	out, err := m.command.StdoutPipe()
	if err == nil {
		err = m.command.Start()
	}
	if err != nil {
		m.Fatal(err)
	}
	m.in, m.out = bufio.NewWriter(in), bufio.NewScanner(out)
	if !m.out.Scan() || !strings.HasPrefix(m.out.Text(), "listening") {
		m.Fatalf("%s: %q", m.name, m.out.Text())
	}
}

// ask returns the answer; "": it died.
func (m *member) ask(format string, args ...any) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintf(m.in, format+"\n", args...)
	if m.in.Flush() != nil || !m.out.Scan() {
		return ""
	}
	return m.out.Text()
}

func (m *member) kill() {
	m.command.Process.Kill()
	m.command.Wait()
}

// free is an address that nobody listens at just now.
func free(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// wire is between members, each at a loopback address of its own, and holds back what goes from one to another.
type wire struct {
	mu   sync.Mutex
	cuts map[[2]string]bool // from, to: the last number of their addresses
	heal *sync.Cond
}

func (w *wire) cut(from, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts[[2]string{from, to}] = true
}

func (w *wire) healAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.cuts)
	w.heal.Broadcast()
}

// pass copies what goes from one member to another, while it is not cut.
func (w *wire) pass(out, in net.Conn, from, to string) {
	defer out.Close()
	defer in.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := in.Read(b)
		w.mu.Lock()
		for w.cuts[[2]string{from, to}] {
			w.heal.Wait()
		}
		w.mu.Unlock()
		if _, failed := out.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// to is where others reach a member.
func (w *wire) to(t *testing.T, m *member) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", m.own)
			if err != nil {
				in.Close()
				continue
			}
			from, own := lastOf(in.RemoteAddr().String()), lastOf(m.own)
			go w.pass(out, in, from, own)
			go w.pass(in, out, own, from)
		}
	}()
	return l.Addr().String()
}

// lastOf is the last number of an IPv4 address with a port.
func lastOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host[strings.LastIndex(host, ".")+1:]
}

// group starts a founder and adds two.
func group(t *testing.T) (members []*member, w *wire) {
	t.Helper()
	w = &wire{cuts: map[[2]string]bool{}}
	w.heal = sync.NewCond(&w.mu)
	t.Cleanup(w.healAll)
	for i := range 3 {
		name := fmt.Sprintf("m%d", i)
		m := &member{T: t, name: name, dir: filepath.Join(t.TempDir(), name), own: free(t, fmt.Sprint("127.0.0.", 2+i))}
		m.address = w.to(t, m)
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // a crawl that one master began
			o := options(m.dir, true)
			state, err := store.OpenState(o.State, o.Store)
			if err != nil {
				t.Fatal(err)
			}
			for n := range uint64(40) {
				if _, err := state.Partitions[n%2].Commit(batch(state, int(n%2), 1_000_000+n)); err != nil {
					t.Fatal(err)
				}
			}
			if err := state.Close(); err != nil {
				t.Fatal(err)
			}
		}
		m.start(i == 0)
		t.Cleanup(m.kill)
		members = append(members, m)
	}
	for _, m := range members[1:] {
		until(t, "added", func() bool { return members[0].ask("add %s %s", m.name, m.address) == "done <nil>" })
	}
	return members, w
}

func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

// move has a member lead, as all of them know, whoever led before: a machine that is not served for a second may have
// changed the lead by itself.
func move(t *testing.T, groups []*Group, to int) {
	t.Helper()
	name := groups[to].o.Name
	until(t, "moved to "+name, func() bool {
		known := true
		for _, g := range groups {
			if g.Status().Leader != name {
				known = false
				_ = g.Move(name)
			}
		}
		return known
	})
}

func leaderOf(t *testing.T, members []*member) (leads *member) {
	t.Helper()
	until(t, "a leader", func() bool {
		for _, m := range members {
			if m.ask("leader") == "leader "+m.name {
				leads = m
			}
		}
		return leads != nil
	})
	return leads
}

// same waits until all members hold the same.
func same(t *testing.T, members []*member) (digest string) {
	t.Helper()
	until(t, "the same everywhere", func() bool {
		digest = members[0].ask("digest")
		for _, m := range members[1:] {
			if m.ask("digest") != digest {
				return false
			}
		}
		return strings.HasSuffix(digest, "<nil>")
	})
	return digest
}

// TestMembersThatDieLoseNothing kills members at random, freezes them or cuts them off for longer than the others wait
// for, and moves the leadership, while batches are committed. What was committed is there, on all members, once.
func TestMembersThatDieLoseNothing(t *testing.T) {
	rnd := random.New(random.NewPCG(*seed, 8))
	t.Logf("seed %d", *seed)
	members, wire := group(t)
	same(t, members)
	leader := func() *member { return leaderOf(t, members) }
	committed := map[string][]time.Duration{}
	var away *member // for ten batches and a checkpoint
	for n := uint64(1); n <= *batches; n++ {
		if away != nil && n%20 == 9 {
			away.start(false)
			until(t, "the file", func() bool { return away.ask("digest") == leader().ask("digest") })
			if said := away.ask("received"); said != "received 1" {
				t.Errorf("%s was away: %s", away.name, said)
			}
			away = nil
		}
		event, hit := "commit", (*member)(nil) // hit answers nothing
		switch {
		case n%20 == 0:
			event, hit = "killed", members[rnd.IntN(3)]
			if n%40 == 0 {
				event, hit = "killed leader", leader()
			}
			hit.kill()
		case n%20 == 10:
			event, hit = "frozen leader", leader()
			if err := hit.command.Process.Signal(unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		case n%20 == 15: // cut off: nothing reaches it, nothing comes from it, or both
			event = "cut off leader"
			off, kind := leader(), rnd.IntN(3)
			for _, m := range members {
				if kind != 0 {
					wire.cut(lastOf(off.own), lastOf(m.own))
				}
				if kind != 1 {
					wire.cut(lastOf(m.own), lastOf(off.own))
				}
			}
		case n%20 == 8:
			for _, m := range members {
				if m != away {
					until(t, "a checkpoint", func() bool { return m.ask("checkpoint") == "done <nil>" })
				}
			}
		case n%7 == 0:
			event = "moved leader"
			from, to := leader(), members[rnd.IntN(3)]
			if from != to {
				from.ask("transfer %s %s", to.name, to.address)
			}
		case n%17 == 0:
			members[rnd.IntN(3)].ask("checkpoint")
		}
		begun := time.Now()
		until(t, "a commit", func() bool {
			for _, m := range members {
				if m != hit && m.ask("batch %d", n) == "done <nil>" {
					return true
				}
			}
			return false
		})
		committed[event] = append(committed[event], time.Since(begun).Round(time.Millisecond))
		wire.healAll()
		switch {
		case n%60 == 20:
			away = hit
		case n%20 == 0:
			hit.start(false)
		case hit != nil:
			if err := hit.command.Process.Signal(unix.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
	}
	for event, took := range committed {
		slices.Sort(took)
		t.Logf("until a commit, %s: median %v, at worst %v of %d", event, took[len(took)/2], took[len(took)-1],
			len(took))
	}
	t.Log(same(t, members))
	for _, m := range members {
		if said := m.ask("close"); said != "done <nil>" {
			t.Errorf("%s: %s", m.name, said)
		}
	}
	for _, m := range members {
		r, err := store.Check(filepath.Join(m.dir, "state"), nil)
		if err != nil || len(r.Problems) > 0 {
			t.Fatalf("%s: %+v, %v", m.name, r, err)
		}
		o := options(m.dir, false)
		o.Store.ReadOnly = true
		state, err := store.OpenState(o.State, o.Store)
		if err != nil {
			t.Fatal(err)
		}
		for n := uint64(1); n <= *batches; n++ {
			for _, p := range state.Partitions {
				if v, err := p.Metas.Get(fmt.Sprintf("done/%d", n)); err != nil || v == nil {
					t.Errorf("%s lost batch %d: %v", m.name, n, err)
				}
			}
		}
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// several starts a founder and other voters in this process, with other options if need be; the first may be given
// other ways to the others.
func several(t testing.TB, count int, change func(*Options), founders ...Security) (groups []*Group) {
	t.Helper()
	founder := &leading{}
	defer founder.end()
	for i := range count {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("m%d", i))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o := options(dir, i == 0)
		o.Address = l.Addr().String()
		change(&o)
		var s Security
		if i < len(founders) {
			s = founders[i]
		}
		g, err := Start(l, s, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close() })
		groups = append(groups, g)
		if i > 0 {
			until(t, "added", func() bool { return founder.add(o.Name, o.Address) == nil })
		} else {
			founder.Group = g
			until(t, "leads", func() bool { return g.Status().Leader == o.Name })
		}
	}
	return groups
}

// restart starts a member that was closed.
func restart(t testing.TB, o Options) *Group {
	t.Helper()
	var l net.Listener
	until(t, "its address is free", func() (ok bool) { // somebody may have come from there meanwhile
		var err error
		l, err = net.Listen("tcp", o.Address)
		return err == nil
	})
	g, err := Start(l, Security{}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// TestCheckpointsBeforeTheirTime: a file that grows and a log of large entries have a checkpoint long before so many
// entries as it is made after otherwise, and the log keeps as many as its bytes allow.
func TestCheckpointsBeforeTheirTime(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"growth": func(o *Options) { o.CheckpointGrowth = 1 << 20 },
		"bytes":  func(o *Options) { o.CheckpointGrowth, o.KeepBytes = 1<<40, 1<<20 },
	} {
		t.Run(name, func(t *testing.T) {
			g := several(t, 1, change)[0]
			l, err := g.Lead()
			if err != nil {
				t.Fatal(err)
			}
			defer l.End()
			begun, err := g.machine.log.FirstIndex()
			if err != nil {
				t.Fatal(err)
			}
			until(t, "a checkpoint", func() bool {
				b := store.NewBatch(noon)
				b.PutMeta("large", make([]byte, 64<<10))
				if _, err := l.State.Partitions[0].Commit(b); err != nil {
					t.Fatal(err)
				}
				if name == "growth" {
					kept, err := (&snapshots{group: g, dir: store.LogDir(g.o.State)}).List()
					return err == nil && len(kept) == 1 && kept[0].Index > begun
				}
				first, err := g.machine.log.FirstIndex()
				return err == nil && first > begun
			})
		})
	}
}

// TestAMemberThatCannotApplyLeaves: a leader whose file may not grow stops leading, and the others go on with the batch
// that it could not apply. It applies nothing behind that.
func TestAMemberThatCannotApplyLeaves(t *testing.T) {
	groups := several(t, 3, func(o *Options) {
		if o.Store.Partitions = 1; o.Found {
			o.Store.MaxBytes = 4 << 20
		}
	})
	members := all(groups)
	defer members.end()
	var failed error
	n := uint64(0)                             // batches that are committed
	until(t, "it leaves", func() (left bool) { // while it leads, unless the machine does not serve it for a while
		for range 100 {
			select {
			case failed = <-groups[0].Failed():
				return true
			default:
			}
			if members.commit(n) {
				n++
			}
		}
		return false
	})
	if !errors.Is(failed, store.ErrTooLarge) {
		t.Errorf("it left for %v", failed)
	}
	<-groups[0].ended
	if members[0].commit(n) == nil {
		t.Error("it went on")
	}
	small := store.NewBatch(noon)
	small.PutMeta("behind", []byte{1})
	text, err := small.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	next := raft.Log{Index: 1 << 40, Term: 1 << 40, Data: entry(1<<40, 0, text)}
	if r := groups[0].machine.Apply(&next).(result); r.err == nil || errors.Is(r.err, store.ErrTooLarge) {
		t.Errorf("it passes over an entry: %v", r.err)
	}
	if _, err := groups[0].machine.Snapshot(); err == nil {
		t.Error("it makes a checkpoint, as if it had all entries")
	}
	until(t, "another leads", func() bool { return members[1:].commit(n + 1) })
	has := func(g *Group, k uint64) bool {
		v, err := g.machine.state.Partitions[0].Metas.Get(fmt.Sprintf("done/%d", k))
		return err == nil && v != nil
	}
	first := uint64(0) // which it could not apply
	for has(groups[0], first) {
		first++
	}
	for k := first; k <= n+1; k++ {
		if has(groups[0], k) {
			t.Errorf("it could not apply batch %d, and has %d", first, k)
		}
	}
	for _, g := range groups[1:] {
		until(t, "all of it", func() bool { return has(g, first) && has(g, n+1) })
		for k := range n {
			if !has(g, k) {
				t.Errorf("%s lost batch %d", g.o.Name, k)
			}
		}
	}
}

// TestAMemberFarBehindGetsTheFiles: one that was away while the log was cut has what the others have, from the one that
// leads, and follows the log from there.
func TestAMemberFarBehindGetsTheFiles(t *testing.T) {
	groups := several(t, 3, func(o *Options) { o.KeepEntries = 3 })
	members := all(groups)
	defer members.end()
	there := members
	commit := func(from, to uint64) {
		for n := from; n < to; n++ {
			until(t, "a commit", func() bool { return there.commit(n) })
		}
	}
	same := func() {
		t.Helper()
		until(t, "the same everywhere", func() bool {
			first := fmt.Sprint(digest(groups[0])...)
			return first == fmt.Sprint(digest(groups[1])...) && first == fmt.Sprint(digest(groups[2])...) &&
				strings.HasSuffix(first, "<nil>")
		})
	}
	commit(0, 5)
	same()
	members.end()
	if err := groups[2].Close(); err != nil {
		t.Fatal(err)
	}
	last, err := LastEntry(groups[2].o.State)
	if err != nil {
		t.Fatal(err)
	}
	there = members[:2]
	commit(5, 20)
	for _, g := range groups[:2] {
		until(t, "a log that was cut", func() bool {
			first, err := g.machine.log.FirstIndex()
			return err == nil && first > last+1 || g.Checkpoint() != nil
		})
	}
	there.end()
	groups[2] = restart(t, groups[2].o)
	members[2] = &leading{Group: groups[2]}
	there = members
	same()
	commit(20, 25)
	same()
	if f := groups[2].Figures(); f.Received != 1 {
		t.Errorf("it received %d copies", f.Received)
	}
	until(t, "only the leader sends files", func() bool {
		sending := 0
		for _, g := range groups {
			_, files, err := (&snapshots{group: g, dir: store.LogDir(g.o.State)}).Open("")
			if err == nil {
				sending++
				_ = files.Close()
			} else if !errors.Is(err, store.ErrNotLeader) {
				t.Fatal(err)
			}
		}
		return sending == 1
	})
}

// TestCommitsEndWithTheirMember: what was committed and waits to be applied is not waited for when the member leaves.
func TestCommitsEndWithTheirMember(t *testing.T) {
	g := several(t, 1, func(*Options) {})[0]
	l, err := g.Lead()
	if err != nil {
		t.Fatal(err)
	}
	defer l.End()
	const commits = 20
	ended := make(chan struct{}, commits)
	g.machine.applying.Lock()
	for n := range uint64(commits) {
		before := g.raft.AppliedIndex()
		go func() {
			_, _ = l.commit(0, batch(l.State, 0, n)) // some of them are committed
			ended <- struct{}{}
		}()
		until(t, "committed", func() bool { return g.raft.AppliedIndex() > before }) // by the group
	}
	go func() { _ = g.leave() }()
	until(t, "leaving", func() bool { return g.raft.State() == raft.Shutdown })
	g.machine.applying.Unlock()
	for n := range commits {
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			t.Fatalf("after %d commits one has no end", n)
		}
	}
}

// TestADeposedLeaderWritesNothing: what was to be committed under a leadership that has ended changes nothing, even
// when the same member leads again.
func TestADeposedLeaderWritesNothing(t *testing.T) {
	groups := several(t, 3, func(*Options) {})
	var l *Leadership
	leads := func() (ok bool) {
		move(t, groups, 0)
		var err error
		l, err = groups[0].Lead()
		return err == nil
	}
	until(t, "leads", leads)
	old := l.Term
	move(t, groups, 1)
	if _, err := l.State.Partitions[0].Commit(batch(l.State, 0, 1)); !errors.Is(err, store.ErrNotLeader) {
		t.Errorf("deposed: %v", err)
	}
	move(t, groups, 0)
	if _, err := l.State.Partitions[0].Commit(batch(l.State, 0, 2)); !errors.Is(err, store.ErrNotLeader) {
		t.Errorf("leading again, in the old term: %v", err)
	}
	l.End()
	until(t, "leads again, and commits", func() bool {
		if !leads() {
			return false
		}
		if l.Term <= old || l.State.Term() != l.Term {
			t.Errorf("term %d, the state's %d, after %d", l.Term, l.State.Term(), old)
		}
		_, err := l.State.Partitions[0].Commit(batch(l.State, 0, 3))
		if err != nil {
			l.End()
		}
		return err == nil
	})
	for k, want := range []bool{1: false, 2: false, 3: true} {
		if v, err := l.State.Partitions[0].Metas.Get(fmt.Sprintf("done/%d", k)); err != nil || (v != nil) != want {
			t.Errorf("batch %d: %v, %v", k, v != nil, err)
		}
	}
	l.End()
}

// TestStrangersAreNotHeard connects without a certificate, with that of a slave, and without a word: none of them holds
// up the port or reaches a group.
func TestStrangersAreNotHeard(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secured := func(name string) *tls.Config {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}
		der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
			ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newPort(l, Security{TLS: secured("m0"), Admits: func(name string) bool { return name == "m1" }}, &Group{})
	defer s.Close()
	s.isCalled = func(identity) bool { return true }
	close(s.ready)
	for i := range maxGreetings / 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			c.Write([]byte{forRaft})
		}
	}
	greeted := func(name string) bool {
		t.Helper()
		c, err := tls.Dial("tcp", l.Addr().String(), secured(name))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(append([]byte{forRaft}, make([]byte, len(identity{}))...)); err != nil {
			return false
		}
		go func() { // of a group that takes it
			if taken, err := s.Accept(); err == nil {
				taken.Write([]byte("taken"))
				taken.Close()
			}
		}()
		answer, _ := io.ReadAll(c)
		return string(answer) == "taken"
	}
	if greeted("s1") {
		t.Error("a slave reached the group")
	}
	if !greeted("m1") {
		t.Error("a master did not")
	}
}

// TestAMemberWithAnotherDiskIsNotHeard: one whose folder was damaged, and moved away, comes back under its name with an
// empty one. It has no vote until it is given up and added anew, and then has what the others have. One that has a log
// of another group is not added at all.
func TestAMemberWithAnotherDiskIsNotHeard(t *testing.T) {
	groups := several(t, 3, func(*Options) {})
	first := &leading{Group: groups[0]}
	defer first.end()
	until(t, "committed", func() bool {
		move(t, groups, 0)
		return first.commit(1) == nil
	})
	end := func(i int) {
		t.Helper()
		if err := groups[i].Close(); err != nil {
			t.Fatal(err)
		}
	}
	end(2)
	dir := filepath.Dir(groups[2].o.State)
	if err := os.Truncate(filepath.Join(store.LogDir(groups[2].o.State), logName), 5000); err != nil {
		t.Fatal(err)
	}
	if g, err := Start(must(net.Listen("tcp", "127.0.0.1:0")), Security{}, groups[2].o); err == nil {
		t.Fatal("a damaged log is opened", g.Close())
	} else if !errors.Is(err, store.ErrCorrupt) {
		t.Error(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	groups[2] = restart(t, groups[2].o)
	lost := func() string {
		all, err := groups[0].Members(t.Context())
		if err != nil || len(all) < 3 {
			t.Fatal(all, err)
		}
		return all[2].Lost
	}
	until(t, "seen", func() bool { return lost() == errAnotherDisk.Error() })
	present := []Member{{Name: "m2", Address: groups[2].o.Address}}
	if err := first.now.Tend(t.Context(), present); err != nil {
		t.Error(err)
	}
	end(1)
	until(t, "not led by a member and one that has forgotten", func() bool { return !first.now.Leads() })
	first.end()
	time.Sleep(5 * groups[0].o.Timeout) // several elections
	if s := groups[2].Status(); !s.Fresh || s.Term > 0 || groups[0].Status().Leader != "" {
		t.Errorf("it voted, or was sent the log: %+v, %+v", s, groups[0].Status())
	}
	groups[1] = restart(t, groups[1].o)
	byTheLeader := func(what string, do func() error) { // whoever that is, on a machine that is not served for a while
		t.Helper()
		until(t, what, func() bool {
			for _, g := range groups {
				if first.Group != g {
					first.end()
					first.Group = g
				}
				if first.lead() == nil && do() == nil {
					return true
				}
			}
			return false
		})
	}
	byTheLeader("led again", func() error { return first.commit(2) })
	byTheLeader("removed", func() error { return first.Remove("m2") })
	byTheLeader("added", func() error {
		_ = first.now.Tend(t.Context(), present)
		v, err := groups[2].Meta("done/2")
		if err == nil && v == nil {
			err = errors.New("it does not have what was committed")
		}
		return err
	})
	until(t, "the same everywhere", func() bool {
		here := fmt.Sprint(digest(groups[2])...)
		return here == fmt.Sprint(digest(groups[0])...) && strings.HasSuffix(here, "<nil>")
	})

	other := several(t, 1, func(o *Options) { o.Name = "other" })[0]
	byTheLeader("one of another group is refused", func() error {
		err := first.now.Tend(t.Context(), []Member{{Name: "other", Address: other.o.Address}})
		if errors.Is(err, errAnotherGroup) {
			return nil
		}
		return fmt.Errorf("of another group: %w", err)
	})
}

// TestAMemberIsRecovered: when the others are gone for good, the copy of one becomes the state of a master alone, which
// has all that this member had, and can found another group.
func TestAMemberIsRecovered(t *testing.T) {
	groups := several(t, 3, func(*Options) {})
	first := &leading{Group: groups[0]}
	for n := range uint64(3) {
		until(t, "committed", func() bool {
			move(t, groups, 0)
			return first.commit(n) == nil
		})
	}
	term := first.now.Term
	first.end()
	has := func(state *store.State) bool {
		v, err := state.Partitions[0].Metas.Get("done/2")
		return err == nil && v != nil
	}
	until(t, "applied", func() bool {
		v, err := groups[2].Meta("done/2")
		return err == nil && v != nil
	})
	for _, g := range groups {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o := groups[2].o
	alone := options(filepath.Dir(o.State), false).Store
	if _, err := store.OpenState(o.State, alone); !errors.Is(err, store.ErrReplica) {
		t.Fatal("before:", err)
	}
	r, err := Recover(o.State, o.Store)
	if err != nil || len(r.Members) != 3 || r.Last == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	state, err := store.OpenState(o.State, alone)
	if err != nil {
		t.Fatal(err)
	}
	if !has(state) || state.Term() <= term {
		t.Errorf("it has all: %v; its term is %d, after %d", has(state), state.Term(), term)
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := store.Check(o.State, nil); err != nil || len(report.Problems) > 0 {
		t.Error(report, err)
	}
	o.Found = true
	again := restart(t, o)
	next := &leading{Group: again}
	defer next.end()
	until(t, "leads alone", func() bool { return next.commit(3) == nil })
	if all, err := again.Members(t.Context()); err != nil || len(all) != 1 || next.now.Term <= term {
		t.Errorf("%+v, %v, term %d", all, err, next.now.Term)
	}
}

// Damage of what a member keeps is named when it starts, with what to do, whichever file has it.
func TestDamageOfAMemberIsNamed(t *testing.T) {
	o := options(t.TempDir(), true)
	o.Store.NoSync = true
	start := func() (*Group, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.Address = l.Addr().String()
		return Start(l, Security{}, o)
	}
	g, err := start()
	if err == nil {
		err = g.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := store.LogDir(o.State)
	kept, err := (&snapshots{dir: dir}).List()
	if err != nil {
		t.Fatal(err)
	}
	l := openLogged(t, dir, kept[0].Index)
	if last, err := l.LastIndex(); err != nil {
		t.Fatal(err)
	} else if last > 0 {
		l.last = last
	}
	if err := errors.Join(l.store(4, 40_000), l.store(1, 9), l.Close()); err != nil {
		t.Fatal(err)
	}
	entries := filepath.Join(dir, logName)
	checkpoint, partition := (&snapshots{dir: dir}).path(), filepath.Join(o.State, "p000.db")
	another, err := os.ReadFile(entries)
	if err != nil {
		t.Fatal(err)
	}
	within := bytes.Index(another, content(l.last-2, 100))
	rnd := random.NewChaCha8([32]byte{7})
	for _, c := range []struct {
		what, path string
		spoil      func(whole []byte) []byte
	}{
		{"emptied", checkpoint, func([]byte) []byte { return nil }},
		{"zeroed", checkpoint, func(b []byte) []byte { return make([]byte, len(b)) }},
		{"random", checkpoint, func(b []byte) []byte { rnd.Read(b); return b }},
		{"cut", checkpoint, func(b []byte) []byte { return b[:len(b)/2] }},
		{"another", checkpoint, func([]byte) []byte { return another }},
		{"without a word", checkpoint, func([]byte) []byte { return []byte("{}") }},
		{"zeroed", entries, func(b []byte) []byte { clear(b[within:][:512]); return b }},
		{"random", entries, func(b []byte) []byte { rnd.Read(b[within:][:512]); return b }},
		{"a bit", entries, func(b []byte) []byte { b[within] ^= 8; return b }},
		{"cut", entries, func(b []byte) []byte { return b[:within] }},
		{"cut", partition, func(b []byte) []byte { return b[:len(b)/2] }},
		{"zeroed", partition, func(b []byte) []byte { clear(b[:3*4096]); return b }},
	} {
		whole, err := os.ReadFile(c.path)
		if err == nil {
			err = os.WriteFile(c.path, c.spoil(slices.Clone(whole)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if g, err := start(); err == nil {
			t.Errorf("%s %s: it starts: %v", c.path, c.what, g.Close())
		} else if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "--standby") {
			t.Errorf("%s %s: %v", c.path, c.what, err)
		}
		if err := os.WriteFile(c.path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
