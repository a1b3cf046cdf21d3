package origin

import (
	"strings"
	"testing"
)

const (
	stamp = "20260314120000"
	port  = Port("8091")
)

func TestAnOriginIsFoundUnderItsName(t *testing.T) {
	for href, want := range map[string]string{
		"http://docs.test/a?b#c":      "20260314120000-http.docs.test.archive.localhost:8091/a?b#c",
		"https://docs.test:8443":      "20260314120000-https-8443.docs.test.archive.localhost:8091",
		"https://docs.test.?q":        "20260314120000-https.docs.test.archive.localhost:8091?q",
		"http://me:word@docs.test/@b": "20260314120000-http.docs.test.archive.localhost:8091/@b",
		"http://127.0.0.1:8080/":      "20260314120000-http-8080.127.0.0.1.archive.localhost:8091/",
		"http://[2001:db8::1]:81/":    "20260314120000-http-81.2001-db8--1.ip6.archive.localhost:8091/",
	} {
		got, ok := port.Lead(stamp, href)
		if !ok || got != "http://"+want {
			t.Errorf("%s: %s, %v, want %s", href, got, ok, want)
		}
		host := want[:strings.Index(want, string(port))+len(port)]
		at, is, err := port.Read(host)
		if err != nil || at != stamp || !strings.HasPrefix(strings.ReplaceAll(href, "me:word@", ""), is) {
			t.Errorf("%s: %s, %s, %v", host, at, is, err)
		}
	}
}

func TestWhatIsNoOriginHasNoName(t *testing.T) {
	for _, href := range []string{"", "docs.test/", "//docs.test/", "ftp://docs.test/", "http://", "http://:80/",
		"http://" + strings.Repeat("a.", 110) + "test/"} {
		if got, ok := port.Lead(stamp, href); ok {
			t.Errorf("%q: %s", href, got)
		}
	}
	for _, host := range []string{"", "docs.test:8091", "localhost:8091", "archive.localhost:8091",
		"20260314120000-http.docs.test.archive.localhost", "20260314120000-http.docs.test.archive.localhost:80",
		"20260314120000-http.archive.localhost:8091", "20260314120000.docs.test.archive.localhost:8091",
		"20260314120000-ftp.docs.test.archive.localhost:8091", "x-http.docs.test.archive.localhost:8091",
		"20260314120000-http-x.docs.test.archive.localhost:8091", "2026-http.x-y.ip6.archive.localhost:8091",
		"20260314120000-http.docs.test.archive.localhost.evil.test:8091"} {
		if at, is, err := port.Read(host); err == nil {
			t.Errorf("%q is %s, %s", host, at, is)
		}
	}
}

func TestAScriptMeansTheOriginThatItHad(t *testing.T) {
	const own, secure = "2026-http-8480.docs.test.archive.localhost", "20260314120000-https.docs.test.archive.localhost"
	for text, want := range map[string]string{
		`{"at":"http://` + own + `:8091/a","of":"` + own + `"}`: `{"at":"http://docs.test:8480/a","of":"docs.test"}`,
		"http%3A%2F%2F" + own + "%3A8091%2Fa " + own + ":8091":  "http%3A%2F%2Fdocs.test%3A8480%2Fa docs.test:8480",
		"http://" + secure + ":8091/ " + secure + ":8091":       "https://docs.test/ docs.test",
		"http://" + secure + ":80/ http://" + secure + "/":      "http://" + secure + ":80/ http://" + secure + "/",
		"x.archive.localhost:8091":                              "x.archive.localhost:8091", "": "",
	} {
		if got := string(port.Told([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestWhatOfAQueryMatters(t *testing.T) {
	for query, want := range map[string]string{
		"": "", "a=1&b=2": "a=1&b=2", "b=2&a=1": "a=1&b=2", "a=1&_=1789000000000": "a=1", "callback=f&a=1": "a=1",
		"a=1&t=1789000000": "a=1", "a=0.1234567890": "", "a=1789": "a=1789", "CB=x&&a": "a",
		"_rsc=1r34m&a=1": "a=1",
	} {
		if got := Essential(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// FuzzRead: what is read as an origin is found again under the name that it is given.
func FuzzRead(f *testing.F) {
	f.Add("20260314120000-https-8443.docs.test.archive.localhost:8091")
	f.Add("2026-http.2001-db8--1.ip6.archive.localhost:8091")
	f.Fuzz(func(t *testing.T, host string) {
		at, is, err := port.Read(host)
		if err != nil {
			return
		}
		to, ok := port.Lead(at, is+"/")
		if !ok {
			return // a name as long as names may be grows when it is written as it is meant
		}
		again, still, err := port.Read(strings.TrimSuffix(strings.TrimPrefix(to, "http://"), "/"))
		if err != nil || again != at || still != is {
			t.Errorf("%q: %s, %s; %s: %s, %s, %v", host, at, is, to, again, still, err)
		}
	})
}
