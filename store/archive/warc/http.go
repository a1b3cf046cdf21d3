package warc

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
)

// Message is the HTTP message in the block of an entry.
type Message struct {
	Start  string // the first line: status line or request line
	Status int    // of an answer; 0 when the line does not say
	Header Header
	// HeadLength is the number of bytes up to and with the empty line.
	HeadLength int64
	body       *bufio.Reader
}

// HTTP reads the head of the HTTP message in the block. It takes what it is given: of a torn head, the fields that are
// there. ErrNotHTTP is returned for blocks of other types.
func (e *Entry) HTTP() (*Message, error) {
	media, _, _ := strings.Cut(e.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/http") {
		return nil, ErrNotHTTP
	}
	count := &counter{from: e}
	in := bufio.NewReader(count)
	room := maxHead
	start, _, err := readLine(in, &room)
	m := &Message{Start: string(start), body: in}
	if err == nil {
		m.Header, err = readFields(in, &room, false)
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	m.HeadLength = count.n - int64(in.Buffered())
	if rest, ok := strings.CutPrefix(m.Start, "HTTP/"); ok {
		_, rest, _ = strings.Cut(rest, " ")
		code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if n, err := strconv.Atoi(code); err == nil && n >= 100 && n <= 999 {
			m.Status = n
		}
	}
	return m, nil
}

// Payload returns the body without its chunks. A body whose head promises chunks and that has none is given as it is,
// since old crawlers wrote such records.
func (m *Message) Payload() io.Reader {
	if !strings.EqualFold(strings.TrimSpace(m.Header.Get("Transfer-Encoding")), "chunked") {
		return m.body
	}
	if line, _ := m.body.Peek(18); !beginsChunk(line) {
		return m.body
	}
	return &chunks{in: m.body}
}

// beginsChunk reports whether line is the beginning of a chunk: hexadecimal digits, then the end of the line or an
// extension.
func beginsChunk(line []byte) bool {
	digits := len(line) - len(bytes.TrimLeft(line, "0123456789abcdefABCDEF"))
	if digits == 0 || digits > 16 || digits == len(line) {
		return false
	}
	return bytes.IndexByte([]byte("\r\n; \t"), line[digits]) >= 0
}

// chunks takes the chunks off a body. At the first thing that is no chunk the payload ends.
type chunks struct {
	in   *bufio.Reader
	left uint64 // of the present chunk
	done bool
}

func (c *chunks) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.done || !c.next() {
			c.done = true
			return 0, io.EOF
		}
	}
	if uint64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.in.Read(p)
	if c.left -= uint64(n); c.left == 0 && err == nil {
		skipEnd(c.in)
	}
	return n, err
}

// next reads the line that begins a chunk, and reports whether there is one with something in it.
func (c *chunks) next() bool {
	room := 4 << 10
	line, _, err := readLine(c.in, &room)
	if err != nil {
		return false
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	c.left, err = strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 63)
	return err == nil && c.left > 0
}

// skipEnd skips the line end behind a chunk.
func skipEnd(in *bufio.Reader) {
	if end, _ := in.Peek(2); bytes.HasPrefix(end, []byte("\r\n")) {
		in.Discard(2)
	} else if bytes.HasPrefix(end, []byte("\n")) {
		in.Discard(1)
	}
}
