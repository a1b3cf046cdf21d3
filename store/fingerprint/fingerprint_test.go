package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDigestsOnDiskNeverChange(t *testing.T) {
	for url, want := range map[string]uint64{
		"":                  0xef46db3751d8e999,
		"http://a.example/": 0x5281f8bb529de3b0,
		"https://xn--r8jz45g.example/%E4%BE%8B?q=1": 0xd4d41779aa9fd5e6,
	} {
		if got := URL(url); got != want {
			t.Errorf("URL(%q) = %#x, not %#x", url, got, want)
		}
	}
	if got := Sim([]byte("a pilgrim walks the same round of temples 毎年同じ寺を巡る")); got != 0x31a11a0810457e0f {
		t.Errorf("Sim = %#x", got)
	}
}

// plainSim is the definition of Sim, by counting.
func plainSim(words []uint64) uint64 {
	var counts [64]int
	for i := 2; i < len(words); i++ {
		digest := finish(mix(mix(words[i-2], words[i-1]), words[i]))
		for b := range counts {
			counts[b] += int(digest >> b & 1)
		}
	}
	var sum uint64
	for b, n := range counts {
		if n > (len(words)-2)/2 {
			sum |= 1 << b
		}
	}
	return sum
}

func TestSimAgreesWithItsDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := 3; n < 400; n += 7 {
		var text []byte
		var words []uint64
		for range n {
			w := fmt.Sprint("w", rnd.IntN(50))
			text = append(append(text, w...), ", "...)
			h := uint64(seed)
			for _, r := range w {
				h = mix(h, uint64(r))
			}
			words = append(words, h)
		}
		if got, want := Sim(text), plainSim(words); got != want {
			t.Fatalf("%d words: %#x, not %#x", n, got, want)
		}
	}
}

func text(rnd *rand.Rand, words []string, n int, sep string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = words[min(int(rnd.ExpFloat64()*float64(len(words))/6), len(words)-1)] + sep
	}
	return all
}

func vocabulary(letters string, n int) []string {
	rnd := rand.New(rand.NewPCG(9, 9))
	runes := []rune(letters)
	words := make([]string, n)
	for i := range words {
		for range 2 + rnd.IntN(6) {
			words[i] += string(runes[rnd.IntN(len(runes))])
		}
	}
	return words
}

func TestSimTellsChangedPagesFromOtherPages(t *testing.T) {
	scripts := map[string]struct{ letters, sep string }{
		"Latin":    {"abcdefghijklmnopqrstuvwxyz", " "},
		"Japanese": {"巡礼者歩同寺毎年丁寧忘収集間隔更新時刻一二三四五六七八九十のはをにがとでもか", "。"},
		"Cyrillic": {"абвгдежзиклмнопрстуфхцчшщ", " "},
	}
	for name, script := range scripts {
		words := vocabulary(script.letters, 3000)
		rnd := rand.New(rand.NewPCG(4, 4))
		near, far, worstNear, leastFar := 0, 0, 0, 64
		const pages = 200
		for range pages {
			page := text(rnd, words, 400, script.sep)
			edited := append([]string(nil), page...)
			for range 6 { // a date, a counter, a line of the menu
				edited[rnd.IntN(len(edited))] = words[rnd.IntN(len(words))] + script.sep
			}
			a := Sim([]byte(strings.Join(page, "")))
			n := Distance(a, Sim([]byte(strings.Join(edited, ""))))
			f := Distance(a, Sim([]byte(strings.Join(text(rnd, words, 400, script.sep), ""))))
			near, far, worstNear, leastFar = near+n, far+f, max(worstNear, n), min(leastFar, f)
		}
		t.Logf("%s: edited pages differ in %.1f bits, at most %d; others in %.1f, at least %d", name,
			float64(near)/pages, worstNear, float64(far)/pages, leastFar)
		if near > 8*pages || far < 26*pages || worstNear >= leastFar {
			t.Errorf("%s: not told apart", name)
		}
	}
}

func TestSimIgnoresCaseAndPunctuation(t *testing.T) {
	if Sim([]byte("The quick, brown fox -- jumps!")) != Sim([]byte("the QUICK brown\nfox jumps")) {
		t.Error("the same words differ")
	}
	if Sim(nil) != 0 || Sim([]byte(" ,. ")) != 0 {
		t.Error("no words give a sketch")
	}
	if Sim([]byte("one")) == Sim([]byte("two")) || Sim([]byte("one two")) == Sim([]byte("two one")) {
		t.Error("short texts do not differ")
	}
}

func FuzzSim(f *testing.F) {
	f.Add([]byte("a b c 日本語 \xff\xfe"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := Sim(b); utf8.Valid(b) && got != Sim([]byte(strings.ToLower(string(b)))) &&
			!strings.ContainsFunc(string(b), func(r rune) bool { return r > 0x250 }) {
			t.Errorf("case matters: %q", b)
		}
	})
}

func BenchmarkSim(b *testing.B) {
	rnd := rand.New(rand.NewPCG(4, 4))
	page := []byte(strings.Join(text(rnd, vocabulary("abcdefghijklmnopqrstuvwxyz", 3000), 2000, " "), ""))
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		Sim(page)
	}
}
