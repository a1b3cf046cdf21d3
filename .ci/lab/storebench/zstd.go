package main

import (
	"bufio"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"henro/store"
	"henro/store/timequeue"
)

// zstdBench tries compressed chunks: what they would save, and what they would cost each revisit, which reads its old
// chunk and appends to another.
func zstdBench(b *bench) error {
	c := &crawl{p: newPopulation(60_000, b.seed)}
	urls := []string{}
	if b.in != "" {
		f, err := os.Open(b.in)
		if err != nil {
			return err
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan() && len(urls) < 60_000; {
			urls = append(urls, lines.Text())
		}
	}
	// The records of one slot come from all over the crawl, so a chunk holds unrelated ones.
	p, err := store.Open(filepath.Join(b.dir, "p000.db"), store.DefaultOptions())
	if err != nil {
		return err
	}
	defer p.Close()
	now := time.Unix(int64(startMinute)*60, 0)
	var chunks [][]byte
	chunk := timequeue.NewChunk(nil)
	records := 0
	for i := range uint32(60_000) {
		page := c.page(i*7919%60_000, startMinute*60+i)
		if len(urls) > 0 {
			page.URL = urls[int(i)*7919%len(urls)]
		}
		page.Number, page.LastVisit, page.CapturedAt = uint64(i)*31,
			now.Add(-time.Duration(mix(uint64(i))%1e6)*time.Second),
			now.Add(-time.Duration(mix(uint64(i))%1e7)*time.Second)
		rec := store.AppendRecord(nil, &page)
		if len(chunk)+len(rec)+2 > timequeue.MaxChunk {
			chunks = append(chunks, chunk)
			chunk = timequeue.NewChunk(nil)
		}
		chunk = chunk.Add(rec)
		records++
	}
	half := len(chunks) / 2
	dictionary, err := dict.BuildZstdDict(chunks[:min(half, 1500)],
		dict.Options{MaxDictSize: 32 << 10, HashBytes: 6, ZstdDictID: 1, ZstdLevel: zstd.SpeedDefault})
	if err != nil {
		return err
	}
	sample := chunks[half:]
	perRecord := float64(len(chunks)) / float64(records)
	row("bench", "codec", "bytes/record", "share", "encode µs/chunk", "decode µs/chunk",
		"records/chunk of 1.9 kB plain")
	plain := 0
	for _, c := range sample {
		plain += len(c)
	}
	try := func(name string, encode func([]byte) []byte, decode func([]byte) error) error {
		packed, size := make([][]byte, len(sample)), 0
		start := time.Now()
		for i, c := range sample {
			packed[i] = encode(c)
			size += len(packed[i])
		}
		enc := time.Since(start)
		start = time.Now()
		for _, c := range packed {
			if err := decode(c); err != nil {
				return err
			}
		}
		dec := time.Since(start)
		n := float64(len(sample))
		row("zstd", name, float64(size)/n*perRecord, float64(size)/float64(plain), float64(enc.Microseconds())/n,
			float64(dec.Microseconds())/n, 1/perRecord)
		return nil
	}
	if err := try("plain", func(c []byte) []byte { return c }, func([]byte) error { return nil }); err != nil {
		return err
	}
	if err := try("s2", func(c []byte) []byte { return s2.Encode(nil, c) },
		func(c []byte) error { _, err := s2.Decode(nil, c); return err }); err != nil {
		return err
	}
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBestCompression} {
		for _, with := range []string{"", " with dictionary"} {
			eo := []zstd.EOption{zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
				zstd.WithEncoderCRC(false)}
			do := []zstd.DOption{zstd.WithDecoderConcurrency(1)}
			if with != "" {
				eo, do = append(eo, zstd.WithEncoderDict(dictionary)), append(do, zstd.WithDecoderDicts(dictionary))
			}
			enc, err := zstd.NewWriter(nil, eo...)
			if err != nil {
				return err
			}
			dec, err := zstd.NewReader(nil, do...)
			if err != nil {
				return err
			}
			var scratch []byte
			if err := try("zstd "+level.String()+with, func(c []byte) []byte { return enc.EncodeAll(c, nil) },
				func(c []byte) error {
					var err error
					scratch, err = dec.DecodeAll(c, scratch[:0])
					return err
				}); err != nil {
				return err
			}
			dec.Close()
		}
	}
	return nil
}
