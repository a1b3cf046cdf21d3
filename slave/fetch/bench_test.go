package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"henro/messages/weburl"
)

// page is served by a goroutine that does as little as can be, so that what is measured is the client.
func servePage(b *testing.B, body []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	answer := append([]byte("HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5800\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nETag: \"5f-16a8\"\r\nAccept-Ranges: bytes\r\n\r\n"), body...)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 4096)
				for {
					if _, err := c.Read(buf); err != nil {
						c.Close()
						return
					}
					c.Write(answer)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/a/page.html?q=1"
}

func BenchmarkFetch(b *testing.B) {
	url := servePage(b, make([]byte, 5800))
	o := DefaultOptions()
	o.UserAgent, o.AllowPrivate = "henro-bench", true
	c, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	u := weburl.MustParse(url)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		r := c.Fetch(ctx, Request{URL: u})
		if r.Status != 200 || len(r.Body) != 5800 {
			b.Fatal(r, r.Err)
		}
		r.Release()
	}
}

func BenchmarkNetHTTP(b *testing.B) {
	url := servePage(b, make([]byte, 5800))
	t := &http.Transport{DisableCompression: true}
	defer t.CloseIdleConnections()
	client := &http.Client{Transport: t}
	b.ReportAllocs()
	for b.Loop() {
		r, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		n, _ := io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if n != 5800 {
			b.Fatal(n)
		}
	}
}

// BenchmarkWithoutColly is Fetch without its shell: the difference is what colly costs.
func BenchmarkWithoutColly(b *testing.B) {
	url := servePage(b, make([]byte, 5800))
	c := newClient(b, nil)
	u := weburl.MustParse(url)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		r := &Response{URL: u, share: share{memory: c.memory}}
		x := &exchange{client: c, req: Request{URL: u}, to: targetOf(u), resp: r, end: time.Now().Add(time.Minute), wire: c.memory.lend(0)}
		x.finish(ctx, x.run(ctx))
		if r.Status != 200 || len(r.Body) != 5800 {
			b.Fatal(r, r.Err)
		}
		r.Release()
	}
}
