package outlink_test

import (
	"testing"
	"time"

	"henro/messages/outlink"
)

func TestAHintIsReadAsItWasWritten(t *testing.T) {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	second := day.Add(12*time.Hour + 3*time.Minute + 4*time.Second)
	for want, h := range map[string]outlink.Hint{
		"":                     {},
		"2026-11-21T12:03:04Z": {From: second, Until: second.Add(time.Second)},
		"2026-11-21T00:00:00Z": {From: day, Until: day.Add(time.Second)},
		"2026-11-21":           {From: day, Until: day.AddDate(0, 0, 1)},
		"2026-11":              {From: day.AddDate(0, 0, -20), Until: day.AddDate(0, 1, -20)},
		"2026":                 {From: day.AddDate(0, -10, -20), Until: day.AddDate(1, -10, -20)},
		"daily":                {Frequency: outlink.Daily},
		"0.0":                  {Priority: outlink.ParsePriority("0")},
		"2026-11-21 weekly 0.8": {
			From: day, Until: day.AddDate(0, 0, 1), Frequency: outlink.Weekly, Priority: outlink.ParsePriority("0.8"),
		},
	} {
		if got := h.String(); got != want {
			t.Errorf("%+v is written %q, want %q", h, got, want)
		}
		if got := outlink.ParseHint(want); got != h {
			t.Errorf("%q is read as %+v, want %+v", want, got, h)
		}
	}
}

func TestPrioritiesOutsideTheProtocolSayNothing(t *testing.T) {
	for word, want := range map[string]float32{"0.5": 0.5, "1": 1, "1.0": 1, "0,9": 0.9, "0": 0, "1.1": 0.5,
		"-0.1": 0.5, "NaN": 0.5, "": 0.5, "high": 0.5} {
		if got := outlink.ParsePriority(word).Value(); got != want {
			t.Errorf("priority %q is %v, want %v", word, got, want)
		}
	}
}
