package revisitsim

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// WriteCSV writes one line for each score, those of classes and totals with "*" for what they sum over.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"budget", "policy", "class", "site", "versions", "requests", "captured", "share",
		"requests_per_captured", "mean_lag_s", "freshness", "mean_age_s", "harmonic_penalty", "blur",
		"coherence"}); err != nil {
		return fmt.Errorf("write scores: %w", err)
	}
	star := func(s string) string {
		if s == "" {
			return "*"
		}
		return s
	}
	for _, scores := range [][]Score{r.Scores, r.Classes, r.Totals} {
		for _, s := range scores {
			if err := out.Write([]string{
				strconv.FormatFloat(s.Budget, 'g', -1, 64), s.Policy, star(s.Class), star(s.Site),
				strconv.Itoa(s.Versions), strconv.Itoa(s.Requests), strconv.Itoa(s.Captured),
				strconv.FormatFloat(s.Share(), 'f', 4, 64), strconv.FormatFloat(s.Price(), 'f', 3, 64),
				strconv.FormatFloat(s.Lag().Seconds(), 'f', 0, 64), strconv.FormatFloat(s.Freshness(), 'f', 4, 64),
				strconv.FormatFloat(s.Age().Seconds(), 'f', 0, 64), strconv.FormatFloat(s.Harmonic(), 'f', 4, 64),
				strconv.FormatFloat(s.Blur(), 'f', 4, 64), strconv.FormatFloat(s.Coherence(), 'f', 4, 64),
			}); err != nil {
				return fmt.Errorf("write scores: %w", err)
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write scores: %w", err)
	}
	return nil
}
