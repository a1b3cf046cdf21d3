package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// progressWithin is how long a reader may take for pieceBytes of an answer: 6 kB/s. Who takes longer is cut off.
	progressWithin = 10 * time.Second
	pieceBytes     = 64 << 10
	// bodyBytes bounds the body of a request whose route names no other bound.
	bodyBytes = 64 << 10
	// connections bounds those of a node: 32 dashboards, and what else is followed, with room for an operator.
	connections = 256
)

// steady is an answer whose reader must make progress. A handler that sets a deadline of its own is left to it.
type steady struct {
	http.ResponseWriter
	control *http.ResponseController
	own     bool // the handler sets the deadlines
}

// Steady is w for a reader who must make progress.
func Steady(w http.ResponseWriter) http.ResponseWriter { return newSteady(w) }

func newSteady(w http.ResponseWriter) *steady {
	s := &steady{ResponseWriter: w, control: http.NewResponseController(w)}
	s.extend()
	return s
}

// extend gives the reader time for the next piece. A connection that knows no deadlines is one of a test.
func (s *steady) extend() {
	if !s.own {
		_ = s.control.SetWriteDeadline(time.Now().Add(progressWithin))
	}
}

// Write writes piece by piece.
func (s *steady) Write(data []byte) (n int, err error) {
	for first := true; err == nil && (first || len(data) > 0); first = false {
		s.extend()
		var k int
		k, err = s.ResponseWriter.Write(data[:min(len(data), pieceBytes)])
		n, data = n+k, data[k:]
	}
	return n, err
}

// WriteHeader begins the answer.
func (s *steady) WriteHeader(code int) {
	s.extend()
	s.ResponseWriter.WriteHeader(code)
}

// FlushError is for http.ResponseController, as is SetWriteDeadline.
func (s *steady) FlushError() error {
	s.extend()
	return s.control.Flush()
}

// SetWriteDeadline takes the deadlines into the hands of the handler.
func (s *steady) SetWriteDeadline(at time.Time) error {
	s.own = true
	return s.control.SetWriteDeadline(at)
}

// Unwrap is for http.ResponseController: methods that are not here are called there.
func (s *steady) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ErrTooSlow is returned to a handler that writes to a reader that takes longer than it may.
var ErrTooSlow = errors.New("the reader is too slow")

// Paced is a writer whose reader must take so many bytes a second from its beginning on, but for the first seconds. It
// is for answers that hold something back from the rest of the node while they last.
func Paced(w io.Writer, bytesPerSecond int64) io.Writer {
	return &paced{w: w, pace: bytesPerSecond, until: time.Now().Add(progressWithin)}
}

type paced struct {
	w     io.Writer
	pace  int64
	until time.Time // the moment by which what was written so far had to be taken
}

func (p *paced) Write(data []byte) (int, error) {
	if time.Now().After(p.until) {
		return 0, fmt.Errorf("%w: it takes less than %d bytes/s", ErrTooSlow, p.pace)
	}
	p.until = p.until.Add(time.Duration(len(data)) * time.Second / time.Duration(p.pace))
	return p.w.Write(data)
}

// isForeign reports whether a browser sends the request in the name of a page from another site or port. A Linked route
// may be navigated to from anywhere: then the person sees the answer, and the page that led there does not.
func isForeign(r *http.Request, linked bool) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	if from != "cross-site" && from != "same-site" {
		return false
	}
	return !linked || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
