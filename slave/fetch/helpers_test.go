package fetch

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"henro/messages/weburl"
)

// newClient makes a client that may visit loopback, closed with the test.
func newClient(t testing.TB, change func(*Options)) *Client {
	t.Helper()
	o := DefaultOptions()
	o.UserAgent, o.AllowPrivate = "henro-test/1 (+https://example.org/bot)", true
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// server is what one connection is met with, once its request has been read.
type server func(c net.Conn, request string)

// says answers every request with the same bytes and leaves the connection open.
func says(answer string) server {
	return func(c net.Conn, _ string) { io.WriteString(c, answer) }
}

// andCloses is says and then closes.
func andCloses(answer string) server {
	return func(c net.Conn, _ string) { io.WriteString(c, answer); c.Close() }
}

// meet reads requests off a connection until it ends, and answers each.
func meet(c net.Conn, s server) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		var request strings.Builder
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			request.WriteString(line)
			if line == "\r\n" {
				break
			}
		}
		s(c, request.String())
	}
}

// listen serves on a real socket and returns "http://ip:port".
func listen(t testing.TB, s server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go meet(c, s)
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// piped is a Dial by which every name leads to the same server, over net.Pipe.
func piped(s server) func(*Options) {
	return func(o *Options) {
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go meet(theirs, s)
			return ours, nil
		}
	}
}

// visit fetches one URL.
func visit(t testing.TB, c *Client, url string) *Response {
	t.Helper()
	return c.Fetch(context.Background(), Request{URL: weburl.MustParse(url)})
}
