package fields

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"henro/store/archive/warc"
)

// pass passes lines on beside what a replay says.
func pass(use Use, lines ...string) http.Header {
	ours := http.Header{"Link": {"<http://127.0.0.1/>; rel=timemap"}, "Cache-Control": {"no-cache"}, "Vary": {"Origin"},
		"X-Ours": {"stays"}}
	var archived warc.Header
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		archived = append(archived, warc.Field{Name: name, Value: value})
	}
	Pass(ours, archived, use, func(ref string) string { return strings.Replace(ref, "http://", "led:", 1) })
	return ours
}

func TestAScriptReadsAllThatDoesNotAct(t *testing.T) {
	for sentence, c := range map[string]struct {
		use   Use
		lines []string
		want  map[string]string // "": nothing
	}{
		"what lists are made by": {Script, []string{"X-Total-Count: 5", "Date: then", "Vary: Accept",
			"Link: <a>; rel=next"},
			map[string]string{"X-Total-Count": "5", "Date": "then", "Vary": "Origin|Accept", "Link": "<a>; rel=next",
				exposing: "Date, Link, Vary, X-Total-Count"}},
		"two of a name": {Script, []string{"X-A: 1", "x-a: 2"},
			map[string]string{"X-A": "1|2", exposing: "X-A, x-a"}},
		"what we say ourselves": {Script, []string{"x-ours: theirs"},
			map[string]string{"X-Ours": "stays", exposing: ""}},
		"between two machines": {Script, []string{"Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 5"},
			map[string]string{"X-Hop": "", "Connection": "", "Keep-Alive": "", Renamed + "X-Hop": "1"}},
		"what acts": {Script, []string{"Set-Cookie: a=b", "Cross-Origin-Opener-Policy: same-origin", "NEL: {}",
			"Content-Security-Policy-Report-Only: default-src", "Clear-Site-Data: *", "Cache-Control: max-age=1"},
			map[string]string{"Set-Cookie": "", "Cross-Origin-Opener-Policy": "", "Nel": "", "Clear-Site-Data": "",
				"Content-Security-Policy-Report-Only": "", "Cache-Control": "no-cache", exposing: "",
				Renamed + "Cache-Control": "max-age=1"}},
		"what other origins could read": {Script, []string{"Access-Control-Allow-Origin: *", "X-A: 1", "X-B: 2",
			exposing + ": x-b ,x-c"}, map[string]string{"X-A": "1", "X-B": "2", exposing: "X-B"}},
		"all that is there": {Script, []string{"Access-Control-Allow-Origin: *", "X-A: 1", exposing + ": *"},
			map[string]string{exposing: "X-A"}},
		"nothing but the simple ones": {Script, []string{"Access-Control-Allow-Origin: *", "X-A: 1"},
			map[string]string{"X-A": "1", exposing: ""}},
		"lengths": {Script, []string{"Content-Length: 5", "Transfer-Encoding: chunked"},
			map[string]string{"Content-Length": "", "Transfer-Encoding": "", Renamed + "Content-Length": ""}},
		"no name": {Script, []string{"X(Y: 1", ": 2"}, map[string]string{"X(Y": "", Renamed + "X(Y": "", Renamed: ""}},
		"links that ask": {Script,
			[]string{`Link: <//a>; rel=pre\connect, <b>; title="x, y"; rel=next, <c,d>; REL=Preload`},
			map[string]string{"Link": `<b>; title="x, y"; rel=next`}},
		"only links that ask": {Script, []string{"Link: <//a>; rel=dns-prefetch"},
			map[string]string{"Link": "", Renamed + "Link": "<//a>; rel=dns-prefetch"}},
		"where to": {Shown, []string{"Location: http://a/"}, map[string]string{"Location": "led:a/"}},
		"nowhere":  {Shown, []string{"Location: "}, map[string]string{"Location": "", Renamed + "Location": ""}},
		"a page": {Shown, []string{"ETag: a", "Link: <a>; rel=next", "Content-Range: x", "Content-Disposition: "},
			map[string]string{"Etag": "", Renamed + "Etag": "a", "Link": "<http://127.0.0.1/>; rel=timemap",
				"Content-Range": "x", exposing: ""}},
		"bytes": {Bytes, []string{"Location: http://a/", "ETag: a"},
			map[string]string{"Location": "", Renamed + "Location": "http://a/", "Etag": ""}},
	} {
		h := pass(c.use, c.lines...)
		for name, want := range c.want {
			if got := strings.Join(h.Values(name), "|"); got != want {
				t.Errorf("%s: %s is %q, want %q", sentence, name, got, want)
			}
		}
	}
}

func TestTheLengthIsToldWhereItIsTrue(t *testing.T) {
	for sentence, c := range map[string]struct {
		fields warc.Header
		passed int64
		want   string
	}{
		"as it was sent":  {warc.Header{{Name: "content-length", Value: " 5 "}}, 5, "5"},
		"it is changed":   {warc.Header{{Name: "Content-Length", Value: "5"}}, 6, ""},
		"it is cut":       {warc.Header{{Name: "Content-Length", Value: "5000"}}, 4096, ""},
		"nothing is sent": {warc.Header{{Name: "Content-Length", Value: "5"}}, Untold, "5"},
		"nothing is said": {warc.Header{{Name: "Content-Type", Value: "5"}}, Untold, ""},
		"no number":       {warc.Header{{Name: "Content-Length", Value: "5, 5"}}, 5, ""},
		"below nothing":   {warc.Header{{Name: "Content-Length", Value: "-1"}}, Untold, ""},
		"chunks": {warc.Header{{Name: "Content-Length", Value: "5"}, {Name: "Transfer-Encoding", Value: "chunked"}}, 5,
			""},
	} {
		ours := http.Header{}
		if Length(ours, c.fields, c.passed); ours.Get("Content-Length") != c.want {
			t.Errorf("%s: %q, want %q", sentence, ours.Get("Content-Length"), c.want)
		}
	}
}

func TestOnlyWhatAScriptAsksForIsForOne(t *testing.T) {
	for want, all := range map[Use][]http.Header{
		Script: {{"Sec-Fetch-Dest": {"empty"}}},
		Shown:  {{}, {"Sec-Fetch-Dest": {"iframe"}}, {"Sec-Fetch-Dest": {"empty"}, "Sec-Purpose": {"prefetch"}}},
	} {
		for _, h := range all {
			if got := Of(&http.Request{Header: h}); got != want {
				t.Errorf("%v: %d, want %d", h, got, want)
			}
		}
	}
}

// FuzzPass: whatever a head holds, what is passed on neither acts nor replaces what we say.
func FuzzPass(f *testing.F) {
	f.Add("Link", `<a>; rel="next", <b>; rel="pre\connect"`)
	f.Add("Connection", "x-ours, link")
	f.Add("Set-Cookie", "a=b")
	f.Fuzz(func(t *testing.T, name, value string) {
		h := pass(Script, name+": "+value, "X-Other: 1")
		for name := range h {
			if Acts(strings.ToLower(name)) && name != exposing && name != "Cache-Control" &&
				!strings.HasPrefix(name, Renamed) {
				t.Errorf("%s acts", name)
			}
		}
		if !reflect.DeepEqual(h["X-Ours"], []string{"stays"}) || h.Get("Cache-Control") != "no-cache" ||
			asking.MatchString(strings.ToLower(strings.ReplaceAll(strings.Join(h["Link"], ", "), `\`, ""))) {
			t.Errorf("%v", h)
		}
	})
}
