//go:build unix

package consensus

import (
	"errors"
	"io"
	"testing"
	"time"
)

// TestRequestsArePassedToWhoeverLeads, over connections that end with the lead; figures and membership are as every
// member knows them.
func TestRequestsArePassedToWhoeverLeads(t *testing.T) {
	groups := several(t, 3, func(*Options) {})
	l := &leading{Group: groups[0]}
	until(t, "leads", func() bool { return l.lead() == nil })
	until(t, "figures", func() bool { // a machine that is not served for a second may change the lead meanwhile
		if l.lead() == nil {
			_ = l.now.Tend(t.Context(), nil)
		}
		led, follows := groups[0].Figures(), groups[1].Figures()
		for _, f := range []Figures{led, follows} {
			if f.Term == 0 || f.Last == 0 || f.Committed == 0 || f.Applied == 0 || f.LeaderChanges == 0 {
				return false
			}
		}
		return led.Role == RoleLeader && len(led.Members) == 3 && led.Silence == 0 && led.Sent > 0 &&
			follows.Role == RoleFollower && len(follows.Members) == 0 && follows.Silence > 0 && follows.Received == 1
	})
	for i := range 2 {
		if !groups[i].Has("m2", groups[2].o.Address) || groups[i].Has("m2", "127.0.0.1:1") ||
			groups[i].Has("m9", groups[2].o.Address) {
			t.Errorf("member %d does not know who is of the group", i)
		}
	}

	ask := func() (string, error) {
		c, err := groups[1].DialLeader(t.Context())
		if err != nil {
			return "", err
		}
		defer c.Close()
		answer, err := io.ReadAll(c)
		return string(answer), err
	}
	if answer, err := ask(); answer != "" || err != nil {
		t.Errorf("a leader that does not listen for it answers %q, %v", answer, err)
	}
	serve := func(g *Group) {
		v := g.Visitors()
		t.Cleanup(func() { v.Close() })
		go func() {
			for {
				c, err := v.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, g.o.Name)
				c.Close()
			}
		}()
	}
	serve(groups[0])
	until(t, "the leader answers", func() bool { answer, err := ask(); return answer == "m0" && err == nil })

	silent := groups[0].Visitors()
	go func() {
		if c, err := silent.Accept(); err == nil {
			t.Cleanup(func() { c.Close() }) // a leader without power
		}
	}()
	c, err := groups[1].DialLeader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l.end()
	until(t, "moved", func() bool {
		_ = groups[0].Move("m2")
		return groups[1].Status().Leader == "m2"
	})
	begun := time.Now()
	if err := c.SetReadDeadline(begun.Add(grace + 20*time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || time.Since(begun) > grace+10*time.Second {
		t.Errorf("a connection to who led before ended after %v with %d, %v", time.Since(begun), n, err)
	}
	silent.Close()
	if _, err := silent.Accept(); err == nil {
		t.Error("a listener that was closed accepts")
	}
	serve(groups[2])
	until(t, "the next leader answers", func() bool {
		_ = groups[0].Move("m2")
		answer, err := ask()
		return answer == "m2" && err == nil
	})
	_, _ = groups[0].Close(), groups[2].Close()
	until(t, "nobody leads", func() bool { _, err := ask(); return errors.Is(err, ErrNoLeader) })
}
