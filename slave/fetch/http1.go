package fetch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/net/http/httpguts"

	"henro/messages"
)

// maxInterim bounds the 1xx responses before the one that counts.
const maxInterim = 16

// encodings are the content codings that Body can be freed from.
const encodings = "gzip, deflate, br, zstd"

// standing are the header lines that every request has, written once.
func standing(o *Options) []byte {
	b := fmt.Appendf(nil, "User-Agent: %s\r\nAccept: %s\r\nAccept-Encoding: %s\r\n", o.UserAgent, o.Accept, encodings)
	names := make([]string, 0, len(o.Header))
	for name := range o.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "User-Agent", "Accept", "Accept-Encoding", "Connection", "Transfer-Encoding", "Content-Length",
			"If-None-Match", "If-Modified-Since":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range o.Header[name] {
			b = fmt.Appendf(b, "%s: %s\r\n", http.CanonicalHeaderKey(name), v)
		}
	}
	return b
}

// appendRequest writes the request of an exchange, as it is sent or as it is recorded.
func (x *exchange) appendRequest(b []byte, recorded bool) []byte {
	proxied := !recorded && x.client.dialer.proxy.forwards(&x.to)
	b = append(append(b, x.method()...), ' ')
	if proxied {
		b = append(append(b, "http://"...), x.to.authority()...)
	}
	b = append(b, x.req.URL.RequestURI()...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, x.to.authority()...)
	b = append(b, "\r\n"...)
	b = append(append(b, x.client.standing...), x.signature...)
	if v := x.req.ETag; v != "" && httpguts.ValidHeaderFieldValue(v) {
		b = append(append(append(b, "If-None-Match: "...), v...), "\r\n"...)
	}
	if v := x.req.LastModified; v != "" && httpguts.ValidHeaderFieldValue(v) {
		b = append(append(append(b, "If-Modified-Since: "...), v...), "\r\n"...)
	}
	for _, f := range x.req.Fields {
		value := f.Value
		if recorded {
			value = Redacted
		}
		b = fmt.Appendf(b, "%s: %s\r\n", f.Name, value)
	}
	if proxied {
		b = append(b, x.client.dialer.proxy.authorization()...)
	}
	if p := x.req.Post; p != nil {
		if p.ContentType != "" {
			b = append(append(append(b, "Content-Type: "...), p.ContentType...), "\r\n"...)
		}
		return append(fmt.Appendf(b, "Content-Length: %d\r\n\r\n", len(p.Body)), p.Body...)
	}
	return append(b, "\r\n"...)
}

func (x *exchange) method() string {
	if x.req.Post != nil {
		return http.MethodPost
	}
	return http.MethodGet
}

// http1 speaks HTTP/1.1 for one exchange.
func (x *exchange) http1(ctx context.Context, c *connection) (*http.Response, error) {
	x.last = time.Now()
	err := c.SetDeadline(x.until())
	x.stop = context.AfterFunc(ctx, func() { c.SetDeadline(aLongTimeAgo) })
	if err != nil {
		return nil, fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("%w: %w", errUnsent, err))
	}
	n, sendErr := c.Write(x.wire.b)
	if n == 0 && sendErr != nil && x.resp.Reused {
		return nil, fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("%w: %w", errUnsent, sendErr))
	}
	// A server that refuses early may have answered although not all could be sent.
	h, err := x.readHead(ctx, c)
	if err != nil {
		return nil, err
	}
	if h.status == http.StatusProxyAuthRequired && x.client.dialer.proxy.forwards(&x.to) {
		return nil, fail(messages.Reason_CONNECT_FAILED, errProxyLogin)
	}
	x.body = func() (bool, error) {
		whole, err := x.readBody(ctx, c, &h)
		return whole && !h.close && sendErr == nil, err
	}
	return &http.Response{StatusCode: h.status, Header: h.header, Proto: "HTTP/1." + strconv.Itoa(h.minor)}, nil
}

// readHead reads up to the end of the head of the final response; interim ones are dropped.
func (x *exchange) readHead(ctx context.Context, c *connection) (head, error) {
	start := len(x.wire.b) // where bytes of the response start
	x.headAt = start
	seen := 0 // bytes of the current head searched for its end
	for interim := 0; ; {
		b := x.wire.b[x.headAt:]
		// an empty line too many after the last response
		for seen == 0 && len(b) > 0 && (b[0] == '\r' || b[0] == '\n') {
			b = b[1:]
			x.headAt++
		}
		if !looksHTTP(b) {
			return head{}, fail(messages.Reason_MALFORMED, errNotHTTP)
		}
		n := headLength(b, seen)
		if n < 0 || x.headAt-start+n > x.client.o.MaxHead {
			if len(x.wire.b)-start > x.client.o.MaxHead {
				return head{}, fail(messages.Reason_HEADERS_TOO_LARGE, errHeadTooLarge)
			}
			seen = len(b)
			if err := x.read(ctx, c, start+x.client.o.MaxHead+1); err != nil {
				return head{}, x.headError(ctx, err, len(x.wire.b) == start)
			}
			continue
		}
		h, err := parseHead(b[:n])
		switch {
		case err != nil:
			return h, fail(messages.Reason_MALFORMED, err)
		case h.status >= 200:
			x.bodyAt = x.headAt + n
			return h, nil
		case h.status == 101:
			return h, fail(messages.Reason_MALFORMED, errUpgrade)
		}
		if interim++; interim > maxInterim {
			return h, fail(messages.Reason_MALFORMED, errInterim)
		}
		x.headAt += n
		seen = 0
	}
}

// headError names what ended a visit before the head was there.
func (x *exchange) headError(ctx context.Context, err error, nothing bool) error {
	switch {
	case ctx.Err() != nil:
		return fail(messages.Reason_CANCELED, errCanceled)
	case isTimeout(err):
		return fail(messages.Reason_TIMEOUT, x.lateness())
	case nothing:
		return fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("%w: %w", errStale, err))
	}
	return fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("in the response head: %w", err))
}

// readBody reads the body as the head frames it. It reports whether it came whole, with nothing behind it; what else
// ended it goes into Truncated. The only error is a context that ended.
func (x *exchange) readBody(ctx context.Context, c *connection, h *head) (whole bool, err error) {
	most := int64(x.client.o.MaxBody)
	want := most // bytes of body to wait for
	switch {
	case h.bodiless():
		want = 0
	case h.chunked:
	case h.length >= 0:
		want = min(h.length, most)
	}
	toClose := !h.bodiless() && !h.chunked && h.length < 0
	x.chunked = h.chunked
	x.coded = h.header["Content-Encoding"] != nil || len(h.header["Transfer-Encoding"]) > 0
	if want > 0 && !h.chunked && !toClose {
		x.expect = x.bodyAt + int(want) + 1
	}
	for {
		body := x.wire.b[x.bodyAt:]
		if h.chunked && want > 0 {
			if err := x.chunks.follow(body[:min(int64(len(body)), most)]); err != nil {
				x.cut("disconnect", err)
				x.bodyEnd = x.bodyAt + min(len(body), int(most))
				return false, nil
			}
			if x.chunks.state == chunksDone {
				x.bodyEnd = x.bodyAt + x.chunks.at
				return x.bodyEnd == len(x.wire.b), nil
			}
		} else if !toClose && int64(len(body)) >= want {
			x.bodyEnd = x.bodyAt + int(want)
			if h.length > most && !h.bodiless() {
				x.cut("length", errTooLarge)
				return false, nil
			}
			return int64(len(body)) == want, nil
		}
		if (toClose || h.chunked) && int64(len(body)) > most {
			x.bodyEnd = x.bodyAt + int(most)
			x.cut("length", errTooLarge)
			return false, nil
		}
		if err := x.read(ctx, c, x.bodyAt+int(want)+1); err != nil {
			x.bodyEnd = len(x.wire.b)
			switch {
			case ctx.Err() != nil:
				return false, fail(messages.Reason_CANCELED, errCanceled)
			case toClose && isEnd(err):
				return true, nil
			case isTimeout(err):
				x.cut("time", x.lateness())
			case isEnd(err):
				x.cut("disconnect", errShort)
			default:
				x.cut("disconnect", err)
			}
			return false, nil
		}
	}
}
