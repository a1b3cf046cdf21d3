package fetch

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseHead(t *testing.T) {
	for _, tt := range []struct {
		name, head string
		want       head
		err        error
	}{
		{"an ordinary one", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n",
			head{minor: 1, status: 200, length: 5}, nil},
		{"no phrase", "HTTP/1.1 404\r\n\r\n", head{minor: 1, status: 404, length: -1}, nil},
		{"lower case", "http/1.1 200 ok\r\n\r\n", head{minor: 1, status: 200, length: -1}, nil},
		{"two spaces", "HTTP/1.1  200 OK\r\n\r\n", head{minor: 1, status: 200, length: -1}, nil},
		{"HTTP/1.0 closes", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", head{status: 200, length: 1, close: true},
			nil},
		{"HTTP/1.0 that keeps", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\n",
			head{status: 200, length: 1}, nil},
		{"HTTP/1.0 knows no chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
			head{status: 200, length: -1, close: true}, nil},
		{"close among others", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n\r\n",
			head{minor: 1, status: 200, length: -1, close: true}, nil},
		{"chunked beats a length and is suspicious",
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
			head{minor: 1, status: 200, length: -1, chunked: true, close: true}, nil},
		{"gzip, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
			head{minor: 1, status: 200, length: -1, chunked: true}, nil},
		{"a coding that is not chunked ends with the connection", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
			head{minor: 1, status: 200, length: -1, close: true}, nil},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5, 5\r\n\r\n",
			head{minor: 1, status: 200, length: 5}, nil},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
			head{minor: 1, status: 200, length: 5}, errLength},
		{"a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", head{minor: 1, status: 200, length: -1},
			errLength},
		{"an empty length", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", head{minor: 1, status: 200, length: -1},
			errLength},
		{"lengths beside chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: -1\r\n\r\n",
			head{minor: 1, status: 200, length: -1, chunked: true, close: true}, nil},
		{"an endless length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
			head{minor: 1, status: 200, length: 1<<63 - 1}, nil},
		{"HTTP/2 in words", "HTTP/2 200\r\n\r\n", head{length: -1}, errNotHTTP},
		{"a status of letters", "HTTP/1.1 2OO OK\r\n\r\n", head{minor: 1, length: -1, status: 2}, errNotHTTP},
		{"a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", head{minor: 1, length: -1}, errNotHTTP},
		{"a status of 000", "HTTP/1.1 000 OK\r\n\r\n", head{minor: 1, length: -1}, errNotHTTP},
		{"a NUL", "HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n", head{length: -1}, errNUL},
		{"shoutcast", "ICY 200 OK\r\n\r\n", head{length: -1}, errNotHTTP},
	} {
		h, err := parseHead([]byte(tt.head))
		h.header = nil
		if !reflect.DeepEqual(h, tt.want) || err != tt.err {
			t.Errorf("%s: %+v, %v", tt.name, h, err)
		}
	}
}

func TestHeadersAreReadAsBrowsersDo(t *testing.T) {
	h, err := parseHead([]byte("HTTP/1.1 200 OK\r\n folded onto nothing\r\nno colon here\r\nbad name: 1\r\n: 2\r\n " +
		"folded onto what was dropped\r\n" +
		"Content-Type : text/html;\r\n\tcharset=utf-8\r\nX: \xe6\x97\xa5\r\nset-cookie: a\r\nSet-Cookie: " +
		"b\r\nEmpty:\r\n\r\n"))
	want := http.Header{"Content-Type": {"text/html; charset=utf-8"}, "X": {"\xe6\x97\xa5"}, "Set-Cookie": {"a", "b"},
		"Empty": {""}}
	if err != nil || !reflect.DeepEqual(h.header, want) {
		t.Errorf("%v, %q", err, h.header)
	}
}

// However the bytes arrive, the head ends at the same place.
func TestHeadLengthInPieces(t *testing.T) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\nbody",
		"HTTP/1.1 200 OK\r\n\nbody", "HTTP/1.1 200 OK\n\r\nx"} {
		want := headLength([]byte(s), 0)
		seen := 0
		for i := range len(s) + 1 {
			got := headLength([]byte(s[:i]), seen)
			if i < want && got != -1 || i >= want && got != want {
				t.Fatalf("%q: %d at %d, want %d", s, got, i, want)
			}
			seen = min(i, want-1)
		}
	}
}

// Where net/http reads a head, we read the same of it; and nothing makes us panic.
func FuzzParseHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nA: b\r\n c\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 304\nEtag: \"a\"\n\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n", "<html>", "HTTP/1.1 200 OK\r\n:\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := headLength(b, 0)
		if n < 0 {
			return
		}
		if n > len(b) || headLength(b[:n], 0) != n || n > 1 && headLength(b[:n-1], 0) >= 0 {
			t.Fatalf("the head of %q ends at %d", b, n)
		}
		h, err := parseHead(b[:n])
		if err != nil {
			return
		}
		if h.status < 100 || h.status > 999 || h.length >= 0 && h.chunked {
			t.Fatalf("%+v", h)
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b[:n])), &http.Request{Method: "GET"})
		if err != nil || bytes.Count(b[:n], []byte{'\r'}) != bytes.Count(b[:n], []byte("\r\n")) { // they trim lone CRs
			return
		}
		if theirs.StatusCode != h.status || theirs.ProtoMinor != h.minor {
			t.Fatalf("status %d HTTP/1.%d, net/http reads %d %s", h.status, h.minor, theirs.StatusCode, theirs.Proto)
		}
		if h.status >= 200 && h.status != 204 && h.status != 304 && len(theirs.TransferEncoding) > 0 != h.chunked {
			t.Fatalf("chunked %v, net/http %v", h.chunked, theirs.TransferEncoding)
		}
		if !h.bodiless() && h.length >= 0 && h.length < 1<<62 && theirs.ContentLength != h.length {
			t.Fatalf("length %d, net/http %d", h.length, theirs.ContentLength)
		}
	})
}

func TestChunksInPieces(t *testing.T) {
	for _, tt := range []struct {
		in, payload string
		end         int // where it ends; -1: not; -2: invalid
	}{
		{"5\r\nhello\r\n0\r\n\r\n", "hello", 15},
		{"5\nhello\n0\n\n", "hello", 11},
		{"005;a=\"b\" \r\nhello\r\nA\r\n0123456789\r\n0\r\nX: y\r\nZ: w\r\n\r\nrest", "hello0123456789", 51},
		{"5\r\nhel", "hel", -1},
		{"5\r\nhello\r", "hello", -1},
		{"0\r\n\r\n", "", 5},
		{"", "", -1},
		{"x\r\n", "", -2},
		{"\r\n", "", -2},
		{"-1\r\n", "", -2},
		{"5\r\nhelloX\r\n", "hello", -2},
		{"5\r\nhello\rX", "hello", -2},
		{"fffffffffffffffff\r\n", "", -2},
		{"7fffffffffffffff\r\n", "", -2},
		{strings.Repeat("0", maxChunkLine+9), "", -2},
		{"0\r\n" + strings.Repeat("A: b\r\n", maxTrailer/6+1), "", -2},
		{"1" + strings.Repeat(" ", 20) + "\r\na\r\n0\r\n\r\n", "a", 31},
	} {
		for _, step := range []int{1, 2, 7, len(tt.in) + 1} {
			var c chunks
			var err error
			b := []byte(tt.in)
			for i := 0; i < len(b) && err == nil; {
				i = min(i+step, len(b))
				err = c.follow(b[:i])
			}
			end := -1
			switch {
			case err != nil:
				end = -2
			case c.state == chunksDone:
				end = c.at
			}
			if got := string(c.join(nil, b)); got != tt.payload || end != tt.end {
				t.Errorf("%.40q by %d: %q, %d; want %q, %d", tt.in, step, got, end, tt.payload, tt.end)
			}
		}
	}
}

// Chunking is followed to the same end and payload however it arrives, and where net/http accepts it, to the same
// payload.
func FuzzChunks(f *testing.F) {
	for _, s := range []string{"5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "1;x\r\na\r\n1\r\nb\r\n0\r\nA: b\r\n\r\n",
		"ffffffffffffffff\r\n", "0", "1\r\naX"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		var whole, pieces chunks
		wholeErr := whole.follow(b)
		var err error
		for i := 0; i < len(b) && err == nil; {
			i = min(i+int(step)+1, len(b))
			err = pieces.follow(b[:i])
		}
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("in pieces %v, whole %v", err, wholeErr)
		}
		payload := whole.join(nil, b)
		if !bytes.Equal(payload, pieces.join(nil, b)) || int64(len(payload)) != whole.payload || whole.at > len(b) {
			t.Fatalf("%+v, %+v", whole, pieces)
		}
		if whole.state != chunksDone {
			return
		}
		in := io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
			bytes.NewReader(b))
		if r, err := http.ReadResponse(bufio.NewReader(in), nil); err == nil {
			if theirs, err := io.ReadAll(r.Body); err == nil && !bytes.Equal(theirs, payload) {
				t.Fatalf("%q, net/http reads %q", payload, theirs)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value, date string
		want        time.Duration
	}{
		{"120", "", 2 * time.Minute}, {" 7 ", "", 7 * time.Second}, {"0", "", 0}, {"", "", 0}, {"-5", "", 0},
		{"1.5", "", 0}, {"soon", "", 0},
		{"99999999999999999999999", "", maxRetryAfter}, {"604800", "", maxRetryAfter},
		{"18446744073709551615", "", maxRetryAfter},
		{"Mon, 01 Jan 2024 00:05:00 GMT", "", 5 * time.Minute}, {"Sun, 31 Dec 2023 00:05:00 GMT", "", 0},
		{"Mon, 01 Jan 2034 00:05:00 GMT", "", maxRetryAfter},
		{"Monday, 01-Jan-24 00:00:30 GMT", "", 30 * time.Second}, {"Mon Jan  1 00:00:40 2024", "", 40 * time.Second},
		// their clock is nine hours ahead
		{"Mon, 01 Jan 2024 09:05:00 GMT", "Mon, 01 Jan 2024 09:00:00 GMT", 5 * time.Minute},
	} {
		if got := RetryAfter(tt.value, tt.date, now); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.value, got, tt.want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "")
	f.Add("Mon, 01 Jan 2024 00:05:00 GMT", "Mon, 01 Jan 2024 09:00:00 GMT")
	f.Add("9223372036854775807", "x")
	f.Fuzz(func(t *testing.T, value, date string) {
		if d := RetryAfter(value, date, time.Unix(1e9, 0)); d < 0 || d > maxRetryAfter {
			t.Fatal(d)
		}
	})
}
