package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"henro/.ci/lab/play"
	"henro/.ci/lab/process"
	"henro/cluster"
)

// strangers knock at the ports of a running cluster, from a namespace that is on its network and without its key.
func strangers(ctx context.Context, t *trial) error {
	if err := t.under(ctx, 0.1); err != nil {
		return err
	}
	space, err := t.place("stranger", "henro-slave", 150)
	if err != nil {
		return err
	}
	victims := []*node{t.master, t.slaves[0], t.slaves[1]}
	attacks := []struct {
		what  string
		times int
		knock func(context.Context, *visitor) error
	}{
		{"port scan", 1, scan},
		{"connections that say nothing", 200, silence},
		{"garbage", 200, garbage},
		{"TLS without a certificate", 100, without},
		{"TLS with a certificate of one's own", 100, withAnother},
		{"a hello, whole and in parts", 100, halfHello},
		{"a hello recorded and said again", 100, replay},
		{"orders to actors in plain text", 20, orders(insecure.NewCredentials())},
		{"orders to actors under a certificate of one's own", 20, orders(credentials.NewTLS(ownCertificate()))},
		{"gossip in plain text and garbage, over UDP", 500, datagrams},
	}
	before, logged := t.residents(victims), t.logBytes(victims)
	release := t.hold(ctx, 0.7)
	defer release()
	knocks := 0
	for _, attack := range attacks {
		at := time.Now()
		for _, n := range victims {
			v := &visitor{space: space.space, ip: n.lan, rounds: attack.times}
			if err := attack.knock(ctx, v); err != nil {
				return fmt.Errorf("%s at %s: %w", attack.what, n.name, err)
			}
			knocks += attack.times
		}
		t.master.Note("stranger: %s, %s", attack.what, play.MS(time.Since(at)))
	}
	// A node with the key of another cluster.
	text, err := cluster.NewKeys().MarshalText()
	if err != nil {
		return err
	}
	right := t.key
	t.key = t.path("other.key")
	err = os.WriteFile(t.key, text, 0o600)
	if err == nil {
		err = space.start()
	}
	t.key = right
	if err != nil {
		return err
	}
	if err := t.master.Pause(ctx, 5*time.Second); err != nil {
		return err
	}
	if s, err := t.status(ctx); err != nil || len(s.Slaves) != len(t.slaves) {
		return fmt.Errorf("after the strangers: %d slaves, %w", len(s.Slaves), err)
	}
	if err := errors.Join(release(), space.Signal(syscall.SIGTERM), space.Await(ctx, process.Patience, 0)); err != nil {
		return err
	}
	after, said := t.residents(victims), t.logBytes(victims)
	t.note("%d knocks", knocks)
	for i, n := range victims {
		grown := after[i] - before[i]
		t.note("%s %d → %d MB, %d kB of log", n.name, before[i]>>20, after[i]>>20, (said[i]-logged[i])>>10)
		if grown > 32<<20 {
			return fmt.Errorf("%s has grown by %d MB", n.name, grown>>20)
		}
		if said[i]-logged[i] > 128<<10 {
			return fmt.Errorf("%s has written %d kB of log", n.name, (said[i]-logged[i])>>10)
		}
		if text := n.Log(); !strings.Contains(text, "refused") {
			return fmt.Errorf("%s has not logged that it refused anybody", n.name)
		}
	}
	return nil
}

// hold pauses the crawl at a share of its pages, so that it does not end before what is being done to it has been done
// on a slow machine. The function returned lets it go on.
func (t *trial) hold(ctx context.Context, share float64) (release func() error) {
	waiting, end := context.WithCancel(ctx)
	held := make(chan error, 1)
	go func() {
		var answer any
		err := t.until(waiting, share)
		if waiting.Err() != nil {
			held <- nil
			return
		}
		held <- errors.Join(err, t.ask(ctx, http.MethodPost, "/api/pause", &answer))
	}()
	return sync.OnceValue(func() error {
		end()
		var answer any
		return errors.Join(<-held, t.ask(ctx, http.MethodPost, "/api/resume", &answer))
	})
}

// residents is the memory of processes, in bytes.
func (t *trial) residents(nodes []*node) []int64 {
	sizes := make([]int64, len(nodes))
	for i, n := range nodes {
		sizes[i], _ = resident(n.PID())
	}
	return sizes
}

// resident is what a process has of the machine's memory: for itself, and pages of files that it maps.
func resident(pid int) (own, files int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0 // it has just died
	}
	for name, to := range map[string]*int64{"RssAnon:": &own, "RssFile:": &files} {
		if _, line, ok := strings.Cut(string(text), name); ok {
			fmt.Sscan(line, to)
		}
	}
	return own << 10, files << 10
}

func (t *trial) logBytes(nodes []*node) []int64 {
	sizes := make([]int64, len(nodes))
	for i, n := range nodes {
		if info, err := os.Stat(filepath.Join(t.dir, n.name+".log")); err == nil {
			sizes[i] = info.Size()
		}
	}
	return sizes
}

// visitor knocks at one node, from another namespace.
type visitor struct {
	space  *namespace
	ip     netip.Addr // of the node
	rounds int
}

func (v *visitor) dial(network string, port uint16) (c net.Conn, err error) {
	err = v.space.do(func() (err error) {
		c, err = (&net.Dialer{Timeout: process.Patience}).Dial(network, netip.AddrPortFrom(v.ip, port).String())
		return err
	})
	return c, err
}

// bothPorts does something on connections to both ports, and ends them.
func (v *visitor) bothPorts(f func(c net.Conn)) error {
	for i := range v.rounds {
		c, err := v.dial("tcp", [...]uint16{actorsPort, gossipPort}[i%2])
		if err != nil {
			return err
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		f(c)
		c.Close()
	}
	return nil
}

// scan tries every port below 10,000; but two are closed.
func scan(_ context.Context, v *visitor) error {
	var open []int
	for port := 1; port < 10_000; port++ {
		if c, err := v.dial("tcp", uint16(port)); err == nil {
			open = append(open, port)
			c.Close()
		}
	}
	if len(open) != 2 {
		return fmt.Errorf("open ports are %v", open)
	}
	return nil
}

// silence holds connections open, all at once, until the node is tired of them.
func silence(_ context.Context, v *visitor) error {
	var wait sync.WaitGroup
	errs := make([]error, v.rounds)
	for i := range v.rounds {
		c, err := v.dial("tcp", [...]uint16{actorsPort, gossipPort}[i%2])
		if err != nil {
			return err
		}
		wait.Go(func() {
			defer c.Close()
			c.SetReadDeadline(time.Now().Add(process.Patience))
			buf := make([]byte, 1<<12)
			for {
				if _, err := c.Read(buf); errors.Is(err, os.ErrDeadlineExceeded) {
					errs[i] = errors.New("a connection that said nothing is kept")
					return
				} else if err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func garbage(_ context.Context, v *visitor) error {
	noise := make([]byte, 64<<10)
	return v.bothPorts(func(c net.Conn) {
		rand.Read(noise)
		c.Write(noise)
	})
}

func ownCertificate() *tls.Config {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "henro cluster"}, DNSNames: []string{"henro-node"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, template, public, private)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		InsecureSkipVerify: true, NextProtos: []string{"h2"}}
}

// handshakes says hello with a configuration and hears that it is not welcome: in TLS 1.3 at the first byte after the
// handshake.
func (v *visitor) handshakes(config *tls.Config) error {
	var heard error
	for range v.rounds {
		c, err := v.dial("tcp", actorsPort)
		if err != nil {
			return err
		}
		c.SetDeadline(time.Now().Add(10 * time.Second))
		s := tls.Client(c, config)
		if _, err := s.Read(make([]byte, 1)); err == nil {
			heard = errors.New("something was said to a stranger")
		}
		c.Close()
	}
	return heard
}

func without(_ context.Context, v *visitor) error {
	return v.handshakes(&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
}

func withAnother(_ context.Context, v *visitor) error { return v.handshakes(ownCertificate()) }

// hello is the first message of a handshake.
func hello() []byte {
	here, there := net.Pipe()
	go tls.Client(there, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}).Handshake()
	buf := make([]byte, 4096)
	n, _ := here.Read(buf)
	here.Close()
	return buf[:n]
}

func halfHello(_ context.Context, v *visitor) error {
	whole := hello()
	i := 0
	return v.bothPorts(func(c net.Conn) {
		c.Write(whole[:len(whole)*(i%10+1)/10])
		c.(*net.TCPConn).CloseWrite()
		i++
	})
}

func replay(_ context.Context, v *visitor) error {
	whole := hello()
	return v.bothPorts(func(c net.Conn) {
		c.Write(whole)
		c.Write(whole)
		c.(*net.TCPConn).CloseWrite()
		c.Read(make([]byte, 4096))
	})
}

// orders are those by which a stranger would spawn, stop and end actors.
func orders(door credentials.TransportCredentials) func(context.Context, *visitor) error {
	return func(ctx context.Context, v *visitor) error {
		address := netip.AddrPortFrom(v.ip, actorsPort).String()
		for range v.rounds {
			conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(door),
				grpc.WithNoProxy(),
				grpc.WithContextDialer(func(context.Context, string) (net.Conn,
					error) {
					return v.dial("tcp", actorsPort)
				}))
			if err != nil {
				return err
			}
			within, cancel := context.WithTimeout(ctx, 10*time.Second)
			err = order(within, conn, address)
			cancel()
			conn.Close()
			if err == nil {
				return errors.New("a stranger was heard")
			}
		}
		return nil
	}
}

func order(ctx context.Context, conn *grpc.ClientConn, address string) error {
	stream, err := remote.NewRemotingClient(conn).Receive(ctx)
	if err != nil {
		return err
	}
	for _, say := range []struct {
		to string
		m  proto.Message
	}{{"activator", &remote.ActorPidRequest{Name: "x", Kind: "k"}}, {"slave", &actor.Stop{}},
		{"master", &actor.PoisonPill{}}, {"slave", &actor.Terminated{}}} {
		body, err := proto.Marshal(say.m)
		if err != nil {
			return err
		}
		stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{
			MessageBatch: &remote.MessageBatch{
				TypeNames: []string{string(proto.MessageName(say.m))},
				Targets:   []*actor.PID{actor.NewPID(address, say.to)},
				Envelopes: []*remote.MessageEnvelope{{MessageData: body}},
			}}})
	}
	_, err = stream.Recv()
	return err
}

// datagrams are what the gossip would say without a key, and noise.
func datagrams(_ context.Context, v *visitor) error {
	c, err := v.dial("udp", gossipPort)
	if err != nil {
		return err
	}
	defer c.Close()
	noise := make([]byte, 1200)
	for i := range v.rounds {
		rand.Read(noise)
		noise[0] = byte(i % 16) // of every type of message
		c.Write(noise)
	}
	return nil
}
