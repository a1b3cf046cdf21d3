package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"henro/cluster"
	"henro/cluster/clustertest"
)

// ear hears the events of one node and when they came.
type ear struct {
	mu     sync.Mutex
	start  time.Time
	events []cluster.Event
	at     []time.Duration
}

func newEar() *ear { return &ear{start: time.Now()} }

func (e *ear) hear(event cluster.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, event)
	e.at = append(e.at, time.Since(e.start))
}

// heard writes the events as words and forgets them.
func (e *ear) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var words []string
	for _, event := range e.events {
		words = append(words, word(event))
	}
	e.events, e.at = nil, nil
	return strings.Join(words, " ")
}

func word(event cluster.Event) string {
	switch e := event.(type) {
	case *cluster.MemberUp:
		return "+" + e.Member.Name + "." + e.Member.Boot
	case *cluster.MemberDown:
		return "-" + e.Member.Name + "." + e.Member.Boot
	case *cluster.MemberUpdated:
		return "~" + e.Member.Name + "." + e.Member.Boot
	case *cluster.MemberRefused:
		if e.Gone {
			return "gone:" + e.Member.Name + "." + e.Member.Boot
		}
		return "refused:" + e.Member.Name + "." + e.Member.Boot
	}
	return "?"
}

// village is a network in which nodes are named after their addresses.
type village struct {
	t   *testing.T
	net *clustertest.Network
}

func address(name string) string {
	return fmt.Sprintf("127.0.0.%d:7781", 1+name[0]-'a')
}

// start brings up the node; a's address is what all join.
func (v village) start(name, boot string, role cluster.Role, more ...func(*cluster.Options)) (*cluster.Node, *ear) {
	v.t.Helper()
	e := newEar()
	o := cluster.Options{
		Name: name, Boot: boot, Role: role, ActorAddress: strings.Replace(address(name), "7781", "7782", 1),
		Version: "1", Capacity: 10,
		JoinAddrs: []string{address("a")}, Notify: e.hear, Transport: v.net.Wire(address(name)),
	}
	if name == "a" {
		o.JoinAddrs = nil
	}
	for _, change := range more {
		change(&o)
	}
	n, err := cluster.Join(o)
	if err != nil {
		v.t.Fatalf("join %s: %v", name, err)
	}
	v.t.Cleanup(n.Close)
	return n, e
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T, v village)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// Runs after all nodes are closed: memberlist's last probes and dials end by their timeouts.
		t.Cleanup(func() { time.Sleep(time.Minute) })
		f(t, village{t: t, net: clustertest.NewNetwork(1)})
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func want(t *testing.T, who string, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s heard %q, want %q", who, got, want)
	}
}

func TestNodesFindEachOther(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		a, ea := v.start("a", "1", cluster.Master)
		b, eb := v.start("b", "1", cluster.Slave)
		_, ec := v.start("c", "1", cluster.Slave)
		pass(2 * time.Second)
		if got := ea.heard(); got != "+b.1 +c.1" && got != "+c.1 +b.1" {
			t.Errorf("a heard %q", got)
		}
		if got := eb.heard(); got != "+a.1 +c.1" && got != "+c.1 +a.1" {
			t.Errorf("b heard %q", got)
		}
		if got := ec.heard(); got != "+a.1 +b.1" && got != "+b.1 +a.1" {
			t.Errorf("c heard %q", got)
		}
		m := a.Members()
		if len(m) != 2 || m[0] != b.Self() {
			t.Errorf("a sees %+v, b is %+v", m, b.Self())
		}
		if m[0].PID("slave").Address != "127.0.0.2:7782" {
			t.Errorf("b's actors are at %s", m[0].PID("slave").Address)
		}
	})
}

func TestAKilledNodeIsNoticedAndHeardOfOnce(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		b, _ := v.start("b", "1", cluster.Slave)
		v.start("c", "1", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		b.Close()
		pass(30 * time.Second)
		ea.mu.Lock()
		if len(ea.at) != 1 || ea.at[0] > 3*time.Second+10*time.Second {
			t.Errorf("the death was heard of at %v, it came at 3s; a slave's work should resume within 10 s", ea.at)
		}
		ea.mu.Unlock()
		want(t, "a", ea.heard(), "-b.1")
	})
}

func TestANodeThatLeavesIsHeardOfAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		b, _ := v.start("b", "1", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		b.Leave()
		pass(500 * time.Millisecond)
		if got := ea.heard(); got != "~b.1 -b.1" && got != "-b.1" {
			t.Errorf("a heard %q half a second after Leave", got)
		}
		pass(time.Minute)
		want(t, "a afterwards", ea.heard(), "")
	})
}

func TestANewerBootReplacesTheOlderAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		b, _ := v.start("b", "1", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		b.Close()
		pass(500 * time.Millisecond)
		v.start("b", "2", cluster.Slave)
		pass(time.Second)
		want(t, "a", ea.heard(), "-b.1 +b.2")
		pass(time.Minute)
		want(t, "a afterwards", ea.heard(), "")
	})
}

func TestARestartAtAnotherAddressReplacesTheOlderAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		b, _ := v.start("b", "1", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		b.Close()
		pass(500 * time.Millisecond)
		v.start("b", "2", cluster.Slave, func(o *cluster.Options) {
			o.Transport, o.ActorAddress = v.net.Wire("127.0.0.77:7781"), "127.0.0.77:7782"
		})
		pass(time.Second)
		want(t, "a", ea.heard(), "-b.1 +b.2")
	})
}

func TestANodeWhoseClockWentBackIsStillFound(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		b, _ := v.start("b", "5", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		b.Close()
		pass(500 * time.Millisecond)
		v.start("b", "2", cluster.Slave)
		pass(15 * time.Second)
		want(t, "a", ea.heard(), "-b.5 +b.2")
	})
}

func TestAFreezeThatTheGossipForgivesIsNotHeardOf(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		_, eb := v.start("b", "1", cluster.Slave)
		v.start("c", "1", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		eb.heard()
		v.net.Freeze(address("b"))
		pass(3 * time.Second)
		v.net.Thaw(address("b"))
		pass(time.Minute)
		want(t, "a", ea.heard(), "")
		want(t, "b", eb.heard(), "")
	})
}

func TestAFrozenNodeGoesDownAndComesUpAgain(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		_, ea := v.start("a", "1", cluster.Master)
		_, eb := v.start("b", "1", cluster.Slave)
		v.start("c", "1", cluster.Slave)
		pass(3 * time.Second)
		ea.heard()
		eb.heard()
		v.net.Freeze(address("b"))
		pass(20 * time.Second)
		want(t, "a", ea.heard(), "-b.1")
		v.net.Thaw(address("b"))
		pass(30 * time.Second)
		want(t, "a", ea.heard(), "+b.1")
	})
}

func TestTwoHalvesOfANetworkFindEachOtherAgain(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		// a knows nobody to join, c and d know only a: after ten minutes memberlist itself has long given up.
		a, ea := v.start("a", "1", cluster.Master)
		v.start("b", "1", cluster.Slave)
		v.start("c", "1", cluster.Slave)
		d, _ := v.start("d", "1", cluster.Slave)
		pass(5 * time.Second)
		ea.heard()
		left, right := []string{address("a"), address("b")}, []string{address("c"), address("d")}
		v.net.Split(left, right)
		pass(10 * time.Minute)
		if got := ea.heard(); got != "-c.1 -d.1" && got != "-d.1 -c.1" {
			t.Errorf("a heard %q after the split", got)
		}
		if got := d.Members(); len(got) != 1 {
			t.Errorf("d sees %v, want c alone", got)
		}
		v.net.Heal(left, right)
		pass(20 * time.Second)
		if got := len(a.Members()); got != 3 {
			t.Errorf("a sees %d members after healing, want 3", got)
		}
		if got := len(d.Members()); got != 3 {
			t.Errorf("d sees %d members after healing, want 3", got)
		}
	})
}

func TestSlavesFindAMasterThatWasAwayForTenMinutesWithinFiveSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		a, _ := v.start("a", "1", cluster.Master)
		for _, name := range []string{"b", "c", "d"} {
			v.start(name, "1", cluster.Slave)
		}
		pass(5 * time.Second)
		a.Close()
		pass(10 * time.Minute)
		a, _ = v.start("a", "2", cluster.Master)
		pass(5 * time.Second)
		if got := len(a.Members()); got != 3 {
			t.Errorf("the master sees %d slaves 5 s after its restart, want 3", got)
		}
	})
}

func TestASlaveMayStartBeforeItsMaster(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		b, eb := v.start("b", "1", cluster.Slave)
		pass(time.Minute)
		v.start("a", "1", cluster.Master)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		m, err := b.Await(ctx, func(m cluster.Member) bool { return m.Role == cluster.Master })
		if err != nil || m.Name != "a" {
			t.Errorf("b found %v, %v", m, err)
		}
		synctest.Wait()
		want(t, "b", eb.heard(), "+a.1")
	})
}

// TestASlaveThatStartsBesideItsMasterFindsItAtOnce, although the master takes a moment longer to listen.
func TestASlaveThatStartsBesideItsMasterFindsItAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		b, _ := v.start("b", "1", cluster.Slave)
		pass(100 * time.Millisecond)
		v.start("a", "1", cluster.Master)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if m, err := b.Await(ctx, func(m cluster.Member) bool { return m.Role == cluster.Master }); err != nil {
			t.Errorf("b found %v, %v", m, err)
		}
	})
}

func TestFiftySlavesJoinAtOnceOverALossyNetwork(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		a, _ := v.start("a", "1", cluster.Master)
		v.net.Lose(0.05)
		for i := range 50 {
			at := fmt.Sprintf("127.0.1.%d", i+1)
			v.start("s", "1", cluster.Slave, func(o *cluster.Options) {
				o.Name, o.ActorAddress, o.Transport = fmt.Sprint("s", i), at+":7782", v.net.Wire(at+":7781")
			})
		}
		pass(10 * time.Second)
		if got := len(a.Members()); got != 50 {
			t.Errorf("the master sees %d of 50 slaves", got)
		}
	})
}

// TestProtocolsThatDifferByMoreThanOneAreRefused, on both sides, until the node comes back with a version that fits; a
// skew of one is none.
func TestProtocolsThatDifferByMoreThanOneAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		speak := func(protocol int, gate *cluster.Gate) func(*cluster.Options) {
			return func(o *cluster.Options) { o.Protocol, o.Gate = protocol, gate }
		}
		gate := cluster.NewGate()
		a, earA := v.start("a", "1", cluster.Master, speak(2, gate))
		_, earB := v.start("b", "1", cluster.Slave, speak(3, nil))
		_, earC := v.start("c", "1", cluster.Slave) // of the time before protocols were shown
		d, earD := v.start("d", "1", cluster.Slave, speak(4, nil))
		pass(10 * time.Second)
		heard := strings.Fields(earA.heard())
		slices.Sort(heard)
		want(t, "a", strings.Join(heard, " "), "+b.1 +c.1 refused:d.1")
		for name, ear := range map[string]*ear{"+a.1 +d.1 refused:c.1": earB, "+a.1 refused:b.1 refused:d.1": earC,
			"+b.1 refused:a.1 refused:c.1": earD} {
			heard := strings.Fields(ear.heard())
			slices.Sort(heard)
			want(t, "a slave", strings.Join(heard, " "), name)
		}
		if refused := a.Refused(); len(refused) != 1 || refused[0] != d.Self() {
			t.Errorf("a refuses %+v", refused)
		}
		if !gate.Open("127.0.0.2:7782") || gate.Open("127.0.0.4:7782") {
			t.Error("the gate does not agree")
		}
		d.Close()
		v.start("d", "2", cluster.Slave, speak(3, nil)) // at once, at its address
		pass(time.Second)
		if !gate.Open("127.0.0.4:7782") {
			t.Error("the gate is closed to the version that fits")
		}
		pass(20 * time.Second)
		want(t, "a", earA.heard(), "+d.2 gone:d.1")
		if len(a.Refused()) > 0 {
			t.Errorf("a still refuses %+v", a.Refused())
		}
	})
}

func TestTheGateIsOpenWhileTheGossipHoldsAMemberAlive(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		gate := cluster.NewGate()
		v.start("a", "1", cluster.Master, func(o *cluster.Options) { o.Gate = gate })
		b, _ := v.start("b", "1", cluster.Slave)
		pass(3 * time.Second)
		if !gate.Open("127.0.0.2:7782") || gate.Open("127.0.0.3:7782") {
			t.Error("the gate should be open for b and closed for a stranger")
		}
		// A quick restart at the same address: the older boot's end must not close the gate of the newer.
		b.Close()
		b, _ = v.start("b", "2", cluster.Slave)
		pass(30 * time.Second)
		if !gate.Open("127.0.0.2:7782") {
			t.Error("the gate closed on a restarted node")
		}
		b.Close()
		pass(30 * time.Second)
		if gate.Open("127.0.0.2:7782") {
			t.Error("the gate stayed open for a dead node")
		}
	})
}

// A master that is restarted within a second knows nobody, and the gossip holds its older boot alive for some 6 s more.
// The connection that broke tells its slaves to look.
func TestABrokenConnectionMakesSlavesFindARestartedMasterAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		a, _ := v.start("a", "1", cluster.Master)
		var ears []*ear
		var gates []*cluster.Gate
		for _, name := range []string{"b", "c", "d"} {
			gate := cluster.NewGate()
			_, e := v.start(name, "1", cluster.Slave, func(o *cluster.Options) { o.Gate = gate })
			ears, gates = append(ears, e), append(gates, gate)
		}
		pass(3 * time.Second)
		for _, e := range ears {
			e.heard()
		}
		a.Close()
		for _, gate := range gates {
			gate.Doubt("127.0.0.1:7782")
			gate.Doubt("127.0.0.99:7782") // of nobody
		}
		pass(700 * time.Millisecond)
		a, _ = v.start("a", "2", cluster.Master)
		pass(time.Second)
		for i, e := range ears {
			want(t, string(rune('b'+i)), e.heard(), "-a.1 +a.2")
		}
		slaves := 0
		for _, m := range a.Members() {
			if m.Role == cluster.Slave {
				slaves++
			}
		}
		if slaves != 3 {
			t.Errorf("the master sees %d slaves a second after its restart, want 3", slaves)
		}
	})
}

func TestOnlyHoldersOfAKeyJoin(t *testing.T) {
	ours, theirs := cluster.NewKeys(), cluster.NewKeys()
	for _, c := range []struct {
		name       string
		master     *cluster.Keys
		slave      *cluster.Keys
		found      bool
		slaveLabel string
	}{
		{name: "the same key", master: ours, slave: ours, found: true},
		{name: "another key", master: ours, slave: theirs},
		{name: "no key at the slave", master: ours},
		{name: "no key at the master", slave: ours},
		{name: "rotation: the slave has the new key second", master: ours.With(theirs), slave: theirs.With(ours),
			found: true},
		{name: "rotation: first round, the slave was not restarted yet", master: ours.With(theirs), slave: ours,
			found: true},
		{name: "rotation ended: the old key is out", master: theirs, slave: ours},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, v village) {
				a, _ := v.start("a", "1", cluster.Master, func(o *cluster.Options) { o.Key = c.master })
				b, _ := v.start("b", "1", cluster.Slave, func(o *cluster.Options) { o.Key = c.slave })
				pass(10 * time.Second)
				if got := len(a.Members())+len(b.Members()) == 2; got != c.found {
					t.Errorf("a sees %v, b sees %v, found should be %v", a.Members(), b.Members(), c.found)
				}
				if !c.found && len(a.Members())+len(b.Members()) > 0 {
					t.Error("one of them heard of the other")
				}
			})
		})
	}
}

func TestJoinRefusesWhatCannotWork(t *testing.T) {
	good := func() cluster.Options {
		return cluster.Options{Name: "n", Role: cluster.Slave, ActorAddress: "127.0.0.1:1", Bind: "127.0.0.1:0"}
	}
	for _, c := range []struct {
		name   string
		change func(*cluster.Options)
		want   error
		says   string
	}{
		{"all addresses without a key", func(o *cluster.Options) { o.Bind = ":7781" }, cluster.ErrKeyNeeded,
			"127.0.0.1:7781"},
		{"an outer address without a key", func(o *cluster.Options) { o.Bind = "192.0.2.1:7781" }, cluster.ErrKeyNeeded,
			"henro key new"},
		{"metadata longer than the gossip carries", func(o *cluster.Options) { o.Version = strings.Repeat("v", 500) },
			cluster.ErrTooLong, "512"},
		{"no name", func(o *cluster.Options) { o.Name = "" }, nil, "name"},
		{"a name with a blank", func(o *cluster.Options) { o.Name = "a b" }, nil, "name"},
		{"no role", func(o *cluster.Options) { o.Role = "" }, nil, "role"},
		{"an actor address without a port", func(o *cluster.Options) { o.ActorAddress = "127.0.0.1" }, nil, "ip:port"},
		{"an actor address that nobody can dial", func(o *cluster.Options) { o.ActorAddress = "0.0.0.0:7782" }, nil,
			"ip:port"},
		{"a join address without a port", func(o *cluster.Options) { o.JoinAddrs = []string{"host"} }, nil,
			"host:port"},
		{"a bind address without a port", func(o *cluster.Options) { o.Bind = "127.0.0.1" }, nil, "host:port"},
		{"a settling time before now", func(o *cluster.Options) { o.Settle = -1 }, nil, "negative"},
		{"a boot id with capital letters", func(o *cluster.Options) { o.Boot = "X.1" }, nil, "boot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := good()
			c.change(&o)
			n, err := cluster.Join(o)
			if err == nil {
				n.Close()
				t.Fatal("joined")
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestMemberlistSpeaksThroughLogrus(t *testing.T) {
	var out bytes.Buffer
	l := logrus.New()
	l.SetOutput(&out)
	l.SetLevel(logrus.DebugLevel)
	bubble(t, func(t *testing.T, v village) {
		v.start("a", "1", cluster.Master, func(o *cluster.Options) { o.Logger = logrus.NewEntry(l) })
		v.start("b", "1", cluster.Slave)
		pass(3 * time.Second)
	})
	if out.Len() == 0 {
		t.Error("nothing was logged")
	}
}

// TestANewRoleReachesOneThatWasDeaf: the gossip sends it for less than a second.
func TestANewRoleReachesOneThatWasDeaf(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		a, _ := v.start("a", "1", cluster.Slave)
		b, _ := v.start("b", "1", cluster.Standby)
		pass(3 * time.Second)
		v.net.Split([]string{address("a")}, []string{address("b")})
		if err := b.Become(cluster.Master, "c", 2, ""); err != nil {
			t.Log(err) // nobody has heard it
		}
		pass(200 * time.Millisecond)
		v.net.Heal([]string{address("a")}, []string{address("b")})
		pass(4 * time.Second)
		if got := a.Members(); len(got) != 1 || got[0].Role != cluster.Master || got[0].Term != 2 {
			t.Errorf("it knows %+v, want the master of term 2", got)
		}
	})
}

// TestANewNodeReachesOneThatWasDeaf: it has found the others through one of them, and the gossip tells the rest by lot.
func TestANewNodeReachesOneThatWasDeaf(t *testing.T) {
	bubble(t, func(t *testing.T, v village) {
		v.start("a", "1", cluster.Master)
		b, _ := v.start("b", "1", cluster.Standby)
		pass(3 * time.Second)
		v.net.Lose(1)
		v.start("c", "1", cluster.Slave)
		pass(900 * time.Millisecond)
		v.net.Lose(0)
		pass(4 * time.Second)
		if got := b.Members(); len(got) != 2 {
			t.Errorf("it knows %+v, want the master and the slave", got)
		}
	})
}
