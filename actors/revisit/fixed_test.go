package revisit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"henro/actors/revisit"
)

func TestPatternsNameAPageABeginningOrAHost(t *testing.T) {
	for text, want := range map[string]struct {
		pattern revisit.Pattern
		yes, no string
	}{
		"https://A.example/x":     {"https://a.example/x", "https://a.example/x", "https://a.example/x/y"},
		"https://a.example/":      {"https://a.example/", "https://a.example/", "https://a.example/x"},
		"https://a.example/x/*":   {"https://a.example/x/*", "https://a.example/x/y", "https://a.example/x"},
		"https://a.example/x*":    {"https://a.example/x*", "https://a.example/xy", "https://a.example/y"},
		"https://a.example":       {"https://a.example/*", "https://a.example/x", "https://b.example/x"},
		"http://a.example:8080/*": {"http://a.example:8080/*", "http://a.example:8080/x", "http://a.example/x"},
		"https://a.example/s?q=*": {"https://a.example/s?q=*", "https://a.example/s?q=1", "https://a.example/s"},
		"https://a.example.evil.test/*": {"https://a.example.evil.test/*", "https://a.example.evil.test/",
			"https://a.example/"},
	} {
		p, err := revisit.ParsePattern(text)
		if err != nil || p != want.pattern || !p.Matches(want.yes) || p.Matches(want.no) {
			t.Errorf("%s: got %q, %v; matches %t and %t", text, p, err, p.Matches(want.yes), p.Matches(want.no))
		}
	}
	for _, text := range []string{"", "a.example/x", "*", "gopher://a.example/", "https://", "https://*"} {
		if p, err := revisit.ParsePattern(text); err == nil {
			t.Errorf("%q was understood as %q", text, p)
		}
	}
}

func TestTheMostExactRuleHolds(t *testing.T) {
	var intervals revisit.FixedIntervals
	var err error
	for pattern, every := range map[revisit.Pattern]time.Duration{
		"https://a.example/*": time.Hour, "https://a.example/x/*": 2 * time.Hour,
		"https://a.example/x/y": 3 * time.Hour,
	} {
		if intervals, err = intervals.With(revisit.FixedInterval{Pages: pattern, Every: every}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := intervals.MarshalBinary()
	if err == nil {
		intervals = nil
		err = intervals.UnmarshalBinary(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]time.Duration{
		"https://a.example/": time.Hour, "https://a.example/x/z": 2 * time.Hour, "https://a.example/x/y": 3 * time.Hour,
		"https://b.example/": 0,
	} {
		if got := intervals.Of(url); got != want {
			t.Errorf("%s every %v, want %v", url, got, want)
		}
	}
	ended, err := intervals.With(revisit.FixedInterval{Pages: "https://a.example/x/y"})
	if err != nil || ended.Of("https://a.example/x/y") != 2*time.Hour ||
		intervals.Of("https://a.example/x/y") != 3*time.Hour {
		t.Errorf("a fixed that was ended: %v, %v", ended, err)
	}
	for n := 0; err == nil && n <= revisit.MaxFixed; n++ {
		page := revisit.Pattern(fmt.Sprintf("https://a.example/%d", n))
		intervals, err = intervals.With(revisit.FixedInterval{Pages: page, Every: 1})
	}
	if !errors.Is(err, revisit.ErrManyFixed) || len(intervals) != revisit.MaxFixed {
		t.Errorf("%d intervals: %v", len(intervals), err)
	}
	if err := intervals.UnmarshalBinary([]byte(`[{"pages":"x"}]`)); !errors.Is(err, revisit.ErrFixed) {
		t.Errorf("a fixed without a span: %v", err)
	}
}
