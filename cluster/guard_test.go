package cluster

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/hashicorp/memberlist"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"henro/messages"
)

// counted is a logger whose lines are counted.
type counted struct{ lines int }

func (c *counted) Write(p []byte) (int, error) {
	c.lines++
	return len(p), nil
}

func (c *counted) entry() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(c)
	return logrus.NewEntry(l)
}

// TestTheGuardSiftsByItself: what the engine behind the guard would survive by luck is refused by the guard, and the
// other messages of the batch pass.
func TestTheGuardSiftsByItself(t *testing.T) {
	const here, peer, barred, gone = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"
	gate := NewGate()
	gate.admit(peer, "pc2.1")
	gate.bar(barred, "pc3.1")
	stored := &messages.Stored{Seqs: []uint64{1}}
	of := func(who string) *actor.PID { return actor.NewPID(who, "slave") }
	spoil := func(change func(*remote.MessageBatch)) *remote.MessageBatch {
		b := parcel(here, "slave", stored)
		change(b)
		return b
	}
	for _, c := range []struct {
		name string
		from string // default peer
		b    *remote.MessageBatch
		ends bool // no honest peer sends this
		keep int  // messages that pass
	}{
		{name: "an honest message", b: parcel(here, "slave", stored), keep: 1},
		{name: "an honest watch", b: parcel(here, "slave", &actor.Watch{Watcher: of(peer)}), keep: 1},
		{name: "an honest end of a watch", b: parcel(here, "slave", &actor.Unwatch{Watcher: of(peer)}), keep: 1},
		{name: "an honest end", b: parcel(here, "slave", &actor.Terminated{Who: of(peer)}), keep: 1},
		{name: "a target behind the last", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].Target = 1 })},
		{name: "a target before the first", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].Target = -1 })},
		{name: "a type behind the last", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = 1 })},
		{name: "a sender behind the last", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].Sender = 1 })},
		{name: "a sender before the first", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].Sender = -1 })},
		{name: "another serializer", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId = 1 })},
		{name: "a sender of another node", b: spoil(func(b *remote.MessageBatch) {
			b.Senders, b.Envelopes[0].Sender = []*actor.PID{of("192.0.2.1:1")}, 1
		})},
		{name: "no target", b: spoil(func(b *remote.MessageBatch) { b.Targets[0] = nil })},
		{name: "a target without a name", b: parcel(here, "", stored)},
		{name: "the activator", b: parcel(here, "activator", stored)},
		{name: "the supervisor of endpoints", b: parcel(here, "EndpointSupervisor", stored)},
		{name: "the stream of events", b: parcel(here, "eventstream", stored)},
		{name: "the dead letters", b: parcel(here, "deadletter", stored)},
		{name: "a guardian", b: parcel(here, "guardian$1", stored)},
		{name: "a peer whose protocol is not understood", from: barred, b: parcel(here, "slave", stored)},
		{name: "Stop, of a peer that never said who it is", from: "-", b: parcel(here, "slave", &actor.Stop{})},
		{name: "Watch of this process by itself", from: here,
			b: parcel(here, "slave", &actor.Watch{Watcher: of(here)})},
		{name: "the end of an actor of a peer that is gone", from: gone,
			b: parcel(here, "slave", &actor.Terminated{Who: of(gone)})},
		{name: "the end of another's actor", b: parcel(here, "slave", &actor.Terminated{Who: of(gone)})},
		{name: "a body that is none", b: spoil(func(b *remote.MessageBatch) {
			b.TypeNames[0], b.Envelopes[0].MessageData = "actor.Watch", []byte{0xff}
		})},
	} {
		from := c.from
		if from == "" {
			from = peer
		}
		// An honest message behind the one that is tried: it passes, or the stream ends.
		honest := parcel(here, "slave", stored)
		c.b.TypeNames, c.b.Targets = append(c.b.TypeNames, honest.TypeNames...), append(c.b.Targets, honest.Targets...)
		if !c.ends {
			c.b.Envelopes = append(c.b.Envelopes, &remote.MessageEnvelope{MessageData: honest.Envelopes[0].MessageData,
				TypeId: 1, Target: 1})
			if from != barred {
				c.keep++
			}
		}
		if c.name == "a target behind the last" || c.name == "a type behind the last" {
			c.b.TypeNames, c.b.Targets = c.b.TypeNames[:1], c.b.Targets[:1]
		}
		g := newGuard(here, gate, silent())
		err := g.sift(c.b, strings.Trim(from, "-"), "")
		if (err != nil) != c.ends || err == nil && len(c.b.Envelopes) != c.keep {
			t.Errorf("%s: %v, %d of %d messages pass", c.name, err, len(c.b.Envelopes), c.keep)
		}
	}
}

// stream is one over which nothing comes.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }

// TestAPanicEndsAStreamAlone: the handler is protoactor's, which panics at what its authors did not think of.
func TestAPanicEndsAStreamAlone(t *testing.T) {
	log := &counted{}
	g := newGuard("127.0.0.1:1", nil, log.entry())
	for range 1000 {
		err := g.stream(nil, stream{ctx: t.Context()}, nil, func(any, grpc.ServerStream) error { panic("index") })
		if status.Code(err) != codes.InvalidArgument {
			t.Fatal(err)
		}
	}
	if g.refused().Streams != 1000 || log.lines == 0 || log.lines > 100 {
		t.Errorf("%+v, %d lines in the log", g.refused(), log.lines)
	}
	gossip := &counted{}
	lines := gossipLogger(gossip.entry())
	for range 1000 {
		lines.Print("[ERR] memberlist: failed to decrypt")
	}
	if gossip.lines == 0 || gossip.lines > 100 {
		t.Errorf("%d lines of the gossip", gossip.lines)
	}
}

// TestAPeerTakesNoMoreThanItsShare opens streams and sends fields as no node does.
func TestAPeerTakesNoMoreThanItsShare(t *testing.T) {
	h := build(t, order{})
	v := visit(t, h, insecure.NewCredentials())
	client := remote.NewRemotingClient(v.conn)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // a stream that waits for its turn
	defer cancel()
	var err error
	for range 2 * streamsPerPeer {
		if _, err = client.Receive(ctx); err != nil {
			break
		}
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%d streams of one peer: %v", 2*streamsPerPeer, err)
	}
	v = visit(t, h, insecure.NewCredentials())
	long := metadata.AppendToOutgoingContext(t.Context(), "long", strings.Repeat("x", 2*headerBytes))
	_, err = remote.NewRemotingClient(v.conn).ListProcesses(long, &remote.ListProcessesRequest{})
	if code := status.Code(err); code == codes.OK || code == codes.PermissionDenied {
		t.Errorf("a head of %d bytes: %v", 2*headerBytes, err)
	}
}

// TestASilentConnectionEnds: whoever connects and says nothing holds a connection for no longer than handshakeWait.
func TestASilentConnectionEnds(t *testing.T) {
	t.Parallel()
	h := build(t, order{})
	c, err := net.Dial("tcp", h.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(handshakeWait + patience))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the house kept the connection")
	}
}

func TestMembersThatMakeNoSenseAreNone(t *testing.T) {
	const good = `{"role":"slave","actors":"127.0.0.1:1"}`
	if _, err := decodeMember("n.1", "g", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for sentence, c := range map[string][2]string{
		"no boot":              {"n", good},
		"an empty boot":        {"n.", good},
		"a long boot":          {"n." + strings.Repeat("1", 33), good},
		"a boot with a slash":  {"n.1/", good},
		"no name":              {".1", good},
		"a long name":          {strings.Repeat("n", 129) + ".1", good},
		"a name with a path":   {"../n.1", good},
		"a name with a line":   {"n\nWARN.1", good},
		"no role":              {"n.1", `{"actors":"127.0.0.1:1"}`},
		"another role":         {"n.1", `{"role":"king","actors":"127.0.0.1:1"}`},
		"no address":           {"n.1", `{"role":"slave"}`},
		"no port":              {"n.1", `{"role":"slave","actors":"127.0.0.1:0"}`},
		"every address":        {"n.1", `{"role":"slave","actors":"0.0.0.0:1"}`},
		"a name as address":    {"n.1", `{"role":"slave","actors":"localhost:1"}`},
		"protocol before 1":    {"n.1", `{"role":"slave","actors":"127.0.0.1:1","protocol":-1}`},
		"negative capacity":    {"n.1", `{"role":"slave","actors":"127.0.0.1:1","capacity":-1}`},
		"a crawl that is none": {"n.1", `{"role":"master","actors":"127.0.0.1:1","crawl":"a crawl"}`},
		"a long crawl": {"n.1",
			`{"role":"master","actors":"127.0.0.1:1","crawl":"` + strings.Repeat("0", 33) + `"}`},
		"a consensus nowhere": {"n.1", `{"role":"master","actors":"127.0.0.1:1","consensus":"localhost"}`},
		"no JSON":             {"n.1", `{`},
	} {
		if m, err := decodeMember(c[0], "g", []byte(c[1])); err == nil {
			t.Errorf("%s: taken as %+v", sentence, m)
		}
		if (ears{}).NotifyAlive(&memberlist.Node{Name: c[0], Meta: []byte(c[1])}) == nil {
			t.Errorf("%s: let into the list of members", sentence)
		}
	}
}

// TestOthersGossipStaysOutside: a memberlist of another program, on this machine, without a key.
func TestOthersGossipStaysOutside(t *testing.T) {
	a, err := Join(Options{Name: "a", Role: Master, ActorAddress: "127.0.0.1:1", Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	o := memberlist.DefaultLocalConfig()
	o.Name, o.BindAddr, o.BindPort, o.AdvertisePort, o.LogOutput = "other", "127.0.0.1", 0, 0, io.Discard
	other, err := memberlist.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Shutdown()
	if n, err := other.Join([]string{a.Self().GossipAddress}); err == nil {
		t.Errorf("another program joined %d nodes", n)
	}
	config, err := a.config()
	if err != nil {
		t.Fatal(err)
	}
	if config.IPAllowed(net.ParseIP("192.0.2.1")) == nil || config.IPAllowed(net.ParseIP("127.0.0.1")) != nil {
		t.Error("without a key others than this machine are members")
	}
}

// TestNoGateIsAnOpenOne: whoever uses remote alone has none.
func TestNoGateIsAnOpenOne(t *testing.T) {
	var g *Gate
	g.admit("127.0.0.1:1", "n.1")
	g.bar("127.0.0.1:1", "n.1")
	g.Doubt("127.0.0.1:1")
	g.expel("127.0.0.1:1", "n.1")
	if !g.Open("127.0.0.1:1") || g.barred("127.0.0.1:1") {
		t.Error("it keeps messages out")
	}
}

// TestLostMembersAreFew: names are free, so a liar may have as many members die as it likes.
func TestLostMembersAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{sightings: map[string]sighting{}, alive: map[string]Member{}, doubtful: map[string]time.Time{},
			wake: make(chan struct{}, 1)}
		for i := range 2 * maxLost {
			peer := &memberlist.Node{Name: fmt.Sprintf("n%d.1", i), Addr: net.IPv4(10, 0, byte(i>>8), byte(i)),
				Meta: []byte(`{"role":"slave","actors":"127.0.0.1:1"}`)}
			n.note(peer, true)
			n.note(peer, false)
		}
		if got := len(n.lostAddresses(time.Now())); got != maxLost {
			t.Errorf("%d lost members are remembered", got)
		}
		time.Sleep(healFor + time.Second)
		if got := len(n.lostAddresses(time.Now())); got != 0 {
			t.Errorf("%d are looked for after %v", got, healFor)
		}
	})
}

// TestDamagedFilesOfNodesAreRefused changes the credential of a node under a right checksum.
func TestDamagedFilesOfNodesAreRefused(t *testing.T) {
	whole := NewKeys()
	own, err := whole.ForNode("pc7")
	if err != nil {
		t.Fatal(err)
	}
	line := func(change func(*credential)) string {
		c := own.keys[0].own
		change(&c)
		b, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		text, id := base64.RawURLEncoding.EncodeToString(b), own.keys[0].id
		return nodeVersion + " " + id + " " + text + " " + keyCheck(id, text)
	}
	good := line(func(*credential) {})
	if _, err := ParseKeys([]byte(good)); err != nil {
		t.Fatal(err)
	}
	plain, _ := whole.MarshalText()
	lines := strings.Split(strings.TrimSpace(string(plain)), "\n")
	secret := lines[len(lines)-1]
	var many strings.Builder
	for range maxKeys + 1 {
		text, _ := NewKeys().MarshalText()
		many.Write(text)
	}
	for sentence, text := range map[string]string{
		"a letter changed":         good[:len(good)-1] + "x",
		"a word too many":          good + " x",
		"no credential":            nodeVersion + " abcdefgh x " + keyCheck("abcdefgh", "x"),
		"half a key of the gossip": line(func(c *credential) { c.Gossip = c.Gossip[:16] }),
		"half a seed":              line(func(c *credential) { c.Seed = c.Seed[:16] }),
		"no name":                  line(func(c *credential) { c.Certificate = c.Certificate[:10] }),
		"no authority":             line(func(c *credential) { c.Authority = nil }),
		"a key with a word more":   secret + " x",
		"too many keys":            many.String(),
		"a revocation of nobody":   good + "\n" + revokedVersion,
		"a revocation of two":      good + "\n" + revokedVersion + " a b",
	} {
		if _, err := ParseKeys([]byte(text)); !errors.Is(err, ErrKeyDamaged) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	for _, name := range []string{"", "a b", "a\nhenro-revoked-1 b", "a\tb"} {
		if whole.Revoke(name, false) == nil {
			t.Errorf("%q is revoked", name)
		}
	}
	for i := range maxRevoked {
		if err := whole.Revoke(fmt.Sprint("n", i), false); err != nil {
			t.Fatal(err)
		}
	}
	if whole.Revoke("one-more", false) == nil || len(whole.Revoked()) != maxRevoked {
		t.Errorf("%d names are revoked", len(whole.Revoked()))
	}
}

func TestOfALongKeyFileLittleIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.key")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 64<<20)); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadKeys(path)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrKeyDamaged) || after.TotalAlloc-before.TotalAlloc > 8<<20 {
		t.Errorf("%v, %d bytes of memory", err, after.TotalAlloc-before.TotalAlloc)
	}
}

// TestOnlyCertificatesOfNodesAreTaken: whatever else an authority may sign one day.
func TestOnlyCertificatesOfNodesAreTaken(t *testing.T) {
	whole := NewKeys()
	ca, caKey, err := authority(*whole.keys[0].secret)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, c := range map[string]struct {
		change func(*x509.Certificate)
		taken  bool
	}{
		"of a node":              {func(*x509.Certificate) {}, true},
		"for another purpose":    {func(c *x509.Certificate) { c.DNSNames = []string{"henro-reader"} }, false},
		"of a server alone":      {func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] }, false},
		"of a time that is over": {func(c *x509.Certificate) { c.NotAfter = time.Unix(1, 0) }, false},
	} {
		template := nodeTemplate("pc7")
		template.SerialNumber = big.NewInt(7)
		c.change(template)
		der, err := x509.CreateCertificate(rand.Reader, template, ca, make(ed25519.PrivateKey, 64).Public(), caKey)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		err = whole.Verify(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
		if (err == nil) != c.taken {
			t.Errorf("%s: %v", sentence, err)
		}
	}
	if whole.Verify(tls.ConnectionState{}) == nil {
		t.Error("no certificate is taken")
	}
}

// TestNoConnectionIsResumed: a ticket of TLS would skip the handshake, after its key is gone too.
func TestNoConnectionIsResumed(t *testing.T) {
	keys := NewKeys()
	inside, err := keys.TLS("master")
	if err != nil {
		t.Fatal(err)
	}
	outside, err := keys.TLS("pc1")
	if err != nil {
		t.Fatal(err)
	}
	outside.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	for range 2 {
		a, b := net.Pipe()
		server, client := tls.Server(a, inside), tls.Client(b, outside)
		go func() {
			server.Write([]byte("x"))
			io.Copy(io.Discard, server)
		}()
		if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if client.ConnectionState().DidResume {
			t.Error("the second connection resumed the first")
		}
		a.Close()
		b.Close()
	}
}

// TestADamagedKeyFileChangesNothing: a file that is being written, or that is no key file any more.
func TestADamagedKeyFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, next := NewKeys(), NewKeys()
		path := filepath.Join(t.TempDir(), "cluster.key")
		log := &counted{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go keys.Follow(ctx, path, log.entry())
		before := strings.Join(keys.IDs(), " ")
		for _, text := range []string{"", "henro-key-1 half", "\x00"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * readEvery)
			synctest.Wait()
			if got := strings.Join(keys.IDs(), " "); got != before {
				t.Fatalf("%q made the keys %q", text, got)
			}
		}
		if log.lines == 0 || log.lines > 3 {
			t.Errorf("%d lines in the log", log.lines)
		}
		if err := next.Write(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * readEvery)
		synctest.Wait()
		if got := strings.Join(keys.IDs(), " "); got != strings.Join(next.IDs(), " ") {
			t.Errorf("the new keys are not read: %s", got)
		}
		lines := log.lines // of a file that stays as it is nothing is said
		time.Sleep(10 * readEvery)
		synctest.Wait()
		if log.lines != lines {
			t.Errorf("%d more lines in the log", log.lines-lines)
		}
	})
}
