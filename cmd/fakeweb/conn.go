package fakeweb

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math"
	"math/big"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"
)

// The web has a server of its own instead of net/http's: it must be able to break the rules of HTTP in every way, end
// without leaving a goroutine, and cost less than the crawler it serves. Parsing and writing take 2 µs a request,
// net/http's 15.

const (
	headMost = 64 << 10 // longest request head; 431 beyond
	tlsFirst = 0x16     // first byte of a TLS handshake
)

// sheet is where one answer is made and written; taken only once the answer is due, so that waiting connections cost
// little.
type sheet struct {
	a   answer
	out []byte
}

var sheets = sync.Pool{New: func() any {
	return &sheet{a: answer{body: make([]byte, 0, 16<<10)}, out: make([]byte, 0, 24<<10)}
}}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// peekedConn is a connection of which a reader already holds the first bytes.
type peekedConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *peekedConn) Read(b []byte) (int, error) {
	if c.in.Buffered() > 0 {
		return c.in.Read(b)
	}
	return c.Conn.Read(b)
}

// serve answers the requests of one connection until it ends.
func (w *Web) serve(c net.Conn) {
	defer c.Close()
	number := w.conns.Add(1)
	from, _ := netip.ParseAddrPort(c.RemoteAddr().String())
	in := readers.Get().(*bufio.Reader)
	in.Reset(c)
	defer func(in *bufio.Reader) {
		in.Reset(nil)
		readers.Put(in)
	}(in)
	w.setIdle(c)
	first, err := in.Peek(1)
	if err != nil {
		return
	}
	secure := first[0] == tlsFirst
	if secure {
		t := tls.Server(&peekedConn{c, in}, &tls.Config{
			GetConfigForClient: w.greet,
			GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.cert() },
		})
		if t.Handshake() != nil {
			return
		}
		defer t.Close()
		c, in = t, bufio.NewReaderSize(t, 4<<10)
	}
	q := request{secure: secure}
	var h Host
	for named := ""; ; {
		w.setIdle(c)
		status, err := q.read(in)
		if err != nil {
			return
		}
		e := Entry{Host: q.host, Start: time.Now(), Agent: q.agent, Conn: number, From: from, Secure: secure,
			Path: string(q.target)}
		if w.o.Idle > 0 {
			c.SetReadDeadline(time.Time{})
		}
		if status == 0 && q.host != named {
			var ok bool
			if h, ok = w.hostNamed(q.name()); ok {
				named = q.host
			} else {
				status = 421
			}
		}
		if !w.exchange(c, in, &h, &q, e, status) || q.close {
			return
		}
	}
}

// setIdle gives the client until the idle time to send its next request.
func (w *Web) setIdle(c net.Conn) {
	if w.o.Idle > 0 {
		c.SetReadDeadline(time.Now().Add(w.o.Idle))
	}
}

// exchange waits, writes the answer and logs it; false when the connection is to end. A status refuses the request.
func (w *Web) exchange(c net.Conn, in *bufio.Reader, h *Host, q *request, e Entry, status int) bool {
	abort := func() bool {
		e.End, e.Aborted = time.Now(), true
		w.log.add(e)
		return false
	}
	if status == 0 && w.down(h, e.Start) {
		e.End = e.Start
		w.log.add(e)
		resetConn(c)
		return false
	}
	serial := w.serials.Add(1)
	if d := w.latency(h, serial); status == 0 && d > 0 && !w.attend(c, in, d) {
		return abort()
	}
	s := sheets.Get().(*sheet)
	defer sheets.Put(s)
	a := &s.a
	if status != 0 {
		*a = answer{status: status, head: a.head[:0], body: append(a.body[:0], "bad request\n"...)}
		q.close = true
	} else {
		w.answer(a, h, q, time.Now())
	}
	if a.fault == timeout {
		w.attend(c, in, -1)
		return abort()
	}
	if a.raw != nil {
		var err error
		e.Bytes, err = w.perform(c, in, a.raw)
		e.Status, e.End, e.Aborted = a.status, time.Now(), err != nil
		w.log.add(e)
		return false
	}
	s.out = a.append(s.out[:0], q)
	e.Status, e.Bytes = a.status, len(s.out)
	out := s.out
	if a.fault == reset || a.fault == cut {
		out = out[:len(out)-len(a.body)/2]
		q.close = true
	}
	const last = 16 << 10
	for len(out) > last {
		n := min(len(out)-last/2, last)
		if _, err := c.Write(out[:n]); err != nil {
			return abort()
		}
		out = out[n:]
	}
	// The entry is there before the client has the whole answer: a test that has seen it finds it in the log.
	e.End = time.Now()
	w.log.add(e)
	_, err := c.Write(out)
	if a.fault == reset {
		resetConn(c)
	}
	return err == nil
}

// latency gives the time host h takes for a request; serial tells requests apart, for the jitter.
func (w *Web) latency(h *Host, serial uint64) time.Duration {
	if h.Latency == 0 || w.o.Latency.Jitter == 0 {
		return h.Latency
	}
	r, j := draw(w.o.Seed, forJitter, uint64(h.Index), serial), w.o.Latency.Jitter
	return time.Duration(float64(h.Latency) * math.Exp(j*r.normal()-j*j/2))
}

// attend waits for a span (or, if negative, for ever) while watching the connection; it reports false when the client
// has gone.
func (w *Web) attend(c net.Conn, in *bufio.Reader, d time.Duration) bool {
	if d >= 0 {
		c.SetReadDeadline(time.Now().Add(d))
		defer c.SetReadDeadline(time.Time{})
	}
	began := time.Now()
	// A client that sends its next request before it has this answer fills the reader; then only the time is waited
	// for.
	for n := in.Buffered(); ; n = in.Buffered() {
		_, err := in.Peek(n + 1)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return true
		case errors.Is(err, bufio.ErrBufferFull):
			if d < 0 {
				<-w.done
				return false
			}
			return w.sleep(d - time.Since(began))
		case err != nil:
			return false
		}
	}
}

// append writes the answer as it goes over the wire.
func (a *answer) append(dst []byte, q *request) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(a.status), 10)
	dst = append(dst, ' ')
	dst = append(dst, reason(a.status)...)
	dst = append(dst, "\r\nServer: fakeweb\r\nDate: "...)
	dst = appendDate(dst, time.Now())
	dst = append(dst, "\r\n"...)
	dst = append(dst, a.head...)
	if q.close {
		dst = append(dst, "Connection: close\r\n"...)
	}
	if a.status != 304 {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(a.body)), 10)
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, "\r\n"...)
	if q.method == "HEAD" {
		a.body = a.body[:0]
	}
	return append(dst, a.body...)
}

func reason(status int) string {
	switch status {
	case 200:
		return "OK"
	case 304:
		return "Not Modified"
	case 404:
		return "Not Found"
	}
	switch status / 100 {
	case 3:
		return "Elsewhere"
	case 4:
		return "Not Possible"
	case 5:
		return "Out of Order"
	}
	return "Done"
}

// read reads one request head, and drops a body. A status other than zero says that the request is to be refused with
// it.
func (q *request) read(in *bufio.Reader) (status int, err error) {
	line, long, err := readLine(in, headMost)
	if err != nil {
		return 0, err
	}
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, version, _ := bytes.Cut(rest, []byte(" "))
	host := q.host
	*q = request{method: methodName(method), target: append(q.target[:0], target...), agent: q.agent, secure: q.secure,
		close: string(version) != "HTTP/1.1"}
	size, most := 0, headMost
	for {
		line, longer, err := readLine(in, most)
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			break
		}
		long = long || longer
		most = max(most-len(line), 1)
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " \t")
		switch len(name) {
		case 4:
			if bytes.EqualFold(name, []byte("Host")) {
				if q.host = host; string(value) != host { // the last one's string, if it is the same
					q.host = string(bytes.ToLower(value))
				}
			}
		case 10:
			if bytes.EqualFold(name, []byte("User-Agent")) {
				if string(value) != q.agent {
					q.agent = string(value)
				}
			} else if bytes.EqualFold(name, []byte("Connection")) {
				q.close = q.close || bytes.EqualFold(value, []byte("close"))
			}
		case 13:
			if bytes.EqualFold(name, []byte("If-None-Match")) {
				q.noneMatch = string(value)
			}
		case 14:
			if bytes.EqualFold(name, []byte("Content-Length")) {
				size = max(0, number(value))
			}
		case 17:
			if bytes.EqualFold(name, []byte("If-Modified-Since")) {
				q.modifiedSince = string(value)
			}
		}
	}
	if size > 0 {
		if _, err := io.CopyN(io.Discard, in, int64(size)); err != nil {
			return 0, err
		}
	}
	if rest, ok := bytes.CutPrefix(q.target, []byte("http://")); ok { // a client that takes this web for its proxy
		host, _, _ := bytes.Cut(rest, []byte("/"))
		q.host = string(bytes.ToLower(host))
		q.target = rest[len(host):]
	}
	switch {
	case long:
		return 431, nil
	case q.method == "":
		return 405, nil
	case q.host == "" || len(q.target) == 0 || q.target[0] != '/':
		return 400, nil
	}
	return 0, nil
}

func methodName(b []byte) string {
	switch string(b) {
	case "GET":
		return "GET"
	case "HEAD":
		return "HEAD"
	}
	return ""
}

// readLine reads one line without its end. Of a line longer than most it keeps the first piece and says so.
func readLine(in *bufio.Reader, most int) (line []byte, long bool, err error) {
	line, err = in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		kept := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			if more, err = in.ReadSlice('\n'); len(kept)+len(more) <= most {
				kept = append(kept, more...)
			} else {
				long = true
			}
		}
		line = kept
	}
	if err != nil {
		return nil, false, err
	}
	return bytes.TrimRight(line, "\r\n"), long, nil
}

// newCertificate makes the certificate of every host that is spoken to in TLS. It is signed by itself.
func newCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fakeweb"}, NotBefore: epoch,
		NotAfter: epoch.AddDate(100, 0, 0),
		DNSNames: []string{"*.fakeweb.test", "*.hostile.test"},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
