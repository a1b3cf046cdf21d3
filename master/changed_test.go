package master

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/console"
	"henro/store"
)

// What somebody says to have changed is read as JSON and as lines, each URL once, within bounds.
func TestAListOfChangesIsBoundedAndCounted(t *testing.T) {
	o := store.DefaultOptions()
	o.Partitions, o.NoSync = 1, true
	state, err := store.OpenState(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	b := store.NewBatch(time.Now())
	b.Admit(store.Candidate{URL: "http://known.test/waits"})
	if _, err := state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	n := &Node{state: state, log: logrus.NewEntry(logrus.New())}
	n.o.Hosts.Continuous = true
	door := func(n *Node) *console.Console {
		return console.New(console.Options{Token: "secret"}, slices.DeleteFunc(n.Routes(), func(r console.Route) bool {
			return r.Pattern != "POST /api/changed"
		}))
	}
	many := func(count int, line string) string { return strings.Repeat(line, count) }
	const waits = "http://known.test/waits"
	for _, c := range []struct {
		sentence, media, query, body string
		code                         int
		says                         string
	}{
		{"JSON", "application/json", "", `{"urls": ["` + waits + `", "http://elsewhere.test/"], "by": "me"}`, 200,
			`{"known":0,"new":0,"waiting":1,"foreign":1}`},
		{"lines", "text/plain; charset=utf-8", "?by=me",
			"\n" + waits + "\r\n\nhttp://elsewhere.test/a\n" + waits + "#x", 200,
			`{"known":0,"new":0,"waiting":1,"foreign":1}`},
		{"as many as may be", "text/plain", "", many(10_000, waits+"\n"), 200, `"waiting":1`},
		{"one more", "text/plain", "", many(10_001, waits+"\n"), 400, "want 1 to 10000 at once"},
		{"one more as JSON", "application/json", "",
			`{"urls": [` + many(10_000, `"`+waits+`",`) + `"` + waits + `"]}`, 400, "want 1 to 10000 at once"},
		{"none", "text/plain", "", "\n\n", 400, "0 URLs"},
		{"nothing", "application/json", "", "{}", 400, "0 URLs"},
		{"no JSON", "application/json", "", waits, 400, "read the changed URLs"},
		{"no URL", "text/plain", "", waits + "\nknown.test\n", 400, `known.test`},
		{"a long line", "text/plain", "", many(70_000, "x"), 400, "read the changed URLs: "},
		{"a body without end", "application/json", "", `{"urls": ["` + many(9<<20, "x"), 400, "too large"},
		{"a teller without end", "text/plain", "?by=" + many(101, "x"), waits, 400, "by has 101 bytes"},
	} {
		r := httptest.NewRequest("POST", "/api/changed"+c.query, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.media)
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		door(n).ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %.300s, want %d %s", c.sentence, w.Code, w.Body, c.code, c.says)
		}
		r = httptest.NewRequest("POST", "/api/changed", strings.NewReader(c.body))
		w = httptest.NewRecorder()
		if door(n).ServeHTTP(w, r); w.Code != 401 {
			t.Errorf("%s, without the token: %d", c.sentence, w.Code)
		}
	}
	want := map[string]uint64{"known": 0, "new": 0, "waiting": 3, "foreign": 2}
	for result, count := range n.notices.results() {
		if count != want[result] {
			t.Errorf("%d URLs are counted as %s, want %d", count, result, want[result])
		}
	}
	n.o.Hosts.Continuous = false
	if _, err := n.Changed(t.Context(), &ChangedPosted{URLs: []string{waits}}); err == nil ||
		!strings.Contains(err.Error(), "--continuous") {
		t.Errorf("a crawl that ends is told of changes: %v", err)
	}
}
