// Package botauth signs requests as Web Bot Auth has it (draft-ietf-webbotauth-httpsig-protocol), so that hosts can
// tell a crawler from one that only takes its name: by HTTP Message Signatures (RFC 9421) of Ed25519, whose public key
// stands in a directory that the header Signature-Agent names.
//
// What is signed is always the same: the authority of the request and, if there is one, the address of the directory.
// So the base of a signature (RFC 9421 2.5) is written as text, and nothing of structured fields is parsed.
package botauth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	// Path is where a directory is looked for, below the address that Signature-Agent names.
	Path = "/.well-known/http-message-signatures-directory"
	// MediaType is that of a directory.
	MediaType = "application/http-message-signatures-directory+json"
	// validity is how long a signature holds. Its request is sent at once: five minutes are for clocks that differ.
	validity = 5 * time.Minute
	// nonceBytes make a nonce that is never drawn twice; the draft's verifiers take no other number.
	nonceBytes = 64
)

// ErrKey is returned for what is no private key of Ed25519 in PEM.
var ErrKey = errors.New("want an Ed25519 private key in PEM, such as henro key bot prints")

// Signer signs in the name of one key.
type Signer struct {
	key   ed25519.PrivateKey
	id    string // thumbprint of the public key (RFC 7638), which is its name
	agent string // address of the directory; empty: hosts know the key already
}

// NewKey makes a private key, as PKCS #8 in PEM.
func NewKey() ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Agent returns the address of the directory that the file of a key names, in a line Signature-Agent: URL before or
// behind the key; empty: it names none.
func Agent(key []byte) string {
	for line := range strings.Lines(string(key)) {
		if address, found := strings.CutPrefix(line, "Signature-Agent:"); found {
			return strings.TrimSpace(address)
		}
	}
	return ""
}

// New reads a private key. The agent is the https address whose directory has its public half, or empty.
func New(key []byte, agent string) (*Signer, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, ErrKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, ErrKey
	}
	if agent != "" {
		u, err := url.Parse(agent)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil ||
			strings.ContainsFunc(agent, unquotable) {
			return nil, fmt.Errorf("%q: want the https:// address where the directory of henro key bot is", agent)
		}
		agent = strings.TrimSuffix(agent, "/")
	}
	s := &Signer{key: private, agent: agent}
	// the members that RFC 8037 A.3 wants, in the order of their names, without spaces
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + s.public() + `"}`))
	s.id = base64.RawURLEncoding.EncodeToString(sum[:])
	return s, nil
}

// unquotable says what may not stand in a string of structured fields, or would have to be escaped.
func unquotable(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }

func (s *Signer) public() string {
	return base64.RawURLEncoding.EncodeToString(s.key.Public().(ed25519.PublicKey))
}

// Request returns the header lines of a request to an authority, which is written as in Host.
func (s *Signer) Request(authority string, now time.Time) []byte {
	var nonce [nonceBytes]byte
	rand.Read(nonce[:]) // never fails
	parts := []part{{`"@authority"`, authority}}
	var lines []byte
	if s.agent != "" {
		parts = append(parts, part{`"signature-agent";key="sig1"`, `"` + s.agent + `"`})
		lines = fmt.Appendf(lines, "Signature-Agent: sig1=\"%s\"\r\n", s.agent)
	}
	input, signature := s.sign("sig1", parts, "web-bot-auth", now, now.Add(validity),
		base64.RawURLEncoding.EncodeToString(nonce[:]))
	return fmt.Appendf(lines, "Signature-Input: %s\r\nSignature: %s\r\n", input, signature)
}

// Directory is what hosts read at Path: the public key as JWKS.
func (s *Signer) Directory() []byte {
	type jwk struct {
		Type      string `json:"kty"`
		Curve     string `json:"crv"`
		Algorithm string `json:"alg"`
		ID        string `json:"kid"`
		Use       string `json:"use"`
		X         string `json:"x"`
	}
	text, err := json.MarshalIndent(struct {
		Keys []jwk `json:"keys"`
	}{[]jwk{{"OKP", "Ed25519", "EdDSA", s.id, "sig", s.public()}}}, "", "  ")
	if err != nil {
		panic(err) // strings alone
	}
	return append(text, '\n')
}

// SignDirectory returns Signature-Input and Signature of a response with the directory, which bind it to the authority
// that it was asked for at, so that no other site can pass the key off as its own.
func (s *Signer) SignDirectory(authority string, now time.Time) (input, signature string) {
	return s.sign("binding0", []part{{`"@authority";req`, strings.ToLower(authority)}},
		"http-message-signatures-directory", now, now.Add(validity), "")
}

// part is a component that is signed: its identifier and its value (RFC 9421 2).
type part struct{ name, value string }

// sign signs parts, and returns the members of Signature-Input and Signature.
func (s *Signer) sign(label string, parts []part, tag string, from, until time.Time, nonce string) (in, out string) {
	var base strings.Builder
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
		fmt.Fprintf(&base, "%s: %s\n", p.name, p.value)
	}
	params := fmt.Sprintf(`(%s);created=%d;keyid="%s";alg="ed25519";expires=%d`, strings.Join(names, " "), from.Unix(),
		s.id, until.Unix())
	if nonce != "" {
		params += `;nonce="` + nonce + `"`
	}
	params += `;tag="` + tag + `"`
	base.WriteString(`"@signature-params": ` + params)
	signature := ed25519.Sign(s.key, []byte(base.String()))
	return label + "=" + params, label + "=:" + base64.StdEncoding.EncodeToString(signature) + ":"
}
