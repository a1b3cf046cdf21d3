package cluster

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/grpc/credentials"

	"henro/messages/ticks"
)

// A key file may change while nodes run: they read it again, and from then on accept and use what it says. So the key
// of a cluster is changed in three steps, each on all nodes before the next: add the new key, use it, remove the old
// one. Connections that were made under a key that was removed, or by a node that was revoked, end.

// credential is what one node needs of a key, so that it can prove its name and no other: the key of the gossip, the
// authority by which it knows others, and its own certificate. Its line in the key file reads
//
//	henro-node-1 <id> <JSON in base64> <check>
type credential struct {
	Gossip      []byte // AES-256
	Authority   []byte // certificate
	Certificate []byte // of the node
	Seed        []byte // of its Ed25519 key
}

const (
	nodeVersion    = "henro-node-1"
	revokedVersion = "henro-revoked-1" // followed by the name of a node
	maxRevoked     = 1000
)

// fileKey is one key of a file: a secret, from which everything follows, or the credential of a node.
type fileKey struct {
	id     string
	secret *[secretSize]byte // nil for a credential
	own    credential
}

// issue makes what a node of this name needs of a secret.
func issue(secret [secretSize]byte, name string) (credential, error) {
	ca, caKey, err := authority(secret)
	if err != nil {
		return credential{}, err
	}
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	der, err := x509.CreateCertificate(rand.Reader, nodeTemplate(name), ca,
		ed25519.NewKeyFromSeed(seed).Public(), caKey)
	if err != nil {
		return credential{}, fmt.Errorf("make node certificate: %w", err)
	}
	return credential{derive(secret, useGossip, 32), ca.Raw, der, seed}, nil
}

func (c *credential) tls() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{c.Certificate}, PrivateKey: ed25519.NewKeyFromSeed(c.Seed)}
}

// name is whose credential it is.
func (c *credential) name() string {
	cert, err := x509.ParseCertificate(c.Certificate)
	if err != nil {
		return ""
	}
	return cert.Subject.CommonName
}

// parseNode reads the line of a credential.
func parseNode(word []string) (m fileKey, err error) {
	if len(word) != 4 || word[3] != keyCheck(word[1], word[2]) {
		return m, fmt.Errorf("%w: wrong checksum, a letter was lost or changed", ErrKeyDamaged)
	}
	b, err := base64.RawURLEncoding.DecodeString(word[2])
	if err == nil {
		err = json.Unmarshal(b, &m.own)
	}
	if err == nil {
		_, err = x509.ParseCertificate(m.own.Authority)
	}
	if err != nil || len(m.own.Gossip) != 32 || len(m.own.Seed) != ed25519.SeedSize || m.own.name() == "" {
		return m, fmt.Errorf("%w: no credential of a node", ErrKeyDamaged)
	}
	m.id = word[1]
	return m, nil
}

func (m *fileKey) line() string {
	version, text := nodeVersion, ""
	if m.secret != nil {
		version, text = keyVersion, groups(keyEncoding.EncodeToString(m.secret[:]))
	} else {
		b, err := json.Marshal(&m.own)
		if err != nil {
			panic(err) // four slices of bytes
		}
		text = base64.RawURLEncoding.EncodeToString(b)
	}
	return fmt.Sprintf("%s %s %s %s\n", version, m.id, text, keyCheck(m.id, text))
}

// ForNode returns what a node of this name needs of all keys: it can neither take another name nor let others in. The
// key of the gossip is that of all nodes.
func (k *Keys) ForNode(name string) (*Keys, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	node := &Keys{revoked: slices.Clone(k.revoked)}
	for _, m := range k.keys {
		if m.secret == nil {
			return nil, fmt.Errorf("key %s: %w", m.id, ErrNotWhole)
		}
		own, err := issue(*m.secret, name)
		if err != nil {
			return nil, err
		}
		node.keys = append(node.keys, fileKey{id: m.id, own: own})
	}
	return node, nil
}

// For says whether a node may take this name with these keys: one that has a file of its own has the name in it.
func (k *Keys) For(name string) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if m := &k.keys[0]; m.secret == nil && m.own.name() != name {
		return fmt.Errorf("the file is that of node %s, and this node is called %s: give --name %s, or make a file "+
			"with henro key node %s: %w", m.own.name(), name, m.own.name(), name, ErrOtherNode)
	}
	return nil
}

// Use puts a key first: it encrypts and signs with it from now on.
func (k *Keys) Use(id string) error {
	return k.change(id, func(i int) {
		m := k.keys[i]
		k.keys = slices.Insert(slices.Delete(k.keys, i, i+1), 0, m)
	})
}

// Remove takes a key away. The last one stays.
func (k *Keys) Remove(id string) error {
	if len(k.IDs()) == 1 {
		return fmt.Errorf("key %s: it is the only one", id)
	}
	return k.change(id, func(i int) { k.keys = slices.Delete(k.keys, i, i+1) })
}

func (k *Keys) change(id string, do func(i int)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.keys, func(m fileKey) bool { return m.id == id })
	if i < 0 {
		return fmt.Errorf("key %s: %w", id, ErrNoSuchKey)
	}
	do(i)
	return nil
}

// Revoke adds the name of a node to those whose certificates are refused, or takes it away again.
func (k *Keys) Revoke(name string, undo bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if name == "" || strings.ContainsAny(name, " \t\r\n") || len(k.revoked) >= maxRevoked && !undo {
		return fmt.Errorf("revoke %q: want the name of a node, at most %d in all", name, maxRevoked)
	}
	k.revoked = slices.DeleteFunc(k.revoked, func(known string) bool { return known == name })
	if !undo {
		k.revoked = append(k.revoked, name)
	}
	return nil
}

// Revoked are the names of nodes whose certificates are refused.
func (k *Keys) Revoked() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Clone(k.revoked)
}

// bars reports whether a node of this name is refused. An empty list refuses no node.
func (k *Keys) bars(name string) bool {
	if k == nil {
		return false
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Contains(k.revoked, name)
}

// Verify says whether the other end of a connection belongs to the cluster, by the keys there are now.
func (k *Keys) Verify(c tls.ConnectionState) error {
	if len(c.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	leaf, pool := c.PeerCertificates[0], x509.NewCertPool()
	k.mu.RLock()
	for _, m := range k.keys {
		if ca, err := m.authority(); err == nil {
			pool.AddCert(ca)
		}
	}
	k.mu.RUnlock()
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: nodeDNSName,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return err
	}
	if k.bars(leaf.Subject.CommonName) {
		return fmt.Errorf("node %s: %w", leaf.Subject.CommonName, ErrRevoked)
	}
	return nil
}

func (m *fileKey) authority() (*x509.Certificate, error) {
	if m.secret == nil {
		return x509.ParseCertificate(m.own.Authority)
	}
	ca, _, err := authority(*m.secret)
	return ca, err
}

// Write replaces the key file, readable by its owner alone; a reader sees the old file or the new one.
func (k *Keys) Write(path string) error {
	text, err := k.MarshalText()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}

// readEvery is how often a key file is looked at.
const readEvery = 2 * time.Second

// Follow reads the key file again whenever it has changed, until the context ends. A file that cannot be read changes
// nothing.
func (k *Keys) Follow(ctx context.Context, path string, log *logrus.Entry) {
	before, _ := k.MarshalText()
	var failed string
	for range ticks.Every(ctx, readEvery) {
		read, err := ReadKeys(path)
		if err != nil {
			if failed != err.Error() {
				log.WithField("err", err).Warn("key file cannot be read again; the keys stay as they are")
			}
			failed = err.Error()
			continue
		}
		failed = ""
		text, err := read.MarshalText()
		if err != nil || bytes.Equal(text, before) {
			continue
		}
		before = text
		k.replace(read)
		log.WithFields(logrus.Fields{"keys": strings.Join(k.IDs(), ","), "revoked": strings.Join(k.Revoked(), ",")}).
			Info("key file read again")
	}
}

// replace takes over what another file says, and ends the connections that it does not allow any more.
func (k *Keys) replace(read *Keys) {
	k.mu.Lock()
	k.keys, k.revoked, k.made = read.keys, read.revoked, nil
	changed := slices.Clone(k.changed)
	open := slices.Collect(maps.Keys(k.open))
	k.mu.Unlock()
	for _, c := range open {
		if k.Verify(c.state) != nil {
			c.Close()
		}
	}
	for _, f := range changed {
		f()
	}
}

// onChange has f called after each change of the keys.
func (k *Keys) onChange(f func()) {
	k.mu.Lock()
	k.changed = append(k.changed, f)
	k.mu.Unlock()
}

// kept is a connection that ends when the keys do not allow it any more.
type kept struct {
	net.Conn
	keys  *Keys
	state tls.ConnectionState
}

func (c *kept) Close() error {
	c.keys.mu.Lock()
	delete(c.keys.open, c)
	c.keys.mu.Unlock()
	return c.Conn.Close()
}

// keep notes a connection whose other end was verified.
func (k *Keys) keep(conn net.Conn, info credentials.AuthInfo) net.Conn {
	c := &kept{conn, k, info.(credentials.TLSInfo).State} // a keeper has no others
	k.mu.Lock()
	if k.open == nil {
		k.open = map[*kept]struct{}{}
	}
	k.open[c] = struct{}{}
	k.mu.Unlock()
	return c
}

// keeper notes the connections that are made with credentials.
type keeper struct {
	credentials.TransportCredentials
	keys *Keys
	gate *Gate // of nodes that are called; nil: every node with a key may answer
}

func (d *keeper) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := d.TransportCredentials.ServerHandshake(c)
	if err == nil {
		conn = d.keys.keep(conn, info)
	}
	return conn, info, err
}

func (d *keeper) ClientHandshake(ctx context.Context, name string, c net.Conn) (net.Conn, credentials.AuthInfo,
	error) {
	conn, info, err := d.TransportCredentials.ClientHandshake(ctx, name, c)
	if err != nil {
		return conn, info, err
	}
	if address := c.RemoteAddr().String(); d.gate != nil && !d.gate.holds(address, certified(info)) {
		return nil, nil, errors.Join(fmt.Errorf("%s answers as node %s: %w", address, certified(info), ErrOtherNode),
			conn.Close())
	}
	return d.keys.keep(conn, info), info, nil
}

// Clone keeps the keeper in its place.
func (d *keeper) Clone() credentials.TransportCredentials {
	return &keeper{d.TransportCredentials.Clone(), d.keys, d.gate}
}
