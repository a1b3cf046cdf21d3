package warc

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	fast "github.com/klauspost/compress/gzip"
)

// unzip reads exactly one member with both readers.
func unzip(t *testing.T, member []byte) []byte {
	t.Helper()
	var texts [2][]byte
	for i, open := range []func(io.Reader) (io.ReadCloser, error){
		func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		func(r io.Reader) (io.ReadCloser, error) { return fast.NewReader(r) },
	} {
		r, err := open(bytes.NewReader(member))
		if err != nil {
			t.Fatal(err)
		}
		if texts[i], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Fatal("two readers differ")
	}
	return texts[0]
}

// Whatever a record holds comes back: all bytes, all lengths, repeats of all lengths at all distances.
func TestShortRecordsComeBack(t *testing.T) {
	s := short{code: newShortCode()}
	rnd := rand.New(rand.NewPCG(1, 7))
	var texts [][]byte
	all := []byte("\r\n")
	for c := byte(' '); c <= '~'; c++ {
		all = append(all, c)
	}
	texts = append(texts, nil, all, bytes.Repeat(all, shortRecord/len(all)))
	for n := range 300 {
		texts = append(texts, bytes.Repeat([]byte("x"), n), []byte(strings.Repeat("GET /", 1+n)[:n]))
	}
	for range 2000 {
		text := make([]byte, 0, shortRecord)
		for len(text) < shortRecord {
			if n := rnd.IntN(400); len(text) > 0 && rnd.IntN(3) > 0 { // a repeat of what stands somewhere before
				from := rnd.IntN(len(text))
				for i := 0; i < n && len(text) < shortRecord; i++ {
					text = append(text, text[from+i])
				}
			} else {
				text = append(text, all[rnd.IntN(len(all))>>rnd.IntN(6)])
			}
		}
		texts = append(texts, text[:rnd.IntN(shortRecord+1)])
	}
	for _, text := range texts {
		head := rnd.IntN(len(text) + 1)
		member, ok := s.append([]byte("before"), text[:head], text[head:])
		if !ok {
			t.Fatalf("no words for %q", text)
		}
		if got := unzip(t, member[len("before"):]); !bytes.Equal(got, text) {
			t.Fatalf("%q came back as %q", text, got)
		}
	}
	for c := range 256 {
		if _, ok := s.append(nil, []byte{byte(c)}); ok != bytes.Contains(all, []byte{byte(c)}) {
			t.Errorf("byte %d: %v", c, ok)
		}
	}
}

// No word is longer than deflate allows, and there is none more to be had.
func TestTheCodeIsFull(t *testing.T) {
	code := newShortCode()
	for _, words := range [][]symbol{code.literals[:], code.distances[:]} {
		room := 0.0 // a code that is not full is refused by zlib
		for i, word := range words {
			if word.count > 15 || word.count == 0 && i >= endOfBlock {
				t.Errorf("symbol %d has %d bits", i, word.count)
			}
			if word.count > 0 {
				room += 1 / float64(int(1)<<word.count)
			}
		}
		if room != 1 {
			t.Errorf("the words take %g of the room", room)
		}
	}
}

// exchanges are the records of n visits that found nothing changed.
func exchanges(n int) []*Exchange {
	rnd := rand.New(rand.NewPCG(1, 8))
	all := make([]*Exchange, n)
	for i := range all {
		uri := fmt.Sprintf("https://w%d.example.net/%x/a-page-%d.html", i%7, rnd.Uint32(), i)
		at := time.Unix(1_900_000_000+rnd.Int64N(1e8), 0)
		all[i] = &Exchange{URI: uri, At: at,
			Request: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: w%d.example.net\r\nUser-Agent: crawler/2.1 "+
				"(+mailto:me@example.net)\r\nAccept: */*\r\nAccept-Encoding: gzip\r\nIf-None-Match: \"%x\"\r\n\r\n",
				uri[22:], i%7, rnd.Uint64()),
			Head: fmt.Appendf(nil, "HTTP/1.1 304 Not Modified\r\nDate: %s\r\nServer: Apache/2.4.62 (Debian)\r\n"+
				"Vary: Cookie\r\n\r\n", at.UTC().Format(time.RFC1123)),
			Earlier: &Earlier{URI: uri, At: at.Add(-time.Hour), Digest: Sum([]byte(uri)), NotModified: true},
			About:   []Field{{"fetchTimeMs", fmt.Sprint(rnd.IntN(300))}, {"hostVerdict", "feasible"}}}
	}
	return all
}

// Records that the code was not made from are hardly longer than with a code of their own for each.
func TestShortRecordsAreShort(t *testing.T) {
	o := DefaultOptions()
	ours, err := NewBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := NewBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	theirs.short.code = nil
	sums := [2]int{}
	for i, b := range []*Builder{ours, theirs} {
		for _, x := range exchanges(500) {
			members, _ := b.AppendExchange(nil, x)
			sums[i] += len(members)
		}
	}
	if ratio := float64(sums[0]) / float64(sums[1]); ratio > 1.04 {
		t.Errorf("%.3f of what level %d makes", ratio, o.Level)
	}
	t.Logf("%d bytes an exchange, level %d: %d", sums[0]/500, o.Level, sums[1]/500)
}

func BenchmarkUnchanged(b *testing.B) {
	builder, err := NewBuilder(DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	all := exchanges(100)
	for name, code := range map[string]*shortCode{"short": newShortCode(), "general": nil} {
		builder.short.code = code
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var room []byte
			for i := 0; b.Loop(); i++ {
				room, _ = builder.AppendExchange(room[:0], all[i%100])
			}
		})
	}
}
