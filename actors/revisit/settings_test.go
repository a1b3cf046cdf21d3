package revisit_test

import (
	"testing"
	"time"

	"henro/actors/revisit"
)

func TestSpansAreReadAsTheyAreWritten(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"1m": time.Minute, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "7d": 7 * day, "2w": 14 * day,
		"1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "1w1d1s": 8*day + time.Second, "0s": 0,
	} {
		if got, err := revisit.ParseSpan(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "7", "d", "w", "1d2", "d1", "-1d", "-5m", "1d-5m", "1x", "1e9w", "NaNd", "Infd"} {
		if got, err := revisit.ParseSpan(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
	o := revisit.DefaultOptions()
	for _, s := range o.Settings() {
		if want := map[string]string{"aim": "1", "estimator": "drift",
			"revisit-min": "10m", "revisit-max": "400d",
			"revisit-first": "1d-14d", "revisit-near": "3", "revisit-singular": "2"}[s.Name]; s.Value != want {
			t.Errorf("%s is %q, want %q", s.Name, s.Value, want)
		}
	}
}
