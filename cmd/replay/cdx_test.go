package replay

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"henro/store/archive/warc"
)

// Clients of CDX servers find the index at the addresses of pywb and of OutbackCDX; captures and other sites do not.
func TestTheIndexIsAskedAsACDXServer(t *testing.T) {
	s := archived(t, warc.Gzip)
	for _, c := range []struct {
		target, host string
		status       int
		lines        int
		begins       string
	}{
		{"/cdx?url=docs.test", "127.0.0.1:8090", 200, 4, `test,docs)/ 20260314120000 {"url":"http://docs.test/"`},
		{"/web/cdx?url=docs.test/*&output=json", "127.0.0.1:8090", 200, 12, `{"urlkey":"test,docs)/","timestamp"`},
		{"/web?url=docs.test&limit=1&sort=closest&closest=20260315", "127.0.0.1:8090", 200, 1,
			"test,docs)/ 20260314120000 http://docs.test/ text/html 200 "},
		{"/web?url=docs.test&filter=statuscode:304", "127.0.0.1:8090", 200, 1,
			"test,docs)/ 20260316120000 http://docs.test/ warc/revisit 304 "},
		{"/cdx", "127.0.0.1:8090", 400, 1, `{"message"`},
		{"/cdx?url=docs.test", "localhost:8090", 307, 0, ""},
		{"/.henro/cdx?url=docs.test", shown, 404, -1, ""},
		{"/cdx?url=docs.test", "archive.test", 403, -1, "this archive"},
	} {
		w := ask(s, c.target, "Host", c.host)
		if body := w.Body.String(); w.Code != c.status || !strings.HasPrefix(body, c.begins) ||
			c.lines >= 0 && strings.Count(body, "\n") != c.lines {
			t.Errorf("%s at %s: %d %s", c.target, c.host, w.Code, body)
		}
	}
	if w := ask(s, "/cdx?url=docs.test", "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a page of another site is answered with %d", w.Code)
	}
	for _, target := range []string{"/cdx", "/web/cdx", "/web"} {
		r, w := httptest.NewRequest(http.MethodPost, target, strings.NewReader("url=docs.test")), httptest.NewRecorder()
		r.Host = "127.0.0.1:8090"
		if s.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Body.String(), "by GET") {
			t.Errorf("POST %s: %d %s", target, w.Code, w.Body)
		}
	}
}
