package host

import (
	"math/rand/v2"
	"testing"
	"time"

	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/messages"
	"henro/store"
)

// scheduleOf is the schedule of a host that has one visit per second to spare.
func scheduleOf(o *Options, timetable politeness.Timetable) *schedule {
	b := &base{o: o, name: name, now: begun, clock: clock{o: o}}
	b.clock.polite.Timetable = timetable
	s := &schedule{base: b}
	s.restore(1)
	s.rnd = rand.New(rand.NewPCG(1, 2))
	return s
}

// A page whose changes a host's sitemaps announce waits longer while they say nothing, as far as they announced the
// changes that were found; a change that they kept quiet about counts against them.
func TestSilenceDelaysVisitsAsFarAsItIsToBeTrusted(t *testing.T) {
	o := DefaultOptions()
	o.Continuous, o.Sitemaps = true, true
	visit := func(announced, missed int, flags store.Flags, changed bool) (interval time.Duration,
		after *politeness.Timetable) {
		var timetable politeness.Timetable
		for range announced {
			timetable.Recall().Note(true)
		}
		for range missed {
			timetable.Recall().Note(false)
		}
		history := revisit.History{}
		for range 20 {
			history.Visited(&o.Revisit, 30*aDay, true)
			history.Visited(&o.Revisit, 30*aDay, false)
		}
		history.Interval = float32((30 * aDay).Seconds())
		old := store.Page{URL: name + "/a", Status: 200, LastVisit: begun.Add(-30 * aDay), Next: begun,
			Timing: store.Timing(history), Flags: flags, Digest: [20]byte{1}}
		timetable.AddPage(30 * aDay)
		timetable.Rates().Add(o.Revisit.Estimate(&history))
		fact := &messages.PageVisited{Url: old.URL, Status: 200, Digest: make([]byte, 20), Unchanged: !changed}
		s := scheduleOf(&o, timetable)
		visits, _ := s.visited([]visitMade{{old: old, fact: fact, started: begun}}, 1)
		return visits[0].Page.Next.Sub(begun), s.clock.timetable()
	}
	plain, _ := visit(20, 0, 0, false)
	for _, c := range []struct {
		announced, missed int
		least, most       float64
	}{{20, 0, 3.99, 4.01}, {10, 10, 1.7, 2}, {0, 20, 1, 1.1}, {5, 0, 1, 1}} {
		got, _ := visit(c.announced, c.missed, store.Announced, false)
		if r := float64(got) / float64(plain); r < c.least || r > c.most {
			t.Errorf("%d changes announced and %d not: an interval of %v is %v", c.announced, c.missed, plain, got)
		}
	}
	_, before := visit(20, 0, store.Announced, false)
	if _, after := visit(20, 0, store.Announced, true); after.Recall().Chance() >= before.Recall().Chance() {
		t.Error("a change that was not announced does not count")
	}
	if _, after := visit(20, 0, 0, true); after.Recall().Chance() != before.Recall().Chance() {
		t.Error("a change of a page counts of which sitemaps have never said anything")
	}
	_, after := visit(20, 0, store.Announced|store.Hinted, true)
	if after.Recall().Chance() <= before.Recall().Chance() {
		t.Error("a change that was announced does not count")
	}
}

// A visit is late that comes more than an interval of its page after it was due. Only crawls that revisit count them.
func TestVisitsThatCameLateAreCounted(t *testing.T) {
	for _, c := range []struct {
		sentence   string
		late       time.Duration
		due        bool
		continuous bool
		counts     bool
	}{
		{"in time", 0, true, true, false},
		{"an interval after its time", aDay, true, true, false},
		{"later", aDay + time.Second, true, true, true},
		{"without a time", 2 * aDay, false, true, false},
		{"in a crawl that ends", 2 * aDay, true, false, false},
	} {
		o := DefaultOptions()
		o.Continuous = c.continuous
		old := store.Page{URL: name + "/a", Status: 200, LastVisit: begun.Add(-3 * aDay), Digest: [20]byte{1}}
		old.Timing.Interval = float32(aDay.Seconds())
		if c.due {
			old.Next = begun.Add(-c.late)
		}
		s := scheduleOf(&o, politeness.Timetable{})
		s.visited([]visitMade{{old: old, started: begun,
			fact: &messages.PageVisited{Url: old.URL, Status: 200, Digest: make([]byte, 20)}}}, 1)
		if late := s.clock.timetable().Late(); (late > 0) != c.counts {
			t.Errorf("%s: %.3f are late", c.sentence, late)
		}
	}
}

func TestThePageIsMadeByScriptsAsItsLastContentIs(t *testing.T) {
	o := DefaultOptions()
	page := store.Page{URL: name + "/a", LastVisit: begun.Add(-aDay), Status: 200}
	for _, c := range []struct {
		sentence            string
		scripted, unchanged bool
		want                store.Flags
	}{
		{"found so", true, false, store.Scripted},
		{"not looked at again", false, true, store.Scripted},
		{"changed", false, false, 0},
	} {
		fact := &messages.PageVisited{Url: page.URL, Status: 200, Digest: make([]byte, 20), Scripted: c.scripted,
			Unchanged: c.unchanged}
		s := scheduleOf(&o, politeness.Timetable{})
		visits, _ := s.visited([]visitMade{{old: page, fact: fact, started: begun}}, 1)
		if page = visits[0].Page; page.Flags&store.Scripted != c.want {
			t.Errorf("%s: flags %b", c.sentence, page.Flags)
		}
	}
}

// Another payload whose news is none counts for the timetable as if nothing had changed, and is kept.
func TestNoiseDoesNotCountForTheTimetable(t *testing.T) {
	o := DefaultOptions()
	o.Continuous = true
	seen := func(noise bool) (store.Page, uint64) {
		old := store.Page{URL: name + "/a", LastVisit: begun.Add(-aDay), Status: 200, Digest: [20]byte{1},
			MainDigest: 1}
		fact := &messages.PageVisited{Url: old.URL, Status: 200, Digest: make([]byte, 20), MainDigest: 2, Noise: noise}
		s := scheduleOf(&o, politeness.Timetable{})
		visits, totals := s.visited([]visitMade{{old: old, fact: fact, started: begun}}, 1)
		return visits[0].Page, totals.Changed
	}
	news, changed := seen(false)
	quiet, none := seen(true)
	if changed != 1 || none != 0 || quiet.Timing.Interval <= news.Timing.Interval {
		t.Errorf("%d and %d changes, due again after %v s and %v s", changed, none, news.Timing.Interval,
			quiet.Timing.Interval)
	}
	if quiet.MainDigest != 2 || !quiet.CapturedAt.Equal(news.CapturedAt) {
		t.Error("the next visit is compared with a capture before this one")
	}
}

func TestRedirectsAreCountedAmongThePages(t *testing.T) {
	var one, sum protocol.Totals
	for _, status := range []uint32{200, 301, 308, 404} {
		tally(&one, &messages.PageVisited{Status: status}, false, false)
	}
	tally(&one, &messages.PageVisited{Status: 302}, true, false)
	tally(&one, &messages.PageVisited{Status: 302}, false, true)
	sum.Add(&one)
	if sum.Pages != 4 || sum.Redirects != 2 {
		t.Errorf("%d pages, %d of them redirects; want 4 and 2", sum.Pages, sum.Redirects)
	}
}

// What scripts of a page try is said of it also when it is as it was; words for what went wrong are not.
func TestWhatScriptsTryStaysSaidOfAPageThatIsAsItWas(t *testing.T) {
	const tried = "1 × WebSocket"
	for _, c := range []struct {
		v            *messages.PageVisited
		before, want string
	}{
		{&messages.PageVisited{Status: 200, Says: tried}, "", tried},
		{&messages.PageVisited{Status: 200}, tried, ""},
		{&messages.PageVisited{Status: 304}, tried, tried},
		{&messages.PageVisited{Status: 304}, "connection refused", ""},
		{&messages.PageVisited{Status: 200, Says: "the browser crashed"}, "", ""},
		{&messages.PageVisited{Status: 304, Rendered: true}, tried, ""},
		{&messages.PageVisited{Reason: messages.Reason_TIMEOUT, Says: "10 s"}, tried, "10 s"},
	} {
		if got := says(c.v, c.before); got != c.want {
			t.Errorf("%v after %q: %q, want %q", c.v, c.before, got, c.want)
		}
	}
}

// A page that a person has visited every so often is asked for as often while it is not found: it may come back.
func TestAPageThatIsNotFoundIsAskedForAsOftenAsAPersonWants(t *testing.T) {
	o := DefaultOptions()
	o.Continuous = true
	for _, c := range []struct {
		set    revisit.Pattern
		status uint32
		want   time.Duration
	}{{name + "/a", 404, time.Hour}, {name + "/b", 404, aDay}, {name + "/a", gone, 0}} {
		s := scheduleOf(&o, politeness.Timetable{})
		s.rules = revisit.FixedIntervals{{Pages: c.set, Every: time.Hour}}
		old := store.Page{URL: name + "/a", Status: 200, LastVisit: begun.Add(-time.Hour), Next: begun}
		visits, _ := s.visited([]visitMade{{old: old, started: begun,
			fact: &messages.PageVisited{Url: old.URL, Status: c.status}}}, 1)
		if next := visits[0].Page.Next; next != begun.Add(c.want) && (c.want > 0 || !next.IsZero()) {
			t.Errorf("%+v: the next visit is at %s, %s after this one", c, next, next.Sub(begun))
		}
	}
}
