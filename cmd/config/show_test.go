package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"henro/master"
	"henro/messages"
)

const evilWords = "\x1b\u009b\u202e\nFORGED"

func TestTheLogOnATerminalShowsWhatItsWordsHide(t *testing.T) {
	for _, colors := range []bool{false, true} {
		var screen bytes.Buffer
		logger := logrus.New()
		logger.SetOutput(&screen)
		logger.SetFormatter(&shownText{logrus.TextFormatter{ForceColors: colors, DisableColors: !colors}})
		logger.WithField("says", evilWords).WithError(errors.New(evilWords)).Warn(evilWords)
		if got := screen.String(); strings.ContainsAny(got, "\u009b\u202e") || strings.Contains(got, "\x1b\u009b") ||
			strings.Count(got, "\n") != 1 || strings.Count(got, "FORGED") != 3 {
			t.Errorf("colors %v: %q", colors, got)
		}
	}
}

func TestEachErrorIsOneLine(t *testing.T) {
	first, second := errors.New("a"+evilWords), errors.New("b")
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{second, "p: b\n"},
		{first, `p: a\u001b\u009b\u202e\nFORGED` + "\n"},
		{errors.Join(first, errors.Join(second, second)), `p: a\u001b\u009b\u202e\nFORGED` + "\np: b\np: b\n"},
		{EndError(t.Context(), master.Summary{End: master.Finished,
			FailedSeeds: []master.FailedVisit{{URL: "u", Cause: messages.Cause{Word: "c"}}}}),
			"p: every seed failed\np: u: c\n"},
		{fmt.Errorf("%w: %w", second, first), `p: b: a\u001b\u009b\u202e\nFORGED` + "\n"},
	} {
		var out bytes.Buffer
		if Say(&out, "p", c.err); out.String() != c.want {
			t.Errorf("%q, want %q", &out, c.want)
		}
	}
}
