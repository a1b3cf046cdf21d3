package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
)

func day(n int) time.Time { return time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC) }

// made is an index of pages.
func made(t testing.TB, pages ...Page) *Index {
	t.Helper()
	x, err := Open(context.Background(), t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	if _, err := x.Add(context.Background(), pages); err != nil {
		t.Fatal(err)
	}
	return x
}

func urls(t testing.TB, x *Index, q Question) (list []string) {
	t.Helper()
	if q.Most == 0 {
		q.Most = 1000
	}
	found, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("%q: %v", q.Words, err)
	}
	for _, f := range found {
		list = append(list, f.URL)
	}
	slices.Sort(list)
	return list
}

func TestPagesAreFoundByTheirWords(t *testing.T) {
	x := made(t,
		Page{"http://a/1", day(1), "Opening hours", "We open at nine. Prices vary."},
		Page{"http://a/1", day(5), "Opening hours", "We open at ten. Prices vary."},
		Page{"http://a/2", day(2), "東京都の天気", "今日の東京は晴れ、大阪は雨です。"},
		Page{"http://b/3", day(3), "Ｇｏ言語", "ｶﾀｶﾅとGo言語のﾍﾟｰｼﾞ。京都タワー"},
		Page{"http://b/4", day(4), "Naïve café", `He said "don't" & <left>. C++ 2026-03-04`},
		Page{"http://b/4", day(4), "the same moment", "again"},
	)
	for _, c := range []struct {
		sentence string
		q        Question
		want     string
	}{
		{"a word", Question{Words: "prices"}, "http://a/1"},
		{"of the title", Question{Words: "HOURS"}, "http://a/1"},
		{"all words", Question{Words: "prices nine"}, "http://a/1"},
		{"a word that is not there", Question{Words: "prices eleven"}, ""},
		{"a phrase", Question{Words: `"open at ten"`}, "http://a/1"},
		{"not in this order", Question{Words: `"ten at open"`}, ""},
		{"two letters of Japanese", Question{Words: "東京"}, "http://a/2"},
		{"three", Question{Words: "東京都"}, "http://a/2"},
		{"one", Question{Words: "雨"}, "http://a/2"},
		{"the last of a run", Question{Words: "気"}, "http://a/2"},
		{"letters that stand beside each other only across a word", Question{Words: "京都"}, "http://a/2 http://b/3"},
		{"which are apart", Question{Words: "大東"}, ""},
		{"two words of Japanese", Question{Words: "晴れ 大阪"}, "http://a/2"},
		{"letters of another width", Question{Words: "カタカナ"}, "http://b/3"},
		{"letters of two scripts", Question{Words: "go言語"}, "http://b/3"},
		{"accents are left off", Question{Words: "naive cafe"}, "http://b/4"},
		{"operators of FTS5 are words", Question{Words: `said OR NOT (c++ AND "`}, ""},
		{"signs are none", Question{Words: `don't & <left>`}, "http://b/4"},
		{"below a prefix", Question{Words: "京都", Prefix: "http://b/"}, "http://b/3"},
		{"since a moment", Question{Words: "open", From: day(2)}, "http://a/1"},
		{"what it said then", Question{Words: "nine", From: day(2)}, ""},
		{"until a moment", Question{Words: "nine", To: day(2)}, "http://a/1"},
		{"each version", Question{Words: "open", Versions: true}, "http://a/1 http://a/1"},
		{"the second of one moment is left out", Question{Words: "again"}, ""},
	} {
		if got := strings.Join(urls(t, x, c.q), " "); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.sentence, c.q.Words, got, c.want)
		}
	}
	for _, words := range []string{"", " ", `"`, "。、!?", `""`} {
		if _, err := x.Search(context.Background(), Question{Words: words, Most: 1}); !errors.Is(err, ErrQuery) {
			t.Errorf("%q: %v", words, err)
		}
	}
	found, err := x.Search(context.Background(), Question{Words: "大阪", Most: 1})
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Around, "東京は晴れ、大阪は雨") {
		t.Errorf("around it: %+v, %v", found, err)
	}
}

// In Japanese, what is found is what a search through all texts letter by letter finds.
func TestJapaneseIsFoundAsByReadingAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("東京都大阪府の天気はー、。 a")
	text := func(n int) string {
		b := make([]rune, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	var pages []Page
	for i := range 200 {
		pages = append(pages, Page{fmt.Sprintf("http://a/%03d", i), day(1), "", text(40)})
	}
	x := made(t, pages...)
	dense := func(s string) bool { return !strings.ContainsAny(s, "、。 a") }
	found := 0
	for range 500 {
		word := text(1 + r.IntN(4))
		if !dense(word) {
			continue
		}
		var want []string
		for _, p := range pages {
			if strings.Contains(norm.NFKC.String(p.Text), word) {
				want = append(want, p.URL)
			}
		}
		if got := urls(t, x, Question{Words: word}); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", word, got, want)
		}
		found += len(want)
	}
	if found < 1000 {
		t.Errorf("only %d pages were found", found)
	}
}

func TestAnIndexIsMadeOnlyWhenAskedFor(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(context.Background(), dir, false); !errors.Is(err, ErrNoIndex) {
		t.Errorf("without an index: %v", err)
	}
	x, err := Open(context.Background(), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	page := Page{"http://a/", day(1), "t", "word"}
	for _, want := range []int{1, 0} {
		if added, err := x.Add(context.Background(), []Page{page}, "a.warc.gz"); err != nil || added != want {
			t.Errorf("%d were added, want %d; %v", added, want, err)
		}
	}
	if files, err := x.Files(context.Background()); err != nil || !files["a.warc.gz"] || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	reader, err := Open(context.Background(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got := urls(t, reader, Question{Words: "word"}); len(got) != 1 {
		t.Errorf("beside a writer: %v", got)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("word", "a word here")
	x := made(f)
	n := 0
	f.Fuzz(func(t *testing.T, words, text string) {
		n++
		if _, err := x.Add(context.Background(), []Page{{fmt.Sprint(n), day(1), words, text}}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Search(context.Background(), Question{Words: words, Most: 3}); err != nil &&
			!errors.Is(err, ErrQuery) {
			t.Errorf("%q: %v", words, err)
		}
	})
}
