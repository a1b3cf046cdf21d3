package warc

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// fText is the flag of RFC 1952 of a member that is probably text.
const fText = 1

// sha1Prefix begins the digests that are compared; other writers may have others.
const sha1Prefix = "sha1:"

const (
	maxHead   = 1 << 20 // of a record's header and of an HTTP head; real ones are below 64 kB
	readAhead = 64 << 10
)

// A Reader gives the records of a WARC one after the other. It understands plain files, gzip and zstd, WARC 0.17 to
// 1.1, bare line feeds, folded lines, a missing end of record, a block longer than the record says, and several records
// in one member, which warcio calls a bad WARC and which is common all the same. A Reader belongs to one goroutine.
type Reader struct {
	raw   counter       // bytes taken from the source
	in    *bufio.Reader // of the source
	zip   *gzip.Reader  // of the present member
	zstd  *unpacker     // of the present frame
	text  *bufio.Reader // of what is inside: in itself, zip or zstd
	entry *Entry        // the one last given
	start int64         // where the present member begins
	base  int64         // offset of the source's first byte
	count int           // records given from the present member
	total int           // records given
	// inside is true while a member is open, or in a plain file a record.
	inside bool
	zipped bool // members are gzip or zstd
	// strict: a record is damaged without its end, with a block of another digest than it says, or with a header that
	// no writer writes
	strict bool
	// lenient reads on where others do: a block is as long as its record says, or goes to the next record where it
	// says nothing, whatever stands behind it
	lenient bool
	torn    bool      // behind the record at hand no other begins
	err     error     // why nothing more can be read; io.EOF at the end
	sum     hash.Hash // of the block of the record at hand
}

// counter counts what is read through it.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// newReader returns a Reader of src, which begins at the start of a record. Its first byte has the offset base.
func newReader(src io.Reader, base int64) *Reader {
	r := &Reader{base: base, raw: counter{from: src}}
	r.in = bufio.NewReaderSize(&r.raw, readAhead)
	return r
}

// At returns the record of f that begins at offset.
func At(f io.ReadSeeker, offset int64) (*Entry, error) {
	frames, err := dictionaryOf(f)
	if err != nil {
		return nil, fmt.Errorf("dictionary of the file: %w", err)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	r := newReader(f, offset)
	r.lenient = true
	r.useFrames(frames)
	return r.Next()
}

// useFrames takes over an unpacker that knows the dictionary of the file; nil is none.
func (r *Reader) useFrames(frames *unpacker) {
	if r.zstd = frames; frames != nil && r.text == nil {
		r.text = bufio.NewReaderSize(nil, readAhead)
	}
}

// offset is the place of the next byte of the source.
func (r *Reader) offset() int64 { return r.base + r.raw.n - int64(r.in.Buffered()) }

// Entry is one record read. Reading from it gives its block.
type Entry struct {
	Version string // WARC/1.1
	Header  Header
	Offset  int64 // where it begins in the file; in a member with several records, where the member begins
	Length  int64 // of its bytes in the file; known once Close has returned
	// Shared is true for a record that is not alone in its member, so that Offset and Length do not find it.
	Shared bool
	// Unended is true when the block was not followed by two empty lines, or ended before its Content-Length, where the
	// file or the member did; known once Close has returned.
	Unended bool

	reader  *Reader
	left    int64 // of the block
	unsized bool  // the block goes as far as the next record or the end
	closed  bool
	err     error     // of Close
	sum     hash.Hash // of the block so far; nil: it is not compared with what the record says
}

// Header is the named fields of a record or an HTTP message, in their order.
type Header []Field

// Get returns the first value of a name, whatever its case, or "".
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Type returns the record's type.
func (e *Entry) Type() Type { return Type(e.Header.Get("WARC-Type")) }

// TargetURI returns the URI, without the angle brackets that some writers put around it.
func (e *Entry) TargetURI() string {
	uri := e.Header.Get("WARC-Target-URI")
	if bare, ok := strings.CutPrefix(uri, "<"); ok {
		uri = strings.TrimSuffix(bare, ">")
	}
	return uri
}

// Date returns the moment of the capture. WARC 1.1 allows fractions of a second.
func (e *Entry) Date() (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, e.Header.Get("WARC-Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("WARC-Date: %w", err)
	}
	return t, nil
}

// BlockLength returns the length of the block in bytes, math.MaxInt64 if it is not known.
func (e *Entry) BlockLength() int64 {
	if e.unsized {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(e.Header.Get("Content-Length"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Read reads from the block.
func (e *Entry) Read(p []byte) (int, error) {
	if e.closed || e.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > e.left {
		p = p[:e.left]
	}
	if e.unsized && !e.reader.zipped {
		if p = p[:e.reader.upToRecord(len(p))]; len(p) == 0 {
			e.left = 0
			return 0, io.EOF
		}
	}
	n, err := e.reader.text.Read(p)
	e.left -= int64(n)
	if e.sum != nil {
		e.sum.Write(p[:n])
	}
	switch {
	case e.left == 0:
		err = nil
	case err == io.EOF && !e.reader.strict:
		e.left = 0 // as other readers have it: what is there is the block
	case err == io.EOF:
		err = e.reader.damaged(e.Offset, fmt.Errorf("block ends %d bytes early: %w", e.left, io.ErrUnexpectedEOF))
	case err != nil:
		err = e.reader.damaged(e.Offset, err)
	}
	return n, err
}

// recordStart stands between a block without a length and the next record.
var recordStart = []byte("\r\n\r\nWARC/")

// upToRecord is how many of the next bytes, at most most, stand before the next record.
func (r *Reader) upToRecord(most int) int {
	next, err := r.text.Peek(min(most+len(recordStart), readAhead))
	if i := bytes.Index(next, recordStart); i >= 0 {
		return min(i, most)
	}
	if err != nil { // the last bytes there are
		return min(len(bytes.TrimSuffix(next, recordEnd)), most)
	}
	return len(next) - len(recordStart)
}

// Close reads to the end of the record; an error says that the record is not whole.
func (e *Entry) Close() error {
	if e.closed {
		return e.err
	}
	if e.err = e.reader.err; e.err == nil {
		_, e.err = io.Copy(io.Discard, e)
	}
	e.closed = true
	if e.err == nil {
		e.err = e.reader.end(e)
	}
	return e.err
}

// damaged ends the reading with err, unless it has ended before.
func (r *Reader) damaged(offset int64, err error) error {
	if r.err == nil {
		r.err = fmt.Errorf("%w at offset %d: %w", ErrDamaged, offset, err)
	}
	return r.err
}

// Next returns the next record, reading to the end of the present one first. At the end of the file it returns io.EOF.
// After an error it returns that error again: what follows cannot be found from here.
func (r *Reader) Next() (*Entry, error) {
	if r.entry != nil {
		if err := r.entry.Close(); err != nil {
			return nil, err
		}
		r.entry = nil
	}
	if r.err != nil {
		return nil, r.err
	}
	if r.torn {
		return nil, r.damaged(r.start, errors.New("record ends in the middle of something"))
	}
	if !r.inside {
		if err := r.enter(); err != nil {
			if err == io.EOF {
				r.err = io.EOF
				return nil, io.EOF
			}
			return nil, r.damaged(r.start, err)
		}
	}
	e := &Entry{reader: r, Offset: r.start, Shared: r.count > 0}
	if err := r.header(e); err != nil {
		if r.total == 0 {
			err = fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return nil, r.damaged(r.start, err)
	}
	r.entry = e
	r.count++
	r.total++
	return e, nil
}

// enter goes to the start of the next member, or in a plain file of the next record.
func (r *Reader) enter() error {
	r.count = 0
	if !r.zipped {
		// Empty lines between records are allowed for; so is a file of nothing else.
		if err := skipLines(r.in); err != nil {
			return err
		}
	}
	r.start = r.offset()
	magic, err := r.in.Peek(4)
	if len(magic) == 0 {
		return err
	}
	r.inside = true
	switch {
	case isFrame(magic):
		if r.zstd == nil {
			r.useFrames(new(unpacker))
		}
		r.zipped = true
		if err := r.zstd.next(r.in); err != nil {
			return unexpected(err)
		}
		r.start = r.offset() - r.zstd.taken // behind a dictionary
		r.text.Reset(r.zstd)
		return nil
	case r.strict && len(magic) == 4 && bytes.HasPrefix(magic, gzipMagic) && magic[3]&fText != 0:
		return errors.New("its gzip member has the flag FTEXT, which no writer sets")
	case len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b:
		if r.zipped && !(r.lenient && bytes.HasPrefix(plainMagic, magic)) {
			return errors.New("no member begins here")
		}
		r.zipped = false
		r.text = r.in
		return nil
	}
	if r.zip == nil {
		r.zip = new(gzip.Reader)
		r.text = bufio.NewReaderSize(nil, readAhead)
	}
	r.zipped = true
	if err := r.zip.Reset(r.in); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	r.zip.Multistream(false)
	r.text.Reset(r.zip)
	return nil
}

// skipLines skips line ends and returns io.EOF at the end.
func skipLines(in *bufio.Reader) error {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return err
		}
		if c != '\r' && c != '\n' {
			return in.UnreadByte()
		}
	}
}

// header reads the version line and the fields of e.
func (r *Reader) header(e *Entry) error {
	room := maxHead
	version, crlf, err := readLine(r.text, &room)
	for err == nil && r.total > 0 && !r.strict && !bytes.HasPrefix(version, plainMagic) {
		// The block before was longer than its Content-Length.
		if !r.zipped {
			r.start = r.offset()
			e.Offset = r.start
		}
		version, crlf, err = readLine(r.text, &room)
	}
	if err != nil {
		return unexpected(err)
	}
	e.Version = string(version)
	if !strings.HasPrefix(e.Version, "WARC/") {
		return fmt.Errorf("record begins with %.20q", e.Version)
	}
	if e.Header, err = readFields(r.text, &room, r.strict && crlf); err != nil {
		return unexpected(err)
	}
	if r.strict {
		if err := e.Header.doubtful(); err != nil {
			return err
		}
	}
	length := e.Header.Get("Content-Length")
	e.left, err = strconv.ParseInt(length, 10, 64)
	if err == nil && e.left >= 0 {
		if r.strict && strings.HasPrefix(e.Header.Get("WARC-Block-Digest"), sha1Prefix) {
			if e.sum = r.sum; e.sum == nil {
				r.sum = sha1.New()
				e.sum = r.sum
			}
			e.sum.Reset()
		}
		return nil
	}
	if r.lenient && r.total+int(min(r.base, 1)) > 0 { // else it is perhaps no WARC
		e.left, e.unsized = math.MaxInt64, true
		return nil
	}
	return fmt.Errorf("Content-Length is %.30q", length)
}

// doubtful says why no writer wrote this header: a digest of the form of a SHA-1 that is not labelled as one.
func (h Header) doubtful() error {
	for _, name := range []string{"WARC-Block-Digest", "WARC-Payload-Digest"} {
		said := h.Get(name)
		label := strings.TrimRightFunc(said, inDigest)
		if is := len(said) - len(label); is == 32+len(sha1Prefix) && strings.HasPrefix(said, "sha1") {
			label = said[:len(sha1Prefix)] // its colon is part of a digest now
		} else if is != 32 && is != 2*sha1.Size {
			continue
		}
		switch strings.ToLower(label) {
		case "", sha1Prefix, "sha-1:", "md5:": // an MD5 in base 16 is as long as a SHA-1 in base 32
		default:
			return fmt.Errorf("%s has the form of a SHA-1 and another label: %.60q", name, said)
		}
	}
	return nil
}

// inDigest reports whether a character may be part of a digest in base 16, 32 or 64.
func inDigest(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("+/=-_", c)
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// end reads what follows the block of e up to the next record or the end of the member.
func (r *Reader) end(e *Entry) error {
	if e.sum != nil {
		said, _ := strings.CutPrefix(e.Header.Get("WARC-Block-Digest"), sha1Prefix)
		is := Digest(e.sum.Sum(nil))
		if !strings.EqualFold(said, is.Base32()) && !strings.EqualFold(said, hex.EncodeToString(is[:])) {
			return r.damaged(e.Offset, fmt.Errorf("its block has the digest %s, and not %.40q", is.Base32(), said))
		}
	}
	tail, err := r.text.Peek(len(recordEnd))
	if e.Unended = !bytes.Equal(tail, recordEnd); !e.Unended {
		r.text.Discard(len(recordEnd))
	} else if err != nil && err != io.EOF {
		return r.damaged(e.Offset, err)
	} else if r.strict {
		return r.damaged(e.Offset, errors.New("record has no end"))
	} else if r.lenient && !r.zipped {
		if err := skipLines(r.in); err == nil {
			next, _ := r.in.Peek(len(plainMagic))
			r.torn = !bytes.Equal(next, plainMagic)
		}
	}
	if !r.zipped {
		r.inside = false
		e.Length = r.offset() - e.Offset
		return nil
	}
	if !e.Unended {
		// The usual case: the member ends here, and with it its check sum is compared.
		if _, err := r.text.Peek(1); err == io.EOF {
			r.inside = false
			e.Length = r.offset() - e.Offset
			return nil
		}
	}
	switch err := skipLines(r.text); err {
	case nil: // another record in the same member
		e.Shared = true
	case io.EOF:
		r.inside = false
	default:
		return r.damaged(e.Offset, err)
	}
	e.Length = r.offset() - e.Offset
	return nil
}

// readLine reads one line without its end, taking its length from room, and reports whether the end is CRLF. The slice
// is valid until the next read.
func readLine(in *bufio.Reader, room *int) (line []byte, crlf bool, err error) {
	line, err = in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			if len(long) > *room {
				return nil, false, ErrTooLarge
			}
			line, err = in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if *room -= len(line); *room < 0 {
		return nil, false, ErrTooLarge
	}
	if err != nil {
		return nil, false, err
	}
	return bytes.TrimRight(line, "\r\n"), bytes.HasSuffix(line, lineEnd), nil
}

// readFields reads named fields up to an empty line. A line that begins with white space goes on with the one before; a
// line without a colon is passed over. With crlf, a line with another end is an error.
func readFields(in *bufio.Reader, room *int, crlf bool) (Header, error) {
	var fields Header
	for {
		line, ended, err := readLine(in, room)
		if err != nil {
			return fields, err
		}
		if crlf && !ended {
			return fields, fmt.Errorf("the line %.40q ends without the CR that the first one has", line)
		}
		if len(line) == 0 {
			return fields, nil
		}
		if (line[0] == ' ' || line[0] == '\t') && len(fields) > 0 {
			last := &fields[len(fields)-1]
			last.Value = strings.TrimLeft(last.Value+" "+string(bytes.TrimSpace(line)), " ")
			continue
		}
		name, value, ok := bytes.Cut(line, colon)
		if !ok {
			continue
		}
		fields = append(fields, Field{string(bytes.TrimSpace(name)), string(bytes.TrimSpace(value))})
	}
}
