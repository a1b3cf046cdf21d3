package fetch

import (
	"bytes"
	"math"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// head is what the head of an HTTP/1 response says.
type head struct {
	minor   int // of HTTP/1.x
	status  int
	header  http.Header
	chunked bool
	length  int64 // Content-Length; -1: none, or overridden by a transfer coding
	close   bool  // the connection ends with this response
}

// headLength is where a response head at the start of b ends, the empty line included, or -1 while it has not. Bytes
// before from are known not to hold the end.
func headLength(b []byte, from int) int {
	for i := max(0, from-3); ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return -1
		}
		i += j + 1
		switch rest := b[i:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return i + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return i + 2
		}
	}
}

// looksHTTP reports whether b may still become a status line: HTTP/0.9 and other protocols are recognised by their
// first bytes.
func looksHTTP(b []byte) bool {
	const name = "HTTP/"
	n := min(len(b), len(name))
	return strings.EqualFold(string(b[:n]), name[:n])
}

// parseHead reads a whole head, as leniently as browsers do: bare LF, lines that are not fields, spaces before the
// colon and folded lines are suffered, since the archive keeps the bytes anyway and the reader wants the page. NUL is
// not.
func parseHead(b []byte) (head, error) {
	h := head{length: -1}
	if bytes.IndexByte(b, 0) >= 0 {
		return h, errNUL
	}
	text := string(b)
	line, rest := cutLine(text)
	if err := h.statusLine(line); err != nil {
		return h, err
	}
	count := strings.Count(rest, "\n")
	h.header = make(http.Header, min(count, 64))
	values := make([]string, 0, count) // one array for all single values
	last := ""
	for rest != "" {
		line, rest = cutLine(rest)
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' { // obs-fold, RFC 9112 5.2
			if vs := h.header[last]; last != "" && len(vs) > 0 {
				vs[len(vs)-1] = strings.TrimSpace(vs[len(vs)-1] + " " + strings.Trim(line, " \t"))
			}
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimRight(name, " \t")
		if !found || !httpguts.ValidHeaderFieldName(name) {
			last = ""
			continue
		}
		last = textproto.CanonicalMIMEHeaderKey(name)
		value = strings.Trim(value, " \t")
		if vs := h.header[last]; vs == nil {
			values = append(values, value)
			h.header[last] = values[len(values)-1 : len(values) : len(values)]
		} else {
			h.header[last] = append(vs, value)
		}
	}
	return h, h.framing()
}

// cutLine takes the first line of s, without its end.
func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// statusLine reads HTTP/1.x SP 3DIGIT [SP reason].
func (h *head) statusLine(line string) error {
	version, rest, _ := strings.Cut(line, " ")
	if len(version) != len("HTTP/1.1") || !strings.EqualFold(version[:len("HTTP/1.")], "HTTP/1.") || version[7] < '0' ||
		version[7] > '9' {
		return errNotHTTP
	}
	h.minor = int(version[7] - '0')
	rest = strings.TrimLeft(rest, " ")
	if len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return errNotHTTP
	}
	for i := range 3 {
		if rest[i] < '0' || rest[i] > '9' {
			return errNotHTTP
		}
		h.status = h.status*10 + int(rest[i]-'0')
	}
	if h.status < 100 {
		return errNotHTTP
	}
	return nil
}

// framing finds how the body is delimited (RFC 9112 6.3). Lengths that are none or contradict each other make the
// response one to be discarded, unless a transfer coding overrides them.
func (h *head) framing() error {
	h.close = h.minor == 0
	for _, v := range h.header["Connection"] {
		for token := range strings.SplitSeq(v, ",") {
			switch token = strings.TrimSpace(token); {
			case strings.EqualFold(token, "close"):
				h.close = true
			case strings.EqualFold(token, "keep-alive") && h.minor == 0:
				h.close = false
			}
		}
	}
	lengths := h.header["Content-Length"]
	if codings := h.header["Transfer-Encoding"]; len(codings) > 0 && h.minor > 0 {
		last := codings[len(codings)-1]
		if i := strings.LastIndexByte(last, ','); i >= 0 {
			last = last[i+1:]
		}
		h.chunked = strings.EqualFold(strings.TrimSpace(last), "chunked")
		h.close = h.close || len(lengths) > 0 || !h.chunked // someone between us may believe the other: do not reuse
		return nil
	}
	for _, v := range lengths {
		for one := range strings.SplitSeq(v, ",") {
			one = strings.TrimSpace(one)
			if one == "" || strings.Trim(one, "0123456789") != "" {
				return errLength
			}
			n, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				n = math.MaxInt64 // longer than anything
			}
			if h.length >= 0 && n != h.length {
				return errLength
			}
			h.length = n
		}
	}
	return nil
}

// bodiless reports whether a response with this status never has a body.
func (h *head) bodiless() bool { return h.status < 200 || h.status == 204 || h.status == 304 }
