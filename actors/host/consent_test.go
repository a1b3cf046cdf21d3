package host

import "testing"

func TestWhoConsents(t *testing.T) {
	o := Options{Parallel: map[string]int{"a.test": 2, ".b.test": 3, "https://c.test:8443": 4, "10.0.0.1": 5,
		".0.0.2": 6, ".y.b.test": 7}}
	for host, want := range map[string]int{
		"http://a.test": 2, "http://x.a.test": 0, "http://b.test": 3, "https://y.x.b.test": 3,
		"http://x.y.b.test": 7, "http://ab.test": 0,
		"https://c.test:8443": 4, "https://c.test": 0, "http://10.0.0.1": 5, "http://10.0.0.2": 0,
	} {
		if got := o.parallel(host); got != want {
			t.Errorf("%s may be asked %d at once, want %d", host, got, want)
		}
	}
}
