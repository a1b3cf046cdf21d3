package partition

import (
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

type bandOf map[string]uint8

func (b bandOf) Read(uint64, []outlink.Outlink) {}
func (b bandOf) Band(url uint64, _ uint8, _ outlink.Priority) uint8 {
	for u, band := range b {
		if fingerprint.URL(u) == url {
			return band
		}
	}
	return 15
}

// What is worth most now goes first, in the order of arrival among equals; what must be tried again goes last, whatever
// its worth.
func TestTheBestWaitingURLsAreLent(t *testing.T) {
	p := &Partition{steering: Steering{Ranks: bandOf{"http://a/3": 2, "http://a/4": 0, "http://a/5": 2}}}
	var entries []store.Entry
	for i, url := range []string{"http://a/1", "http://a/2", "http://a/3", "http://a/4", "http://a/5"} {
		e := store.Entry{Page: store.Page{URL: url}, Position: store.Position{byte(i)}}
		if url == "http://a/4" {
			e.Page.Next = time.Unix(1, 0)
		}
		entries = append(entries, e)
	}
	want := []string{"http://a/3", "http://a/5", "http://a/1", "http://a/2"}
	best := p.steering.best(entries, 4)
	if len(best) != len(want) {
		t.Fatalf("%d entries, want %d", len(best), len(want))
	}
	for i := range want {
		if best[i].Page.URL != want[i] {
			t.Errorf("entry %d is %s, want %s", i, best[i].Page.URL, want[i])
		}
	}
}
