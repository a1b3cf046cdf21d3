package embedded_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"henro/actors/admission"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/messages/outlink"
)

// wholeSite is a site of two pages with what browsers load of them, on two more hosts.
var wholeSite = map[string]string{
	"/": `<link rel=stylesheet href=/a.css><script src=//c.example/a.js></script><img src=a.png>
		<img src=http://b.example/b.png><iframe src=http://b.example/frame></iframe><img src=/private/x.png>
		<img src=/moved.png><a href=/page>p</a><a href=http://b.example/page>out of scope</a>
		<video src=/a.mp4></video><img src=/missing.png>`,
	"/page":      `<img src=/a.png><img src=/last.png><a href=/deep>too deep</a>`,
	"/a.css":     "Content-Type: text/css\n\n@import 'b.css'; body { background: url(bg.png) }",
	"/b.css":     "Content-Type: text/css\n\n@font-face { font-family: x; src: url(//c.example/x.woff) }",
	"/moved.png": "", // a redirect
	"/a.png":     "Content-Type: image/png\n\nx", "/bg.png": "Content-Type: image/png\n\nx",
	"/last.png": "Content-Type: image/png\n\nx", "/a.mp4": "Content-Type: video/mp4\n\nx",
	"/private/x.png": "Content-Type: image/png\n\nx", "http://c.example/to.png": "Content-Type: image/png\n\nx",
	"http://b.example/b.png":      "Content-Type: image/png\n\nx",
	"http://b.example/no/way.png": "Content-Type: image/png\n\nx",
	"http://b.example/frame": `<img src=/in-frame.png><a href=/behind>not followed</a><img src=/no/way.png>
		<img src=/skip.png>`,
	"http://b.example/in-frame.png": "Content-Type: image/png\n\nx",
	"http://b.example/robots.txt":   "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /no/",
	"http://c.example/a.js":         "Content-Type: text/javascript\n\nimport '/b.js'",
	"http://c.example/b.js":         "Content-Type: text/javascript\n\n1",
	"http://c.example/x.woff":       "Content-Type: font/woff\n\nx",
}

func answerWhole(path string) (int, string, string) {
	switch path {
	case "/moved.png":
		return 302, "Location: http://c.example/to.png\r\n", ""
	case "/missing.png": // an error page has pictures of its own, which nobody sees in the place of an image
		return 404, "", `<img src=/error.png>`
	}
	return crawltest.Pages(wholeSite)(path)
}

func TestAPageIsFetchedWithWhatItIsMadeOf(t *testing.T) {
	const (
		page   = "/page"
		local  = "/a.css /a.mp4 /a.png /b.css /bg.png /last.png /missing.png /moved.png"
		b      = "http://b.example/b.png http://b.example/frame http://b.example/in-frame.png"
		c      = "http://c.example/a.js http://c.example/b.js http://c.example/to.png http://c.example/x.woff"
		robots = "http://b.example/robots.txt http://c.example/robots.txt"
	)
	for _, tt := range []struct{ requisites, asked string }{
		{"off", page},
		{"all", page + " " + local + " " + b + " " + c + " " + robots},
		{"all,-media", page + " " + strings.Replace(local, "/a.mp4 ", "", 1) + " " + b + " " + c + " " + robots},
		{"image", "/page /a.png /last.png /missing.png /moved.png http://b.example/b.png http://c.example/to.png " +
			robots},
	} {
		for _, follow := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.requisites, " follow ", follow), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dir := t.TempDir()
					s := &crawltest.Site{Answer: answerWhole, Seed: "http://a.example/ depth=1"}
					status := s.Crawl(t, dir, func(o *master.Options) {
						o.Hosts.Follow = follow
						o.Scope.Exclude = []string{"/private/", "skip"}
						var err error
						if o.Hosts.Admission.Requisites, err = outlink.ParseClasses(tt.requisites); err != nil {
							t.Fatal(err)
						}
					})
					asked := s.AskedOnce(t)
					want := strings.Fields(tt.asked)
					slices.Sort(want)
					if !slices.Equal(asked, want) {
						t.Errorf("asked for %q, want %q", asked, want)
					}
					if status.End != master.Finished {
						t.Errorf("ended with %s", status.End)
					}
					if tt.requisites == "all" && status.Totals.Skipped[admission.Robots] != 1 {
						t.Errorf("skipped: %v", status.Totals.Skipped)
					}
					was := crawltest.Visited(t, dir)
					for url := range maps.Keys(s.Asked) {
						if strings.HasPrefix(url, "/") {
							url = "http://a.example" + url
						}
						if _, ok := was[url]; !ok && !strings.HasSuffix(url, "/robots.txt") {
							t.Errorf("%s is not in the state", url)
						}
					}
				})
			})
		}
	}
}

// What a page is made of may lie outside the scope: the scope is then no reason why it is not visited.
func TestWhyOfARequisiteDoesNotNameTheScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: answerWhole, Seed: "http://a.example/ depth=1"}
		s.Crawl(t, dir, func(o *master.Options) { o.Hosts.Admission.Requisites = outlink.AllClasses })
		crawl := crawltest.Open(t, dir)
		defer crawl.Close()
		for url, says := range map[string]string{
			"http://b.example/b.png":      "visited 2",
			"http://b.example/no/way.png": "not visited: robots",
			"http://b.example/page":       "not visited: scope",
		} {
			why, err := crawl.Why(t.Context(), url)
			if err != nil || !strings.HasPrefix(why.Answer, says) {
				t.Errorf("%s: %+v, %v; want %q", url, why, err, says)
			}
		}
	})
}

// whole lets a crawl fetch what pages are made of.
func whole(o *master.Options, follow bool) {
	o.Hosts.Admission.Requisites, o.Hosts.Follow = outlink.AllClasses, follow
}

// roles are the roles of the URLs of a state that were visited.
func roles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, row := range crawltest.Answers(t, dir, "SELECT url, role FROM pages WHERE last_visit IS NOT NULL") {
		all[row[0]] = row[1]
	}
	return all
}

// A frame that belongs to the crawl is a page, and what it redirects to is shown in the frame, wherever it lies.
func TestAFrameThatMovesOutOfTheScopeIsFetched(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			s := &crawltest.Site{Seed: "http://a.example/ depth=1", Answer: func(path string) (int, string, string) {
				switch path {
				case "/frame":
					return 302, "Location: /again\r\n", ""
				case "/again":
					return 302, "Location: http://b.example/shown\r\n", ""
				case "/linked":
					return 302, "Location: http://b.example/not\r\n", ""
				}
				return crawltest.Pages(map[string]string{"/": "<iframe src=/frame></iframe><a href=/linked>l</a>",
					"http://b.example/shown": "<img src=/in-frame.png><a href=/not>not followed</a>"})(path)
			}}
			s.Crawl(t, dir, func(o *master.Options) { whole(o, follow) })
			for _, url := range []string{"/again", "http://b.example/shown", "http://b.example/in-frame.png"} {
				if s.Asked[url] != 1 {
					t.Errorf("follow %v: %s was asked for %d times", follow, url, s.Asked[url])
				}
			}
			if s.Asked["http://b.example/not"] != 0 {
				t.Error("a page out of scope was asked for")
			}
			was := roles(t, dir)
			if was["http://a.example/frame"] != "page" || was["http://a.example/again"] != "page" ||
				was["http://b.example/shown"] != "requisite" {
				t.Errorf("roles %q", was)
			}
		})
	}
}

// What a page shows and links to is a page, whichever is found first, also at the last depth.
func TestWhatIsLinkedToIsAPageWhoeverShowsIt(t *testing.T) {
	for name, root := range map[string]string{
		"requisite first": "<img src=/both><a href=/both>b</a>", "link first": "<a href=/both>b</a><img src=/both>",
		"on another page": "<img src=/both><a href=/page>p</a>",
		"shown later":     "<a href=/page>p</a><a href=/both>b</a>",
	} {
		for _, last := range []bool{false, true} {
			for _, follow := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " last ", last, " follow ", follow), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						seed, behind := "http://a.example/", 1
						if last { // of what is linked to at the last depth no link is followed
							seed, behind = seed+" depth=1", 0
						}
						files := map[string]string{"/": root, "/page": "<img src=/both><a href=/both>b</a>",
							"/both": "<a href=/behind>followed</a><img src=/shown.png>", "/behind": "x",
							"/shown.png": "x"}
						if last && name == "on another page" { // which is the last to link to it
							seed = "http://a.example/ depth=2"
						}
						dir := t.TempDir()
						s := &crawltest.Site{Answer: crawltest.Pages(files), Seed: seed}
						status := s.Crawl(t, dir, func(o *master.Options) { whole(o, follow) })
						was := roles(t, dir)
						if was["http://a.example/both"] != "page" || s.Asked["/both"] != 1 ||
							s.Asked["/behind"] != behind ||
							s.Asked["/shown.png"] != 1 {
							t.Errorf("roles %q, asked %v", was, s.Asked)
						}
						if n := status.Totals.Pages + status.Totals.Requisites; int(n) != len(was) {
							t.Errorf("%d were counted, %d are there", n, len(was))
						}
					})
				})
			}
		}
	}
}

// A crawl that ends after so many pages has what these are made of, on every host, and goes on where it ended.
func TestTheLastPagesAreWhole(t *testing.T) {
	files := map[string]string{"/": crawltest.LinksTo(20, "/p") + "<link rel=stylesheet href=http://b.example/a.css>",
		"http://b.example/a.css":  "Content-Type: text/css\n\n@font-face { src: url(http://c.example/a.woff) }",
		"http://c.example/a.woff": "Content-Type: font/woff\n\nx"}
	for i := range 20 {
		files[fmt.Sprint("/p", i)] = fmt.Sprintf("<img src=/%d.png><img src=http://b.example/%d.png>"+
			"<img src=http://d.example/%d.png><a href=/q%d>q</a>", i, i, i, i)
		files[fmt.Sprint("/q", i)] = "q"
		for _, host := range []string{"", "http://b.example", "http://d.example"} {
			files[fmt.Sprintf("%s/%d.png", host, i)] = "Content-Type: image/png\n\nx"
		}
	}
	for _, follow := range []bool{false, true} {
		for _, budget := range []int{1, 2, 1000} { // visits of a lease
			t.Run(fmt.Sprint("follow ", follow, " budget ", budget), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dir := t.TempDir()
					s := &crawltest.Site{Answer: crawltest.Pages(files)}
					crawl := func(pages uint64) master.Status {
						return s.Crawl(t, dir, func(o *master.Options) {
							whole(o, follow)
							o.MaxPages, o.Hosts.PageBudget = pages, budget
						})
					}
					status := crawl(5)
					if status.Totals.Pages != 5 || status.End != master.PageLimit {
						t.Errorf("%d pages, ended with %s", status.Totals.Pages, status.End)
					}
					all := crawltest.Whole(t, dir)
					if all.Pages != 5 || all.Whole != 5 {
						t.Errorf("%+v", all)
					}
					status = crawl(0)
					if status.Totals.Pages != 41 || status.Totals.Requisites != 62 || status.End != master.Finished {
						t.Errorf("resumed: %d pages, %d requisites, ended with %s", status.Totals.Pages,
							status.Totals.Requisites, status.End)
					}
				})
			})
		}
	}
}

func TestHostPagesCountsPages(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"/": crawltest.LinksTo(9, "/p")}
			for i := range 9 {
				files[fmt.Sprint("/p", i)] = fmt.Sprintf(
					"<img src=/%d/a.png><img src=/%d/b.png><img src=/shared.png>", i, i)
			}
			s := &crawltest.Site{Answer: crawltest.Pages(files)}
			status := s.Crawl(t, dir, func(o *master.Options) {
				whole(o, follow)
				o.Hosts.MaxPages = 4
			})
			if status.Totals.Pages != 4 || status.Totals.Requisites != 7 || status.End != master.Finished {
				t.Errorf("follow %v: %+v, %s", follow, status.Totals, status.End)
			}
			if all := crawltest.Whole(t, dir); all.Whole != 4 {
				t.Errorf("follow %v: %+v", follow, all)
			}
		})
	}
}

// A page whose images are gone is a page, and nothing speaks against their folder.
func TestDeadImagesStopNoFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		root := ""
		for i := range 30 {
			root += fmt.Sprintf("<img src=/img/%d.png>", i)
		}
		s := &crawltest.Site{Answer: crawltest.Pages(map[string]string{"/": root})}
		status := s.Crawl(t, dir, func(o *master.Options) {
			whole(o, true)
			o.Hosts.Stop.MinBroken = 10
		})
		if n := s.AskedBelow("/img/"); n != 30 {
			t.Errorf("%d images were asked for", n)
		}
		if stops := crawltest.StopList(t, dir); len(stops) > 0 || status.Totals.Broken != 0 ||
			status.Totals.Tried != 1 {
			t.Errorf("stop list %q, %d of %d broken", stops, status.Totals.Broken, status.Totals.Tried)
		}
	})
}
