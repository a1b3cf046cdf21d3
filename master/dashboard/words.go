package dashboard

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/text/language"

	"henro/actors/figures"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/messages/speech"
)

//go:embed lang/*.json
var catalogues embed.FS

// words is one language: a catalogue of texts, and how numbers and times are written. Where a text is missing its key
// is shown, so that a new word of another package (a reason, say) can at least be read.
type words struct {
	code   string // of the language, as in lang="…" and in the name of the file
	text   map[string]string
	speech speech.Language // for what other packages say, by their English words
}

// languages are those there are, the first for readers of none of them.
var languages = []*words{readWords("en"), readWords("ja")}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Japanese})

func readWords(code string) *words {
	w := &words{code: code}
	w.speech.Value = w.fact
	catalogue := func(name string, into *map[string]string) {
		data, err := catalogues.ReadFile("lang/" + name)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		floor.Need(err, "read the catalogue %s", name) // it is in the program: a test reads it
	}
	catalogue(code+".json", &w.text)
	if code != "en" {
		catalogue(code+".says.json", &w.speech.Words)
	}
	return w
}

// fact writes a value of a sentence.
func (w *words) fact(value any) any {
	switch v := value.(type) {
	case time.Duration:
		return w.span(v)
	case figures.Seconds:
		return w.seconds(float64(v))
	case time.Time:
		return w.clock(v, floor.Now())
	case int, uint8, uint16, uint32, uint64:
		if w.speech.Words != nil { // English sentences have %d
			return n(v)
		}
	}
	return value
}

// say is what another package says, in this language.
func (w *words) say(s speech.Sentence) string { return s.In(&w.speech) }

// wordsOf is the language that a reader chose, or the one the browser asks for.
func wordsOf(r *http.Request) *words {
	if cookie, err := r.Cookie(languageCookie); err == nil {
		for _, w := range languages {
			if w.code == cookie.Value {
				return w
			}
		}
	}
	_, i := language.MatchStrings(matcher, r.Header.Get("Accept-Language"))
	return languages[i]
}

// t is a text of the catalogue, with values in it.
func (w *words) t(key string, values ...any) string {
	text, ok := w.text[key]
	if !ok {
		return key
	}
	if len(values) == 0 {
		return text
	}
	return fmt.Sprintf(text, values...)
}

// about explains the text of a key: by one of its own, by that of the term it ends with, or by that of its kind.
func (w *words) about(key string) string {
	kind, term, _ := strings.Cut(key, ".")
	return cmp.Or(w.text[key+".is"], w.text["term."+term+".is"], w.text[kind+".is"])
}

// terms are the keys of the words that are explained, in the order of the words.
func (w *words) terms() (keys []string) {
	for key := range w.text {
		if _, ok := w.text[key+".is"]; ok && strings.HasPrefix(key, "term.") {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(w.text[a], w.text[b]), cmp.Compare(a, b)) })
	return keys
}

// word is a word of another package in this language, or as it is.
func (w *words) word(kind, word string) string {
	if text, ok := w.text[kind+"."+word]; ok {
		return text
	}
	return word
}

// n writes a number with commas between thousands.
func n(value any) string {
	if v, ok := value.(float64); ok {
		return decimal(v)
	}
	return humanize.Comma(whole(value))
}

// whole is a value of any type of whole numbers.
func whole(value any) int64 {
	v := reflect.ValueOf(value)
	if v.CanUint() {
		return int64(v.Uint())
	}
	return v.Int()
}

// decimal writes a rate with three digits.
func decimal(v float64) string {
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		return "–"
	case v == 0:
		return "0"
	case math.Abs(v) >= 99.95:
		return n(int64(math.Round(v)))
	case math.Abs(v) >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case math.Abs(v) >= 0.005:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// size writes bytes.
func size(bytes any) string { return humanize.BytesN(uint64(whole(bytes)), 3) }

// span writes a length of time with two units at most.
func (w *words) span(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	s := d.Seconds()
	switch {
	case d == 0:
		return w.t("span.s", "0")
	case s < 0.9995:
		return w.t("span.ms", strconv.FormatFloat(1000*s, 'g', 3, 64))
	case s < 9.95 && d%time.Second != 0:
		return w.t("span.s", strconv.FormatFloat(s, 'f', 1, 64))
	case s < 59.5:
		return w.t("span.s", strconv.FormatFloat(s, 'f', 0, 64))
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return w.two("m", d/time.Minute, "s", d%time.Minute/time.Second)
	case d.Round(time.Minute) < 24*time.Hour:
		d = d.Round(time.Minute)
		return w.two("h", d/time.Hour, "m", d%time.Hour/time.Minute)
	case d < 10*24*time.Hour:
		d = d.Round(time.Hour)
		return w.two("d", d/(24*time.Hour), "h", d%(24*time.Hour)/time.Hour)
	case d < 1000*24*time.Hour:
		return w.t("span.d", n(int64(d.Hours()/24+0.5)))
	}
	return w.t("span.years")
}

func (w *words) two(big string, many time.Duration, small string, few time.Duration) string {
	text := w.t("span."+big, n(int64(many)))
	if few > 0 {
		text += w.t("span.and") + w.t("span."+small, n(int64(few)))
	}
	return text
}

// seconds writes a number of them as a span.
func (w *words) seconds(s float64) string {
	if math.IsInf(s, 0) || math.IsNaN(s) || s > 1e9 {
		return w.t("span.years")
	}
	return w.span(time.Duration(s * float64(time.Second)))
}

// clock writes a moment: its time if it is of today, its date as well if not.
func (w *words) clock(at, now time.Time) string {
	switch at, now = at.Local(), now.Local(); {
	case at.IsZero():
		return "–"
	case at.YearDay() == now.YearDay() && at.Year() == now.Year():
		return at.Format("15:04:05")
	}
	return at.Format(w.t("clock.day"))
}

// stamp writes a moment to the second, with its date.
func (w *words) stamp(at time.Time) string { return at.Local().Format(w.t("clock.stamp")) }

// relative writes a moment as seen from now.
func (w *words) relative(at, now time.Time) string {
	switch d := at.Sub(now); {
	case at.IsZero():
		return "–"
	case d > 500*time.Millisecond:
		return w.t("in", w.span(d.Round(time.Second)))
	case d > -1500*time.Millisecond:
		return w.t("now")
	default:
		return w.t("ago", w.span((-d).Round(time.Second)))
	}
}

// ails says since when a host fails as it does, and when it is tried again.
func (w *words) ails(a reading.Ailment, now time.Time) string {
	since := w.clock(a.Since, now)
	switch {
	case a.Again.IsZero():
		return w.t("ails.over", since)
	case a.Again.After(now):
		return w.t("ails.again", since, w.relative(a.Again, now))
	}
	return w.t("ails.due", since)
}
