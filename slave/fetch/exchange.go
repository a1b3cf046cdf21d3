package fetch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"henro/messages"
)

// exchange is one visit in progress. To colly it is the body of the answer, of which no byte is handed on.
type exchange struct {
	client *Client
	req    Request
	to     target
	resp   *Response

	c    *connection                       // that it uses
	stop func() bool                       // ends what waits for the end of its context, and says whether it waited
	body func() (reusable bool, err error) // reads the body; nil: it was read, or there is none yet

	end  time.Time // the hard end of the visit
	last time.Time // when a byte came last

	waited time.Duration // for memory

	signature []byte // lines of the header, where requests are signed

	wire       *buffer // request, interim responses, head, body: as they went over the wire
	requestEnd int
	headAt     int // where the head of the response starts
	bodyAt     int // where its body starts; 0 until the head is whole
	bodyEnd    int
	expect     int // where the body will end by its Content-Length, so that one buffer is taken for it; 0: unknown
	chunks     chunks
	coded      bool // a content or transfer coding is announced
	chunked    bool // the body comes in chunks
}

// run asks by the connection kept for the host, or by a new one, until the head of the answer is there. A kept
// connection that turns out to be closed is replaced as long as no byte of the request was sent. Once a byte was, the
// host may have seen the request, and Response.Stale tells the caller: a second one sent at once (RFC 9112 9.3.1 allows
// it) would not keep the interval.
func (x *exchange) run(ctx context.Context) (*http.Response, error) {
	var c *connection
	if x.req.Post == nil {
		c = x.client.pool.take(x.to.host)
	}
	for reused := c != nil; ; reused = false {
		if c == nil {
			var err error
			if c, err = x.client.dialer.dial(ctx, &x.to, x.end, x.start); err != nil {
				return nil, err
			}
		} else {
			x.start(time.Now())
		}
		x.resp.IP, x.resp.TLSError, x.resp.Reused = c.peer, c.tlsError, reused
		x.resp.TLSVersion, x.resp.CipherSuite = c.version, c.suite
		if s := x.client.o.Signer; s != nil {
			x.signature = s.Request(x.to.authority(), time.Now())
		}
		x.wire.b = x.appendRequest(x.wire.b[:0], false)
		x.requestEnd = len(x.wire.b)
		if x.req.Permit != nil && !x.req.Permit() {
			c.close()
			return nil, fail(messages.Reason_CANCELED, errNotPermitted)
		}
		x.c = c
		speak := x.http1
		if c.h2 != nil {
			speak = x.http2
		}
		res, err := speak(ctx, c)
		if err == nil {
			return res, nil
		}
		x.over(false)
		if reused && errors.Is(err, errUnsent) {
			c = nil
			continue
		}
		x.resp.Stale = reused && errors.Is(err, errStale)
		return nil, err
	}
}

// over ends the use of the connection, which is kept if it can carry another exchange.
func (x *exchange) over(reusable bool) {
	if x.stop() && reusable {
		x.client.pool.put(x.c)
	} else {
		x.c.close()
	}
}

// Read takes all of the body that comes into the wire bytes.
func (x *exchange) Read([]byte) (int, error) {
	reusable, err := x.body()
	x.body = nil
	x.over(reusable)
	return 0, cmp.Or(err, io.EOF)
}

// Close leaves out a body that was not read.
func (x *exchange) Close() error {
	if x.body != nil {
		x.cut("unspecified", errAborted)
		x.bodyEnd = x.bodyAt
		x.over(false)
	}
	return nil
}

func (x *exchange) start(at time.Time) { x.resp.Started, x.last = at, at }

// until is when waiting for the next byte ends.
func (x *exchange) until() time.Time {
	idle := x.last.Add(x.client.o.IdleTimeout)
	if x.end.Before(idle) {
		return x.end
	}
	return idle
}

// lateness says which limit was reached.
func (x *exchange) lateness() error {
	if time.Now().Before(x.end) {
		return errIdle
	}
	return errTotal
}

// cut marks the response as incomplete.
func (x *exchange) cut(how string, why error) {
	x.resp.Truncated, x.resp.Err = how, why
}

// read appends what comes to the wire bytes, up to most bytes of them in all. The deadline of the connection is moved
// only when it is reached although bytes came since: once a fetch instead of once a read.
func (x *exchange) read(ctx context.Context, c *connection, most int) error {
	if err := x.room(ctx, most); err != nil {
		return err
	}
	b := x.wire.b
	for {
		n, err := c.Read(b[len(b):min(cap(b), most)])
		if n > 0 {
			x.last = time.Now()
			x.wire.b = b[:len(b)+n]
			return nil // an error, if there was one, comes again
		}
		if err == nil {
			continue
		}
		if !isTimeout(err) || ctx.Err() != nil || !time.Now().Before(x.until()) {
			return err
		}
		if err := c.SetDeadline(x.until()); err != nil {
			return err
		}
		if ctx.Err() != nil { // ended between the look and the new deadline
			return ctx.Err()
		}
	}
}

// room makes room for at least one byte more, up to most in all. What goes beyond unreserved is taken from the budget
// in steps. For a chunked body twice as much is reserved, so that there is always room for its payload too.
func (x *exchange) room(ctx context.Context, most int) error {
	n, have := len(x.wire.b), cap(x.wire.b)
	if n < have {
		return nil
	}
	size := 4 * have
	if x.expect > n {
		size = x.expect
	}
	if size = min(size, unreserved); size <= have {
		grow := step
		if x.wire.large() && x.wire.region == nil { // on the heap, where what is there is copied
			grow = have
		}
		size = min(have+grow, most)
		more := int64(size)
		if x.wire.large() {
			more -= int64(have)
		}
		if x.chunked {
			more *= 2
		}
		if err := x.reserve(ctx, more, true); err != nil {
			return err
		}
	}
	x.wire = x.client.memory.enlarge(x.wire, size)
	return nil
}

// reserve takes from the budget, waiting for it until the visit must end.
func (x *exchange) reserve(ctx context.Context, n int64, wait bool) error {
	ctx, cancel := context.WithDeadline(ctx, x.end)
	defer cancel()
	begun := time.Now()
	err := x.client.memory.reserve(ctx, &x.resp.share, n, wait)
	now := time.Now()
	x.waited += now.Sub(begun)
	if err == nil {
		x.last = now // the wait was ours, not the host's
	}
	return err
}

// finish makes the response out of the wire bytes, whatever came of the visit.
func (x *exchange) finish(ctx context.Context, err error) {
	r := x.resp
	if err != nil || r.Truncated == "time" { // the connection was occupied until now
		x.last = time.Now()
	}
	r.Took = max(0, x.last.Sub(r.Started)-x.waited)
	r.share.wire = x.wire
	if err != nil {
		r.Reason, r.Err = reasonOf(err), err
		r.Status, r.Header, r.Truncated, r.Proto = 0, nil, "", ""
		if r.Started.IsZero() {
			r.Started, r.Took = time.Now(), 0
		}
		x.client.memory.giveBack(x.wire)
		r.share.wire = nil
		r.share.shrink()
		return
	}
	b := x.wire.b
	r.RequestBytes = b[:x.requestEnd:x.requestEnd]
	if len(x.req.Fields) > 0 || x.client.dialer.proxy.forwards(&x.to) {
		r.RequestBytes = x.appendRequest(nil, true)
	}
	r.ResponseHead = b[x.headAt:x.bodyAt:x.bodyAt]
	r.RawBody = b[x.bodyAt:x.bodyEnd:x.bodyEnd]
	r.RetryAfter = RetryAfter(r.Header.Get("Retry-After"), r.Header.Get("Date"), time.Now())
	x.payload()
	x.decode(ctx)
	r.share.shrink()
	r.share.keepSafe(r)
}

// payload frees the body from chunked framing. One chunk, as small pages come, is a slice of the wire bytes.
func (x *exchange) payload() {
	r := x.resp
	switch {
	case x.chunks.count == 0 && x.chunks.at == 0:
		r.Payload = r.RawBody
	case x.chunks.count == 0:
		r.Payload = r.RawBody[:0:0]
	case x.chunks.count == 1:
		first := x.chunks.first
		end := first + int(x.chunks.payload)
		r.Payload = r.RawBody[first:end:end]
	default:
		r.share.payload = x.client.memory.lend(int(x.chunks.payload)) // reserved with what it is made of
		r.share.payload.b = x.chunks.join(r.share.payload.b, r.RawBody)
		r.Payload = r.share.payload.b
	}
}
