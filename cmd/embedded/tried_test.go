package embedded_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/slave"
	"henro/slave/browser"
)

// trying is a browser whose pages try what cannot be replayed, by their paths.
type trying struct{ *shower }

func (s trying) Render(ctx context.Context, p browser.Page, source browser.Source) (*browser.Rendering, error) {
	ask := func(method, kind, contentType string, body []byte) {
		source(ctx, &browser.Request{Method: method, URL: "http://a.example/" + kind, Kind: kind, Body: body,
			Header: http.Header{"Content-Type": {contentType}}})
	}
	r, err := s.shower.Render(ctx, p, source)
	switch {
	case err != nil:
	case p.URL == "http://a.example/":
		for range 2 { // it tries again, and each URL counts once
			ask("POST", "fetch", "multipart/form-data; boundary=x", []byte("--x"))
			ask("POST", "xhr", "text/plain", bytes.Repeat([]byte("x"), posted.MaxBody+1))
			ask("PUT", "fetch", "application/json", []byte("{}"))
			ask("GET", "eventsource", "", nil)
			ask("POST", "ping", "text/plain", []byte("x"))
		}
		r.Tried.Sockets = 2
	case p.URL == "http://a.example/beacon":
		ask("POST", "ping", "text/plain", []byte("x"))
	}
	return r, err
}

// What scripts that stand in a page open, and no archive can answer, is said where no scripts are run too, and stays
// said of a page that is as it was.
func TestWhatCannotBeReplayedIsCountedWithoutABrowser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		site := &crawltest.Site{Answer: crawltest.Pages(map[string]string{
			"/":     "<p>Words that stand in the page</p><a href=/calm>c</a><script>new WebSocket(u)</script>",
			"/calm": "<p>Words</p><script>if (window.EventSource) show()</script>"})}
		for range 2 {
			status := site.Crawl(t, dir, func(o *master.Options) {
				o.Hosts.Admission.Requisites = outlink.AllClasses
				o.Hosts.Again = true
			})
			_, pages := crawltest.StateIn(t, dir)
			got, calm := pages["http://a.example/"].Says, pages["http://a.example/calm"].Says
			if got != "1 × WebSocket" || calm != "" {
				t.Errorf("it says %q, and the other page %q", got, calm)
			}
			if w := status.Whole; w == nil || w.Pages != 2 || w.Whole != 1 || w.Reasons[reading.NotReplayed] != 1 {
				t.Errorf("whole: %+v", w)
			}
		}
	})
}

// What scripts tried and no archive can answer is said of their page, which is not whole then. Nobody reads what comes
// back from a beacon.
func TestWhatCannotBeReplayedIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		site := &crawltest.Site{Answer: crawltest.Pages(map[string]string{
			"/": "<a href=/beacon>b</a><a href=/calm>c</a>", "/beacon": "one", "/calm": "two"}),
			Adjust: func(o *slave.Options) { o.Shows = trying{&shower{shown: map[string]int{}}} }}
		status := site.Crawl(t, dir, func(o *master.Options) {
			o.Fetch.Browser = "all"
			o.Hosts.Admission.Requisites = outlink.AllClasses
		})
		_, pages := crawltest.StateIn(t, dir)
		for url, want := range map[string]string{"http://a.example/calm": "", "http://a.example/beacon": "1 × beacon",
			"http://a.example/": "2 × WebSocket, 1 × stream of events, 3 × request with a body that is not kept, " +
				"1 × beacon"} {
			if got := pages[url].Says; got != want {
				t.Errorf("%s: %q, want %q", url, got, want)
			}
		}
		if w := status.Whole; w == nil || w.Pages != 3 || w.Whole != 2 || w.Reasons[reading.NotReplayed] != 1 {
			t.Errorf("whole: %+v", w)
		}
	})
}
