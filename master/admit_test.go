package master

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/actors/politeness"
	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/messages/weburl"
	"henro/store"
)

// promising is a state of hosts that answer after a second, each with so many pages that are visited every minute, and
// the settings of a crawl with four connections.
func promising(t *testing.T, hosts, pages int, waiting int) (*store.State, *reading.Settings) {
	o := DefaultOptions()
	o.Store.NoSync = true
	state, err := store.OpenState(filepath.Join(t.TempDir(), "state"), o.Store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	m := SettingsOf(&o)
	m.Continuous, m.Politeness.Floor = true, time.Second
	m.Politeness.Servers, m.Politeness.Connections = hosts, 4
	for i := range hosts {
		name := fmt.Sprintf("http://h%d.test", i)
		var s politeness.State
		s.Observe(&m.Politeness, politeness.Visit{Took: time.Second}, time.Now())
		batch := store.NewBatch(time.Now())
		for n := range pages {
			s.Timetable.AddPage(time.Minute)
			page := store.Page{URL: fmt.Sprintf("%s/%d", name, n), LastVisit: time.Now(), Next: time.Now()}
			page.Timing.Interval = 60
			batch.Visit(store.Visited{Page: page})
		}
		for n := range waiting {
			batch.Admit(store.Candidate{URL: fmt.Sprintf("%s/new/%d", name, n)})
		}
		blob, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		batch.PutHost(store.HostRecord{ID: store.IDOf(name), Name: name, Politeness: blob})
		if _, err := state.Partitions[state.PartitionOf(name)].Commit(batch); err != nil {
			t.Fatal(err)
		}
	}
	return state, &m
}

// adding asks to take on hosts, some of which are among the 24 that are known, each with two seeds.
func adding(t *testing.T, state *store.State, m *reading.Settings, known, fresh int) error {
	var seeds []reading.Seed
	for i := range known + fresh {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/", 24-known+i))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, reading.Seed{URL: u}, reading.Seed{URL: u})
	}
	return admitHosts(t.Context(), state, m, seeds)
}

// TestHostsWithNewPagesBearHalf: six visits a minute leave 24 hosts whose new pages wait a cycle of 5 s, S/C = 5. With
// six connections these are 30 hosts, long before 60 would fill them.
func TestHostsWithNewPagesBearHalf(t *testing.T) {
	state, m := promising(t, 24, 6, 9)
	m.Politeness.Connections = 6
	if err := adding(t, state, m, 0, 6); err != nil {
		t.Errorf("6 hosts more: %v", err)
	}
	for fresh, says := range map[int]string{
		7: "would keep 3.1 of 6 connections busy (2.4 now), and 24 of 24 hosts that keep their timetable now would " +
			"not (S/C = 5.17). What would give: 7 connections or more",
		48: "What would give: 15 connections or more",
	} {
		if err := adding(t, state, m, 0, fresh); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%d hosts more: %v\nshould say: %s", fresh, err, says)
		}
	}
	m.Politeness.Connections = 15
	if err := adding(t, state, m, 0, 48); err != nil {
		t.Errorf("with what would have to give: %v", err)
	}
}

// TestHostsAreTakenOnAsLongAsTimetablesAreKept: 24 hosts with six visits a minute each bear a cycle of 10 s, S/C = 10,
// and so 39 of them; 40 would fill four connections.
func TestHostsAreTakenOnAsLongAsTimetablesAreKept(t *testing.T) {
	state, m := promising(t, 24, 6, 0)
	add := func(known, fresh int) error { return adding(t, state, m, known, fresh) }
	for _, fresh := range []int{0, 1, 15} {
		if err := add(3, fresh); err != nil {
			t.Errorf("%d hosts more: %v", fresh, err)
		}
	}
	if err := add(3, 16); err == nil || !strings.Contains(err.Error(), "and 0 of 24 hosts") {
		t.Errorf("16 hosts more: %v", err)
	}
	err := add(3, 17)
	if !errors.Is(err, ErrPromises) {
		t.Fatalf("17 hosts more: %v", err)
	}
	for _, says := range []string{
		"with 17 hosts more the timetables of 24 hosts would keep 4.1 of 4 connections busy (2.4 now)",
		"24 of 24 hosts that keep their timetable now would not (S/C = 10.2)", "5 connections or more",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v\nshould say: %s", err, says)
		}
	}
	m.Politeness.Servers = 20 // nothing is due on four of them
	if err := add(3, 17); err == nil || !strings.Contains(err.Error(), "24 of 24 hosts") {
		t.Errorf("17 hosts more, while four have nothing to do: %v", err)
	}
	m.Politeness.Servers = 24
	if err := add(3, 39); err == nil || !strings.Contains(err.Error(), "7 connections or more") { // 63 hosts, S/C = 10
		t.Errorf("39 hosts more: %v", err)
	}
	m.Politeness.Connections = 5
	if err := add(0, 17); err != nil {
		t.Errorf("with what would have to give: %v", err)
	}
	m.Politeness.Connections, m.Continuous = 4, false
	if err := add(0, 1000); err != nil {
		t.Errorf("a crawl that promises nothing: %v", err)
	}
}

// TestIntervalsAreTakenOnAsLongAsTimetablesAreKept: of the host itself, and of all others.
func TestIntervalsAreTakenOnAsLongAsTimetablesAreKept(t *testing.T) {
	for _, c := range []struct {
		sentence    string
		hosts, conn int
		pages       revisit.Pattern
		every       time.Duration
		says        string
		waiting     int // new pages of each host
	}{
		{"less often", 24, 4, "http://h1.test/*", time.Hour, "", 0},
		{"as often", 24, 4, "http://h1.test/*", time.Minute, "", 0},
		{"what the host bears", 24, 4, "http://h1.test/1", 30 * time.Second, "", 0},
		{"by the timetable again", 24, 4, "http://h1.test/*", 0, "", 0},
		{"of a host that is not known", 24, 4, "http://nowhere.test/*", time.Second, "", 0},
		{"more than it bears, for want of connections", 24, 4, "http://h1.test/*", 30 * time.Second,
			"6 pages every 30s make one visit of http://h1.test in 5 s, and it bears one in 6 s (needs more " +
				"connections). What would give: every 37s or longer, or fewer pages", 0},
		{"more than its answers allow", 24, 4, "http://h1.test/*", 10 * time.Second,
			"(overloaded whatever the resources", 0},
		{"more than there are connections", 24, 2, "http://h1.test/1", 59 * time.Second,
			"would keep 2.4 of 2 connections busy (2.4 now)", 0},
		{"more than it bears beside new pages", 24, 4, "http://h1.test/1", 30 * time.Second,
			"and it bears one in 12 s (needs more connections)", 9},
	} {
		state, m := promising(t, c.hosts, 6, c.waiting)
		m.Politeness.Connections = c.conn
		if c.conn == 2 {
			m.Politeness.Servers = 2 // the others rest for longer than S counts
		}
		err := admitEvery(t.Context(), state, m, c.pages, c.every)
		if errors.Is(err, ErrPromises) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v\nwant %q", c.sentence, err, c.says)
		}
	}
}

// TestSeedsThatAreNotTakenOnAreAnsweredWith409.
func TestSeedsThatAreNotTakenOnAreAnsweredWith409(t *testing.T) {
	state, m := promising(t, 24, 6, 0)
	n := &Node{state: state, o: DefaultOptions()}
	n.o.Hosts.Politeness = m.Politeness
	n.o.defined = &definition{Definition: reading.Definition{InForce: *m}}
	if n.settings().Politeness.At.IsZero() {
		t.Error("hosts that are not asked any more are not looked for")
	}
	body := `{"seeds":["http://new.test/"`
	for i := range 15 {
		body += fmt.Sprintf(`,"http://new%d.test/"`, i)
	}
	answer := httptest.NewRecorder()
	n.postSeeds(answer, httptest.NewRequest("POST", "/api/seeds", strings.NewReader(body+"]}")))
	if answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), "5 connections or more") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}
