package alias

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

var begin = time.Unix(1_700_000_000, 0)

// see has a host compared with another on so many paths.
func see(b *Beliefs, other string, agreed, against int) {
	for i := range agreed + against {
		b.Saw(&Comparison{Other: other, Target: fmt.Sprintf("/%d-%d", i, agreed), Agrees: i < agreed}, begin)
	}
}

// How sure it is that a host is another, by what they have in common.
func TestWhatEvidenceIsWorth(t *testing.T) {
	for _, c := range []struct {
		why             string
		agreed, against int
		front           *bool
		is              bool // a belief of 0.8 or more
	}{
		{"twelve pages are too few", 12, 0, nil, false},
		{"thirteen are enough", 13, 0, nil, true},
		{"front pages that are the same prove nothing", 12, 0, new(true), false},
		{"another front page is a contradiction", 30, 0, new(false), false},
		{"which many other pages outvote", 41, 0, new(false), true},
		{"versions of documentation share most pages", 80, 20, nil, false},
		{"one page of thirty has changed", 29, 1, nil, true},
	} {
		b := &Beliefs{}
		if c.front != nil {
			b.Saw(&Comparison{Other: "http://a.test", Target: "/first", Agrees: true}, begin)
			b.Saw(&Comparison{Other: "http://a.test", Target: "/", Agrees: *c.front}, begin)
			c.agreed--
		}
		see(b, "http://a.test", c.agreed, c.against)
		if got := b.Hosts[0].Belief(); got >= 0.8 != c.is {
			t.Errorf("%s: belief %.3f", c.why, got)
		}
	}
}

// A path counts once, and an agreement takes back a contradiction, in whatever order they come.
func TestAPathCountsOnce(t *testing.T) {
	for _, order := range [][]bool{{true, true, true}, {false, true}, {true, false}, {false, true, false, true}} {
		b := &Beliefs{}
		see(b, "http://a.test", 1, 0)
		for _, agrees := range order {
			b.Saw(&Comparison{Other: "http://a.test", Target: "/x", Agrees: agrees}, begin)
		}
		if e := b.Hosts[0]; e.Agreed != 2 || e.Against != 0 {
			t.Errorf("%v: %v agreed, %v against", order, e.Agreed, e.Against)
		}
	}
}

// Contradictions of hosts that never agreed are no evidence, and the least evidence gives way.
func TestEvidenceIsBounded(t *testing.T) {
	b := &Beliefs{}
	see(b, "http://z.test", 0, 5)
	if len(b.Hosts) != 0 {
		t.Errorf("%+v", b.Hosts)
	}
	for i := range 10 {
		see(b, fmt.Sprintf("http://a%d.test", i), 10-i, 0)
	}
	see(b, "http://many.test", 2*pathsKept, 0)
	if len(b.Hosts) != hostsKept || b.Hosts[0].Host != "http://a0.test" {
		t.Errorf("%+v", b.Hosts)
	}
	for _, e := range b.Hosts {
		if len(e.Paths) > 4*pathsKept {
			t.Errorf("%d bytes of paths", len(e.Paths))
		}
	}
}

// Evidence loses half of its weight in a month, and pages that are compared again keep it.
func TestEvidenceDecays(t *testing.T) {
	b := &Beliefs{}
	see(b, "http://a.test", 13, 0)
	for day := range 365 { // twelve pages are compared again each month
		at := begin.Add(time.Duration(day) * 24 * time.Hour)
		if day%2 == 0 {
			b.Saw(&Comparison{Other: "http://a.test", Target: fmt.Sprint("/", day%24), Agrees: true}, at)
		}
	}
	if got := b.Hosts[0].Belief(); got < 0.8 {
		t.Errorf("compared every other day, and belief %.3f", got)
	}
	b.Saw(&Comparison{Other: "http://a.test", Target: "/"}, begin.Add(365*24*time.Hour+halfLife))
	agreed := b.Hosts[0].Agreed
	b.Saw(&Comparison{Other: "http://a.test", Target: "/"}, begin.Add(365*24*time.Hour+2*halfLife))
	if half := b.Hosts[0].Agreed; half < 0.49*agreed || half > 0.51*agreed {
		t.Errorf("%.2f after a month, %.2f before", half, agreed)
	}
}

// Of two names for one server, which is the second.
func TestTheSecondName(t *testing.T) {
	for _, c := range [][2]string{ // the other one is
		{"https://www.example.org", "http://example.org"},
		{"http://example.org", "http://192.0.2.1"},
		{"http://example.org", "http://[2001:db8::1]"},
		{"http://www.example.org", "http://example.org:8080"},
		{"http://example.org", "http://www.example.org"},
		{"http://example.org", "http://example.org."},
		{"http://example.org", "http://long.example.org"},
		{"http://a.example", "http://b.example"},
	} {
		if Second(c[0], c[1]) != c[1] || Second(c[1], c[0]) != c[1] {
			t.Errorf("%s is the second name, not %s", c[1], c[0])
		}
	}
}

func TestBeliefsAreReadAsWritten(t *testing.T) {
	b := &Beliefs{}
	see(b, "http://a.test", 20, 1)
	bytes, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Beliefs
	if err := read.UnmarshalBinary(bytes); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Beliefs{b, &read} {
		for i := range b.Hosts {
			b.Hosts[i].At, b.Hosts[i].Begun = b.Hosts[i].At.UTC(), b.Hosts[i].Begun.UTC()
		}
	}
	if !reflect.DeepEqual(*b, read) {
		t.Errorf("%+v, want %+v", read, *b)
	}
	if none, err := (&Beliefs{}).MarshalBinary(); err != nil || none != nil || read.UnmarshalBinary(nil) != nil ||
		read.Hosts != nil {
		t.Errorf("nothing is %q: %v", none, err)
	}
	if read.UnmarshalBinary([]byte(`{"hosts":[{"paths":"AAA="}]}`)) == nil {
		t.Error("paths of two bytes are read")
	}
}

// Redirects to the same paths of another host agree with it; answers, and redirects elsewhere, contradict.
func TestRedirectsAreEvidence(t *testing.T) {
	const host, other = "http://a.test", "http://long.b.test"
	for _, c := range []struct {
		why             string
		to              func(target string) string // from one path of ten
		agreed, against float64
	}{
		{"to the same path", func(target string) string { return other + target }, 10, 0},
		{"to the root", func(string) string { return other + "/" }, 9, 1},
		{"a page of its own", func(string) string { return "" }, 9, 1},
		{"to another host", func(target string) string { return "http://c.test" + target }, 9, 1},
		{"to a log-in of its own", func(string) string { return host + "/login" }, 9, 1},
	} {
		b := &Beliefs{}
		for n := range 9 {
			target := fmt.Sprint("/", n)
			b.Answered(host, target, other+target, begin)
		}
		b.Answered(host, "/x", c.to("/x"), begin)
		if e := b.Hosts[0]; e.Host != other || !e.Redirects || e.Agreed != c.agreed || e.Against != c.against {
			t.Errorf("%s: %+v", c.why, e)
		}
	}
}
