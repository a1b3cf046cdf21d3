package cluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestSettling walks one settler through sightings. A step reads "at second: what": +name.boot seen, -name.boot lost,
// =name.boot said that it leaves, ~name.boot seen with other metadata; what is heard then stands behind it.
func TestSettling(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps []string // "second sighting → heard"
	}{
		{"a new node is told at once", []string{"0 +b.1 → +b.1"}},
		{"a death is told after the settling time", []string{"0 +b.1 → +b.1", "5 -b.1 →", "6.9 →", "7 → -b.1"}},
		{"a flap within the settling time is not told", []string{"0 +b.1 → +b.1", "5 -b.1 →", "6 +b.1 →", "7 →",
			"60 →"}},
		{"each loss settles from its own beginning", []string{"0 +b.1 → +b.1", "5 -b.1 →", "6 +b.1 →", "6.5 -b.1 →",
			"7 →", "8.5 → -b.1"}},
		{"a newer boot replaces a living one at once", []string{"0 +b.1 → +b.1", "5 +b.2 → -b.1 +b.2", "9 -b.1 →",
			"20 →"}},
		{"a newer boot replaces a lost one at once", []string{"0 +b.1 → +b.1", "5 -b.1 →", "6 +b.2 → -b.1 +b.2"}},
		{"an older boot seen late is not believed", []string{"0 +b.2 → +b.2", "1 +b.1 →", "6 -b.1 →", "60 →"}},
		{"an older boot is believed once the newer is gone: a clock went back",
			[]string{"0 +b.2 → +b.2", "1 +b.1 →", "6 -b.2 →", "8 → -b.2 +b.1", "60 →"}},
		{"one that leaves is gone at once", []string{"0 +b.1 → +b.1", "5 =b.1 → ~b.1", "5 -b.1 → -b.1"}},
		{"one that comes back after its death must stay before it is believed",
			[]string{"0 +b.1 → +b.1", "5 -b.1 →", "7 → -b.1", "10 +b.1 →", "11.9 →", "12 → +b.1"}},
		{"and the longer, the more often it did that", []string{"0 +b.1 → +b.1", "5 -b.1 →", "7 → -b.1", "10 +b.1 →",
			"12 → +b.1",
			"20 -b.1 →", "22 → -b.1", "30 +b.1 →", "33.9 →", "34 → +b.1"}},
		{"a new boot starts with a clean slate", []string{"0 +b.1 → +b.1", "5 -b.1 →", "7 → -b.1", "10 +b.1 →",
			"11 +b.2 → +b.2"}},
		{"one that comes and goes while it is not believed is not told at all",
			[]string{"0 +b.1 → +b.1", "5 -b.1 →", "7 → -b.1", "10 +b.1 →", "11 -b.1 →", "12 →", "60 →"}},
		{"changed metadata is told at once", []string{"0 +b.1 → +b.1", "5 ~b.1 → ~b.1", "5 ~b.1 →"}},
		{"names do not disturb each other", []string{"0 +b.1 → +b.1", "1 +c.1 → +c.1", "5 -b.1 →", "6 +c.2 → -c.1 +c.2",
			"7 → -b.1"}},
		{"what was never seen cannot be lost", []string{"0 -b.1 →", "9 →"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSettler(2*time.Second, time.Minute)
			start := time.Unix(1e9, 0)
			for _, step := range c.steps {
				what, heard, _ := strings.Cut(step, "→")
				words := strings.Fields(what)
				var seconds float64
				fmt.Sscan(words[0], &seconds)
				now := start.Add(time.Duration(seconds * float64(time.Second)))
				if len(words) > 1 {
					name, boot, _ := strings.Cut(words[1][1:], ".")
					m := Member{Name: name, Boot: boot}
					switch words[1][0] {
					case '+':
						s.see(m, now)
					case '-':
						s.lose(m, now)
					case '=':
						m.Leaving = true
						s.see(m, now)
					case '~':
						m.Capacity = 7
						s.see(m, now)
					}
				}
				if got := tell(s.advance(now)); got != strings.TrimSpace(heard) {
					t.Fatalf("%s: heard %q", step, got)
				}
			}
		})
	}
}

func tell(events []Event) string {
	var words []string
	for _, e := range events {
		switch e := e.(type) {
		case *MemberUp:
			words = append(words, "+"+e.Member.gossipName())
		case *MemberDown:
			words = append(words, "-"+e.Member.gossipName())
		case *MemberUpdated:
			words = append(words, "~"+e.Member.gossipName())
		}
	}
	return strings.Join(words, " ")
}

// TestSettlerKeepsItsInvariants throws chance at the settler: of one name at most one boot is up, up and down
// alternate, next names the moment of every later event, and once the gossip is calm the listener believes what the
// gossip says.
func TestSettlerKeepsItsInvariants(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		s := newSettler(2*time.Second, time.Minute)
		now := time.Unix(1e9, 0)
		up, gossip := map[string]string{}, map[string]Member{}
		hear := func() {
			for _, e := range s.advance(now) {
				m := e.of()
				switch e.(type) {
				case *MemberUp:
					if up[m.Name] != "" {
						t.Fatalf("seed %d: %s up while %s is", seed, m.gossipName(), up[m.Name])
					}
					up[m.Name] = m.Boot
				case *MemberDown:
					if up[m.Name] != m.Boot {
						t.Fatalf("seed %d: %s down, but %q is up", seed, m.gossipName(), up[m.Name])
					}
					delete(up, m.Name)
				}
			}
		}
		advance := func(d time.Duration) {
			for end := now.Add(d); ; {
				at := s.next()
				if at.IsZero() || at.After(end) {
					now = end
					hear()
					return
				}
				if !at.After(now) {
					t.Fatalf("seed %d: next is %v, not after now", seed, at.Sub(now))
				}
				now = at
				hear()
			}
		}
		for range 200 {
			m := Member{Name: string(rune('a' + rnd.IntN(3))), Boot: string(rune('1' + rnd.IntN(4)))}
			if _, alive := gossip[m.gossipName()]; alive {
				delete(gossip, m.gossipName())
				m.Leaving = rnd.IntN(4) == 0
				s.lose(m, now)
			} else {
				gossip[m.gossipName()] = m
				s.see(m, now)
			}
			hear()
			advance(time.Duration(rnd.IntN(4000)) * time.Millisecond)
		}
		advance(2 * time.Minute)
		newest := map[string]string{}
		for _, m := range gossip {
			newest[m.Name] = max(newest[m.Name], m.Boot)
		}
		if fmt.Sprint(newest) != fmt.Sprint(up) || len(s.members()) != len(up) {
			t.Fatalf("seed %d: the gossip has %v, the listener believes %v", seed, newest, up)
		}
		for _, m := range gossip {
			s.lose(m, now)
		}
		advance(3 * time.Hour)
		if len(s.names) != 0 || !s.next().IsZero() {
			t.Fatalf("seed %d: %d names remembered for ever", seed, len(s.names))
		}
	}
}
