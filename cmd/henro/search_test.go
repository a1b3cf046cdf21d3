package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/cmd/config"
	"henro/store/archive/warc"
	"henro/store/report/search"
)

// The index is made of the WARC files of a crawl when somebody asks for it, takes in those that came since, and finds
// each version by what it said.
func TestAnArchiveIsSearched(t *testing.T) {
	dir := changingSite(t)
	run := func(change func(*searchFlags), words string) string {
		t.Helper()
		f := searchFlags{}
		f.q.Most = 20
		if change != nil {
			change(&f)
		}
		var out bytes.Buffer
		if err := f.run(t.Context(), dir, words, &out, io.Discard); err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		return out.String()
	}
	f := &searchFlags{q: search.Question{Most: 1}}
	if err := f.run(t.Context(), dir, "rain", io.Discard, io.Discard); config.Code(err) != config.ExitUsage {
		t.Errorf("without an index: %v", err)
	}
	// a file that comes later
	files, err := filepath.Glob(filepath.Join(dir, "warc", "henro-*.warc.gz"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	last := files[len(files)-1]
	aside := filepath.Join(t.TempDir(), filepath.Base(last))
	if err := os.Rename(last, aside); err != nil {
		t.Fatal(err)
	}
	index := func(f *searchFlags) { f.index = true }
	run(index, "")
	if got := run(nil, "rise"); strings.Count(got, "http://") != 1 || !strings.Contains(got, "1%") {
		t.Errorf("before the last file: %s", got)
	}
	if err := os.Rename(aside, last); err != nil {
		t.Fatal(err)
	}
	if got := run(index, ""); !strings.HasPrefix(got, "10 versions") {
		t.Errorf("with the last file: %s", got)
	}
	if got := run(index, ""); !strings.HasPrefix(got, "0 versions") {
		t.Errorf("without a new one: %s", got)
	}
	if got := run(func(f *searchFlags) { f.q.Versions = true }, `"prices rise"`); strings.Count(got, "http://") != 2 {
		t.Errorf("both versions: %s", got)
	}
	if got := run(nil, "晴れ"); !strings.Contains(got, "http://news.example/2  2000-01-01") {
		t.Errorf("what a page said once: %s", got)
	}
	later := func(f *searchFlags) {
		if err := (*moments)(&f.q.From).Set("2000-01-02"); err != nil {
			t.Error(err)
		}
	}
	if got := run(later, "晴れ"); got != "nothing found\n" {
		t.Errorf("and does not say any more: %s", got)
	}
}

var searchPages = flag.Int("search-pages", 2000, "pages of the archive that BenchmarkSearch searches")

// How long an index takes to be made of an archive, how large it is, and how long questions take:
//
//	go test ./cmd/henro -run - -bench Search -benchtime 1x -search-pages 60000
func BenchmarkSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	zipf := rand.NewZipf(r, 1.1, 3, 50_000)
	word := func() string {
		n := zipf.Uint64()
		var w []byte
		for n += 20; n > 0; n /= 20 {
			w = append(w, "etaoinshrdlucmfwypvb"[n%20])
		}
		return string(w)
	}
	kanji := rand.NewZipf(r, 1.05, 20, 2000)
	dir := b.TempDir()
	o := warc.DefaultWriterOptions()
	o.Dir, o.Prefix = filepath.Join(dir, "warc"), "bench"
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		b.Fatal(err)
	}
	writer, err := warc.NewWriter(o)
	if err != nil {
		b.Fatal(err)
	}
	builder, err := warc.NewBuilder(o.Records)
	if err != nil {
		b.Fatal(err)
	}
	bytesOfText := 0
	for i := range *searchPages {
		var text strings.Builder
		if i%2 == 0 {
			for range 100 + r.IntN(800) {
				text.WriteString(word() + " ")
			}
		} else {
			for n := range 300 + r.IntN(2000) {
				text.WriteRune('一' + rune(kanji.Uint64()))
				if n%23 == 22 {
					text.WriteString("。")
				}
			}
		}
		bytesOfText += text.Len()
		body := fmt.Appendf(nil, "<html><title>Page %d</title><body><p>%s</p>", i, text.String())
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"+
			"Content-Length: %d\r\n\r\n", len(body))
		x := &warc.Exchange{URI: fmt.Sprintf("http://site%d.example/%d", i%100, i),
			IP: netip.MustParseAddr("192.0.2.1"), At: time.Unix(1.7e9+int64(i), 0),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Head: head, Body: body,
			Payload: body, PayloadDigest: warc.Sum(body)}
		records, _ := builder.AppendExchange(nil, x)
		if _, err := writer.Append(records); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := writer.Finish(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		os.Remove(filepath.Join(dir, search.Name))
		begun := time.Now()
		f := searchFlags{index: true, q: search.Question{Most: 20}}
		if err := f.run(context.Background(), dir, "", io.Discard, io.Discard); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s/build")
		info, err := os.Stat(filepath.Join(dir, search.Name))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/1e6, "MB")
		b.ReportMetric(float64(bytesOfText)/1e6, "MB/text")
		index, err := search.Open(context.Background(), dir, false)
		if err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for i := range 400 {
			question := word() + " " + word()
			switch i % 4 {
			case 1:
				question = word()
			case 2:
				question = string([]rune{'一' + rune(kanji.Uint64()), '一' + rune(kanji.Uint64())})
			case 3:
				question = string([]rune{'一' + rune(kanji.Uint64()), '一' + rune(kanji.Uint64()),
					'一' + rune(kanji.Uint64())})
			}
			begun := time.Now()
			if _, err := index.Search(context.Background(), search.Question{Words: question, Most: 20}); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begun))
		}
		index.Close()
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/p50")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms/p99")
	}
}
