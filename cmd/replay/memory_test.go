package replay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/sirupsen/logrus"

	"henro/store/archive/captures"
	"henro/store/archive/warc"
)

// greedy are captures that want as much memory as they can have: heads and bodies. Those that are large are coded, as
// they would be on a disk.
func greedy() (heads []string, bodies [][]byte) {
	const size = 9 << 20
	fill := func(before, piece, after string) string {
		return before + strings.Repeat(piece, size/len(piece)) + after
	}
	long := strings.Repeat("x", 2000)
	for _, c := range [][2]string{
		{"text/html", fill(`<p title="`, "x", `">`)},
		{"text/html", fill(`<img srcset="`, "http:a 1x,", `">`)},
		{"text/html", `<base href="http://h.test/` + long + `/"><img srcset="` + strings.Repeat("http:a 1x,", 22000) +
			`">`},
		{"text/html", `<base href="http://h.test/` + long + `/"><p` +
			strings.Repeat(` style="`+strings.Repeat("url(http:a)", 22000)+`"`, 20) + `>`},
		{"text/html", fill("<style>", "url(http:a)", "</style>")},
		{"text/html", fill("<script>", "x", "</script>")},
		{"text/html", fill("<noscript>", "<noscript>", "")},
		{"text/html", fill("<noscript>", "<a href=http:/x>", "</noscript>")},
		{"text/html", fill(`<iframe srcdoc="`, "&lt;a href=http:/x>", `">`)},
		{"text/html", fill("<", "a b=c ", "")},
		{"text/html", fill("<!--", "-", "")},
		{"text/html", fill("", "&", "")},
		{"text/html; charset=iso-2022-jp", fill("", "a", "")},
		{"text/html; charset=utf-16le", fill("", "<\x00a\x00>\x00", "")},
		{"text/css", fill("", "url(http:a)", "")},
		{"text/css", fill("/*", "*", "")},
		{"image/svg+xml", fill("<svg ", "a='b' ", "")},
	} {
		for i, coding := range []string{"zstd", "br"} {
			if i > 0 && len(c[1]) > size/2 && c[0] != "text/css" {
				continue // one of each kind is enough
			}
			var b bytes.Buffer
			var w io.WriteCloser
			switch coding {
			case "br":
				w = brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 1, LGWin: 24})
			case "zstd":
				w, _ = zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(8<<20))
			}
			io.WriteString(w, c[1])
			w.Close()
			heads = append(heads, "200 OK\r\nContent-Type: "+c[0]+"\r\nContent-Encoding: "+coding)
			bodies = append(bodies, b.Bytes())
		}
	}
	return heads, bodies
}

// TestGreedyCapturesAreShownInBoundedMemory asks for all of them at once, several times.
func TestGreedyCapturesAreShownInBoundedMemory(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.Options{Compression: warc.None})
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	heads, bodies := greedy()
	for i := range heads {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: fmt.Sprintf("http://h.test/%d", i), At: noon,
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Head: []byte("HTTP/1.1 " + heads[i] + "\r\n\r\n"),
			Body: bodies[i]})
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	data, bodies = nil, nil
	a, err := captures.Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	log := logrus.New()
	log.SetOutput(io.Discard)
	s := NewServer(a, Options{}, logrus.NewEntry(log))
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // so that what is measured is held, and no garbage
	runtime.GC()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	before := heap[0].Value.Uint64()
	var all sync.WaitGroup
	step := 1
	if testing.Short() { // with the detector of races
		step = 3
	}
	for i := 0; i < len(heads); i += step {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/web/2026mp_/http://h.test/%d", i), nil)
			r.Host = "127.0.0.1"
			w := &counted{header: http.Header{}}
			if s.ServeHTTP(w, r); w.n < 1<<20 {
				t.Errorf("capture %d: %d bytes are shown", i, w.n)
			}
		})
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	most := uint64(0)
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-time.After(20 * time.Millisecond):
		}
		metrics.Read(heap)
		most = max(most, heap[0].Value.Uint64())
	}
	most -= min(most, before)
	t.Logf("%d captures at once: %d MB at most", len(heads), most>>20)
	if most > 2*memory {
		t.Errorf("%d MB are held, want at most %d", most>>20, 2*memory>>20)
	}
}

// counted is an answer that is thrown away.
type counted struct {
	header http.Header
	n      int
}

func (c *counted) Header() http.Header { return c.header }
func (c *counted) WriteHeader(int)     {}
func (c *counted) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}
