package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// crawl stands in for a crawl: what it was told, "by URL URL".
func crawl(t *testing.T) (address string, told chan string) {
	told = make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.FormValue("by") + " " + strings.ReplaceAll(string(body), "\n", " ")
		fmt.Fprint(w, `{"known":1}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, told
}

func TestIndexNowIsBelievedWithItsKey(t *testing.T) {
	henro, told := crawl(t)
	const key = "0123456789abcdef"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/" + key + ".txt", "/blog/key.txt":
			fmt.Fprintln(w, key)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	at, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	routes := newBridge(henro, "", []string{at.Hostname()}).routes()
	body := func(place string, urls ...string) string {
		return fmt.Sprintf(`{"host":%q,"key":%q,"keyLocation":%q,"urlList":["%s"]}`, at.Hostname(), key, place,
			strings.Join(urls, `","`))
	}
	for _, c := range []struct {
		name, method, query, body string
		want                      int
	}{
		{"one", "GET", "?key=" + key + "&url=" + site.URL + "/a", "", 200},
		{"many", "POST", "", body("", site.URL+"/a", site.URL+"/b/c"), 200},
		{"below the key", "POST", "", body(site.URL+"/blog/key.txt", site.URL+"/blog/new"), 200},
		{"beside the key", "POST", "", body(site.URL+"/blog/key.txt", site.URL+"/shop"), 422},
		{"out of its folder", "POST", "", body(site.URL+"/blog/key.txt", site.URL+"/blog/../shop"), 422},
		{"a key elsewhere", "POST", "", body("http://other.test/k.txt", site.URL+"/a"), 422},
		{"out of its folder, escaped", "POST", "", body(site.URL+"/blog/key.txt", site.URL+"/blog/%2e%2e/shop"), 422},
		{"a folder below the key", "POST", "", body(site.URL+"/blog/key.txt", site.URL+"/blog/"), 200},
		{"another's URL", "POST", "", body("", site.URL+"/a", "http://other.test/"), 422},
		{"another host", "GET", "?key=" + key + "&url=http://other.test/", "", 422},
		{"a wrong key", "GET", "?key=fedcba9876543210&url=" + site.URL + "/a", "", 403},
		{"no key", "GET", "?url=" + site.URL + "/a", "", 400},
		{"no URL", "GET", "?key=" + key, "", 400},
		{"no JSON", "POST", "", "{", 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			routes.ServeHTTP(w, httptest.NewRequest(c.method, "/indexnow"+c.query, strings.NewReader(c.body)))
			if w.Code != c.want || len(told) != 0 != (c.want == 200) {
				t.Errorf("%d %s, told %d times; want %d", w.Code, w.Body, len(told), c.want)
			}
			for len(told) > 0 {
				<-told
			}
		})
	}
}

// A hub is asked, asks back, and what it sends is told of if it is signed; both ways of naming a hub, RSS and Atom.
func TestWebSubIsBelievedWithItsSignature(t *testing.T) {
	henro, told := crawl(t)
	forms := make(chan url.Values, 1)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		forms <- r.PostForm
		w.WriteHeader(http.StatusAccepted)
		go func(form url.Values) {
			answer, err := http.Get(form.Get("hub.callback") + "?" + url.Values{"hub.mode": {"subscribe"},
				"hub.topic": {form.Get("hub.topic")}, "hub.challenge": {"said back"},
				"hub.lease_seconds": {"3600"}}.Encode())
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			if said, _ := io.ReadAll(answer.Body); string(said) != "said back" {
				t.Errorf("the hub is answered %s %q", answer.Status, said)
			}
		}(r.PostForm)
	}))
	t.Cleanup(hub.Close)
	const (
		rss = `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>t</title>%s` +
			`<item><link>http://a.test/new</link></item><item><link>http://a.test/newer</link></item></channel></rss>`
		inAtom = `<feed xmlns="http://www.w3.org/2005/Atom">%s<entry><link href="http://a.test/new"/></entry></feed>`
	)
	feeds := map[string]string{
		"/rss": fmt.Sprintf(rss, `<atom:link rel="hub" href="`+hub.URL+`"/>`+
			`<atom:link rel="self" href="http://a.test/rss"/>`),
		"/atom": fmt.Sprintf(inAtom, `<link rel="hub" href="`+hub.URL+`"/>`+
			`<link rel="self" href="http://a.test/atom"/>`),
		"/field": fmt.Sprintf(rss, ""), "/none": fmt.Sprintf(rss, ""),
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/field" {
			w.Header().Add("Link", `<`+hub.URL+`>; rel="hub"`)
			w.Header().Add("Link", `<http://a.test/field>; rel=self`)
		}
		fmt.Fprint(w, feeds[r.URL.Path])
	}))
	t.Cleanup(site.Close)
	b := newBridge(henro, "", nil)
	server := httptest.NewServer(b.routes())
	t.Cleanup(server.Close)
	b.public = server.URL
	post := func(asked url.Values, text, sign string) int {
		request, err := http.NewRequest("POST", asked.Get("hub.callback"), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Hub-Signature", sign)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for path, urls := range map[string]string{"/rss": "http://a.test/new http://a.test/newer",
		"/atom": "http://a.test/new", "/field": "http://a.test/new http://a.test/newer"} {
		granted, err := b.subscribe(t.Context(), site.URL+path)
		asked := <-forms
		if err != nil || granted != time.Hour || asked.Get("hub.topic") != "http://a.test"+path {
			t.Fatalf("%s: subscribed to %v for %v: %v", path, asked, granted, err)
		}
		sum := hmac.New(sha256.New, []byte(asked.Get("hub.secret")))
		sum.Write([]byte(feeds[path]))
		sign := "sha256=" + hex.EncodeToString(sum.Sum(nil))
		for _, bad := range []string{"", "sha256=00", "md5=00", sign[:len(sign)-1]} {
			if code := post(asked, feeds[path], bad); code != 200 || len(told) != 0 {
				t.Errorf("%s: signed %q: %d, told %d times", path, bad, code, len(told))
			}
		}
		if code := post(asked, feeds[path], sign); code != 200 || len(told) != 1 {
			t.Fatalf("%s: %d, told %d times", path, code, len(told))
		}
		if got := <-told; got != "websub "+urls {
			t.Errorf("%s: told %q", path, got)
		}
	}
	if _, err := b.subscribe(t.Context(), site.URL+"/none"); err == nil {
		t.Error("a feed without a hub was subscribed to")
	}
	var asked []url.Values
	for range 2 {
		if _, err := b.subscribe(t.Context(), site.URL+"/field"); err != nil {
			t.Fatal(err)
		}
		asked = append(asked, <-forms)
	}
	if was, is := post(asked[0], "", ""), post(asked[1], "", ""); was != http.StatusGone || is != http.StatusOK {
		t.Errorf("a callback that was replaced answers %d, the new one %d", was, is)
	}
}
