package captures

import (
	"errors"
	"fmt"
	"testing"

	"henro/messages/weburl"
	"henro/store/archive/warc"
)

func TestAQueryIsFoundWithoutWhatPasses(t *testing.T) {
	var exchanges []*warc.Exchange
	for _, uri := range []string{"http://a.test/x?q=1&_=111", "http://a.test/x?q=2&_=112", "http://a.test/x?q=3",
		"http://a.test/X?q=4&t=1", "http://a.test/data.json", "http://a.test/feed?ts=5", "http://a.test/x?q=%zz&_=1"} {
		exchanges = append(exchanges, &warc.Exchange{URI: uri,
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")})
	}
	for i := range looseLooked {
		exchanges = append(exchanges, &warc.Exchange{URI: fmt.Sprintf("http://many.test/x?a=%05d", i),
			Head: []byte("HTTP/1.1 200 OK\r\n\r\n")})
	}
	exchanges = append(exchanges, &warc.Exchange{URI: "http://many.test/x?z=1",
		Head: []byte("HTTP/1.1 200 OK\r\n\r\n")})
	a := holding(t, t.TempDir(), exchanges...)
	for asked, want := range map[string]string{
		"http://a.test/x?q=1&_=999":            "http://a.test/x?q=1&_=111",
		"http://a.test/x?_=999&q=2&callback=f": "http://a.test/x?q=2&_=112",
		"http://a.test/x?q=3&Rnd=0.5":          "http://a.test/x?q=3",
		"http://a.test/data.json?t=7":          "http://a.test/data.json",
		"http://a.test/feed?ts=6&nonce=x":      "http://a.test/feed?ts=5",
		"http://a.test/x?q=5&_=1":              "", // another question
		"http://a.test/x?q=1":                  "", // nothing in it passes
		"http://a.test/x?q=1&user=2&_=1":       "",
		"http://a.test/x?q=4&t=2":              "", // another path
		"http://a.test/x":                      "",
		"http://a.test/feed":                   "",
		"http://a.test/never?_=1":              "",
		"http://a.test/x?q=%zz&_=2":            "",
		"http://many.test/x?z=1&_=1":           "", // behind so many others
		"http://many.test/x?a=00001&_=1":       "http://many.test/x?a=00001",
	} {
		p, err := a.Loose(weburl.MustParse(asked), noon)
		if want == "" && !errors.Is(err, ErrNotArchived) || want != "" && (err != nil || p.URL != want) {
			t.Errorf("%s finds %q, %v, want %q", asked, p.URL, err, want)
		}
	}
}
