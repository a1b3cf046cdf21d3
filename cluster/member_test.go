package cluster

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/sirupsen/logrus"
)

func TestAMemberIsReadAsItWasWritten(t *testing.T) {
	for _, m := range []Member{
		{Name: "pc-17", Boot: "0abc", Role: Slave, ActorAddress: "10.0.0.1:7782", Version: "1.2", Capacity: 256,
			GossipAddress: "10.0.0.1:7781", Protocol: 3},
		{Name: "pc.with.dots", Boot: NewBoot(), Role: Master, ActorAddress: "[2001:db8::1]:7782", Leaving: true,
			GossipAddress: "g", Protocol: 1, Crawl: "00112233445566ff", Term: 7},
		{Name: "部屋", Boot: "1", Role: Master, ActorAddress: "127.0.0.1:1", GossipAddress: "g", Protocol: 1},
	} {
		b, err := encodeMeta(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > memberlist.MetaMaxSize/2 {
			t.Errorf("%d bytes for an ordinary member", len(b))
		}
		got, err := decodeMember(m.gossipName(), m.GossipAddress, b)
		if err != nil || got != m {
			t.Errorf("read %+v, %v; written %+v", got, err, m)
		}
	}
}

func TestWhatANewerVersionSaysBesidesIsIgnored(t *testing.T) {
	m, err := decodeMember("n.1", "g", []byte(`{"role":"slave","actors":"127.0.0.1:1","colour":{"of":"the sky"}}`))
	if err != nil || m.Name != "n" || m.Protocol != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func FuzzDecodeMember(f *testing.F) {
	f.Add("n.1", []byte(`{"role":"slave","actors":"127.0.0.1:1"}`))
	f.Add("m.1", []byte(`{"role":"master","actors":"127.0.0.1:1","crawl":"0aef","term":18446744073709551615}`))
	f.Add("m.1", []byte(`{"role":"master","actors":"127.0.0.1:1","crawl":"a crawl","term":-1}`))
	f.Add("nodot", []byte(`{}`))
	f.Add("a.b.c", []byte(`{"role":"king","actors":"x","capacity":-1}`))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		m, err := decodeMember(name, "g", b)
		if err != nil {
			return
		}
		if m.gossipName() != name {
			t.Errorf("%q became %q", name, m.gossipName())
		}
		again, err := encodeMeta(m)
		if err != nil {
			return // longer than a whole packet of the gossip
		}
		if back, err := decodeMember(name, "g", again); err != nil || back != m {
			t.Errorf("%+v became %+v, %v", m, back, err)
		}
	})
}

func TestBootsSortByTheirStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := ""
		for range 1000 {
			boot := NewBoot()
			if boot <= last || len(boot) != 16 {
				t.Fatalf("boot %q after %q", boot, last)
			}
			last = boot
			time.Sleep(time.Millisecond)
		}
	})
}

func TestAdvertise(t *testing.T) {
	for _, c := range []struct{ bind, want string }{
		{"127.0.0.1:7782", "127.0.0.1:7782"},
		{"localhost:1", "127.0.0.1:1"},
		{"192.0.2.7:5", "192.0.2.7:5"},
		{"[::1]:5", "[::1]:5"},
	} {
		if got, err := Advertise(c.bind, nil); err != nil || got != c.want {
			t.Errorf("Advertise(%s) = %s, %v", c.bind, got, err)
		}
	}
	for _, bind := range []string{"", "7782", "name:1", "127.0.0.1:x", "127.0.0.1:70000"} {
		if got, err := Advertise(bind, nil); err == nil {
			t.Errorf("Advertise(%q) = %s", bind, got)
		}
	}
	// Whatever machine this is, what is found can be dialled.
	if got, err := Advertise(":7782", []string{"127.0.0.1:1", "192.0.2.1:9"}); err == nil {
		host, port, _ := net.SplitHostPort(got)
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() || ip.IsLoopback() || port != "7782" {
			t.Errorf("Advertise of all addresses found %s", got)
		}
	}
}

// TestWithoutAKeyOnlyThisMachineReachesANode: whatever it is called.
func TestWithoutAKeyOnlyThisMachineReachesANode(t *testing.T) {
	for host, alone := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true,
		"::ffff:127.0.0.1": true, "0.0.0.0": false, "::": false, "192.0.2.1": false, "henro.example": false,
		"": false} {
		if err := mayBind("gossip", host, 1, nil); (err == nil) != alone {
			t.Errorf("%s: %v", host, err)
		}
		if err := mayBind("gossip", host, 1, NewKeys()); err != nil {
			t.Errorf("%s, with a key: %v", host, err)
		}
	}
}

func TestLinesOfMemberlistKeepTheirLevel(t *testing.T) {
	for _, c := range []struct {
		line  string
		level logrus.Level
		text  string
	}{
		{"[DEBUG] memberlist: Stream connection\n", logrus.DebugLevel, "Stream connection"},
		{"[INFO] memberlist: Suspect x has failed\n", logrus.InfoLevel, "Suspect x has failed"},
		{"[WARN] memberlist: Refuting", logrus.WarnLevel, "Refuting"},
		{"[ERR] memberlist: failed to receive: x]y", logrus.WarnLevel, "failed to receive: x]y"},
		{"[ERR] memberlist: Failed to send gossip to 1.2.3.4:1: write udp: use of closed network connection\n",
			logrus.DebugLevel, "Failed to send gossip to 1.2.3.4:1: write udp: use of closed network connection"},
		{"no level at all", logrus.InfoLevel, "no level at all"},
		{"", logrus.InfoLevel, ""},
	} {
		if level, text := gossipLine(c.line); level != c.level || text != c.text {
			t.Errorf("%q is %v %q", c.line, level, text)
		}
	}
}

// TestNodesMeetOverSockets is the one test of the gossip that does not run in a bubble: the real transport, with a key,
// on free ports.
func TestNodesMeetOverSockets(t *testing.T) {
	key := NewKeys()
	met := make(chan Event, 10)
	a, err := Join(Options{Name: "a", Role: Master, ActorAddress: "127.0.0.1:1", Bind: "127.0.0.1:0", Key: key,
		Notify: func(e Event) { met <- e }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := Join(Options{Name: "b", Role: Slave, ActorAddress: "127.0.0.1:2", Bind: a.Self().GossipAddress,
		Key: key}); err == nil ||
		!strings.Contains(err.Error(), ErrAddressTaken.Error()) {
		t.Errorf("a second node on the port: %v", err)
	}
	stranger, err := Join(Options{Name: "c", Role: Slave, ActorAddress: "127.0.0.1:3", Bind: "127.0.0.1:0",
		JoinAddrs: []string{a.Self().GossipAddress}})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	b, err := Join(Options{Name: "b", Role: Slave, ActorAddress: "127.0.0.1:2", Bind: "127.0.0.1:0", Key: key,
		JoinAddrs: []string{a.Self().GossipAddress}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	select {
	case e := <-met:
		if up, ok := e.(*MemberUp); !ok || up.Member != b.Self() {
			t.Errorf("heard %+v", e)
		}
	case <-time.After(patience):
		t.Fatal("they did not meet")
	}
	if len(stranger.Members()) > 0 {
		t.Errorf("a node without the key sees %v", stranger.Members())
	}
}
