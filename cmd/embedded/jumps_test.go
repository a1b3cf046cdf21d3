package embedded_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// The clock of a machine is set between two starts of a crawl, by a minute, an hour, a day, to and fro: it takes no
// longer than one whose clock is right but by what was owed to a host when it ended, wherever it had come to: hosts
// that are in the middle, or rest after errors, with pages that are to be tried again.
func TestAClockThatIsSetBetweenRunsHoldsNothingUp(t *testing.T) {
	web := fakeweb.Options{Seed: 12, Hosts: 4, Domains: 2, Pages: 14, CrossShare: 0.2,
		Errors: fakeweb.Errors{Internal: 0.1}}
	// run crawls for a while, or to the end, in a bubble that begins with so much sleep
	run := func(t *testing.T, dir, into string, sleep, lasts time.Duration) (took time.Duration, pages uint64) {
		synctest.Test(t, func(t *testing.T) {
			w, err := fakeweb.New(web)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			time.Sleep(sleep)
			if lasts > 0 {
				image, wait := crawltest.Crash(t, dir, w, -1, lasts, nil)
				crawltest.CopyTree(t, image, into)
				wait()
				return
			}
			begun := time.Now()
			status := crawltest.Run(t, crawltest.Of(t, dir, w, -1, nil))
			took, pages = time.Since(begun), status.Totals.Pages
			if status.End != master.Finished {
				t.Errorf("ended with %q", status.End)
			}
		})
		return took, pages
	}
	const noon = 36 * time.Hour // of all first runs, so that a clock can be set back by a day
	for _, phase := range []time.Duration{40 * time.Second, 3 * time.Minute} {
		image := filepath.Join(t.TempDir(), "image")
		run(t, t.TempDir(), image, noon, phase)
		var right time.Duration
		var whole uint64
		for _, jump := range []time.Duration{0, time.Minute, -time.Minute, time.Hour, -time.Hour, day, -day} {
			t.Run(fmt.Sprintf("%v after %v", jump, phase), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "crawl")
				crawltest.CopyTree(t, image, dir)
				took, pages := run(t, dir, "", noon+phase+jump, 0)
				if jump == 0 {
					right, whole = took, pages
				}
				if pages != whole || took > right+5*time.Minute {
					t.Errorf("%d pages after %v, %d after %v with a clock that is right", pages, took, whole, right)
				}
			})
		}
	}
}
