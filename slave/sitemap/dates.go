package sitemap

import (
	"strconv"
	"strings"
	"time"
)

// Years outside these are mistakes: before the web, or after anybody who reads this.
const (
	firstYear = 1990
	lastYear  = 2200
)

// modified reads a moment as sitemaps and feeds write it: W3C datetime, RFC 822 and what people make of them. It
// returns the span in which it lies: a document may say the day only. ok is false for what is no moment.
func modified(text string) (from, until time.Time, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < 4 || len(text) > 64 {
		return from, until, false
	}
	if from, until, ok = w3c(text); !ok {
		if from, ok = rfc822(text); ok {
			until = from.Add(time.Second)
		}
	}
	if !ok || from.Year() < firstYear || from.Year() > lastYear {
		return time.Time{}, time.Time{}, false
	}
	return from.UTC(), until.UTC(), true
}

// digits reads a number of so many digits off the text.
func digits(text string, count int) (n int, rest string, ok bool) {
	if len(text) < count {
		return 0, text, false
	}
	for i := range count {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, text, false
		}
		n = n*10 + int(c-'0')
	}
	return n, text[count:], true
}

// after takes one of some bytes off the text.
func after(text, any string) (string, bool) {
	if text == "" || strings.IndexByte(any, text[0]) < 0 {
		return text, false
	}
	return text[1:], true
}

// w3c reads https://www.w3.org/TR/NOTE-datetime, from the year alone to fractions of a second. A space for the T, a
// missing zone (taken for UTC), a zone without its colon, and 20261121T120000 without separators are met in the wild.
func w3c(text string) (from, until time.Time, ok bool) {
	year, rest, ok := digits(text, 4)
	if !ok {
		return from, until, false
	}
	date := func(month, day int) time.Time { return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	if rest == "" {
		return date(1, 1), date(13, 1), true
	}
	rest, _ = after(rest, "-/")
	month, rest, ok := digits(rest, 2)
	if !ok || month < 1 || month > 12 {
		return from, until, false
	}
	if rest == "" {
		return date(month, 1), date(month+1, 1), true
	}
	rest, _ = after(rest, "-/")
	day, rest, ok := digits(rest, 2)
	if !ok || day < 1 || day > 31 || date(month, day).Day() != day {
		return from, until, false
	}
	if rest = strings.TrimLeft(rest, " "); rest == "" {
		return date(month, day), date(month, day+1), true
	}
	rest, _ = after(rest, "Tt")
	if zone, ok := offset(strings.TrimLeft(rest, " ")); ok { // a date with a zone and no time
		return date(month, day).Add(-zone), date(month, day+1).Add(-zone), true
	}
	hour, rest, ok := digits(strings.TrimLeft(rest, " "), 2)
	if !ok || hour > 24 {
		return from, until, false
	}
	rest, _ = after(rest, ":")
	minute, rest, ok := digits(rest, 2)
	if !ok || minute > 59 {
		return from, until, false
	}
	second, lasts := 0, time.Minute
	if next, colon := after(rest, ":"); colon || len(rest) > 1 && rest[0] >= '0' && rest[0] <= '9' {
		if second, rest, ok = digits(next, 2); !ok || second > 60 {
			return from, until, false
		}
		lasts = time.Second
	}
	if next, point := after(rest, ".,"); point {
		rest = strings.TrimLeft(next, "0123456789")
	}
	zone, ok := offset(strings.TrimSpace(rest))
	if !ok {
		return from, until, false
	}
	from = time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Add(-zone)
	return from, from.Add(lasts), true
}

// offset reads a zone: nothing, Z, a name for UTC, +hh:mm, +hhmm, +hh.
func offset(text string) (time.Duration, bool) {
	switch strings.ToUpper(text) {
	case "", "Z", "UTC", "GMT", "UT":
		return 0, true
	}
	sign := time.Duration(1)
	switch text[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	hours, rest, ok := digits(text[1:], 2)
	if !ok {
		return 0, false
	}
	rest, _ = after(rest, ":")
	minutes := 0
	if rest != "" {
		if minutes, rest, ok = digits(rest, 2); !ok || rest != "" {
			return 0, false
		}
	}
	if hours > 14 || minutes > 59 {
		return 0, false
	}
	return sign * (time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute), true
}

// zones are the names of RFC 822 and those that feeds add to them, in hours from UTC.
var zones = map[string]time.Duration{
	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
	"PST": -8, "PDT": -7,
	"BST": 1, "CET": 1, "MET": 1, "CEST": 2, "MEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "JST": 9, "KST": 9, "AEST": 10,
	"AEDT": 11, "NZST": 12, "NZDT": 13,
}

// rfc822 reads the dates of RSS, "Sat, 07 Sep 2002 00:00:01 GMT": the weekday, the comma, the time and the zone may be
// missing, the year may have two digits or come last, day and month may be swapped, the month may be written out. The
// first word may be anything: a weekday in another language.
func rfc822(text string) (time.Time, bool) {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r == ' ' || r == ',' || r == '-' && !strings.ContainsAny(text, ":") || r == '\t' || r == '\n'
	})
	day, month, year := 0, time.Month(0), 0
	var clock, zone time.Duration
	for i, word := range words {
		switch n, err := strconv.Atoi(word); {
		case strings.Contains(word, ":"):
			parts := strings.Split(word, ":")
			for j, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
				if j < len(parts) {
					n, err := strconv.ParseFloat(parts[j], 64)
					if err != nil || !(n >= 0 && n <= 60) {
						return time.Time{}, false
					}
					clock += time.Duration(n) * unit
				}
			}
		case (word[0] == '+' || word[0] == '-') && len(word) >= 3:
			at, ok := offset(word)
			if !ok {
				return time.Time{}, false
			}
			zone = at
		case err == nil && day == 0 && n >= 1 && n <= 31 && len(word) <= 2:
			day = n
		case err == nil && year == 0 && (len(word) == 4 || len(word) == 2):
			if year = n; len(word) == 2 {
				year += 1900
				if n < 70 {
					year += 100
				}
			}
		case err == nil:
			return time.Time{}, false
		default:
			if m := monthOf(word); m != 0 && month == 0 {
				month = m
			} else if hours, ok := zones[strings.ToUpper(word)]; ok {
				zone = hours * time.Hour
			} else if i > 0 && !isAMPM(word, &clock) && !isWeekday(word) {
				return time.Time{}, false
			}
		}
	}
	at := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if day == 0 || month == 0 || year == 0 || at.Day() != day {
		return time.Time{}, false
	}
	return at.Add(clock - zone), true
}

func isAMPM(word string, clock *time.Duration) bool {
	switch {
	case strings.EqualFold(word, "pm") && *clock < 12*time.Hour:
		*clock += 12 * time.Hour
	case strings.EqualFold(word, "am") && *clock >= 12*time.Hour:
		*clock -= 12 * time.Hour
	}
	return strings.EqualFold(word, "am") || strings.EqualFold(word, "pm")
}

func isWeekday(word string) bool {
	if len(word) < 2 {
		return false
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := d.String(); len(word) <= len(name) && strings.EqualFold(word, name[:len(word)]) {
			return true
		}
	}
	return false
}

func monthOf(word string) time.Month {
	word = strings.TrimSuffix(word, ".")
	if len(word) < 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		if name := m.String(); len(word) <= len(name) && strings.EqualFold(word, name[:len(word)]) {
			return m
		}
	}
	return 0
}
