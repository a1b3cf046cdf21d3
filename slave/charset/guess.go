package charset

import (
	"bytes"
	"math"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// sample is how much of a body is looked at.
const sample = 128 << 10

// guess tells the encoding of a body that does not declare it.
func guess(b []byte) string {
	b = b[:min(len(b), sample)]
	if name := wide(b); name != "" {
		return name
	}
	high := 0
	for _, c := range b {
		if c >= 0x80 {
			high++
		}
	}
	switch {
	case high == 0 && (bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))):
		return "iso-2022-jp"
	case high == 0:
		return Default
	case isUTF8(b):
		return "utf-8"
	}
	if name := multibyte(b); name != "" {
		return name
	}
	return singleByte(b)
}

// wide recognizes UTF-16 without a mark by where the zeros of its markup and white space lie.
func wide(b []byte) string {
	var zeros [2]int
	for i, c := range b {
		if c == 0 {
			zeros[i&1]++
		}
	}
	half := len(b) / 2
	many := func(n int) bool { return 10*n > half } // a tenth of them
	few := func(n int) bool { return 50*n <= half } // a fiftieth
	switch {
	case many(zeros[1]) && few(zeros[0]):
		return "utf-16le"
	case many(zeros[0]) && few(zeros[1]):
		return "utf-16be"
	}
	return ""
}

// isUTF8 reports whether b is UTF-8, allowing for a character cut at the end and for a few broken ones among many.
func isUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = subpart(b)
			if n == len(b) && !utf8.FullRune(b) {
				break
			}
			if bad++; bad > 100 && bad > good {
				return false
			}
		} else {
			good++
		}
		b = b[n:]
	}
	return good > 0 && 20*bad <= good
}

// tally counts the characters of a text, read in one multibyte encoding.
type tally struct {
	all    int // characters of two bytes or more
	common int // of the first level, kana, hangul, punctuation: what texts are made of
	kana   int // full-width
	late   int // rows C9–D7: two of five characters of Chinese, nearly none of Korean
	broken int
}

func (t *tally) plausible(share float64) bool {
	return t.all > 0 && 50*t.broken <= t.all && float64(t.common) >= share*float64(t.all)
}

// multibyte recognizes the encodings of East Asia; "" if it is none of them.
func multibyte(b []byte) string {
	euc, sjis, gbk, big5 := readEUC(b), readShiftJIS(b), readGBK(b), readBig5(b)
	japanese := func(t tally) bool {
		return t.plausible(0.8) && 20*t.kana >= t.all || t.plausible(0.25) && 10*t.kana >= t.all
	}
	switch {
	case japanese(euc) && (!japanese(sjis) || euc.kana >= sjis.kana):
		return "euc-jp"
	case japanese(sjis):
		return "shift_jis"
	}
	switch {
	case euc.plausible(0.85) && 8*euc.late < euc.all && gbk.plausible(0.85):
		return "euc-kr"
	case gbk.plausible(0.85) && (!big5.plausible(0.85) || gbk.common*big5.all >= big5.common*gbk.all):
		return "gbk"
	case big5.plausible(0.85):
		return "big5"
	}
	return ""
}

// twoBytes reads an encoding whose characters beyond ASCII have two bytes. lone is how many bytes of a character begin
// here that says nothing, 0 for none; pair and count look at the two bytes of any other.
func twoBytes(b []byte, lone func(c, next byte) int, pair func(c, trail byte) bool,
	count func(t *tally, c, trail byte)) (t tally) {
	for i := 0; i+1 < len(b); i++ {
		c, trail := b[i], b[i+1]
		if c < 0x80 {
			continue
		}
		if n := lone(c, trail); n > 0 {
			t.all++
			i += n - 1
			continue
		}
		if !pair(c, trail) {
			t.broken++
			continue
		}
		i++
		t.all++
		count(&t, c, trail)
	}
	return t
}

func none(_, _ byte) int { return 0 }

// readEUC reads EUC-JP, which for counting is EUC-KR too.
func readEUC(b []byte) tally {
	return twoBytes(b, func(c, next byte) int {
		switch {
		case c == 0x8e && next >= 0xa1 && next <= 0xdf: // half-width katakana
			return 2
		case c == 0x8f: // of the second plane: three bytes
			return 3
		}
		return 0
	}, func(c, trail byte) bool { return c >= 0xa1 && c != 0xff && trail >= 0xa1 && trail != 0xff },
		func(t *tally, c, trail byte) {
			switch {
			case c == 0xa4 && trail <= 0xf3, c == 0xa5 && trail <= 0xf6:
				t.kana++
				t.common++
			case c == 0xa1, c == 0xa3, c >= 0xb0 && c <= 0xcf:
				t.common++
			}
			if c >= 0xc9 && c <= 0xd7 {
				t.late++
			}
		})
}

func readShiftJIS(b []byte) tally {
	return twoBytes(b, func(c, _ byte) int {
		if c >= 0xa1 && c <= 0xdf { // half-width katakana: rare, and all over the place in other encodings
			return 1
		}
		return 0
	}, func(c, trail byte) bool {
		return c != 0x80 && c != 0xa0 && c <= 0xfc && trail >= 0x40 && trail != 0x7f && trail <= 0xfc
	}, func(t *tally, c, trail byte) {
		switch {
		case c == 0x82 && trail >= 0x9f && trail <= 0xf1, c == 0x83 && trail <= 0x96:
			t.kana++
			t.common++
		case c == 0x81 && trail <= 0xac, c == 0x82 && trail >= 0x4f && trail <= 0x9a, c == 0x88 && trail >= 0x9f,
			c > 0x88 && c < 0x98:
			t.common++
		}
	})
}

func readGBK(b []byte) tally {
	return twoBytes(b, none, func(c, trail byte) bool {
		return c != 0x80 && c != 0xff && trail >= 0x40 && trail != 0x7f && trail != 0xff
	}, func(t *tally, c, trail byte) {
		if trail >= 0xa1 && (c == 0xa1 || c == 0xa3 || c >= 0xb0 && c <= 0xd7) {
			t.common++
		}
	})
}

func readBig5(b []byte) tally {
	return twoBytes(b, none, func(c, trail byte) bool {
		return c >= 0x87 && c != 0xff && trail >= 0x40 && (trail <= 0x7e || trail >= 0xa1) && trail != 0xff
	}, func(t *tally, c, _ byte) {
		if c >= 0xa1 && c <= 0xc6 {
			t.common++
		}
	})
}

// model is what a language's letters beyond ASCII look like in one alphabet: its letters by frequency.
type model struct {
	letters   string
	latin     bool // the rest of its words is ASCII
	encodings []string
}

var (
	western  = []string{"windows-1252"}
	central  = []string{"windows-1250", "iso-8859-2"}
	cyrillic = []string{"windows-1251", "koi8-r", "iso-8859-5", "ibm866", "x-mac-cyrillic"}
	baltic   = []string{"windows-1257"}
)

var models = []model{
	{"üäöß", true, western},                                // German
	{"éèàêçâîôùûëïœ", true, western},                       // French
	{"óíáéñúü¿¡", true, western},                           // Spanish
	{"ãçáéíóõêâàúô", true, western},                        // Portuguese
	{"èàòùìé", true, western},                              // Italian
	{"äöå", true, western},                                 // Swedish, Finnish
	{"åøæé", true, western},                                // Danish, Norwegian
	{"íáðþóöéúæý", true, western},                          // Icelandic
	{"ëéïöèü", true, western},                              // Dutch
	{"íáéěřčžýšůúóňťď", true, central},                     // Czech
	{"áíéčžýťúľšôäňóďŕĺ", true, central},                   // Slovak
	{"ąęłóśżćńź", true, central},                           // Polish
	{"áéíöóőüúű", true, central},                           // Hungarian
	{"ăîâşţ", true, central},                               // Romanian
	{"čšžćđ", true, central},                               // Croatian, Slovene
	{"ıüşçöğİâî", true, []string{"windows-1254"}},          // Turkish
	{"ėšųįžūčąę", true, baltic},                            // Lithuanian
	{"āīēšūņļķžčģ", true, baltic},                          // Latvian
	{"äõüöšž", true, baltic},                               // Estonian
	{"оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", false, cyrillic}, // Russian
	{"оаиніветрслкудмпзьябгчйхцшюжєщфїґ", false, []string{"windows-1251", "koi8-u"}},        // Ukrainian
	{"аиоетнрсвлдкпмзугябъчщцжшйфхью", false, []string{"windows-1251", "iso-8859-5"}},       // Bulgarian
	{"аоиентсрвјудкпмлзбгњшчжцљђћфџх", false, []string{"windows-1251", "iso-8859-5"}},       // Serbian
	{"αοιετσνηυρπκμλςωόίδάγέχήθύώφβξζψϊϋ", false, []string{"iso-8859-7", "windows-1253"}},   // Greek
	{"יוהלאתרמבשנםדכקעחפטזסגןץךף", false, []string{"windows-1255"}},                         // Hebrew
	{"الينموترهبدعسفكقحجةأءشطصىخإضذثزغئآؤظ", false, []string{"windows-1256", "iso-8859-6"}}, // Arabic
	{"านรกอเง่มย้ลวดทสิัตี็บปุ์คหะแจพูชไขใโึืำผซธณภถศษ", false, []string{"windows-874"}},    // Thai
}

// What stands beside a byte.
const (
	nothing = iota // neither letter nor another byte beyond ASCII
	letters        // an ASCII letter
	others         // another byte beyond ASCII, and no letter
	contexts
)

// candidate is a model in one encoding: the score of each byte beyond ASCII, by what stands beside it.
type candidate struct {
	name  string
	prior float64
	score [128][contexts]float64
}

// priors are for encodings that have always been rare in pages.
var priors = map[string]float64{"ibm866": -3, "x-mac-cyrillic": -3, "koi8-u": -1, "windows-1257": -1}

// candidates are the models' tables, made when first needed: some 50 of 3 kB.
var candidates = sync.OnceValue(func() (all []candidate) {
	for _, m := range models {
		rank := map[rune]int{}
		for _, r := range m.letters {
			rank[r] = len(rank)
		}
		harmonic := 0.0
		for i := range len(rank) {
			harmonic += 1 / float64(i+2)
		}
		for _, name := range m.encodings {
			enc, err := htmlindex.Get(name)
			if err != nil {
				panic("charset: " + name) // a constant above
			}
			table, ok := enc.(*charmap.Charmap)
			if !ok {
				panic("charset: " + name)
			}
			c := candidate{name: name, prior: priors[name]}
			for i := range c.score {
				c.score[i] = logScore(table.DecodeByte(byte(0x80+i)), rank, harmonic, m.latin)
			}
			all = append(all, c)
		}
	}
	return all
})

// logScore is the logarithm of a character's probability in a language, by what stands beside it. The constants are
// rough; what decides is the difference between a language's letters and what no text contains.
func logScore(r rune, rank map[rune]int, harmonic float64, latin bool) (score [contexts]float64) {
	const (
		capital     = -2.0  // one letter in seven
		punctuation = -4.5  // quotation marks, dashes, and the like
		foreign     = -7.0  // a letter of another language
		garbage     = -11.0 // control characters, graphics, nothing
		single      = -1.0  // a Latin letter that is not among ASCII letters
		alone       = -2.0  // a letter of another script that is a word of its own
		misplaced   = -3.0  // a letter of another script beside an ASCII letter
	)
	position, known := rank[r]
	shift := 0.0
	if !known {
		if position, known = rank[unicode.ToLower(r)]; known {
			shift = capital
		}
	}
	switch {
	case known:
		p := math.Log(1/float64(position+2)/harmonic) + shift
		if latin {
			return [contexts]float64{nothing: p + single, letters: p, others: p + single}
		}
		return [contexts]float64{nothing: p + alone, letters: p + misplaced, others: p}
	case r == utf8.RuneError || unicode.IsControl(r) || r >= 0x2500 && r < 0x2600:
		return [contexts]float64{garbage, garbage, garbage}
	case unicode.IsLetter(r):
		return [contexts]float64{foreign, foreign, foreign}
	default:
		return [contexts]float64{nothing: punctuation, letters: punctuation - 1, others: punctuation}
	}
}

// singleByte finds the language and encoding under which the bytes beyond ASCII are likeliest.
func singleByte(b []byte) string {
	var count [128][contexts]float64
	for i, c := range b {
		if c < 0x80 {
			continue
		}
		var before, after byte
		if i > 0 {
			before = b[i-1]
		}
		if i+1 < len(b) {
			after = b[i+1]
		}
		beside := nothing
		switch {
		case isLetter(before) || isLetter(after):
			beside = letters
		case before >= 0x80 || after >= 0x80:
			beside = others
		}
		count[c-0x80][beside]++
	}
	best, bestScore := Default, math.Inf(-1)
	for _, c := range candidates() {
		score := c.prior
		for i := range count {
			for beside, n := range count[i] {
				score += n * c.score[i][beside]
			}
		}
		if score > bestScore {
			best, bestScore = c.name, score
		}
	}
	return best
}
