package master_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/master"
	"henro/messages"
	"henro/messages/weburl"
)

func TestACrawlThatStandsStillSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t)
		defer end()
		actortest.Pass(0)
		status := func() *master.Status {
			t.Helper()
			s, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		seed := reading.Seed{URL: weburl.MustParse("http://a.test/")}
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node,
			&master.AddSeeds{Seeds: []reading.Seed{seed}}); err != nil {
			t.Fatal(err)
		}
		given := make(chan error, 1)
		ctx := t.Context()
		go func() {
			_, err := node.Run(ctx, ctx, nil)
			given <- err
		}()
		actortest.Pass(time.Minute)
		if s := status(); !s.Stalled.IsZero() {
			t.Errorf("after a minute: %q", s.Stalled)
		}
		actortest.Pass(2 * time.Minute)
		if s := status(); !strings.Contains(s.Stalled.String(), "no slave is there") || s.Stalls["no slave"] != 1 ||
			s.Stalls["slaves are full"] != 1 {
			t.Errorf("without a slave: %q %v", s.Stalled, s.Stalls)
		}
		if err := node.Ready(t.Context()); err != nil {
			t.Errorf("a master without slaves can do its work: %v", err)
		}
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8})
		request := &messages.WorkRequested{Slave: "s", Boot: "b", HostSlots: 8, PageSlots: 100}
		for range 60 {
			request.Serial++
			slave.Tell(node.PID(), request)
			actortest.Pass(time.Second)
		}
		s := status()
		if !strings.Contains(s.Stalled.String(), "1 hosts are lent and do not answer") ||
			s.Stalls["lent, no answer"] != 1 {
			t.Errorf("with a slave that says nothing: %q %v", s.Stalled, s.Stalls)
		}
		slave.Tell(node.PID(), &messages.Report{Slave: "s", Boot: "b", Facts: []*messages.Fact{{Lease: 99, Seq: 1}}})
		actortest.Pass(time.Second)
		if s := status(); !s.Stalled.IsZero() {
			t.Errorf("once it says something: %q", s.Stalled)
		}
		if _, err := master.Ask[*master.Status](t.Context(), node, &master.Stop{Why: master.Stopped}); err != nil {
			t.Fatal(err)
		}
		if err := <-given; err != nil {
			t.Error(err)
		}
	})
}
