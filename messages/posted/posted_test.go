package posted

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"henro/messages/weburl"
)

func request(url, contentType, body string) Request {
	return Request{weburl.MustParse(url), contentType, []byte(body)}
}

// What a URL is made of is got back exactly; what may not be sent has none.
func TestARequestIsReadBackAsItWas(t *testing.T) {
	long := `{"query":"` + strings.Repeat("query Pages($after: String) { pages(after: $after) { title } } ", 50) + `"}`
	for _, r := range []Request{
		request("http://a.test/graphql", "application/json", `{"query":"{ a }"}`),
		request("http://a.test/graphql?x=1", "application/json;charset=UTF-8", "{\n}\x00ü"),
		request("http://a.test/", "text/plain;charset=UTF-8", long),
		request("https://a.test:8443/f", "application/x-www-form-urlencoded;charset=UTF-8", "a=1&b=%20"),
		request("http://a.test/", "application/graphql+json", "x"), request("http://a.test/", "", ""),
	} {
		made, err := Make(r)
		if err != nil {
			t.Fatal(err, r)
		}
		got, is := Read(made.String())
		if !is || got.URL != r.URL || got.ContentType != r.ContentType || !bytes.Equal(got.Body, r.Body) {
			t.Errorf("%s: %v %+v", made, is, got)
		}
		if Bare(made.String()) != r.URL.String() || !Is(made.String()) || made.Host() != r.URL.Host() {
			t.Errorf("%s is not of %s", made, r.URL)
		}
		if again, err := weburl.Parse(made.String()); err != nil || again != made {
			t.Errorf("%s is not canonical: %v", made, err)
		}
	}
	random := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x01\xfe\x55\x1b\x99\x47\x03\xc8"), 1))
	made, _ := Make(request("http://a.test/", "", ""))
	for what, r := range map[string]Request{
		"too long": request("http://a.test/", "text/plain", strings.Repeat("x", MaxBody+1)),
		"a file":   request("http://a.test/", "multipart/form-data; boundary=x", "x"),
		"bytes":    request("http://a.test/", "application/octet-stream", random),
		"of none":  request("http://a.test/", "", "x"),
		"a field":  request("http://a.test/", "text/plain\r\nCookie: x", "x"),
		"a name":   {URL: made},
		"no room":  request("http://a.test/"+strings.Repeat("x", 2000), "text/plain", "0123456789"),
	} {
		if made, err := Make(r); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %s, %v", what, made, err)
		}
	}
}

// The keys are those of pywb's own tests (test_inputreq.py), and what its functions return besides.
func TestTheKeyIsThatOfPywb(t *testing.T) {
	form, raw := "foo=bar&dir=%2Fbaz&do=true&re=false&re=null",
		"Zm9vPWJhciZkaXI9JTJGYmF6JmRvPXRydWUmcmU9ZmFsc2UmcmU9bnVsbA=="
	for _, c := range []struct{ kind, body, key, query string }{
		{"application/x-www-form-urlencoded", form, "foo=bar&dir=/baz&do=true&re=false&re=null", form},
		{"application/json", `{"a": "b", "c": {"a": 2}, "d": "e", "f": true, "g": [false, null]}`,
			"a=b&a.2_=2&d=e&f=true&g=false&g.2_=null", "a=b&a.2_=2&d=e&f=true&g=false&g.2_=null"},
		{"application/json", `{"type": "event", "id": 44.0, "float": 35.7, "values": [true, false, null], ` +
			`"source": {"type": "component", "id": "a+b&c= d", "values": [3, 4]}}`,
			"type=event&id=44&float=35.7&values=true&values.2_=false&values.3_=null&type.2_=component&" +
				"id.2_=a%2Bb%26c%3D+d&values.4_=3&values.5_=4", ""},
		{"application/octet-stream", form, "__wb_post_data=" + raw, ""},
		{"text/plain", form, "__wb_post_data=" + raw, ""}, {"text/plain;charset=UTF-8", `{"a":1}`, "a=1", ""},
		{"application/x-www-form-urlencoded", "\x81", "__wb_post_data=gQ==", ""},
		{"application/json", `{"a":"","b":-0,"c":"~*"}`, "a=&b=0&c=~%2A", "b=0&c=%7E*"},
		{"application/json", "{}\n{}", "", "__wb_post_data=e30Ke30="}, {"application/json", "", "", ""},
		{"text/plain", "5", "", "=5"}, {"", "", "", ""},
	} {
		r := request("http://example.com/", c.kind, c.body)
		key, query := r.Query()
		if c.query == "" && key != "" && !strings.Contains(c.body, `""`) {
			c.query = c.key
		}
		if key != c.key || query != c.query {
			t.Errorf("%s %q:\n%s\n%s, want\n%s\n%s", c.kind, c.body, key, query, c.key, c.query)
		}
	}
	r := request("http://www.example.com/Post?z=1", "application/x-www-form-urlencoded", "Foo=B%20r&a=%23")
	if key := r.Key(); key != "com,example)/post?__wb_method=post&a=&foo=b%20r&z=1" {
		t.Error(key)
	}
}

// A redirect is asked for again by POST only where its status says so.
func TestARedirectKeepsTheMethodWhereItsStatusSaysSo(t *testing.T) {
	made, _ := Make(request("http://a.test/a", "application/json", "{}"))
	to := weburl.MustParse("http://b.test/c")
	for status, want := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		got := Target(made.String(), status, to)
		if Same(got.String(), made.String()) != want || Bare(got.String()) != to.String() {
			t.Errorf("%d: %s", status, got)
		}
	}
	if got := Target("http://a.test/a", 307, to); got != to {
		t.Error(got)
	}
}

func TestPeopleReadTheBody(t *testing.T) {
	made, _ := Make(request("http://a.test/q", "application/json", "{\"a\":\n\"ü\"}"))
	if got := Readable(made.String()); got != `POST http://a.test/q {"a": "ü"}` {
		t.Error(got)
	}
	if got := Readable("http://a.test/q"); got != "http://a.test/q" {
		t.Error(got)
	}
}

func FuzzMake(f *testing.F) {
	f.Add("http://a.test/?q", "application/json", []byte(`{"a":[1,{"b":null}]}`))
	f.Add("http://a.test/", "text/plain", []byte("%41+"))
	f.Fuzz(func(t *testing.T, to, contentType string, body []byte) {
		u, err := weburl.Parse(to)
		if err != nil {
			return
		}
		r := Request{u, contentType, body}
		r.Key()
		made, err := Make(r)
		if err != nil {
			return
		}
		got, is := Read(made.String())
		if !is || got.URL != u || got.ContentType != contentType || !bytes.Equal(got.Body, body) {
			t.Errorf("%s: %v, %+v", made, is, got)
		}
		Readable(made.String())
	})
}

func FuzzRead(f *testing.F) {
	f.Add("http://a.test/?__wb_method=POST&__wb_post=0YQo")
	f.Add("http://a.test/?__wb_method=POST&__wb_post=1q-UCAAA")
	f.Fuzz(func(t *testing.T, url string) {
		if r, is := Read(url); is && (len(r.Body) > MaxBody || !Is(url) || strings.ContainsAny(r.ContentType, "\r\n")) {
			t.Errorf("%q: %+v", url, r)
		}
	})
}

// What it costs to see that a link names no request, as hardly any does.
func BenchmarkIs(b *testing.B) {
	for range b.N {
		if Is("https://docs.example/guide/chapter/of-the-making-of-books.html") {
			b.Fatal("it is one")
		}
	}
}
