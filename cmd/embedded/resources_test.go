package embedded_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/politeness"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages/speech"
	"henro/store"
)

// Equations (9) to (11) act while a crawl runs: 84 hosts that take 2 s to answer, on 4 connections, are asked every
// (84/4)·2 s, and lease, host and report go by the same S/C.
func TestHostsAskedSideBySideShareTheConnections(t *testing.T) {
	const (
		hosts   = 84
		latency = 2 * time.Second
	)
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 9, Hosts: hosts, Domains: hosts, Pages: 60, PageBytes: 1024, LogEntries: 1 << 15,
			Latency: fakeweb.Latency{Mean: latency},
			Changes: fakeweb.Changes{Share: 1, Fastest: time.Minute, Slowest: 5 * time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		e := crawltest.Of(t, t.TempDir(), web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.For, o.Store.Partitions = true, 35*time.Minute, 2
			o.Hosts.Revisit.FirstMin, o.Hosts.Revisit.FirstMax = 10*time.Minute, 20*time.Minute
			o.Hosts.Revisit.PriorMean = 15 * time.Minute
		})
		e.Work.Connections = 4
		var settled time.Time
		_, err = e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			time.Sleep(10 * time.Minute)
			settled = time.Now()
			time.Sleep(20 * time.Minute)
			checkRatio(t, node, hosts/4, latency)
			// 120 visits a minute are what 4 connections can make of 2 s each.
			if made := len(web.Log()); made < 30*110 {
				t.Errorf("%d requests in 30 minutes", made)
			}
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		log := slices.DeleteFunc(web.Log(), func(e fakeweb.Entry) bool { return e.Start.Before(settled) })
		for _, pace := range fakeweb.Paces(log) {
			if pace.Shortest > 0 && pace.Shortest < hosts/4*latency {
				t.Errorf("%s was asked after %v", pace.Origin, pace.Shortest)
			}
		}
	})
}

// checkRatio compares what the report and every host of a running crawl say of S/C.
func checkRatio(t *testing.T, node *master.Node, ratio float64, took time.Duration) {
	t.Helper()
	report, err := node.Reading().Report(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if report.Ratio != ratio {
		t.Errorf("the report goes by S/C = %g, want %g", report.Ratio, ratio)
	}
	for _, partition := range node.Reading().State.Partitions {
		if err := partition.Hosts.Each(func(h store.HostRecord) error {
			found, err := node.Reading().Host(h.Name)
			if err != nil {
				return err
			}
			says := speech.Sentence{}
			for _, sentence := range found.Says {
				if strings.Contains(sentence.String(), "S/C = 21)") {
					says = sentence
				}
			}
			interval := found.Schedule.Interval.Seconds()
			if want := ratio * took.Seconds(); math.Abs(interval-want) > 0.05*want || says.String() == "" ||
				found.Schedule.Verdict != politeness.NeedsConnections.String() {
				t.Errorf("%s is %s at one request in %g s, and says %v", h.Name, found.Schedule.Verdict, interval,
					found.Says)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
