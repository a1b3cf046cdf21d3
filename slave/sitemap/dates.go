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
	n, rest, count := [6]int{1: 1, 2: 1}, text, 0 // year, month, day, hour, minute, second, and how many are there
	for count < len(n) {
		next, width := rest, 2
		switch count {
		case 0:
			width = 4
		case 1, 2:
			next, _ = after(next, "-/")
		case 3:
			next, _ = after(strings.TrimLeft(next, " "), "Tt")
			next = strings.TrimLeft(next, " ")
		default:
			next, _ = after(next, ":")
		}
		value, next, ok := digits(next, width)
		if !ok {
			break
		}
		n[count], rest = value, next
		count++
	}
	switch next, point := after(rest, ".,"); {
	case count == 3: // a date may have a zone and no time
		rest, _ = after(strings.TrimLeft(rest, " "), "Tt")
	case count == 6 && point:
		rest = strings.TrimLeft(next, "0123456789")
	}
	zone, ok := offset(strings.TrimSpace(rest))
	day := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	if !ok || count < 3 && rest != "" || day.Day() != n[2] || int(day.Month()) != n[1] || n[3] > 24 || n[4] > 59 ||
		n[5] > 60 {
		return from, until, false
	}
	from = day.Add(time.Duration(3600*n[3]+60*n[4]+n[5])*time.Second - zone)
	switch count {
	case 1:
		until = from.AddDate(1, 0, 0)
	case 2:
		until = from.AddDate(0, 1, 0)
	case 3:
		until = from.AddDate(0, 0, 1)
	case 5:
		until = from.Add(time.Minute)
	case 6:
		until = from.Add(time.Second)
	}
	return from, until, !until.IsZero() // nothing, or an hour alone
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
