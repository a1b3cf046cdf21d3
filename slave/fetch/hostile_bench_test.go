//go:build unix

package fetch

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"henro/cmd/fakeweb"
	"henro/cmd/fakeweb/hostile"
)

// BenchmarkHostileHosts measures, over real sockets, what 32 connections to hosts of one kind do to a client, each with
// a second between its requests, a fifth of the default interval: the memory that each takes at most, on the heap and
// of the budget, and the pace of 20 ordinary hosts beside them. Pace is the median time of an ordinary fetch beside the
// hostile ones, as a multiple of that without them. One round of each is enough:
//
//	go test ./slave/fetch -run '^$' -bench HostileHosts -benchtime 1x
func BenchmarkHostileHosts(b *testing.B) {
	for _, kind := range []hostile.Kind{
		"silent", "drip", "stall", "endless-body", "endless-chunks", "endless-headers", "gzip-bomb", "zstd-bomb",
		"brotli-bomb",
		"redirect-loop", "redirect-private", "million-links", "long-links", "nuls", "length-long", "length-twice",
		"chunk-nonsense", "http09",
		"tls-stall", "reset-body", "calendar", "maze", "soft-404",
	} {
		b.Run(string(kind), func(b *testing.B) { meetHostile(b, kind) })
	}
}

func meetHostile(b *testing.B, kind hostile.Kind) {
	const connections = 32
	good, bad := serveApart(b, ""), serveApart(b, kind)
	c := newClient(b, func(o *Options) {
		o.Resolve = append(good.Resolve, bad.Resolve...)
		o.TotalTimeout, o.IdleTimeout, o.ConnectTimeout = 4*time.Second, 2*time.Second, 2*time.Second
	})
	fetch := func(url string) time.Duration {
		began := time.Now()
		r := visit(b, c, url)
		r.Release()
		return time.Since(began)
	}
	ordinary := func() time.Duration { // the median of 150 fetches of each ordinary host, some 3 s
		var mu sync.Mutex
		var took []time.Duration
		var all sync.WaitGroup
		for _, seed := range good.Seeds {
			all.Go(func() {
				for range 150 {
					t := fetch(seed)
					mu.Lock()
					took = append(took, t)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		return took[len(took)/2]
	}
	ordinary()
	for range b.N {
		alone := ordinary()
		runtime.GC()
		before := heap()
		var peak atomic.Uint64
		ctx, stop := context.WithCancel(b.Context())
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				peak.Store(max(peak.Load(), heap()+uint64(c.Reserved())))
				time.Sleep(2 * time.Millisecond)
			}
		})
		url := bad.Seeds[0]
		for range connections {
			all.Go(func() {
				for ctx.Err() == nil {
					fetch(url)
					select {
					case <-ctx.Done():
					case <-time.After(time.Second):
					}
				}
			})
		}
		beside := ordinary()
		stop()
		all.Wait()
		b.ReportMetric(float64(max(peak.Load(), before)-before)/connections/1024, "kB/fetch")
		b.ReportMetric(float64(beside)/float64(alone), "pace")
		b.ReportMetric(float64(beside.Microseconds())/1000, "ms/ordinary")
	}
}

// heap is what lies on the heap, garbage that was not collected yet with it.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// apart is a fakeweb in a process of its own, so that its memory is not measured; hostile hosts only get the processor
// when nobody else wants it, as if they were on another machine.
type apart struct{ Resolve, Seeds []string }

// serveKind tells a copy of this test which hosts to serve.
const serveKind = "HENRO_TEST_SERVES"

func serveApart(b *testing.B, kind hostile.Kind) (web apart) {
	served := exec.Command(os.Args[0], "-test.run=^TestServeApart$", "-test.bench=^$")
	served.Env = append(os.Environ(), serveKind+"="+string(kind)+";")
	in, err := served.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := served.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := served.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		served.Wait()
	})
	if err := json.NewDecoder(out).Decode(&web); err != nil {
		b.Fatal(err)
	}
	return web
}

// TestServeApart is the other process of serveApart, and nothing when it is not.
func TestServeApart(t *testing.T) {
	kind, serves := strings.CutSuffix(os.Getenv(serveKind), ";")
	if !serves {
		return
	}
	o := fakeweb.DefaultOptions()
	o.Seed, o.Hosts, o.Pages = 6, 20, 20
	o.Latency = fakeweb.Latency{Mean: 20 * time.Millisecond}
	if kind != "" {
		o.Hosts, o.Domains, o.Guests = 1, 1, hostile.Guests(hostile.Kind(kind))
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
			t.Fatal(err)
		}
	}
	web, err := fakeweb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	at, err := web.Listen(t.Context(), fakeweb.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seeds := at.Seeds()
	if kind != "" {
		seeds = at.GuestSeeds()
	}
	if err := json.NewEncoder(os.Stdout).Encode(apart{at.Resolve(), seeds}); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, os.Stdin) // until the other process ends
}
