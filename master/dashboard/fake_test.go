package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/sirupsen/logrus"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/master"
	"henro/master/changefeed"
	"henro/master/lending"
	"henro/master/pictures"
	"henro/master/watchlist"
	"henro/messages"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/consensus"
)

// fakeCrawl is a state on disk without a crawl; what is done to it is written down.
type fakeCrawl struct {
	dir    string
	state  *store.State
	status master.Status
	rows   []floor.Row
	done   []string

	masters []consensus.Member
	fetched []master.Fetch
	lines   []console.Line // of the slave bee
	watched watchlist.List
}

func (f *fakeCrawl) Status(context.Context) (*master.Status, error) {
	s := f.status
	return &s, nil
}
func (f *fakeCrawl) Options() master.Options {
	o := master.DefaultOptions()
	o.Dir = cmp.Or(f.dir, "crawl")
	o.Watched = f.watched
	if f.masters != nil {
		o.Masters = func() []consensus.Member { return f.masters }
	}
	return o
}
func (f *fakeCrawl) Reading() *reading.Crawl {
	o := f.Options()
	settings := master.SettingsOf(&o)
	rules, err := scope.New(o.Scope)
	if err != nil {
		panic(err)
	}
	return &reading.Crawl{Dir: o.Dir, State: f.state, Settings: &settings,
		Scope: rules.With(weburl.MustParse(someHost + "/"))}
}
func (f *fakeCrawl) Changes() *changefeed.Latest {
	none := func(context.Context) ([]lending.SlaveStatus, error) { return nil, nil }
	return changefeed.NewLatest(f.dir, nil, none)
}
func (f *fakeCrawl) Pictures() *pictures.Album {
	none := func(context.Context) ([]lending.SlaveStatus, error) { return nil, nil }
	return pictures.New(f.dir, nil, none)
}
func (f *fakeCrawl) Kinds() []floor.KindRow {
	return []floor.KindRow{{Kind: "host", Actors: 2, Queue: 3, Longest: 3, Taken: 9}}
}
func (f *fakeCrawl) Actors(int) []floor.Row { return f.rows }
func (f *fakeCrawl) Fetches(_ context.Context, asked master.FetchesAsked) (fetches []master.Fetch, err error) {
	for _, fetch := range f.fetched {
		if !asked.Failed || !fetch.Cause.IsZero() {
			fetches = append(fetches, fetch)
		}
	}
	return fetches, nil
}
func (f *fakeCrawl) Log(_ context.Context, slave string) ([]console.Line, error) {
	switch slave {
	case "bee":
		return f.lines, nil
	case "frozen":
		return nil, floor.ErrNobodyTraced
	}
	return nil, console.ErrNoNode
}
func (f *fakeCrawl) did(what string) error       { f.done = append(f.done, what); return nil }
func (f *fakeCrawl) Pause(context.Context) error { return f.did("pause") }
func (f *fakeCrawl) FindMissing(prefix string, fn func(*reading.PageMissing) error) (*reading.Wholeness, error) {
	return f.Reading().Missing(prefix, f.Options().Dir, fn)
}
func (f *fakeCrawl) Resume(context.Context) error { return f.did("resume") }
func (f *fakeCrawl) Stop(context.Context) error   { return f.did("stop") }
func (f *fakeCrawl) AddSeeds(_ context.Context, seeds []reading.Seed) (int, error) {
	for _, seed := range seeds {
		f.done = append(f.done, fmt.Sprintf("seed %s %d", seed.URL, seed.Depth))
	}
	return len(seeds), nil
}
func (f *fakeCrawl) Exclude(_ context.Context, host string, on bool) (*master.HostPosted, error) {
	return nil, f.did(fmt.Sprint("exclude ", host, " ", on))
}
func (f *fakeCrawl) Revisit(_ context.Context, p *master.RevisitPosted) (*master.RevisitAnswer, error) {
	return &master.RevisitAnswer{Pages: p.Pages, Moved: 1},
		f.did(fmt.Sprint("revisit ", p.Pages, " ", p.Now, p.Every, p.Auto))
}
func (f *fakeCrawl) Drain(_ context.Context, slave string, on bool) (*lending.SlaveStatus, error) {
	err := f.did(fmt.Sprint("drain ", slave, " ", on))
	if slave != "bee" {
		err = store.ErrNotFound
	}
	return &lending.SlaveStatus{Name: slave}, err
}

// evil are texts as a web, a log or a slave could bring them.
var evil = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `javascript:alert(1)`,
	`</title></textarea><svg onload=alert(1)>`,
	`{{.V}}`, `%3Cscript%3E`, `<!--`, `]]>`, "\u2028\x00\xff\u202e", "http://a.example/\"><script>alert(1)</script>",
	`//evil.example/`, `data:text/html,<script>alert(1)</script>`,
}

const someHost, somePage = "http://www.example.jp", "http://www.example.jp/news/1.html"

// newFake makes a state with two hosts, pages in every place of life, and texts that would like to be markup.
func newFake(t testing.TB, texts []string) *fakeCrawl {
	t.Helper()
	o := store.DefaultOptions()
	o.Partitions, o.NoSync = 1, true
	state, err := store.OpenState(filepath.Join(t.TempDir(), "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	now := time.Now()
	b := store.NewBatch(now)
	var pace politeness.State
	pace.Timetable.Group(true, now)
	for i := range 9 {
		pace.Timetable.Groups().Of(fmt.Sprint(someHost, "/item/", i)).Add(24 * time.Hour)
	}
	po := politeness.DefaultOptions()
	pace.Observe(&po, politeness.Visit{Took: 80 * time.Millisecond, Outcome: politeness.TimedOut}, now)
	pace.Timetable.AddPage(time.Hour)
	blob, err := pace.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := robots.Parse([]byte("User-agent: *\nDisallow: /news\n"), "henro").MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	page := store.Page{URL: somePage, Depth: 1, LastVisit: now.Add(-time.Minute), CapturedAt: now.Add(-time.Minute),
		Next: now.Add(time.Hour), Status: 200, Timing: store.Timing{Interval: 3600, Total: 7200, Stable: 3600,
			Visits: 2, Changes: 1, Mean: 3600}}
	b.Visit(store.Visited{Page: page})
	b.Admit(store.Candidate{URL: someHost + "/waits", DepthLeft: 2, Depth: 1})
	b.PutHost(store.HostRecord{ID: store.IDOf(someHost), Name: someHost, Politeness: blob,
		NextAllowed: now.Add(time.Minute), Robots: rules, RobotsUntil: now.Add(time.Hour)})
	b.PutLease(store.Lease{ID: 1, Host: store.IDOf(someHost), HostName: someHost, Slave: "bee", Boot: "1",
		Until: now.Add(time.Minute)})
	status := master.Status{
		State: master.Running, Seconds: 100, Known: 3, Waiting: 1, Hosts: 2, Leases: 1,
		Slaves: []lending.SlaveStatus{{Name: "bee", State: lending.Working, Silent: "20ms", Slots: 5, Leases: 1}},
		Totals: protocol.Totals{Pages: 1234567, Bytes: 5 << 30, Errors: map[string]uint64{"HTTP 404": 3, "TIMEOUT": 1}},
	}
	var stops stoplist.List
	f := &fakeCrawl{state: state, status: status, rows: []floor.Row{{Actor: "master/hosts", Queue: 3, Taken: 70}}}
	f.fetched = []master.Fetch{{URL: somePage, Status: 200, Size: 12345, Slave: "bee", Took: 80 * time.Millisecond},
		{URL: someHost + "/gone", Status: 404, Slave: "bee", Cause: messages.Cause{Word: "HTTP 404", Says: "no"}}}
	f.lines = []console.Line{{At: now, Level: "info", Text: "slave ready"}}
	for i, text := range texts {
		f.fetched = append(f.fetched, master.Fetch{URL: "http://h/" + text, Slave: text,
			Cause: messages.Cause{Word: text, Says: text}})
		f.lines = append(f.lines, console.Line{At: now, Level: "error", Text: text,
			Fields: map[string]string{text: text}})
		b.Visit(store.Visited{Page: store.Page{URL: fmt.Sprintf("%s/failed%d", someHost, i), LastVisit: now,
			Reason: uint8(messages.Reason_TIMEOUT), Says: text}})
		other := "http://h" + text
		b.Admit(store.Candidate{URL: other + "/" + text, Host: other})
		b.Admit(store.Candidate{URL: someHost + "/" + text})
		stops.Put(stoplist.Entry{Prefix: fmt.Sprintf("%s/%d%s/", someHost, i, text), Reason: text, Evidence: text,
			At: now, Until: now.Add(time.Hour)})
		b.PutLease(store.Lease{ID: uint64(10 + i), Host: store.IDOf(other), HostName: other, Slave: "bee",
			Boot: "1", Until: now})
		f.status.Slaves = append(f.status.Slaves, lending.SlaveStatus{Name: text, Version: text, Address: text,
			Silent: text, State: lending.SlaveState(text)})
		f.status.Totals.Errors[text] = uint64(i)
		f.rows = append(f.rows, floor.Row{Actor: text})
		f.status.Stalled = speech.Say("%s", f.status.Stalled.String()+text)
	}
	note, err := stops.MarshalEntries()
	if err != nil {
		t.Fatal(err)
	}
	b.PutMeta(fmt.Sprintf("note/%s/%016x", host.StopListNote, uint64(store.IDOf(someHost))), note)
	if _, err := state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	return f
}

// board makes a dashboard that has asked once, with lines in its log.
func board(t testing.TB, f *fakeCrawl, lines ...string) *Dashboard {
	t.Helper()
	tail := console.NewTail()
	for _, line := range lines {
		if err := tail.Fire(&logrus.Entry{Message: line, Level: logrus.WarnLevel, Time: time.Now(),
			Data: logrus.Fields{"url": line, line: line}}); err != nil {
			t.Fatal(err)
		}
	}
	o := DefaultOptions()
	o.Patience = time.Millisecond // mostly nothing is read in the background
	d, err := New(o, f, tail)
	if err != nil {
		t.Fatal(err)
	}
	d.history.add(time.Now().Add(-time.Second), &master.Status{State: master.Running})
	status, _ := f.Status(t.Context())
	d.history.add(time.Now(), status)
	d.hosts.renew(t.Context())
	return d
}

func (d *Dashboard) handler() http.Handler {
	return console.New(console.Options{}, d.Routes())
}

// get asks for a page and parses it.
func get(t testing.TB, d *Dashboard, path, language string) (*http.Response, *goquery.Document) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "localhost"
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	d.handler().ServeHTTP(w, r)
	body := w.Body.String()
	if strings.Contains(body, "%!") {
		t.Errorf("%s: a text and its values do not fit: %s", path, body[strings.Index(body, "%!"):][:40])
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), doc
}

// paths are all pages, with what they can be asked for.
var paths = []string{"/", "/changes",
	"/?range=day", "/hosts", "/hosts?q=www&sort=-load&only=waiting", "/hosts?q=nowhere",
	"/host?name=" + url.QueryEscape(someHost), "/host?name=gone",
	"/page", "/page?url=" + url.QueryEscape(somePage), "/page?url=" + url.QueryEscape(someHost+"/waits"),
	"/page?url=http://unknown.example/", "/page?url=nonsense", "/missing", "/fetches", "/fetches?only=failed",
	"/failed", "/failed?cause=TIMEOUT",
	"/nodes", "/revisit", "/log", "/log?level=error", "/log?node=bee",
	"/week", "/week?day=2&hour=23&name=" + url.QueryEscape(someHost), "/help"}
