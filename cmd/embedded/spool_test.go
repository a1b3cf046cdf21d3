package embedded_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/lending"
	"henro/slave"
)

// TestPagesWaitWhileASpoolIsFull: nothing is asked for meanwhile but what was under way, the crawl says why, and goes
// on by itself to the same end.
func TestPagesWaitWhileASpoolIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 10, Hosts: 8, Domains: 8, Pages: 40, Degree: 20, CrossShare: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		const why = "2 WARC files wait"
		var says atomic.Pointer[string]
		say := func(what string) { says.Store(&what) }
		say("")
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Politeness.Floor = 200 * time.Millisecond
			o.StallAfter = 20 * time.Second
		})
		e.Adjust = func(o *slave.Options) { o.Waits = func() string { return *says.Load() } }
		var during master.Status
		asked := 0
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			time.Sleep(3 * time.Second)
			say(why)
			time.Sleep(3 * time.Second)
			before := len(web.Log())
			time.Sleep(time.Minute)
			asked, during = len(web.Log())-before, *crawltest.Ask(t, ctx, node, &master.StatusAsked{})
			say("")
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if status.End != master.Finished || asked != 0 {
			t.Fatalf("ended with %q; %d requests while pages waited", status.End, asked)
		}
		if s := during.Slaves; len(s) != 1 || s[0].State != lending.Waiting || s[0].Why != why || s[0].Leases != 0 ||
			!strings.Contains(during.Stalled.String(), "1 slaves wait: "+why) {
			t.Errorf("it says %+v, %v", s, during.Stalled)
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
		if err != nil || len(crawltest.Visited(t, dir)) != len(truth.Fetched) {
			t.Errorf("%d pages, want %d; %v", len(crawltest.Visited(t, dir)), len(truth.Fetched), err)
		}
	})
}
