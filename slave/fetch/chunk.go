package fetch

import "bytes"

// Bounds of the parts of chunked framing that carry no payload.
const (
	maxChunkLine = 4 << 10 // size and extensions
	maxTrailer   = 64 << 10
)

// chunks follows the chunked coding (RFC 9112 7.1) over a body that is still arriving. It remembers how far it has
// read, so that every byte is looked at once, and copies nothing.
type chunks struct {
	at      int   // bytes read so far; once done, where the coding ends
	left    int64 // of the data of the current chunk
	payload int64 // bytes of data so far
	count   int   // chunks with data so far
	first   int   // where the data of the first chunk starts
	state   chunkState
	trailer int // where the trailer starts
}

type chunkState uint8

const (
	atSize chunkState = iota
	inData
	afterData
	inTrailer
	chunksDone
)

// follow reads on in b, the body from its first byte to what has come. It reports errChunk at the first byte that
// cannot be.
func (c *chunks) follow(b []byte) error {
	for c.at < len(b) && c.state != chunksDone {
		rest := b[c.at:]
		switch c.state {
		case inData:
			n := min(c.left, int64(len(rest)))
			c.at += int(n)
			c.payload += n
			if c.left -= n; c.left == 0 {
				c.state = afterData
			}
		case afterData:
			switch {
			case rest[0] == '\n':
				c.at++
				c.state = atSize
			case rest[0] != '\r', len(rest) > 1 && rest[1] != '\n':
				return errChunk
			case len(rest) == 1:
				return nil
			default:
				c.at += 2
				c.state = atSize
			}
		case atSize:
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				if len(rest) > maxChunkLine {
					return errChunk
				}
				return nil
			}
			size, ok := chunkSize(rest[:end])
			if !ok || end > maxChunkLine {
				return errChunk
			}
			c.at += end + 1
			if size == 0 {
				c.state, c.trailer = inTrailer, c.at
				continue
			}
			if c.count == 0 {
				c.first = c.at
			}
			c.count++
			c.state, c.left = inData, size
		case inTrailer:
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				if c.at-c.trailer+len(rest) > maxTrailer {
					return errChunk
				}
				return nil
			}
			if c.at-c.trailer+end > maxTrailer {
				return errChunk
			}
			c.at += end + 1
			if end == 0 || end == 1 && rest[0] == '\r' {
				c.state = chunksDone
			}
		}
	}
	return nil
}

// chunkSize reads HEX [ws] [";" extension] [CR].
func chunkSize(line []byte) (int64, bool) {
	line, _, _ = bytes.Cut(line, []byte{';'})
	line = bytes.TrimRight(line, " \t\r")
	if len(line) == 0 || len(line) > 15 {
		return 0, false
	}
	var n int64
	for _, d := range line {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | int64(d)
	}
	return n, true
}

// join appends the data of all chunks in b, of which follow has read as much as could be, to dst.
func (c *chunks) join(dst, b []byte) []byte {
	b = b[:c.at]
	for left := c.payload; left > 0; {
		end := bytes.IndexByte(b, '\n')
		size, _ := chunkSize(b[:end])
		n := min(size, left)
		b = b[end+1:]
		dst = append(dst, b[:n]...)
		b = b[n:]
		if left -= n; left > 0 {
			b = b[bytes.IndexByte(b, '\n')+1:]
		}
	}
	return dst
}
