package fetch

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// encode applies one content coding; "raw" is deflate as half of the web sends it.
func encode(t testing.TB, coding string, b []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw":
		w, _ = flate.NewWriter(&out, 6)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	default:
		return b
	}
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// text is as hard to compress as a page.
func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "<p>line %d of %x</p>\n", i, crc32.ChecksumIEEE([]byte{byte(i), byte(i >> 8), byte(i >> 16)}))
	}
	return b.Bytes()[:n]
}

func TestDecoding(t *testing.T) {
	page := text(100_000)
	gz, br, zst := encode(t, "gzip", page), encode(t, "br", page), encode(t, "zstd", page)
	for _, tt := range []struct {
		name, coding string
		payload      []byte
		body         []byte
		err          bool
	}{
		{"gzip", "gzip", gz, page, false},
		{"x-gzip in capitals", "X-GZIP", gz, page, false},
		{"brotli", "br", br, page, false},
		{"zstd", "zstd", zst, page, false},
		{"deflate", "deflate", encode(t, "deflate", page), page, false},
		{"deflate without its header", "deflate", encode(t, "raw", page), page, false},
		{"two layers", "gzip, br", encode(t, "br", gz), page, false},
		{"identity", "identity", page, page, false},
		{"members of gzip", "gzip", append(bytes.Clone(gz), gz...), append(bytes.Clone(page), page...), false},
		{"rubbish behind gzip", "gzip", append(bytes.Clone(gz), "rubbish is here"...), page, false},
		{"not encoded at all", "gzip", page, page, true},
		{"half of it", "gzip", gz[:len(gz)/2], nil, true},
		{"half of brotli", "br", br[:len(br)/2], nil, true},
		{"half a block of zstd", "zstd", zst[:len(zst)/2], nil, true},
		{"an unknown coding", "UTF-8", page, page, true},
		{"ten layers", "gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip,gzip", gz, nil, true},
		{"nothing", "gzip", nil, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, piped(func(c net.Conn, _ string) {
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", tt.coding,
					len(tt.payload), tt.payload)
			}))
			for range 2 { // the second time with decompressors used before
				r := visit(t, c, "http://a.example/")
				if r.Status != 200 || !bytes.Equal(r.RawBody, tt.payload) || !bytes.Equal(r.Payload, tt.payload) {
					t.Fatal("the payload is not what was sent:", r, r.Err)
				}
				if (r.BodyErr != nil) != tt.err {
					t.Error("BodyErr", r.BodyErr)
				}
				if strings.HasPrefix(tt.name, "half of") {
					if len(r.Body) < 1000 || !bytes.HasPrefix(page, r.Body) {
						t.Error("not what could be had:", len(r.Body))
					}
				} else if !bytes.Equal(r.Body, tt.body) {
					t.Errorf("body of %d bytes, want %d", len(r.Body), len(tt.body))
				}
				r.Release()
			}
		})
	}
}

func TestTransferCodingIsDecodedToo(t *testing.T) {
	page := text(5000)
	gz := encode(t, "gzip", page)
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(gz),
		gz)
	r := visit(t, newClient(t, piped(says(answer))), "http://a.example/")
	if !bytes.Equal(r.Payload, gz) || !bytes.Equal(r.Body, page) {
		t.Error(r, len(r.Payload), len(r.Body))
	}
}

// bomb is size bytes of gzip that decode to a thousand times as much: one flushed block again and again, since a
// flushed block needs nothing before it.
func bomb(size int) []byte {
	var one bytes.Buffer
	w, _ := flate.NewWriter(&one, 9)
	w.Write(make([]byte, 1<<20))
	w.Flush()
	first := one.Len()
	w.Write(make([]byte, 1<<20))
	w.Flush()
	block := one.Bytes()[first:]
	out := append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"), one.Bytes()[:first]...)
	for len(out) < size {
		out = append(out, block...)
	}
	return out
}

func TestBombs(t *testing.T) {
	gz := bomb(10 << 20)
	for _, tt := range []struct {
		name, coding string
		payload      []byte
	}{
		{"10 MB of gzip for 10 GB", "gzip", gz},
		{"brotli", "br", encode(t, "br", make([]byte, 8<<20))},
		{"zstd", "zstd", encode(t, "zstd", make([]byte, 8<<20))},
		{"gzip in brotli", "gzip, br", encode(t, "br", gz[:1<<20])},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, piped(func(c net.Conn, _ string) {
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n", tt.coding,
					len(tt.payload))
				c.Write(tt.payload)
			}))
			r := visit(t, c, "http://a.example/")
			if r.Status != 200 || !bytes.Equal(r.RawBody, tt.payload) || r.Truncated != "" {
				t.Fatal("the archive does not get what came:", r, r.Err)
			}
			if r.BodyErr != errRatio || len(r.Body) < ratioFrom || len(r.Body) > 4<<20 {
				t.Error(r.BodyErr, len(r.Body))
			}
			r.Release()
			if c.Reserved() != 0 {
				t.Error(c.Reserved(), "bytes still reserved")
			}
		})
	}
}

func TestDecodedSizeIsBounded(t *testing.T) {
	page := text(3 << 20)
	gz := encode(t, "gzip", page)
	for _, limit := range []int{1000, 16 << 10, 64 << 10, unreserved, 1 << 20, 3<<20 - 1, 3 << 20} {
		c := newClient(t, func(o *Options) {
			o.MaxDecoded = limit
			piped(func(c net.Conn, _ string) {
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(gz), gz)
			})(o)
		})
		r := visit(t, c, "http://a.example/")
		if !bytes.Equal(r.Body, page[:limit]) || (r.BodyErr == nil) != (limit == len(page)) {
			t.Error(limit, len(r.Body), r.BodyErr)
		}
		r.Release()
	}
}

// Whatever comes, Body is bounded, decoding ends, and what was encoded by a known coding decodes to itself.
func FuzzDecode(f *testing.F) {
	codings := []string{"gzip", "deflate", "br", "zstd", "raw", "gzip, br", "", "x"}
	for i, c := range codings[:5] {
		f.Add(encode(f, c, []byte("hello hello hello hello")), uint8(i))
		f.Add(encode(f, c, make([]byte, 1<<16)), uint8(i))
	}
	o := DefaultOptions()
	o.MaxDecoded = 1 << 20
	c := &Client{o: o, memory: newMemory(&o), decoders: newDecoders()}
	run := func(payload []byte, coding string) *Response {
		x := &exchange{client: c, coded: true}
		x.resp = &Response{Header: http.Header{"Content-Encoding": {coding}}, Payload: payload,
			share: share{memory: c.memory}}
		x.end = time.Now().Add(time.Hour)
		x.decode(context.Background())
		return x.resp
	}
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		coding := codings[int(n)%len(codings)]
		r := run(b, coding)
		if len(r.Body) > max(o.MaxDecoded, len(b)) {
			t.Fatal(len(r.Body))
		}
		r.Release()
		if coding == "gzip" || coding == "br" || coding == "zstd" || coding == "deflate" || coding == "raw" {
			name := strings.Replace(coding, "raw", "deflate", 1)
			r := run(encode(t, coding, b), name)
			if coding != "raw" && (!bytes.Equal(r.Body, b) || r.BodyErr != nil) && len(b) > 0 {
				t.Fatalf("%s of %q decodes to %q: %v", coding, b, r.Body, r.BodyErr)
			}
			r.Release()
		}
		if c.Reserved() != 0 {
			t.Fatal(c.Reserved(), "bytes still reserved")
		}
	})
}
