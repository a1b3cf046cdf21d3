package topic

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Example is a page that is about the topic.
type Example struct{ Title, Text string }

const (
	// exampleTerms are taken of all examples together. With 10 the words of one example decide, 100 are ordinary words
	exampleTerms = 30
	// exampleWeight is the sum of their weights: what a person would give, some ten terms of weight 1
	exampleWeight = 10
	// titled is how often a word in the title counts
	titled = 5
	// exampleHalfway is how often a word stands in a page of which it says half as much as it can
	exampleHalfway = 5
	// longWord is the length in letters from which words are taken to say all they can: shorter ones are more common
	longWord = 8
	// fewest is how often a word must stand in the examples
	fewest = 2
)

// characteristic returns the terms that example pages have in common, the best first: words that stand often in many
// of them and are not ordinary. Of Chinese characters these are pairs, of Katakana whole runs, of scripts like Thai
// runs of four; Hiragana is grammar.
func characteristic(examples []Example) []Term {
	scores, total, spelled := map[uint64]float64{}, map[uint64]int{}, map[uint64]string{}
	for i := range examples {
		counts := map[uint64]int{}
		take := func(text string, times int) {
			eachTerm(text, func(sum uint64, term string) {
				counts[sum] += times
				if _, known := spelled[sum]; !known {
					spelled[sum] = strings.ToLower(term)
				}
			})
		}
		take(examples[i].Text, 1)
		take(examples[i].Title, titled)
		for sum, n := range counts {
			scores[sum] += float64(n) / float64(n+exampleHalfway)
			total[sum] += n
		}
	}
	for sum, term := range spelled {
		if total[sum] < fewest || ordinary[sum] {
			delete(scores, sum)
			continue
		}
		if r, _ := utf8.DecodeRuneInString(term); !spaceless(r) {
			scores[sum] *= float64(min(utf8.RuneCountInString(term), longWord)) / longWord
		}
	}
	best := slices.SortedFunc(maps.Keys(scores), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(spelled[a], spelled[b]))
	})
	best = best[:min(len(best), exampleTerms)]
	var sum float64
	for _, at := range best {
		sum += scores[at]
	}
	terms := make([]Term, len(best))
	for i, at := range best {
		terms[i] = Term{spelled[at], exampleWeight * scores[at] / sum}
	}
	return terms
}

// eachTerm calls fn for each word of a text that could be a term.
func eachTerm(text string, fn func(sum uint64, term string)) {
	words := wordsOf(text)
	for i := 0; i < len(words); i++ {
		w := words[i]
		first, _ := utf8.DecodeRuneInString(text[w.at:w.end])
		if !spaceless(first) {
			if utf8.RuneCountInString(text[w.at:w.end]) > 2 && !unicode.IsDigit(first) {
				fn(w.sum, text[w.at:w.end])
			}
			continue
		}
		script, end := scriptOf(first), i+1
		for end < len(words) && words[end].at == words[end-1].end {
			r, _ := utf8.DecodeRuneInString(text[words[end].at:])
			if scriptOf(r) != script {
				break
			}
			end++
		}
		run := words[i:end]
		i = end - 1
		switch {
		case script == unicode.Katakana && len(run) > 1 && len(run) <= maxWords:
			gram(text, run, fn)
		case script == unicode.Han:
			for j := range len(run) - 1 {
				gram(text, run[j:j+2], fn)
			}
		case script == nil:
			for j := range len(run) - 3 {
				gram(text, run[j:j+4], fn)
			}
		}
	}
}

// gram calls fn for characters in a row.
func gram(text string, run []word, fn func(sum uint64, term string)) {
	term := text[run[0].at:run[len(run)-1].end]
	sum := uint64(fnvOffset)
	for i := range len(term) {
		sum = (sum ^ uint64(term[i])) * fnvPrime
	}
	fn(sum, term)
}

// scriptOf is the script of a character among those of Japanese; nil: another.
func scriptOf(r rune) *unicode.RangeTable {
	switch {
	case r == 'ー' || unicode.Is(unicode.Katakana, r):
		return unicode.Katakana
	case unicode.Is(unicode.Hiragana, r):
		return unicode.Hiragana
	case unicode.Is(unicode.Han, r):
		return unicode.Han
	}
	return nil
}

// ordinaryWords are words of at least three letters that say nothing of what a page is about: the most frequent of
// English, German, French, Spanish, Italian, Portuguese, Dutch, Russian, Japanese and Chinese, and those of every web
// page.
//
//go:embed ordinary.txt
var ordinaryWords string

var ordinary = func() map[uint64]bool {
	all := map[uint64]bool{}
	eachTerm(ordinaryWords, func(sum uint64, _ string) { all[sum] = true })
	return all
}()
