package alias

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

var begin = time.Unix(1_700_000_000, 0)

// see has a host compared with another on so many paths each, and reviewed.
func see(b *Beliefs, host, other string, agreed, against int) {
	for i := range agreed + against {
		b.Saw(host, &Comparison{Other: other, Target: fmt.Sprintf("/%d-%d", i, agreed), Agrees: i < agreed}, begin)
	}
	b.Reviewed(host, other, false, nil, begin)
}

// What it takes to believe that a host is another.
func TestHowMuchEvidenceIsWanted(t *testing.T) {
	for _, c := range []struct {
		why, host, other string
		agreed, against  int
		front            *bool
		is               bool
	}{
		{"twelve pages are too few", "http://b.test", "http://a.test", 12, 0, nil, false},
		{"thirteen are enough", "http://b.test", "http://a.test", 13, 0, nil, true},
		{"www. before the name needs eight", "http://www.a.test", "http://a.test", 8, 0, nil, true},
		{"seven are too few then", "http://www.a.test", "http://a.test", 7, 0, nil, false},
		{"another scheme needs eight", "http://a.test", "https://a.test", 8, 0, nil, true},
		{"another language is another name", "http://ja.a.test", "http://a.test", 8, 0, nil, false},
		{"front pages that are the same prove nothing", "http://b.test", "http://a.test", 12, 0, new(true), false},
		{"another front page is a contradiction", "http://b.test", "http://a.test", 30, 0, new(false), false},
		{"which many other pages outvote", "http://b.test", "http://a.test", 41, 0, new(false), true},
		{"but not if one of them differs too", "http://b.test", "http://a.test", 60, 1, new(false), false},
		{"versions of documentation share most pages", "http://b.test", "http://a.test", 80, 20, nil, false},
		{"versions of documentation share nearly all pages", "http://b.test", "http://a.test", 200, 5, nil, false},
		{"one page of thirty has changed", "http://b.test", "http://a.test", 29, 1, nil, true},
	} {
		b := &Beliefs{}
		if c.front != nil {
			b.Saw(c.host, &Comparison{Other: c.other, Target: "/first", Agrees: true}, begin)
			b.Saw(c.host, &Comparison{Other: c.other, Target: "/", Agrees: *c.front}, begin)
			c.agreed--
		}
		see(b, c.host, c.other, c.agreed, c.against)
		if got := b.Of == c.other; got != c.is {
			t.Errorf("%s: %v, belief %.3f", c.why, got, b.Hosts[0].Belief())
		}
	}
}

// A path counts once, and an agreement takes back a contradiction, in whatever order they come.
func TestAPathCountsOnce(t *testing.T) {
	for _, order := range [][]bool{{true, true, true}, {false, true}, {true, false}, {false, true, false, true}} {
		b := &Beliefs{}
		see(b, "http://b.test", "http://a.test", 1, 0)
		for _, agrees := range order {
			b.Saw("http://b.test", &Comparison{Other: "http://a.test", Target: "/x", Agrees: agrees}, begin)
		}
		if e := b.Hosts[0]; e.Agreed != 2 || e.Against != 0 {
			t.Errorf("%v: %v agreed, %v against", order, e.Agreed, e.Against)
		}
	}
}

// Contradictions of hosts that never agreed are no evidence, and the least evidence gives way.
func TestEvidenceIsBounded(t *testing.T) {
	b := &Beliefs{}
	see(b, "http://b.test", "http://z.test", 0, 5)
	if len(b.Hosts) != 0 {
		t.Errorf("%+v", b.Hosts)
	}
	for i := range 10 {
		see(b, "http://b.test", fmt.Sprintf("http://a%d.test", i), 10-i, 0)
	}
	see(b, "http://b.test", "http://many.test", 2*pathsKept, 0)
	if len(b.Hosts) != hostsKept || b.Hosts[0].Host != "http://a0.test" {
		t.Errorf("%+v", b.Hosts)
	}
	for _, e := range b.Hosts {
		if len(e.Paths) > 4*pathsKept {
			t.Errorf("%d bytes of paths", len(e.Paths))
		}
	}
}

// An alias stays one while its samples agree, and stands for itself when they do not, or when nothing is compared.
func TestBeliefsDecay(t *testing.T) {
	fresh := func() *Beliefs {
		b := &Beliefs{}
		see(b, "http://b.test", "http://a.test", 13, 0)
		return b
	}
	b := fresh()
	if b.Decay("http://b.test", begin.Add(10*24*time.Hour)) {
		t.Error("ended after ten days")
	}
	if !b.Decay("http://b.test", begin.Add(90*24*time.Hour)) || b.Of != "" {
		t.Error("never compared for three months, and still an alias")
	}
	b = fresh()
	for i, ended := 0, false; i < 2; i++ {
		ended = b.Saw("http://b.test", &Comparison{Other: "http://a.test", Target: fmt.Sprintf("/n%d", i)}, begin)
		if ended != (i == 1) {
			t.Errorf("after %d contradictions: ended %v", i+1, ended)
		}
	}
	b = fresh()
	for day := range 365 { // twelve pages are compared again each month
		at := begin.Add(time.Duration(day) * 24 * time.Hour)
		if day%2 == 0 {
			b.Saw("http://b.test", &Comparison{Other: "http://a.test", Target: fmt.Sprint("/", day%24), Agrees: true},
				at)
		}
	}
	if b.Of != "http://a.test" {
		t.Errorf("compared every other day, and no alias: %+v", b.Hosts[0])
	}
}

// Of two names for one server, which one is visited.
func TestRepresentative(t *testing.T) {
	for _, c := range [][2]string{ // the first is
		{"https://www.example.org", "http://example.org"},
		{"http://example.org", "http://192.0.2.1"},
		{"http://example.org", "http://[2001:db8::1]"},
		{"http://www.example.org", "http://example.org:8080"},
		{"http://example.org", "http://www.example.org"},
		{"http://example.org", "http://example.org."},
		{"http://example.org", "http://long.example.org"},
		{"http://a.example", "http://b.example"},
	} {
		if Representative(c[0], c[1]) != c[0] || Representative(c[1], c[0]) != c[0] {
			t.Errorf("%s is to be visited, not %s", c[0], c[1])
		}
	}
}

func TestBeliefsAreReadAsWritten(t *testing.T) {
	b := &Beliefs{}
	see(b, "http://b.test", "http://a.test", 20, 1)
	bytes, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Beliefs
	if err := read.UnmarshalBinary(bytes); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*Beliefs{b, &read} {
		b.Since = b.Since.UTC()
		for i := range b.Hosts {
			b.Hosts[i].At, b.Hosts[i].Begun = b.Hosts[i].At.UTC(), b.Hosts[i].Begun.UTC()
		}
	}
	if !reflect.DeepEqual(*b, read) {
		t.Errorf("%+v, want %+v", read, *b)
	}
	if none, err := (&Beliefs{}).MarshalBinary(); err != nil || none != nil || read.UnmarshalBinary(nil) != nil ||
		read.Of != "" {
		t.Errorf("nothing is %q: %v", none, err)
	}
	if read.UnmarshalBinary([]byte(`{"hosts":[{"paths":"AAA="}]}`)) == nil {
		t.Error("paths of two bytes are read")
	}
}

// A host that redirects paths to the same paths of another is an alias of that, unless it answers or redirects
// elsewhere too; whatever comes first, and whichever of the two names would be preferred.
func TestRedirectsAreEvidence(t *testing.T) {
	const host, other = "http://a.test", "http://long.b.test"
	for _, c := range []struct {
		why                                  string
		host                                 string
		same, root, itself, third, elsewhere int
		is                                   bool
	}{
		{"thirteen redirects are enough", host, 13, 0, 0, 0, 0, true},
		{"twelve are too few", host, 12, 0, 0, 0, 0, false},
		{"eight are enough for another scheme", "https://long.b.test", 8, 0, 0, 0, 0, true},
		{"all to the root", host, 1, 40, 0, 0, 0, false},
		{"some to the root", host, 20, 2, 0, 0, 0, false},
		{"some pages of its own", host, 20, 0, 2, 0, 0, false},
		{"some to another host", host, 20, 0, 0, 2, 0, false},
		{"some to a log-in of its own", host, 20, 0, 0, 0, 2, false},
		{"one page of many of its own", host, 30, 0, 1, 0, 0, true},
	} {
		b, n := &Beliefs{}, 0
		answers := func(times int, to func(target string) string) {
			for range times {
				n++
				target := fmt.Sprint("/", n)
				b.Answered(c.host, target, to(target), begin)
			}
		}
		answers(c.same, func(target string) string { return other + target })
		answers(c.root, func(string) string { return other + "/" })
		answers(c.itself, func(string) string { return "" })
		answers(c.third, func(target string) string { return "http://c.test" + target })
		answers(c.elsewhere, func(string) string { return c.host + "/login" })
		if b.Of != "" {
			t.Errorf("%s: an alias without a review", c.why)
		}
		b.Reviewed(c.host, other, true, nil, begin)
		if got := b.Of == other; got != c.is {
			t.Errorf("%s: %v, %+v", c.why, got, b.Hosts)
		}
	}
}

// A review brings contradictions that nobody has looked for when the pages were visited.
func TestAReviewMayRefute(t *testing.T) {
	b := &Beliefs{}
	for i := range 20 {
		b.Saw("http://b.test", &Comparison{Other: "http://a.test", Target: fmt.Sprint("/", i), Agrees: true}, begin)
	}
	wanted, _ := b.Unreviewed("http://b.test")
	if len(wanted) != 1 || wanted[0].Other != "http://a.test" || b.Of != "" {
		t.Errorf("%+v, alias of %q: want a review first", wanted, b.Of)
	}
	differing := []Comparison{{Other: "http://a.test", Target: "/x"}, {Other: "http://a.test", Target: "/y"}}
	b.Reviewed("http://b.test", "http://a.test", false, differing, begin)
	if b.Of != "" {
		t.Error("an alias, although the review has found two pages that differ")
	}
}

// A host with the texts of two others says that these may be one, and a review tells of a host never met.
func TestSiblings(t *testing.T) {
	b := &Beliefs{}
	see(b, "http://www.a.test", "http://a.test", 20, 0)
	see(b, "http://www.a.test", "http://ab.test", 20, 0)
	_, siblings := b.Unreviewed("http://www.a.test")
	if len(siblings) != 1 || siblings[0] != [2]string{"http://ab.test", "http://a.test"} {
		t.Errorf("%v", siblings)
	}
	sibling, found := &Beliefs{}, []Comparison{{Other: "http://a.test", Target: "/0"}}
	for i := range 40 {
		found = append(found, Comparison{Other: "http://a.test", Target: fmt.Sprint("/", i+1), Agrees: true})
	}
	sibling.Reviewed("http://ab.test", "http://a.test", false, found, begin)
	if sibling.Of != "http://a.test" || sibling.Hosts[0].Against != 1 {
		t.Errorf("%+v", sibling)
	}
}

// Of a circle of hosts exactly one stands for itself, and the belief in its representative ends.
func TestACircleBreaks(t *testing.T) {
	circle := []string{"http://a.test", "http://b.test", "https://c.test"}
	breaking := 0
	for i, host := range circle {
		others := append(append([]string{}, circle[:i]...), circle[i+1:]...)
		if Breaks(host, others) {
			breaking++
		}
	}
	if breaking != 1 {
		t.Errorf("%d of a circle stand for themselves", breaking)
	}
	b := &Beliefs{}
	see(b, "http://b.test", "http://a.test", 50, 0)
	if b.Refute("http://b.test", begin); b.Of != "" {
		t.Errorf("alias of %s", b.Of)
	}
}
