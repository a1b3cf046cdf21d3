package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/messages/outlink"
	"henro/slave"
	"henro/slave/browser"
	"henro/store"
	"henro/store/archive/folder"
)

// fetched are the URLs that a page of these tests asks for by its scripts: those behind data-fetch.
var fetched = regexp.MustCompile(`data-fetch=(?:"([^"]*)"|'([^']*)')`)

// shower is a browser that knows no scripts but data-fetch: the DOM is the page with all that they brought.
type shower struct {
	mu     sync.Mutex
	shown  map[string]int
	breaks func(url string, turn int) error
}

func (s *shower) Close() error { return nil }

func (s *shower) Render(ctx context.Context, p browser.Page, source browser.Source) (*browser.Rendering, error) {
	s.mu.Lock()
	s.shown[p.URL]++
	turn := s.shown[p.URL]
	s.mu.Unlock()
	if s.breaks != nil {
		if err := s.breaks(p.URL, turn); err != nil {
			return nil, err
		}
	}
	answer := source(ctx, &browser.Request{Method: http.MethodGet, URL: p.URL, Kind: "document"})
	if answer == nil {
		return nil, errors.New("the page itself is not there")
	}
	r := &browser.Rendering{Rested: true, Title: "shown", HTML: answer.Body}
	bodies := [][]byte{answer.Body}
	for i := 0; i < len(bodies); i++ {
		found := fetched.FindSubmatch(bodies[i])
		if found == nil {
			continue
		}
		for url := range strings.FieldsSeq(string(found[1]) + string(found[2])) {
			url = strings.Replace(url, "NOW", fmt.Sprint(1_795_749_000+turn), 1)
			q := browser.Request{Method: http.MethodGet, URL: url, Kind: "fetch"}
			if to, body, posts := strings.Cut(url, "|"); posts { // data-fetch="URL|BODY" is asked for by POST
				q.Method, q.URL, q.Body = http.MethodPost, to, []byte(body)
				q.Header = http.Header{"Content-Type": {"application/json"}}
			}
			part := source(ctx, &q)
			r.Asked = append(r.Asked, browser.Asked{Request: q, Answered: part != nil})
			if part != nil {
				r.Asked[len(r.Asked)-1].Status = part.Status
				r.HTML, bodies = append(r.HTML, part.Body...), append(bodies, part.Body)
			}
		}
	}
	return r, nil
}

// living is a site of which scripts show more than it says.
var living = map[string]string{
	"/": "<a href=/made>m</a><a href=/plain>p</a><a href=/far>f</a><a href=/scroll>s</a><a href=/clock>c</a>",
	"/made": `<div id=root></div><script src=/app.js></script>
		<p data-fetch="http://a.example/data.json http://a.example/more.json">`,
	"/far":    `<div id=root></div><script src=/app.js></script><p data-fetch="http://b.example/api.json">`,
	"/scroll": `<div id=root></div><script src=/app.js></script><p data-fetch="http://a.example/1.json">`,
	"/1.json": scrolled(2), "/2.json": scrolled(3), "/3.json": scrolled(4), "/4.json": scrolled(5),
	"/5.json": scrolled(6),
	"/6.json": "Content-Type: application/json\n\n<a href=/last>the end</a>", "/last": "the last page",
	"/clock":            `<div id=root></div><script src=/app.js></script><p data-fetch="http://a.example/now?t=NOW">`,
	"/now?t=1795749001": "Content-Type: application/json\n\n<a href=/then>now</a>", "/then": "behind the clock",
	"/app.js": "Content-Type: text/javascript\n\nx()", "/plain": "words that stand in the page, many of them",
	"/data.json": "Content-Type: application/json\n\n<a href=/hidden>only scripts lead here</a>",
	"/more.json": "Content-Type: application/json\n\n<b>more</b>", "/hidden": "a page of its own",
	"http://b.example/api.json": "Content-Type: application/json\n\n<a href=/behind>from afar</a>",
	"/behind":                   "another",
}

// scrolled is a part that asks for the next one.
func scrolled(next int) string {
	return fmt.Sprintf("Content-Type: application/json\n\n<b data-fetch=\"http://a.example/%d.json\">more</b>", next)
}

func crawlLiving(t *testing.T, dir, mode string, s *shower) (*crawltest.Site, master.Status) {
	s.shown = map[string]int{}
	site := &crawltest.Site{Answer: crawltest.Pages(living), Adjust: func(o *slave.Options) { o.Shows = s }}
	status := site.Crawl(t, dir, func(o *master.Options) {
		o.Fetch.Browser = mode
		o.Hosts.Admission.Requisites = outlink.AllClasses
	})
	return site, status
}

// Pages that scripts make are shown in the browser, on what is archived: what they ask for is fetched once, where they
// lead is followed, and they are called whole.
func TestScriptsAreRunOnWhatIsArchived(t *testing.T) {
	for _, mode := range []string{"auto", "all"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, s := t.TempDir(), &shower{}
				site, status := crawlLiving(t, dir, mode, s)
				site.AskedOnce(t)
				for _, url := range []string{"/hidden", "/behind", "/more.json", "/last", "/then",
					"http://b.example/api.json"} {
					if site.Asked[url] == 0 {
						t.Errorf("%s was not asked for", url)
					}
				}
				if n := site.AskedBelow("/now"); n != 1 {
					t.Errorf("what differs in its time alone was asked for %d times", n)
				}
				_, pages := crawltest.StateIn(t, dir)
				for path, want := range map[string]bool{"/made": true, "/far": true, "/plain": mode == "all"} {
					page := pages["http://a.example"+path]
					is, left := page.Flags&store.Rendered != 0, page.Flags&(store.Awaits|store.Scripted)
					if is != want || left != 0 {
						t.Errorf("%s: rendered %v, flags %b", path, is, page.Flags)
					}
				}
				if w := status.Whole; w == nil || w.Whole != w.Pages {
					t.Errorf("whole: %+v", w)
				}
				if _, err := folder.Refresh(filepath.Join(dir, "warc")); err != nil { // as henro crawl does in the end
					t.Error(err)
				}
				crawltest.CheckSound(t, dir)
				if status.Totals.Pages != 10 { // each once, however often it was looked at
					t.Errorf("%d pages", status.Totals.Pages)
				}
			})
		})
	}
}

// A browser that fails, for a while or for ever, costs no page and no request.
func TestABrowserThatFailsCostsNoPage(t *testing.T) {
	for turns, want := range map[int]bool{1: true, 99: false} {
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir, begun := t.TempDir(), time.Now()
				s := &shower{breaks: func(_ string, turn int) error {
					if turn <= turns {
						return errors.New("the browser crashed")
					}
					return nil
				}}
				site, _ := crawlLiving(t, dir, "auto", s)
				site.AskedOnce(t)
				_, pages := crawltest.StateIn(t, dir)
				page := pages["http://a.example/made"]
				if is := page.Flags&store.Rendered != 0; is != want || page.LastVisit.IsZero() {
					t.Errorf("rendered %v, flags %b, visited %v", is, page.Flags, page.LastVisit)
				}
				if s.shown["http://a.example/made"] > 6 || time.Since(begun) > time.Hour {
					t.Errorf("shown %d times, within %v", s.shown["http://a.example/made"], time.Since(begun))
				}
			})
		})
	}
}

// A page waits neither for what robots.txt and the crawl keep from it, nor for a host that does not answer, and it is
// learnt from.
func TestAPageDoesNotWaitForWhatWillNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begun, pages := &shower{shown: map[string]int{}}, time.Now(), map[string]string{
			"/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /denied",
			"/app.js":     "Content-Type: text/javascript\n\nx()",
		}
		for i := range 12 {
			pages[fmt.Sprintf("/item/%d", i)] = fmt.Sprintf(`<a href=/item/%d>next</a><div id=root></div>
				<script src=/app.js></script><p data-fetch="http://a.example/denied http://a.example/out.json
				http://dead.example/api.json http://a.example/api/%d.json">`, i+1, i)
			pages[fmt.Sprintf("/api/%d.json", i)] = "Content-Type: application/json\n\nwords"
		}
		answer := crawltest.Pages(pages)
		site := &crawltest.Site{Adjust: func(o *slave.Options) { o.Shows = s }, Seed: "http://a.example/item/0",
			Answer: func(path string) (int, string, string) {
				if strings.Contains(path, "dead.example") {
					return 0, "", ""
				}
				return answer(path)
			}}
		site.Crawl(t, t.TempDir(), func(o *master.Options) {
			o.Fetch.Browser = "auto"
			o.Hosts.Admission.Requisites = outlink.AllClasses
			o.Scope.Exclude = []string{"/out"}
			o.Hosts.Retries = 0
		})
		if took := time.Since(begun); took > 3*time.Minute || site.Asked["/denied"]+site.Asked["/out.json"] > 0 {
			t.Errorf("it took %v; asked for %v", took, site.Asked)
		}
		if n := len(s.shown); n > 8 || site.Asked["/api/11.json"] != 1 {
			t.Errorf("%d pages were shown to learn of what they need: %v", n, s.shown)
		}
	})
}

// What one slave learnt of a template, another uses: it shows none of its pages but to check a few, and asks for what
// they need by rules.
func TestARuleLearntByOneSlaveIsUsedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]string{"/app.js": "Content-Type: text/javascript\n\nx()"}
		for i := range 30 {
			pages[fmt.Sprintf("/item/%d", i)] = fmt.Sprintf(`<a href=/item/%d>next</a><div id=root></div>
				<script src=/app.js></script><p data-fetch="http://a.example/api/%d.json">`, i+1, i)
			pages[fmt.Sprintf("/api/%d.json", i)] = "Content-Type: application/json\n\nwords"
		}
		dir := t.TempDir()
		crawl := func(limit uint64) (*crawltest.Site, *shower) {
			s, archive := &shower{shown: map[string]int{}}, t.TempDir()
			site := &crawltest.Site{Seed: "http://a.example/item/0", Answer: crawltest.Pages(pages),
				Adjust: func(o *slave.Options) { o.Shows, o.Archive.Writer.Dir = s, archive }}
			site.Crawl(t, dir, func(o *master.Options) {
				o.Fetch.Browser, o.MaxPages = "auto", limit
				o.Hosts.Admission.Requisites = outlink.AllClasses
			})
			return site, s
		}
		if _, s := crawl(15); len(s.shown) == 0 {
			t.Error("the first slave has learnt nothing")
		}
		site, s := crawl(0)
		if len(s.shown) > 2 || site.Asked["/item/29"] != 1 || site.AskedBelow("/api/") < 15 {
			t.Errorf("the second slave shows %v, and asks for %v", s.shown, site.Asked)
		}
	})
}

// A rule that held for the pages that were shown, and names what others do not have, is dropped.
func TestARuleOfWhatIsNotThereIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]string{"/app.js": "Content-Type: text/javascript\n\nx()"}
		for i := range 60 {
			of := ""
			if i < 20 {
				of = fmt.Sprintf("http://a.example/api/%d.json", i)
				pages[fmt.Sprintf("/api/%d.json", i)] = "Content-Type: application/json\n\nwords"
			}
			pages[fmt.Sprintf("/item/%d", i)] = fmt.Sprintf(`<a href=/item/%d>next</a><div id=root></div>
				<script src=/app.js></script><p data-fetch="%s">`, i+1, of)
		}
		s := &shower{shown: map[string]int{}}
		site := &crawltest.Site{Seed: "http://a.example/item/0", Answer: crawltest.Pages(pages),
			Adjust: func(o *slave.Options) { o.Shows = s }}
		site.Crawl(t, t.TempDir(), func(o *master.Options) {
			o.Fetch.Browser = "auto"
			o.Hosts.Admission.Requisites = outlink.AllClasses
		})
		missed := 0
		for i := 20; i < 60; i++ {
			missed += site.Asked[fmt.Sprintf("/api/%d.json", i)]
		}
		if site.Asked["/api/19.json"] != 1 || missed == 0 || missed > 20 {
			t.Errorf("%d of 40 were asked for that are not there: %v", missed, site.Asked)
		}
	})
}

// A crawl that has all the pages it may have shows those that it has fetched before it ends, and fetches no more.
func TestALimitOfPagesLeavesNoPageAwaitingItsScripts(t *testing.T) {
	for _, limit := range []uint64{1, 4, 5} {
		synctest.Test(t, func(t *testing.T) {
			dir, s := t.TempDir(), &shower{shown: map[string]int{}}
			site := &crawltest.Site{Answer: crawltest.Pages(living), Adjust: func(o *slave.Options) { o.Shows = s }}
			status := site.Crawl(t, dir, func(o *master.Options) {
				o.Fetch.Browser, o.MaxPages = "all", limit
				o.Hosts.Admission.Requisites = outlink.AllClasses
			})
			rendered := uint64(0)
			_, pages := crawltest.StateIn(t, dir)
			for url, page := range pages {
				if page.Flags&store.Awaits != 0 {
					t.Errorf("limit %d: %s awaits its scripts", limit, url)
				}
				if page.Flags&store.Rendered != 0 {
					rendered++
				}
			}
			if rendered < limit || rendered > 2*limit || status.Totals.Pages != rendered {
				t.Errorf("limit %d: %d pages were shown, of %d", limit, rendered, status.Totals.Pages)
			}
		})
	}
}

// What is not to be archived is not shown either: it is asked for once, and its scripts are left alone.
func TestWhatIsNotArchivedIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shower{shown: map[string]int{}}
		site := &crawltest.Site{Adjust: func(o *slave.Options) { o.Shows = s }}
		site.Answer = crawltest.Pages(map[string]string{
			"/":         "<a href=/unwanted>u</a>",
			"/unwanted": "<meta name=robots content=noindex><div id=root></div><script src=/app.js></script>",
			"/app.js":   "Content-Type: text/javascript\n\nx()",
		})
		site.Crawl(t, t.TempDir(), func(o *master.Options) {
			o.Fetch.Browser, o.Fetch.Obey = "auto", []string{"noindex"}
			o.Hosts.Admission.Requisites = outlink.AllClasses
		})
		if n := site.Asked["/unwanted"]; n != 1 || len(s.shown) > 0 {
			t.Errorf("asked for %d times, shown %v", n, s.shown)
		}
	})
}

// Pages are shown while others still wait to be fetched: of a large site that is never fetched whole, what was fetched
// is whole. Once it is known what they ask for, a page waits for it, and most are so shown once.
func TestPagesAreShownBeforeAllAreFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, half = 400, 200
		site, s := map[string]string{}, &shower{shown: map[string]int{}}
		for i := range pages {
			site["/"] += fmt.Sprintf("<a href=/%d/>p</a>", i)
			page := fmt.Sprintf(`<img src=/%d.png><p data-fetch="http://a.example/%d.json">`, i, i)
			site[fmt.Sprintf("/%d/", i)] = page
			site[fmt.Sprintf("/%d.png", i)] = "Content-Type: image/png\n\npicture"
			site[fmt.Sprintf("/%d.json", i)] = "Content-Type: application/json\n\n{}"
		}
		answer := crawltest.Pages(site)
		fetched, shown := 0, 0
		web := &crawltest.Site{Adjust: func(o *slave.Options) { o.Shows = s }}
		web.Answer = func(path string) (int, string, string) {
			if fetched += strings.Count(path, "/") / 2; fetched == half && shown == 0 {
				s.mu.Lock()
				shown = len(s.shown)
				s.mu.Unlock()
			}
			return answer(path)
		}
		web.Crawl(t, t.TempDir(), func(o *master.Options) {
			o.Fetch.Browser = "all"
			o.Hosts.Admission.Requisites = outlink.AllClasses
		})
		if shown < half*3/4 || len(s.shown) != pages+1 {
			t.Errorf("%d pages were shown when %d were fetched, %d in the end", shown, half, len(s.shown))
		}
		turns := 0
		for _, n := range s.shown {
			turns += n
		}
		if turns > pages*5/4 {
			t.Errorf("%d pages were shown %d times", pages, turns)
		}
	})
}
