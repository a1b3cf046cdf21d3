package urlrules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"henro/store/fingerprint"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const host = "http://a.example"

// A difference becomes a rule when it is confirmed often enough, and only then.
func TestWhatDoesNotChangePagesIsLearnt(t *testing.T) {
	for _, c := range []struct {
		sentence  string
		a, b      string // paths of one page, with its number
		needs     int
		also, not string // another form of the page of a, and a URL that is another page
	}{
		{"a view", "/p%d?v=1", "/p%d?v=2", enough, "", "/q%d?v=1"},
		{"a campaign", "/p%d", "/p%d?utm_source=feed", enoughKnown, "/p%d", "/p%d?id=7"},
		{"a parameter among others", "/p?id=%d&view=a", "/p?id=%d", enough, "/p?id=%d&view=a", "/p?id=1%d"},
		{"of the path", "/p%d;jsessionid=1", "/p%d", enoughKnown, "/p%d;jsessionid=1", "/p%d;v=1"},
		{"a default document", "/d%d/index.html", "/d%d/", enoughKnown, "/d%d/index.html", "/d%d/other.html"},
		{"a slash", "/d%d/", "/d%d", enough, "/d%d/", "/d%d/x"},
		{"capitals", "/D%d.HTML", "/d%d.html", enough, "/d%d.HTML", "/e%d.html"},
		{"order", "/p?b=%[1]d&a=1", "/p?a=1&b=%[1]d", enough, "/p?b=%d&a=1", "/p?b=%d&a=2"},
	} {
		var s Set
		for i := range c.needs {
			if s.Keys() != nil {
				t.Errorf("%s: applied after %d confirmations of %d", c.sentence, i, c.needs)
			}
			s.Saw(host+fmt.Sprintf(c.a, i), uint64(i+2), 0, start)
			s.Saw(host+fmt.Sprintf(c.b, i), uint64(i+2), 0, start)
		}
		k := s.Keys()
		if k == nil {
			t.Errorf("%s: not applied: %+v", c.sentence, s.rules)
			continue
		}
		a := k.Of(host + fmt.Sprintf(c.a, 99))
		if b := k.Of(host + fmt.Sprintf(c.b, 99)); a != b {
			t.Errorf("%s: %s and %s differ", c.sentence, c.a, c.b)
		}
		if c.also != "" && a != k.Of(host+fmt.Sprintf(c.also, 99)) {
			t.Errorf("%s: %s and %s differ", c.sentence, c.a, c.also)
		}
		if a == k.Of(host+fmt.Sprintf(c.not, 99)) {
			t.Errorf("%s: %s and %s are the same", c.sentence, c.a, c.not)
		}
	}
}

// see has both forms of a page visited.
func see(s *Set, page int, a, b uint64, now time.Time) {
	s.Saw(fmt.Sprintf("%s/p%d", host, page), a, 0, now)
	s.Saw(fmt.Sprintf("%s/p%d?v=%d", host, page, page%3), b, 0, now)
}

func TestAContradictionDoublesWhatARuleNeeds(t *testing.T) {
	var s Set
	page := 0
	for round := range 4 {
		need := enough << round
		for i := range need {
			if s.Keys() != nil {
				t.Fatalf("round %d: applied after %d confirmations", round, i)
			}
			page++
			see(&s, page, uint64(page+2), uint64(page+2), start)
		}
		if s.Keys() == nil {
			t.Fatalf("round %d: not applied after %d confirmations", round, need)
		}
		page++
		see(&s, page, 2, 3, start)
		if s.Keys() != nil {
			t.Fatalf("round %d: applied after a contradiction", round)
		}
	}
}

func TestEvidenceThatIsNone(t *testing.T) {
	for _, c := range []struct {
		sentence string
		see      func(s *Set, page int)
	}{
		{"the same text each time: lists that are empty", func(s *Set, page int) { see(s, page, 7, 7, start) }},
		{"pages that are not there under either URL", func(s *Set, page int) { see(s, page, Missing, Missing, start) }},
		{"pages whose text was not had", func(s *Set, page int) { see(s, page, 0, 0, start) }},
		{"visits that are days apart", func(s *Set, page int) {
			s.Saw(fmt.Sprintf("%s/p%d", host, page), uint64(page+2), 0, start)
			s.Saw(fmt.Sprintf("%s/p%d?v=1", host, page), uint64(page+2), 0, start.Add(2*Period))
		}},
		{"one page again and again", func(s *Set, page int) {
			s.Saw(host+"/p?v=1", uint64(page+2), 0, start)
			s.Saw(host+"/p?v=1", uint64(page+2), 0, start)
		}},
		{"two differences at once", func(s *Set, page int) {
			s.Saw(fmt.Sprintf("%s/p%d/", host, page), uint64(page+2), 0, start)
			s.Saw(fmt.Sprintf("%s/p%d?v=1", host, page), uint64(page+2), 0, start)
		}},
		{"a page on one side and none on the other, half of the time", func(s *Set, page int) {
			if page%2 == 0 {
				see(s, page, uint64(page+2), Missing, start)
			} else {
				see(s, page, uint64(page+2), uint64(page+2), start)
			}
		}},
	} {
		var s Set
		for page := range 200 {
			c.see(&s, page)
		}
		if s.Keys() != nil {
			t.Errorf("%s: %+v", c.sentence, s.Rules())
		}
	}
}

// A value of a parameter that was never seen may be another page, until many were seen to be none.
func TestOnlyValuesThatWereSeenArePassedOver(t *testing.T) {
	var s Set
	for page := range 100 {
		s.Saw(fmt.Sprintf("%s/p%d", host, page), uint64(page+2), 0, start)
		s.Saw(fmt.Sprintf("%s/p%d?lang=en", host, page), uint64(page+2), 0, start)
	}
	k := s.Keys()
	if k.Of(host+"/x") != k.Of(host+"/x?lang=en") || k.Of(host+"/x") == k.Of(host+"/x?lang=de") {
		t.Error("lang=de is another page, lang=en is not")
	}
	for page := range 100 {
		s.Saw(fmt.Sprintf("%s/p%d?lang=%d", host, page, page), uint64(page+2), 0, start)
	}
	if k := s.Keys(); k.Of(host+"/x") != k.Of(host+"/x?lang=de") {
		t.Error("after a hundred values, one more is another page")
	}
	var only Set // with one of two values each time, and never without
	for page := range 100 {
		s := &only
		s.Saw(fmt.Sprintf("%s/p%d?v=a", host, page), uint64(page+2), 0, start)
		s.Saw(fmt.Sprintf("%s/p%d?v=b", host, page), uint64(page+2), 0, start)
	}
	k = only.Keys()
	if k.Of(host+"/x?v=a") != k.Of(host+"/x?v=b") || k.Of(host+"/x?v=a") == k.Of(host+"/x") {
		t.Error("v=a and v=b are one page, and that without v is not known")
	}
}

func TestRulesAreTested(t *testing.T) {
	var s Set
	for page := range 3 * enough {
		see(&s, page, uint64(page+2), uint64(page+2), start)
	}
	spared := 0
	for page := 1000; page < 2000; page++ {
		form := &Form{Text: uint64(page), At: start}
		url := fmt.Sprintf("%s/p%d?v=%d", host, page, page%3)
		if s.Spares(url, form) {
			spared++
		} else if s.Spares(url, form) {
			t.Fatal("the second question has another answer")
		} else {
			s.Saw(url, uint64(page), 0, start)
		}
	}
	if tested := 1000 - spared; tested < enough+10 || tested > enough+20 {
		t.Errorf("%d of 1000 tested", tested)
	}
	var url string
	for page := 2000; ; page++ {
		url = fmt.Sprintf("%s/p%d?v=%d", host, page, page%3)
		if !s.Spares(url, &Form{Text: 9, At: start}) {
			break
		}
	}
	if s.Saw(url, 10, 0, start.Add(2*Period)); s.Keys() == nil {
		t.Error("a page that may have changed meanwhile contradicts the rule")
	}
	for page := 4000; ; page++ {
		url = fmt.Sprintf("%s/p%d?v=%d", host, page, page%3)
		if !s.Spares(url, &Form{Text: 9, At: start}) {
			break
		}
	}
	if s.Saw(url, 10, 0, start); s.Keys() != nil {
		t.Error("a test with another text does not contradict the rule")
	}
}

// Rules that were written and read back say the same.
func TestRulesSurviveBeingWritten(t *testing.T) {
	var s Set
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		page := rnd.IntN(300)
		url := fmt.Sprintf("%s/d/p%d?v=%d&sid=%d", host, page, rnd.IntN(2), rnd.IntN(99))
		s.Saw(url, uint64(page+2), 0, start)
		if i%100 > 0 {
			continue
		}
		b, err := s.MarshalBinary()
		if err != nil || len(b) > 8<<10 {
			t.Fatal(len(b), err)
		}
		var again Set
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		other := fmt.Sprintf("%s/d/p%d?sid=%d", host, page, i)
		if again.Keys().Of(url) != s.Keys().Of(url) || again.Keys().Of(other) != s.Keys().Of(other) {
			t.Fatalf("after %d pages: %+v and %+v", i, s.Rules(), again.Rules())
		}
	}
	if k := s.Keys(); k.Of(host+"/x?v=1&sid=7") != k.Of(host+"/x?v=0&sid=8") || !s.Changed() || s.Changed() {
		t.Errorf("%+v", s.Rules())
	}
	long, _ := json.Marshal([]Rule{{Name: strings.Repeat("n", 99)}})
	for _, b := range []string{"{", `[{"kind":"colour"}]`, string(long)} {
		if err := new(Set).UnmarshalBinary([]byte(b)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", b, err)
		}
	}
	form := Form{Text: 77, At: start, Left: 3, URL: 5, By: []uint32{8}}
	b, _ := form.MarshalBinary()
	var read Form
	if err := read.UnmarshalBinary(b); err != nil || read.Text != 77 || read.Left != 3 || !read.At.Equal(start) ||
		read.URL != 5 || read.By[0] != 8 {
		t.Error(read, err)
	}
	if err := read.UnmarshalBinary(b[1:]); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// However many names and pages a host makes up, what is remembered is bounded, and pairs are found all the same.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	var s Set
	for page := range 20_000 {
		s.Saw(fmt.Sprintf("%s/p%d?n%d=1&fixed=1", host, page, page), uint64(page+2), 0, start)
		if len(s.rules) > MaxRules || len(s.table.entries) > tableMost {
			t.Fatalf("%d rules, %d entries", len(s.rules), len(s.table.entries))
		}
	}
	var far Set
	for _, v := range []string{"", "?v=1"} {
		for page := range 12_000 {
			far.Saw(fmt.Sprintf("%s/p%d%s", host, page, v), uint64(page+2), 0, start)
		}
	}
	if far.Keys().Of(host+"/x") != far.Keys().Of(host+"/x?v=1") {
		t.Error("pages that are 12,000 visits apart are not compared")
	}
	if far.Keys().Of(host+"/x?w=1") != fingerprint.URL(host+"/x?w=1") {
		t.Error("the key of a URL without rules is not its own")
	}
}

// What a person says of a rule counts, whatever the pages show, also after it was written and read.
func TestAPersonOverrulesThePages(t *testing.T) {
	var s Set
	for page := range 3 * enough {
		see(&s, page, uint64(page+2), uint64(page+2), start)
	}
	same := func(s *Set) bool { return s.Keys().Of(host+"/x") == s.Keys().Of(host+"/x?v=1") }
	v, err := ParseRule("parameter v")
	if err != nil || !same(&s) || s.Lifted() {
		t.Fatal(err, s.Rules())
	}
	order := func(word Word) *Set {
		t.Helper()
		if err := s.Order(v, word); err != nil {
			t.Fatal(err)
		}
		b, _ := s.MarshalBinary()
		var again Set
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		return &again
	}
	if again := order(Forget); same(&s) || same(again) || !s.Lifted() || s.Lifted() {
		t.Errorf("forgotten: %+v", s.Rules())
	}
	for page := range 4 * enough {
		see(&s, page, uint64(page+2), uint64(page+2), start)
	}
	if same(&s) {
		t.Errorf("pages have confirmed what is to be forgotten: %+v", s.Rules())
	}
	if again := order(Apply); !same(&s) || !same(again) || !s.Gained() || s.Lifted() {
		t.Errorf("applied: %+v", s.Rules())
	}
	if see(&s, 7, 70, 71, start); !same(&s) {
		t.Errorf("pages have contradicted what is to be applied: %+v", s.Rules())
	}
	if again := order(""); same(&s) || same(again) || !s.Lifted() || len(again.Rules()) > 0 {
		t.Errorf("left to the pages: %+v", s.Rules())
	}
	for _, says := range []string{"", "parameter", "parameter ", "slash at the end x", "colour"} {
		if r, err := ParseRule(says); err == nil {
			t.Errorf("%q is read as %+v", says, r)
		}
	}
	for kind := range kinds {
		r := Rule{Kind: Kind(kind)}
		if r.Kind <= Document {
			r.Name = "n"
		}
		if read, err := ParseRule(r.Says()); err != nil || read.Kind != r.Kind || read.Name != r.Name {
			t.Errorf("%q: %+v, %v", r.Says(), read, err)
		}
	}
}

// Pages are noted under their keys from the first evidence on, those that were visited before too.
func TestPagesAreNotedOnceThereIsEvidence(t *testing.T) {
	var s Set
	noted := map[uint64]*Form{}
	visit := func(url string, text uint64) int {
		s.Saw(url, text, 3, start)
		forms := s.Note(url, text, 3, start)
		maps.Copy(noted, forms)
		return len(forms)
	}
	for page := range 20 {
		if n := visit(fmt.Sprintf("%s/q%d", host, page), uint64(page+2)); n != 0 {
			t.Fatal("noted without evidence")
		}
	}
	if n := visit(host+"/q0?v=1", 2); n < 20 || n > 21 || s.Lifted() {
		t.Errorf("%d pages noted at the first evidence, want 20", n)
	}
	visit(host+"/r?v=1", 99) // of which the plain form comes later
	for page := range 20 {
		visit(fmt.Sprintf("%s/q%d?v=1", host, page), uint64(page+2))
	}
	if r := noted[fingerprint.URL(host+"/r")]; r == nil || r.URL != ShortURL(host+"/r?v=1") || r.Left != 3 ||
		s.Spares(host+"/r", r) && len(s.Between(host+"/r", r)) != 1 {
		t.Errorf("%+v is what is known of a page that was visited before its rule was applied", r)
	}
	visit(host+"/s?v=3", 97)
	for page := range 20 {
		visit(fmt.Sprintf("%s/q%d?v=3", host, page), uint64(page+2))
	}
	if r := noted[fingerprint.URL(host+"/s")]; r == nil || r.URL != ShortURL(host+"/s?v=3") {
		t.Errorf("%+v is what is known of a page that was visited before its value passed", r)
	}
	if visit(host+"/q3", Missing); noted[fingerprint.URL(host+"/q3")] != nil {
		t.Error("a page that is not there is noted")
	}
}
