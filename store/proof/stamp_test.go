package proof

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/digitorus/timestamp"

	"henro/store/archive/warc"
)

// authority is one that answers over HTTP. change makes what it signs another thing, and answer what it sends.
type authority struct {
	*httptest.Server
	change func(*timestamp.Timestamp)
	answer func(http.ResponseWriter, []byte)
	asked  atomic.Int32
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}}) // timeStamping
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Clock of the tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: usage}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{answer: func(w http.ResponseWriter, data []byte) { w.Write(data) }}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" {
			t.Error(err, r.Header)
		}
		request, err := timestamp.ParseRequest(body)
		if err != nil {
			t.Error(err)
			return
		}
		stamp := &timestamp.Timestamp{HashAlgorithm: request.HashAlgorithm, HashedMessage: request.HashedMessage,
			Time: time.Now(), Nonce: request.Nonce, Policy: asn1.ObjectIdentifier{1, 2, 3}, AddTSACertificate: true}
		if a.change != nil {
			a.change(stamp)
		}
		data, err := stamp.CreateResponseWithOpts(certificate, key, crypto.SHA256)
		if err != nil {
			t.Error(err)
		}
		a.answer(w, data)
	}))
	t.Cleanup(a.Close)
	return a
}

func TestACheckpointGetsItsTimestamp(t *testing.T) {
	a, clock := newArchive(t, warc.Gzip), newAuthority(t)
	asked := &Authority{URL: clock.URL, Client: clock.Client()}
	if done, err := asked.Stamp(t.Context(), a.proof()); err != nil || len(done) != 0 {
		t.Error("without a checkpoint:", done, err)
	}
	name := a.file(30, true)
	a.close()
	at := a.newest()
	clock.answer = func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusInternalServerError) }
	if done, err := asked.Stamp(t.Context(), a.proof()); err == nil || len(done) != 0 {
		t.Error("by an authority that fails:", done, err)
	}
	clock.answer = func(w http.ResponseWriter, data []byte) { w.Write(data) }
	for want := 1; want >= 0; want-- { // no second one
		done, err := asked.Stamp(t.Context(), a.proof())
		if err != nil || len(done) != want || clock.asked.Load() != 2 {
			t.Fatal(want, done, err)
		}
	}
	answer, err := os.ReadFile(filepath.Join(a.proof(), at.Log, stampFile(at.Size)))
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := ParseStamp(answer, at.Note)
	if err != nil || time.Since(stamp.At).Abs() > time.Minute || !strings.Contains(stamp.By, "Clock of the tests") {
		t.Fatal(stamp, err)
	}
	a.wants(a.check(at))
	a.open()
	a.file(30, true)
	a.close()
	a.wants(a.check(at))
	p, err := Prove(Disk(a.proof()), name, 0)
	if err != nil || p.Checkpoint.Size != at.Size || !bytes.Equal(p.Stamp, answer) {
		t.Fatalf("a record is not proved by the earliest checkpoint with a timestamp: %+v %v", p, err)
	}
	text := p.Format()
	if again, err := ParseProof(text); err != nil || len(text) > 4096 {
		t.Errorf("%d bytes: %+v %v", len(text), again, err)
	}
	for i := range 8 * len(answer) {
		other := bytes.Clone(answer)
		other[i/8] ^= 1 << (i % 8)
		if _, err := ParseStamp(other, at.Note); err == nil {
			t.Errorf("bit %d of byte %d of %d may be another", i%8, i/8, len(answer))
		}
	}
	// A damaged one, and that of another checkpoint, are named.
	other := bytes.Clone(answer)
	other[len(other)-5] ^= 1
	path := filepath.Join(a.proof(), at.Log, stampFile(at.Size))
	restore(t, "", map[string][]byte{path: other})
	a.wants(a.check(nil), ".tsr: its timestamp (RFC 3161)")
	if _, err := ParseStamp(answer, a.newest().Note); !errors.Is(err, ErrStamp) {
		t.Error(err)
	}
}

func TestAnAuthorityThatLiesIsNotBelieved(t *testing.T) {
	note := []byte("a checkpoint")
	for what, c := range map[string]struct {
		change func(*timestamp.Timestamp)
		answer func(http.ResponseWriter, []byte)
	}{
		"another nonce":  {change: func(s *timestamp.Timestamp) { s.Nonce = big.NewInt(7) }},
		"no nonce":       {change: func(s *timestamp.Timestamp) { s.Nonce = nil }},
		"another text":   {change: func(s *timestamp.Timestamp) { s.HashedMessage = bytes.Repeat([]byte{1}, 32) }},
		"no certificate": {change: func(s *timestamp.Timestamp) { s.AddTSACertificate = false }},
		"no answer":      {answer: func(w http.ResponseWriter, _ []byte) { w.WriteHeader(503) }},
		"a flood":        {answer: func(w http.ResponseWriter, _ []byte) { w.Write(make([]byte, maxStamp+1)) }},
		"half":           {answer: func(w http.ResponseWriter, data []byte) { w.Write(data[:len(data)/2]) }},
		"nothing":        {answer: func(http.ResponseWriter, []byte) {}},
	} {
		clock := newAuthority(t)
		if clock.change = c.change; c.answer != nil {
			clock.answer = c.answer
		}
		at := Authority{URL: clock.URL, Client: clock.Client()}
		if _, err := at.stamp(context.Background(), note); err == nil {
			t.Errorf("%s: it is believed", what)
		}
	}
	clock := newAuthority(t)
	at := Authority{URL: clock.URL, Client: clock.Client()}
	if _, err := at.stamp(context.Background(), note); err != nil {
		t.Error(err)
	}
}

func FuzzParseStamp(f *testing.F) {
	f.Add([]byte{0x30, 0x03, 2, 1, 0})
	f.Add([]byte{0x30, 9, 0x30, 3, 2, 1, 0, 0x30, 2, 0x1f, 0x85}) // a tag that does not end
	f.Fuzz(func(t *testing.T, answer []byte) {
		if s, err := ParseStamp(answer, []byte("a checkpoint")); err == nil {
			t.Error("it is believed:", s) // nobody signed that text
		}
	})
}
