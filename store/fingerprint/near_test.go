package fingerprint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Texts of which some words were changed are as like as the sets of their shingles are, whatever their length.
func TestSketchesTellHowLikeTextsAre(t *testing.T) {
	for _, length := range []int{60, 400, 3000, 12000} {
		for _, share := range []float64{0.002, 0.01, 0.02} { // of the words: up to three shingles each
			found, pairs, sum := 0, 0, 0.0
			for i := range uint64(20) {
				rnd := rand.New(rand.NewPCG(i, uint64(length)))
				words := make([]string, length)
				for j := range words {
					words[j] = fmt.Sprint(rnd.IntN(length))
				}
				var s Nearer
				sim, a := s.Sketch([]byte(strings.Join(words, " ")))
				if sim != Sim([]byte(strings.Join(words, " "))) {
					t.Fatal("another SimHash")
				}
				before := shinglesOf(words)
				for j := range int(math.Ceil(share * float64(length))) {
					words[int(float64(j)/share)%length] = fmt.Sprint("other ", j)
				}
				_, b := s.Sketch([]byte(strings.Join(words, " ")))
				after, both := shinglesOf(words), 0
				for shingle := range after {
					if before[shingle] {
						both++
					}
				}
				like := float64(both) / float64(len(before)+len(after)-both)
				if estimated := a.Likeness(&b); estimated == 0 && a.Level != b.Level {
					continue // samples of two levels
				} else if estimated < like-0.06 || estimated > like+0.06 {
					t.Errorf("%d words: %.3f is estimated as %.3f", length, like, estimated)
				} else {
					sum += estimated - like
				}
				pairs++
				for k := range a.Bands {
					if a.Bands[k] == b.Bands[k] {
						found++
						break
					}
				}
			}
			if pairs < 12 || found < pairs*9/10 || math.Abs(sum/float64(pairs)) > 0.01 {
				t.Errorf("%d words, %g changed: of %d pairs %d share a band, mean error %.4f", length, share, pairs,
					found, sum/float64(pairs))
			}
		}
	}
}

func shinglesOf(words []string) map[string]bool {
	words = strings.Fields(strings.Join(words, " "))
	set := map[string]bool{}
	for i := 2; i < len(words); i++ {
		set[strings.Join(words[i-2:i+1], " ")] = true
	}
	return set
}

// Samples that differ in every bit, or in half of them, are not alike at all.
func TestSketchesThatHaveNothingInCommon(t *testing.T) {
	for bits, word := range map[string]uint64{"every": math.MaxUint64, "half": math.MaxUint32} {
		a, b := Near{Count: 9}, Near{Count: 9}
		for i := range b.Odd {
			b.Odd[i] = word
		}
		if is := a.Likeness(&b); is != 0 {
			t.Errorf("%s bit: %v", bits, is)
		}
	}
}

func TestSketchesAsBytes(t *testing.T) {
	var s Nearer
	_, n := s.Sketch([]byte(strings.Repeat("a pilgrim walks the same round of temples ", 2) + "毎年同じ寺を巡る"))
	b := n.Append(nil)
	if got, ok := NearOf(b); !ok || got != n || len(b) != NearSize {
		t.Errorf("%+v %v, not %+v", got, ok, n)
	}
	if n.Count != 16 || n.Level != 0 || fmt.Sprintf("%x", b) != golden {
		t.Errorf("%d shingles at %d: %x", n.Count, n.Level, b) // on disk: must never change
	}
	if like := n.Likeness(&n); like != 1 {
		t.Errorf("it is like itself by %g", like)
	}
	for _, bad := range [][]byte{nil, b[1:], append(make([]byte, 34), b[34:]...)} {
		if _, ok := NearOf(bad); ok {
			t.Errorf("%x is taken", bad)
		}
	}
	if _, few := s.Sketch([]byte("two words")); few.Count != 0 || few.Likeness(&few) != 0 {
		t.Errorf("a sketch of two words: %+v", few)
	}
}

// golden is the sketch of a text, on disk.
const golden = "00001080000100001000000004004000000000000220400000084000000002001000001d21c7ceb42058c570aec7d0845e0940"

func BenchmarkNear(b *testing.B) {
	rnd := rand.New(rand.NewPCG(4, 4))
	page := []byte(strings.Join(text(rnd, vocabulary("abcdefghijklmnopqrstuvwxyz", 3000), 2000, " "), ""))
	b.SetBytes(int64(len(page)))
	var s Nearer
	for b.Loop() {
		s.Sketch(page)
	}
}
