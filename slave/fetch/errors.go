package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"henro/messages"
)

// ErrOptions is returned by New and Validate for options that cannot work.
var ErrOptions = errors.New("fetch options")

// What can go wrong beneath a Response; Response.Err wraps them.
var (
	errClosed       = errors.New("client is closed")
	errCanceled     = errors.New("asked to stop")
	errNotPermitted = errors.New("the right to ask has ended")
	errTotal        = lateness("total time is over")
	errIdle         = lateness("no byte in time")
	errNotHTTP      = errors.New("not an HTTP response")
	errLength       = errors.New("invalid or contradicting Content-Length")
	errNUL          = errors.New("NUL in the response head")
	errInterim      = errors.New("too many interim responses")
	errUpgrade      = errors.New("switching protocols unasked")
	errHeadTooLarge = errors.New("response head too large")
	errUnsent       = errors.New("closed before the request was sent")
	errStale        = errors.New("closed before a byte came")
	errChunk        = errors.New("invalid chunking")
	errShort        = errors.New("closed before the body was whole")
	errFull         = errors.New("no memory left for large bodies")
	errTooLarge     = errors.New("body larger than allowed")
	errNoSuchName   = errors.New("no such host")
	errRatio        = errors.New("decodes to too many times its size")
	errDecoded      = errors.New("decoded body larger than allowed")
	errCoding       = errors.New("unknown content coding")
	errDecoder      = errors.New("decoder gave up")
	errNoURL        = errors.New("no URL")
	errProxyLogin   = errors.New("the proxy wants a login, or another: give it as http://NAME:PASSWORD@HOST:PORT")
	errAborted      = fail(messages.Reason_NOT_PARSED, errors.New("a callback does not want it"))
	errProxyName    = errors.New("a proxy would look up a name of its own network")
)

// lateness is a limit of time that was reached.
type lateness string

func (l lateness) Error() string { return string(l) }
func (lateness) Timeout() bool   { return true }
func (lateness) Temporary() bool { return true }

// failure is why a visit has no response.
type failure struct {
	reason messages.Reason
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func fail(reason messages.Reason, err error) error { return &failure{reason, err} }

// forbidden is the guard's refusal of one address.
type forbidden struct{ addr, what string }

func (f *forbidden) Error() string { return "address " + f.addr + " is " + f.what }

// reasonOf finds the reason in the chain of an error; what carries none was lost on the way.
func reasonOf(err error) messages.Reason {
	var f *failure
	if errors.As(err, &f) {
		return f.reason
	}
	return messages.Reason_CONNECTION_LOST
}

// connectReason names the failure of a connect.
func connectReason(err error) messages.Reason {
	var f *forbidden
	var de *net.DNSError
	switch {
	case errors.As(err, &f):
		return messages.Reason_ADDRESS_FORBIDDEN
	case errors.As(err, &de) && de.IsNotFound: // an injected dialer that knows names
		return messages.Reason_DNS_NOT_FOUND
	case errors.As(err, &de):
		return messages.Reason_DNS_FAILED
	case errors.Is(err, syscall.ECONNREFUSED):
		return messages.Reason_CONNECT_REFUSED
	case isTimeout(err), errors.Is(err, syscall.ETIMEDOUT):
		return messages.Reason_CONNECT_TIMEOUT
	case errors.Is(err, context.Canceled):
		return messages.Reason_CANCELED
	}
	return messages.Reason_CONNECT_FAILED
}

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// isEnd reports whether the other side ended the stream in order, or without the goodbye of TLS, which half of the web
// omits.
func isEnd(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }

// aLongTimeAgo is a deadline that ends whatever waits.
var aLongTimeAgo = time.Unix(1, 0)
