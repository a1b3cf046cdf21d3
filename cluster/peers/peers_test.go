package peers

import (
	"testing"
	"testing/synctest"
	"time"

	"henro/cluster"
)

func TestWhoIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slaves
		before := cluster.Member{Name: "a", Boot: "1", Role: cluster.Slave}
		a, b := cluster.Member{Name: "a", Boot: "2", Role: cluster.Slave}, cluster.Member{Name: "b", Boot: "1",
			Role: cluster.Slave}
		members := []cluster.Member{a, before, b, {Name: "m", Boot: "9", Role: cluster.Master}}
		if got := s.Of(members); len(got) != 2 || got["a"] != a || got["b"] != b {
			t.Errorf("%v, want the latest starts of both slaves", got)
		}
		s.Mute(a, time.Minute)
		if got := s.Of(members); len(got) != 1 || got["b"] != b {
			t.Errorf("%v, want b alone: a does not answer, and its start before is gone", got)
		}
		time.Sleep(time.Minute)
		if got := s.Of(members); len(got) != 2 || len(s.mute) > 0 {
			t.Errorf("%v, want both: a minute is over", got)
		}
	})
}
