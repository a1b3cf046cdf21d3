package fakeweb

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"
)

// BenchmarkPage is what one page costs to make, without the connection.
func BenchmarkPage(b *testing.B) {
	for name, o := range map[string]Options{
		"plain": {Hosts: 2000, Pages: 20, Degree: 12},
		"changing": {Hosts: 2000, Pages: 1000, Degree: 12, CrossShare: 0.2, Japanese: 0.5, Changes: Changes{Share: 1},
			Validators: Validators{Both: 1}},
		"22 kB": {Hosts: 2000, Pages: 1000, Degree: 12, CrossShare: 0.2, PageBytes: 21_800},
	} {
		b.Run(name, func(b *testing.B) {
			w := newWeb(b, o)
			q := request{method: "GET", host: "host0000.fakeweb.test"}
			var a answer
			now := time.Now()
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				h := w.host(n % o.Hosts)
				q.target = w.appendPath(q.target[:0], &h, n%o.Pages)
				w.answer(&a, &h, &q, now)
				n++
			}
		})
	}
}

// BenchmarkRequest is a whole request over loopback from the cheapest client there is, one connection at a time, log
// and all.
func BenchmarkRequest(b *testing.B) {
	w := newWeb(b, Options{Hosts: 2000, Pages: 20, Degree: 12, LogFile: b.TempDir() + "/access.log"})
	l, err := w.Listen(b.Context(), ListenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", l.Port))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 64<<10)
	n := 0
	for b.Loop() {
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: host%04d.fakeweb.test\r\nUser-Agent: bench\r\n\r\n", "/", n%2000)
		size := 0
		for {
			line, err := in.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(line) == 2 {
				break
			}
			if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				size = number(rest)
			}
		}
		if _, err := in.Discard(size); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkLatencyBound is the web of the latency-bound crawl: 2,000 hosts of 20 pages at 200 ms, one request a host at
// a time, so 10,000 pages/s at most. It reports what the web and the barest of clients reach in one process.
func BenchmarkLatencyBound(b *testing.B) {
	const hosts, pages = 2000, 20
	w := newWeb(b, Options{Hosts: hosts, Pages: pages, Degree: 12, PageBytes: 8 << 10,
		Latency: Latency{Mean: 200 * time.Millisecond}, LogFile: b.TempDir() + "/access.log"})
	l, err := w.Listen(b.Context(), ListenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var all sync.WaitGroup
		for i := range hosts {
			all.Go(func() {
				c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", l.Port))
				if err != nil {
					b.Error(err)
					return
				}
				defer c.Close()
				h := w.Host(i)
				in := bufio.NewReaderSize(c, 4<<10)
				ask := make([]byte, 0, 256)
				for n := range pages {
					ask = append(w.appendPath(append(ask[:0], "GET "...), &h, n), " HTTP/1.1\r\nHost: "...)
					ask = append(append(ask, h.Name...), "\r\nUser-Agent: bench\r\n\r\n"...)
					if _, err := c.Write(ask); err != nil {
						b.Error(err)
						return
					}
					size := 0
					for {
						line, err := in.ReadSlice('\n')
						if err != nil {
							b.Error(err)
							return
						}
						if len(line) == 2 {
							break
						}
						if rest, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
							size = number(rest)
						}
					}
					if _, err := in.Discard(size); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(hosts*pages*b.N)/b.Elapsed().Seconds(), "pages/s")
}
