package fetch

import (
	"net"
	"testing"
	"time"
)

// The pool keeps as many connections of a host as were used at once, and gives the latest back first. What is too much
// is the one that was idle longest, whatever its host.
func TestAPoolKeepsSeveralConnectionsOfAHost(t *testing.T) {
	p := newPool(&Options{IdleConnections: 4, KeepIdle: time.Hour})
	defer p.close()
	all := map[*connection]string{}
	put := func(host, name string) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := &connection{Conn: ours, host: host}
		all[c] = name
		p.put(c)
	}
	for _, name := range []string{"a1", "a2", "b1", "a3", "a4"} { // a1 is too much
		put(name[:1], name)
	}
	for _, want := range []string{"a4", "a3"} {
		if got := all[p.take("a")]; got != want {
			t.Fatalf("took %q, want %q", got, want)
		}
	}
	put("a", "a5")
	for _, want := range []string{"a5", "a2", ""} {
		if got := all[p.take("a")]; got != want {
			t.Fatalf("took %q, want %q", got, want)
		}
	}
	if got := all[p.take("b")]; got != "b1" {
		t.Fatalf("took %q", got)
	}
}
