package reading

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/speech"
	"henro/store"
)

var update = flag.Bool("update", false, "rewrite testdata/explain.txt")

func lines(says []speech.Sentence) string {
	var all []string
	for _, s := range says {
		all = append(all, s.String())
	}
	return strings.Join(all, "\n")
}

const aDay = 24 * time.Hour

// The words in which hosts and pages are explained, in every situation there is.
func TestExplanations(t *testing.T) {
	var text strings.Builder
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	going := defaultSettings()
	going.Continuous = true
	ending := going
	ending.Continuous = false
	stretched, untouched := going, going
	stretched.Relief, untouched.Relief = "stretch", "none"
	current := going
	current.Revisit.Objective = revisit.Freshness
	rules, err := robots.Parse([]byte("User-agent: *\nDisallow: /x\n"), "henro").MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}

	host := func(title string, m *Settings, change func(h *store.HostRecord, s *politeness.State)) store.HostRecord {
		var s politeness.State
		h := store.HostRecord{Name: "https://example.org", Robots: rules, RobotsUntil: now.Add(aDay)}
		change(&h, &s)
		h.Politeness, err = s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if h.NextAllowed.IsZero() {
			h.NextAllowed = s.NextAllowed()
		}
		_, says, err := explainHost(&h, m, now)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "== host: %s\n%s\n\n", title, lines(says))
		return h
	}
	pages := func(s *politeness.State, n int, every time.Duration) {
		for range n {
			s.Timetable.AddPage(every)
			s.Timetable.Rates().Add(every)
		}
	}
	well := func(s *politeness.State, took, ago time.Duration) {
		s.Observe(&going.Politeness, politeness.Visit{Took: took}, now.Add(-ago))
	}
	ready := host("well, feasible", &going, func(_ *store.HostRecord, s *politeness.State) {
		well(s, 300*time.Millisecond, time.Hour)
		pages(s, 20, 5*aDay)
	})
	host("never asked", &going, func(h *store.HostRecord, _ *politeness.State) { h.Robots, h.Waiting = nil, 3 })
	resting := host("throttled", &going, func(_ *store.HostRecord, s *politeness.State) {
		well(s, time.Second, time.Hour)
		pages(s, 20, 5*aDay)
		s.Observe(&going.Politeness, politeness.Visit{Took: time.Second, Outcome: politeness.Throttled,
			RetryAfter: time.Hour}, now.Add(-time.Minute))
	})
	host("slow", &going, func(h *store.HostRecord, s *politeness.State) {
		well(s, 20*time.Second, time.Hour)
		pages(s, 20, 5*aDay)
		h.Waiting = 7
	})
	host("with a Crawl-delay", &going, func(h *store.HostRecord, s *politeness.State) {
		s.SetCrawlDelay(time.Minute)
		well(s, time.Second, time.Hour)
		pages(s, 2, 5*aDay)
		h.RobotsUntil = now.Add(-time.Second)
	})
	host("with honest sitemaps", &going, func(_ *store.HostRecord, s *politeness.State) {
		for range 30 {
			s.Timetable.Hints().Note(true)
		}
	})
	host("with sitemaps that lie", &going, func(_ *store.HostRecord, s *politeness.State) {
		for range 30 {
			s.Timetable.Hints().Note(false)
		}
	})
	host("with notices", &going, func(_ *store.HostRecord, s *politeness.State) {
		for range 30 {
			s.Timetable.Told().Note(true)
			s.Timetable.Foretold().Note(true)
		}
	})
	host("dead", &going, func(_ *store.HostRecord, s *politeness.State) {
		well(s, time.Second, 40*aDay)
		for i := range 12 {
			s.Observe(&going.Politeness, politeness.Visit{Took: time.Second, Outcome: politeness.Refused},
				now.Add(-time.Duration(13-i)*aDay))
		}
		s.Observe(&going.Politeness, politeness.Visit{Outcome: politeness.Refused}, now.Add(-aDay))
	})
	overloaded := func(_ *store.HostRecord, s *politeness.State) {
		well(s, time.Second, time.Hour)
		pages(s, 4000, time.Hour)
		pages(s, 4000, 10*aDay)
	}
	host("overloaded", &going, overloaded)
	host("overloaded, stretched", &stretched, overloaded)
	host("overloaded, no relief", &untouched, overloaded)
	host("overloaded, for freshness", &current, overloaded)
	host("overloaded, of a crawl that ends", &ending, overloaded)

	page := func(title string, m *Settings, place store.Place, h store.HostRecord, change func(p *store.Page)) {
		p := store.Page{
			URL: "https://example.org/a", LastVisit: now.Add(-aDay), Next: now.Add(2 * aDay), Status: 200,
			Timing: store.Timing(revisit.History{Interval: 3 * 86400, Total: 40 * 86400, Stable: 10 * 86400,
				ChangedMin: 2 * 86400, Changes: 8, Visits: 9, Mean: 3 * 86400}),
		}
		change(&p)
		fmt.Fprintf(&text, "== page: %s\n%s\n\n", title, lines(explainPage(&p, place, &h, nil, m, now)))
	}
	asked := func(p *store.Page, reason messages.Reason, status uint16) { p.Reason, p.Status = uint8(reason), status }
	page("on its timetable", &going, store.InQueue, ready, func(*store.Page) {})
	page("late", &going, store.InQueue, ready, func(p *store.Page) { p.Next = now.Add(-5 * time.Hour) })
	page("late, its host rests", &going, store.InQueue, resting,
		func(p *store.Page) { p.Next = now.Add(-5 * time.Hour) })
	page("visited less often than it changes", &going, store.InQueue, ready,
		func(p *store.Page) { p.Timing.Interval = 9 * 86400; p.Next = now.Add(8 * aDay) })
	less := func(flags store.Flags) func(p *store.Page) {
		return func(p *store.Page) { p.Flags, p.Timing.Interval, p.Next = flags, 9*86400, now.Add(8*aDay) }
	}
	page("visited less often, for freshness", &current, store.InQueue, ready, less(0))
	page("visited less often, since changes are announced", &going, store.InQueue, ready, less(store.Announced))
	page("visited once", &going, store.InQueue, ready,
		func(p *store.Page) { p.Timing = store.Timing{Interval: 4 * 86400} })
	page("hardly ever changes", &going, store.InQueue, ready, func(p *store.Page) {
		p.Timing = store.Timing(revisit.History{Interval: 350 * 86400, Total: 900 * 86400, Stable: 900 * 86400,
			Visits: 3, Mean: 900 * 86400})
		p.Next = now.Add(349 * aDay)
	})
	page("changing its habits", &going, store.InQueue, ready, func(p *store.Page) { p.Timing.Drifting = 5 })
	page("hinted", &going, store.InQueue, ready, func(p *store.Page) {
		p.Flags, p.Next = store.Hinted,
			now.Add(time.Minute)
	})
	page("told", &going, store.InQueue, ready, func(p *store.Page) {
		p.Flags, p.Next = store.Hinted|store.Told, now.Add(time.Minute)
	})
	page("a sitemap, of a host with notices", &going, store.InQueue, ready, less(store.Listing))
	page("not found of late", &going, store.InQueue, ready,
		func(p *store.Page) { asked(p, 0, 404); p.Timing.Interval = 12 * 86400; p.Next = now.Add(10 * aDay) })
	page("timed out of late", &going, store.InQueue, ready,
		func(p *store.Page) { asked(p, messages.Reason_TIMEOUT, 0); p.Timing.Interval = 6 * 86400 })
	page("gone", &going, store.InRest, ready, func(p *store.Page) {
		asked(p, 0, 410)
		p.Next,
			p.Timing.Interval = time.Time{}, 0
	})
	page("forbidden", &going, store.InRest, ready, func(p *store.Page) {
		asked(p, messages.Reason_ROBOTS_DENIED, 0)
		p.Flags, p.Next = store.Dropped, time.Time{}
	})
	page("waiting", &going, store.InFresh, resting, func(p *store.Page) {
		*p = store.Page{URL: p.URL, Depth: 2,
			Band: 1}
	})
	page("tried in vain", &going, store.InFresh, ready, func(p *store.Page) {
		*p = store.Page{URL: p.URL, Attempts: 2, Reason: uint8(messages.Reason_CONNECT_TIMEOUT),
			Next: now.Add(time.Minute)}
	})
	page("of a crawl that ends", &ending, store.InQueue, ready, func(*store.Page) {})

	const golden = "testdata/explain.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("got\n%s", text.String())
	}
}

// Of a host that does not bear its timetable a page says whether it represents its group: as many do as the sample has.
func TestAPageSaysWhetherItRepresentsItsGroup(t *testing.T) {
	m := &Settings{Relief: politeness.Template.String(), Politeness: politeness.DefaultOptions(),
		Revisit: revisit.DefaultOptions()}
	var s politeness.State
	s.Timetable.Group(true, time.Unix(1e9, 0))
	urls := make([]string, 2000)
	for i := range urls {
		urls[i] = fmt.Sprintf("http://a.test/item/%d", i)
		s.Timetable.Groups().Of(urls[i]).Add(time.Hour)
		s.Timetable.AddPage(time.Hour)
	}
	blob, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	plan, _ := politeness.Relieve(politeness.Template, s.Timetable.Demand(&m.Revisit), s.Spare(&m.Politeness))
	want := 0
	for _, url := range urls {
		represents := s.Timetable.Groups().Of(url).Representative(url, plan.Sample)
		if represents {
			want++
		}
		says := explainGroup(url, &store.HostRecord{Politeness: blob}, m)
		if len(says) != 2 || strings.Contains(says[1].String(), "It is a representative") != represents {
			t.Fatalf("%s, a representative: %v, says %v", url, represents, says)
		}
	}
	if want == 0 || want == len(urls) {
		t.Errorf("%d of %d pages are representatives", want, len(urls))
	}
	m.Relief = politeness.Optimal.String()
	if says := explainGroup(urls[0], &store.HostRecord{Politeness: blob}, m); len(says) > 0 {
		t.Errorf("without groups it says %v", says)
	}
}
