package slave

import (
	"fmt"
	"strings"
	"testing"

	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/walls/alike"
)

// Pages that were content and now all say the same are failures from the third on, by whichever Parser they come; a
// picture that is as it was is no word against it, and a page that is as it was is one.
func TestPagesThatSayTheSameAreAWall(t *testing.T) {
	hosts := &alike.Hosts{}
	parsers := []*Parser{{o: DefaultOptions(), alike: hosts}, {o: DefaultOptions(), alike: hosts}}
	says := "<p>What is said of the number %d of these pages: %s</p>"
	reason := func(i int, status int, requisite uint32) messages.Reason {
		m := answered(status, "", "", "", "text/html", fmt.Appendf(nil, says, i, strings.Repeat("x", i)))
		url := weburl.MustParse(fmt.Sprintf("http://a.example/folder/%d", i))
		m.visit.URL, m.response.URL, m.visited.Url = url, url, url.String()
		m.visit.Task = &messages.Task{Url: url.String(), Digest: []byte("as it was"), Etag: "x", Requisite: requisite}
		p := parsers[i%2]
		p.page(m, &parsed{})
		p.wall(m, &parsed{})
		return m.visited.Reason
	}
	for i := range 7 {
		reason(i, 200, 0)
	}
	says = "<p>Nothing for you today, traveller.</p><!-- %d %s -->"
	for i, want := range []messages.Reason{messages.Reason_NONE, messages.Reason_NONE, messages.Reason_WALL} {
		if got := reason(i, 200, 0); got != want {
			t.Errorf("page %d: %v, want %v", i, got, want)
		}
	}
	if reason(3, 304, 1); reason(4, 200, 0) != messages.Reason_WALL {
		t.Error("a picture that is as it was made content of a wall")
	}
	if reason(5, 304, 0); reason(6, 200, 0) != messages.Reason_NONE {
		t.Error("a page that is as it was made no end of it")
	}
}
