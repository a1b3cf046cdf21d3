package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/host/hosttest"
	"henro/actors/partition"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/weburl"
	"henro/store"
)

// A feature of hosts is a package, and a line where it is plugged in. What it notes is written with the visits that it
// is about, so it is neither lost nor counted twice whatever crashes; and links that it refuses are not followed.
func TestAFeatureOfHostsIsPluggedInByOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 4, Domains: 2, Pages: 60, Degree: 8,
			Errors: fakeweb.Errors{NotFound: 0.05}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir, status := crawltest.OverCrashes(t, web, func(o *master.Options) {
			o.Hosts.Features = append(o.Hosts.Features, hosttest.New)
		}, time.Minute, 2*time.Minute)
		if status.End != master.Finished {
			t.Errorf("ended with %q", status.End)
		}
		state := crawltest.OpenState(t, dir)
		defer state.Close()
		counted := map[string]uint64{}
		for _, disk := range state.Partitions {
			if err := disk.Pages.Each(func(page store.Page, _ store.Place) error {
				if page.Depth > 0 && hosttest.Unwanted(page.URL) {
					t.Errorf("%s was taken", page.URL)
				}
				if page.Status != 0 {
					counted[weburl.HostOf(page.URL)]++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for host, want := range counted {
			note, err := partition.NoteOf(state.Partitions[state.PartitionOf(host)], host, hosttest.Note, "")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := hosttest.Read(note); err != nil || got != want || want < 20 {
				t.Errorf("%s: %d pages noted, %d visited, want the same and many: %v", host, got, want, err)
			}
		}
		if refused := status.Totals.StopListed; refused == 0 || len(counted) != 4 {
			t.Errorf("%d links refused, pages of %d hosts", refused, len(counted))
		}
	})
}
