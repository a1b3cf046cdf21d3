package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"henro/messages"
)

// visitorAddress is what a visitor says of itself.
const visitorAddress = "127.0.0.1:9"

// visitor speaks to a house by hand.
type visitor struct {
	conn   *grpc.ClientConn
	stream remote.Remoting_ReceiveClient
}

func visit(t *testing.T, h *house, door credentials.TransportCredentials) *visitor {
	t.Helper()
	v := &visitor{}
	var err error
	if v.conn, err = grpc.NewClient(h.Address, grpc.WithTransportCredentials(door), grpc.WithNoProxy()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.conn.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	if v.stream, err = remote.NewRemotingClient(v.conn).Receive(ctx); err != nil {
		t.Fatal(err)
	}
	v.stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{
		ConnectRequest: &remote.ConnectRequest{
			ConnectionType: &remote.ConnectRequest_ServerConnection{
				ServerConnection: &remote.ServerConnection{SystemId: "visitor", Address: visitorAddress}}}}})
	if _, err := v.stream.Recv(); err != nil {
		t.Fatalf("connect: %v", err)
	}
	return v
}

// parcel is a batch of one message to one actor.
func parcel(address, id string, m proto.Message) *remote.MessageBatch {
	body, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return &remote.MessageBatch{
		TypeNames: []string{string(proto.MessageName(m))},
		Targets:   []*actor.PID{actor.NewPID(address, id)},
		Envelopes: []*remote.MessageEnvelope{{MessageData: body}},
	}
}

func (v *visitor) send(b *remote.MessageBatch) {
	v.stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: b}})
}

// ended waits until the house ends the stream.
func (v *visitor) ended(t *testing.T) error {
	t.Helper()
	for {
		if _, err := v.stream.Recv(); err != nil {
			if status.Code(err) == codes.DeadlineExceeded {
				t.Fatal("the stream did not end")
			}
			return err
		}
	}
}

// TestAttacks sends what an unguarded remote obeys, loops on or dies of, from a peer that was let in: without a key on
// loopback, or one that holds the key. After each the house must stand as before and hear the next honest word.
func TestAttacks(t *testing.T) {
	t.Parallel()
	h := build(t, order{})
	here := h.Address
	stored := &messages.Stored{Seqs: []uint64{1}}
	spoil := func(change func(*remote.MessageBatch)) *remote.MessageBatch {
		b := parcel(here, "slave", stored)
		change(b)
		return b
	}
	for _, c := range []struct {
		name string
		ends bool // no honest peer sends this: the stream ends
		b    *remote.MessageBatch
	}{
		{name: "spawn an actor through the activator", b: parcel(here, "activator",
			&remote.ActorPidRequest{Name: "x", Kind: "k"})},
		{name: "one of ours to the activator", b: parcel(here, "activator", stored)},
		{name: "one of ours to a guardian, which panics", b: parcel(here, "guardian$1", stored)},
		{name: "stop an actor", b: parcel(here, "slave", &actor.Stop{})},
		{name: "poison an actor", b: parcel(here, "slave", &actor.PoisonPill{})},
		{name: "touch an actor", b: parcel(here, "slave", &actor.Touch{})},
		{name: "terminated about nobody", b: parcel(here, "slave", &actor.Terminated{})},
		{name: "terminated about an actor of a third node", b: parcel(here, "slave",
			&actor.Terminated{Who: actor.NewPID("192.0.2.1:1", "x")})},
		{name: "watch by nobody", b: parcel(here, "slave", &actor.Watch{})},
		{name: "watch for a third node", b: parcel(here, "slave",
			&actor.Watch{Watcher: actor.NewPID("192.0.2.1:1", "x")})},
		{name: "a type that does not exist here",
			b: spoil(func(b *remote.MessageBatch) { b.TypeNames[0] = "henro.FromTheFuture" })},
		{name: "a foreign type that exists here", b: parcel(here, "slave", &remote.ConnectRequest{})},
		{name: "an alias of this address, which would go round for ever",
			b: parcel(strings.Replace(here, "127.0.0.1", "127.0.0.10", 1), "slave", stored)},
		{name: "relay to a third node", b: parcel("192.0.2.1:1", "slave", stored)},
		{name: "nobody's address", b: parcel("", "slave", stored)},
		{name: "type index too great", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = 7 })},
		{name: "type index negative", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].TypeId = -1 })},
		{name: "target index too great", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].Target = 1 })},
		{name: "sender index too great", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].Sender = 1 })},
		{name: "serializer that does not exist", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId = 9 })},
		{name: "serializer that is not ours", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].SerializerId = 1 })},
		{name: "no targets at all", ends: true, b: spoil(func(b *remote.MessageBatch) { b.Targets = nil })},
		{name: "a body that is not protobuf", ends: true,
			b: spoil(func(b *remote.MessageBatch) { b.Envelopes[0].MessageData = []byte{0xff} })},
		{name: "more than fits", ends: true,
			b: parcel(here, "slave", &messages.Stored{Seqs: make([]uint64, receiveLimit+1)})},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := visit(t, h, insecure.NewCredentials())
			v.send(c.b)
			if c.ends {
				v.ended(t)
				v = visit(t, h, insecure.NewCredentials())
			}
			// Whatever came of the attack has come before this, since a stream keeps its order.
			v.send(parcel(here, "slave", &messages.Stored{Seqs: []uint64{2}}))
			h.wants("heard", "Stored", 2)
			if r := h.counts(); r.Started != 1 || r.Stopped != 0 {
				t.Errorf("the actor was started %d times and stopped %d times", r.Started, r.Stopped)
			}
		})
	}
	t.Run("calls that are not implemented and panic", func(t *testing.T) {
		v := visit(t, h, insecure.NewCredentials())
		client := remote.NewRemotingClient(v.conn)
		if _,
			err := client.ListProcesses(t.Context(),
			&remote.ListProcessesRequest{}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("ListProcesses: %v", err)
		}
		if _, err := client.GetProcessDiagnostics(t.Context(),
			&remote.GetProcessDiagnosticsRequest{}); status.Code(err) != codes.PermissionDenied {
			t.Errorf("GetProcessDiagnostics: %v", err)
		}
	})
	if r := h.counts().Refused; r.Messages < 14 || r.Streams < 6 || r.Calls != 2 {
		t.Errorf("refused: %+v", r)
	}
}

// TestStrangers knocks without the key of the house: nothing is heard, and nothing is told.
func TestStrangers(t *testing.T) {
	ours, theirs := NewKeys(), NewKeys()
	h := build(t, order{Keys: keyText(ours)})
	config := func(k *Keys, change func(*tls.Config)) credentials.TransportCredentials {
		c, err := k.TLS("stranger")
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		return credentials.NewTLS(c)
	}
	trusting := func(c *tls.Config) { c.InsecureSkipVerify = true; c.VerifyConnection = nil }
	for _, c := range []struct {
		name string
		door credentials.TransportCredentials
	}{
		{"without TLS", insecure.NewCredentials()},
		{"with the certificate of another cluster", config(theirs, trusting)},
		{"without a certificate", config(ours, func(c *tls.Config) { trusting(c); c.GetClientCertificate = nil })},
		{"with an older TLS", config(ours, func(c *tls.Config) {
			c.MinVersion, c.MaxVersion = tls.VersionTLS12,
				tls.VersionTLS12
		})},
		{"the house's certificate is not theirs either", config(theirs, func(*tls.Config) {})},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := grpc.NewClient(h.Address, grpc.WithTransportCredentials(c.door), grpc.WithNoProxy())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			stream, err := remote.NewRemotingClient(conn).Receive(ctx)
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != codes.Unavailable {
				t.Errorf("the stranger heard %v", err)
			}
		})
	}
	t.Run("garbage, a truncated and a replayed handshake", func(t *testing.T) {
		// A hello of TLS, as a holder of the key would send it.
		here, there := net.Pipe()
		k, _ := ours.TLS("x")
		go tls.Client(there, k).HandshakeContext(t.Context())
		hello := make([]byte, 4096)
		n, err := here.Read(hello)
		if err != nil {
			t.Fatal(err)
		}
		here.Close()
		hello = hello[:n]
		for _, say := range [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), hello[:n/2], hello, make([]byte, 100)} {
			c, err := net.Dial("tcp", h.Address)
			if err != nil {
				t.Fatal(err)
			}
			c.Write(say)
			c.(*net.TCPConn).CloseWrite()
			c.SetDeadline(time.Now().Add(patience))
			buf := make([]byte, 64<<10)
			for err == nil {
				_, err = c.Read(buf)
			}
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Error("the house kept the connection")
			}
			c.Close()
		}
	})
	if r := h.counts().Refused; r.Connections < 6 {
		t.Errorf("refused: %+v", r)
	}
	v := visit(t, h, config(ours, func(*tls.Config) {}))
	v.send(parcel(h.Address, "slave", &messages.Stored{Seqs: []uint64{2}}))
	h.wants("heard", "Stored", 2)
}

func keyText(k *Keys) string {
	if k == nil {
		return ""
	}
	text, err := k.MarshalText()
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestTwoHousesSpeak(t *testing.T) {
	ours, older := NewKeys(), NewKeys()
	for _, c := range []struct {
		name string
		a, b *Keys
	}{
		{"without a key on loopback", nil, nil},
		{"with the same key", ours, ours},
		{"in the middle of a change of keys", ours.With(older), older.With(ours)},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := build(t, order{Keys: keyText(c.a)}), build(t, order{Keys: keyText(c.b)})
			for n := range uint64(3) {
				a.do(order{Do: "ask", To: b.Address, Number: n})
				a.wants("answered", "", n)
			}
			b.do(order{Do: "ask", To: a.Address, Number: 9})
			b.wants("answered", "", 9)
		})
	}
}

// TestABurstArrivesWhole is what remote's own settings fail at: messages of 6 kB at once, of which they deliver none.
func TestABurstArrivesWhole(t *testing.T) {
	a, b := build(t, order{}), build(t, order{})
	a.do(order{Do: "burst", To: b.Address, Number: burst})
	b.wants("burst", "", burst)
}

func TestTheEndOfAWatchedActorIsToldThroughTheGuard(t *testing.T) {
	a, b := build(t, order{}), build(t, order{})
	a.do(order{Do: "watch", To: b.Address, Number: 1})
	a.wants("answered", "", 1)
	b.do(order{Do: "poison"})
	a.wants("terminated", b.Address, uint64(actor.TerminatedReason_Stopped))
}

func TestNothingIsSentToWhomTheGateShutsOut(t *testing.T) {
	a, b := build(t, order{Gated: true}), build(t, order{})
	a.do(order{Do: "tell", To: b.Address, Number: 1})
	a.wants("dead letter", b.Address, 1)
	a.do(order{Do: "admit", To: b.Address, Who: "b.1"})
	a.do(order{Do: "tell", To: b.Address, Number: 2})
	b.wants("heard", "Stored", 2)
	// The node starts anew at its address: the end of the older boot does not shut the gate.
	a.do(order{Do: "admit", To: b.Address, Who: "b.2"})
	a.do(order{Do: "expel", To: b.Address, Who: "b.1"})
	a.do(order{Do: "watch", To: b.Address, Number: 3})
	a.wants("answered", "", 3)
	a.do(order{Do: "expel", To: b.Address, Who: "b.2"})
	a.wants("terminated", b.Address, uint64(actor.TerminatedReason_AddressTerminated))
	a.do(order{Do: "tell", To: b.Address, Number: 4})
	a.wants("dead letter", b.Address, 4)
	// And it comes back. The end of the old connection may be told late and end the new one too, with what was said on
	// it: as everywhere in our protocol, it is said again until it is heard.
	a.do(order{Do: "admit", To: b.Address, Who: "b.3"})
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	giveUp := time.After(patience)
	for {
		select {
		case r := <-b.reports:
			if r.What != "heard" || r.Number != 5 {
				t.Errorf("b reports %+v", r)
			}
			return
		case <-again.C:
			a.do(order{Do: "tell", To: b.Address, Number: 5})
		case <-giveUp:
			t.Fatal("b hears nothing after it came back")
		}
	}
}

// TestANodeSpeaksUnderItsOwnNameAlone: pc7 has a file of its own, and with it the key of the gossip. It speaks under
// the address of pc1, under a gossip name that is not its own, and for actors of others; and it answers where pc1 is
// called.
func TestANodeSpeaksUnderItsOwnNameAlone(t *testing.T) {
	t.Parallel()
	whole := NewKeys()
	own, err := whole.ForNode("pc7")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(own.For("pc7"), whole.For("pc7"), whole.For("pc1")); err != nil {
		t.Error(err)
	}
	if err := own.For("pc1"); !errors.Is(err, ErrOtherNode) {
		t.Errorf("pc7 calls itself pc1: %v", err)
	}
	h := build(t, order{Keys: keyText(whole), Gated: true})
	config, err := own.TLS("pc1") // whatever it says
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, h, credentials.NewTLS(config))
	say := func(number uint64) *remote.MessageBatch {
		return parcel(h.Address, "slave", &messages.Stored{Seqs: []uint64{number}})
	}
	sent := uint64(0)
	refused := func(what string, b *remote.MessageBatch) {
		t.Helper()
		v.send(b)
		sent++
		// the stream and the question go different ways
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if h.counts().Refused.Messages == sent {
				return
			}
		}
		t.Errorf("%s: %d of %d messages refused", what, h.counts().Refused.Messages, sent)
	}
	refused("at an address where nobody lives", say(1))
	h.do(order{Do: "admit", To: visitorAddress, Who: "pc1.2"})
	refused("at the address of pc1, or under its gossip name", say(2))
	h.do(order{Do: "admit", To: visitorAddress, Who: "pc7.1"})
	other := say(3)
	other.Senders, other.Envelopes[0].Sender = []*actor.PID{actor.NewPID("192.0.2.1:1", "slave")}, 1
	refused("for an actor of another node", other)
	v.send(say(4))
	h.wants("heard", "Stored", 4)

	false1 := build(t, order{Keys: keyText(own), Name: "pc1"})
	h.do(order{Do: "admit", To: false1.Address, Who: "pc1.2"})
	h.do(order{Do: "tell", To: false1.Address, Number: 5})
	h.wants("dead letter", false1.Address, 5)
	true7 := build(t, order{Keys: keyText(own), Name: "pc7"})
	h.do(order{Do: "admit", To: true7.Address, Who: "pc7.2"})
	h.do(order{Do: "tell", To: true7.Address, Number: 6})
	true7.wants("heard", "Stored", 6)
}

// brokenStream hears nothing but errors.
type brokenStream struct{ grpc.ClientStream }

func (brokenStream) RecvMsg(any) error { return io.EOF }

func TestAConnectionEndsWithItsStream(t *testing.T) {
	for name, streamer := range map[string]grpc.Streamer{
		"that could not be made": func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string,
			...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, io.ErrUnexpectedEOF
		},
		"that broke": func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string,
			...grpc.CallOption) (grpc.ClientStream, error) {
			return brokenStream{}, nil
		},
	} {
		conn, err := grpc.NewClient("passthrough:///127.0.0.1:9",
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		s, err := closeWithStream(t.Context(), nil, conn, "", streamer)
		if err == nil {
			err = s.RecvMsg(nil)
		}
		if err == nil || conn.GetState() != connectivity.Shutdown {
			t.Errorf("a stream %s: error %v, and the connection is %v", name, err, conn.GetState())
		}
	}
}

func TestStartRemoteRefusesWhatCannotWork(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		name string
		o    order
		says string
	}{
		{"a port that is taken", order{Bind: taken.Addr().String()}, "bind actors to " + taken.Addr().String() + ": " +
			ErrAddressTaken.Error()},
		{"all addresses without a key", order{Bind: ":7782"}, ErrKeyNeeded.Error()},
		{"an outer address without a key", order{Bind: "192.0.2.1:0"}, "henro key new"},
		{"no port", order{Bind: "127.0.0.1"}, "host:port"},
		{"an advertised address that nobody can dial", order{Say: "0.0.0.0:1"}, "advertise"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, r := try(t, c.o); r.What != "failed" || !strings.Contains(r.Text, c.says) {
				t.Errorf("the house says %+v, want %q", r, c.says)
			}
		})
	}
}

func TestAllAddressesMayBeBoundWithAKeyAndOneIsAdvertised(t *testing.T) {
	h := build(t, order{Bind: "0.0.0.0:0", Say: "127.0.0.9:0", Keys: keyText(NewKeys())})
	host, port, err := net.SplitHostPort(h.Address)
	if err != nil || host != "127.0.0.9" || port == "0" {
		t.Errorf("advertised %s", h.Address)
	}
}
