package survey

import "testing"

// The stop list has single URLs, folders with all below them, and hosts; what stands in a query is no folder.
func TestWhatTheStopListHas(t *testing.T) {
	some := taker{stops: map[string]bool{"http://a.test/x": true, "http://a.test/f/": true, "http://b.test": true,
		"http://c.test/": true, "http://d.test/q?u=/f/": true}}
	for url, want := range map[string]bool{"http://a.test/x": true, "http://a.test/x/y": true,
		"http://a.test/xy": false, "http://a.test/f/": true,
		"http://a.test/f/g/h": true, "http://a.test/f": false, "http://a.test/": false,
		"http://b.test/any/page": true, "http://c.test/": true, "http://c.test/page": true, "http://d.test/q": false,
		"http://d.test/q?u=/f/g": false, "http://e.test/": false} {
		if some.stopped(url) != want {
			t.Errorf("%s is on the list: %v", url, !want)
		}
		if none := (&taker{}); none.stopped(url) {
			t.Errorf("%s is on a list of nothing", url)
		}
	}
}
