//go:build unix

package warc_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"henro/store/archive/warc"
)

// page is some 29 kB of text with the redundancy of a page.
func page(b *testing.B) []byte {
	var all []byte
	for _, name := range []string{"writer_test.go", "builder_test.go", "reader.go"} {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// BenchmarkExchange is what a page costs until it is on the disk, beside its floor: the bare compressor over the same
// bytes, whose output is thrown away. Built is the records of an exchange in memory; written is these appended to a
// file that is synced every 4 MB, as the Archivist does.
func BenchmarkExchange(b *testing.B) {
	page := page(b)
	// Processor time hardly depends on what else the machine does; the time of the clock does.
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	each := func(name string, run func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			start := used()
			run(b)
			b.ReportMetric(float64(used()-start)/1e3/float64(b.N), "cpu-µs/page")
		})
	}
	small := make([]byte, 2500) // a picture
	draw := rand.NewChaCha8([32]byte{})
	_, _ = draw.Read(small)
	picture := warc.Exchange{URI: "http://docs.test/a.png", IP: lab, At: noon, Request: request, Head: plain,
		Body: small}
	stored := picture
	stored.Packed = true
	for name, x := range map[string]*warc.Exchange{"picture/compressed": &picture, "picture/stored": &stored,
		"unchanged": {URI: "http://docs.test/a", IP: lab, At: noon, Request: request,
			Head:    []byte("HTTP/1.1 304 Not Modified\r\nServer: nginx\r\nETag: \"591c2189fab837e\"\r\n\r\n"),
			Earlier: &warc.Earlier{URI: "http://docs.test/a", At: noon, Digest: warc.Sum(page), NotModified: true}},
	} {
		each(name, func(b *testing.B) {
			build, err := warc.NewBuilder(warc.DefaultOptions())
			if err != nil {
				b.Fatal(err)
			}
			var data []byte
			for b.Loop() {
				data, _ = build.AppendExchange(data[:0], x)
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
	}
	for name, o := range map[string]warc.Options{
		"gzip1": {Level: 1}, "gzip3": warc.DefaultOptions(), "gzip6": {Level: 6}, "none": {Compression: warc.None},
		"zstd3": {Compression: warc.Zstd, Level: 3},
	} {
		exchange := func() *warc.Exchange {
			return &warc.Exchange{URI: "http://docs.test/a", IP: lab, At: noon, Request: request, Head: plain,
				Body: page}
		}
		each(name+"/floor", func(b *testing.B) {
			var sink bytes.Buffer
			var to interface {
				io.WriteCloser
				Reset(io.Writer)
			}
			switch o.Compression {
			case warc.Gzip:
				to, _ = gzip.NewWriterLevel(&sink, o.Level)
			case warc.Zstd:
				to, _ = zstd.NewWriter(&sink, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(o.Level)),
					zstd.WithEncoderConcurrency(1))
			case warc.None:
				for b.Loop() {
					sink.Reset()
					sink.Write(page)
				}
				return
			}
			for b.Loop() {
				sink.Reset()
				to.Reset(&sink)
				to.Write(page)
				to.Close()
			}
		})
		each(name+"/built", func(b *testing.B) {
			build := builder(b, o)
			var dst []byte
			for b.Loop() {
				dst, _ = build.AppendExchange(dst[:0], exchange())
			}
			b.ReportMetric(float64(len(dst)), "B/capture")
		})
		each(name+"/written", func(b *testing.B) {
			build := builder(b, o)
			w := warc.DefaultWriterOptions()
			w.Dir, w.Records = b.TempDir(), o
			to, err := warc.NewWriter(w)
			if err != nil {
				b.Fatal(err)
			}
			var dst []byte
			pending := 0
			for b.Loop() {
				dst, _ = build.AppendExchange(dst[:0], exchange())
				if _, err := to.Append(dst); err != nil {
					b.Fatal(err)
				}
				if pending += len(dst); pending >= 4<<20 {
					if err := to.Sync(); err != nil {
						b.Fatal(err)
					}
					pending = 0
				}
			}
			if _, err := to.Finish(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
