package messages

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cause is why a visit failed, in the same words in every tool. The zero Cause: it did not fail.
type Cause struct {
	// Word is from a closed set: the name of a Reason, "HTTP 404" for an answer from 400 on, Truncated, or a word of
	// package admission for a page that was given up without a request.
	Word string `json:"word"`
	Says string `json:"says,omitempty"` // the words of the system or of a library, at most MaxSays bytes
}

// Truncated is the word for a response whose body is not whole.
const Truncated = "TRUNCATED"

// CauseOf is the cause of a visit that ended with a status or a reason.
func CauseOf(status int, reason Reason, says string) Cause {
	switch {
	case reason != Reason_NONE:
		return Cause{reason.String(), says}
	case status >= 400:
		return Cause{fmt.Sprintf("HTTP %d", status), says}
	}
	return Cause{}
}

// IsZero reports that nothing failed.
func (c Cause) IsZero() bool { return c.Word == "" }

// String is the word, and behind it the words of the system.
func (c Cause) String() string {
	if c.Says == "" {
		return c.Word
	}
	return c.Word + " (" + c.Says + ")"
}

// MaxSays bounds what is kept of the words of an error: those of package net with two addresses take some 120 bytes.
const MaxSays = 200

// Says makes the words of an error fit to be kept and shown: one line, valid UTF-8, at most MaxSays bytes. A host may
// have written part of them.
func Says(words string) string {
	words = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, words)
	words = strings.TrimSpace(words)
	for n := MaxSays; len(words) > MaxSays; n-- {
		if utf8.RuneStart(words[n]) {
			words = words[:n]
		}
	}
	return words
}
