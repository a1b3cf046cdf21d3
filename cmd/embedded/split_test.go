package embedded_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// Two hosts of 600 pages, asked every 5 s. Of one 8 pages are to be visited every 2 minutes, which it bears beside its
// new pages: it makes these visits in time. Of the other 30 are, more than it bears: its new pages get
// seven of eight visits, not one of two.
func TestNewPagesComeFirstWhereTheTimetableIsNotKeptAnyway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 2, Domains: 2, Pages: 600, PageBytes: 256,
			LogEntries: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		const every, begin, lasts = 2 * time.Minute, 5 * time.Minute, 40 * time.Minute
		e := crawltest.Of(t, t.TempDir(), web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.Revisit.Min, o.For = true, time.Minute, begin+lasts+time.Minute
		})
		ruled, bears := map[string]int{}, web.Host(0).Name // by URL: pages of the host that have a rule
		var ordered time.Time
		if _, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			actortest.Pass(begin)
			ordered = time.Now()
			for _, entries := range fakeweb.ByHost(web.Log()) {
				count := 30
				if entries[0].Host == bears {
					count = 8
				}
				for _, entry := range entries[1 : 1+count] { // behind robots.txt
					ruled[entry.URL()] = count
					_, err := master.Ask[any](ctx, node, &protocol.Ordered{Host: entry.Origin(),
						Order: &protocol.Retime{Pages: revisit.Pattern(entry.URL()), Every: every}})
					if err != nil {
						return err
					}
				}
			}
			<-ctx.Done()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, entries := range fakeweb.ByHost(web.Log()) {
			last, fresh, again, late := map[string]time.Time{}, 0, 0, 0
			for _, entry := range entries {
				before, known := last[entry.Path]
				last[entry.Path] = entry.Start
				switch from := entry.Start.Sub(ordered); {
				case from < 0, from > lasts:
				case !known:
					fresh++
				default:
					again++
					// the time queue has slots of a minute
					if before.After(ordered) && entry.Start.Sub(before) > 2*every+time.Minute {
						late++
					}
				}
			}
			t.Logf("%d pages due every %v: %d new pages and %d revisits in %v, %d of these late",
				ruled[entries[1].URL()], every, fresh, again, lasts, late)
			switch {
			case entries[0].Host == bears && (late > 0 || again < 8*int((lasts-every)/(every+time.Minute))):
				t.Errorf("%d revisits, %d late, of a host that bears its timetable", again, late)
			case entries[0].Host != bears && 5*fresh < 4*(fresh+again):
				t.Errorf("%d new pages, %d revisits, of a host that does not bear its timetable", fresh, again)
			}
		}
	})
}
