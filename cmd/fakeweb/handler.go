package fakeweb

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// ServeHTTP answers as the host named in the request, for use within another server. Latency, log and faults are the
// same; where a fault needs the connection itself it is taken over from the server, and over HTTP/2 the stream is
// broken off instead.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := request{
		method: methodName([]byte(r.Method)), host: strings.ToLower(r.Host), target: []byte(r.RequestURI),
		agent:     r.UserAgent(),
		noneMatch: r.Header.Get("If-None-Match"), modifiedSince: r.Header.Get("If-Modified-Since"),
		secure: r.TLS != nil,
	}
	if len(q.target) == 0 || q.target[0] != '/' {
		q.target = []byte(r.URL.RequestURI())
	}
	e := Entry{Host: q.host, Path: string(q.target), Start: time.Now(), Agent: q.agent, Secure: q.secure}
	end := func(aborted bool) {
		e.End, e.Aborted = time.Now(), aborted
		w.log.add(e)
	}
	h, ok := w.hostNamed(q.name())
	serial := w.serials.Add(1)
	if ok && w.down(&h, e.Start) {
		end(false)
		panic(http.ErrAbortHandler)
	}
	if d := w.latency(&h, serial); ok && d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			end(true)
			return
		}
	}
	s := sheets.Get().(*sheet)
	defer sheets.Put(s)
	a := &s.a
	switch {
	case !ok:
		*a = answer{status: http.StatusMisdirectedRequest, head: a.head[:0], body: a.body[:0]}
	case q.method == "":
		*a = answer{status: http.StatusMethodNotAllowed, head: a.head[:0], body: a.body[:0]}
	default:
		w.answer(a, &h, &q, time.Now())
	}
	switch {
	case a.fault == timeout:
		select {
		case <-r.Context().Done():
		case <-w.done:
		}
		end(true)
		panic(http.ErrAbortHandler)
	case a.raw != nil || a.fault == reset || a.fault == cut:
		hijacker, ok := rw.(http.Hijacker)
		if !ok {
			end(true)
			panic(http.ErrAbortHandler)
		}
		c, buffered, err := hijacker.Hijack()
		if err != nil {
			end(true)
			return
		}
		defer c.Close()
		q.close = true
		if a.raw != nil {
			e.Status = a.status
			e.Bytes, err = w.perform(c, buffered.Reader, a.raw)
			end(err != nil)
			return
		}
		s.out = a.append(s.out[:0], &q)
		e.Status, e.Bytes = a.status, len(s.out)
		end(false)
		c.Write(s.out[:len(s.out)-len(a.body)/2])
		if a.fault == reset {
			resetConn(c)
		}
		return
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(a.head, []byte("\r\n")), []byte("\r\n")) {
		if key, value, ok := bytes.Cut(line, []byte(": ")); ok {
			rw.Header().Add(string(key), string(value))
		}
	}
	e.Status, e.Bytes = a.status, len(a.body)
	end(false)
	rw.WriteHeader(a.status)
	if q.method != "HEAD" && a.status != http.StatusNotModified {
		rw.Write(a.body)
	}
}
