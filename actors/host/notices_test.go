package host

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"henro/actors/admission"
	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/actors/scope"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// New URLs of a notice become candidates, with the depth of the page from which most links may be followed, and no more
// of them than the record of notices allows.
func TestANoticeNamesNewPages(t *testing.T) {
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Continuous = true
	many := []string{"http://elsewhere.test/out-of-scope"}
	for i := range 40 {
		many = append(many, fmt.Sprint(name, "/new/", i))
	}
	page := func(path string, left uint8) store.Entry {
		return store.Entry{Page: store.Page{URL: name + path, Depth: 5 - left, DepthLeft: left, Status: 200,
			LastVisit: begun.Add(-aDay), Next: begun.Add(29 * aDay),
			Timing: store.Timing{Interval: float32((30 * aDay).Seconds())}}}
	}
	for _, c := range []struct {
		sentence  string
		entries   []store.Entry
		new       []string
		right     int // notices before
		want      int // candidates
		depthLeft uint8
	}{
		{"as from the page with most depth left", []store.Entry{page("/a", 1), page("/", 3), page("/b", 2)},
			many[:2], 0, 1, 2},
		{"none behind the last link", []store.Entry{page("/a", 0)}, many[:2], 0, 0, 0},
		{"few while nothing was judged", []store.Entry{page("/", 3)}, many[1:], 0, 16, 2},
		{"all when notices have been right", []store.Entry{page("/", 3)}, many[1:], 20, 40, 2},
		{"nothing new", []store.Entry{page("/", 3)}, nil, 20, 0, 0},
	} {
		b := New(o, name, admission.Remember(rules.With(weburl.MustParse(name+"/"))))
		b.Updated(begun, &protocol.HostRestored{Record: store.HostRecord{Name: name}})
		for range c.right {
			b.clock.timetable().Told().Note(true)
		}
		hints := slices.Repeat([]outlink.Hint{{From: begun, Until: begun.Add(time.Second)}}, len(c.entries))
		effects, _ := b.Updated(begun, &protocol.PagesFound{Entries: c.entries, Hints: hints,
			Notice: &protocol.Notice{Host: name, New: c.new, At: begun}})
		var candidates []store.Candidate
		moved := 0
		for _, e := range effects {
			switch message := e.Message.(type) {
			case *protocol.Write:
				candidates = append(candidates, message.Candidates...)
				moved += len(message.Moves)
			}
		}
		if len(candidates) != c.want || moved != len(c.entries) {
			t.Errorf("%s: %d candidates, want %d; %d known pages are moved", c.sentence, len(candidates), c.want,
				moved)
		}
		for _, candidate := range candidates {
			if candidate.DepthLeft != c.depthLeft {
				t.Errorf("%s: %s has %d links left, want %d", c.sentence, candidate.URL, candidate.DepthLeft,
					c.depthLeft)
			}
		}
	}
}

// A notice brings a page forward by the record of notices, and its visit teaches that record; a sitemap of a host whose
// notices are complete waits.
func TestNoticesHaveARecordOfTheirOwn(t *testing.T) {
	o := DefaultOptions()
	o.Continuous = true
	const interval = 20 * aDay
	history := revisit.History{}
	for range 20 {
		history.Visited(&o.Revisit, interval, true)
		history.Visited(&o.Revisit, interval, false)
	}
	history.Interval = float32(interval.Seconds())
	page := func(flags store.Flags, ago time.Duration) store.Page {
		return store.Page{URL: name + "/a", Status: 200, LastVisit: begun.Add(-ago), Next: begun.Add(interval - ago),
			Timing: store.Timing(history), Flags: flags, Digest: [20]byte{1}}
	}
	with := func(right, wrong, foretold int) *schedule {
		var timetable politeness.Timetable
		for range right {
			timetable.Told().Note(true)
		}
		for range wrong {
			timetable.Told().Note(false)
		}
		for range foretold {
			timetable.Foretold().Note(true)
		}
		timetable.AddPage(interval)
		timetable.Rates().Add(o.Revisit.Estimate(&history))
		return scheduleOf(&o, timetable)
	}
	follow := func(s *schedule, notice *protocol.Notice, flags store.Flags) *store.Page {
		moves := s.follow(&protocol.PagesFound{Notice: notice,
			Entries: []store.Entry{{Page: page(flags, aDay)}},
			Hints:   []outlink.Hint{{From: begun, Until: begun.Add(time.Second)}}})
		if len(moves) == 0 {
			return nil
		}
		return &moves[0].Page
	}
	notice := &protocol.Notice{}
	if p := follow(with(50, 0, 0), notice, 0); p == nil || !p.Next.Equal(begun) || p.Flags != store.Told {
		t.Errorf("an honest notice: %+v", p)
	}
	if p := follow(with(0, 50, 0), notice, 0); p != nil && p.Next.Before(begun.Add(18*aDay)) {
		t.Errorf("a host of which lies are told: %v", p.Next)
	}
	p := follow(with(0, 50, 0), nil, 0)
	if p == nil || p.Flags != store.Hinted || p.Next.After(begun.Add(10*aDay)) {
		t.Errorf("its sitemap suffers from that: %+v", p)
	}
	if p := follow(with(0, 50, 0), notice, store.Hinted); p == nil || p.Flags != store.Hinted|store.Told {
		t.Errorf("a notice of a page that a sitemap has brought forward is not judged: %+v", p)
	}
	visit := func(s *schedule, flags store.Flags, changed bool) (store.Page, *politeness.Timetable) {
		old := page(flags, interval)
		fact := &messages.PageVisited{Url: old.URL, Status: 200, Digest: make([]byte, 20), Unchanged: !changed}
		visits, _ := s.visited([]visitMade{{old: old, fact: fact, started: begun}}, 1)
		return visits[0].Page, s.clock.timetable()
	}
	for _, c := range []struct {
		sentence         string
		flags            store.Flags
		changed          bool
		told, foretold   int // whether the records rise, fall, or stay
		hints, announced int
	}{
		{"a notice that was right", store.Told, true, 1, 1, 0, 1},
		{"a notice that was wrong", store.Told, false, -1, 0, 0, 0},
		{"a notice and a sitemap that were wrong", store.Hinted | store.Told, false, -1, 0, -1, 0},
		{"a change that only a sitemap announced", store.Hinted, true, 0, -1, 1, 1},
		{"a change of a sitemap", store.Listing, true, 0, 0, 0, 0},
	} {
		s := with(20, 20, 20)
		for range 20 {
			s.clock.timetable().Foretold().Note(false)
			s.clock.timetable().Recall().Note(true)
			s.clock.timetable().Recall().Note(false)
		}
		before := *s.clock.timetable()
		after, timetable := visit(s, c.flags, c.changed)
		for _, r := range []struct {
			name   string
			change float64
			want   int
		}{{"notices", timetable.Told().Chance() - before.Told().Chance(), c.told},
			{"what they announce", timetable.Foretold().Chance() - before.Foretold().Chance(), c.foretold},
			{"hints", timetable.Hints().Chance() - before.Hints().Chance(), c.hints},
			{"all that is announced", timetable.Recall().Chance() - before.Recall().Chance(), c.announced}} {
			if r.change > 0 != (r.want > 0) || r.change < 0 != (r.want < 0) {
				t.Errorf("%s changes the record of %s by %.4f", c.sentence, r.name, r.change)
			}
		}
		if after.Flags&(store.Hinted|store.Told) != 0 {
			t.Errorf("%s: flags %b", c.sentence, after.Flags)
		}
	}
	plain, _ := visit(with(0, 0, 0), store.Listing, false)
	for told, want := range map[int]float64{5: 1, 50: 40} {
		waits, _ := visit(with(told, 0, told), store.Listing, false)
		longest := float64(o.Revisit.Max) / float64(plain.Next.Sub(begun))
		r := float64(waits.Next.Sub(begun)) / float64(plain.Next.Sub(begun))
		if r < min(want, longest)*0.99 || told == 5 && r > 1 {
			t.Errorf("a sitemap waits %.1f times as long after %d changes were told", r, told)
		}
	}
	if page, _ := visit(with(50, 0, 50), 0, false); page.Next.After(plain.Next) {
		t.Error("a page waits as a sitemap does")
	}
}
