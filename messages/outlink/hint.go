package outlink

import (
	"strconv"
	"strings"
	"time"
)

// Hint is what a sitemap or a feed says of a page that it names: when it changed last, how often it does, what it is
// worth. The zero value says nothing.
//
// It travels as the anchor of its link, in the words of the sitemap protocol (https://www.sitemaps.org/protocol.html):
// lastmod, changefreq and priority, parted by spaces, without those that are not given.
type Hint struct {
	// From and Until: the last change was at From or later, and before Until. A document may say only the second, the
	// day, the month or the year; both are zero when it says nothing.
	From, Until time.Time
	Frequency   Frequency // how often it changes, by the sitemap
	Priority    Priority  // among the pages of its host
}

// Frequency is the changefreq of a sitemap.
type Frequency uint8

// The frequencies of the protocol. Numbers are kept on disk: never reuse one.
const (
	Unsaid Frequency = iota
	Always
	Hourly
	Daily
	Weekly
	Monthly
	Yearly
	Never
)

var frequencies = [...]string{"", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// String returns the protocol's word.
func (f Frequency) String() string { return frequencies[min(f, Never)] }

// Interval is the time between two changes that f says, 0 when it says nothing.
func (f Frequency) Interval() time.Duration {
	const day = 24 * time.Hour
	return [...]time.Duration{0, time.Hour, time.Hour, day, 7 * day, 30 * day, 365 * day, 10 * 365 * day}[min(f, Never)]
}

// ParseFrequency reads the protocol's word, in any case.
func ParseFrequency(word string) Frequency {
	for f := Always; f <= Never; f++ {
		if strings.EqualFold(word, frequencies[f]) {
			return f
		}
	}
	return Unsaid
}

// Priority is the priority of a sitemap in tenths, plus one; 0: none is given, which the protocol takes for 0.5.
type Priority uint8

// ParsePriority reads a number from 0 to 1; any other text says nothing.
func ParsePriority(word string) Priority {
	p, err := strconv.ParseFloat(strings.Replace(word, ",", ".", 1), 64)
	if err != nil || !(p >= 0 && p <= 1) {
		return 0
	}
	return Priority(p*10+0.5) + 1
}

// Value returns the priority as the protocol has it.
func (p Priority) Value() float32 {
	if p == 0 {
		return 0.5
	}
	return float32(min(p, 11)-1) / 10
}

// moments are the forms of lastmod that are written here, by their lengths, and how long what they name lasts.
var moments = [...]struct {
	layout string
	lasts  func(time.Time) time.Time
}{
	{"2006-01-02T15:04:05Z", func(t time.Time) time.Time { return t.Add(time.Second) }},
	{"2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	{"2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
	{"2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
}

// Modified returns the lastmod of h in the shortest form that says it, in UTC; empty when there is none.
func (h Hint) Modified() string {
	if h.From.IsZero() {
		return ""
	}
	from := h.From.UTC()
	for i := len(moments) - 1; i > 0; i-- {
		text := from.Format(moments[i].layout)
		if start, err := time.Parse(moments[i].layout, text); err == nil && start.Equal(from) &&
			moments[i].lasts(start).Equal(h.Until) {
			return text
		}
	}
	return from.Format(moments[0].layout)
}

// String returns h as the anchor of a link: "2026-11-21 daily 0.8".
func (h Hint) String() string {
	words := make([]string, 0, 3)
	if modified := h.Modified(); modified != "" {
		words = append(words, modified)
	}
	if h.Frequency != Unsaid {
		words = append(words, h.Frequency.String())
	}
	if h.Priority != 0 {
		words = append(words, strconv.FormatFloat(float64(h.Priority.Value()), 'f', 1, 32))
	}
	return strings.Join(words, " ")
}

// ParseHint reads what String wrote. Words that it does not know say nothing.
func ParseHint(anchor string) (h Hint) {
	for word := range strings.FieldsSeq(anchor) {
		if f := ParseFrequency(word); f != Unsaid {
			h.Frequency = f
			continue
		}
		if strings.Contains(word, ".") {
			h.Priority = ParsePriority(word)
			continue
		}
		for _, m := range moments {
			if len(word) != len(m.layout) {
				continue
			}
			if at, err := time.Parse(m.layout, word); err == nil {
				h.From, h.Until = at, m.lasts(at)
			}
		}
	}
	return h
}
