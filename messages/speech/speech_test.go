package speech

import (
	"encoding/json"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Microsecond: "1.5ms", 896 * time.Millisecond: "896ms", 45300 * time.Millisecond: "45.3s",
		60 * time.Second: "1m", 61 * time.Second: "1m1s",
		time.Hour - time.Millisecond: "1h", 5*time.Hour + 10*time.Minute + time.Second: "5h10m",
		36 * time.Hour: "1d12h", 3*day - time.Minute: "3d", 40*day + 13*time.Hour: "41d",
	} {
		if got := Span(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

var japanese = Language{
	Words: map[string]string{"%d pages wait%s": "%[2]s%[1]s件待機", ", the first until %s": "%sまで、", "missing": "存在しない",
		"the last %s (%s)": "最後は%s(%s)"},
	Value: func(value any) any {
		switch v := value.(type) {
		case int:
			return "12"
		case time.Duration:
			return "3時間"
		default:
			return v
		}
	},
}

func TestASentenceIsWordsAndFacts(t *testing.T) {
	for _, c := range []struct {
		s      Sentence
		en, ja string
	}{
		{Sentence{}, "", ""},
		{Say("%d pages wait%s", 12, Sentence{}), "12 pages wait", "12件待機"},
		{Say("%d pages wait%s", 12, Say(", the first until %s", 3*time.Hour)), "12 pages wait, the first until 3h",
			"3時間まで、12件待機"},
		{Say("nobody translated %s", 3*time.Hour), "nobody translated 3h", "nobody translated 3時間"},
		{Say("100 %"), "100 %", "100 %"},
		{Heard("the last missing (http://a.test/(b) 100%d)", "gone", "the last %s (%s)"),
			"the last missing (http://a.test/(b) 100%d)", "最後は存在しない(http://a.test/(b) 100%d)"},
		{Heard("as 100 % old versions wrote it", "the last %s (%s)"), "as 100 % old versions wrote it",
			"as 100 % old versions wrote it"},
	} {
		if got := c.s.String(); got != c.en {
			t.Errorf("%q, want %q", got, c.en)
		}
		if got := c.s.In(&japanese); got != c.ja {
			t.Errorf("%q, want %q", got, c.ja)
		}
		data, err := json.Marshal(c.s)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		var again Sentence
		if err := json.Unmarshal(data, &text); err != nil || text != c.en {
			t.Errorf("%s is not the text %q: %v", data, c.en, err)
		}
		if err := json.Unmarshal(data, &again); err != nil || again.String() != c.en || again.IsZero() != (c.en == "") {
			t.Errorf("%s is read as %q: %v", data, again, err)
		}
	}
}
