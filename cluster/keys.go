package cluster

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
	"github.com/sirupsen/logrus"
)

// Limits and names of the key file. A line of it reads
//
//	henro-key-1 <id> <secret> <check>
//
// id: 8 letters, HKDF of the secret, so that it can be spoken of in logs. secret: 32 random bytes in base32, groups of
// four joined by hyphens. check: the first 4 bytes, in hexadecimal, of SHA-256 over the line before it; it tells a slip
// of the hand from another key.
const (
	keyVersion  = "henro-key-1"
	secretSize  = 32
	maxKeys     = 8       // a rotation needs two
	maxKeyFile  = 1 << 16 // bytes read of a key file
	nodeDNSName = "henro-node"
)

// What HKDF derives from a secret; a new use gets a new sentence, a changed use too.
const (
	useID     = "henro key 1: id"
	useGossip = "henro key 1: gossip AES-256"
	useCA     = "henro key 1: certificate authority, Ed25519 seed"
)

var keyEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// bootEncoding keeps the order of what it encodes.
var bootEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Keys is what a key file holds: the keys whose holders belong to the cluster. The first is this node's own: it
// encrypts and signs with it. All are accepted from others, so that a key is changed without an interruption: add the
// new key everywhere, use it everywhere, remove the old one everywhere (rotate.go).
type Keys struct {
	mu      sync.RWMutex
	keys    []fileKey
	revoked []string // names of nodes

	made    map[string]*tls.Certificate // by name, of the first key
	changed []func()
	open    map[*kept]struct{}
}

// NewKeys makes the keys of a new cluster: one, from the system's randomness.
func NewKeys() *Keys {
	var secret [secretSize]byte
	rand.Read(secret[:]) // never fails since Go 1.24
	return &Keys{keys: []fileKey{{id: keyID(secret), secret: &secret}}}
}

// ReadKeys reads a key file, unless every user of the machine can: its readers belong to the cluster.
func ReadKeys(path string) (*Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open key file: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	} else if mode := info.Mode().Perm(); mode&0o004 != 0 && runtime.GOOS != "windows" { // where the bits say nothing
		return nil,
			fmt.Errorf("key file %s: %w (mode %04o): chmod 600 it, and make a new key if others use this machine", path,
				ErrKeyOpen, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	k, err := ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return k, nil
}

// ParseKeys reads the text of a key file: one key a line, empty lines and lines that begin with # left out.
func ParseKeys(text []byte) (*Keys, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrKeyDamaged, maxKeyFile)
	}
	k := &Keys{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxKeyFile+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m, err := fileKey{}, error(nil)
		switch word := strings.Fields(line); word[0] {
		case revokedVersion:
			if len(word) != 2 {
				return nil, fmt.Errorf("line %d: %w: want one name", number, ErrKeyDamaged)
			}
			k.revoked = append(k.revoked, word[1])
			continue
		case nodeVersion:
			m, err = parseNode(word)
		default:
			var secret [secretSize]byte
			secret, err = parseKey(line)
			m = fileKey{id: keyID(secret), secret: &secret}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		for _, known := range k.keys {
			if known.id == m.id {
				return nil, fmt.Errorf("line %d: %w: the same key twice", number, ErrKeyDamaged)
			}
		}
		k.keys = append(k.keys, m)
	}
	switch {
	case len(k.keys) == 0:
		return nil, fmt.Errorf("%w: no key in it", ErrKeyDamaged)
	case len(k.keys) > maxKeys:
		return nil, fmt.Errorf("%w: more than %d keys", ErrKeyDamaged, maxKeys)
	}
	return k, nil
}

func parseKey(line string) (secret [secretSize]byte, err error) {
	word := strings.Fields(line)
	if !strings.HasPrefix(word[0], "henro-key-") {
		return secret, fmt.Errorf("%w: not a henro key", ErrKeyDamaged)
	}
	if word[0] != keyVersion {
		return secret, fmt.Errorf("%w: version %q is not known here, only %s", ErrKeyDamaged, word[0], keyVersion)
	}
	if len(word) != 4 {
		return secret, fmt.Errorf("%w: %d words instead of 4", ErrKeyDamaged, len(word))
	}
	if word[3] != keyCheck(word[1], word[2]) {
		return secret, fmt.Errorf("%w: wrong checksum, a letter was lost or changed", ErrKeyDamaged)
	}
	b, err := keyEncoding.DecodeString(strings.ReplaceAll(word[2], "-", ""))
	if err != nil || len(b) != secretSize {
		return secret, fmt.Errorf("%w: the secret is not %d bytes", ErrKeyDamaged, secretSize)
	}
	copy(secret[:], b)
	if word[1] != keyID(secret) {
		return secret, fmt.Errorf("%w: id and secret belong to different keys", ErrKeyDamaged)
	}
	return secret, nil
}

func keyID(secret [secretSize]byte) string {
	return keyEncoding.EncodeToString(derive(secret, useID, 5))
}

func keyCheck(id, secret string) string {
	sum := sha256.Sum256([]byte(keyVersion + " " + id + " " + secret))
	return hex.EncodeToString(sum[:4])
}

// derive returns n bytes for one use of a secret (RFC 5869; the secret is uniformly random, so no salt is needed).
func derive(secret [secretSize]byte, use string, n int) []byte {
	b, err := hkdf.Key(sha256.New, secret[:], nil, use, n)
	if err != nil {
		panic(fmt.Sprintf("derive %q: %v", use, err)) // only for more than 8160 bytes
	}
	return b
}

// IDs names the keys, this node's own first. An id tells nothing of its key.
func (k *Keys) IDs() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	ids := make([]string, len(k.keys))
	for i, m := range k.keys {
		ids[i] = m.id
	}
	return ids
}

// MarshalText writes the key file.
func (k *Keys) MarshalText() ([]byte, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var b bytes.Buffer
	b.WriteString("# The key of a henro cluster: whoever can read this file belongs to the cluster. The first key is " +
		"used, all are\n# accepted. Nodes read the file again when it changes: henro key add, use, remove, revoke.\n")
	for i := range k.keys {
		b.WriteString(k.keys[i].line())
	}
	for _, name := range k.revoked {
		fmt.Fprintln(&b, revokedVersion, name)
	}
	return b.Bytes(), nil
}

// groups joins groups of four letters by hyphens, so that a key can be compared by eye.
func groups(s string) string {
	var parts []string
	for len(s) > 4 {
		parts, s = append(parts, s[:4]), s[4:]
	}
	return strings.Join(append(parts, s), "-")
}

// With returns the keys of k followed by those of other: the first round of a change of keys, or, the other way round,
// the second.
func (k *Keys) With(other *Keys) *Keys {
	all := &Keys{keys: slices.Clone(k.keys), revoked: slices.Clone(k.revoked)}
	for _, m := range other.keys {
		if !slices.Contains(all.IDs(), m.id) {
			all.keys = append(all.keys, m)
		}
	}
	return all
}

// gossipKeys are the keys of the gossip: the first encrypts, all decrypt.
func (k *Keys) gossipKeys() (all [][]byte) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, m := range k.keys {
		key := m.own.Gossip
		if m.secret != nil {
			key = derive(*m.secret, useGossip, 32)
		}
		all = append(all, key)
	}
	return all
}

// keyring returns the keys of the gossip, which follow the key file.
func (k *Keys) keyring(log *logrus.Entry) (*memberlist.Keyring, error) {
	keys := k.gossipKeys()
	ring, err := memberlist.NewKeyring(keys, keys[0])
	if err != nil {
		return nil, err
	}
	k.onChange(func() {
		var err error
		keys := k.gossipKeys()
		for _, key := range keys {
			err = errors.Join(err, ring.AddKey(key))
		}
		err = errors.Join(err, ring.UseKey(keys[0]))
		for _, key := range ring.GetKeys() {
			if !slices.ContainsFunc(keys, func(kept []byte) bool { return bytes.Equal(kept, key) }) {
				err = errors.Join(err, ring.RemoveKey(key))
			}
		}
		if err != nil {
			log.WithField("err", err).Error("keys of the gossip cannot be changed")
		}
	})
	return ring, nil
}

// Certificates are valid for all of time: a lab machine's clock may stand at 1970 after its battery died, and what ends
// a certificate is the removal of its key from the key file, not a date. The end is RFC 5280's "no well-defined
// expiration date".
var (
	validFrom  = time.Unix(0, 0).UTC()
	validUntil = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// authority returns the certificate authority of one secret: the same on every node, byte by byte, since Ed25519 signs
// without randomness.
func authority(secret [secretSize]byte) (*x509.Certificate, ed25519.PrivateKey, error) {
	private := ed25519.NewKeyFromSeed(derive(secret, useCA, ed25519.SeedSize))
	id := keyID(secret)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "henro cluster " + id},
		NotBefore:             validFrom,
		NotAfter:              validUntil,
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true, // signs nodes, no further authorities
		KeyUsage:              x509.KeyUsageCertSign,
		SubjectKeyId:          []byte(id),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("make cluster authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("make cluster authority: %w", err)
	}
	return cert, private, nil
}

// nodeTemplate is the certificate of a node, unsigned.
func nodeTemplate(name string) *x509.Certificate {
	serial := make([]byte, 16)
	rand.Read(serial)
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{nodeDNSName},
		NotBefore:    validFrom,
		NotAfter:     validUntil,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
}

// certificate is that of this node by the first key: the one it was given, or one made now, whose private key never
// leaves this process.
func (k *Keys) certificate(name string) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if made := k.made[name]; made != nil {
		return made, nil
	}
	own, err := k.keys[0].own, error(nil)
	if secret := k.keys[0].secret; secret != nil {
		if own, err = issue(*secret, name); err != nil {
			return nil, err
		}
	}
	if k.made == nil {
		k.made = map[string]*tls.Certificate{}
	}
	made := own.tls()
	k.made[name] = &made
	return &made, nil
}

// TLS returns mutual TLS 1.3 for both ends of a connection, which follows the key file: both must have the key. Every
// node has the one DNS name henro-node, so that machines may change their addresses.
func (k *Keys) TLS(name string) (*tls.Config, error) {
	if _, err := k.certificate(name); err != nil {
		return nil, err
	}
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.certificate(name) },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return k.certificate(name)
		},
		// Verify looks at both ends, with the keys there are at that moment; the package would keep those of the start.
		InsecureSkipVerify: true,
		ClientAuth:         tls.RequireAnyClientCert,
		VerifyConnection:   k.Verify,
		MinVersion:         tls.VersionTLS13,
		ServerName:         nodeDNSName,
		// A ticket would outlive the key that it was given under.
		SessionTicketsDisabled: true,
	}, nil
}
