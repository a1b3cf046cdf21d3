package proof

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"syscall"
	"testing"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// exchange is what an Archivist hands over of a page of a crawl.
func exchange(i int) ([]cdxj.Entry, warc.Members, []byte) {
	m := warc.Members{Capture: 1900, Request: 480, Metadata: 420}
	at := time.Unix(1790000000+int64(i/100), 0)
	return []cdxj.Entry{{URL: fmt.Sprintf("https://docs.example/guide/chapter/%d.html", i), At: at}}, m,
		bytes.Repeat([]byte{byte(i)}, m.Capture+m.Request+m.Metadata)
}

// What the leaves of a page cost, beside the digests of its records, which nothing spares.
func BenchmarkAdd(b *testing.B) {
	captures, m, records := exchange(1)
	b.Run("digests", func(b *testing.B) {
		begun := processor()
		for range b.N {
			for _, n := range []int{m.Capture, m.Request, m.Metadata} {
				sha256.Sum256(records[:n])
			}
		}
		report(b, processor()-begun, b.N)
	})
	b.Run("leaves", func(b *testing.B) {
		l, name := growing(b)
		b.ReportAllocs()
		begun := processor()
		for range b.N {
			l.Add(name, l.size, records, AppendParts(nil, captures, m))
		}
		b.StopTimer()
		report(b, processor()-begun, b.N)
		if l.broken || l.count != int64(3*b.N) {
			b.Fatal("leaves are lost")
		}
		l.Finish("", true)
	})
}

// growing is a log, and the name of a file that has begun.
func growing(b *testing.B) (*Log, string) {
	a := newArchive(b, warc.Gzip)
	if _, err := a.writer.Append([]byte("record")); err != nil {
		b.Fatal(err)
	}
	return a.log, a.writer.Name()
}

// What the tiles of a file cost, by the clock and of the processor.
func BenchmarkTiles(b *testing.B) {
	const pages = 20_000
	var spent time.Duration
	for range b.N {
		b.StopTimer()
		l, name := growing(b)
		for i := range pages {
			captures, m, records := exchange(i)
			l.Add(name, l.size, records, AppendParts(nil, captures, m))
		}
		b.StartTimer()
		begun := processor()
		l.Finish(name, false)
		l.ended.Wait()
		spent += processor() - begun
		b.StopTimer()
		if l.last.Size < 3*pages {
			b.Fatal("leaves are lost")
		}
		b.StartTimer()
	}
	report(b, spent, b.N*pages)
}

func report(b *testing.B, spent time.Duration, pages int) {
	b.ReportMetric(float64(spent.Nanoseconds())/float64(pages), "cpu-ns/page")
}

// processor is the time of the processor that the process has had.
func processor() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
