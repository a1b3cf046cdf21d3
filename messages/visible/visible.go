// Package visible makes text of others safe to show: what would steer a terminal, hide, or turn text round is written
// as an escape that people can see.
//
// The escapes are those of JSON (\u001b, \udb40\udc01), so that JSON means the same afterwards. Escaped are controls
// (C0, DEL, C1), what changes the direction of text, line and paragraph separators, what has no width, and what is not
// UTF-8 (\ufffd). Everything else stays as it is, with combining marks, the joiners inside of words and emoji, and the
// tags of flags.
//
// Invariants:
//   - text that is shown once is the same when it is shown again;
//   - what is shown does not depend on how it is cut into calls of Write.
package visible

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	nonJoiner, joiner = '\u200c', '\u200d'
	blackFlag         = '\U0001f3f4' // tags after it name a region
	firstTag, lastTag = '\U000e0020', '\U000e007f'
)

// escaper knows the character before, which joiners and tags depend on.
type escaper struct {
	before rune // as it was shown; 0: it was escaped, or there was none
	line   bool // newlines and tabs are escaped too
}

// shows reports whether a character may stand as it is.
func (e *escaper) shows(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return !e.line
	case r >= ' ' && r < 0x7f:
		return true
	case r == nonJoiner || r == joiner:
		return e.before > 0x7f && unicode.In(e.before, unicode.L, unicode.M, unicode.So, unicode.Sk)
	case r >= firstTag && r <= lastTag:
		return e.before == blackFlag || e.before >= firstTag && e.before <= lastTag
	}
	return !unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) &&
		(!unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r))
}

// escape appends text. With more to come it leaves a character at the end that is not whole, and returns it.
func (e *escaper) escape(to, text []byte, more bool) (shown, rest []byte) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		whole := r != utf8.RuneError || size > 1
		if !whole && more && !utf8.FullRune(text) {
			break
		}
		if whole && e.shows(r) {
			to, e.before = append(to, text[:size]...), r
		} else {
			to, e.before = append(to, escapeOf(r)...), 0
		}
		text = text[size:]
	}
	return to, text
}

// escapeOf is the escape that JSON has for a character.
func escapeOf(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Line shows text on one line: newlines and tabs are escaped too.
func Line(text string) string {
	e := escaper{line: true}
	shown, _ := e.escape(nil, []byte(text), false)
	return string(shown)
}

// Formula reports whether spreadsheets take text that begins so for a formula. A table for them has an apostrophe
// before such text, and before text that begins with one, so that other readers of it always take one away.
func Formula(first rune) bool { return strings.ContainsRune("=+-@＝＋－＠\t\r\n'", first) }

// Cell is text as it stands in a table for spreadsheets.
func Cell(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && Formula(first) {
		return "'" + text
	}
	return text
}

// Writer shows what is written to it, newlines and tabs as they are. Several goroutines may write at once.
type Writer struct {
	to       io.Writer
	terminal bool

	mu      sync.Mutex
	escaper escaper
	rest    []byte // a character that is not whole yet
}

// To returns a Writer that shows text on w.
func To(w io.Writer, terminal bool) *Writer { return &Writer{to: w, terminal: terminal} }

// Write shows text. A character that is cut at its end is shown with the next text.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	shown, rest := w.escaper.escape(nil, append(w.rest, text...), true)
	w.rest = append([]byte(nil), rest...)
	if _, err := w.to.Write(shown); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Behind returns the writer behind w; w itself, if it is no Writer.
func Behind(w io.Writer) io.Writer {
	if shown, ok := w.(*Writer); ok {
		return shown.to
	}
	return w
}

// Exact returns a writer that changes no byte, for formats with rules of their own. On a terminal it escapes all the
// same.
func Exact(w io.Writer) io.Writer {
	if shown, ok := w.(*Writer); ok && !shown.terminal {
		return shown.to
	}
	return w
}
