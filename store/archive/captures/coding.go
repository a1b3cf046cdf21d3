package captures

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// MaxCodings bounds the layers of coding taken off.
const MaxCodings = 3

// Uncoded is the payload without its content coding.
func (c *Capture) Uncoded() (io.Reader, error) {
	return Uncoded(c.Body, c.Header.Get("Content-Encoding"))
}

// Uncoded takes the content codings off a body. A body that is not coded as its head says is given as it is: browsers
// are not so kind, but the host cannot be asked again.
func Uncoded(body io.Reader, codings string) (io.Reader, error) {
	names := Codings(codings)
	if len(names) > MaxCodings {
		return nil, fmt.Errorf("content coding %q has too many layers", codings)
	}
	for i := len(names) - 1; i >= 0; i-- {
		in := bufio.NewReader(body)
		begin, _ := in.Peek(4)
		body = in
		switch names[i] {
		case "gzip", "x-gzip":
			if len(begin) > 1 && begin[0] == 0x1f && begin[1] == 0x8b {
				z, err := gzip.NewReader(in)
				if err != nil {
					return nil, err
				}
				body = z
			}
		case "deflate":
			if len(begin) > 1 && begin[0]&0x0f == 8 && (uint(begin[0])<<8|uint(begin[1]))%31 == 0 {
				z, err := zlib.NewReader(in)
				if err != nil {
					return nil, err
				}
				body = z
			} else if len(begin) > 0 { // half of the web sends it bare
				body = flate.NewReader(in)
			}
		case "br":
			body = brotli.NewReader(in)
		case "zstd":
			z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
			if err != nil {
				return nil, err
			}
			body = z
		default:
			return nil, fmt.Errorf("content coding %q is unknown", names[i])
		}
	}
	return body, nil
}

// Codings are the names of content codings, at most one more than Uncoded takes off.
func Codings(codings string) (names []string) {
	for name := range strings.SplitSeq(codings, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "identity" {
			if names = append(names, name); len(names) > MaxCodings {
				break
			}
		}
	}
	return names
}
