package lending

import (
	"testing"
	"time"
)

// TestUsageIsThatOfLate: of the last one to two minutes, whatever was before, and of this start of the slave alone.
func TestUsageIsThatOfLate(t *testing.T) {
	var u usage
	at := time.Unix(0, 0)
	busy := time.Duration(0)
	pass := func(d, used time.Duration) {
		for range d / time.Second {
			at, busy = at.Add(time.Second), busy+used
			u.take(at, busy)
		}
	}
	u.take(at, busy)
	if got := u.share(4); got != 0 {
		t.Errorf("before anything was heard: %v", got)
	}
	pass(10*time.Second, 2*time.Second)
	if got := u.share(4); got != 0.5 {
		t.Errorf("two of four connections in use: %v", got)
	}
	pass(10*time.Minute, 4*time.Second)
	if got := u.share(4); got != 1 {
		t.Errorf("all in use for ten minutes: %v", got)
	}
	pass(usageSpan, 0)
	if got := u.share(4); got <= 0 || got >= 0.6 {
		t.Errorf("none in use for a minute: %v", got)
	}
	pass(usageSpan, 0)
	if got := u.share(4); got != 0 {
		t.Errorf("none in use for two minutes: %v", got)
	}
	busy = 0
	pass(5*time.Second, time.Second)
	if got := u.share(4); got != 0.25 {
		t.Errorf("a slave that counts anew: %v", got)
	}
	pass(5*time.Second, time.Hour)
	if got := u.share(4); got != 1 {
		t.Errorf("more than there is: %v", got)
	}
}

// TestConnectionsInUseAreThoseOfSlavesThatAreThere.
func TestConnectionsInUseAreThoseOfSlavesThatAreThere(t *testing.T) {
	begun := time.Unix(0, 0)
	with := func(connections, busy int) *slave {
		s := &slave{at: place("a"), connections: connections}
		s.usage.take(begun, 0)
		s.usage.take(begun.Add(time.Second), time.Duration(busy)*time.Second)
		return s
	}
	gone := with(100, 100)
	gone.at = nil
	s := slaves{known: map[string]*slave{"a": with(30, 30), "b": with(10, 0), "gone": gone}}
	if connections, busy := s.connections(); connections != 40 || busy != 0.75 {
		t.Errorf("%d connections, %v of them in use", connections, busy)
	}
}
