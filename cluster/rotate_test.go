package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
)

// shake connects two nodes and returns what each end says. The line between them has room: without, one would write
// that it refuses the other while that one writes, and both would wait for the deadline.
func shake(t *testing.T, server, client *Keys, serverName, clientName string) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	b, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, c := range []net.Conn{a, b} {
		c.SetDeadline(time.Now().Add(5 * time.Second))
	}
	inside, err := server.TLS(serverName)
	if err != nil {
		t.Fatal(err)
	}
	outside, err := client.TLS(clientName)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		err := tls.Server(a, inside).Handshake()
		a.Close()
		served <- err
	}()
	err = tls.Client(b, outside).Handshake()
	b.Close()
	return errors.Join(err, <-served)
}

// Each step of a change of keys leaves all nodes speaking with each other, whichever of them has made it already.
func TestTheKeyIsChangedWithoutAnInterruption(t *testing.T) {
	fresh := NewKeys()
	steps := []*Keys{NewKeys()}
	steps = append(steps, steps[0].With(fresh))
	steps = append(steps, steps[1].With(fresh))
	if err := steps[2].Use(fresh.IDs()[0]); err != nil {
		t.Fatal(err)
	}
	steps = append(steps, steps[2].With(fresh))
	if err := steps[3].Remove(steps[0].IDs()[0]); err != nil {
		t.Fatal(err)
	}
	for i := range len(steps) - 1 {
		for _, pair := range [][2]*Keys{{steps[i], steps[i+1]}, {steps[i+1], steps[i]}} {
			if err := shake(t, pair[0], pair[1], "master", "pc1"); err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
	}
	if err := shake(t, steps[3], steps[0], "master", "pc1"); err == nil {
		t.Error("the old key is accepted after it was removed")
	}
	if err := steps[3].Remove(fresh.IDs()[0]); err == nil {
		t.Error("the last key was removed")
	}
	if err := steps[3].Use("abcdefgh"); !errors.Is(err, ErrNoSuchKey) {
		t.Errorf("a key that is not there: %v", err)
	}
}

// A node with a file of its own proves its name and no other, cannot let others in, and is refused once it is revoked.
func TestANodeIsRevoked(t *testing.T) {
	whole := NewKeys()
	own, err := whole.ForNode("pc7")
	if err != nil {
		t.Fatal(err)
	}
	text, err := own.MarshalText()
	if err != nil || strings.Contains(string(text), keyVersion) {
		t.Fatalf("the file of a node: %s, %v", text, err)
	}
	node, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.ForNode("pc8"); !errors.Is(err, ErrNotWhole) {
		t.Errorf("a node made a file for another: %v", err)
	}
	if err := shake(t, whole, node, "master", "another name"); err != nil {
		t.Errorf("before: %v", err)
	}
	if err := whole.Revoke("pc7", false); err != nil {
		t.Fatal(err)
	}
	if err := shake(t, whole, node, "master", "another name"); !errors.Is(err, ErrRevoked) {
		t.Errorf("revoked: %v", err)
	}
	if err := shake(t, node, whole, "another name", "master"); !errors.Is(err, ErrRevoked) {
		t.Errorf("revoked, called by others: %v", err)
	}
	path := filepath.Join(t.TempDir(), "cluster.key")
	if err := whole.Write(path); err != nil {
		t.Fatal(err)
	}
	read, err := ReadKeys(path)
	if err != nil || len(read.Revoked()) != 1 {
		t.Fatalf("read %v, %v", read.Revoked(), err)
	}
	if err := read.Revoke("pc7", true); err != nil {
		t.Fatal(err)
	}
	if err := shake(t, read, node, "master", "pc7"); err != nil {
		t.Errorf("taken back: %v", err)
	}
}

// A change of the keys ends the connections that it does not allow any more, and no others.
func TestConnectionsEndWithTheirKey(t *testing.T) {
	whole := NewKeys()
	open := func(name string) (conn *kept, other net.Conn) {
		own, err := whole.ForNode(name)
		if err != nil {
			t.Fatal(err)
		}
		a, b := net.Pipe()
		state := tls.ConnectionState{}
		cert, err := own.certificate(name)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		state.PeerCertificates = append(state.PeerCertificates, leaf)
		return whole.keep(a, credentials.TLSInfo{State: state}).(*kept), b
	}
	ended := func(other net.Conn) bool {
		other.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err := other.Read(make([]byte, 1))
		var timeout net.Error
		return !(errors.As(err, &timeout) && timeout.Timeout())
	}
	_, pc1 := open("pc1")
	_, pc2 := open("pc2")
	with := whole.With(NewKeys())
	if err := with.Revoke("pc2", false); err != nil {
		t.Fatal(err)
	}
	whole.replace(with)
	if ended(pc1) || !ended(pc2) {
		t.Error("revoking pc2 did not end its connection alone")
	}
	whole.replace(NewKeys())
	if !ended(pc1) {
		t.Error("the connection outlived its key")
	}
	if len(whole.open) != 0 {
		t.Errorf("%d connections are still noted", len(whole.open))
	}
}
