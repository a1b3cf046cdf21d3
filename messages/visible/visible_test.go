package visible

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWhatIsOrdinaryStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		"", "plain ASCII: ~!@#\\u001b", "naïve café", "cafe\u0301", "日本語のページ　全角", "العربية", "עברית", "हिन्दी",
		"क\u094d\u200dष", "می\u200cخواهم", "👨\u200d👩\u200d👧\u200d👦", "❤\ufe0f\u200d🔥", "👍🏽\u200d", "1\ufe0f\u20e3",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "葛\U000e0100", "10\u00a0€", "\u0600\u0661",
	} {
		if got := Line(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestWhatSteersHidesOrTurnsIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2Jx":         `\u001b[2Jx`,
		"\x1b]0;t\a":       `\u001b]0;t\u0007`,
		"a\u009b31m":       `a\u009b31m`,
		"\x7f\x00\b":       `\u007f\u0000\u0008`,
		"a\nb\tc\rd":       `a\nb\tc\rd`,
		"a\u202egnp.exe":   `a\u202egnp.exe`,
		"\u2066x\u2069":    `\u2066x\u2069`,
		"a\u200eb\u061cc":  `a\u200eb\u061cc`,
		"a\u200bb\ufeffc":  `a\u200bb\ufeffc`,
		"soft\u00adhyphen": `soft\u00adhyphen`,
		"pay\u200dpal":     `pay\u200dpal`,
		"日\u200d\u200d":    "日\u200d" + `\u200d`,
		"a\u2028b\u2029c":  `a\u2028b\u2029c`,
		"a\u3164b\u115fc":  `a\u3164b\u115fc`,
		"\U000e0041":       `\udb40\udc41`,
		"a\x9bb\xe3\x81":   `a\ufffdb\ufffd\ufffd`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Every character there is, however the text is cut.
func TestNothingThatSteersPassesHoweverItIsCut(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r += 1 + r/0x3100*7 {
		all.WriteRune(r)
	}
	text := all.String() + "\x80\xff" + strings.Repeat("👩\u200d🔬\u202e\n", 3)
	var whole bytes.Buffer
	shownWhole := To(&whole, false)
	if n, err := shownWhole.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
	for i, r := range whole.String() {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b ||
			r == utf8.RuneError && whole.String()[i:i+3] != "\ufffd" {
			t.Fatalf("%U passed at %d", r, i)
		}
	}
	for _, size := range []int{1, 2, 3, 4096} {
		var pieces bytes.Buffer
		w := To(&pieces, false)
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if n, err := w.Write(rest[:min(size, len(rest))]); n != min(size, len(rest)) || err != nil {
				t.Fatal(n, err)
			}
		}
		if pieces.String() != whole.String() {
			t.Errorf("in pieces of %d bytes another text is shown", size)
		}
	}
	if again := Line(Line(text)); again != Line(text) {
		t.Error("what was shown is shown otherwise when it is shown again")
	}
}

func TestJSONMeansTheSameAfterwards(t *testing.T) {
	before := "\x1b\u202e\u009b\x7f日本\U000e0041\u200b\n\t\"\\<"
	text, err := json.Marshal(map[string]string{before: before})
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	if _, err := To(&shown, true).Write(text); err != nil {
		t.Fatal(err)
	}
	var after map[string]string
	if err := json.Unmarshal(shown.Bytes(), &after); err != nil || after[before] != before {
		t.Errorf("%s: %q, %v", &shown, after, err)
	}
	if strings.ContainsAny(shown.String(), "\x1b\x7f\u202e\u009b") {
		t.Errorf("%q holds controls", &shown)
	}
}

func TestFormatsAreExactUnlessATerminalShowsThem(t *testing.T) {
	for terminal, want := range map[bool]string{false: "\x1b\r\n", true: `\u001b\r` + "\n"} {
		var out bytes.Buffer
		if _, err := Exact(To(&out, terminal)).Write([]byte("\x1b\r\n")); err != nil || out.String() != want {
			t.Errorf("terminal %v: %q, %v", terminal, &out, err)
		}
	}
	var plain bytes.Buffer
	if Exact(&plain) != &plain || Behind(&plain) != &plain || Behind(To(&plain, true)) != &plain {
		t.Error("a writer that is none of ours is not given back")
	}
}

func TestACellIsNoFormula(t *testing.T) {
	for text, want := range map[string]string{
		"=HYPERLINK(1)": "'=HYPERLINK(1)", "+1": "'+1", "-1": "'-1", "@SUM": "'@SUM", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"＝1": "'＝1", "'tis": "''tis", "": "", "https://a/=": "https://a/=", "日": "日",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestSeveralMayWriteAtOnce(t *testing.T) {
	var out bytes.Buffer
	w, line := To(&out, false), strings.Repeat("日本", 20)+"\n"
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if _, err := io.WriteString(w, line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if out.String() != strings.Repeat(line, 800) {
		t.Error("lines are mixed or lost")
	}
}
