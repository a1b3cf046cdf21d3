package master_test

import (
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/master"
	"henro/messages"
	"henro/messages/weburl"
)

// TestADeposedMasterLendsNothingAndStoresNothing, and says to slaves where to go.
func TestADeposedMasterLendsNothingAndStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test")
		defer end()
		actortest.Pass(0)
		own := node.Claim()
		if own.Term != 2 || own.Crawl == "" || own.Boot != "2" {
			t.Fatalf("opened for the second time the master claims %+v", own)
		}
		register := &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8, Held: []uint64{1},
			Crawl: own.Crawl, Term: own.Term}
		slave.Tell(node.PID(), register)
		actortest.Pass(0)
		if got := actortest.TakeOf[*messages.SlaveWelcomed](slave); len(got) != 1 || got[0].Term != own.Term ||
			got[0].Crawl != own.Crawl {
			t.Fatalf("welcomed by %v", got)
		}
		request := &messages.WorkRequested{Slave: "s", Boot: "b", HostSlots: 8, PageSlots: 100, Held: []uint64{1},
			Term: own.Term}
		ask := func() (*messages.TaskBatch, *messages.NotLeading) {
			request.Serial++
			slave.Take()
			slave.Tell(node.PID(), request)
			actortest.Pass(100 * time.Millisecond)
			for _, m := range slave.Take() {
				switch m := m.(type) {
				case *messages.TaskBatch:
					return m, nil
				case *messages.NotLeading:
					return nil, m
				}
			}
			return nil, nil
		}
		for says, rival := range map[string]messages.Claim{
			"a smaller term":               {Crawl: own.Crawl, Term: own.Term - 1, Boot: "1"},
			"no term":                      {Crawl: own.Crawl, Boot: "1"},
			"the same term, started later": {Crawl: own.Crawl, Term: own.Term, Boot: "3"},
		} {
			slave.Tell(node.PID(), &master.RivalSeen{Claim: rival, Name: "other"})
			actortest.Pass(0)
			if batch, _ := ask(); batch == nil || batch.Term != own.Term || len(batch.Renewed) != 1 {
				t.Errorf("beside a master of %s it answers %v", says, batch)
			}
		}
		slave.Tell(node.PID(), &master.RivalSeen{Claim: messages.Claim{Crawl: own.Crawl, Term: 7, Boot: "7"}})
		actortest.Pass(0)
		if batch, elsewhere := ask(); batch != nil || elsewhere.GetTerm() != 7 || elsewhere.GetBoot() != "7" {
			t.Errorf("deposed it answers a request for work with %v, %v", batch, elsewhere)
		}
		slave.Tell(node.PID(), &messages.Report{Slave: "s", Boot: "b", Term: own.Term, Facts: []*messages.Fact{{
			Lease: 1, Seq: 1, Host: "http://a.test", Finished: &messages.LeaseFinished{Why: "done"}}}})
		slave.Tell(node.PID(), register)
		seed := reading.Seed{URL: weburl.MustParse("http://b.test/")}
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node,
			&master.AddSeeds{Seeds: []reading.Seed{seed}}); err != nil {
			t.Fatal(err)
		}
		if _, err := master.Ask[*master.Status](t.Context(), node, &master.Resume{}); err != nil {
			t.Fatal(err)
		}
		actortest.Pass(3 * time.Second)
		redirected := 0
		for _, m := range slave.Take() {
			if to, ok := m.(*messages.NotLeading); ok && to.Boot == "7" {
				redirected++
				continue
			}
			t.Errorf("deposed it sends %T %v", m, m)
		}
		if redirected != 2 || leases(t, node) != 1 {
			t.Errorf("%d messages are answered by who leads, want 2; %d leases are open, want 1", redirected,
				leases(t, node))
		}
		if s, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{}); err != nil ||
			s.State != master.Deposed {
			t.Errorf("status %+v, %v", s, err)
		}
	})
}

// TestAMasterDoesNotTakeInWhoKnowsAGreaterTerm, but one of an older version, and one that comes from another crawl.
func TestAMasterDoesNotTakeInWhoKnowsAGreaterTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t)
		defer end()
		actortest.Pass(0)
		own := node.Claim()
		for says, c := range map[string]struct {
			crawl string
			term  uint64
			want  bool
		}{
			"of a greater term": {own.Crawl, own.Term + 1, false}, "of another crawl": {"ff", own.Term + 1, true},
			"of an older version": {"", 0, true}, "of the term before": {own.Crawl, own.Term - 1, true},
		} {
			slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Crawl: c.crawl, Term: c.term})
			actortest.Pass(0)
			welcomed, elsewhere := 0, 0
			for _, m := range slave.Take() {
				switch m := m.(type) {
				case *messages.SlaveWelcomed:
					welcomed++
				case *messages.NotLeading:
					if elsewhere++; m.Boot != "" {
						t.Errorf("%s: sent to %q", says, m.Boot)
					}
				}
			}
			if (welcomed == 1) != c.want || (elsewhere == 1) == c.want {
				t.Errorf("a slave %s: welcomed %d times, refused %d times", says, welcomed, elsewhere)
			}
		}
	})
}

// TestOfTwoCopiesInOneTermTheLaterIsDeposed.
func TestOfTwoCopiesInOneTermTheLaterIsDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t)
		defer end()
		c := node.Claim()
		c.Boot = "1"
		slave.Tell(node.PID(), &master.RivalSeen{Claim: c, Name: "other"})
		actortest.Pass(0)
		if s, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{}); err != nil ||
			s.State != master.Deposed {
			t.Errorf("status %+v, %v", s, err)
		}
	})
}
