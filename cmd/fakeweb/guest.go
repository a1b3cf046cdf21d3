package fakeweb

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"time"
)

// Guest is a host that is not of the web's making: what it answers, and how, is up to it. Package hostile has some that
// break every rule. Its robots.txt is 404 unless it answers for it.
type Guest struct {
	Name     string
	Below    bool        // every name below its name is it, too
	Secure   bool        // its root begins with https
	Loopback bool        // its name resolves to 127.0.0.1 from the second look-up on (LookupNetIP only)
	Shape    func(*Host) // of its ordinary pages; nil: one page
	// Answer makes the answer to a request; false: it is answered as an ordinary host does.
	Answer func(*Reply) bool
	// Greet has the connection of a TLS client that has just said hello. An error ends the connection; nil: the
	// handshake goes on.
	Greet func(net.Conn) error
}

// Reply is what a Guest answers to one request.
type Reply struct {
	w *Web
	h *Host
	q *request
	a *answer
}

// Target is the path and query asked for.
func (r *Reply) Target() string { return string(r.q.target) }

// Host is the name asked for, without its port.
func (r *Reply) Host() string { return r.q.name() }

// Root is that of another host, under the scheme and port of this request.
func (r *Reply) Root(host string) string {
	o := r.q.origin()
	return o.scheme + "://" + host + o.port + "/"
}

// HTML begins a page with a status.
func (r *Reply) HTML(status int) {
	r.a.status = status
	r.a.html(r.h)
}

// Header adds a line to the head.
func (r *Reply) Header(key, value string) { r.a.header(key, value) }

// Write adds to the body.
func (r *Reply) Write(b []byte) (int, error) {
	r.a.body = append(r.a.body, b...)
	return len(b), nil
}

// Error makes the page with which ordinary hosts answer a status of 400 and more.
func (r *Reply) Error(status int) { r.w.errorAnswer(r.a, r.h, status) }

// Raw has the answer written to the connection as it is, which ends with it.
func (r *Reply) Raw(write func(*Stage) error) { r.a.raw = write }

// Stage is a connection on which an answer is written as it is.
type Stage struct {
	w       *Web
	c       net.Conn
	in      *bufio.Reader
	written int
}

// Write implements io.Writer.
func (s *Stage) Write(b []byte) (int, error) {
	n, err := s.c.Write(b)
	s.written += n
	return n, err
}

// Say writes a text.
func (s *Stage) Say(text string) error {
	_, err := io.WriteString(s, text)
	return err
}

// Pause waits, for ever if the span is negative; it fails when the client has gone.
func (s *Stage) Pause(d time.Duration) error {
	if !s.w.attend(s.c, s.in, d) {
		return net.ErrClosed
	}
	return nil
}

// Reset ends the connection with a reset.
func (s *Stage) Reset() { resetConn(s.c) }

// Guests are numbered from the end of the addresses, 11.255.255.255, backwards.
const lastIndex = 1<<24 - 1

func (w *Web) guestNamed(name string) (Host, bool) {
	for i := range w.o.Guests {
		g := &w.o.Guests[i]
		if name == g.Name || g.Below && strings.HasSuffix(name, "."+g.Name) {
			return w.guest(i, name), true
		}
	}
	return Host{}, false
}

func (w *Web) guest(i int, name string) Host {
	g := &w.o.Guests[i]
	h := Host{Index: lastIndex - i, Name: name, Pages: 1, Robots: RobotsMissing, Declared: InHeader, guest: g}
	if g.Shape != nil {
		g.Shape(&h)
	}
	h.Fanout, h.live = fanout(h.Pages, w.o.Degree, 0), h.Pages
	return h
}

func (w *Web) guestAt(n int) (Host, bool) {
	if i := lastIndex - n; i < len(w.o.Guests) {
		return w.guest(i, w.o.Guests[i].Name), true
	}
	return Host{}, false
}

// GuestSeeds gives the roots of the guests under the scheme's own port.
func (w *Web) GuestSeeds() []string { return w.guestSeeds("") }

func (w *Web) guestSeeds(port string) []string {
	var seeds []string
	for _, g := range w.o.Guests {
		scheme := "http://"
		if g.Secure {
			scheme = "https://"
		}
		seeds = append(seeds, scheme+g.Name+port+"/")
	}
	return seeds
}

// perform lets a guest write its answer by itself, and gives the number of bytes written.
func (w *Web) perform(c net.Conn, in *bufio.Reader, write func(*Stage) error) (int, error) {
	s := &Stage{w: w, c: c, in: in}
	err := write(s)
	return s.written, err
}

// greet looks at the name a TLS client asks for, before the handshake goes on.
func (w *Web) greet(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if h, ok := w.guestNamed(strings.ToLower(hello.ServerName)); ok && h.guest.Greet != nil {
		return nil, h.guest.Greet(hello.Conn)
	}
	return nil, nil
}
