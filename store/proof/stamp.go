package proof

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"

	"henro/store/archive/warc"
	"henro/store/fsync"
)

const (
	maxStamp = 32 << 10         // of an authority's answer, with its certificates
	stampFor = 10 * time.Second // how long an authority has
)

// ErrStamp is returned for what is no timestamp of a checkpoint.
var ErrStamp = errors.New("its timestamp (RFC 3161) is none of this checkpoint")

// Stamp is what an authority signed: that it saw a checkpoint at a moment. Whether the authority is one to be believed
// is not judged here.
type Stamp struct {
	At time.Time
	By string // the subject of its certificate
}

// ParseStamp reads the answer of an authority, compares it with the text of a checkpoint, and its signature with the
// certificate that is in it.
func ParseStamp(answer, note []byte) (*Stamp, error) {
	t, err := parseStamp(answer, note)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(t.Certificates, func(c *x509.Certificate) bool {
		return slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageTimeStamping)
	})
	return &Stamp{t.Time.UTC(), t.Certificates[max(at, 0)].Subject.String()}, nil
}

func parseStamp(answer, note []byte) (t *timestamp.Timestamp, err error) {
	if len(answer) > maxStamp {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrStamp, maxStamp)
	}
	defer func() { // package pkcs7 reads behind the end of what is damaged
		if r := recover(); r != nil {
			t, err = nil, fmt.Errorf("%w: %v", ErrStamp, r)
		}
	}()
	t, err = timestamp.ParseResponse(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStamp, err)
	}
	sum := sha256.Sum256(note)
	if len(t.Certificates) == 0 || t.HashAlgorithm != crypto.SHA256 || !bytes.Equal(t.HashedMessage, sum[:]) {
		return nil, ErrStamp
	}
	if err := bound(answer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStamp, err)
	}
	return t, nil
}

// enveloped is what surrounds what an authority signed (RFC 3161, 2.4.2; RFC 5652, 5.1).
type enveloped struct {
	Status struct {
		Status int
		Text   asn1.RawValue  `asn1:"optional,tag:16"`
		Failed asn1.BitString `asn1:"optional"`
	}
	Token struct {
		Type   asn1.ObjectIdentifier
		Signed struct {
			Version    int
			Algorithms []pkix.AlgorithmIdentifier `asn1:"set"`
			Content    struct {
				Type asn1.ObjectIdentifier
				Data []byte `asn1:"explicit,tag:0"`
			}
			Certificates asn1.RawValue `asn1:"optional,tag:0"`
			Revoked      asn1.RawValue `asn1:"optional,tag:1"`
			Signers      asn1.RawValue
		} `asn1:"explicit,tag:0"`
	}
}

var (
	signedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	stampInfo  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	namesSHA1  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12} // RFC 2634
	names      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47} // RFC 5035
)

// bound looks whether what an authority signed names its certificate, and whether what is not signed is as it has to
// be. So of an answer with one certificate all is proved.
func bound(answer []byte) error {
	var e enveloped
	if _, err := asn1.Unmarshal(answer, &e); err != nil {
		return err
	}
	again, err := asn1.Marshal(e)
	token, bad := asn1.Marshal(e.Token)
	if err := errors.Join(err, bad); err != nil || !bytes.Equal(again, answer) {
		return errors.New("it is no DER")
	}
	signed, err := pkcs7.Parse(token)
	if err != nil {
		return err
	}
	by, s := signed.GetOnlySigner(), &e.Token.Signed
	signer, err := asn1.MarshalWithParams(signed.Signers, "set")
	if by == nil || err != nil || signed.Signers[0].Version != 1 || !bytes.Equal(signer, s.Signers.FullBytes) {
		return errors.New("what says who signed it is not written as it has to be")
	}
	if e.Status.Status != 0 || s.Version != 3 || !e.Token.Type.Equal(signedData) ||
		!s.Content.Type.Equal(stampInfo) || !slices.ContainsFunc(s.Algorithms, func(a pkix.AlgorithmIdentifier) bool {
		return reflect.DeepEqual(a, signed.Signers[0].DigestAlgorithm)
	}) {
		return errors.New("its envelope is none of a timestamp")
	}
	var of struct {
		Certificates []struct {
			Algorithm pkix.AlgorithmIdentifier `asn1:"optional"`
			Sum       []byte
			Issuer    asn1.RawValue `asn1:"optional"`
		}
		Policies asn1.RawValue `asn1:"optional"`
	}
	if signed.UnmarshalSignedAttribute(names, &of) != nil {
		err = signed.UnmarshalSignedAttribute(namesSHA1, &of)
	}
	sha1, sha256 := sha1.Sum(by.Raw), sha256.Sum256(by.Raw)
	sha384, sha512 := sha512.Sum384(by.Raw), sha512.Sum512(by.Raw)
	if err != nil || len(of.Certificates) == 0 || !slices.ContainsFunc([][]byte{sha1[:], sha256[:], sha384[:],
		sha512[:]}, func(sum []byte) bool { return bytes.Equal(sum, of.Certificates[0].Sum) }) {
		return errors.New("it was not signed for the certificate in it")
	}
	return nil
}

// Authority answers with timestamps.
type Authority struct {
	URL    string
	Client *http.Client
}

// stamp asks for the timestamp of a checkpoint.
func (a *Authority) stamp(ctx context.Context, note []byte) (answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, stampFor)
	defer cancel()
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, err
	}
	asked, err := timestamp.CreateRequest(bytes.NewReader(note),
		&timestamp.RequestOptions{Hash: crypto.SHA256, Certificates: true, Nonce: nonce})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(asked))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/timestamp-query")
	response, err := a.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", a.URL, response.Status)
	}
	if answer, err = io.ReadAll(io.LimitReader(response.Body, maxStamp+1)); err != nil {
		return nil, err
	}
	t, err := parseStamp(answer, note)
	if err == nil && (t.Nonce == nil || t.Nonce.Cmp(nonce) != 0) {
		err = fmt.Errorf("%w: it answers another request", ErrStamp)
	}
	return answer, err
}

// Stamp has the newest checkpoint of each log in a folder stamped that has no timestamp. It may run beside the process
// that writes the log.
func (a *Authority) Stamp(ctx context.Context, dir string) (done []*Checkpoint, err error) {
	home := Disk(dir)
	names, err := Logs(home)
	for _, name := range names {
		log := filepath.Join(dir, name)
		if unbegun(home, name) {
			continue
		}
		c, bad := checkpoint(home, name, checkpointFile)
		if bad != nil || slices.Contains(stamped(home, name), c.Size) {
			err = errors.Join(err, bad)
			continue
		}
		answer, bad := a.stamp(ctx, c.Note)
		if bad == nil {
			bad = errors.Join(warc.MakeDir(filepath.Join(log, checkpoints)),
				fsync.WriteFile(filepath.Join(log, stampFile(c.Size)), answer, 0o644))
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("timestamp of the log %s: %w", name, bad))
			continue
		}
		done = append(done, c)
	}
	return done, err
}
