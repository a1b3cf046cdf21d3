//go:build unix

package consensus

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// TestRequestsArePassedToWhoeverLeads, over connections that end with the lead; figures and membership are as every
// member knows them.
func TestRequestsArePassedToWhoeverLeads(t *testing.T) {
	groups := several(t, 3, func(*Options) {})
	l := &leading{Group: groups[0]}
	until(t, "figures", func() bool { // a machine that is not served for a second may change the lead meanwhile
		move(t, groups, 0)
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
	until(t, "a leader that does not listen for it answers nothing", func() bool {
		answer, err := ask()
		return answer == "" && err == nil
	})
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
	until(t, "the leader answers", func() bool {
		move(t, groups, 0)
		answer, err := ask()
		return answer == "m0" && err == nil
	})

	silent := groups[0].Visitors()
	go func() {
		if c, err := silent.Accept(); err == nil {
			t.Cleanup(func() { c.Close() }) // a leader without power
		}
	}()
	var c net.Conn
	until(t, "a visit", func() (ok bool) {
		var err error
		c, err = groups[1].DialLeader(t.Context())
		return err == nil
	})
	defer c.Close()
	l.end()
	move(t, groups, 2)
	begun, limit := time.Now(), groups[1].o.grace+10*time.Second
	_ = c.SetReadDeadline(begun.Add(2 * limit)) // it may have ended
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || time.Since(begun) > limit {
		t.Errorf("a connection to who led before ended after %v with %d, %v", time.Since(begun), n, err)
	}
	silent.Close()
	if _, err := silent.Accept(); err == nil {
		t.Error("a listener that was closed accepts")
	}
	serve(groups[2])
	until(t, "the next leader answers", func() bool {
		move(t, groups, 2)
		answer, err := ask()
		return answer == "m2" && err == nil
	})
	_, _ = groups[0].Close(), groups[2].Close()
	until(t, "nobody leads", func() bool { _, err := ask(); return errors.Is(err, ErrNoLeader) })
}

// TestAVisitorOfALeaderThatFrozeIsTold at once when the others find that it is silent: nothing more will come.
func TestAVisitorOfALeaderThatFrozeIsTold(t *testing.T) {
	members, _ := group(t)
	same(t, members)
	var leads, follows *member
	until(t, "a visit", func() bool {
		leads = leaderOf(t, members)
		follows = members[(slices.Index(members, leads)+1)%3]
		return follows.ask("visit") == "done <nil>" && follows.ask("leader") == "leader "+leads.name
	})
	if err := leads.command.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if said := follows.ask("answer"); said != "answer  "+ErrLeadLost.Error() {
		t.Error(said)
	}
	if took := time.Since(begun); took >= answerWait {
		t.Errorf("after %v", took)
	}
}

// TestAVisitorOfALeaderThatHandsOverIsAnswered: it is there to say what became of that.
func TestAVisitorOfALeaderThatHandsOverIsAnswered(t *testing.T) {
	members, _ := group(t)
	same(t, members)
	until(t, "an answer of a leader of before", func() bool { // one that is not served may lose the lead by itself
		leads := leaderOf(t, members)
		i := slices.Index(members, leads)
		next, follows := members[(i+1)%3], members[(i+2)%3]
		if follows.ask("visit") != "done <nil>" || leads.ask("transfer %s", next.name) != "done <nil>" {
			return false
		}
		until(t, "the next leader", func() bool { return follows.ask("leader") != "leader "+leads.name })
		return leads.ask("reply") == "done <nil>" && follows.ask("answer") == "answer "+leads.name+" <nil>"
	})
}

// TestAVisitOnItsWayEndsWithTheLead: a leader that froze takes no connections over TLS; one to the leader of now stays.
func TestAVisitOnItsWayEndsWithTheLead(t *testing.T) {
	type stuck struct{} // in the context of a visit that finds no way to the leader
	dialing := make(chan string, 1)
	groups := several(t, 3, func(o *Options) {
		if o.grace = time.Nanosecond; o.Found {
			o.grace = time.Hour
		}
	}, Security{Dial: func(ctx context.Context, address string) (net.Conn, error) {
		if ctx.Value(stuck{}) == nil {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
		dialing <- address
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	visitors := groups[1].Visitors()
	defer visitors.Close()
	go func() {
		for {
			c, err := visitors.Accept()
			if err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
			_, _ = io.WriteString(c, "m1")
			c.Close()
		}
	}()
	// A machine that is not served for a second may change the lead by itself.
	until(t, "the leader of now answers", func() bool {
		move(t, groups, 1)
		c, err := groups[2].DialLeader(t.Context())
		if err != nil {
			return false
		}
		defer c.Close()
		groups[2].passages.cut(raft.ServerAddress(groups[1].o.Address), true, groups[2].o.grace)
		answer, err := io.ReadAll(c)
		return string(answer) == "m1" && err == nil
	})

	ended := make(chan error, 1)
	var leads string
	until(t, "a visit on its way", func() bool {
		go func() {
			_, err := groups[0].DialLeader(context.WithValue(t.Context(), stuck{}, true))
			ended <- err
		}()
		select {
		case leads = <-dialing:
			return true
		case <-ended: // nobody leads
			return false
		}
	})
	if leads == groups[2].o.Address {
		move(t, groups, 1)
	} else {
		move(t, groups, 2)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, ErrLeadLost) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits for who led before")
	}
}
