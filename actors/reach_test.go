package actors

import (
	"fmt"
	"testing"

	"henro/actors/scope"
	"henro/actors/skip"
	"henro/messages/weburl"
)

func TestWhatTheScopeSaysOfHostsIsRememberedWithinABound(t *testing.T) {
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r := newReaches(rules.With(weburl.MustParse("http://in.test/")))
	for range 2 { // asked and remembered
		if in := r.ask("http://in.test/a", "http://in.test"); in.reason != skip.None || len(in.prefixes) != 1 ||
			in.prefixes[0] != "http://in.test/" {
			t.Errorf("the host of the seed: %+v", in)
		}
		if out := r.ask("http://out.test/a", "http://out.test"); out.reason != skip.Scope || len(out.prefixes) > 0 {
			t.Errorf("another host: %+v", out)
		}
	}
	for i := range reachKept + 10 {
		host := fmt.Sprintf("http://h%d.test", i)
		r.ask(host+"/", host)
	}
	if n := len(r.of); n == 0 || n > reachKept {
		t.Errorf("%d hosts are remembered, want at most %d", n, reachKept)
	}
}
