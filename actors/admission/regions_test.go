package admission

import (
	"fmt"
	"testing"

	"henro/actors/scope"
	"henro/messages/weburl"
)

func TestWhatTheScopeSaysOfHostsIsRememberedWithinABound(t *testing.T) {
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	known := Remember(rules.With(weburl.MustParse("http://in.test/")))
	for range 2 { // asked and remembered
		if in := known.Of("http://in.test"); in.Outside != scope.In || len(in.Prefixes) != 1 ||
			in.Prefixes[0] != "http://in.test/" {
			t.Errorf("the host of the seed: %+v", in)
		}
		if out := known.Of("http://out.test"); out.Outside != scope.OutOfReach || len(out.Prefixes) > 0 {
			t.Errorf("another host: %+v", out)
		}
	}
	for i := range partsKept + 10 {
		known.Of(fmt.Sprintf("http://h%d.test", i))
	}
	if n := len(known.of); n == 0 || n > partsKept {
		t.Errorf("%d hosts are remembered, want at most %d", n, partsKept)
	}
}
