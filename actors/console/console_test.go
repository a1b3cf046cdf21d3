package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"

	"henro/actors/console"
)

func node(o console.Options) *console.Console {
	p := console.Process{Tail: console.NewTail(),
		Ready: func(context.Context) error { return errors.New("no master yet") }}
	return console.New(o, p.Routes(), []console.Route{
		{Pattern: "GET /api/status", Serve: func(w http.ResponseWriter, _ *http.Request) { console.Reply(w, "fine") }},
		{Pattern: "POST /api/pause", Serve: func(w http.ResponseWriter,
			_ *http.Request) {
			console.Reply(w, "paused")
		}},
	})
}

func TestWhoMayAsk(t *testing.T) {
	const token = "0123456789ABCDEFGHIJKLMNOP"
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	basic := func(password string) http.Header {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("anybody", password)
		return r.Header
	}
	for _, c := range []struct {
		sentence    string
		token       string
		method, url string
		header      http.Header
		want        int
	}{
		{"without a token, loopback is answered", "", "GET", "http://127.0.0.1:7780/api/status", nil, 200},
		{"so is localhost", "", "GET", "http://localhost:7780/api/status", nil, 200},
		{"so is ::1", "", "GET", "http://[::1]:7780/api/status", nil, 200},
		{"a name that a stranger pointed here is not", "", "GET", "http://evil.test:7780/api/status", nil, 421},
		{"nor for profiles", "", "GET", "http://evil.test/debug/pprof/", nil, 421},
		{"nor for a change", "", "POST", "http://evil.test:7780/api/pause", header("Origin", "http://evil.test:7780"),
			421},
		{"a name that was allowed is answered", "", "GET", "http://crawl.lan:7780/api/status", nil, 200},
		{"a program may change", "", "POST", "http://127.0.0.1:7780/api/pause", nil, 200},
		{"a page of ours may change", "", "POST", "http://127.0.0.1:7780/api/pause",
			header("Origin", "http://127.0.0.1:7780"), 200},
		{"a page of another site may not", "", "POST", "http://127.0.0.1:7780/api/pause",
			header("Origin", "https://evil.test"), 403},
		{"nor one that a modern browser names so", "", "POST", "http://127.0.0.1:7780/api/pause",
			header("Sec-Fetch-Site", "cross-site"), 403},
		{"with a token, who has none learns nothing", token, "GET", "http://127.0.0.1:7780/api/status", nil, 401},
		{"not even paths", token, "GET", "http://127.0.0.1:7780/nothing", nil, 401},
		{"profiles want it", token, "GET", "http://192.0.2.1:7780/debug/pprof/", nil, 401},
		{"a wrong one does not do", token, "GET", "http://192.0.2.1:7780/api/status",
			header("Authorization", "Bearer x"), 401},
		{"nor an empty one", token, "GET", "http://192.0.2.1:7780/api/status", header("Authorization", "Bearer "), 401},
		{"the right one does", token, "GET", "http://crawl.example:7780/api/status",
			header("Authorization", "Bearer "+token), 200},
		{"as password too", token, "GET", "http://crawl.example:7780/api/status", basic(token), 200},
		{"a wrong password does not", token, "GET", "http://crawl.example:7780/api/status", basic("x"), 401},
		{"with the token a page of another site still changes nothing", token, "POST", "http://crawl.example/api/pause",
			header("Authorization", "Bearer "+token, "Origin", "https://evil.test"), 403},
		{"health is open", token, "GET", "http://192.0.2.1:7780/healthz", nil, 204},
		{"readiness is open and says why not", token, "GET", "http://192.0.2.1:7780/readyz", nil, 503},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.url, nil)
			for name, values := range c.header {
				r.Header[name] = values
			}
			w := httptest.NewRecorder()
			node(console.Options{Token: c.token, Names: []string{"crawl.lan"}}).ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("answered %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if strings.Contains(w.Body.String(), token) {
				t.Error("the answer gives the token away")
			}
		})
	}
}

func TestTheTailKeepsTheLastLines(t *testing.T) {
	tail := console.NewTail()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.TraceLevel)
	logger.AddHook(tail)
	for i := range 2500 {
		logger.WithField("n", i).Info("line")
		logger.Debug("not kept")
	}
	lines, _ := tail.After(0, 0)
	if len(lines) != 1000 || lines[0].Fields["n"] != "1500" || lines[999].Fields["n"] != "2499" ||
		lines[999].Seq != 2500 {
		t.Fatalf("%d lines, from %v to %v", len(lines), lines[0], lines[len(lines)-1])
	}
	if lines, _ := tail.After(2490, 0); len(lines) != 10 || lines[0].Seq != 2491 {
		t.Errorf("after 2490: %v", lines)
	}
	if lines, _ := tail.After(0, 3); len(lines) != 3 || lines[0].Seq != 2498 {
		t.Errorf("the last three: %v", lines)
	}
	if lines, _ := tail.After(9000, 0); len(lines) != 0 {
		t.Errorf("after a number that never was: %v", lines)
	}
}

func TestALineIsFollowedAndStreamsEndWithTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tail := console.NewTail()
		logger := logrus.New()
		logger.SetOutput(io.Discard)
		logger.AddHook(tail)
		p := console.Process{Tail: tail}
		c := console.New(console.Options{}, p.Routes())
		ctx, stop := context.WithCancel(t.Context())
		near, far := net.Pipe()
		served := make(chan error, 1)
		listener := &one{conn: far, closed: make(chan struct{})}
		go func() { served <- c.Serve(ctx, listener) }()
		go fmt.Fprint(near, "GET /api/log?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(near), nil)
		if err != nil {
			t.Fatal(err)
		}
		logger.Info("first")
		lines := bufio.NewScanner(response.Body)
		for _, want := range []string{"first", "second"} {
			if !lines.Scan() {
				t.Fatalf("the stream ended before %q: %v", want, lines.Err())
			}
			var line console.Line
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Text != want {
				t.Errorf("line %s, %v; want %q", lines.Bytes(), err, want)
			}
			logger.Info("second")
		}
		stop()
		for lines.Scan() {
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		near.Close()
	})
}

// one is a listener of one connection.
type one struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *one) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *one) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *one) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
