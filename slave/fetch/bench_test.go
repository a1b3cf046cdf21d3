//go:build unix

package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"henro/messages/weburl"
)

// page is served by a goroutine that does as little as can be, so that what is measured is the client.
func servePage(b *testing.B, body []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	answer := append([]byte("HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 01 Jan 2024 00:00:00 "+
		"GMT\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 5800\r\nLast-Modified: Mon, 01 Jan 2024 "+
		"00:00:00 GMT\r\nETag: \"5f-16a8\"\r\nAccept-Ranges: bytes\r\n\r\n"), body...)
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

// measure runs visit b.N times and reports what processor time one took, both ends together: unlike the time of the
// clock it hardly depends on what else the machine does.
func measure(b *testing.B, visit func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	visit()
	start := used()
	for b.Loop() {
		visit()
	}
	b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op")
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
	measure(b, func() {
		r := c.Fetch(ctx, Request{URL: u})
		if r.Status != 200 || len(r.Body) != 5800 {
			b.Fatal(r, r.Err)
		}
		r.Release()
	})
}

func BenchmarkNetHTTP(b *testing.B) {
	url := servePage(b, make([]byte, 5800))
	t := &http.Transport{DisableCompression: true}
	defer t.CloseIdleConnections()
	client := &http.Client{Transport: t}
	measure(b, func() {
		r, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		n, _ := io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if n != 5800 {
			b.Fatal(n)
		}
	})
}

// BenchmarkWithoutColly is Fetch without its shell: the difference is what colly costs.
func BenchmarkWithoutColly(b *testing.B) {
	url := servePage(b, make([]byte, 5800))
	c := newClient(b, nil)
	u := weburl.MustParse(url)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	measure(b, func() {
		r := &Response{URL: u, share: share{memory: c.memory}}
		x := &exchange{client: c, req: Request{URL: u}, to: targetOf(u), resp: r, end: time.Now().Add(time.Minute),
			wire: c.memory.lend(0)}
		res, err := x.run(ctx)
		if err == nil {
			r.Status, r.Header = res.StatusCode, res.Header
			x.Read(nil)
		}
		x.finish(ctx, err)
		if r.Status != 200 || len(r.Body) != 5800 {
			b.Fatal(r, r.Err)
		}
		r.Release()
	})
}

// BenchmarkCollyOverNetHTTP is what it would cost to let colly fetch by net/http: all switched off that can be, the
// body read twice.
func BenchmarkCollyOverNetHTTP(b *testing.B) {
	url := servePage(b, make([]byte, 5800))
	t := &http.Transport{DisableCompression: true}
	defer t.CloseIdleConnections()
	c := colly.NewCollector(colly.AllowURLRevisit())
	c.DisableCookies()
	c.WithTransport(t)
	c.OnResponse(func(r *colly.Response) {
		if len(r.Body) != 5800 {
			b.Fatal(len(r.Body))
		}
	})
	measure(b, func() {
		if err := c.Visit(url); err != nil {
			b.Fatal(err)
		}
	})
}
