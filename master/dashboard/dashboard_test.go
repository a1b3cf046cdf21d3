package dashboard

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"henro/actors/protocol"
	"henro/master"
	"henro/master/lending"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/speech"
	"henro/store"
	"henro/store/consensus"
)

var verbs = regexp.MustCompile(`%(\[\d+\])?[sd]`)

func TestBothLanguagesSayTheSameThings(t *testing.T) {
	en, ja := languages[0], languages[1]
	for key, text := range en.text {
		other, ok := ja.text[key]
		if !ok {
			t.Errorf("%s is not in ja.json", key)
		}
		if a, b := verbs.FindAllString(text, -1), verbs.FindAllString(other, -1); !slices.Equal(a, b) {
			t.Errorf("%s has the values %q in English and %q in Japanese", key, a, b)
		}
	}
	for key := range ja.text {
		if _, ok := en.text[key]; !ok {
			t.Errorf("%s is not in en.json", key)
		}
	}
}

var usedKey = regexp.MustCompile(`\{\{[^}]*\bt "([^"]+)"`)

func TestTemplatesSayOnlyWhatTheCatalogueHas(t *testing.T) {
	names, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(templates, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range usedKey.FindAllStringSubmatch(string(text), -1) {
			if _, ok := languages[0].text[match[1]]; !ok {
				t.Errorf("%s: no text %q", name, match[1])
			}
		}
	}
}

// TestEveryPageIsWhole: it can be read and used without a script, names no other origin and carries nothing that its
// policy forbids.
func TestEveryPageIsWhole(t *testing.T) {
	d := board(t, newFake(t, nil), "slave welcomed")
	for _, path := range paths {
		for _, language := range []string{"en", "ja"} {
			answer, doc := get(t, d, path, language)
			where := path + " " + language
			want := map[string]int{"/host?name=gone": 404, "/page?url=nonsense": 400}[path]
			if want == 0 {
				want = 200
			}
			if answer.StatusCode != want {
				t.Errorf("%s: status %d, want %d", where, answer.StatusCode, want)
			}
			if got := answer.Header.Get("Content-Security-Policy"); got != policy {
				t.Errorf("%s: policy %q", where, got)
			}
			wholesome(t, where, doc)
			if lang, _ := doc.Find("html").Attr("lang"); lang != language {
				t.Errorf("%s: in %s", where, lang)
			}
			if n := doc.Find("h1").Length(); n != 1 {
				t.Errorf("%s: %d headings of the first order", where, n)
			}
			if n := doc.Find("main#main").Length(); n != 1 {
				t.Errorf("%s: no main part to skip to", where)
			}
			if v := viewAt(&url.URL{Path: strings.Split(path, "?")[0]}); want == 200 {
				for _, part := range v.parts {
					if doc.Find("#"+part).Length() != 1 {
						t.Errorf("%s: no place for the part %s", where, part)
					}
				}
			}
		}
	}
}

// TestEveryWordIsExplained where it stands: heads of columns, names of values, what a mark says, states and causes.
func TestEveryWordIsExplained(t *testing.T) {
	const marks = "thead th, .pairs dt, .figure h2, .tag, .pill, td[data-label]"
	f := newFake(t, []string{"folder"})
	f.masters = []consensus.Member{{Name: "a", Leads: true}}
	f.status.Totals.Redirects = 21
	d := board(t, f)
	d.reports.renew(t.Context())
	seen := map[string]bool{}
	for _, path := range paths {
		for _, w := range languages {
			_, doc := get(t, d, path, w.code)
			causes := map[string]string{}
			for key, text := range w.text {
				if strings.HasPrefix(key, "reason.") && w.text[key+".is"] != "" {
					causes[text] = w.text[key+".is"]
				}
			}
			doc.Find(marks).Each(func(_ int, e *goquery.Selection) {
				text := e.AddSelection(e.Find("*")).FilterFunction(func(_ int, e *goquery.Selection) bool {
					return e.AttrOr("data-is", "") != ""
				})
				if text.Length() == 0 {
					t.Errorf("%s %s: nothing explains %q", path, w.code, e.Text())
				}
				seen[w.code+" "+e.Text()] = true
			})
			doc.Find("main *").Contents().Each(func(_ int, e *goquery.Selection) {
				node := e.Nodes[0]
				if is, ok := causes[node.Data]; ok {
					if about := e.Closest("[data-is]").AttrOr("data-is", ""); !strings.HasPrefix(about, is) {
						t.Errorf("%s %s: %s is explained by %q, want %q", path, w.code, node.Data, about, is)
					}
					seen[path+" "+node.Data] = true
				}
				if node.Type == html.TextNode && strings.HasPrefix(strings.TrimLeft(node.Data, " \n"), "·") {
					t.Errorf("%s %s: a line may begin with %q", path, w.code, node.Data)
				}
			})
		}
	}
	for _, want := range []string{"en Entries behind", "en Representatives", "en Folder",
		"en Visited more than once", "ja 待機", "/ 404 Not found", "/fetches 404 見つからない"} {
		if !seen[want] {
			t.Errorf("%s was on no page", want)
		}
	}
	_, now := get(t, d, "/", "en")
	if text := now.Find("#totals dd").First().Text(); text != "1,234,567 21 of them redirects" {
		t.Errorf("of the pages it says %q", text)
	}
	_, help := get(t, d, "/help", "en")
	if n := help.Find(".terms dt").Length(); n < 20 {
		t.Errorf("the page of help has %d words", n)
	}
}

// wholesome looks for what must not be on a page.
func wholesome(t testing.TB, where string, doc *goquery.Document) {
	t.Helper()
	ids := map[string]bool{}
	doc.Find("*").Each(func(_ int, e *goquery.Selection) {
		for _, a := range e.Nodes[0].Attr {
			switch key := strings.ToLower(a.Key); {
			case strings.HasPrefix(key, "on"), key == "style", key == "srcdoc", key == "formaction":
				t.Errorf("%s: <%s %s=%q>", where, e.Nodes[0].Data, a.Key, a.Val)
			case key == "href" || key == "src" || key == "action":
				if u, err := url.Parse(a.Val); err != nil || u.IsAbs() || u.Host != "" ||
					!strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("%s: <%s %s=%q> leads elsewhere", where, e.Nodes[0].Data, a.Key, a.Val)
				}
			case key == "id":
				if ids[a.Val] {
					t.Errorf("%s: two elements are %s", where, a.Val)
				}
				ids[a.Val] = true
			}
		}
		switch e.Nodes[0].Data {
		case "script":
			if src, _ := e.Attr("src"); !strings.HasPrefix(src, "/static/") || e.Text() != "" {
				t.Errorf("%s: a script %q %q", where, src, e.Text())
			}
		case "style", "iframe", "object", "embed", "base", "img":
			t.Errorf("%s: <%s>", where, e.Nodes[0].Data)
		case "meta":
			if refresh, _ := e.Attr("http-equiv"); refresh != "" {
				t.Errorf("%s: <meta http-equiv=%q>", where, refresh)
			}
		case "input", "textarea":
			if kind, _ := e.Attr("type"); kind == "hidden" {
				return
			}
			id, _ := e.Attr("id")
			if doc.Find("label[for='"+id+"']").Length() == 0 && e.Closest("label").Length() == 0 {
				t.Errorf("%s: the field %q has no label", where, id)
			}
		}
	})
}

func TestNothingIsInjected(t *testing.T) {
	d := board(t, newFake(t, evil), evil...)
	for _, path := range paths {
		_, doc := get(t, d, path, "en")
		wholesome(t, path, doc)
	}
	for _, text := range evil {
		for _, path := range []string{"/?said=", "/hosts?q=", "/hosts?only=", "/hosts?sort=", "/hosts?page=",
			"/host?name=", "/page?url=", "/page?url=http://h/", "/log?level=", "/log?node=",
			"/failed?cause=", "/fetches?only=", "/week?name=", "/week?day=1&hour=", "/?range="} {
			_, doc := get(t, d, path+url.QueryEscape(text), "en")
			wholesome(t, path+text, doc)
		}
	}
}

func FuzzNothingIsInjected(f *testing.F) {
	for _, text := range evil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := board(t, newFake(t, []string{text[:min(len(text), 500)]}), text)
		for _, path := range []string{"/", "/hosts", "/host?name=" + url.QueryEscape(someHost), "/nodes", "/log",
			"/page?url=" + url.QueryEscape(text)} {
			_, doc := get(t, d, path, "en")
			wholesome(t, path, doc)
		}
	})
}

func TestNowShowsTheFigures(t *testing.T) {
	d := board(t, newFake(t, nil))
	_, doc := get(t, d, "/", "en")
	for selector, want := range map[string]string{
		"#state": "Running", "[data-figure=waiting] .number": "1 URLs", "[data-figure=bytes] .note": "5.37 GB in all",
		"#errors tbody tr:first-child th": "404 Not found", "#slaves tbody th": "bee",
		"#mailboxes tbody th": "master/hosts", "#totals dd": "1,234,567",
	} {
		if got := strings.TrimSpace(doc.Find(selector).First().Text()); got != want {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
}

func TestAPageTellsItsLife(t *testing.T) {
	d := board(t, newFake(t, nil))
	_, doc := get(t, d, "/page?url="+url.QueryEscape(somePage), "en")
	var steps []string
	doc.Find(".life h3").Each(func(_ int, e *goquery.Selection) { steps = append(steps, e.Text()) })
	if want := []string{"Found", "Content archived", "Last visit", "Next visit"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	if got := doc.Find(".rules .no b").Text(); got != "robots.txt" {
		t.Errorf("%q is against it", got)
	}
	if got := doc.Find("#facts .says").Text(); !strings.Contains(got, "changes about every") {
		t.Errorf("its changes: %q", got)
	}
}

func TestAHostShowsTheGroupsOfItsPages(t *testing.T) {
	d := board(t, newFake(t, nil))
	_, doc := get(t, d, "/host?name="+url.QueryEscape(someHost), "en")
	var cells []string
	doc.Find("[aria-labelledby=h-groups] tbody tr *").Each(func(_ int, e *goquery.Selection) {
		cells = append(cells, e.Text())
	})
	if len(cells) != 8 || cells[0] != "/item/<n>" || cells[1] != "9" {
		t.Errorf("the groups are %q", cells)
	}
}

func TestTheShareOfWholePagesLeadsToWhatIsMissing(t *testing.T) {
	f := newFake(t, nil)
	f.dir = t.TempDir()
	b := store.NewBatch(time.Now())
	b.Visit(store.Visited{Page: store.Page{URL: someHost + "/lacking", LastVisit: time.Now(), CapturedAt: time.Now(),
		Status: 200}, Links: []outlink.Outlink{{URL: someHost + "/waits", Kind: outlink.Image}}})
	if _, err := f.state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	d := board(t, f)
	counted := func(path, language string) *goquery.Document {
		t.Helper()
		_, doc := get(t, d, path, language)
		select {
		case <-d.whole.wanted: // somebody looked
			d.whole.renew(t.Context())
			_, doc = get(t, d, path, language)
		default:
		}
		return doc
	}
	for language, says := range map[string]string{"en": "1 of 2 pages are whole", "ja": "完全なページ: 1 / 2"} {
		link := counted("/", language).Find("#totals a[href='/missing']")
		if link.Text() != "50 %" {
			t.Errorf("%s: the share is %q", language, link.Text())
		}
		lacking := counted("/missing", language).Find("#lacking").Text()
		for _, text := range []string{says, someHost + "/lacking", someHost + "/waits"} {
			if !strings.Contains(lacking, text) {
				t.Errorf("%s: %q is not in %q", language, text, lacking)
			}
		}
	}
	select {
	case <-d.whole.wanted:
		t.Error("a count of now is made anew")
	default:
	}
}

// Of ten million pages the report takes a minute: nobody waits for it, nor is it made twice for two who look.
func TestTheTimetableIsReadWhileNobodyWaits(t *testing.T) {
	d := board(t, newFake(t, nil))
	for _, language := range []string{"en", "ja"} {
		if _, doc := get(t, d, "/revisit", language); doc.Find("#figures .empty").Length() != 1 {
			t.Errorf("%s: before it is read: %q", language, doc.Find("#figures").Text())
		}
	}
	<-d.reports.wanted
	d.reports.renew(t.Context())
	for _, language := range []string{"en", "ja"} {
		_, doc := get(t, d, "/revisit", language)
		if got := doc.Find("[aria-labelledby=r-table] dd").First().Text(); got != "1" {
			t.Errorf("%s: %q pages in the timetable, want 1", language, got)
		}
		if n := doc.Find("#figures figure").Length(); n < 2 {
			t.Errorf("%s: %d figures", language, n)
		}
	}
	select {
	case <-d.reports.wanted:
		t.Error("a report of now is made anew")
	default:
	}
	d = board(t, newFake(t, nil))
	d.reports.patient = time.Minute // one that is small is there for who looks first
	go func() {
		<-d.reports.wanted
		d.reports.renew(t.Context())
	}()
	if _, doc := get(t, d, "/revisit", "en"); doc.Find("#figures figure").Length() == 0 {
		t.Error("who looks first sees no figures of a small crawl")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.crawl.Reading().Report(ctx, time.Now()); err == nil {
		t.Error("a report is read to its end by a dashboard that ends")
	}
}

// TestHostsAreFoundSortedAndPaged on a table that is larger than a page of it.
func TestHostsAreFoundSortedAndPaged(t *testing.T) {
	f := newFake(t, nil)
	const count = 1234
	b := store.NewBatch(time.Now())
	for i := range count {
		host := fmt.Sprintf("http://h%04d.example", i)
		for p := range 1 + i%3 {
			b.Admit(store.Candidate{URL: fmt.Sprintf("%s/%d", host, p)})
		}
	}
	if _, err := f.state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	d := board(t, f)
	names := func(path string) (names []string) {
		_, doc := get(t, d, path, "en")
		doc.Find(".hosts tbody th a").Each(func(_ int, e *goquery.Selection) { names = append(names, e.Text()) })
		return names
	}
	all := map[string]bool{}
	for number := 1; number <= 25; number++ {
		part := names(fmt.Sprintf("/hosts?sort=host&page=%d", number))
		if !slices.IsSorted(part) {
			t.Errorf("page %d is not sorted", number)
		}
		for _, name := range part {
			all[name] = true
		}
	}
	if len(all) != count+1 {
		t.Errorf("%d hosts on all pages, want %d", len(all), count+1)
	}
	if got := names("/hosts?q=H0777"); !slices.Equal(got, []string{"h0777.example"}) {
		t.Errorf("found %q", got)
	}
	if got := names("/hosts?sort=-waiting")[0]; got != "h0002.example" {
		t.Errorf("most waits at %s", got)
	}
	if got := names("/hosts?page=9999"); len(got) != (count+1)%hostsPerPage {
		t.Errorf("%d hosts on the last page", len(got))
	}
	_, doc := get(t, d, "/hosts?sort=-waiting", "en")
	if sorted, _ := doc.Find("th[aria-sort=descending]").Attr("aria-sort"); sorted == "" ||
		doc.Find("th[aria-sort=descending]").Text() != "Waiting" {
		t.Error("the head does not say by what it is sorted")
	}
}

// An error on the first page leads to its hosts, and hosts are sorted by what they failed.
func TestErrorsLeadToTheirHosts(t *testing.T) {
	f := newFake(t, nil)
	b := store.NewBatch(time.Now())
	for i, failed := range []map[string]uint64{{"CONNECT_REFUSED": 2}, {"HTTP 503": 1, "CONNECT_REFUSED": 7},
		{"HTTP 503": 3}} {
		host := fmt.Sprintf("http://h%d.example", i)
		b.Admit(store.Candidate{URL: host + "/"})
		b.PutHost(store.HostRecord{ID: store.IDOf(host), Name: host, Errors: failed,
			AskedAt: time.Now().Add(-time.Duration(i+1) * time.Hour)})
	}
	if _, err := f.state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	f.status.Totals.Errors = map[string]uint64{"CONNECT_REFUSED": 9}
	f.status.Failures = map[string]master.FailedVisit{"CONNECT_REFUSED": {URL: "http://h1.example/x",
		Cause: messages.Cause{Word: "CONNECT_REFUSED", Says: "dial tcp: connection refused"}}}
	d := board(t, f)
	_, doc := get(t, d, "/", "en")
	row := doc.Find("#errors tbody tr")
	if text := row.Text(); !strings.Contains(text, "http://h1.example/x") || !strings.Contains(text, "dial tcp") {
		t.Errorf("the error does not name its latest visit: %s", text)
	}
	path, _ := row.Find("th a").First().Attr("href")
	names := func(path string) (names []string) {
		_, doc := get(t, d, path, "en")
		doc.Find(".hosts tbody th a").Each(func(_ int, e *goquery.Selection) { names = append(names, e.Text()) })
		return names
	}
	if got := names(path); !slices.Equal(got, []string{"h1.example", "h0.example"}) {
		t.Errorf("%s leads to %q", path, got)
	}
	if got := names("/hosts?sort=-asked"); got[0] != "h0.example" {
		t.Errorf("asked last: %q", got)
	}
}

func post(d *Dashboard, path string, form url.Values) *http.Response {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	d.handler().ServeHTTP(w, r)
	return w.Result()
}

func TestFormsSteerTheCrawl(t *testing.T) {
	f := newFake(t, nil)
	d := board(t, f)
	for _, c := range []struct {
		path string
		form url.Values
		code int
		to   string
	}{
		{"/do/pause", url.Values{"back": {"/"}}, 303, "/?said=pause"},
		{"/do/resume", url.Values{"back": {"/hosts?q=a"}}, 303, "/hosts?q=a&said=resume"},
		{"/do/seeds", url.Values{"back": {"/"}, "depth": {"2"},
			"seeds": {"# ours\nhttps://a.example\r\n\n https://b.example/x \n"}}, 303, "/?said=seeds"},
		{"/do/seeds", url.Values{"depth": {"2"}, "seeds": {"gopher://a.example/"}}, 400, ""},
		{"/do/seeds", url.Values{"depth": {"2"}, "seeds": {" \n"}}, 400, ""},
		{"/do/seeds", url.Values{"depth": {"1"}, "seeds": {"\nhttps://c.example/\ngopher://a.example/\n"}}, 400, ""},
		{"/do/seeds", url.Values{"depth": {"deep"}, "seeds": {"https://a.example/"}}, 400, ""},
		{"/do/drain", url.Values{"slave": {"bee"}, "back": {"/nodes"}}, 303, "/nodes?said=drain"},
		{"/do/drain", url.Values{"slave": {"nobody"}}, 400, ""},
		{"/do/exclude", url.Values{"host": {someHost}, "back": {"/host?name=x"}}, 303, "/host?name=x&said=exclude"},
		{"/do/admit", url.Values{"host": {"no host"}}, 400, ""},
		{"/do/revisit", url.Values{"pages": {someHost + "/*"}, "when": {"every"}, "every": {"6h"},
			"back": {"/host?name=x"}}, 303, "/host?name=x&said=revisit"},
		{"/do/revisit", url.Values{"pages": {someHost + "/a"}, "when": {"now"}, "every": {"1d"}, "back": {"/"}}, 303,
			"/?said=revisit"},
		{"/do/revisit", url.Values{"pages": {someHost + "/a"}, "when": {"every"}, "every": {"soon"}}, 400, ""},
		{"/do/stop", url.Values{"back": {"https://evil.example/"}}, 303, "/?said=stop"},
		{"/do/nothing", nil, 404, ""},
	} {
		answer := post(d, c.path, c.form)
		if to := answer.Header.Get("Location"); answer.StatusCode != c.code || to != c.to {
			t.Errorf("%s %v: %d to %q, want %d to %q", c.path, c.form, answer.StatusCode, to, c.code, c.to)
		}
	}
	want := []string{"pause", "resume", "seed https://a.example/ 2", "seed https://b.example/x 2",
		"seed https://c.example/ 1",
		"drain bee true",
		"drain nobody true", "exclude " + someHost + " true",
		"revisit " + someHost + "/* false 6h0m0s false", "revisit " + someHost + "/a true 0s false", "stop"}
	if !slices.Equal(f.done, want) {
		t.Errorf("done: %q, want %q", f.done, want)
	}
}

func TestNobodyIsSentElsewhere(t *testing.T) {
	for back, want := range map[string]string{
		"/hosts?q=a": "/hosts?q=a", "": "/", "https://evil.example/": "/", "//evil.example/": "/",
		`/\evil.example/`: "/", "javascript:alert(1)": "/", "/\t/evil.example": "/", "hosts": "/",
	} {
		if got := local(back); got != want {
			t.Errorf("back to %q: %q, want %q", back, got, want)
		}
	}
}

func TestPreferencesAreKept(t *testing.T) {
	d := board(t, newFake(t, nil))
	answer, _ := get(t, d, "/preferences?lang=ja&theme=dark&back=/log", "en")
	r := httptest.NewRequest(http.MethodGet, answer.Header.Get("Location"), nil)
	r.Host = "localhost"
	for _, cookie := range answer.Cookies() {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	d.handler().ServeHTTP(w, r)
	if body := w.Body.String(); !strings.Contains(body, `<html lang="ja" data-theme="dark">`) {
		t.Errorf("the page begins %q", body[:80])
	}
}

func TestIdleSaysWhy(t *testing.T) {
	now := time.Now()
	busy := []lending.SlaveStatus{{Name: "bee", Slots: 3}}
	for name, c := range map[string]struct {
		status master.Status
		rate   float64
		want   string
	}{
		"nothing can be stored": {master.Status{State: master.Running, Stalled: speech.Say("disk full")}, 3,
			"idle.stalled"},
		"nothing is fetched for long": {master.Status{State: master.Running, Stalled: speech.Say("no slave"),
			Stalls: map[string]int{"no slave": 1}}, 0, "idle.quiet"},
		"paused": {master.Status{State: master.Paused, Slaves: busy}, 0, "idle.paused"},
		"nobody is there": {master.Status{State: master.Running, Seconds: 9, Waiting: 3}, 0,
			"idle.slaves"},
		"every host rests": {master.Status{State: master.Running, Seconds: 9, Waiting: 3, Slaves: busy,
			NextReady: now.Add(time.Minute)}, 0, "idle.resting"},
		"hosts are lent and take long": {master.Status{State: master.Running, Seconds: 9, Waiting: 3, Slaves: busy,
			Leases: 2}, 0, "idle.lent"},
		"all is visited, nothing is due": {master.Status{State: master.Running, Seconds: 9, Queued: 3, Slaves: busy}, 0,
			"idle.due"},
		"there is nothing": {master.Status{State: master.Running, Seconds: 9, Slaves: busy}, 0,
			"idle.empty"},
		"it has only begun": {master.Status{State: master.Running, Seconds: 1}, 0, ""},
		"it runs":           {master.Status{State: master.Running, Seconds: 9, Slaves: busy}, 2, ""},
		"it has ended":      {master.Status{State: master.Ended}, 0, ""},
	} {
		got := ""
		if i := idle(languages[0], &c.status, c.rate, now); i != nil {
			if got = i.Key; languages[0].text[got] == "" {
				t.Errorf("%s: no text for %s", name, got)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestHistoryKeepsRates(t *testing.T) {
	h := newHistory()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 3600 {
		h.add(begin.Add(time.Duration(i)*time.Second), &master.Status{Waiting: uint64(i),
			Totals: protocol.Totals{Pages: uint64(10 * i), Errors: map[string]uint64{"TIMEOUT": uint64(i / 2)}}})
	}
	if rate, errors := h.lately(time.Minute); math.Abs(rate.Pages-10) > 1e-9 || errors["TIMEOUT"] != 30 {
		t.Errorf("lately %.2f pages/s, errors %v", rate.Pages, errors)
	}
	if got := h.after(time.Time{}, false); len(got) != 600 || got[599].Waiting != 3599 {
		t.Errorf("%d seconds", len(got))
	}
	if got := h.after(time.Time{}, true); len(got) != 59 || math.Abs(got[0].Pages-10) > 1e-9 {
		t.Errorf("%d minutes", len(got))
	}
	if got := h.after(begin.Add(3590*time.Second), false); len(got) != 9 {
		t.Errorf("%d samples after a moment, want 9", len(got))
	}
}

func TestNumbersAndSpansAsPeopleWriteThem(t *testing.T) {
	en, ja := languages[0], languages[1]
	for d, want := range map[time.Duration][2]string{
		0: {"0 s", "0秒"}, 450 * time.Millisecond: {"450 ms", "450ミリ秒"}, 2500 * time.Millisecond: {"2.5 s", "2.5秒"},
		59600 * time.Millisecond: {"1 min", "1分"},
		200 * time.Second:        {"3 min 20 s", "3分20秒"}, 2*time.Hour + 5*time.Minute: {"2 h 5 min", "2時間5分"},
		76 * time.Hour: {"3 d 4 h", "3日4時間"}, math.MaxInt64: {"years", "何年も"},
	} {
		if got := [2]string{en.span(d), ja.span(d)}; got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
	for got, want := range map[string]string{n(uint64(1234567)): "1,234,567", n(-1234): "-1,234", n(999): "999",
		decimal(0): "0", decimal(99.96): "100", decimal(9.996): "10.0", decimal(math.Inf(1)): "–",
		size(uint64(999)): "999 B", size(uint64(12_345_678)): "12.3 MB"} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func BenchmarkHostTable(b *testing.B) {
	f := newFake(b, nil)
	for from := 0; from < 100_000; from += 5000 {
		batch := store.NewBatch(time.Now())
		for i := range 5000 {
			batch.Admit(store.Candidate{URL: fmt.Sprintf("http://h%06d.example/", from+i)})
		}
		if _, err := f.state.Partitions[0].Commit(batch); err != nil {
			b.Fatal(err)
		}
	}
	d := &Dashboard{o: DefaultOptions(), crawl: f}
	order, err := d.readHosts(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if order, err = d.readHosts(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			clear(order.orders)
			order.by("-load")
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			order.find(&hostQuery{Search: "99", Sort: "host", Page: 3})
		}
	})
}

// A list of seeds with a bad line: the good ones are added, the bad one is named, and that page waits for no
// stream, which it would call lost.
func TestABadLineOfSeedsIsNamed(t *testing.T) {
	d := board(t, newFake(t, nil))
	answer := post(d, "/do/seeds", url.Values{"depth": {"1"}, "back": {"/?range=day"},
		"seeds": {"https://a.example/\n\nb.example\n# ours\nhttps://c.example/\n"}})
	doc, err := goquery.NewDocumentFromReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	says := doc.Find(".notice").Text()
	for _, words := range []string{"2 seeds were added", "1 lines", `3: "b.example"`} {
		if !strings.Contains(says, words) {
			t.Errorf("%q does not say %q", says, words)
		}
	}
	if of, streams := doc.Find("body").Attr("data-of"); streams {
		t.Errorf("it opens a stream of %q", of)
	}
	if to, _ := doc.Find(".tool[hreflang]").Attr("href"); !strings.HasSuffix(to, "back=%2f%3frange%3dday") {
		t.Errorf("the language is chosen at %q", to)
	}
}

// Each cause on the first page leads to the URLs whose latest visit failed for it, at most so many of them, and to how
// all are found.
func TestErrorsLeadToTheirURLs(t *testing.T) {
	f := newFake(t, nil)
	b := store.NewBatch(time.Now())
	for i := range failedShown + 34 {
		b.Visit(store.Visited{Page: store.Page{URL: fmt.Sprintf("%s/slow/%d", someHost, i), LastVisit: time.Now(),
			Reason: uint8(messages.Reason_TIMEOUT), Says: "took too long"}})
	}
	b.Visit(store.Visited{Page: store.Page{URL: someHost + "/gone", LastVisit: time.Now(), Status: 404}})
	if _, err := f.state.Partitions[0].Commit(b); err != nil {
		t.Fatal(err)
	}
	d := board(t, f)
	_, doc := get(t, d, "/", "en")
	path, _ := doc.Find("#errors tbody tr:contains('Timed out') td a").Attr("href")
	if _, doc = get(t, d, path, "en"); !strings.Contains(doc.Find("#urls").Text(), "being read") {
		t.Errorf("before anything is read it says %q", doc.Find("#urls").Text())
	}
	<-d.failures.wanted
	d.failures.renew(t.Context())
	_, doc = get(t, d, path, "en")
	if rows := doc.Find("#urls tbody tr").Length(); rows != failedShown {
		t.Errorf("%d rows, want %d", rows, failedShown)
	}
	text := doc.Find("#urls").Text()
	for _, words := range []string{"234 URLs failed", someHost + "/slow/", "took too long", "cause = 'TIMEOUT'"} {
		if !strings.Contains(text, words) {
			t.Errorf("%s does not say %q", path, words)
		}
	}
	if strings.Contains(text, "/gone") {
		t.Errorf("%s shows a URL of another cause", path)
	}
}

func TestTheLogOfASlaveIsShown(t *testing.T) {
	f := newFake(t, nil)
	f.status.Slaves[0].Address = "10.0.0.2:7782"
	d := board(t, f, "line of the master")
	_, doc := get(t, d, "/nodes", "en")
	path, _ := doc.Find("#slaves .meta a").Attr("href")
	_, doc = get(t, d, path, "en")
	if text := doc.Find("#lines").Text(); !strings.Contains(text, "slave ready") ||
		strings.Contains(text, "line of the master") {
		t.Errorf("%s shows %q", path, text)
	}
	if answer, _ := get(t, d, "/log?node=nobody", "en"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a slave that is not there: %s", answer.Status)
	}
	if _, doc := get(t, d, "/log?node=frozen", "en"); !strings.Contains(doc.Find("#lines").Text(), "does not answer") {
		t.Error("a slave that does not answer is not said to be silent")
	}
}

func TestAllMastersAreShown(t *testing.T) {
	f := newFake(t, nil)
	d := board(t, f)
	if _, doc := get(t, d, "/nodes", "en"); doc.Find("#masters tr").Length() > 0 {
		t.Error("a master alone is listed")
	}
	f.masters = []consensus.Member{{Name: "a<b", Address: "10.0.0.1:7783", Voter: true, Leads: true},
		{Name: "c", Address: "10.0.0.2:7783", Voter: true, Behind: 1234},
		{Name: "d", Address: "10.0.0.3:7783", Lost: "it is off"}}
	for language, want := range map[string][]string{
		"en": {"a<bleads010.0.0.1:7783", "chas a vote1,23410.0.0.2:7783", "dcopy onlydoes not answer10.0.0.3:7783"},
		"ja": {"a<b指揮中010.0.0.1:7783", "c投票権あり1,23410.0.0.2:7783", "d写しのみ応答なし10.0.0.3:7783"},
	} {
		_, doc := get(t, d, "/nodes", language)
		for i, words := range want {
			if row := doc.Find("#masters tbody tr").Eq(i).Text(); row != words {
				t.Errorf("%s: row %d says %q, want %q", language, i, row, words)
			}
		}
	}
}
