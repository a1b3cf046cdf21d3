package audit

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// archived makes a WARC file of 40 captures, and its index.
func archived(t *testing.T, compression warc.Compression) (file, index string) {
	t.Helper()
	o := warc.DefaultOptions()
	o.Compression = compression
	b, err := warc.NewBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i := range 40 {
		url := fmt.Sprintf("http://host%d.example/page%02d", i%3, i)
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: url, At: time.Unix(1_800_000_000+int64(i), 0),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Body: []byte(url)})
	}
	file = filepath.Join(t.TempDir(), "a"+compression.Suffix())
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cdxj.IndexFile(file); err != nil {
		t.Fatal(err)
	}
	return file, cdxj.Path(file)
}

var everyByte = flag.Bool("every-byte", false, "change every byte of a capture and of its line, not one in 17")

// A byte of an archive that is another than was written is found, in records that are packed and plain ones, but for
// those that nothing says twice: names of records, what a plain record says of itself beside its digest, and the first
// bytes of a gzip member.
func TestCheckSeesEveryByteThatChanged(t *testing.T) {
	step := 17
	if *everyByte {
		step = 1
	}
	for _, compression := range []warc.Compression{warc.Gzip, warc.None, warc.Zstd} {
		file, index := archived(t, compression)
		lines, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.SplitAfter(lines, []byte("\n"))
		e, err := cdxj.Parse(bytes.TrimSpace(all[20]))
		if err != nil {
			t.Fatal(err)
		}
		begin := len(bytes.Join(all[:20], nil))
		tried, free := 0, 0
		for name, place := range map[string][2]int{file: {int(e.Offset), int(e.Offset + e.Length)},
			index: {begin, begin + len(all[20])}} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for at := place[0]; at < place[1]; at += step {
				for _, bit := range []byte{1, 0x80} {
					damaged := bytes.Clone(data)
					damaged[at] ^= bit
					if err := os.WriteFile(name, damaged, 0o644); err != nil {
						t.Fatal(err)
					}
					tried++
					a := archive{dir: filepath.Dir(file), progress: func(string, uint64, uint64) {}}
					if err := a.files(); err != nil {
						t.Fatal(err)
					}
					switch {
					case a.count > 0:
					case name == file && saysAlone(data[place[0]:place[1]], damaged[place[0]:place[1]], at-place[0]):
						free++
					default:
						t.Errorf("%s, byte %d, bit %#x: %q is %q", filepath.Base(name), at-place[0], bit,
							data[max(0, at-20):min(len(data), at+10)], damaged[max(0, at-20):min(len(data), at+10)])
					}
				}
			}
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%v: %d bytes changed, %d of them in what nothing says twice", compression, tried, free)
	}
}

// saysAlone reports that nothing else tells what a byte of a record was.
func saysAlone(record, damaged []byte, at int) bool {
	if record[0] == 0x1f {
		// Of the head of a gzip member: the time, how well it is packed, and where. Of the last byte before its sum and
		// its length: the bits behind the end, which nobody reads, however the record's random IDs are packed.
		return at >= 4 && at < 10 || at == len(record)-9 && bytes.Equal(unpacked(record), unpacked(damaged))
	}
	line := record[bytes.LastIndexByte(record[:at+1], '\n')+1:]
	name, _, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "WARC-Record-ID", "WARC-Concurrent-To", "Content-Type", "WARC-IP-Address":
		return true
	}
	return at-(len(record)-len(line)) < len(name)+1 // the name of a field
}

// unpacked is what a gzip member holds; nil: it cannot be read.
func unpacked(member []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(member))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return text
}

// An empty index of payloads is damage, but not where a crawl lost its power when it began.
func TestAnEmptyIndexOfPayloadsIsNamed(t *testing.T) {
	file, _ := archived(t, warc.Gzip)
	begun := t.TempDir()
	for dir, damages := range map[string]int{filepath.Dir(file): 1, begun: 0} {
		if err := os.WriteFile(filepath.Join(dir, ".henro.payloads"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		a := archive{dir: dir, progress: func(string, uint64, uint64) {}}
		if err := a.files(); err != nil || a.count != damages {
			t.Errorf("begun %v: %q %v", dir == begun, a.problems, err)
		}
	}
}
