package fakeweb

import (
	"bufio"
	"bytes"
	"testing"
)

// Whatever bytes a client sends, reading them ends, and what is taken for a request has a host and a target.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: host0000.fakeweb.test\r\nUser-Agent: x\r\n\r\n",
		"GET http://Host0000.fakeweb.test:80/a?b HTTP/1.0\nIf-None-Match: \"x\"\nConnection: close\n\n",
		"HEAD /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nIf-Modified-Since: never\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
		"\x00\xff \r\n:\r\n\r\n", "GET\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	w := newWeb(f, full())
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(data), 4<<10)
		var q request
		for {
			status, err := q.read(in)
			if err != nil {
				return
			}
			if status != 0 {
				continue
			}
			if q.host == "" || len(q.target) == 0 || q.target[0] != '/' || len(q.target) > headMost || q.method == "" {
				t.Fatalf("%+v", q)
			}
			if h, ok := w.hostNamed(q.name()); ok {
				var a answer
				w.answer(&a, &h, &q, epoch)
			}
		}
	})
}

// A target names a place only if it is the place's own target, letter by letter.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"/", "/news/p1.html", "/docs/view?id=7", "/docs/view?id=7&k=%BB%FB", "/calendar/2000/12", "/calendar/2000/13",
		"/maze/1?sid=ff", "/maze/-1?sid=",
		"/gone/3.html", "/old-2.html", "/news/old-2.html", "/robots.txt", "//", "/p99999999999999999999.html", "?id=1",
		"/calendar//",
	} {
		f.Add(seed, uint8(0))
	}
	o := full()
	o.Traps = Traps{Calendar: 1, Sessions: 1, SoftNotFound: 1}
	w := newWeb(f, o)
	f.Fuzz(func(t *testing.T, target string, host uint8) {
		h := w.host(int(host) % w.Hosts())
		at := w.locate(&h, []byte(target))
		if at.kind == missing {
			return
		}
		if back := string(w.appendPlace(nil, &h, at)); back != target {
			t.Errorf("%q is taken for %+v, which is %q", target, at, back)
		}
		w.edges(nil, &h, at)
	})
}
