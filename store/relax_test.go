package store

import (
	"path/filepath"
	"testing"
	"time"

	"henro/messages/outlink"
)

// A page whose links are judged again stands behind as many redirects as on the path that came closer to a seed: else a
// chain of redirects had no end.
func TestARelaxationKnowsItsRedirects(t *testing.T) {
	p, err := Open(filepath.Join(t.TempDir(), "p.db"), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at := time.Unix(1e9, 0)
	for _, redirects := range []uint8{0, 19} {
		page := Page{URL: "http://a.example/" + string('a'+rune(redirects)), DepthLeft: 1, LastVisit: at, Status: 302}
		b := NewBatch(at)
		b.Visit(Visited{Page: page, Links: []outlink.Outlink{{URL: "http://a.example/next", Kind: outlink.Redirect}}})
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
		b = NewBatch(at)
		b.Admit(Candidate{URL: page.URL, Depth: 3, DepthLeft: 5, Redirects: redirects})
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
		relaxations, err := p.Relaxations.First(10)
		if err != nil || len(relaxations) != 1 {
			t.Fatalf("%v, %v", relaxations, err)
		}
		r := relaxations[0]
		if r.URL != page.URL || r.Depth != 3 || r.DepthLeft != 5 || r.Redirects != redirects || len(r.Links) != 1 {
			t.Errorf("with %d redirects: %+v", redirects, r)
		}
		b = NewBatch(at)
		b.Relaxed(r)
		if out, err := p.Commit(b); err != nil || out.Relaxations != 0 {
			t.Errorf("it is not ticked off: %+v, %v", out, err)
		}
	}
}
