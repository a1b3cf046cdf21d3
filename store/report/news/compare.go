package news

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Changed is a block that went or came.
type Changed struct {
	Block
	Came bool
	// Why the block is no news, if it is none; empty: it is.
	Noise Why
	keys  keys
}

// Why says why a block is no news.
type Why string

// Reasons why a block is no news.
const (
	Place     Why = "what lies here is another at nearly each visit"
	Shape     Why = "what is said so is said with other numbers at nearly each visit"
	Toggles   Why = "it comes and goes"
	Dismissed Why = "a reader has said so"
)

// keys are the names under which a Record knows a block; 0: it has none.
type keys struct {
	shape  uint64 // what it says, without its numbers
	place  uint64 // the elements that it lies in
	behind uint64 // the unchanged block before it, and how far behind that it is
	exact  uint64 // what it says
}

func (k *keys) all() [4]uint64 { return [4]uint64{k.shape, k.place, k.behind, k.exact} }

// Change is what changed between two versions of a page.
type Change struct {
	Blocks []Changed // those that went, and then those that came, each in the order of its page
	places map[uint64]share
}

// share is how many blocks that lie in the same elements have changed.
type share struct{ changed, all int }

// Compare compares two versions that were read by the same watch. It takes time in proportion to their blocks.
func Compare(before, now *Page) *Change {
	c := &Change{places: map[uint64]share{}}
	old, fresh := counted(before), counted(now)
	c.pick(before, fresh, false)
	c.pick(now, old, true)
	return c
}

func counted(p *Page) map[uint64]int {
	counts := make(map[uint64]int, len(p.Blocks))
	for i := range p.Blocks {
		counts[p.Blocks[i].hash()]++
	}
	return counts
}

// pick takes the blocks of a version that the other, whose blocks are counted, has not.
func (c *Change) pick(p *Page, other map[uint64]int, came bool) {
	anchor, offset := [len(kindSeeds)]uint64{}, [len(kindSeeds)]uint64{}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		hash, place := b.hash(), mix(b.place, kindSeeds[b.Kind])
		of := c.places[place]
		of.all++
		if other[hash]--; other[hash] >= 0 {
			anchor[b.Kind], offset[b.Kind] = hash, 0
			c.places[place] = of
			continue
		}
		of.changed++
		c.places[place] = of
		k := keys{place: place, exact: hash}
		if skeleton := skeletonOf(b.Text); len(skeleton) >= minSkeleton && skeleton != b.Text {
			k.shape = mix(mix(b.tags, kindSeeds[b.Kind]), xxhash.Sum64String(skeleton))
		}
		if offset[b.Kind] < 8 {
			k.behind = mix(mix(anchor[b.Kind], offset[b.Kind]+1), kindSeeds[b.Kind])
		}
		offset[b.Kind]++
		c.Blocks = append(c.Blocks, Changed{Block: *b, Came: came, keys: k})
	}
}

// minSkeleton is how many bytes what is said must have without its numbers, so that not every number is like the other.
const minSkeleton = 6

var kindSeeds = [...]uint64{0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6}

// replaced are the keys under which something went and something else came, or under which all that lies there has
// changed: what noise does, while news mostly adds. exact are those of the blocks themselves.
func (c *Change) replaced() (replaced, exact map[uint64]bool) {
	went := map[uint64]bool{}
	replaced, exact = map[uint64]bool{}, map[uint64]bool{}
	for i := range c.Blocks {
		b := &c.Blocks[i]
		exact[b.keys.exact] = true
		for j, key := range b.keys.all() {
			switch of := c.places[key]; {
			case key == 0 || j == 3:
			case j == 1 && 2*of.changed < of.all:
			case !b.Came:
				went[key] = true
			case went[key]:
				replaced[key] = true
			}
		}
	}
	return replaced, exact
}

// News are the blocks that are news.
func (c *Change) News() []Changed { return c.only(func(b *Changed) bool { return b.Noise == "" }) }

// Noise are the blocks that are none.
func (c *Change) Noise() []Changed { return c.only(func(b *Changed) bool { return b.Noise != "" }) }

func (c *Change) only(wanted func(*Changed) bool) (some []Changed) {
	for i := range c.Blocks {
		if wanted(&c.Blocks[i]) {
			some = append(some, c.Blocks[i])
		}
	}
	return some
}

// Letters counts the letters, digits and other characters of what is news.
func (c *Change) Letters() (n int) {
	for i := range c.Blocks {
		if c.Blocks[i].Noise == "" {
			n += utf8.RuneCountInString(c.Blocks[i].Text)
		}
	}
	return n
}

// Told reports whether a reader who has this watch wants to be told: there is news, it is large enough, and has one of
// the words that must come or go, if there are any.
func (c *Change) Told(r *Watch) bool {
	if r == nil {
		r = &none
	}
	if n := c.Letters(); n == 0 || n < r.Least {
		return false
	}
	if len(r.Come) == 0 && len(r.Go) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Blocks, func(b Changed) bool {
		words := r.Go
		if b.Came {
			words = r.Come
		}
		text := strings.ToLower(b.Text)
		return b.Noise == "" && slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(text, strings.ToLower(w))
		})
	})
}

// Prices and dates as they are written in pages.
var (
	price = regexp.MustCompile(`(?:[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|CHF)) ?\d[\d.,']{0,15}|` +
		`\b\d[\d.,']{0,15} ?(?:[$€£¥₹円]|(?:USD|EUR|GBP|JPY|CHF)\b)`)
	date = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b|\d{4}年\d{1,2}月\d{1,2}日|` +
		`(?i:\b\d{1,2}\.? ` + months + `\.?,? \d{4}\b|\b` + months + `\.? \d{1,2},? \d{4}\b)`)
)

const months = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}`

// maxFacts is how many prices or dates are told of one change.
const maxFacts = 10

// Prices are those that went and came with the news, each once.
func (c *Change) Prices() (went, came []string) { return c.facts(price) }

// Dates are those that went and came with the news, each once.
func (c *Change) Dates() (went, came []string) { return c.facts(date) }

func (c *Change) facts(like *regexp.Regexp) (went, came []string) {
	for i := range c.Blocks {
		b := &c.Blocks[i]
		if b.Noise != "" || b.Kind != Text && b.Kind != Title {
			continue
		}
		to := &went
		if b.Came {
			to = &came
		}
		for _, fact := range like.FindAllString(b.Text, maxFacts) {
			if len(*to) < maxFacts && !slices.Contains(*to, fact) {
				*to = append(*to, fact)
			}
		}
	}
	return slices.DeleteFunc(went, func(f string) bool {
		i := slices.Index(came, f)
		if i >= 0 {
			came = slices.Delete(came, i, i+1)
		}
		return i >= 0
	}), came
}

// skeletonOf leaves out numbers, words that have some, and names of days and months: what differs between two moments
// at which the same is said. What looks like neither stays, so that words are compared as they are.
func skeletonOf(text string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		switch {
		case strings.ContainsFunc(word, unicode.IsDigit), isTime(word):
			word = "0"
		}
		b.WriteString(word)
		b.WriteByte(' ')
	}
	s := strings.TrimSuffix(b.String(), " ")
	for strings.Contains(s, "0 0") {
		s = strings.ReplaceAll(s, "0 0", "0")
	}
	return s
}

var times = map[string]bool{"am": true, "pm": true, "second": true, "minute": true, "hour": true, "day": true,
	"week": true, "month": true, "year": true, "a": true, "an": true, "utc": true, "gmt": true, "today": true,
	"yesterday": true, "now": true, "just": true, "ago": true}

// isTime reports whether a word is of a moment: a day, a month, or how long ago something was.
func isTime(word string) bool {
	word = strings.ToLower(word)
	if times[strings.TrimSuffix(word, "s")] || times[word] {
		return true
	}
	if len(word) < 3 || len(word) > 9 {
		return false
	}
	for _, full := range [...]string{"january", "february", "march", "april", "may", "june", "july", "august",
		"september", "october", "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday",
		"saturday", "sunday"} {
		if word == full || word == full[:3] {
			return true
		}
	}
	return false
}

func itoa(n int) string   { return strconv.Itoa(n) }
func hex(n uint64) string { return strconv.FormatUint(n, 16) }
