// Package brought says what each version of a page brought: what went beside what came in its place.
package brought

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"henro/store/report/changes"
)

// Diff is what changed between two versions of a page, by their sentences, a line each; "" if nothing did.
func Diff(url, before, now string, from, to time.Time) string {
	return udiff.Unified(url+"\t"+from.Format(time.RFC3339), url+"\t"+to.Format(time.RFC3339), before, now)
}

// By is what the capture of a page at a moment brought; nil: it is not among the changes.
func By(all []changes.Change, url string, at time.Time) []Row {
	for i := range all {
		if c := &all[i]; c.URL == url && c.At.Truncate(time.Second).Equal(at.Truncate(time.Second)) {
			return Rows(c.Diff)
		}
	}
	return nil
}

// Row is a line of what changed: what went stands beside what came in its place. One of them may have no text.
type Row struct{ Went, Came Line }

// Line is one sentence, whose middle is not in the other.
type Line struct{ Begin, Middle, End string }

// Is reports whether there is one.
func (l Line) Is() bool { return l != Line{} }

// Rows are the lines of a difference, as henro diff writes it.
func Rows(diff string) (rows []Row) {
	var went, came []string
	flush := func() {
		for i := range max(len(went), len(came)) {
			var row Row
			switch {
			case i >= len(went):
				row.Came.Middle = came[i]
			case i >= len(came):
				row.Went.Middle = went[i]
			default:
				row = beside(went[i], came[i])
			}
			rows = append(rows, row)
		}
		went, came = nil, nil
	}
	number := 0
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\n")
		switch number++; {
		case len(line) < 2, number == 1 && line[:2] == "--", number == 2 && line[:2] == "++": // names of both
		case line[0] == '-':
			if len(came) > 0 {
				flush()
			}
			went = append(went, line[1:])
		case line[0] == '+':
			came = append(came, line[1:])
		default:
			flush()
		}
	}
	flush()
	return rows
}

// beside finds what two lines begin and end with alike, in whole words.
func beside(went, came string) Row {
	begin := 0
	for i := 0; ; {
		r, size := utf8.DecodeRuneInString(went[i:])
		if o, _ := utf8.DecodeRuneInString(came[i:]); size == 0 || o != r || r == utf8.RuneError {
			break
		}
		if i += size; !inWord(r) {
			begin = i
		}
	}
	end := 0
	for rest := 0; ; {
		r, size := utf8.DecodeLastRuneInString(went[begin : len(went)-rest])
		if o, _ := utf8.DecodeLastRuneInString(came[begin : len(came)-rest]); size == 0 || o != r ||
			r == utf8.RuneError {
			break
		}
		if rest += size; !inWord(r) {
			end = rest
		}
	}
	line := func(text string) Line {
		return Line{text[:begin], text[begin : len(text)-end], text[len(text)-end:]}
	}
	return Row{line(went), line(came)}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
