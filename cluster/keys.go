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
	"fmt"
	"io"
	"math/big"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/memberlist"
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

// Keys is what a key file holds: the secrets whose holders belong to the cluster. The first is this node's own: it
// encrypts and signs with it. All are accepted from others, so that a key is changed in three rounds of restarts
// without an interruption: append the new key everywhere, put it first everywhere, remove the old one everywhere.
type Keys struct {
	secrets [][secretSize]byte
}

// NewKeys makes the keys of a new cluster: one, from the system's randomness.
func NewKeys() *Keys {
	k := &Keys{secrets: make([][secretSize]byte, 1)}
	rand.Read(k.secrets[0][:]) // never fails since Go 1.24
	return k
}

// ReadKeys reads a key file, unless every user of the machine can: whoever reads it belongs to the cluster.
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
		secret, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		for _, known := range k.secrets {
			if known == secret {
				return nil, fmt.Errorf("line %d: %w: the same key twice", number, ErrKeyDamaged)
			}
		}
		k.secrets = append(k.secrets, secret)
	}
	switch {
	case len(k.secrets) == 0:
		return nil, fmt.Errorf("%w: no key in it", ErrKeyDamaged)
	case len(k.secrets) > maxKeys:
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
	ids := make([]string, len(k.secrets))
	for i, s := range k.secrets {
		ids[i] = keyID(s)
	}
	return ids
}

// MarshalText writes the key file.
func (k *Keys) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# The key of a henro cluster: every node reads the same file, and whoever can read it belongs to " +
		"the cluster.\n" +
		"# The first key is used, all are accepted. To change the key: append the new one on every node and restart " +
		"them, put it\n" +
		"# first on every node and restart them, then remove the old one.\n")
	for _, s := range k.secrets {
		id, text := keyID(s), groups(keyEncoding.EncodeToString(s[:]))
		fmt.Fprintf(&b, "%s %s %s %s\n", keyVersion, id, text, keyCheck(id, text))
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
	all := &Keys{secrets: append([][secretSize]byte(nil), k.secrets...)}
next:
	for _, s := range other.secrets {
		for _, known := range all.secrets {
			if known == s {
				continue next
			}
		}
		all.secrets = append(all.secrets, s)
	}
	return all
}

// keyring returns the keys of the gossip: the first encrypts, all decrypt.
func (k *Keys) keyring() (*memberlist.Keyring, error) {
	var all [][]byte
	for _, s := range k.secrets {
		all = append(all, derive(s, useGossip, 32))
	}
	return memberlist.NewKeyring(all, all[0])
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

// TLS returns mutual TLS 1.3 for what nodes say to each other beside the actors: both ends must have the key.
func (k *Keys) TLS(name string) (*tls.Config, error) { return k.tlsConfig(name) }

// tlsConfig returns mutual TLS 1.3 for both ends of a connection, with a node certificate made now, whose private key
// never leaves this process. Every node has the one DNS name henro-node, so that machines may change their addresses.
func (k *Keys) tlsConfig(name string) (*tls.Config, error) {
	pool := x509.NewCertPool()
	var node tls.Certificate
	for i, secret := range k.secrets {
		ca, caKey, err := authority(secret)
		if err != nil {
			return nil, err
		}
		pool.AddCert(ca)
		if i > 0 {
			continue
		}
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("make node key: %w", err)
		}
		serial := make([]byte, 16)
		rand.Read(serial)
		template := &x509.Certificate{
			SerialNumber: new(big.Int).SetBytes(serial),
			Subject:      pkix.Name{CommonName: name},
			DNSNames:     []string{nodeDNSName},
			NotBefore:    validFrom,
			NotAfter:     validUntil,
			KeyUsage:     x509.KeyUsageDigitalSignature,
			ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, ca, public, caKey)
		if err != nil {
			return nil, fmt.Errorf("make node certificate: %w", err)
		}
		node = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	}
	return &tls.Config{
		Certificates: []tls.Certificate{node},
		RootCAs:      pool,
		ClientCAs:    pool,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS13,
		ServerName:   nodeDNSName,
		// A ticket would outlive the key that it was given under.
		SessionTicketsDisabled: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			return c.PeerCertificates[0].VerifyHostname(nodeDNSName) // Go checks the name of servers only
		},
	}, nil
}
