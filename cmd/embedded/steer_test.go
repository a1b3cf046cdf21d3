package embedded_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages"
)

func TestLimitsEndACrawlAndTheSameDirectoryGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := fakeweb.Options{Seed: 5, Hosts: 4, Domains: 4, Pages: 30, CrossShare: 0.2}
		w, err := fakeweb.New(web)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		for _, c := range []struct {
			change func(*master.Options)
			end    master.End
			code   int
		}{
			{func(o *master.Options) { o.MaxPages = 17 }, master.PageLimit, config.ExitPageLimit},
			{func(o *master.Options) { o.For = 40 * time.Second }, master.TimeLimit, config.ExitTimeLimit},
			{func(o *master.Options) { o.MaxBytes = 60_000 }, master.SizeLimit, config.ExitSizeLimit},
			{nil, master.Finished, config.ExitFinished},
		} {
			status := crawltest.Run(t, crawltest.Of(t, dir, w, -1, c.change))
			if status.End != c.end {
				t.Errorf("ended with %q, want %q", status.End, c.end)
			}
			if c.end == master.PageLimit && status.Totals.Pages != 17 {
				t.Errorf("%d pages, the limit was 17", status.Totals.Pages)
			}
			if code := config.Code(config.EndError(t.Context(), master.SummaryOf(status))); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
		}
		truth, err := w.Reachable(fakeweb.Crawl{Seeds: w.Seeds(), Depth: -1})
		if err != nil {
			t.Fatal(err)
		}
		crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
		if repeats := fakeweb.Repeats(w.Log()); len(repeats) > 0 {
			t.Errorf("fetched more than once although every end was in order: %v", repeats)
		}
		if pace, ok := fakeweb.Shortest(w.Log()); ok && pace.Shortest < 5*time.Second {
			t.Errorf("%s was asked again after %v across a restart", pace.Origin, pace.Shortest)
		}
	})
}

func TestPauseStopsFetchingAndResumeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steer := func(ctx context.Context, node *master.Node, w *fakeweb.Web) {
			time.Sleep(30 * time.Second)
			if s := crawltest.Ask(t, ctx, node, &master.Pause{}); s.State != master.Paused {
				t.Errorf("state %q after pause", s.State)
			}
			time.Sleep(2 * time.Second)
			before := len(w.Log())
			time.Sleep(10 * time.Minute)
			if after := len(w.Log()); after != before {
				t.Errorf("%d requests were made during a pause", after-before)
			}
			if s := crawltest.Ask(t, ctx, node, &master.StatusAsked{}); s.Leases != 0 || s.Waiting == 0 {
				t.Errorf("during a pause: %d leases, %d URLs waiting", s.Leases, s.Waiting)
			}
			crawltest.Ask(t, ctx, node, &master.Resume{})
		}
		_, _, status := crawltest.Bubble(t, fakeweb.Options{Seed: 6, Hosts: 3, Domains: 3, Pages: 40}, -1, nil, steer)
		if status.End != master.Finished || status.Totals.Pages != 120 {
			t.Errorf("ended with %q after %d pages", status.End, status.Totals.Pages)
		}
	})
}

func TestSeedsAddedAtRunTimeAreCrawled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := fakeweb.Options{Seed: 7, Hosts: 2, Domains: 2, Pages: 20}
		w, err := fakeweb.New(web)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, w, -1, nil)
		second := e.Seeds[1]
		e.Seeds = e.Seeds[:1]
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			time.Sleep(20 * time.Second)
			if _, err := master.Ask[*master.SeedsAdded](ctx, node,
				&master.AddSeeds{Seeds: []reading.Seed{second}}); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if status.Totals.Pages != 40 || status.Hosts != 2 {
			t.Errorf("%d pages of %d hosts", status.Totals.Pages, status.Hosts)
		}
	})
}

// A server that accepts and never answers costs one slot for the time of a fetch, and the other hosts nothing.
func TestANeverAnsweringHostHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		shape := func(h *fakeweb.Host) {
			if h.Index == 0 {
				h.State = fakeweb.Silent
			}
		}
		w, _, status := crawltest.Bubble(t, fakeweb.Options{Seed: 8, Hosts: 5, Domains: 5, Pages: 20, Shape: shape}, -1,
			func(o *master.Options) {
				o.Hosts.Retries = 1
			}, nil)
		if status.Totals.Pages != 80 {
			t.Errorf("%d pages of the hosts that answer, want 80", status.Totals.Pages)
		}
		if status.Totals.Errors[messages.Reason_TIMEOUT.String()] == 0 {
			t.Errorf("the silent host's pages have no reason: %v", status.Totals.Errors)
		}
		last := time.Time{}
		for _, entry := range w.Log() {
			if entry.Status != 0 && entry.Start.After(last) {
				last = entry.Start
			}
		}
		if took := last.Sub(start); took > 3*time.Minute {
			t.Errorf("the hosts that answer took %v: 20 pages at 5 s and robots.txt are 105 s", took)
		}
	})
}

func TestHostsThatCannotBeReachedAreGivenUpWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := []fakeweb.State{fakeweb.Dead, fakeweb.Unknown, fakeweb.Blackhole}
		shape := func(h *fakeweb.Host) {
			if h.Index < len(states) {
				h.State = states[h.Index]
			}
		}
		_, _, status := crawltest.Bubble(t, fakeweb.Options{Seed: 9, Hosts: 4, Domains: 4, Pages: 10, Shape: shape},
			-1, nil, nil)
		if status.End != master.Finished || status.Totals.Pages != 10 {
			t.Errorf("ended with %q after %d pages", status.End, status.Totals.Pages)
		}
		want := map[string]uint64{messages.Reason_CONNECT_REFUSED.String(): 4,
			messages.Reason_DNS_NOT_FOUND.String(): 1, messages.Reason_CONNECT_TIMEOUT.String(): 4}
		if !maps.Equal(status.Totals.Errors, want) {
			t.Errorf("failed: %v, want %v", status.Totals.Errors, want)
		}
	})
}

// What cannot be stored does not count, and is fetched again when there is room.
func TestAFullDiskEndsTheCrawlAndItGoesOnWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 10, Hosts: 3, Domains: 1, Pages: 400, Degree: 20,
			PageBytes: 8 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		small := func(o *master.Options) {
			o.Store.Partitions, o.Store.MaxBytes, o.Store.MapBytes = 1, 300<<10, 0
			o.Hosts.Politeness.Floor = 100 * time.Millisecond
		}
		status := crawltest.Run(t, crawltest.Of(t, dir, w, -1, small))
		code := config.Code(config.EndError(t.Context(), master.SummaryOf(status)))
		if status.End != master.DiskFull || code != config.ExitDiskFull {
			t.Fatalf("ended with %q after %d pages", status.End, status.Totals.Pages)
		}
		status = crawltest.Run(t, crawltest.Of(t, dir, w, -1, func(o *master.Options) {
			small(o)
			o.Store.MaxBytes = 0
		}))
		truth, err := w.Reachable(fakeweb.Crawl{Seeds: w.Seeds(), Depth: -1})
		if err != nil {
			t.Fatal(err)
		}
		if status.End != master.Finished {
			t.Errorf("ended with %q", status.End)
		}
		crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
	})
}

// A seed that is known already is a hint: its page is visited again at once instead of when it is due.
func TestASeedThatIsKnownBringsItsVisitForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := ""
		steer := func(ctx context.Context, node *master.Node, w *fakeweb.Web) {
			seed = w.Seeds()[0]
			time.Sleep(time.Hour) // all pages are visited; the second visits are a day to a fortnight away
			parsed, err := config.ParseSeed(seed, -1)
			if err != nil {
				t.Error(err)
			}
			if _, err := master.Ask[*master.SeedsAdded](ctx, node,
				&master.AddSeeds{Seeds: []reading.Seed{parsed}}); err != nil {
				t.Error(err)
			}
		}
		w, _, status := crawltest.Bubble(t, fakeweb.Options{Seed: 11, Hosts: 1, Pages: 10}, -1,
			func(o *master.Options) {
				o.Hosts.Continuous, o.For = true, 2*time.Hour
			}, steer)
		if status.Totals.Pages != 10 || status.Totals.Revisits != 1 {
			t.Errorf("%d pages and %d revisits, want 10 and 1", status.Totals.Pages, status.Totals.Revisits)
		}
		for url, n := range fakeweb.Visits(w.Log()) {
			want := 1
			if url == seed {
				want = 2
			}
			if n != want && !strings.HasSuffix(url, "/robots.txt") {
				t.Errorf("%s was visited %d times", url, n)
			}
		}
	})
}
