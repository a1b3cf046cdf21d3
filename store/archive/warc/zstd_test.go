package warc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"henro/store/archive/warc"
)

// dictionary is raw content, which zstd takes as one too, in the form of a trained one: with an ID and tables it would
// need a trainer, so one is made from samples.
func dictionary(t testing.TB) []byte {
	var samples [][]byte
	for i := range 200 {
		samples = append(samples,
			fmt.Appendf(nil,
				"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: http://docs.test/%d\r\nContent-Length: %d\r\n\r\n",
				i*7919, i))
	}
	d, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 20_000, Contents: samples,
		History: bytes.Join(samples[:40], nil), Level: zstd.SpeedDefault, Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestADictionaryOfOthersIsUsed reads a file as other tools write them: the dictionary in a skippable frame, itself
// compressed or not, then the records.
func TestADictionaryOfOthersIsUsed(t *testing.T) {
	d := dictionary(t)
	packed, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, stored := range map[string][]byte{"plain": d, "compressed": packed.EncodeAll(d, nil)} {
		with, err := zstd.NewWriter(nil, zstd.WithEncoderDict(d))
		if err != nil {
			t.Fatal(err)
		}
		file := binary.LittleEndian.AppendUint32([]byte{0x5d, 0x2a, 0x4d, 0x18}, uint32(len(stored)))
		file = append(file, stored...)
		var at []int
		for _, record := range members(t, warc.Options{Compression: warc.None}, 5) {
			at = append(at, len(file))
			file = with.EncodeAll(record, file)
		}
		var got []int
		w, err := warc.Walk(bytes.NewReader(file), func(e *warc.Entry) error {
			got = append(got, int(e.Offset))
			return nil
		})
		if err != nil || w.Records != 5 || len(w.Damaged) > 0 || fmt.Sprint(got) != fmt.Sprint(at) {
			t.Errorf("%s: %+v %v, records at %v, want %v", sentence, w, err, got, at)
		}
		for i, offset := range at {
			e, err := warc.At(bytes.NewReader(file), int64(offset))
			if err != nil || e.TargetURI() != fmt.Sprintf("http://docs.test/%d", i) || e.Offset != int64(offset) {
				t.Fatalf("%s: record %d by its offset: %v", sentence, i, err)
			}
			if _, err := io.Copy(io.Discard, e); err != nil || e.Close() != nil {
				t.Errorf("%s: record %d: %v", sentence, i, err)
			}
		}
	}
}

// TestAFrameThatIsNoneIsDamage: cut short, followed by something else, or a dictionary that would take all memory.
func TestAFrameThatIsNoneIsDamage(t *testing.T) {
	skipped := func(kind uint32, size uint32, rest string) string {
		head := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, kind), size)
		return string(head) + rest
	}
	const other, ofDictionary = 0x184d2a50, 0x184d2a5d
	record := string(members(t, warc.Options{Compression: warc.Zstd, Level: 3}, 1)[0])
	for sentence, c := range map[string]struct {
		file string
		long bool
	}{
		"a head cut short":          {skipped(other, 1, "")[:6], false},
		"less than it says":         {skipped(other, 9, "x"), false},
		"nothing behind it":         {skipped(other, 1, "x"), false},
		"something else behind it":  {skipped(other, 1, "xWARC/1.1\r\n\r\n"), false},
		"no frame, then a record":   {skipped(other, 1, "x"+skipped(0x43524157, 0, record)), false},
		"a dictionary cut short":    {skipped(ofDictionary, 9, "x"), false},
		"a dictionary of 16 MB":     {skipped(ofDictionary, 16<<20+1, "x"), true},
		"a dictionary of all there": {skipped(ofDictionary, 1<<32-1, "x"), true},
	} {
		_, err := warc.NewReader(bytes.NewReader([]byte(c.file))).Next()
		if !errors.Is(err, warc.ErrDamaged) || errors.Is(err, warc.ErrTooLarge) != c.long {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}
