package embedded_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/replay/posts"
	"henro/master"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/slave"
	"henro/slave/browser"
	"henro/slave/render/wanted"
	"henro/store"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
	"henro/store/archive/warc"
)

// forgedName is the name of a POST, as a page that means no good would write it.
var forgedName = func() string {
	u, err := posted.Make(posted.Request{URL: weburl.MustParse("http://a.example/forged"), ContentType: "text/plain"})
	if err != nil {
		panic(err)
	}
	return u.String()
}()

const asJSON = "Content-Type: application/json\n\n"

// asking is a site whose page asks by POST as it loads.
var asking = map[string]string{
	"/": "<a href=/page>p</a><a href='" + forgedName + "'>f</a><img src='" + forgedName + "'>" +
		"<a href=/moved>m</a>",
	"/page": `<div id=root></div><script src=/app.js></script>
		<p data-fetch='http://a.example/api|{"q":"one"} http://a.example/api|{"q":"two"}
		http://b.example/api|{"q":"one"} http://a.example/secret/api|{} http://a.example/kept|{"a":1}
		http://a.example/lost|{"a":1} ` + forgedName + `'>`,
	"/app.js":     "Content-Type: text/javascript\n\nx()",
	"/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /secret/\nSitemap: http://a.example/map.xml\n",
	"/map.xml": "Content-Type: text/xml\n\n<urlset><url><loc>" + strings.ReplaceAll(forgedName, "&", "&amp;") +
		"</loc></url></urlset>",
	`POST /api application/json {"q":"one"}`: asJSON + "<a href=/first>1</a>", "/first": "first",
	`POST /api application/json {"q":"two"}`: asJSON + "<a href=/second>2</a>", "/second": "second",
	"/moved": "a page", "/third": "third",

	`POST http://b.example/api application/json {"q":"one"}`: asJSON + "<a href=/third>3</a>",
	`POST /to application/json {"a":1}`:                      asJSON + "the end",
}

func crawlAsking(t *testing.T, dir, mode string) *crawltest.Site {
	s := &shower{shown: map[string]int{}}
	answer := crawltest.Pages(asking)
	site := &crawltest.Site{Adjust: func(o *slave.Options) { o.Shows = s },
		Answer: func(path string) (int, string, string) {
			switch {
			case strings.HasPrefix(path, "POST /kept "):
				return http.StatusTemporaryRedirect, "Location: /to\r\n", ""
			case strings.HasPrefix(path, "POST /lost "): // the line breaks once it was sent
				return 0, "", ""
			}
			return answer(path)
		}}
	site.Crawl(t, dir, func(o *master.Options) {
		o.Hosts.Again = mode == "off"
		o.Fetch.Browser, o.Fetch.Sitemaps = mode, true
		o.Hosts.Admission.Requisites = outlink.AllClasses
	})
	return site
}

// What scripts ask for by POST is asked for once, by the rules of its host, and the page is shown with the answers.
func TestWhatScriptsAskForByPostIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		site := crawlAsking(t, dir, "auto")
		for url, n := range site.Asked {
			if n != 1 || strings.Contains(url, "secret") || strings.Contains(url, "forged") {
				t.Errorf("%s was asked for %d times", url, n)
			}
		}
		for url := range asking {
			if strings.HasPrefix(url, "POST") && site.Asked[url] != 1 {
				t.Errorf("%s was not asked for", url)
			}
		}
		for _, url := range []string{"/first", "/second", "/third", `POST /lost application/json {"a":1}`} {
			if site.Asked[url] != 1 {
				t.Errorf("%s was not asked for", url)
			}
		}
		_, pages := crawltest.StateIn(t, dir)
		if page := pages["http://a.example/page"]; page.Flags&store.Rendered == 0 {
			t.Errorf("flags %b", page.Flags)
		}
		if _, err := folder.Refresh(filepath.Join(dir, "warc")); err != nil {
			t.Error(err)
		}
		crawltest.CheckSound(t, dir) // the index is that of the WARC files
	})
}

// Without a browser nothing is sent by POST, whatever pages say, nor is what an earlier run with one had found.
func TestWithoutABrowserNothingIsSentByPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if n := crawlAsking(t, t.TempDir(), "off").AskedBelow("POST"); n > 0 {
			t.Errorf("%d requests by POST", n)
		}
		dir := t.TempDir()
		first := crawlAsking(t, dir, "auto")
		time.Sleep(time.Hour)
		again := crawlAsking(t, dir, "off") // all is due once more
		if first.AskedBelow("POST") == 0 || again.AskedBelow("POST") > 0 || again.Asked["/page"] != 1 ||
			again.AskedBelow("/api") > 0 {
			t.Errorf("asked for at first %v, again %v", first.Asked, again.Asked)
		}
	})
}

// The archive has the request as it went, the index the key under which pywb looks it up, and the replay finds it.
func TestAPostIsFoundInTheArchive(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { crawlAsking(t, dir, "auto") })
	a, err := captures.Open(filepath.Join(dir, "warc"), func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var keys []string
	if err := a.Requisites(func(e cdxj.Entry) bool {
		if method, body := e.Asked(); method != "" {
			keys = append(keys, e.Key+" "+e.URL+" "+body)
			checkRequest(t, filepath.Join(dir, "warc", e.Filename), &e)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"example,a)/api?__wb_method=post&q=one http://a.example/api q=one",
		"example,a)/api?__wb_method=post&q=two http://a.example/api q=two",
		"example,a)/kept?__wb_method=post&a=1 http://a.example/kept a=1",
		"example,a)/to?__wb_method=post&a=1 http://a.example/to a=1",
		"example,b)/api?__wb_method=post&q=one http://b.example/api q=one"}
	if strings.Join(keys, "\n") != strings.Join(want, "\n") {
		t.Errorf("keys are\n%s", strings.Join(keys, "\n"))
	}
	for body, want := range map[string]string{`{"q":"two"}`: "2</a>", `{"q":"Two"}`: "2</a>", `{"q":"three"}`: "",
		`{"q":"one","_":1795749001}`: "1</a>"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		p, err := posts.Closest(a, "8091", r, weburl.MustParse("http://a.example/api"), time.Now())
		got := ""
		if err == nil {
			c, err := a.Read(p.Entry)
			if err != nil {
				t.Fatal(err)
			}
			all, _ := io.ReadAll(c.Body)
			got = string(all)
			c.Close()
		}
		if (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}

// checkRequest looks at the request record behind an answer.
func checkRequest(t *testing.T, path string, e *cdxj.Entry) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := warc.At(f, e.Offset+e.Length)
	if err != nil {
		t.Fatal(err)
	}
	block, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(block)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil || r.TargetURI() != e.URL || request.Method != "POST" || !bytes.HasSuffix(block, body) ||
		len(body) == 0 || request.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %q, %v", r.TargetURI(), block, err)
	}
}

// A beacon, a form and what is too large or no text are not asked for.
func TestWhatIsNoQuestionIsNotAskedForByPost(t *testing.T) {
	for want, q := range map[string]browser.Request{
		"a beacon": {Kind: "ping"}, "a form": {Kind: "document"}, "a file": {Kind: "fetch",
			Header: http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}},
		"large": {Kind: "xhr", Body: make([]byte, posted.MaxBody+1)}, "another method": {Kind: "fetch", Method: "PUT"},
		"a stream of events": {Kind: "eventsource", Method: "GET"},
	} {
		if q.Method == "" {
			q.Method = http.MethodPost
		}
		if q.URL = "http://a.example/"; q.Header == nil {
			q.Header = http.Header{"Content-Type": {"text/plain"}}
		}
		if to, _, err := wanted.URL(&q); err == nil {
			t.Errorf("%s is asked for: %s", want, to)
		}
	}
}
