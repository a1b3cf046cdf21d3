// Package speech carries sentences for people as what they say: words with the facts in their places, so that whoever
// shows a sentence puts both into the language of the reader.
//
// The English words are the sentence's name, as in gettext, and are what a reader gets whose language has none for it.
// A fact is a value (a span, a moment, a count, another sentence), never text that was written out before.
//
// Invariants:
//   - in JSON a sentence is its English text, so that a program that asks sees a string and may show it as it is;
//   - the zero Sentence says nothing, and may stand in another where there is nothing to add.
package speech

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"henro/messages/visible"
)

// Sentence is one message for people.
type Sentence struct {
	Words  string // English, with a verb of package fmt for each value
	Values []any
}

// Say makes a sentence. Spans, moments and sentences among the values have the verb %s.
func Say(words string, values ...any) Sentence { return Sentence{words, values} }

// IsZero reports whether the sentence is empty.
func (s Sentence) IsZero() bool { return s.Words == "" }

// Language puts sentences into words.
type Language struct {
	Words map[string]string   // by the English ones
	Value func(value any) any // a fact as it is written; one that needs no form of its own comes back as it is
}

// English is the language of terminals, logs and JSON.
var English = Language{Value: func(value any) any {
	switch v := value.(type) {
	case time.Duration:
		return Span(v)
	case time.Time:
		return v.Local().Format("2006-01-02 15:04:05")
	case string: // a host's own words, perhaps
		return visible.Line(v)
	}
	return value
}}

// In is the sentence in a language.
func (s Sentence) In(l *Language) string {
	words, ok := l.Words[s.Words]
	if !ok {
		words = s.Words
	}
	if len(s.Values) == 0 {
		return words
	}
	values := make([]any, len(s.Values))
	for i, value := range s.Values {
		if inner, ok := value.(Sentence); ok {
			values[i] = inner.In(l)
		} else {
			values[i] = l.Value(value)
		}
	}
	return fmt.Sprintf(words, values...)
}

// String is the sentence in English.
func (s Sentence) String() string { return s.In(&English) }

// MarshalText writes the sentence in English.
func (s Sentence) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a text as a sentence that is the same in every language.
func (s *Sentence) UnmarshalText(text []byte) error {
	*s = Sentence{}
	if len(text) > 0 {
		*s = Say("%s", string(text))
	}
	return nil
}

var verb = regexp.MustCompile(`%[.0-9]*[a-z]`)

// Heard finds the sentence, one of these, that an English text was written from; if there is none, the text is the
// sentence. Its values are text. It is for sentences that were kept written out.
func Heard(text string, oneOf ...string) Sentence {
	for _, words := range oneOf {
		var pattern strings.Builder
		at := 0
		for _, span := range verb.FindAllStringIndex(words, -1) {
			pattern.WriteString(regexp.QuoteMeta(words[at:span[0]]) + "(.+)")
			at = span[1]
		}
		pattern.WriteString(regexp.QuoteMeta(words[at:]))
		found := regexp.MustCompile("^" + pattern.String() + "$").FindStringSubmatch(text)
		if found == nil {
			continue
		}
		s := Say(verb.ReplaceAllString(words, "%s"))
		for _, value := range found[1:] {
			s.Values = append(s.Values, Say(value))
		}
		return s
	}
	return Say("%s", text)
}

const day = 24 * time.Hour

// Span writes a span with two units at most: 40d, 3d4h, 5h10m, 40s, 300ms.
func Span(d time.Duration) string {
	for _, u := range []struct {
		size, next time.Duration
		name, rest string
	}{{day, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.size-u.next/2 {
			continue
		}
		if d = d.Round(u.next); d >= 10*u.size && u.size == day {
			return fmt.Sprintf("%dd", (d+day/2)/day)
		}
		if whole, rest := d/u.size, d%u.size/u.next; whole > 0 && rest > 0 {
			return fmt.Sprintf("%d%s%d%s", whole, u.name, rest, u.rest)
		} else if whole > 0 {
			return fmt.Sprintf("%d%s", whole, u.name)
		}
	}
	unit := time.Second
	for unit > time.Nanosecond && d < 100*unit && d%unit != 0 {
		unit /= 10
	}
	return d.Round(unit).String()
}
