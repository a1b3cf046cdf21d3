package wacz

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// ErrKey is returned for a text that is no key with which packages can be signed.
var ErrKey = errors.New("want a PEM file with an EC private key on the curve P-384, as henro key signing prints it")

// coordinate is the length of either half of a signature, in bytes.
const coordinate = 48

// signedData is the anonymous signature of WACZ Signing and Verification 0.1.0. Readers check it as Web Crypto does:
// ECDSA on P-384 with SHA-256 of the text of the hash, the two halves of the signature one behind the other.
type signedData struct {
	Hash      string `json:"hash"` // of datapackage.json, with "sha256:" in front
	Created   string `json:"created"`
	Software  string `json:"software"`
	Version   string `json:"version"`
	Signature string `json:"signature"`
	PublicKey string `json:"publicKey"`        // SubjectPublicKeyInfo
	Domain    string `json:"domain,omitempty"` // of the other kind, by a certificate, which henro does not make
}

// NewKey returns a new key as PEM.
func NewKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey reads a key: PKCS #8, or what openssl ecparam -genkey writes.
func ParseKey(text []byte) (*ecdsa.PrivateKey, error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, ErrKey
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default: // openssl writes the parameters of the curve before the key
			continue
		}
		if ec, ok := key.(*ecdsa.PrivateKey); ok && err == nil && ec.Curve == elliptic.P384() {
			return ec, nil
		}
		return nil, ErrKey
	}
}

// PublicKey is the public half of a key in the form in which packages name it.
func PublicKey(key *ecdsa.PrivateKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return base64.StdEncoding.EncodeToString(der), err
}

// sign signs the hash of a data package.
func sign(hash string, o Options) (*signedData, error) {
	public, err := PublicKey(o.Key)
	if err != nil {
		return nil, fmt.Errorf("wacz: %w", err)
	}
	sum := sha256.Sum256([]byte(hash))
	r, s, err := ecdsa.Sign(rand.Reader, o.Key, sum[:])
	if err != nil {
		return nil, fmt.Errorf("wacz: %w", err)
	}
	signature := make([]byte, 2*coordinate)
	r.FillBytes(signature[:coordinate])
	s.FillBytes(signature[coordinate:])
	return &signedData{hash, o.Now.UTC().Format(time.RFC3339), o.Software, "0.1.0",
		base64.StdEncoding.EncodeToString(signature), public, ""}, nil
}

// verify checks a signature of a hash.
func (s *signedData) verify(hash string) (*Signature, error) {
	if s.Hash != hash {
		return nil, fmt.Errorf("it signs another digest, %.80q", s.Hash)
	}
	der, err := base64.StdEncoding.DecodeString(s.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("its public key: %w", err)
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("its public key: %w", err)
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok || public.Curve != elliptic.P384() {
		return nil, errors.New("its public key is not one of the curve P-384")
	}
	signature, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil || len(signature) != 2*coordinate {
		return nil, fmt.Errorf("it is not base64 of %d bytes", 2*coordinate)
	}
	sum := sha256.Sum256([]byte(hash))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:coordinate]),
		new(big.Int).SetBytes(signature[coordinate:])) {
		return nil, errors.New("it does not fit its public key: the package or the signature was changed")
	}
	return &Signature{base64.StdEncoding.EncodeToString(der), s.Created}, nil
}
