package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	ratioFrom   = 1 << 20 // decoded bytes from which the ratio is looked at
	maxCodings  = 3       // layers of coding; no honest server has more
	maxZstdSize = 8 << 20 // window of zstd on the web (RFC 9659)
)

// decoders lends decompressors, which are costly to make: 40 kB and more each.
type decoders struct {
	gzip, zlib, flate, brotli, zstd sync.Pool
	// turns for those whose window may be 16 MiB, as many at once as there may be
	wide chan struct{}
}

// wideTurns is how many brotli and zstd streams are decoded at once for each processor: more of them would gain
// nothing, and each may take a window of 16 MiB.
const wideTurns = 2

func newDecoders() decoders {
	return decoders{wide: make(chan struct{}, wideTurns*runtime.GOMAXPROCS(0))}
}

// layer opens one coding over r, and returns how to give the decompressor back.
func (d *decoders) layer(coding string, r *bytes.Reader, under io.Reader) (io.Reader, func(), error) {
	switch coding {
	case "gzip", "x-gzip":
		z, _ := d.gzip.Get().(*gzip.Reader)
		if z == nil {
			z = new(gzip.Reader)
		}
		if err := z.Reset(under); err != nil {
			return nil, nil, err
		}
		return z, func() { d.gzip.Put(z) }, nil
	case "deflate":
		if under == io.Reader(r) && !zlibHeader(r) { // half of the web sends it bare
			return lendResetter(&d.flate, under, func() io.Reader { return flate.NewReader(under) })
		}
		return lendResetter(&d.zlib, under, func() io.Reader { z, _ := zlib.NewReader(under); return z })
	case "br":
		z, _ := d.brotli.Get().(*brotli.Reader)
		if z == nil {
			z = new(brotli.Reader)
		}
		if err := z.Reset(steps{under}); err != nil {
			return nil, nil, err
		}
		return z, func() { d.brotli.Put(z) }, nil
	case "zstd":
		z, _ := d.zstd.Get().(*zstd.Decoder)
		if z == nil {
			var err error
			z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxZstdSize))
			if err != nil {
				return nil, nil, err
			}
		}
		if err := z.Reset(under); err != nil {
			return nil, nil, err
		}
		return z, func() { z.Reset(nil); d.zstd.Put(z) }, nil
	}
	return nil, nil, fmt.Errorf("%w %q", errCoding, coding)
}

// steps hands on 4 kB at a time. The brotli reader takes 32 kB ahead, and MaxRatio counts all that was taken, so that a
// bomb was unpacked to 7 MB before it was seen; now to 1.6.
type steps struct{ io.Reader }

func (s steps) Read(b []byte) (int, error) { return s.Reader.Read(b[:min(len(b), 4<<10)]) }

// lendResetter takes a flate or zlib reader from its pool.
func lendResetter(p *sync.Pool, under io.Reader, fresh func() io.Reader) (io.Reader, func(), error) {
	z, _ := p.Get().(io.Reader)
	if z == nil {
		if z = fresh(); z == nil {
			return nil, nil, zlib.ErrHeader
		}
	} else if err := z.(flate.Resetter).Reset(under, nil); err != nil {
		return nil, nil, err
	}
	return z, func() { p.Put(z) }, nil
}

// zlibHeader looks whether a stream begins as RFC 1950 says.
func zlibHeader(r *bytes.Reader) bool {
	var b [2]byte
	n, _ := r.ReadAt(b[:], r.Size()-int64(r.Len()))
	return n == 2 && b[0]&0x0f == 8 && (uint(b[0])<<8|uint(b[1]))%31 == 0
}

// decode makes Body of Payload.
func (x *exchange) decode(ctx context.Context) {
	r := x.resp
	r.Body = r.Payload
	if !x.coded || len(r.Payload) == 0 {
		return
	}
	codings := codingsOf(r.Header["Content-Encoding"])
	for _, c := range codingsOf(r.Header["Transfer-Encoding"]) {
		if c != "chunked" {
			codings = append(codings, c)
		}
	}
	if len(codings) == 0 {
		return
	}
	m := x.client.memory
	var out *buffer
	var err error
	for granted := false; ; granted = true {
		out, err = x.unpack(ctx, codings, granted)
		if !errors.Is(err, errFull) || granted {
			break
		}
		if x.reserve(ctx, int64(x.client.o.MaxDecoded), true) != nil {
			break // it does not become free in time: what there is must do
		}
		m.giveBack(out)
	}
	if err != nil && len(out.b) == 0 {
		m.giveBack(out)
		r.BodyErr = err
		// else it was never encoded, whatever the header says
		if !strings.HasPrefix(http.DetectContentType(r.Payload), "text/") {
			r.Body = nil
		}
		return
	}
	r.share.body, r.Body, r.BodyErr = out, out.b[:len(out.b):len(out.b)], err
}

// unpack decodes the payload, without waiting for memory: a waiting fetch holds no decompressor. Granted says
// that there is enough.
func (x *exchange) unpack(ctx context.Context, codings []string, granted bool) (*buffer, error) {
	m, o := x.client.memory, &x.client.o
	grow := func(b *buffer) (*buffer, error) {
		have := cap(b.b)
		size := min(4*have, unreserved)
		if size <= have {
			if size = min(have+step, o.MaxDecoded+1); b.large() && b.region == nil {
				size = min(2*have, o.MaxDecoded+1)
			}
			more := int64(size)
			if b.large() {
				more -= int64(have)
			}
			if !granted {
				if err := x.reserve(ctx, more, false); err != nil {
					return b, err
				}
			}
		}
		return m.enlarge(b, size), nil
	}
	return x.client.decoders.run(m.lend(min(4*len(x.resp.Payload), unreserved)), grow, x.resp.Payload, codings, o)
}

// codingsOf lists codings in the order in which they were applied.
func codingsOf(values []string) (codings []string) {
	for _, v := range values {
		for c := range strings.SplitSeq(v, ",") {
			if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
				codings = append(codings, c)
			}
		}
	}
	return codings
}

// run decodes payload into out, which grow makes larger. It stops at the size and the ratio allowed, and keeps what
// came before an error. The decompressors are other people's and fed by strangers: their panics end here.
func (d *decoders) run(out *buffer, grow func(*buffer) (*buffer, error), payload []byte, codings []string,
	o *Options) (got *buffer, err error) {
	got = out
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDecoder, p)
		}
	}()
	if len(codings) > maxCodings {
		return got, fmt.Errorf("%w: %d layers", errCoding, len(codings))
	}
	if slices.Contains(codings, "br") || slices.Contains(codings, "zstd") {
		d.wide <- struct{}{}
		defer func() { <-d.wide }()
	}
	source := bytes.NewReader(payload)
	var r io.Reader = source
	var giveBack []func()
	for i := len(codings) - 1; i >= 0; i-- {
		z, done, err := d.layer(codings[i], source, r)
		if err != nil {
			return got, err
		}
		r = z
		giveBack = append(giveBack, done)
	}
	for {
		b := got.b
		if len(b) == cap(b) {
			if got, err = grow(got); err != nil {
				return got, err
			}
			b = got.b
		}
		n, err := r.Read(b[len(b):min(cap(b), o.MaxDecoded+1)])
		got.b = b[:len(b)+n]
		used := len(payload) - source.Len()
		switch {
		case len(got.b) > o.MaxDecoded:
			got.b = got.b[:o.MaxDecoded]
			return got, errDecoded
		case len(got.b) > ratioFrom && len(got.b)/o.MaxRatio > used+4<<10:
			return got, errRatio
		case err == io.EOF, err == gzip.ErrHeader && len(got.b) > 0: // rubbish behind a whole gzip member
			for _, f := range giveBack {
				f()
			}
			return got, nil
		case err != nil:
			return got, err
		}
	}
}
