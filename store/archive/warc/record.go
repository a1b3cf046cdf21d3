package warc

import (
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"time"
)

// Type is the kind of a record, the word of WARC-Type.
type Type string

// The types of WARC 1.1.
const (
	Warcinfo     Type = "warcinfo"     // about the file itself
	Request      Type = "request"      // what was sent
	Response     Type = "response"     // what came back
	Resource     Type = "resource"     // a resource without its protocol
	Metadata     Type = "metadata"     // about another record
	Revisit      Type = "revisit"      // unchanged: points back at an earlier capture
	Conversion   Type = "conversion"   // another form of an earlier record
	Continuation Type = "continuation" // a further segment of an earlier record
)

// Profiles of revisit records.
const (
	ProfileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	ProfileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// Content types of blocks.
const (
	TypeRequest  = "application/http; msgtype=request"
	TypeResponse = "application/http; msgtype=response"
	TypeFields   = "application/warc-fields"
)

// ID is the name of a record, a random UUID; the zero ID means none.
type ID [16]byte

// NewID returns a random (version 4) ID. Names need to be unlike each other, not secret, so the runtime's generator
// will do.
func NewID() (id ID) {
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// IsZero reports whether id is none.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the form of WARC-Record-ID, <urn:uuid:…>.
func (id ID) String() string { return string(id.append(nil)) }

func (id ID) append(dst []byte) []byte {
	dst = append(dst, "<urn:uuid:"...)
	for i, n := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[:n])
		copy(id[:], id[n:])
	}
	return append(dst, '>')
}

// Digest is the SHA-1 of a block or payload; the zero Digest means none. SHA-1, because every tool of the field
// compares captures by it; nothing here defends against forgery.
type Digest [sha1.Size]byte

// Sum returns the digest of data.
func Sum(data []byte) Digest { return sha1.Sum(data) }

// IsZero reports whether d is none.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the form of WARC-Payload-Digest, sha1:BASE32.
func (d Digest) String() string { return string(d.append(nil)) }

// Base32 returns the digest as CDXJ has it, without the name of the algorithm.
func (d Digest) Base32() string { return base32.StdEncoding.EncodeToString(d[:]) }

func (d Digest) append(dst []byte) []byte {
	return base32.StdEncoding.AppendEncode(append(dst, sha1Prefix...), d[:])
}

// Field is one named field of a header.
type Field struct{ Name, Value string }

// Record is one record about to be built. Zero fields are left out of its header.
type Record struct {
	Type          Type
	ID            ID        // given by the Builder if zero
	Date          time.Time // the moment the capture began
	TargetURI     string
	IP            netip.Addr // whom the exchange was with
	ContentType   string     // of the block
	ConcurrentTo  []ID       // records of the same capture
	RefersTo      ID
	RefersToURI   string    // for a revisit: TargetURI of the capture that holds the payload
	RefersToDate  time.Time // for a revisit: its Date
	Profile       string    // for a revisit: on which ground it is one
	WarcinfoID    ID
	Filename      string // for a warcinfo: the name of the file
	Truncated     string // length, time, disconnect or unspecified
	PayloadDigest Digest
	BlockDigest   Digest  // computed by the Builder if zero
	Extra         []Field // any others, in order
	Head, Body    []byte  // the block is one after the other, so that neither need be copied
	Packed        bool    // the body is compressed already: gzip has nothing to save on it
}

const dateLayout = "2006-01-02T15:04:05Z"

// appendHeader appends the record's header with the empty line that ends it.
func (r *Record) appendHeader(dst []byte) []byte {
	dst = append(dst, "WARC/1.1\r\nWARC-Type: "...)
	dst = append(dst, r.Type...)
	dst = append(dst, "\r\nWARC-Record-ID: "...)
	dst = r.ID.append(dst)
	dst = append(dst, "\r\nWARC-Date: "...)
	dst = r.Date.UTC().AppendFormat(dst, dateLayout)
	dst = append(dst, "\r\n"...)
	dst = appendField(dst, "WARC-Target-URI", r.TargetURI)
	if r.IP.IsValid() {
		dst = append(dst, "WARC-IP-Address: "...)
		dst = append(r.IP.Unmap().WithZone("").AppendTo(dst), "\r\n"...)
	}
	for _, id := range r.ConcurrentTo {
		dst = appendID(dst, "WARC-Concurrent-To", id)
	}
	dst = appendField(dst, "WARC-Profile", r.Profile)
	dst = appendID(dst, "WARC-Refers-To", r.RefersTo)
	dst = appendField(dst, "WARC-Refers-To-Target-URI", r.RefersToURI)
	if !r.RefersToDate.IsZero() {
		dst = append(dst, "WARC-Refers-To-Date: "...)
		dst = append(r.RefersToDate.UTC().AppendFormat(dst, dateLayout), "\r\n"...)
	}
	dst = appendID(dst, "WARC-Warcinfo-ID", r.WarcinfoID)
	dst = appendField(dst, "WARC-Filename", r.Filename)
	dst = appendField(dst, "WARC-Truncated", r.Truncated)
	dst = appendDigest(dst, "WARC-Payload-Digest", r.PayloadDigest)
	dst = appendDigest(dst, "WARC-Block-Digest", r.BlockDigest)
	for _, f := range r.Extra {
		dst = appendField(dst, f.Name, f.Value)
	}
	dst = appendField(dst, "Content-Type", r.ContentType)
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(r.Head)+len(r.Body)), 10)
	return append(dst, "\r\n\r\n"...)
}

func appendID(dst []byte, name string, id ID) []byte {
	if id.IsZero() {
		return dst
	}
	return append(id.append(append(append(dst, name...), ": "...)), "\r\n"...)
}

func appendDigest(dst []byte, name string, d Digest) []byte {
	if d.IsZero() {
		return dst
	}
	return append(d.append(append(append(dst, name...), ": "...)), "\r\n"...)
}

// appendField appends "name: value"; control characters become spaces, so that no value can end its own line.
func appendField(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(dst, name...), ": "...)
	from := len(dst)
	dst = append(dst, value...)
	for i := from; i < len(dst); i++ {
		if dst[i] < ' ' || dst[i] == 0x7f {
			dst[i] = ' '
		}
	}
	return append(dst, "\r\n"...)
}
