package cluster

import (
	"context"
	"net"
	"strings"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// guard stands before protoactor's remote, which believes everything it receives: an index out of range, a type it does
// not know or a Terminated of no actor ends its process, and Stop, PoisonPill and the activator are open to all. The
// guard lets pass henro's own messages and what watching needs, from anybody who could connect, to actors of this
// process only.
type guard struct {
	address string // of this process; remote would pass on what is meant for another, for ever if it leads back here
	gate    *Gate
	log     *logrus.Entry
	warn    *rate.Limiter

	connections, calls, messages, panics atomic.Uint64
}

// Refused counts what the guard kept out.
type Refused struct {
	Connections uint64 // that did not prove to know the key, or spoke no TLS
	Calls       uint64 // of anything but the stream of messages
	// of foreign types, of foreign protocols, for other addresses, for the innards of the actor system
	Messages uint64
	Streams  uint64 // ended for broken contents
}

// prefix of the protobuf types that are ours.
const ownTypes = "henro."

// reserved are actors of the engine that no other node may address. A guardian panics at any message.
var reserved = []string{"activator", "EndpointSupervisor", "eventstream", "deadletter", "guardian"}

func newGuard(address string, gate *Gate, log *logrus.Entry) *guard {
	return &guard{address: address, gate: gate, log: log, warn: rate.NewLimiter(1, 10)}
}

func (g *guard) refused() Refused {
	return Refused{Connections: g.connections.Load(), Calls: g.calls.Load(), Messages: g.messages.Load(),
		Streams: g.panics.Load()}
}

// say logs at most one line a second, so that a stranger who connects all night does not fill the disk.
func (g *guard) say(phrase string, fields logrus.Fields) {
	if g.warn.Allow() {
		g.log.WithFields(fields).Warn(phrase)
	}
}

// unary denies all calls: those of remote are not implemented and panic.
func (g *guard) unary(_ context.Context, _ any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	g.calls.Add(1)
	g.say("call refused", logrus.Fields{"call": info.FullMethod})
	return nil, status.Error(codes.PermissionDenied, onlyOwnMessages)
}

// stream filters the messages of one peer; a panic ends the stream instead of the process.
func (g *guard) stream(server any, s grpc.ServerStream, _ *grpc.StreamServerInfo,
	handle grpc.StreamHandler) (err error) {
	defer func() {
		if why := recover(); why != nil {
			g.panics.Add(1)
			g.say("stream of a peer ended: broken message", logrus.Fields{"err": why})
			err = status.Error(codes.InvalidArgument, "broken message")
		}
	}()
	guarded := &guardedStream{ServerStream: s, guard: g}
	if from, ok := peer.FromContext(s.Context()); ok {
		guarded.name = certified(from.AuthInfo)
	}
	return handle(server, guarded)
}

// guardedStream is the stream of one peer.
type guardedStream struct {
	grpc.ServerStream
	guard *guard
	peer  string // its actors' address, as it gave it when it connected
	name  string // in its certificate; "": there are no keys
}

// RecvMsg hands protoactor only what it can bear.
func (s *guardedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	sent := m.(*remote.RemoteMessage) // the only one that a stream carries; stream catches a panic
	if c := sent.GetConnectRequest(); c != nil {
		s.peer = c.GetServerConnection().GetAddress()
	}
	if err := s.guard.sift(sent.GetMessageBatch(), s.peer, s.name); err != nil {
		s.guard.panics.Add(1)
		s.guard.say("stream of a peer ended: broken message", logrus.Fields{"address": s.peer, "err": err})
		return err
	}
	return nil
}

// certified is the name in the certificate of the other end of a connection; "": it showed none.
func certified(info credentials.AuthInfo) string {
	secured, ok := info.(credentials.TLSInfo)
	if !ok || len(secured.State.PeerCertificates) == 0 {
		return ""
	}
	return secured.State.PeerCertificates[0].Subject.CommonName
}

// sift drops from the batch what must not come in; an error means that no honest peer sends such a batch. Name is the
// one in the certificate of the peer.
func (g *guard) sift(b *remote.MessageBatch, peer, name string) error {
	if b == nil {
		return nil
	}
	// The gossip says who lives at the address; the certificate proves who speaks. Without this check a node could
	// speak as any other, from the address of that one or under its gossip name.
	if name != "" && g.gate != nil && !g.gate.holds(peer, name) {
		g.messages.Add(uint64(len(b.Envelopes)))
		g.say("messages refused: the certificate is not that of the member at the address",
			logrus.Fields{"certificate": name, "address": peer})
		b.Envelopes = nil
		return nil
	}
	keep := b.Envelopes[:0]
	for _, e := range b.Envelopes {
		if uint32(e.Target) >= uint32(len(b.Targets)) || uint32(e.TypeId) >= uint32(len(b.TypeNames)) ||
			uint32(e.Sender) > uint32(len(b.Senders)) || e.SerializerId != 0 {
			return status.Error(codes.InvalidArgument, "index out of range")
		}
		name, target := b.TypeNames[e.TypeId], b.Targets[e.Target]
		foreign := e.Sender > 0 && b.Senders[e.Sender-1].GetAddress() != peer
		if foreign || !g.admits(name, target, e.MessageData, peer) {
			g.messages.Add(1)
			g.say("message refused", logrus.Fields{"type": name, "actor": target.GetId(), "sender": peer})
			continue
		}
		keep = append(keep, e)
	}
	b.Envelopes = keep
	return nil
}

// admits decides about one message.
func (g *guard) admits(name string, target *actor.PID, body []byte, peer string) bool {
	if target == nil || target.Address != g.address || target.Id == "" || g.gate.barred(peer) {
		return false
	}
	for _, r := range reserved {
		if strings.HasPrefix(target.Id, r) {
			return false
		}
	}
	if strings.HasPrefix(name, ownTypes) {
		// A type that is unknown here comes from a newer version.
		_, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
		return err == nil
	}
	// Watching: who watches and who ended must be an actor of the peer, or this process would dial whatever address is
	// named. Terminated is the one that makes remote dial without asking the gate.
	var who *actor.PID
	switch name {
	case "actor.DeadLetterResponse":
		return true
	case "actor.Watch":
		var m actor.Watch
		if proto.Unmarshal(body, &m) == nil {
			who = m.Watcher
		}
	case "actor.Unwatch":
		var m actor.Unwatch
		if proto.Unmarshal(body, &m) == nil {
			who = m.Watcher
		}
	case "actor.Terminated":
		var m actor.Terminated
		if proto.Unmarshal(body, &m) == nil && g.gate.Open(peer) {
			who = m.Who
		}
	}
	return who.GetId() != "" && who.GetAddress() == peer && peer != g.address
}

// doorkeeper counts and logs the connections that fail to prove that they belong here, which grpc would do in silence.
type doorkeeper struct {
	credentials.TransportCredentials
	guard *guard
}

func (d *doorkeeper) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(c)
	if err != nil {
		d.guard.connections.Add(1)
		d.guard.say("connection refused", logrus.Fields{"address": c.RemoteAddr().String(), "err": err})
	}
	return conn, info, err
}

// Clone keeps the doorkeeper in its place.
func (d *doorkeeper) Clone() credentials.TransportCredentials {
	return &doorkeeper{TransportCredentials: d.TransportCredentials.Clone(), guard: d.guard}
}
