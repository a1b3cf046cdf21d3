// Command near judges sketches of texts that tell near-duplicates: which pairs of pages each of them finds is compared
// with an exhaustive comparison, in which pages are near when the sets of their shingles (three words in a row) have a
// Jaccard similarity of at least 0.9.
//
//	near [-most N] FOLDER…     the HTML files below the folders; pages with equal texts count as one
//
// The comparison is exhaustive by a filter that loses nothing: two sets of that similarity share one of their rarest
// shingles, as many of these as the similarity leaves room for (Bayardo, Ma, Srikant: Scaling up all pairs similarity
// search, 2007). A page is near when there is an earlier page that it is near to; a sketch finds it when the page that
// the sketch takes for the nearest earlier one is near indeed.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cespare/xxhash/v2"

	"henro/slave/charset"
	"henro/slave/links"
	"henro/store/fingerprint"
)

const similar = 0.9

type page struct {
	path string
	text []byte
	near fingerprint.Near
	set  []uint64 // digests of its shingles, each once, in order
}

func main() {
	most := flag.Int("most", 20000, "pages that are compared")
	flag.Parse()
	pages, err := read(flag.Args(), *most)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	started := time.Now()
	truth := exhaustive(pages)
	pairs, near := 0, 0
	for _, earlier := range truth {
		pairs += len(earlier)
		near += min(1, len(earlier))
	}
	words := 0
	for i := range pages {
		words += len(pages[i].set)
	}
	fmt.Printf("%d pages with %d different shingles in the mean; %d pairs are near, and %d pages are near to an "+
		"earlier one (%.0f s)\n\n", len(pages), words/len(pages), pairs, near, time.Since(started).Seconds())
	fmt.Printf("%-34s %10s %10s %10s %10s %10s %8s\n", "sketch", "marked", "precision", "recall", "pairs", "bytes",
		"µs")
	for _, s := range sketches() {
		judge(pages, truth, near, s)
	}
}

func read(folders []string, most int) (pages []page, err error) {
	seen := map[uint64]bool{}
	var d links.Document
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, ".htm") {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return nil // a link to nothing
			}
			name, _ := charset.Detect("text/html", b)
			text, err := charset.Decode(b, name)
			if err != nil {
				text = b
			}
			d.Scan(text, links.DefaultOptions())
			if sum := xxhash.Sum64(d.Text); !seen[sum] && len(d.Text) > 0 {
				seen[sum] = true
				set := shingles(d.Text)
				slices.Sort(set)
				pages = append(pages, page{path: path, text: slices.Clone(d.Text), set: slices.Compact(set)})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	// As a crawl meets pages of several hosts: in no order.
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	return pages[:min(most, len(pages))], nil
}

// shingles are the digests of every three words in a row, of a text with fewer words that of all.
func shingles(text []byte) (all []uint64) {
	var words []string
	word := strings.Builder{}
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range string(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			end()
			words = append(words, string(r))
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			word.WriteRune(unicode.ToLower(r))
		default:
			end()
		}
	}
	end()
	for i := range max(1, len(words)-2) {
		all = append(all, xxhash.Sum64String(strings.Join(words[i:min(i+3, len(words))], " ")))
	}
	return all
}

func jaccard(a, b []uint64) float64 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common, i, j = common+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// exhaustive returns for each page the earlier ones that it is near to.
func exhaustive(pages []page) [][]int {
	df := map[uint64]int{}
	for i := range pages {
		for _, s := range pages[i].set {
			df[s]++
		}
	}
	index := map[uint64][]int{}
	truth := make([][]int, len(pages))
	compared := make([]int, len(pages))
	for i := range pages {
		set := pages[i].set
		rare := slices.Clone(set)
		slices.SortFunc(rare, func(a, b uint64) int {
			if df[a] != df[b] {
				return df[a] - df[b]
			}
			if a < b {
				return -1
			}
			return 1
		})
		for _, s := range rare[:len(rare)-int(math.Ceil(similar*float64(len(rare))))+1] {
			for _, j := range index[s] {
				if compared[j] != i+1 {
					compared[j] = i + 1
					shorter, longer := min(len(set), len(pages[j].set)), max(len(set), len(pages[j].set))
					if float64(shorter) >= similar*float64(longer) && jaccard(set, pages[j].set) >= similar {
						truth[i] = append(truth[i], j)
					}
				}
			}
			index[s] = append(index[s], i)
		}
	}
	return truth
}

// sketch is one way to tell near-duplicates.
type sketch struct {
	name  string
	bytes int
	of    func(p *page) []uint64 // the sketch proper
	bands func(p *page, s []uint64) []uint64
	like  func(a, b []uint64) float64 // estimated similarity; below least: not near
	least float64
}

func judge(pages []page, truth [][]int, near int, s sketch) {
	all := make([][]uint64, len(pages))
	started := time.Now()
	for i := range pages {
		all[i] = s.of(&pages[i])
	}
	took := time.Since(started)
	index := map[[2]uint64][]int{}
	marked, right, found, pairs, rightPairs := 0, 0, 0, 0, 0
	for i := range pages {
		best, value := -1, s.least
		compared := map[int]bool{}
		for b, key := range s.bands(&pages[i], all[i]) {
			k := [2]uint64{uint64(b), key}
			chain := index[k]
			for n := len(chain) - 1; n >= 0 && n >= len(chain)-64; n-- { // the newest 64
				j := chain[n]
				if compared[j] {
					continue
				}
				compared[j] = true
				if v := s.like(all[i], all[j]); v >= s.least {
					pairs++
					if slices.Contains(truth[i], j) {
						rightPairs++
					}
					if best < 0 || v > value {
						best, value = j, v
					}
				}
			}
			index[k] = append(chain, i)
		}
		if best >= 0 {
			marked++
			if slices.Contains(truth[i], best) {
				right++
			}
			found += min(1, len(truth[i]))
		}
	}
	fmt.Printf("%-34s %10d %10.4f %10.4f %10.4f %10d %8.1f\n", s.name, marked, float64(right)/float64(max(1, marked)),
		float64(right)/float64(near), float64(rightPairs)/float64(max(1, pairs)), s.bytes,
		float64(took.Microseconds())/float64(len(pages)))
}

// minima are the least digests of the shingles in each of n bins, which are empty where there is none; rotated from
// the next bin that is not (Shrivastava, Li: Densifying one permutation hashing, 2014).
func minima(set []uint64, n int) []uint64 {
	least := make([]uint64, n)
	for i := range least {
		least[i] = math.MaxUint64
	}
	for _, s := range set {
		bin, rest := bits.Mul64(s*0x9e3779b97f4a7c15, uint64(n))
		least[bin] = min(least[bin], rest)
	}
	for i := range least {
		for j := 1; least[i] == math.MaxUint64 && j < n; j++ {
			if v := least[(i+j)%n]; v != math.MaxUint64 && v&1<<63 == 0 {
				least[i] = (v+uint64(j)*0xff51afd7ed558ccd)&(1<<63-1) | 1<<63
			}
		}
	}
	return least
}

func mixed(values []uint64) uint64 {
	h := uint64(1)
	for _, v := range values {
		h = (bits.RotateLeft64(h, 23) ^ v) * 0xff51afd7ed558ccd
		h ^= h >> 33
	}
	return h
}

const (
	bands     = 4
	bandWidth = 3
)

func bandsOf(p *page, _ []uint64) (keys []uint64) {
	least := minima(p.set, bands*bandWidth)
	for i := range bands {
		keys = append(keys, mixed(least[i*bandWidth:][:bandWidth]))
	}
	return keys
}

// odd is an odd sketch of the set of shingles: bit h(s) is turned for each s (Mitzenmacher, Pagh, Pham: Efficient
// estimation for high similarities using odd sketches, 2014). Sets with more than most shingles are sampled by powers
// of two: what is sketched is the shingles whose digest has so many zeros at its end. The number of these follows.
func odd(set []uint64, words, most int) []uint64 {
	level := 0
	for len(set)>>level > most {
		level++
	}
	return oddAt(set, words, level)
}

func oddAt(set []uint64, words, level int) []uint64 {
	out, n := make([]uint64, words+2), uint64(0)
	for _, s := range set {
		if s&(1<<level-1) == 0 {
			bit := (s * 0x9e3779b97f4a7c15) >> 20 % uint64(64*words)
			out[bit/64] ^= 1 << (bit % 64)
			n++
		}
	}
	out[words], out[words+1] = n, uint64(level)
	return out
}

func oddLike(a, b []uint64) float64 {
	words := len(a) - 2
	if a[words+1] != b[words+1] {
		return 0
	}
	differ, n := 0, float64(64*words)
	for i := range words {
		differ += bits.OnesCount64(a[i] ^ b[i])
	}
	share := 1 - 2*float64(differ)/n
	if share <= 0 {
		return 0
	}
	difference := -n / 2 * math.Log(share)
	sum := float64(a[words] + b[words])
	return (sum - difference) / (sum + difference)
}

func sketches() (all []sketch) {
	simBands := func(_ *page, s []uint64) (keys []uint64) {
		for i := range 4 {
			keys = append(keys, s[0]>>(16*i)&0xffff)
		}
		return keys
	}
	for _, distance := range []int{3, 6} {
		all = append(all, sketch{name: fmt.Sprintf("SimHash, %d bits apart", distance), bytes: 8 + 16,
			of:    func(p *page) []uint64 { return []uint64{fingerprint.Sim(p.text)} },
			bands: simBands, least: 1 - float64(distance)/64,
			like: func(a, b []uint64) float64 { return 1 - float64(fingerprint.Distance(a[0], b[0]))/64 }})
	}
	for _, c := range []struct {
		bins, width int
	}{{64, 8}, {512, 1}, {768, 1}} {
		for _, least := range []float64{0.9, 0.92, 0.94} {
			all = append(all, sketch{name: fmt.Sprintf("MinHash %d × %d bit, from %.2f", c.bins, c.width, least),
				bytes: c.bins*c.width/8 + 16, bands: bandsOf, least: least,
				of: func(p *page) []uint64 {
					least := minima(p.set, c.bins)
					for i := range least {
						least[i] = (least[i] * 0xff51afd7ed558ccd) >> (64 - c.width)
					}
					return least
				},
				like: func(a, b []uint64) float64 {
					equal, chance := 0, math.Exp2(-float64(c.width))
					for i := range a {
						if a[i] == b[i] {
							equal++
						}
					}
					return (float64(equal)/float64(len(a)) - chance) / (1 - chance)
				}})
		}
	}
	for _, c := range []struct{ words, most int }{{4, 512}, {8, 1024}} {
		for _, least := range []float64{0.9, 0.91, 0.92} {
			all = append(all, sketch{name: fmt.Sprintf("odd %d bits of %d, from %.3f", 64*c.words, c.most, least),
				bytes: 8*c.words + 4 + 16, bands: bandsOf, least: least, like: oddLike,
				of: func(p *page) []uint64 { return odd(p.set, c.words, c.most) }})
		}
	}
	var nearer fingerprint.Nearer
	all = append(all, sketch{name: "fingerprint.Near", bytes: fingerprint.NearSize, least: fingerprint.LeastLikeness,
		of: func(p *page) []uint64 {
			_, n := nearer.Sketch(p.text)
			p.near = n
			return append(n.Odd[:], uint64(n.Count), uint64(n.Level))
		},
		bands: func(p *page, _ []uint64) (keys []uint64) {
			for _, band := range p.near.Bands {
				keys = append(keys, uint64(band))
			}
			return keys
		},
		like: func(a, b []uint64) float64 {
			x, y := near(a), near(b)
			return x.Likeness(&y)
		}})
	all = append(all, sketch{name: "bands alone, compared exactly", bands: bandsOf, least: similar})
	last := &all[len(all)-1]
	last.of = func(p *page) []uint64 { return p.set }
	last.like = jaccard
	return all
}

func near(s []uint64) fingerprint.Near {
	return fingerprint.Near{Odd: [4]uint64(s), Count: uint16(s[4]), Level: uint8(s[5])}
}
