package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// Settings of protoactor's remote. With its defaults a burst of 20,000 messages delivered nothing at all.
const (
	batchMessages = 64 // messages sent in one piece: 64 of our ≤ 128 kB stay below receiveLimit
	// slots made beforehand for each peer, grown when needed; the default of a million takes 16 MB each
	writerQueue = 4096
	// bytes of one piece; the default of 4 MB breaks the connection of a node that sends more
	receiveLimit = 16 << 20
	dialTimeout  = 2 * time.Second // a machine that is switched off would block its writer for 20 s
	// each followed by 2 s of sleep; after 8 s in all what is queued becomes dead letters
	dialRetries     = 2
	keepaliveEvery  = 10 * time.Second // a frozen peer is noticed after this and keepaliveWait; by default never
	keepaliveWait   = 3 * time.Second
	keepaliveMin    = 5 * time.Second // what a server allows
	handshakeWait   = 5 * time.Second // for a connection that says nothing, or garbage
	streamsPerPeer  = 16              // one is used
	headerBytes     = 16 << 10
	onlyOwnMessages = "this node speaks only henro's own messages"
)

// RemoteOptions say where messages of actors of other processes are received and answered.
type RemoteOptions struct {
	Bind      string   // "host:port"; port 0: any free one
	Advertise string   // "ip:port" under which others reach Bind; default: found by Advertise
	Peers     []string // addresses of others, to find Advertise by; may be empty
	Key       *Keys    // nil: no encryption, and only loopback may be bound
	Name      string   // of this node, for its certificate
	Gate      *Gate    // to whom may be sent; nil: to everybody
	Logger    *logrus.Entry
}

// Remote lets the actors of this process speak with those of others.
type Remote struct {
	system  *actor.ActorSystem
	remote  *remote.Remote
	guard   *guard
	address string
	gate    *Gate
	closed  atomic.Bool // after Shutdown nothing is sent
	dialled sync.Map    // addresses that were spoken to since the gate last closed on them
}

// StartRemote begins to listen. It must come before any actor is spawned, since from now on the addresses of actors
// bear the advertised address.
func StartRemote(system *actor.ActorSystem, o RemoteOptions) (*Remote, error) {
	o.Logger = cmp.Or(o.Logger, silent())
	host, port, err := splitAddress(o.Bind)
	if err != nil {
		return nil, fmt.Errorf("start remote: %w", err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if err := mayBind("actors", host, port, o.Key); err != nil {
		return nil, fmt.Errorf("start remote: %w", err)
	}
	// remote panics when it cannot listen, and must be told its port: so the port is tried first.
	if port, err = probe(host, port); err != nil {
		return nil, fmt.Errorf("start remote: %w", err)
	}
	if o.Advertise == "" {
		o.Advertise, err = Advertise(net.JoinHostPort(host, strconv.Itoa(port)), o.Peers)
		if err != nil {
			return nil, fmt.Errorf("start remote: %w", err)
		}
	}
	advertised, err := netip.ParseAddrPort(o.Advertise)
	if err != nil || advertised.Addr().IsUnspecified() {
		return nil, fmt.Errorf("start remote: advertise %q: not ip:port", o.Advertise)
	}
	if advertised.Port() == 0 {
		o.Advertise = netip.AddrPortFrom(advertised.Addr(), uint16(port)).String()
	}

	var inside, outside credentials.TransportCredentials = insecure.NewCredentials(), insecure.NewCredentials()
	if o.Key != nil {
		config, err := o.Key.TLS(o.Name)
		if err != nil {
			return nil, fmt.Errorf("start remote: %w", err)
		}
		inside = &keeper{credentials.NewTLS(config), o.Key, nil}
		outside = &keeper{credentials.NewTLS(config), o.Key, o.Gate}
	}
	r := &Remote{system: system, address: o.Advertise, gate: o.Gate, guard: newGuard(o.Advertise, o.Gate, o.Logger)}
	c := remote.Configure(host, port,
		remote.WithAdvertisedHost(o.Advertise),
		remote.WithEndpointWriterBatchSize(batchMessages),
		remote.WithEndpointWriterQueueSize(writerQueue),
		remote.WithEndpointManagerBatchSize(batchMessages),
		remote.WithEndpointManagerQueueSize(writerQueue),
		remote.WithDialOptions(
			grpc.WithTransportCredentials(outside),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveEvery, Timeout: keepaliveWait}),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: dialTimeout}),
			grpc.WithNoProxy(),
			grpc.WithStreamInterceptor(closeWithStream)),
		remote.WithServerOptions(
			grpc.Creds(&doorkeeper{TransportCredentials: inside, guard: r.guard}),
			grpc.MaxRecvMsgSize(receiveLimit),
			grpc.MaxConcurrentStreams(streamsPerPeer),
			grpc.MaxHeaderListSize(headerBytes),
			grpc.ConnectionTimeout(handshakeWait),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMin,
				PermitWithoutStream: true}),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveEvery, Timeout: keepaliveWait}),
			grpc.StreamInterceptor(r.guard.stream),
			grpc.UnaryInterceptor(r.guard.unary)),
	)
	c.MaxRetryCount = dialRetries
	// Resolvers are asked in the order of their registration, so this one, registered before remote's own, is asked
	// first.
	system.ProcessRegistry.RegisterAddressResolver(r.resolve)
	r.remote = remote.NewRemote(system, c)
	if err := start(r.remote); err != nil {
		return nil, fmt.Errorf("start remote: %w", err)
	}
	if o.Gate != nil {
		o.Gate.mu.Lock()
		o.Gate.closed = r.hangUp
		o.Gate.mu.Unlock()
		system.EventStream.Subscribe(func(event any) {
			if broken, ok := event.(*remote.EndpointTerminatedEvent); ok {
				o.Gate.Doubt(broken.Address)
			}
		})
	}
	return r, nil
}

// closeWithStream ends a connection with the one stream that is ever made on it. protoactor's writer forgets the
// connection of an attempt that failed, which then lives for ever, with three goroutines, and dials again when somebody
// is back at its address: a master whose slaves died every 20 s had 12 of them after 18 deaths.
func closeWithStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, o...)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &onlyStream{ClientStream: s, conn: conn}, nil
}

// onlyStream is the stream of a connection that ends with it.
type onlyStream struct {
	grpc.ClientStream
	conn *grpc.ClientConn
}

func (s *onlyStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.conn.Close()
	}
	return err
}

// probe finds out whether the address can be listened on, and which port 0 becomes.
func probe(host string, port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		if addressTaken(err) {
			err = ErrAddressTaken
		}
		return 0, fmt.Errorf("bind actors to %s: %w", net.JoinHostPort(host, strconv.Itoa(port)), err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start turns remote's panics into errors: somebody may have taken the port since it was probed.
func start(r *remote.Remote) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("listen: %v", why)
		}
	}()
	r.Start()
	return nil
}

// Address is the "ip:port" under which others reach the actors of this process.
func (r *Remote) Address() string { return r.address }

// Refused counts what the guard kept out.
func (r *Remote) Refused() Refused { return r.guard.refused() }

// Shutdown ends all connections at once; messages that are not sent yet are lost. The actors that send should be
// stopped before.
//
// protoactor's graceful way is not taken: it removes a map that goroutines still read, so that the process may crash on
// its way out, and it waits 10 s for peers that are frozen.
func (r *Remote) Shutdown() {
	r.closed.Store(true)
	r.dialled.Range(func(address, _ any) bool {
		r.hangUp(address.(string))
		return true
	})
	r.remote.Shutdown(false)
}

// resolve gives the PID of an actor elsewhere a process that asks the gate at each message, since a PID remembers the
// process that it was resolved to.
func (r *Remote) resolve(pid *actor.PID) (actor.Process, bool) {
	resolvers := r.system.ProcessRegistry.RemoteHandlers
	outer, ok := resolvers[len(resolvers)-1](pid)
	return &outside{remote: r, outer: outer}, ok
}

// outside stands for an actor of another node.
type outside struct {
	remote *Remote
	outer  actor.Process
}

func (p *outside) to(pid *actor.PID) actor.Process {
	r := p.remote
	if r.closed.Load() || !r.gate.Open(pid.Address) {
		return r.system.DeadLetter
	}
	r.dialled.LoadOrStore(pid.Address, true)
	return p.outer
}

func (p *outside) SendUserMessage(pid *actor.PID, message any) {
	p.to(pid).SendUserMessage(pid, message)
}
func (p *outside) SendSystemMessage(pid *actor.PID, message any) {
	p.to(pid).SendSystemMessage(pid, message)
}
func (p *outside) Stop(pid *actor.PID) { p.to(pid).Stop(pid) }

// hangUp ends the connection to an address whose last holder is gone; actors that watch others there receive
// Terminated.
func (r *Remote) hangUp(address string) {
	r.dialled.Delete(address)
	r.system.EventStream.Publish(&remote.EndpointTerminatedEvent{Address: address})
}
