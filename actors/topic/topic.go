// Package topic scores pages and links by how much they are about the topic of a crawl.
//
// A topic is a list of terms: words, or several in a row, in any language. What is between words is left out, case is
// folded, and so is the plural of words in Latin letters. Scripts written without spaces have a word for each
// character, so that a term of k characters is found as a k-gram wherever it stands.
//
// A page is scored by the term frequencies of BM25 [Robertson & Zaragoza 2009], without document frequencies: terms are
// chosen by a person, and a score must not depend on what was crawled before. With f_t the occurrences of a term, w_t
// its weight and l the words of the page,
//
//	X = Σ w_t · f_t · (k1 + 1) / (f_t + k1 · (1 − b + b · l / l̄))        score = X / (X + c)
//
// A link is scored as Shark-Search does [Hersovici et al. 1998]: half of it is what it inherits from its page, half is
// of its own anchor text and URL or, where these have no term, of the text around the link, which counts for less. A
// page hands on its score, or half of what it was given if that is more. So a crawl goes on through some pages that are
// not about the topic, each with less than the one before (tunnelling).
package topic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	k1, b = 1.2, 0.75 // as usual
	// meanWords is l̄, of an ordinary page of documentation
	meanWords = 400
	// halfway is c of a page: one term many times scores 0.52, two 0.69
	halfway = 2
	// ownHalfway is c of anchor text and URL, in which a term stands once: one scores 0.67, two 0.8
	ownHalfway = 0.5
	// handedOn is the part of what a page was given that it hands on if it is not about the topic itself
	handedOn = 0.5
	// inherited is the part of the score of a link that is not its own
	inherited = 0.5
	// aroundPart is what terms around a link count of what they would count in its anchor text, as in Shark-Search. Of
	// 2,000 pages 1,219 were of the topic with 0.5, 1,303 with 0.2, and 1,343 with 0 (docs/measured/understanding.md)
	aroundPart = 0.2
)

// Bounds of a topic: it travels to every slave.
const (
	maxTerms = 1000
	maxWords = 8 // of a term
)

// Term is one term of a topic.
type Term struct {
	Text   string  `json:"text"`
	Weight float64 `json:"weight"`
}

// Topic is a list of terms, ready to be looked for. It is immutable.
type Topic struct {
	terms []Term
	first map[uint64][]entry // by their first word; the longest first
	may   [16]uint64         // a bit for the last ten bits of each first word: most words of a page are none
}

// entry is a term as its words.
type entry struct {
	term int
	rest []uint64 // words behind the first
}

// New makes a topic of terms.
func New(terms []Term) (*Topic, error) {
	if len(terms) == 0 || len(terms) > maxTerms {
		return nil, fmt.Errorf("%d terms: want 1 to %d", len(terms), maxTerms)
	}
	t := &Topic{terms: slices.Clone(terms), first: map[uint64][]entry{}}
	for i, term := range terms {
		words := wordsOf(term.Text)
		switch {
		case len(words) == 0 || len(words) > maxWords:
			return nil, fmt.Errorf("term %q has %d words: want 1 to %d", term.Text, len(words), maxWords)
		case !(term.Weight > 0 && term.Weight <= 100):
			return nil, fmt.Errorf("term %q has weight %v: want more than 0, at most 100", term.Text, term.Weight)
		}
		e := entry{term: i}
		for _, w := range words[1:] {
			e.rest = append(e.rest, w.sum)
		}
		first := words[0].sum
		t.first[first] = append(t.first[first], e)
		t.may[first>>6%16] |= 1 << (first % 64)
	}
	for _, entries := range t.first {
		slices.SortStableFunc(entries, func(a, b entry) int { return len(b.rest) - len(a.rest) })
	}
	return t, nil
}

// Parse makes a topic of terms and example pages. Of the terms there is one a line, with an optional weight=N behind
// it, and # before comments.
func Parse(text []byte, examples ...Example) (*Topic, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the topic is not UTF-8")
	}
	var terms []Term
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		term, weight, weighted := strings.Cut(line, "weight=")
		one := Term{strings.Join(strings.Fields(term), " "), 1}
		if weighted {
			var err error
			if one.Weight, err = strconv.ParseFloat(strings.TrimSpace(weight), 64); err != nil {
				return nil, fmt.Errorf("weight of %q: %w", one.Text, err)
			}
		}
		if one.Text != "" || weighted {
			terms = append(terms, one)
		}
	}
	return New(append(terms, characteristic(examples)...))
}

// Terms are the terms of the topic, in a list that Parse reads.
func (t *Topic) Terms() string {
	var list strings.Builder
	for _, term := range t.terms {
		fmt.Fprintf(&list, "%s weight=%.2f\n", term.Text, term.Weight)
	}
	return list.String()
}

// MarshalJSON writes the terms.
func (t *Topic) MarshalJSON() ([]byte, error) { return json.Marshal(t.terms) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Topic) UnmarshalJSON(text []byte) error {
	var terms []Term
	if err := json.Unmarshal(text, &terms); err != nil {
		return err
	}
	made, err := New(terms)
	if err == nil {
		*t = *made
	}
	return err
}

// Reading is what a topic finds in the text of a page.
type Reading struct {
	Score float64 // 0 to below 1
	topic *Topic
	hits  []hit
}

// hit is a term in a text.
type hit struct{ at, term int }

// Read looks for the terms in the title and the text of a page.
func (t *Topic) Read(title string, text []byte) *Reading {
	r := &Reading{topic: t}
	titled, heading := find(t, title, nil)
	hits, words := find(t, text, nil)
	if r.hits = hits; len(hits)+len(titled) == 0 {
		return r
	}
	length := float64(words + heading)
	counts := make([]int, len(t.terms))
	for _, h := range append(titled, hits...) {
		counts[h.term]++
	}
	var x float64
	for term := range t.terms { // in order: every slave comes to the same sum
		if f := float64(counts[term]); f > 0 {
			x += t.terms[term].Weight * f * (k1 + 1) / (f + k1*(1-b+b*length/meanWords))
		}
	}
	r.Score = x / (x + halfway)
	return r
}

// Part scores a part of the text, as far as terms begin in it, in 255ths.
func (r *Reading) Part(from, to int) uint8 {
	first, _ := slices.BinarySearchFunc(r.hits, from, func(h hit, at int) int { return h.at - at })
	var terms []int
	var x float64
	for _, h := range r.hits[first:] {
		if h.at >= to {
			break
		}
		if !slices.Contains(terms, h.term) {
			terms = append(terms, h.term)
			x += r.topic.terms[h.term].Weight
		}
	}
	return uint8(math.Round(255 * x / (x + ownHalfway)))
}

// Link scores a link by what its page hands on, its anchor text, its URL, and what Part says of the text around it.
func (t *Topic) Link(handed float64, anchor, url string, around uint8) float64 {
	var x float64
	for _, h := range t.inAny(anchor, url) {
		x += t.terms[h.term].Weight
	}
	own := x / (x + ownHalfway)
	if x == 0 {
		own = aroundPart * float64(around) / 255
	}
	return inherited*handed + (1-inherited)*own
}

// HandedOn is what a page hands on to its links, given its own score and that of the link that led to it.
func (*Topic) HandedOn(score, given float64) float64 { return max(score, handedOn*given) }

// Found returns the terms that stand in any of these texts, once each, the heaviest first.
func (t *Topic) Found(texts ...string) []Term {
	hits := t.inAny(texts...)
	found := make([]Term, len(hits))
	for i, h := range hits {
		found[i] = t.terms[h.term]
	}
	slices.SortStableFunc(found, func(a, b Term) int { return cmp.Compare(b.Weight, a.Weight) })
	return found
}

// inAny finds the terms that stand in any of these texts, once each, in their order.
func (t *Topic) inAny(texts ...string) (hits []hit) {
	for _, text := range texts {
		hits, _ = find(t, text, hits)
	}
	if len(hits) > 1 {
		slices.SortFunc(hits, func(a, b hit) int { return a.term - b.term })
		hits = slices.CompactFunc(hits, func(a, b hit) bool { return a.term == b.term })
	}
	return hits
}

// Words lists terms.
func Words(terms []Term) string {
	words := make([]string, len(terms))
	for i := range terms {
		words[i] = terms[i].Text
	}
	return strings.Join(words, ", ")
}

// find appends the terms in a text to hits, in order; where several begin at one word, the longest. It counts the words
// too. Nothing is kept of a word that begins no term, and those are most.
func find[T string | []byte](t *Topic, text T, hits []hit) (all []hit, words int) {
	for at := 0; ; {
		w, next := nextWord(text, at)
		if w.at < 0 {
			return hits, words
		}
		words, at = words+1, next
		if t.may[w.sum>>6%16]>>(w.sum%64)&1 == 0 {
			continue
		}
		for _, e := range t.first[w.sum] {
			if end, matches := matches(&e, text, next); matches {
				hits = append(hits, hit{w.at, e.term})
				words, at = words+len(e.rest), end
				break
			}
		}
	}
}

// matches reports whether the words behind the first begin with those of the term, and where these end.
func matches[T string | []byte](e *entry, text T, at int) (end int, ok bool) {
	for _, sum := range e.rest {
		var w word
		if w, at = nextWord(text, at); w.at < 0 || w.sum != sum {
			return 0, false
		}
	}
	return at, true
}

// lastBand is the last priority of a waiting URL; 0 is the best. It is kept with the URL, in one byte.
const lastBand = 254

// Band is the priority of a URL with a score.
func (*Topic) Band(score float64) uint8 {
	return uint8(math.Round((1 - min(max(score, 0), 1)) * lastBand))
}

// Score is that of a priority, to the nearest of 255.
func (*Topic) Score(band uint8) float64 { return 1 - float64(min(band, lastBand))/lastBand }

// word is a word of a text: text[at:end]. Words that are alike have one sum, FNV-1a of the word in lower case and in
// the singular.
type word struct {
	sum     uint64
	at, end int
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
	// fnvInverse · fnvPrime = 1 modulo 2⁶⁴: takes the last byte of a sum away again
	fnvInverse = 0xce965057aff6957b
)

// folded are the letters and digits of ASCII in lower case; 0: it is neither.
var folded = func() (t [utf8.RuneSelf]byte) {
	for c := byte('0'); c <= 'z'; c++ {
		if c <= '9' || 'A' <= c && c <= 'Z' || c >= 'a' {
			t[c] = byte(unicode.ToLower(rune(c)))
		}
	}
	return t
}()

// wordsOf returns the words of a text.
func wordsOf(text string) (words []word) {
	for at := 0; ; {
		var w word
		if w, at = nextWord(text, at); w.at < 0 {
			return words
		}
		words = append(words, w)
	}
}

// nextWord returns the next word of a text, from a position on, and where to go on; at is negative when there is none.
// A character of a script without spaces is a word.
func nextWord[T string | []byte](text T, i int) (w word, next int) {
	sum, start := uint64(fnvOffset), -1
	for i < len(text) {
		c := text[i]
		if c < utf8.RuneSelf {
			if c = folded[c]; c != 0 {
				if start < 0 {
					start = i
				}
				sum = (sum ^ uint64(c)) * fnvPrime
			} else if start >= 0 {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		single := spaceless(r)
		letter := !single && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
		if start >= 0 && !letter {
			break
		}
		if letter {
			if start < 0 {
				start = i
			}
			r = unicode.ToLower(r)
		}
		if letter || single {
			var bytes [utf8.UTFMax]byte
			for _, c := range utf8.AppendRune(bytes[:0], r) {
				sum = (sum ^ uint64(c)) * fnvPrime
			}
		}
		if single {
			return word{sum, i, i + size}, i + size
		}
		i += size
	}
	if start >= 0 && i-start > 3 && text[i-1]|0x20 == 's' && text[i-2]|0x20 != 's' { // plural
		sum = sum*fnvInverse ^ 's'
	}
	return word{sum, start, i}, i
}

// spaceless reports whether a character is of a script that is written without spaces.
func spaceless(r rune) bool {
	return r >= 0x0e00 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar))
}
