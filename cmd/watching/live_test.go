package watching

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/actors/revisit"
	"henro/master/watchlist"
)

func TestOrdersAreOneForThePagesOfAHostThatAreAlike(t *testing.T) {
	l, err := ReadList(strings.NewReader(`https://a.example/1 every 6h
https://a.example/2 every 6h tag x
https://a.example/3 every 1h
https://a.example/4 every 1h paused
https://b.example/1 every 6h
https://b.example/2
https://c.example/1`))
	if err != nil {
		t.Fatal(err)
	}
	pages := l.byHost()
	has := map[string]revisit.FixedIntervals{
		"https://a.example": {{Pages: "https://a.example/3", Every: time.Hour},
			{Pages: "https://a.example/1", Every: time.Hour}, {Pages: "https://a.example/gone", Every: never},
			{Pages: "https://a.example/x*", Every: 5}},
		"https://c.example": {{Pages: "https://c.example/*", Every: time.Hour}},
	}
	for host, want := range map[string][]string{
		"https://a.example": {"https://a.example/1 0s", "https://a.example/gone 0s", "https://a.example/* 6h0m0s",
			"https://a.example/4 87600h0m0s"},
		"https://b.example": {"https://b.example/1 6h0m0s"},
		"https://c.example": {"https://c.example/* 0s"},
	} {
		var got []string
		for _, o := range orders(host, pages[host], has[host]) {
			if o.Auto != (o.Every == 0) {
				t.Errorf("%+v", o)
			}
			got = append(got, o.Pages+" "+o.Every.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// A list that is changed keeps what else is in it, and a mistake changes nothing.
func TestALineIsReplaced(t *testing.T) {
	const text = "\ufeff# teas\n\nHTTPS://A.example/tea every 6h\n  # old\nhttp://b.example\nhttps://a.example/tea"
	for _, c := range []struct{ before, url, line, want string }{
		{"", "http://c.example/", "http://c.example/ paused", text + "\nhttp://c.example/ paused\n"},
		{"", "http://b.example/", "http://b.example/", "is in the list already"},
		{"http://c.example/", "", "", "is not in the list any more"},
		{"http://b.example/", "", "",
			"\ufeff# teas\n\nHTTPS://A.example/tea every 6h\n  # old\nhttps://a.example/tea"},
		{"https://a.example/tea", "https://a.example/tea", "https://a.example/tea tag x",
			"\ufeff# teas\n\nhttps://a.example/tea tag x\n  # old\nhttp://b.example\n"},
		{"http://b.example/", "https://a.example/tea", "https://a.example/tea", "is in the list already"},
		{"http://b.example/", "http://d.example/", "http://d.example/",
			"\ufeff# teas\n\nHTTPS://A.example/tea every 6h\n  # old\nhttp://d.example/\nhttps://a.example/tea"},
	} {
		got, err := replaceLine(text, c.before, c.url, c.line)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q in the place of %q: %q, want %q", c.line, c.before, got, c.want)
		}
	}
}

func TestWhatCannotStandInALineIsRefused(t *testing.T) {
	for _, text := range []string{lines, export} {
		w := run{dir: t.TempDir(), says: os.Stderr, live: newLive()}
		name := filepath.Join(w.dir, "given")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if w.list, err = ReadList(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.note(name); err != nil {
			t.Fatal(err)
		}
		if latest := w.latest(); (latest == name) != (text == lines) {
			t.Errorf("the list of the next run: %q", latest)
		}
		for says, p := range map[string]watchlist.Page{
			"is no URL":     {URL: "tea"},
			"want a minute": {URL: "http://d.example", Every: time.Second},
			"begin a part":  {URL: "http://d.example", Watch: "a paused"},
			"tag":           {URL: "http://d.example", Tag: "a\x1b"},
			`watch "#"`:     {URL: "http://d.example", Watch: "#"},
			"already":       {URL: "http://b.example/"},
			"has not begun": {URL: "http://d.example/", Every: time.Hour, Tag: "x", Watch: "b > c", Leave: "d"},
			"want a word":   {URL: "http://d.example", Tag: "paused"},
		} {
			err := w.Put(context.Background(), "", p)
			if text == export && (says == "already" || says == "has not begun") {
				says = "what a list cannot say"
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%+v: %v, want %q", p, err, says)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("the list: %q, %v", got, err)
		}
	}
}
