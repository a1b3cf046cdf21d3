package fakeweb

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"
)

// Entry is one request as the host saw it.
type Entry struct {
	Host    string // as in the Host header: name, and port unless it is the scheme's own
	Path    string // request target
	Start   time.Time
	End     time.Time // before the last byte was written; when Aborted, when the client was seen to be gone
	Status  int       // zero when nothing was answered
	Bytes   int       // of the answer, head included
	Agent   string
	Conn    uint64         // number of the connection
	From    netip.AddrPort // the client's end of it; zero within another server
	Secure  bool           // over TLS
	Aborted bool           // the client went away, or the web was closed, before the answer
}

// URL gives the URL that was asked for.
func (e *Entry) URL() string { return e.Origin() + e.Path }

// Origin gives scheme, name and port: the unit of politeness.
func (e *Entry) Origin() string {
	if e.Secure {
		return "https://" + e.Host
	}
	return "http://" + e.Host
}

// flushAfter bounds how long a line waits in memory; the log is for reading while the web runs.
const flushAfter = 200 * time.Millisecond

// accessLog keeps the newest entries in a ring and writes all to a file. Its cost is a quarter of a microsecond an
// entry.
type accessLog struct {
	mu    sync.Mutex
	limit int     // most entries in the ring
	ring  []Entry // grows to the limit
	count uint64  // entries ever
	file  *os.File
	out   *bufio.Writer
	line  []byte
	timer *time.Timer // a flush is coming; nil: nothing waits
	err   error       // the first failure to write
}

func openLog(entries int, path string) (*accessLog, error) {
	l := &accessLog{limit: entries}
	if path == "" {
		return l, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open access log: %w", err)
	}
	l.file, l.out = f, bufio.NewWriterSize(f, 64<<10)
	return l, nil
}

func (l *accessLog) add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := l.limit; {
	case len(l.ring) < n:
		l.ring = append(l.ring, e)
	case n > 0:
		l.ring[l.count%uint64(n)] = e
	}
	l.count++
	if l.out == nil || l.err != nil {
		return
	}
	l.line = e.append(l.line[:0])
	if _, err := l.out.Write(l.line); err != nil {
		l.err = err
		return
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(flushAfter, l.flush)
	}
}

func (l *accessLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if l.out != nil && l.err == nil {
		l.err = l.out.Flush()
	}
}

func (l *accessLog) close() error {
	l.mu.Lock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.out, l.file = nil, nil
	if l.err != nil {
		err = l.err
	}
	if err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	return nil
}

func (l *accessLog) entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Entry, 0, len(l.ring))
	if len(l.ring) > 0 {
		at := 0
		if len(l.ring) == l.limit {
			at = int(l.count % uint64(l.limit))
		}
		list = append(append(list, l.ring[at:]...), l.ring[:at]...)
	}
	return list
}

// A line of the log file has eleven fields with tabs between them:
//
//	start ns ⇥ end ns ⇥ scheme ⇥ host ⇥ path ⇥ status ⇥ bytes ⇥ connection ⇥ "-" or "aborted" ⇥ client or "-" ⇥ user
//	agent
//
// with the times in nanoseconds since 1970 and the client as address:port. Control characters in path and agent are
// written as '?'.
func (e *Entry) append(dst []byte) []byte {
	field := func(n int64) {
		dst = append(strconv.AppendInt(dst, n, 10), '\t')
	}
	text := func(s string) {
		for i := range len(s) {
			c := s[i]
			if c < 0x20 || c == 0x7f {
				c = '?'
			}
			dst = append(dst, c)
		}
	}
	field(e.Start.UnixNano())
	field(e.End.UnixNano())
	if e.Secure {
		dst = append(dst, "https\t"...)
	} else {
		dst = append(dst, "http\t"...)
	}
	text(e.Host)
	dst = append(dst, '\t')
	text(e.Path)
	dst = append(dst, '\t')
	field(int64(e.Status))
	field(int64(e.Bytes))
	field(int64(e.Conn))
	if e.Aborted {
		dst = append(dst, "aborted\t"...)
	} else {
		dst = append(dst, "-\t"...)
	}
	if e.From.IsValid() {
		dst = append(e.From.AppendTo(dst), '\t')
	} else {
		dst = append(dst, "-\t"...)
	}
	text(e.Agent)
	return append(dst, '\n')
}
