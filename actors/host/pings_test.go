package host

import (
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
	"henro/store/fingerprint"
)

// A ping counts when the file of its key holds the key: one that was visited, or that is visited for it.
func TestAPingIsBelievedWithItsKeyAlone(t *testing.T) {
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	key, ok := fingerprint.Key([]byte("some-key\r\n"))
	if !ok {
		t.Fatal("no key")
	}
	o := DefaultOptions()
	o.Continuous = true
	book := func() *Book {
		b := New(o, name, admission.Remember(rules.With(weburl.MustParse(name+"/"))))
		b.Updated(begun, &protocol.HostRestored{Record: store.HostRecord{Name: name}})
		return b
	}
	ping := &protocol.Ping{Host: name, Key: key, KeyURL: name + "/k.txt", Pages: []string{name + "/a"},
		New: []string{name + "/new"}, At: begun}
	page := func(path string, key uint64, status uint16) store.Entry {
		return store.Entry{Page: store.Page{URL: name + path, DepthLeft: outlink.UnlimitedDepth, Status: status,
			LastVisit: begun.Add(-time.Hour), MainDigest: key}}
	}
	// what comes of a ping: candidates, whether the timetable gets it
	took := func(b *Book, m *protocol.PagesFound) (candidates []string, believed bool) {
		m.Ping, m.Hints = cmpPing(m.Ping, ping), make([]outlink.Hint, len(m.Entries))
		effects, _ := b.Updated(begun, m)
		for _, e := range effects {
			switch message := e.Message.(type) {
			case *protocol.Write:
				for _, c := range message.Candidates {
					candidates = append(candidates, c.URL)
				}
			case *protocol.PagesFound:
				believed = e.To == Revisit
			}
		}
		return candidates, believed
	}
	for _, c := range []struct {
		sentence string
		entries  []store.Entry
		want     []string
		believed bool
	}{
		{"the file holds the key", []store.Entry{page("/a", 1, 200), page("/k.txt", key, 200)}, []string{name + "/new"},
			true},
		{"it holds another", []store.Entry{page("/a", 1, 200), page("/k.txt", key+1, 200)}, nil, false},
		{"it is gone", []store.Entry{page("/a", 1, 200), page("/k.txt", key, 404)}, nil, false},
		{"it was not visited", []store.Entry{page("/a", 1, 200)}, []string{name + "/k.txt"}, false},
	} {
		got, believed := took(book(), &protocol.PagesFound{Entries: c.entries})
		if !slices.Equal(got, c.want) || believed != c.believed {
			t.Errorf("%s: candidates %v, believed %v; want %v, %v", c.sentence, got, believed, c.want, c.believed)
		}
	}
	outside := *ping
	outside.KeyURL = "http://elsewhere.test/k.txt"
	b := book()
	found := &protocol.PagesFound{Entries: []store.Entry{page("/a", 1, 200)}, Ping: &outside}
	if got, _ := took(b, found); got != nil || b.pings.asked != nil {
		t.Errorf("a key out of scope is visited: %v", got)
	}
	// the visit of the file
	for _, holds := range []bool{true, false} {
		b := book()
		took(b, &protocol.PagesFound{Entries: []store.Entry{page("/a", 1, 200)}})
		visited := page("/k.txt", key, 200).Page
		if !holds {
			visited.MainDigest++
		}
		b.out = nil
		b.pings.visited(&visited)
		sent := len(b.out) == 1 && b.out[0].To == Partition && b.out[0].Message.(*protocol.Ping).Proved
		if sent != holds || b.pings.asked != nil {
			t.Errorf("a file that holds the key, %v: the ping is sent again, %v", holds, sent)
		}
	}
}

func cmpPing(given, otherwise *protocol.Ping) *protocol.Ping {
	if given != nil {
		return given
	}
	return otherwise
}

// A ping brings a page forward by the record of pings, and its visit teaches that record; a sitemap of a host whose
// pings are complete waits.
func TestPingsHaveARecordOfTheirOwn(t *testing.T) {
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
	schedule := func(right, wrong, told int) *Schedule {
		var timetable politeness.Timetable
		for range right {
			timetable.Pings().Note(true)
		}
		for range wrong {
			timetable.Pings().Note(false)
		}
		for range told {
			timetable.Pinged().Note(true)
		}
		timetable.AddPage(interval)
		timetable.Rates().Add(o.Revisit.Estimate(&history))
		s := NewSchedule(o, 1, 2)
		s.Updated(begun, &timetableRestored{timetable: timetable, spare: 1})
		return s
	}
	follow := func(s *Schedule, ping *protocol.Ping, flags store.Flags) *store.Page {
		answer, _ := s.Updated(begun, &protocol.PagesFound{Ping: ping,
			Entries: []store.Entry{{Page: page(flags, aDay)}},
			Hints:   []outlink.Hint{{From: begun, Until: begun.Add(time.Second)}}})
		if answer == nil {
			return nil
		}
		return &answer.(*VisitsMoved).moves[0].Page
	}
	ping := &protocol.Ping{}
	if p := follow(schedule(50, 0, 0), ping, 0); p == nil || !p.Next.Equal(begun) || p.Flags != store.Pinged {
		t.Errorf("an honest ping: %+v", p)
	}
	if p := follow(schedule(0, 50, 0), ping, 0); p != nil && p.Next.Before(begun.Add(18*aDay)) {
		t.Errorf("a host that lies in its pings: %v", p.Next)
	}
	p := follow(schedule(0, 50, 0), nil, 0)
	if p == nil || p.Flags != store.Hinted || p.Next.After(begun.Add(10*aDay)) {
		t.Errorf("its sitemap suffers from that: %+v", p)
	}
	if p := follow(schedule(0, 50, 0), ping, store.Hinted); p == nil || p.Flags != store.Hinted|store.Pinged {
		t.Errorf("a ping of a page that a sitemap has brought forward is not judged: %+v", p)
	}
	visit := func(s *Schedule, flags store.Flags, changed bool) (store.Page, *politeness.Timetable) {
		old := page(flags, interval)
		fact := &messages.PageVisited{Url: old.URL, Status: 200, Digest: make([]byte, 20), Unchanged: !changed}
		made := visitMade{old: old, fact: fact, started: begun}
		answer, _ := s.Updated(begun, &visitsMade{spare: 1, visits: []visitMade{made}})
		timed := answer.(*VisitsTimed)
		return timed.visits[0].Page, &timed.timetable
	}
	for _, c := range []struct {
		sentence         string
		flags            store.Flags
		changed          bool
		pings, pinged    int // whether the records rise, fall, or stay
		hints, announced int
	}{
		{"a ping that was right", store.Pinged, true, 1, 1, 0, 1},
		{"a ping that was wrong", store.Pinged, false, -1, 0, 0, 0},
		{"a ping and a sitemap that were wrong", store.Hinted | store.Pinged, false, -1, 0, -1, 0},
		{"a change that only a sitemap announced", store.Hinted, true, 0, -1, 1, 1},
		{"a change of a sitemap", store.Listing, true, 0, 0, 0, 0},
	} {
		s := schedule(20, 20, 20)
		for range 20 {
			s.timetable.Pinged().Note(false)
			s.timetable.Recall().Note(true)
			s.timetable.Recall().Note(false)
		}
		before := s.timetable
		after, timetable := visit(s, c.flags, c.changed)
		for _, r := range []struct {
			name   string
			change float64
			want   int
		}{{"pings", timetable.Pings().Chance() - before.Pings().Chance(), c.pings},
			{"what they announce", timetable.Pinged().Chance() - before.Pinged().Chance(), c.pinged},
			{"hints", timetable.Hints().Chance() - before.Hints().Chance(), c.hints},
			{"all that is announced", timetable.Recall().Chance() - before.Recall().Chance(), c.announced}} {
			if r.change > 0 != (r.want > 0) || r.change < 0 != (r.want < 0) {
				t.Errorf("%s changes the record of %s by %.4f", c.sentence, r.name, r.change)
			}
		}
		if after.Flags&(store.Hinted|store.Pinged) != 0 {
			t.Errorf("%s: flags %b", c.sentence, after.Flags)
		}
	}
	plain, _ := visit(schedule(0, 0, 0), store.Listing, false)
	for told, want := range map[int]float64{5: 1, 50: 40} {
		waits, _ := visit(schedule(told, 0, told), store.Listing, false)
		longest := float64(o.Revisit.Max) / float64(plain.Next.Sub(begun))
		r := float64(waits.Next.Sub(begun)) / float64(plain.Next.Sub(begun))
		if r < min(want, longest)*0.99 || told == 5 && r > 1 {
			t.Errorf("a sitemap waits %.1f times as long after %d changes were pinged", r, told)
		}
	}
	if page, _ := visit(schedule(50, 0, 50), 0, false); page.Next.After(plain.Next) {
		t.Error("a page waits as a sitemap does")
	}
}
