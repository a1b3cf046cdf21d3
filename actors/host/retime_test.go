package host_test

import (
	"testing"
	"time"

	"henro/actors/host"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/store"
)

// An order for all pages of a host leaves those alone for which there is a more exact one.
func TestAnOrderForManyPagesLeavesMoreExactOnesAlone(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	rules := revisit.FixedIntervals{{Pages: "https://a.test/paused", Every: 1000 * time.Hour}}
	for _, c := range []struct {
		order protocol.Retime
		url   string
		want  time.Duration // until its next visit
	}{
		{protocol.Retime{Pages: "https://a.test/*", Every: time.Hour}, "https://a.test/b", time.Hour},
		{protocol.Retime{Pages: "https://a.test/*", Every: time.Hour}, "https://a.test/paused", 1000 * time.Hour},
		{protocol.Retime{Pages: "https://a.test/*", Auto: true}, "https://a.test/paused", 1000 * time.Hour},
		{protocol.Retime{Pages: "https://a.test/paused", Every: time.Hour}, "https://a.test/paused", time.Hour},
		{protocol.Retime{Pages: "https://a.test/*", Now: true}, "https://a.test/paused", 0},
	} {
		w, _, err := host.Retime(&c.order, rules, revisit.DefaultOptions(), now)
		if err != nil {
			t.Fatal(err)
		}
		page := store.Page{URL: c.url, LastVisit: now, Next: now.Add(2 * time.Hour)}
		if w.Sweeps[0].Moves(&page); page.Next.Sub(now) != c.want {
			t.Errorf("%+v: %s is due in %s, want %s", c.order, c.url, page.Next.Sub(now), c.want)
		}
	}
}
