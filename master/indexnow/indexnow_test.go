package indexnow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/master/indexnow"
	"henro/store/fingerprint"
)

const key = "73134416ae45434d98edc086e0bf6740"

func get(pairs ...string) *http.Request {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return httptest.NewRequest("GET", "/indexnow?"+q.Encode(), nil)
}

func post(body string) *http.Request {
	r := httptest.NewRequest("POST", "/indexnow", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	return r
}

// The forms of https://www.indexnow.org/documentation, and what is no ping.
func TestAPingIsOfOneHostBelowTheFolderOfItsKey(t *testing.T) {
	many, _ := json.Marshal(slices.Repeat([]string{"http://a.test/"}, 10_001))
	for _, c := range []struct {
		sentence string
		request  *http.Request
		status   int      // of the refusal; 0: it is taken
		want     []string // host, file of the key and URLs of each ping
	}{
		{"one URL", get("url", "https://a.test/x?y=1", "key", key), 0,
			[]string{"https://a.test https://a.test/" + key + ".txt [https://a.test/x?y=1]"}},
		{"a key elsewhere", get("url", "https://a.test/shop/x", "key", key, "keyLocation", "https://a.test/shop/k.txt"),
			0, []string{"https://a.test https://a.test/shop/k.txt [https://a.test/shop/x]"}},
		{"a key says nothing of what is not below its folder",
			get("url", "https://a.test/x", "key", key, "keyLocation", "https://a.test/shop/k.txt"), 422, nil},
		{"nor of another host", get("url", "https://a.test/x", "key", key, "keyLocation", "https://b.test/k.txt"), 422,
			nil},
		{"many URLs, http and https", post(`{"host":"a.test","key":"` + key +
			`","urlList":["https://a.test/1","http://a.test/2","https://a.test/3"]}`), 0, []string{
			"https://a.test https://a.test/" + key + ".txt [https://a.test/1 https://a.test/3]",
			"http://a.test http://a.test/" + key + ".txt [http://a.test/2]"}},
		{"a slash in the query is no folder", post(`{"host":"a.test","key":"` + key +
			`","keyLocation":"https://a.test/k?f=/shop/k.txt","urlList":["https://a.test/x"]}`), 0,
			[]string{"https://a.test https://a.test/k?f=/shop/k.txt [https://a.test/x]"}},
		{"URLs of another host", post(`{"host":"a.test","key":"` + key + `","urlList":["https://b.test/1"]}`), 422,
			nil},
		{"a key of another host", post(`{"host":"a.test","key":"` + key +
			`","keyLocation":"https://b.test/k.txt","urlList":["https://b.test/1"]}`), 422, nil},
		{"URLs of many ports", post(`{"host":"a.test","key":"` + key +
			`","urlList":["http://a.test:1/","http://a.test:2/","http://a.test:3/"]}`), 422, nil},
		{"more URLs than may be", post(`{"host":"a.test","key":"` + key + `","urlList":` + string(many) + `}`), 422,
			nil},
		{"none", post(`{"host":"a.test","key":"` + key + `","urlList":[]}`), 422, nil},
		{"a short key", get("url", "https://a.test/", "key", "1234567"), 422, nil},
		{"a key with other letters", get("url", "https://a.test/", "key", "12345678_"), 422, nil},
		{"a key in spaces", get("url", "https://a.test/", "key", " 12345678"), 422, nil},
		{"no URL", get("url", "nonsense", "key", key), 400, nil},
		{"no JSON", post("url=x"), 400, nil},
		{"JSON and more", post(`{"host":"a.test","key":"` + key + `","urlList":["http://a.test/"]}{}`), 400, nil},
		{"no host", post(`{"key":"` + key + `","urlList":["http://a.test/"]}`), 400, nil},
		{"a form", httptest.NewRequest("POST", "/indexnow", strings.NewReader(`{}`)), 400, nil},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			pings, err := indexnow.Read(c.request)
			var refusal *indexnow.Refusal
			if errors.As(err, &refusal) != (c.status != 0) || refusal != nil && refusal.Status != c.status {
				t.Fatalf("refused with %+v, want %d", refusal, c.status)
			}
			var got []string
			for _, p := range pings {
				got = append(got, fmt.Sprint(p.Host, " ", p.KeyURL, " ", p.URLs))
				if digest, _ := fingerprint.Key([]byte(key)); p.Key != digest {
					t.Errorf("key %x, want %x", p.Key, digest)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPingsAreBoundedPerSenderAndHost(t *testing.T) {
	now := time.Unix(1e9, 0)
	count := func(most int, allowed func(i int) bool) (n int) {
		for i := range most {
			if allowed(i) {
				n++
			}
		}
		return n
	}
	var l indexnow.Limits
	sender := netip.MustParseAddr("2001:db8::1")
	if n := count(500, func(int) bool { return l.Sender(sender, now) }); n != 100 {
		t.Errorf("%d pings of one sender at once, want 100", n)
	}
	if l.Sender(netip.MustParseAddr("2001:db8::2"), now) {
		t.Error("a neighbour in the same network is another sender")
	}
	if !l.Sender(netip.MustParseAddr("192.0.2.1"), now) || !l.Sender(sender, now.Add(time.Second)) {
		t.Error("another sender, or a second later, is turned away")
	}
	if n := count(500, func(int) bool { return l.Host("http://a.test", 1, now) }); n != 100 {
		t.Errorf("%d pings of one host at once, want 100", n)
	}
	if n := count(50, func(i int) bool { return l.Host("http://b.test", uint64(i), now) }); n != 4 {
		t.Errorf("%d keys of one host at once, want 4: each costs it a request", n)
	}
	if !l.Host("http://b.test", 3, now) {
		t.Error("a key that was let through is turned away")
	}
	later := now.Add(6 * time.Hour)
	if n := count(50, func(i int) bool { return l.Host("http://b.test", uint64(100+i), later) }); n != 1 {
		t.Errorf("%d keys six hours later, want 1", n)
	}
	if n := count(20_000, func(i int) bool { return l.Host(fmt.Sprint(i), 1, now) }); n != 10_000-2 {
		t.Errorf("%d hosts are kept, want 9998 beside the two", n)
	}
	if l.Host("http://b.test", 200, later) {
		t.Error("a table that fills up has forgotten what a host had done")
	}
	if !l.Host("one more", 1, now.Add(48*time.Hour)) {
		t.Error("a table of hosts that do nothing makes no room")
	}
}
