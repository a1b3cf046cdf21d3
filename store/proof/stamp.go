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

func parseStamp(answer, note []byte) (*timestamp.Timestamp, error) {
	if len(answer) > maxStamp {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrStamp, maxStamp)
	}
	t, err := timestamp.ParseResponse(answer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStamp, err)
	}
	sum := sha256.Sum256(note)
	if len(t.Certificates) == 0 || t.HashAlgorithm != crypto.SHA256 || !bytes.Equal(t.HashedMessage, sum[:]) {
		return nil, ErrStamp
	}
	if !isBound(t.RawToken) {
		return nil, fmt.Errorf("%w: the certificate in it is not the one that it was signed for", ErrStamp)
	}
	return t, nil
}

// isBound reports whether what an authority signed names its certificate (RFC 3161, 2.4.1; RFC 5035, and RFC 2634 for
// SHA-1).
func isBound(token []byte) bool {
	var names struct {
		Certificates []struct {
			Algorithm pkix.AlgorithmIdentifier `asn1:"optional"`
			Sum       []byte
			Issuer    asn1.RawValue `asn1:"optional"`
		}
		Policies asn1.RawValue `asn1:"optional"`
	}
	signed, err := pkcs7.Parse(token)
	if err != nil {
		return false
	}
	by := signed.GetOnlySigner()
	kind := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	if err = signed.UnmarshalSignedAttribute(kind, &names); err != nil {
		kind[8] = 12
		err = signed.UnmarshalSignedAttribute(kind, &names)
	}
	if err != nil || by == nil || len(names.Certificates) == 0 {
		return false
	}
	sha1, sha256 := sha1.Sum(by.Raw), sha256.Sum256(by.Raw)
	sha384, sha512 := sha512.Sum384(by.Raw), sha512.Sum512(by.Raw)
	return slices.ContainsFunc([][]byte{sha1[:], sha256[:], sha384[:], sha512[:]},
		func(sum []byte) bool { return bytes.Equal(sum, names.Certificates[0].Sum) })
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
	names, err := Logs(dir)
	for _, name := range names {
		log := filepath.Join(dir, name)
		if unbegun(log) {
			continue
		}
		c, bad := ReadCheckpoint(filepath.Join(log, checkpointFile))
		if bad != nil || slices.Contains(stamped(log), c.Size) {
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
