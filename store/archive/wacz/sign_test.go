package wacz_test

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"testing"

	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

// signedPackage is a package of so many files, and the key that has signed it.
func signedPackage(t *testing.T, files int, change ...func(*wacz.Options)) (*zip.Reader, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := wacz.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	dir, m := archived(t, files, warc.Gzip)
	o := wacz.DefaultOptions()
	o.Now, o.Software, o.Title = noon, "henro/test", "Manuals"
	if o.Key, err = wacz.ParseKey(key); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&o)
	}
	var packed bytes.Buffer
	if err := wacz.Write(&packed, dir, m, wacz.Lists{}, o); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return z, o.Key
}

// TestASignedPackageIsVerifiedAsReadersDo follows section "Anonymous Signature Validation" of the specification.
func TestASignedPackageIsVerifiedAsReadersDo(t *testing.T) {
	z, key := signedPackage(t, 1)
	read := func(name string) []byte {
		f, err := z.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var digest struct {
		Hash   string
		Signed struct{ Hash, Created, Software, Version, Signature, PublicKey string } `json:"signedData"`
	}
	if err := json.Unmarshal(read("datapackage-digest.json"), &digest); err != nil {
		t.Fatal(err)
	}
	s := digest.Signed
	if s.Hash != digest.Hash || s.Created != "2026-03-14T12:00:00Z" || s.Software != "henro/test" ||
		s.Version != "0.1.0" {
		t.Errorf("signed data %+v of %s", s, digest.Hash)
	}
	der, err := base64.StdEncoding.DecodeString(s.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil || len(signature) != 96 {
		t.Fatalf("a signature of %d bytes, %v", len(signature), err)
	}
	sum := sha256.Sum256([]byte(digest.Hash))
	if !ecdsa.Verify(public.(*ecdsa.PublicKey), sum[:], new(big.Int).SetBytes(signature[:48]),
		new(big.Int).SetBytes(signature[48:])) {
		t.Error("the signature is not one of the hash")
	}
	if named, err := wacz.PublicKey(key); err != nil || named != s.PublicKey {
		t.Errorf("the key calls itself %s, %v", named, err)
	}
}

func TestOnlyKeysOfTheSpecificationSign(t *testing.T) {
	key, err := wacz.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(key)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(parsed.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	older := append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 1, 0}}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	if same, err := wacz.ParseKey(older); err != nil || !same.Equal(parsed) {
		t.Errorf("a key of openssl is %v, %v", same, err)
	}
	const p256 = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2
OF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r
1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G
-----END PRIVATE KEY-----
`
	for _, text := range []string{"", "key", p256, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := wacz.ParseKey([]byte(text)); !errors.Is(err, wacz.ErrKey) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
