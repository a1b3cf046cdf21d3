package warc

import (
	"crypto/sha1"
	"fmt"
	"hash"

	"github.com/klauspost/compress/gzip"
)

// Compression is how the bytes of a record are packed.
type Compression uint8

// The ways of packing.
const (
	Gzip Compression = iota // one gzip member for each record: name.warc.gz
	None                    // plain: name.warc
)

// Suffix returns the end of the names of files packed this way.
func (c Compression) Suffix() string {
	if c == None {
		return ".warc"
	}
	return ".warc.gz"
}

// Options are how records are built.
type Options struct {
	// Compression of each record. Default Gzip, which every reader of WARC knows.
	Compression Compression
	// Level of compression, 1 to 9. Default 3: 110 µs for a documentation page of 28.8 kB, where level 6 of the standard
	// library takes 405 µs and saves a few per cent of the size.
	Level int
	// KeepChunks stores chunked bodies with their chunks. Default off: see the package comment.
	KeepChunks bool
}

// DefaultOptions returns the defaults.
func DefaultOptions() Options { return Options{Compression: Gzip, Level: 3} }

// Validate says what is wrong with o.
func (o Options) Validate() error {
	if o.Compression > None {
		return fmt.Errorf("warc: compression %d is unknown", o.Compression)
	}
	if o.Compression == Gzip && (o.Level < 1 || o.Level > 9) {
		return fmt.Errorf("warc: compression level %d is not within 1 to 9", o.Level)
	}
	return nil
}

// A Builder makes the bytes of records. It keeps its buffers from one record to the next, so that building allocates nothing
// once they have grown. A Builder serves one goroutine at a time.
type Builder struct {
	options Options
	zip     *gzip.Writer
	sha     hash.Hash
	sink    sink
	header  []byte    // of the record being built
	head    []byte    // of an answer, rewritten
	records [3]Record // of the exchange being built
	ids     [3]ID
}

// sink is where the gzip writer writes: the end of a slice.
type sink struct{ bytes []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes = append(s.bytes, p...)
	return len(p), nil
}

// NewBuilder returns a Builder.
func NewBuilder(o Options) (*Builder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &Builder{options: o, sha: sha1.New()}
	if o.Compression == Gzip {
		zip, err := gzip.NewWriterLevel(&b.sink, o.Level)
		if err != nil {
			return nil, fmt.Errorf("warc: %w", err)
		}
		b.zip = zip
	}
	return b, nil
}

// Append appends the finished bytes of r to dst and returns the longer slice. It gives r an ID and a block digest if it has none.
func (b *Builder) Append(dst []byte, r *Record) []byte {
	if r.ID.IsZero() {
		r.ID = NewID()
	}
	if r.BlockDigest.IsZero() {
		b.sha.Reset()
		b.sha.Write(r.Head)
		b.sha.Write(r.Body)
		b.sha.Sum(r.BlockDigest[:0])
	}
	b.header = r.appendHeader(b.header[:0])
	b.sink.bytes = dst
	if b.zip == nil {
		b.sink.bytes = append(append(append(append(dst, b.header...), r.Head...), r.Body...), "\r\n\r\n"...)
	} else {
		// Writing to memory does not fail, so neither does the gzip writer.
		b.zip.Reset(&b.sink)
		b.zip.Write(b.header)
		b.zip.Write(r.Head)
		b.zip.Write(r.Body)
		b.zip.Write(recordEnd)
		b.zip.Close()
	}
	dst = b.sink.bytes
	b.sink.bytes = nil
	return dst
}

var recordEnd = []byte("\r\n\r\n")
