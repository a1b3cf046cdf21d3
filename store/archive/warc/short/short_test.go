package short

import (
	"bytes"
	stdlib "compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
)

// inflate reads a stream with both readers.
func inflate(t *testing.T, stream []byte) []byte {
	t.Helper()
	one, err := io.ReadAll(stdlib.NewReader(bytes.NewReader(stream)))
	if err != nil {
		t.Fatal(err)
	}
	two, err := io.ReadAll(flate.NewReader(bytes.NewReader(stream)))
	if err != nil || !bytes.Equal(one, two) {
		t.Fatalf("two readers differ: %v", err)
	}
	return one
}

// Whatever a text holds comes back: all bytes, and repeats of all lengths at all distances; also where more follows.
func TestTextsComeBack(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 7))
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	texts := [][]byte{nil, all, bytes.Repeat(all, 300)}
	for n := range 300 {
		texts = append(texts, bytes.Repeat([]byte("x"), n), []byte(strings.Repeat("GET /", 1+n)[:n]))
	}
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(draw.Uint32())
	}
	for distance := 4; distance < len(noise); distance += 1 + distance/3 {
		texts = append(texts, append(noise[:distance:distance], noise[:4+draw.IntN(300)]...))
	}
	for _, distance := range []int{farthest - 1, farthest, farthest + 1} {
		text := append([]byte("a name"), bytes.Repeat([]byte("z"), distance-len("a name"))...)
		texts = append(texts, append(text, "a name"...))
	}
	for range 1000 {
		var text []byte
		for size := draw.IntN(3000); len(text) < size; {
			if n := draw.IntN(400); len(text) > 0 && draw.IntN(3) > 0 { // a repeat of what stands somewhere before
				for from := draw.IntN(len(text)); n > 0; n-- {
					text, from = append(text, text[from]), from+1
				}
			} else {
				text = append(text, all[draw.IntN(len(all))>>draw.IntN(6)])
			}
		}
		texts = append(texts, text)
	}
	d := new(Deflater)
	for _, text := range texts {
		stream := d.Append([]byte("before"), text, true)
		if got := inflate(t, stream[len("before"):]); !bytes.Equal(got, text) {
			t.Fatalf("%q came back as %q", text, got)
		}
		stream = d.Append(d.Append(nil, text, false), text, true)
		if got := inflate(t, stream); !bytes.Equal(got, append(text[:len(text):len(text)], text...)) {
			t.Fatalf("%q twice came back as %q", text, got)
		}
	}
}

// samples are records as a crawl writes them.
func samples(t testing.TB) (all [][]byte) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no samples", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	}
	return all
}

// Texts are hardly longer than with a code of their own for each, also those that the code was not made from.
func TestTextsAreShort(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 8))
	ours, theirs := 0, 0
	d := new(Deflater)
	for _, sample := range samples(t) {
		for i, b := range sample { // other names, numbers and digests
			switch {
			case b >= '0' && b <= '9':
				sample[i] = byte('0' + draw.IntN(10))
			case b >= 'A' && b <= 'Z' && i > 0 && (sample[i-1] < 'a' || sample[i-1] > 'z') && sample[i-1] > '1':
				sample[i] = byte('A' + draw.IntN(26))
			}
		}
		var out bytes.Buffer
		if err := flate.StatelessDeflate(&out, sample, true, nil); err != nil {
			t.Fatal(err)
		}
		ours, theirs = ours+len(d.Append(nil, sample, true)), theirs+out.Len()
	}
	if ratio := float64(ours) / float64(theirs); ratio > 1.03 {
		t.Errorf("%d bytes, %.3f of the general compressor's", ours, ratio)
	}
	t.Logf("%d bytes, the general compressor's %d", ours, theirs)
}

// The code follows from the samples: symbols that are not in them have long words, those of numbers, digests and names
// of records equal ones.
func TestTheCodeFollowsFromTheSamples(t *testing.T) {
	const often = 8 // a symbol that occurs once in the samples against one that does not
	weights := [2][]int{make([]int, 286), make([]int, 30)}
	for _, ws := range weights {
		for i := range ws {
			ws[i] = 1
		}
	}
	d := new(Deflater)
	for _, sample := range samples(t) {
		d.divide(sample)
		for _, made := range d.made {
			if made.length == 0 {
				weights[0][made.literal] += often
				continue
			}
			length, _ := lengthSymbol(int(made.length))
			distance, _ := distanceSymbol(int(made.distance))
			weights[0][length], weights[1][distance] = weights[0][length]+often, weights[1][distance]+often
		}
		weights[0][endOfBlock] += often
	}
	for _, alike := range [][2]int{{'0', '9'}, {'A', 'Z'}, {'a', 'f'}} {
		of, sum := weights[0][alike[0]:alike[1]+1], 0
		for _, w := range of {
			sum += w
		}
		for i := range of {
			of[i] = sum / len(of)
		}
	}
	made := slices.Concat(huffman(weights[0]), huffman(weights[1]))
	if got := digits(made); got != lengths {
		t.Errorf("the lengths are %q", got)
	}
	bytes, last, count := announce(made)
	if bytes != header || last != headerEnd || count != headerEndBits {
		t.Errorf("the header is %+q, %#x, %d", bytes, last, count)
	}
}

func digits(lengths []uint8) string {
	var all strings.Builder
	for _, n := range lengths {
		fmt.Fprintf(&all, "%x", n)
	}
	return all.String()
}

// huffman returns the lengths of the words of a code.
func huffman(weights []int) []uint8 {
	type node struct {
		weight int
		of     []int // symbols below it
	}
	var nodes []node
	for i, weight := range weights {
		if weight > 0 {
			nodes = append(nodes, node{weight, []int{i}})
		}
	}
	lighter := func(a, b node) int { return a.weight - b.weight }
	slices.SortStableFunc(nodes, lighter)
	lengths := make([]uint8, len(weights))
	for len(nodes) > 1 {
		both := node{nodes[0].weight + nodes[1].weight, slices.Concat(nodes[0].of, nodes[1].of)}
		for _, i := range both.of {
			lengths[i]++
		}
		nodes = nodes[2:]
		at, _ := slices.BinarySearchFunc(nodes, both, lighter)
		nodes = slices.Insert(nodes, at, both)
	}
	return lengths
}

// announce makes the header of the last block: the lengths of all words in a code of their own, of which 16 says that
// the last one comes 3 to 6 times more.
func announce(lengths []uint8) (whole string, end uint64, count uint8) {
	var out []byte
	put := func(w word) {
		end |= uint64(w.bits) << count
		for count += w.count; count >= 8; count -= 8 {
			out, end = append(out, byte(end)), end>>8
		}
	}
	var steps []word // bits: the symbol; count: how many more than 3
	weights := make([]int, 19)
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		steps, weights[lengths[i]] = append(steps, word{bits: uint32(lengths[i])}), weights[lengths[i]]+1
		for left := n - 1; left > 0; {
			if left < 3 {
				steps, weights[lengths[i]] = append(steps, word{bits: uint32(lengths[i])}), weights[lengths[i]]+1
				left--
				continue
			}
			more := min(left, 6)
			steps, weights[16] = append(steps, word{16, uint8(more - 3)}), weights[16]+1
			left -= more
		}
		i += n
	}
	sizes := huffman(weights)
	put(word{1 | 2<<1, 3})
	put(word{286 - 257, 5})
	put(word{30 - 1, 5})
	put(word{19 - 4, 4})
	for _, at := range [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		put(word{uint32(sizes[at]), 3})
	}
	code := words(digits(sizes))
	for _, s := range steps {
		put(code[s.bits])
		if s.bits == 16 {
			put(word{uint32(s.count), 2})
		}
	}
	return string(out), end, count
}

func BenchmarkShort(b *testing.B) {
	all := samples(b)
	d, size := new(Deflater), 0
	var dst []byte
	for b.Loop() {
		size = 0
		for _, sample := range all {
			dst = d.Append(dst[:0], sample, true)
			size += len(dst)
		}
	}
	b.ReportMetric(float64(size)/float64(len(all)), "bytes")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/text")
}
