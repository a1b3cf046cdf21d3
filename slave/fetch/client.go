package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"henro/messages"
	"henro/messages/posted"
	"henro/messages/weburl"
)

// Client fetches. It is safe for use by any number of goroutines; connections, names and memory are shared among them.
type Client struct {
	o          Options
	standing   []byte
	collectors sync.Pool // as many as there are fetches in flight
	dialer     *dialer
	pool       *pool
	memory     *memory
	decoders   decoders
	closed     atomic.Bool
}

// Request is one URL to visit, with the validators of the last capture if there is one.
type Request struct {
	URL          weburl.URL
	ETag         string
	LastModified string
	// Post is what is sent by POST, over a connection of its own, so that it is sent once; nil: the method is GET. Its
	// URL is not looked at.
	Post *posted.Request
	// Fields are sent behind the usual ones.
	Fields []Field
	// Permit, if set, is asked right before the request is written, after all that may take time: looking up,
	// connecting, TLS, and a sleep of the machine in the middle of it. If it says no, nothing is written and the reason
	// is CANCELED.
	Permit func() bool
	// Served decides who gets memory for a large body first while there is too little: the request with the least.
	Served int64
}

// Field is a field of a request whose value is a secret: Response.RequestBytes has Redacted in its place.
type Field struct{ Name, Value string }

// Redacted stands in records for secrets, which only the host shall read.
const Redacted = "redacted"

// Response is what came of one visit. The byte slices live until Release, share their memory, and are not to be written
// to.
type Response struct {
	URL weburl.URL
	// Status is the HTTP status; 0 if Reason says why there is no response. A 3xx is a response like any other.
	Status int
	// Reason says why there is no response. A response whose head arrived is one, whatever became of its body (see
	// Truncated), unless the fetch was cancelled.
	Reason messages.Reason
	// Err is what went wrong, in words for people; nil if nothing did.
	Err error
	// Truncated is the WARC-Truncated of a body that is not whole: "length" (MaxBody), "time" (a timeout), "disconnect"
	// (closed, reset, or framing that cannot be) or "".
	Truncated string

	// IP is the far end; zero if unknown.
	IP netip.AddrPort
	// Proto is "HTTP/1.1", "HTTP/1.0" or "HTTP/2.0". With the last, RequestBytes and ResponseHead are what HTTP/1.1
	// would have it: fields sorted by name, and RawBody is the data of the DATA frames.
	Proto string
	// Header holds the fields of the head by canonical name.
	Header http.Header
	// RequestBytes is the request as it was sent, but for the values of Request.Fields and what is sent to a proxy.
	RequestBytes []byte
	// ResponseHead is the head as it came, empty line included; interim (1xx) responses are left out.
	ResponseHead []byte
	// RawBody is what came after the head, transfer and content coding intact: ResponseHead + RawBody is the block of a
	// WARC record.
	RawBody []byte
	// Payload is RawBody freed of chunked framing, content coding intact: what payload digests are made of.
	Payload []byte
	// Body is Payload freed of content coding, for links and fingerprints.
	Body []byte
	// BodyErr says why Body is not all that Payload would decode to: broken, unknown or too much. Body is then what
	// could be had.
	BodyErr error

	// Started is when this visit first cost the host something: the start of the connect, or of the request on a kept
	// connection.
	Started time.Time
	// Took is the time from Started to the last byte, or to giving up, without waits for memory: e of equation (9).
	Took time.Duration
	// RetryAfter is what the server asked for, at most a day; 0 if nothing.
	RetryAfter time.Duration
	// TLSError is what is wrong with the certificate; "" if nothing, or no TLS.
	TLSError string
	// TLSVersion is "TLS 1.3" and its like, CipherSuite the name that IANA has for it; "" if no TLS.
	TLSVersion, CipherSuite string
	// Reused: a kept connection was used.
	Reused bool
	// Stale: a kept connection ended after the request was sent, before a byte of the answer came. The host
	// may have seen the request: one more comes after its interval, and over a new connection.
	Stale bool

	share share
}

// Release gives the memory of a response back: call it when the bytes are archived and scanned. All byte slices are
// void then; Header and the rest stay. A large Response that is not released keeps its share of Options.Memory until it
// is garbage-collected, and its slices are void from then on.
func (r *Response) Release() {
	r.share.release()
	r.RequestBytes, r.ResponseHead, r.RawBody, r.Payload, r.Body = nil, nil, nil, nil, nil
}

// Held is how many bytes the response holds until Release, beside its share of Options.Memory.
func (r *Response) Held() (n int) {
	for _, b := range []*buffer{r.share.wire, r.share.payload, r.share.body} {
		if b != nil && !b.large() {
			n += cap(b.b)
		}
	}
	return n
}

// New makes a client. Close it when done.
func New(o Options) (*Client, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.orDefaults()
	c := &Client{o: o, standing: standing(&o), memory: newMemory(&o), pool: newPool(&o), dialer: newDialer(&o),
		decoders: newDecoders()}
	c.collectors.New = func() any { return newCollector(&c.o) }
	return c, nil
}

// Fetch visits one URL and returns when all that is to come has come. It never returns nil and never fails otherwise
// than by Reason. It keeps no pace: that no two requests to one host overlap or come too soon is the caller's part.
func (c *Client) Fetch(ctx context.Context, req Request) *Response {
	r := &Response{URL: req.URL, share: share{memory: c.memory, served: req.Served}}
	x := &exchange{client: c, req: req, resp: r, end: time.Now().Add(c.o.TotalTimeout), wire: c.memory.lend(0)}
	var err error
	switch {
	case req.URL.IsZero():
		err = fail(messages.Reason_MALFORMED, errNoURL)
	case c.closed.Load():
		err = fail(messages.Reason_CANCELED, errClosed)
	case ctx.Err() != nil:
		err = fail(messages.Reason_CANCELED, errCanceled)
	default:
		x.to = targetOf(req.URL)
		c.collectors.Get().(*collector).visit(ctx, x)
		return r
	}
	x.finish(ctx, err)
	return r
}

// Forget closes the connections kept for a host (weburl's Host), since nothing more will be asked of it soon.
func (c *Client) Forget(host string) {
	for kept := c.pool.remove(host); kept != nil; kept = c.pool.remove(host) {
		kept.close()
	}
}

// Rests says that a host is asked nothing for so long. A connection that would not be kept until then is closed now.
func (c *Client) Rests(host string, d time.Duration) {
	if d >= c.o.KeepIdle {
		c.Forget(host)
	}
}

// Close closes the kept connections and waits for questions to DNS. Fetches in flight end by themselves; later ones are
// refused.
func (c *Client) Close() {
	c.closed.Store(true)
	c.pool.close()
	c.dialer.names.close()
	c.memory.close()
}

// Reserved is how much of Options.Memory is in use.
func (c *Client) Reserved() int64 { return c.memory.reserved(c.o.Memory) }

// Scarce reports that half of Options.Memory is in use or more: the owner of a large Response should ask for no other.
func (c *Client) Scarce() bool { return 2*c.Reserved() >= c.o.Memory }

func targetOf(u weburl.URL) target {
	return target{host: u.Host(), name: strings.Trim(u.Hostname(), "[]"), port: u.Port(), tls: u.Scheme() == "https"}
}

// String sums the response up in one line.
func (r *Response) String() string {
	if r.Status == 0 {
		return fmt.Sprintf("%s: %v (%v)", r.URL, r.Reason, r.Err)
	}
	return fmt.Sprintf("%s: %d, %d bytes", r.URL, r.Status, len(r.RawBody))
}
