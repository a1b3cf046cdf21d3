package fakeweb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jimsmart/grobotstxt"
	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"henro/messages/outlink"
)

// full has something of everything that keeps a crawl finite.
func full() Options {
	return Options{
		Seed: 7, Hosts: 12, Domains: 3, Pages: 60, Pareto: 1.6, Degree: 8, CrossShare: 0.25, PageBytes: 3000,
		Errors:        Errors{NotFound: 0.05, Gone: 0.02, Internal: 0.03, Unavailable: 0.02, Throttled: 0.02},
		Changes:       Changes{Share: 0.6, Fastest: time.Minute, Slowest: 24 * time.Hour},
		Robots:        Robots{Missing: 0.2, Folders: 0.3, Closed: 0.1, Delayed: 0.1, Unavailable: 0.1, Redirected: 0.1},
		Validators:    Validators{ETag: 0.3, LastModified: 0.3, Both: 0.3},
		RedirectShare: 0.1, Japanese: 0.6, TrivialShare: 0.4, Traps: Traps{SoftNotFound: 0.3},
		Shape: func(h *Host) {
			if h.Index == 0 { // the seed of most tests must not shut its visitor out
				h.Robots, h.Pages = RobotsFolders, 80
			}
		},
	}
}

func newWeb(t testing.TB, o Options) *Web {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// client asks the web in memory, follows no redirects, and decodes nothing.
func client(t testing.TB, w *Web) *http.Client {
	tr := &http.Transport{DialContext: w.DialContext, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func get(t testing.TB, c *http.Client, url string) (*http.Response, []byte) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

func codec(c Charset) encoding.Encoding {
	return map[Charset]encoding.Encoding{Latin: unicode.UTF8, UTF8: unicode.UTF8, EUCJP: japanese.EUCJP,
		ShiftJIS: japanese.ShiftJIS}[c]
}

// resolve is a browser's way from an address in a page to a URL, as far as this web needs it: the path in UTF-8, the
// query in the encoding of the page.
func resolve(t testing.TB, base string, ref string, enc encoding.Encoding) string {
	t.Helper()
	ref, _, _ = strings.Cut(ref, "#")
	path, query, has := strings.Cut(ref, "?")
	escaped := string(escape(nil, []byte(path)))
	if has {
		raw, err := enc.NewEncoder().String(query)
		if err != nil {
			t.Fatal(err)
		}
		escaped += "?" + string(escape(nil, []byte(raw)))
	}
	b, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u, err := b.Parse(escaped)
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// extract reads the links of a page as an independent reader would.
func extract(t testing.TB, base string, page []byte, c Charset) map[Link]bool {
	t.Helper()
	enc := codec(c)
	text, err := enc.NewDecoder().Bytes(page)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsRune(text, '\ufffd') {
		t.Fatalf("%s: not in %v", base, c)
	}
	links := map[Link]bool{}
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return links
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			attr := map[string]string{}
			for _, a := range token.Attr {
				attr[a.Key] = a.Val
			}
			kind, ref := outlink.Unknown, attr["href"]
			switch token.Data {
			case "a":
				kind = outlink.Anchor
			case "area":
				kind = outlink.Area
			case "iframe":
				kind, ref = outlink.Iframe, attr["src"]
			case "img":
				kind, ref = outlink.Image, attr["src"]
			case "link":
				kind = outlink.Link
				if attr["rel"] == "stylesheet" {
					kind = outlink.Style
				}
			}
			if kind != outlink.Unknown {
				links[Link{resolve(t, base, ref, enc), kind}] = true
			}
		}
	}
}

func TestLinksOfAPageAreTheOnesItsTruthNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := full()
		o.Traps = Traps{Calendar: 0.5, Sessions: 0.5, SoftNotFound: 0.5}
		w := newWeb(t, o)
		c := client(t, w)
		pages, japaneseQueries := 0, 0
		for i := range w.Hosts() {
			h := w.Host(i)
			for n := range h.Pages {
				url := "http://" + h.Name + string(w.appendPlace(nil, &h, w.linked(&h, n)))
				res, body := get(t, c, url)
				truth, err := w.Page(url, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				if res.StatusCode != truth.Status {
					t.Fatalf("%s: status %d, truth %d", url, res.StatusCode, truth.Status)
				}
				if to := res.Header.Get("Location"); to != "" {
					if to = resolve(t, url, to, unicode.UTF8); to != truth.Location {
						t.Fatalf("%s leads to %s, truth %s", url, to, truth.Location)
					}
				}
				if res.StatusCode != 200 {
					continue
				}
				pages++
				want := map[Link]bool{}
				for _, l := range truth.Links {
					want[l] = true
					if strings.Contains(l.URL, "&k=") {
						japaneseQueries++
					}
				}
				if got := extract(t, url, body, h.Charset); !maps.Equal(got, want) {
					t.Fatalf("%s (%v)\n got %v\nwant %v\n%s", url, h.Charset, got, want, body)
				}
			}
		}
		if pages < 300 || japaneseQueries < 50 {
			t.Errorf("only %d pages and %d Japanese queries", pages, japaneseQueries)
		}
	})
}

// crawl is the plainest correct crawler there is; grobotstxt is its robots.txt parser.
func crawl(t testing.TB, w *Web, c *http.Client, o Crawl) map[string]int {
	t.Helper()
	rules := map[string]func(path string) bool{}
	allowed := func(raw string) bool {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if rules[u.Host] == nil {
			res, body := get(t, c, "http://"+u.Host+"/robots.txt")
			for res.StatusCode/100 == 3 {
				res, body = get(t, c, resolve(t, "http://"+u.Host+"/robots.txt", res.Header.Get("Location"),
					unicode.UTF8))
			}
			rules[u.Host] = func(path string) bool {
				return res.StatusCode/100 == 4 || res.StatusCode == 200 &&
					grobotstxt.AgentAllowed(string(body), "henro", "http://"+u.Host+path)
			}
		}
		return rules[u.Host](u.RequestURI())
	}
	fetched := map[string]int{}
	layer := o.Seeds
	for depth := 0; len(layer) > 0 && (o.Depth < 0 || depth <= o.Depth); depth++ {
		var next []string
		for ; len(layer) > 0; layer = layer[1:] {
			at := layer[0]
			_, name, _, _ := splitURL(at)
			_, seen := fetched[at]
			host := slices.ContainsFunc(o.Seeds, func(seed string) bool {
				_, n, _,
					_ := splitURL(seed)
				return n == name
			})
			if seen || o.Scope == SameHost && !host || !allowed(at) {
				continue
			}
			res, body := get(t, c, at)
			fetched[at] = depth
			h, _ := w.hostNamed(name)
			if to := res.Header.Get("Location"); to != "" {
				layer = append(slices.Clip(layer), resolve(t, at, to, unicode.UTF8))
			}
			if res.StatusCode == 200 {
				for l := range extract(t, at, body, h.Charset) {
					if l.Kind.Navigates() {
						next = append(next, l.URL)
					}
				}
			}
		}
		layer = next
	}
	return fetched
}

func TestReachableIsWhatACorrectCrawlFetches(t *testing.T) {
	for _, c := range []struct {
		name  string
		crawl func(w *Web) Crawl
	}{
		{"one host, without limit", func(w *Web) Crawl { return Crawl{Seeds: w.Seeds()[:1], Depth: -1} }},
		{"one host, two links deep", func(w *Web) Crawl { return Crawl{Seeds: w.Seeds()[:1], Depth: 2} }},
		{"all hosts from their roots, three deep", func(w *Web) Crawl { return Crawl{Seeds: w.Seeds(), Depth: 3} }},
		{"any host from one, without limit", func(w *Web) Crawl {
			return Crawl{Seeds: w.Seeds()[:1], Depth: -1,
				Scope: AnyHost}
		}},
		{"any host from one, two deep", func(w *Web) Crawl {
			return Crawl{Seeds: w.Seeds()[:1], Depth: 2,
				Scope: AnyHost}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t, full())
				o := c.crawl(w)
				truth, err := w.Reachable(o)
				if err != nil {
					t.Fatal(err)
				}
				got := crawl(t, w, client(t, w), o)
				if !maps.Equal(got, truth.Fetched) {
					t.Errorf("crawled %d URLs, truth %d; missing %v; too many %v", len(got), len(truth.Fetched),
						less(truth.Fetched, got), less(got, truth.Fetched))
				}
				if len(got) < 8 {
					t.Errorf("only %d URLs: no test at all", len(got))
				}
			})
		})
	}
}

func less(a, b map[string]int) []string {
	var list []string
	for url, depth := range a {
		if d, ok := b[url]; !ok || d != depth {
			list = append(list, fmt.Sprint(url, " ", depth))
		}
	}
	return list
}

func TestTrapsHaveNoEndButEveryDepthDoes(t *testing.T) {
	w := newWeb(t, Options{Hosts: 2, Pages: 5, Degree: 3, Traps: Traps{Calendar: 1, Sessions: 1}})
	last := 0
	for depth := range 8 {
		truth, err := w.Reachable(Crawl{Seeds: w.Seeds()[:1], Depth: depth})
		if err != nil {
			t.Fatal(err)
		}
		if len(truth.Fetched) <= last {
			t.Errorf("depth %d: %d URLs, no more than before", depth, len(truth.Fetched))
		}
		last = len(truth.Fetched)
	}
	if _, err := w.Reachable(Crawl{Seeds: w.Seeds()[:1], Depth: -1, Limit: 5000}); !errors.Is(err, ErrTooMany) {
		t.Errorf("without a depth: %v", err)
	}
}

func TestDepthAskedForIsTheDepthThereIs(t *testing.T) {
	for _, c := range []struct{ pages, depth int }{{1000, 3}, {500, 6}, {40, 39}, {2000, 1}, {5, 2}} {
		w := newWeb(t, Options{Hosts: 3, Pages: c.pages, Degree: 6, CrossShare: 0.3, Depth: c.depth})
		truth, err := w.Reachable(Crawl{Seeds: w.Seeds(), Depth: -1, Scope: AnyHost})
		if err != nil {
			t.Fatal(err)
		}
		deepest := slices.Max(slices.Collect(maps.Values(truth.Fetched)))
		if len(truth.Fetched) != 3*c.pages || deepest != c.depth {
			t.Errorf("%d pages at depth %d: %d URLs, deepest %d", c.pages, c.depth, len(truth.Fetched), deepest)
		}
	}
}

func TestSharesComeOutAsAskedFor(t *testing.T) {
	o := Options{
		Hosts: 4000, Pages: 40, Pareto: 2, Degree: 10, CrossShare: 0.3, RedirectShare: 0.1, Japanese: 0.5,
		TrivialShare: 0.2,
		Errors:       Errors{NotFound: 0.1, Timeout: 0.05}, Robots: Robots{Missing: 0.3, Closed: 0.1},
		Faults:     Faults{Silent: 0.1, Dead: 0.05},
		Validators: Validators{ETag: 0.25, Both: 0.25}, Latency: Latency{Mean: time.Second, Spread: 0.8},
	}
	w := newWeb(t, o)
	count := map[string]float64{}
	pages, links, latency := 0.0, 0.0, 0.0
	for i := range o.Hosts {
		h := w.Host(i)
		latency += h.Latency.Seconds()
		for name, is := range map[string]bool{
			"missing": h.Robots == RobotsMissing, "closed": h.Robots == RobotsClosed, "silent": h.State == Silent,
			"dead": h.State == Dead,
			"etag": h.Validator == ETag, "both": h.Validator == ETag|LastModified, "japanese": h.Charset != Latin,
			"trivial": h.Trivial,
		} {
			if is {
				count[name]++
			}
		}
		pages += float64(h.Pages)
		for n := range h.Pages {
			switch w.fate(&h, n) {
			case notFound:
				count["404"]++
			case timeout:
				count["timeout"]++
			}
			if w.redirected(&h, n) {
				count["redirect"]++
			}
			if i%10 == 0 && h.Pages > 1 {
				for _, e := range w.edges(nil, &h, place{kind: content, n: n}) {
					links++
					if e.host >= 0 {
						count["cross"]++
					}
				}
			}
		}
	}
	check := func(name string, got, want, within float64) {
		t.Helper()
		if got < want-within || got > want+within {
			t.Errorf("%s: %.4f, asked for %.4f", name, got, want)
		}
	}
	n := float64(o.Hosts)
	check("missing", count["missing"]/n, 0.3, 0.03)
	check("closed", count["closed"]/n, 0.1, 0.02)
	check("silent", count["silent"]/n, 0.1, 0.02)
	check("dead", count["dead"]/n, 0.05, 0.015)
	check("etag", count["etag"]/n, 0.25, 0.03)
	check("both", count["both"]/n, 0.25, 0.03)
	check("japanese", count["japanese"]/n, 0.5, 0.03)
	check("trivial", count["trivial"]/n, 0.2, 0.03)
	check("404", count["404"]/pages, 0.1, 0.01)
	check("timeout", count["timeout"]/pages, 0.05, 0.01)
	check("redirect", count["redirect"]/pages, 0.1, 0.01)
	check("cross links", count["cross"]/links, 0.3, 0.03)
	check("pages", pages/n, 40, 4)
	check("latency", latency/n, 1, 0.1)
}

func TestAWebOfABillionPagesCostsNothing(t *testing.T) {
	w := newWeb(t, Options{Hosts: 1e6, Domains: 1000, Pages: 1e6, Pareto: 1.5, CrossShare: 0.2,
		Changes: Changes{Share: 1}, Validators: Validators{Both: 1}})
	r := random(4)
	allocated := testing.AllocsPerRun(200, func() {
		i := r.below(1e6)
		h := w.Host(i)
		p, err := w.Page(w.PageURL(i, r.below(h.Pages), 0), epoch)
		if err != nil || p.Status != 200 || len(p.Links) < 3 {
			t.Fatal(p, err)
		}
	})
	if allocated > 100 {
		t.Errorf("%v allocations a page", allocated)
	}
}

func TestThesisWebIsAsTheThesisSays(t *testing.T) {
	w := newWeb(t, ThesisOptions(60))
	pages, links, broken, latency := 0.0, 0.0, 0.0, 0.0
	for i := 0; i < w.Hosts(); i += 10 {
		h := w.Host(i)
		latency += h.Latency.Seconds() / float64(w.Hosts()) * 10
		for n := range min(h.Pages, 50) {
			pages++
			links += float64(len(w.edges(nil, &h, place{kind: content, n: n})))
			if h.State != Answering || w.fate(&h, n) != well || w.redirected(&h, n) {
				broken++
			}
		}
	}
	if mean := links / pages; mean < 11 || mean > 15 {
		t.Errorf("%.2f links a page", mean)
	}
	if share := broken / pages; share < 0.035 || share > 0.07 {
		t.Errorf("%.3f of the pages broken or moved", share)
	}
	if latency < 0.1 || latency > 0.13 {
		t.Errorf("latency %.3f s at sixty times the speed, want 0.115", latency)
	}
}

func TestSameSeedSameBytesWhateverWasAskedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := []string{}
		sum := func(order func([]string)) (sums map[string]uint64) {
			w := newWeb(t, full())
			c := client(t, w)
			if len(urls) == 0 {
				truth, err := w.Reachable(Crawl{Seeds: w.Seeds(), Depth: 3, Scope: AnyHost})
				if err != nil {
					t.Fatal(err)
				}
				urls = slices.Sorted(maps.Keys(truth.Fetched))
			}
			order(urls)
			sums = map[string]uint64{}
			for _, url := range urls {
				_, body := get(t, c, url)
				sums[url] = crc64.Checksum(body, crc64.MakeTable(crc64.ECMA))
			}
			return sums
		}
		a, b := sum(func([]string) {}), sum(slices.Reverse)
		if !maps.Equal(a, b) {
			t.Error("two webs of one seed differ")
		}
		// Across processes, machines and versions of henro: this number changes only when the web is changed on
		// purpose.
		const golden = 0xfd76bdd1c6c227da
		all := crc64.New(crc64.MakeTable(crc64.ECMA))
		for _, url := range slices.Sorted(maps.Keys(a)) {
			fmt.Fprintln(all, url, a[url])
		}
		if all.Sum64() != golden {
			t.Errorf("the web of seed 7 has become another one: %#x", all.Sum64())
		}
	})
}

func TestHostsOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Hosts: 5, Shape: func(h *Host) { h.State = State(h.Index) }})
		c := client(t, w)
		c.Timeout = time.Minute
		for i, want := range []func(error) bool{
			func(err error) bool { return err == nil },
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
			func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
			func(err error) bool { var dns *net.DNSError; return errors.As(err, &dns) && dns.IsNotFound },
		} {
			began := time.Now()
			res, err := c.Get(w.Seeds()[i])
			if !want(err) {
				t.Errorf("state %d: %v", i, err)
			}
			if took := time.Since(began); errors.Is(err, context.DeadlineExceeded) != (took == time.Minute) {
				t.Errorf("state %d took %v", i, took)
			}
			if err == nil {
				res.Body.Close()
			}
		}
		synctest.Wait()
		log := w.Log()
		if len(log) != 2 || !log[1].Aborted || log[1].End.Sub(log[1].Start) != time.Minute {
			t.Errorf("log: %+v", log)
		}
	})
}

func TestPagesThatBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Hosts: 3, Pages: 2, Shape: func(h *Host) {
			h.Errors = [...]Errors{{Timeout: 0.5}, {Reset: 0.5}, {Cut: 0.5}}[h.Index]
		}})
		c := client(t, w)
		c.Timeout = time.Minute
		for i, want := range []error{context.DeadlineExceeded, syscall.ECONNRESET, io.ErrUnexpectedEOF} {
			res, err := c.Get(w.PageURL(i, 1, 0))
			if err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if !errors.Is(err, want) {
				t.Errorf("page of host %d: %v, want %v", i, err, want)
			}
		}
	})
}

func TestLatencyIsKeptInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Pages: 50, Latency: Latency{Mean: 200 * time.Millisecond}})
		c := client(t, w)
		began := time.Now()
		for n := range 50 {
			get(t, c, w.PageURL(0, n, 0))
		}
		if took := time.Since(began); took != 50*200*time.Millisecond {
			t.Errorf("50 pages at 200 ms took %v", took)
		}
		pace, _ := Shortest(w.Log())
		if pace.Shortest != 200*time.Millisecond || pace.Requests != 50 {
			t.Errorf("pace %+v", pace)
		}
	})
}

func TestConditionalRequestsAreAnswered304UntilTheTextChanges(t *testing.T) {
	for name, validator := range map[string]Validator{"etag": ETag, "last-modified": LastModified,
		"both": ETag | LastModified} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWeb(t, Options{Changes: Changes{Share: 1, Fastest: time.Hour, Slowest: time.Hour}, Degree: 100,
					Life:  Life{Growth: 8},
					Shape: func(h *Host) { h.Validator = validator }})
				c, url := client(t, w), w.Seeds()[0]
				var tag, modified string
				var before []byte
				last := time.Time{}
				for range 300 {
					req, _ := http.NewRequest("GET", url, nil)
					if tag != "" {
						req.Header.Set("If-None-Match", tag)
					}
					if modified != "" {
						req.Header.Set("If-Modified-Since", modified)
					}
					res, err := c.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					body, _ := io.ReadAll(res.Body)
					res.Body.Close()
					changes, err := w.ChangeCount(url, last, time.Now())
					if err != nil {
						t.Fatal(err)
					}
					if !last.IsZero() && (res.StatusCode == 304) != (changes == 0) {
						t.Fatalf("%d after %d changes", res.StatusCode, changes)
					}
					if res.StatusCode == 200 && bytes.Equal(body, before) {
						t.Fatal("a change that changes nothing")
					}
					if res.StatusCode == 200 {
						before = body
					}
					tag, modified, last = res.Header.Get("ETag"), res.Header.Get("Last-Modified"), time.Now()
					time.Sleep(20 * time.Minute)
				}
			})
		})
	}
}

func TestHandlerAnswersLikeTheSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, full())
		c := client(t, w)
		for i := range w.Hosts() {
			for n := range 5 {
				url := w.PageURL(i, n%w.Host(i).Pages, 0)
				res, body := get(t, c, url)
				rec := httptest.NewRecorder()
				w.ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
				if rec.Code != res.StatusCode || !bytes.Equal(rec.Body.Bytes(), body) ||
					rec.Header().Get("ETag") != res.Header.Get("ETag") {
					t.Errorf("%s: %d and %d", url, rec.Code, res.StatusCode)
				}
			}
		}
	})
}

func TestListenServesEveryNameOverSockets(t *testing.T) {
	o := full()
	o.Faults = Faults{Dead: 0.3}
	w := newWeb(t, o)
	l, err := w.Listen(t.Context(), ListenOptions{Addresses: 3})
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: l.DialContext}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	dead := 0
	for i, seed := range l.Seeds() {
		res, err := c.Get(seed)
		if w.Host(i).State == Dead {
			dead++
			if err == nil {
				t.Errorf("%s is dead and answers %d", seed, res.StatusCode)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || !bytes.Contains(page, []byte("</html>")) {
			t.Errorf("%s: %d", seed, res.StatusCode)
		}
	}
	if dead == 0 || len(l.Resolve()) != w.Hosts() {
		t.Errorf("%d dead, resolve: %v", dead, l.Resolve())
	}
	if want := fmt.Sprintf("host0001.fakeweb01.test:%d:127.0.0.2", l.Port); l.Resolve()[1] != want {
		t.Errorf("%s, want %s", l.Resolve()[1], want)
	}
	proxied := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: fmt.Sprint("127.0.0.1:", l.Port)})}
	defer proxied.CloseIdleConnections()
	for i := range w.Hosts() {
		if url := w.PageURL(i, 1, 0); w.Host(i).State == Answering && w.Host(i).Pages > 1 {
			res, err := (&http.Client{Transport: proxied}).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != 200 {
				t.Errorf("%s through the proxy: %d", url, res.StatusCode)
			}
			break
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestSecureHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Pages: 30})
		tr := &http.Transport{DialContext: w.DialContext, TLSClientConfig: insecure()}
		defer tr.CloseIdleConnections()
		res, body := get(t, &http.Client{Transport: tr}, "https://"+w.Host(0).Name+"/")
		if res.StatusCode != 200 {
			t.Error(res.StatusCode)
		}
		truth, err := w.Page("https://"+w.Host(0).Name+"/", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := extract(t, truth.URL, body, Latin); len(got) != len(truth.Links) || !got[truth.Links[0]] {
			t.Errorf("got %v, want %v", got, truth.Links)
		}
		if log := w.Log(); len(log) != 1 || !log[0].Secure || log[0].URL() != truth.URL {
			t.Errorf("%+v", log)
		}
	})
}

func TestOptionsThatContradictThemselves(t *testing.T) {
	for name, o := range map[string]Options{
		"more domains than hosts": {Hosts: 2, Domains: 3},
		"no mean":                 {Pareto: 0.9},
		"shares above one":        {Robots: Robots{Missing: 0.6, Closed: 0.6}},
		"negative share":          {Faults: Faults{Dead: -0.1}},
		"changes too fast":        {Changes: Changes{Fastest: time.Millisecond}},
	} {
		if _, err := New(o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Options{Hosts: 2, Latency: Latency{Mean: time.Hour},
			Shape: func(h *Host) { h.State = State(h.Index) }})
		c := client(t, w)
		for _, seed := range w.Seeds() {
			go c.Get(seed)
		}
		time.Sleep(time.Minute)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := w.Log()
		if len(log) != 2 || !log[0].Aborted || !log[1].Aborted {
			t.Errorf("%+v", log)
		}
		if _, err := w.DialContext(t.Context(), "tcp", "host0000.fakeweb.test:80"); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
