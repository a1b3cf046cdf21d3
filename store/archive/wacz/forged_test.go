package wacz_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"henro/store/archive/wacz"
)

// signature is a signature of a text by a key, the halves of one by an elliptic curve in 48 bytes each, and the public
// key.
func signature(t *testing.T, key crypto.Signer, text string) (signature, public string) {
	t.Helper()
	made := make([]byte, 96)
	if curve, ok := key.(*ecdsa.PrivateKey); ok {
		sum := sha256.Sum256([]byte(text))
		r, s, err := ecdsa.Sign(rand.Reader, curve, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		r.FillBytes(made[:48])
		s.FillBytes(made[48:])
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(made), base64.StdEncoding.EncodeToString(der)
}

// Whatever a forger writes into the signature of a package, it is not verified, and said to be wrong.
func TestAForgedSignatureIsFoundOut(t *testing.T) {
	mine, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	type said struct {
		Hash      string `json:"hash"`
		Signature string `json:"signature"`
		PublicKey string `json:"publicKey"`
	}
	for sentence, c := range map[string]struct {
		key    crypto.Signer
		change func(*said)
		want   string // empty: the signature is verified
	}{
		"a true one":                {mine, nil, ""},
		"a curve below that of all": {small, nil, "not one of the curve P-384"},
		"a key of another kind":     {edwards, nil, "not one of the curve P-384"},
		"a digest named with it that is another": {mine, func(s *said) { s.Hash = "sha256:00" },
			"it signs another digest"},
		"no digest named with it": {mine, func(s *said) { s.Hash = "" }, "it signs another digest"},
		"of another digest, which it names": {mine, func(s *said) {
			s.Hash = "sha256:00"
			s.Signature, _ = signature(t, mine, s.Hash)
		}, "it signs another digest"},
		"of another digest": {mine, func(s *said) { s.Signature, _ = signature(t, mine, "sha256:00") },
			"not fit its public key"},
		"a signature of zeros": {mine, func(s *said) { s.Signature = strings.Repeat("A", 128) },
			"not fit its public key"},
		"no signature":                 {mine, func(s *said) { s.Signature = "" }, "it is not base64 of 96 bytes"},
		"a signature that is too long": {mine, func(s *said) { s.Signature += "AAAA" }, "it is not base64 of 96 bytes"},
		"no public key":                {mine, func(s *said) { s.PublicKey = "" }, "its public key"},
		"a public key not in base64":   {mine, func(s *said) { s.PublicKey = "!" }, "its public key"},
	} {
		parts := signed(t)
		last := &parts[len(parts)-1]
		var digest struct {
			Hash   string `json:"hash"`
			Signed said   `json:"signedData"`
		}
		if err := json.Unmarshal(last.data, &digest); err != nil {
			t.Fatal(err)
		}
		digest.Signed.Signature, digest.Signed.PublicKey = signature(t, c.key, digest.Hash)
		if c.change != nil {
			c.change(&digest.Signed)
		}
		if last.data, err = json.Marshal(digest); err != nil {
			t.Fatal(err)
		}
		about, wrong, err := verified(t, parts)
		all := strings.Join(wrong, "\n")
		if err != nil || (about.Signed != nil) != (c.want == "") || (all == "") != (c.want == "") ||
			!strings.Contains(all, c.want) {
			t.Errorf("%s: %+v, %q, %v, want %q", sentence, about.Signed, wrong, err, c.want)
		}
	}
}

// What the specification leaves to the writer may be missing, and nothing of it is taken as verified.
func TestAPackageOfAnotherWriterMayLeaveThingsOut(t *testing.T) {
	parts := signed(t)
	about, wrong, err := verified(t, parts[:len(parts)-1])
	if err != nil || len(wrong) > 0 || about.Signed != nil || about.Parts != 4 {
		t.Errorf("without a digest: %+v, %q, %v", about, wrong, err)
	}
	about, wrong, err = verified(t, []part{{name: "archive/0.warc"}, {name: "datapackage.json", data: []byte("{}")}})
	if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], "not listed") || about.Parts != 0 {
		t.Errorf("without resources: %+v, %q, %v", about, wrong, err)
	}
	const line = "test,docs)/ 20260314120000 {\"url\":\"http://docs.test/\"}\n"
	p, err := wacz.Open(packed(t, []part{{name: "indexes/a.cdxj", data: []byte(line)},
		{name: "datapackage.json", data: []byte("{}")}}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var text []byte
	err = p.EachIndex(func(_ string, lines io.Reader) (err error) {
		text, err = io.ReadAll(lines)
		return err
	})
	if err != nil || string(text) != line {
		t.Errorf("an index that is not packed: %q, %v", text, err)
	}
	if _, err := p.Part("archive/0.warc.gz"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part that is not there: %v", err)
	}
}

// A block that was full is not followed by an empty one, and a package without a main page names no moment of it.
func TestNothingEmptyIsPacked(t *testing.T) {
	z, _ := signedPackage(t, 1, func(o *wacz.Options) { o.BlockLines = 20 })
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "indexes/index.idx" && bytes.Count(text, []byte("\n")) != 3 {
			t.Errorf("two blocks of twenty lines: %s", text)
		}
		if f.Name == "datapackage.json" && bytes.Contains(text, []byte("mainPageDate")) {
			t.Errorf("no main page: %s", text)
		}
	}
}
