package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"henro/messages"
)

// newHTTP2 makes the maker of HTTP/2 connections. It never dials: it is handed connections on which h2 was agreed.
func newHTTP2(o *Options) *http.Transport {
	var only http.Protocols
	only.SetHTTP2(true)
	return &http.Transport{
		Protocols:              &only,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(o.MaxHead),
		HTTP2: &http.HTTP2Config{ // what a server may send ahead of us is memory too
			MaxReceiveBufferPerStream:     unreserved,
			MaxReceiveBufferPerConnection: unreserved,
		},
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(agreedKey{}).(*tls.Conn), nil
		},
	}
}

type agreedKey struct{}

// speakHTTP2 begins HTTP/2 on a connection that agreed to it.
func speakHTTP2(ctx context.Context, t *http.Transport, c *tls.Conn) (*http.ClientConn, error) {
	h2, err := t.NewClientConn(context.WithValue(ctx, agreedKey{}, c), "https", "h2:443")
	if err == nil {
		err = c.SetDeadline(time.Time{}) // its reader always reads; limits are set by contexts
	}
	return h2, err
}

// http2 speaks HTTP/2 for one exchange.
func (x *exchange) http2(ctx context.Context, c *connection) (*http.Response, error) {
	x.last = time.Now()
	within, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(time.Until(x.until()), func() { cancel(errIdle) })
	x.stop = func() bool { cancel(nil); return limit.Stop() }
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { sent.Store(true) }}
	res, err := c.h2.RoundTrip(x.http2Request(httptrace.WithClientTrace(within, trace)))
	if err != nil {
		return nil, x.http2Error(ctx, within, sent.Load(), err)
	}
	x.last = time.Now()
	x.coded = res.Header["Content-Encoding"] != nil
	x.headAt = len(x.wire.b)
	x.wire.b = appendHead(x.wire.b, res)
	x.bodyAt = len(x.wire.b)
	most := x.bodyAt + x.client.o.MaxBody
	if n := res.ContentLength; n >= 0 && n < int64(x.client.o.MaxBody) {
		x.expect = x.bodyAt + int(n) + 1
	}
	body := res.Body
	x.body = func() (whole bool, err error) {
		defer body.Close()
		for {
			limit.Reset(time.Until(x.until()))
			err := x.room(within, most+1)
			n := 0
			if err == nil {
				b := x.wire.b
				n, err = body.Read(b[len(b):min(cap(b), most+1)])
				x.wire.b = b[:len(b)+n]
			}
			if n > 0 {
				x.last = time.Now()
			}
			x.bodyEnd = min(len(x.wire.b), most)
			switch {
			case len(x.wire.b) > most:
				x.cut("length", errTooLarge)
				return false, nil
			case err == nil:
			case err == io.EOF:
				return true, nil
			case ctx.Err() != nil:
				return false, fail(messages.Reason_CANCELED, errCanceled)
			case within.Err() != nil || isTimeout(err):
				x.cut("time", x.lateness())
				return false, nil
			default:
				x.cut("disconnect", err)
				return false, nil
			}
		}
	}
	return res, nil
}

// http2Request says the request of the exchange, whose HTTP/1.1 form is in the wire bytes, in the words of net/http.
func (x *exchange) http2Request(ctx context.Context) *http.Request {
	authority := x.to.authority()
	req := &http.Request{
		Method: x.method(), Proto: "HTTP/2.0", ProtoMajor: 2, Host: authority, Header: make(http.Header, 8),
		// Opaque: not escaped again
		URL: &url.URL{Scheme: "https", Host: authority, Opaque: "//" + authority + x.req.URL.RequestURI()},
	}
	head, body, _ := bytes.Cut(x.wire.b, []byte("\r\n\r\n"))
	if x.req.Post != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(bytes.Clone(body))), int64(len(body))
	}
	_, fields, _ := bytes.Cut(head, []byte("\r\n"))
	for line := range strings.SplitSeq(string(fields), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok && name != "Host" && name != "Content-Length" {
			req.Header[name] = append(req.Header[name], value)
		}
	}
	return req.WithContext(ctx)
}

// http2Error names what ended a visit before the head was there.
func (x *exchange) http2Error(ctx, within context.Context, sent bool, err error) error {
	switch {
	case ctx.Err() != nil:
		return fail(messages.Reason_CANCELED, errCanceled)
	case within.Err() != nil, isTimeout(err):
		return fail(messages.Reason_TIMEOUT, x.lateness())
	}
	switch text := err.Error(); { // net/http keeps its HTTP/2 errors to itself
	case strings.Contains(text, "header list larger"), strings.Contains(text, "COMPRESSION_ERROR"):
		// the latter for one field that is too long
		return fail(messages.Reason_HEADERS_TOO_LARGE, fmt.Errorf("%w: %w", errHeadTooLarge, err))
	case strings.Contains(text, "received from peer"): // one stream reset
		return fail(messages.Reason_CONNECTION_LOST, err)
	case strings.Contains(text, "PROTOCOL_ERROR"), strings.Contains(text, "malformed"):
		return fail(messages.Reason_MALFORMED, err)
	}
	if !sent {
		return fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("%w: %w", errUnsent, err))
	}
	return fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("%w: %w", errStale, err))
}

// appendHead writes the head of an HTTP/2 response as HTTP/1.1 would have: what replays archives reads nothing else.
// Fields are sorted, since their order is lost on the way.
func appendHead(b []byte, res *http.Response) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(res.StatusCode), 10)
	b = append(append(append(b, ' '), http.StatusText(res.StatusCode)...), "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		for _, v := range res.Header[name] {
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}
