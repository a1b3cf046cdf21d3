package admission

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"henro/actors/robots"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/messages/weburl"
)

func TestEveryReasonHasAWordOfItsOwn(t *testing.T) {
	seen := map[string]Reason{}
	for _, r := range All() {
		if other, twice := seen[r.String()]; twice || r.String() == "" {
			t.Errorf("%q is the word of %d and of %d", r, other, r)
		}
		seen[r.String()] = r
		var back Reason
		if err := back.UnmarshalText([]byte(r.String())); err != nil || back != r {
			t.Errorf("%q is read as %q: %v", r, back, err)
		}
	}
}

func TestALineIsWhatTheFormatSays(t *testing.T) {
	line, err := json.Marshal(Skipped{URL: "http://a.example/x", Reason: TrapSession, From: "http://a.example/",
		Depth: 3, At: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)})
	want := `{"url":"http://a.example/x","reason":"trap: another session ` +
		`id","from":"http://a.example/","depth":3,"ts":"2026-04-01T09:00:00Z"}`
	if err != nil || string(line) != want {
		t.Errorf("%s, %v; want %s", line, err, want)
	}
}

func TestWhy(t *testing.T) {
	rules, err := scope.New(scope.Options{Mode: scope.Host, Exclude: []string{`\.zip$`},
		Portals: []string{"portal.example"}})
	if err != nil {
		t.Fatal(err)
	}
	rules = rules.With(weburl.MustParse("http://a.example/")).With(weburl.MustParse("http://portal.example/"))
	now := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	bounds := Options{Traps: traps.DefaultOptions()}
	var stops stoplist.List
	stops.Put(stoplist.Entry{Prefix: "http://a.example/old/", Reason: "missing", Evidence: "10 broken pages",
		At: now, Until: now.Add(time.Hour)})
	file := robots.Parse([]byte("User-agent: *\nDisallow: /private/\n"), "henro")
	for _, tt := range []struct {
		url                      string
		scope, trap, stop, robot Reason
	}{
		{"http://a.example/", None, None, None, None},
		{"http://b.example/", Scope, None, None, None},
		{"http://portal.example/x", Portal, None, None, None},
		{"http://a.example/a/a/a/a/a/private.zip", Excluded, TrapRepeats, None, None},
		{"http://a.example/old/x", None, None, StopList, None},
		{"http://a.example/private/x", None, None, None, Robots},
	} {
		q := Question{URL: weburl.MustParse(tt.url), Scope: rules, Options: &bounds,
			Host: Host{Stops: &stops, Robots: file}, Now: now}
		for i, want := range []Reason{tt.scope, tt.trap, tt.stop, tt.robot} {
			if got := Why(&q)[i]; got.Reason != want || got.Says.IsZero() {
				t.Errorf("%s: %+v, want %v", tt.url, got, want)
			}
		}
	}
	file = robots.Parse([]byte("License: https://a.example/l.xml\nUser-agent: *\n"+
		"Content-Usage: /b train-ai=n\n"), "henro")
	q := Question{URL: weburl.MustParse("http://a.example/b"), Host: Host{Robots: file}, Now: now}
	if got := q.robots(); got.Reason != None || !strings.Contains(got.Says.String(), "says: robots.txt Content-Usage: "+
		"train-ai=n; robots.txt License: https://a.example/l.xml") {
		t.Errorf("%+v", got)
	}
	for _, f := range Why(&Question{URL: weburl.MustParse("http://a.example/")}) {
		if f.Reason != None || !strings.Contains(f.Says.String(), "not") {
			t.Errorf("nothing is known, and yet %+v", f)
		}
	}
}
