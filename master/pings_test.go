package master

import (
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"henro/actors/console"
	"henro/store"
)

// Whoever pings does not learn which hosts are crawled: of a host that is unknown, of a page that is known, and of more
// pings than are taken of one host the answer is the same.
func TestPingsAreAnsweredAlike(t *testing.T) {
	o := store.DefaultOptions()
	o.Partitions, o.NoSync = 1, true
	state, err := store.OpenState(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	b := store.NewBatch(time.Now())
	b.Admit(store.Candidate{URL: "http://known.test/a"})
	if _, err := state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	n := &Node{state: state}
	n.pings.node = n
	receiver := console.New(console.Options{Public: true}, n.PingRoutes())
	ping := func(from, page, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://pings.example/indexnow?key="+key+"&url="+url.QueryEscape(page), nil)
		r.RemoteAddr = from + ":1"
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		return w
	}
	for range 60 { // two senders, more than the host may send
		for _, from := range []string{"192.0.2.1", "192.0.2.2"} {
			if w := ping(from, "http://known.test/a", "some-key"); w.Code != 202 || w.Body.Len() > 0 {
				t.Fatalf("a host that is known: %d %s", w.Code, w.Body)
			}
		}
	}
	if w := ping("192.0.2.3", "http://unknown.test/", "some-key"); w.Code != 202 || w.Body.Len() > 0 {
		t.Errorf("a host that is not known: %d %s", w.Code, w.Body)
	}
	if w := ping("192.0.2.3", "http://known.test/a", "short"); w.Code != 422 {
		t.Errorf("a key that is too short: %d", w.Code)
	}
	code := 0
	for range 150 {
		code = ping("192.0.2.4", "http://unknown.test/", "some-key").Code
	}
	got := n.pings.results()
	if code != 429 || got["limited"] < 20+50-1 || got["unknown"] < 101 || got["refused"] != 1 {
		t.Errorf("the last of 150 pings of one sender is answered %d; counted: %v", code, got)
	}
}
