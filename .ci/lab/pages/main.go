// Command pages crawls pages drawn from documentation packages with all they are made of, and lets Chromium judge: what
// each page asks for when it is loaded is compared with the archive, and the page with its captures in henro replay and
// in ReplayWeb.page, to which no name but theirs resolves.
//
//	pages -dir DIR -henro PROGRAM -viewer FOLDER [-pages 200] [-seed 1] HOST=FOLDER…
//
// It prints a line a check, the five worst pages of each replay, and writes a report with pictures of both into DIR.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"henro/cmd/qa"
	"henro/cmd/replay"
	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

func main() {
	l := lab{}
	flag.StringVar(&l.dir, "dir", "", "for what is written")
	flag.StringVar(&l.henro, "henro", "", "the program")
	flag.StringVar(&l.viewer, "viewer", "", "the npm package replaywebpage")
	flag.IntVar(&l.options.Pages, "pages", 200, "how many pages are drawn")
	flag.Uint64Var(&l.options.Seed, "seed", 1, "of the draw")
	flag.IntVar(&l.port, "port", 8380, "of the sites, each at an address of its own")
	flag.Parse()
	if err := l.run(context.Background(), flag.Args()); err != nil {
		fmt.Println("FAIL ", err)
		os.Exit(1)
	}
}

// reader is the name of the replay that is not ours.
const reader = "ReplayWeb.page"

type lab struct {
	dir, henro, viewer string
	port               int
	options            qa.Options
	resolve            []string
	failed             bool
}

func (l *lab) say(ok bool, format string, values ...any) {
	word := "ok   "
	if !ok {
		word, l.failed = "FAIL ", true
	}
	fmt.Println(word, fmt.Sprintf(format, values...))
}

func (l *lab) run(ctx context.Context, sites []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := qa.DefaultOptions()
	o.Pages, o.Seed = l.options.Pages, l.options.Seed
	l.options = o
	seeds, err := l.serve(sites)
	if err != nil {
		return err
	}
	crawl := filepath.Join(l.dir, "crawl")
	if err := l.crawl(ctx, crawl, seeds); err != nil {
		return err
	}
	archive, err := captures.Open(filepath.Join(crawl, "warc"), func(string) {})
	if err != nil {
		return err
	}
	defer archive.Close()
	drawn, err := qa.Draw(archive, o)
	if err != nil {
		return err
	}
	drawn = slices.DeleteFunc(drawn, func(e cdxj.Entry) bool { return !slices.Contains(seeds, e.URL) })
	l.say(len(drawn) == len(seeds), "%d of %d pages archived", len(drawn), len(seeds))

	live, err := l.see(ctx, archive, drawn)
	if err != nil {
		return err
	}
	gone, came, err := sink()
	if err != nil {
		return err
	}
	path, err := qa.FindBrowser()
	if err != nil {
		return err
	}
	b, err := qa.Start(ctx, path, fmt.Sprintf("MAP * %s, EXCLUDE 127.0.0.1, EXCLUDE *.localhost", gone))
	if err != nil {
		return err
	}
	defer b.Close()
	ours, err := ours(ctx, archive)
	if err != nil {
		return err
	}
	theirs, err := l.theirs(ctx, crawl)
	if err != nil {
		return err
	}
	for _, shown := range []struct {
		name string
		qa.Shown
	}{{"henro replay", ours}, {reader, theirs}} {
		if err := l.judge(ctx, b, archive, shown.name, shown.Shown, drawn, live); err != nil {
			return err
		}
		l.say(len(came()) == 0, "%s: nothing was asked of other machines %v", shown.name, came())
	}
	if len(seeds) < 200 { // the sites of a short run name no other hosts, to which this browser would go
		l.qa(ctx, crawl)
	}
	if l.failed {
		return errors.New("see above")
	}
	return nil
}

// qa lets the program itself compare a few pages.
func (l *lab) qa(ctx context.Context, crawl string) {
	arguments := []string{"qa", "--pages", "3"}
	for _, entry := range l.resolve {
		arguments = append(arguments, "--resolve", entry)
	}
	out, err := exec.CommandContext(ctx, l.henro, append(arguments, crawl)...).CombinedOutput()
	_, missing := os.Stat(filepath.Join(crawl, "qa", "index.html"))
	l.say(err == nil && missing == nil && strings.Contains(string(out), "3 of 3 pages compared"), "henro qa: %s", out)
}

// serve serves each site at an address of its own and draws pages, as many from each.
func (l *lab) serve(sites []string) (seeds []string, err error) {
	for extension, t := range map[string]string{".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf",
		".svg": "image/svg+xml", ".js": "text/javascript", ".css": "text/css", ".html": "text/html",
		".htm": "text/html"} {
		if err := mime.AddExtensionType(extension, t); err != nil { // else they differ from machine to machine
			return nil, err
		}
	}
	random := rand.New(rand.NewPCG(l.options.Seed, 0))
	for i, site := range sites {
		host, folder, ok := strings.Cut(site, "=")
		if !ok {
			return nil, fmt.Errorf("%q: want HOST=FOLDER", site)
		}
		address := fmt.Sprintf("127.0.0.%d", 41+i)
		listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, l.port))
		if err != nil {
			return nil, err
		}
		server := &http.Server{Handler: http.FileServer(http.Dir(folder)), ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }() // until the process ends
		l.resolve = append(l.resolve, fmt.Sprintf("%s:%d:%s", host, l.port, address))
		var pages []string
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if name := filepath.Base(path); err == nil && d.Type().IsRegular() && name != "index.html" &&
				(strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm")) {
				relative, _ := filepath.Rel(folder, path) // it is below
				text, err := os.ReadFile(path)
				if err == nil && !leads.Match(text) {
					pages = append(pages, relative)
				}
				return err
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		many := (l.options.Pages*(i+1))/len(sites) - len(seeds)
		random.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
		for _, page := range pages[:min(many, len(pages))] {
			u := url.URL{Scheme: "http", Host: fmt.Sprintf("%s:%d", host, l.port), Path: "/" + filepath.ToSlash(page)}
			canonical, err := weburl.Parse(u.String())
			if err != nil {
				return nil, err
			}
			seeds = append(seeds, canonical.String())
		}
	}
	l.options.Pages *= 10 // frames are pages too; those that were not drawn by lot are left out later
	return seeds, nil
}

// leads matches pages that lead to another at once: that one would be compared.
var leads = regexp.MustCompile(`(?i)<meta[^>]*http-equiv=["']?refresh`)

func (l *lab) crawl(ctx context.Context, dir string, seeds []string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	list := filepath.Join(l.dir, "seeds.txt")
	if err := os.WriteFile(list, []byte(strings.Join(seeds, "\n")+"\n"), 0o666); err != nil {
		return err
	}
	arguments := []string{"crawl", "--dir", dir, "--seeds", list, "--depth", "0", "--allow-private", "--delay", "0",
		"--listen-http", "off", "--dns", "127.0.0.1:9", "--progress", "off", "--log-level", "warn"}
	for _, entry := range l.resolve {
		arguments = append(arguments, "--resolve", entry)
	}
	start := time.Now()
	out, err := exec.CommandContext(ctx, l.henro, arguments...).CombinedOutput() // no name but theirs resolves
	fmt.Printf("      crawl of %d pages: %.1f s\n%s", len(seeds), time.Since(start).Seconds(), out)
	return err
}

// still keeps the timers and handlers of a page from running: what it then asks for, loading asks for.
const still = `for (const name of ["setTimeout", "setInterval", "requestAnimationFrame", "requestIdleCallback"])
	self[name] = () => 0;
EventTarget.prototype.addEventListener = () => {};
for (const on of [window, Document.prototype, HTMLElement.prototype])
	for (const name of Object.getOwnPropertyNames(on).filter((name) => name.startsWith("on")))
		Object.defineProperty(on, name, { set() {}, get: () => null });`

// see opens all pages live.
func (l *lab) see(ctx context.Context, archive *captures.Archive, drawn []cdxj.Entry) (map[string]*qa.Sight, error) {
	rules, err := qa.ResolverRules(l.resolve)
	if err != nil {
		return nil, err
	}
	path, err := qa.FindBrowser()
	if err != nil {
		return nil, err
	}
	b, err := qa.Start(ctx, path, rules+",MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
	if err != nil {
		return nil, err
	}
	defer b.Close()
	live := map[string]*qa.Sight{}
	requests := 0
	missing, nobody, late := map[string]int{}, map[string]int{}, map[string]int{} // URLs, and how often
	for _, e := range drawn {
		s, err := b.Look(ctx, qa.View{Address: e.URL, Width: l.options.Width, Height: l.options.Height,
			Limit: l.options.Limit})
		if err != nil {
			return nil, err
		}
		live[e.URL] = s
		p, err := qa.Judge(archive, qa.Shown{Asked: func(string) (weburl.URL, replay.Asked) {
			return weburl.URL{}, replay.Ours
		}}, e, s, s)
		if err != nil {
			return nil, err
		}
		requests += p.Live
		if len(p.Missing) > 0 {
			if s, err = b.Look(ctx, qa.View{Address: e.URL, Width: l.options.Width, Height: l.options.Height,
				Limit: l.options.Limit, First: still}); err != nil {
				return nil, err
			}
		}
		for _, lack := range p.Missing {
			to := missing
			switch {
			case !slices.ContainsFunc(s.Requests, func(r qa.Request) bool { return r.URL == lack.URL }):
				to = late
			case strings.HasSuffix(lack.Reason, "net::ERR_NAME_NOT_RESOLVED"): // a host outside of the lab
				to = nobody
			}
			to[lack.URL]++
		}
	}
	sum := func(of map[string]int) (n int) {
		for _, times := range of {
			n += times
		}
		return n
	}
	requests -= sum(late) + sum(nobody)
	l.say(100*sum(missing) <= requests, "%d of the %d requests that loading makes in Chromium are in the archive",
		requests-sum(missing), requests)
	listed, err := l.listed(ctx)
	if err != nil {
		return nil, err
	}
	unlisted := slices.DeleteFunc(slices.AppendSeq(slices.Collect(maps.Keys(missing)), maps.Keys(nobody)),
		func(lack string) bool { return strings.Contains(listed, " "+lack) })
	l.say(len(unlisted) == 0, "henro missing lists the others, but for %d", len(unlisted))
	for _, lines := range []struct {
		what string
		list map[string]int
	}{{"not in the archive", missing}, {"asked of hosts that are not there", nobody},
		{"made by timers or handlers, not in the archive", late}} {
		fmt.Printf("       %d %s\n", sum(lines.list), lines.what)
		for _, line := range slices.Sorted(maps.Keys(lines.list)) {
			fmt.Printf("         %3d × %s\n", lines.list[line], line)
		}
	}
	return live, nil
}

// listed is what henro missing says of the crawl.
func (l *lab) listed(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, l.henro, "missing", filepath.Join(l.dir, "crawl")).Output()
	return string(out), err
}

// sink is a server that every name leads to, and what came there.
func sink() (address string, came func() []string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var mu sync.Mutex
	var names []string
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			if name := strings.TrimSuffix(r.Host, ".com"); strings.HasSuffix(name, ".google") ||
				strings.HasSuffix(name, ".googleapis") || strings.HasSuffix(name, ".gvt1") {
				return // the browser's own errands
			}
			mu.Lock()
			defer mu.Unlock()
			names = append(names, r.Host+r.URL.Path)
		})}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(names)
	}, nil
}

func ours(ctx context.Context, archive *captures.Archive) (qa.Shown, error) {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	content, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	at := replay.Listeners{Own: own, Content: []net.Listener{content}}
	log := logrus.New()
	go func() { _ = replay.NewServer(archive, replay.Options{}, logrus.NewEntry(log)).Serve(ctx, at) }()
	return qa.Shown{Address: at.Address, Asked: at.Asked}, nil
}

// theirs packs the crawl and shows it with ReplayWeb.page.
func (l *lab) theirs(ctx context.Context, crawl string) (qa.Shown, error) {
	packed := filepath.Join(l.dir, "crawl.wacz")
	if out, err := exec.CommandContext(ctx, l.henro, "wacz", crawl, packed).CombinedOutput(); err != nil {
		return qa.Shown{}, fmt.Errorf("henro wacz: %w: %s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	origin := "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	for path, file := range map[string]string{"/ui.js": "ui.js", "/replay/ui.js": "ui.js", "/replay/sw.js": "sw.js"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFile(w, r, filepath.Join(l.viewer, file))
		})
	}
	mux.HandleFunc("/a.wacz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, packed) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><style>body{margin:0}</style><script src="/ui.js"></script>`+
			`<replay-web-page style="height:100vh" embed="replayonly" source="/a.wacz" url="`+
			r.FormValue("url")+`" ts="`+
			r.FormValue("ts")+`"></replay-web-page>`)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return qa.Shown{
		Address: func(e cdxj.Entry) string {
			return origin + "/?ts=" + cdxj.Stamp(e.At) + "&url=" + url.QueryEscape(e.URL)
		},
		Asked: func(address string) (weburl.URL, replay.Asked) {
			if !strings.HasPrefix(address, origin+"/") {
				return weburl.URL{}, replay.Foreign
			}
			_, raw, ok := strings.Cut(address, "_/")
			u, err := weburl.Parse(raw)
			if !ok || err != nil || !strings.Contains(address, "/w/") {
				return weburl.URL{}, replay.Ours
			}
			return u, replay.Captured
		},
	}, nil
}

// judge compares all pages with what a replay makes of them.
func (l *lab) judge(ctx context.Context, b *qa.Browser, archive *captures.Archive, name string, shown qa.Shown,
	drawn []cdxj.Entry, live map[string]*qa.Sight) error {
	report := filepath.Join(l.dir, strings.ReplaceAll(name, " ", "-"))
	if err := os.MkdirAll(report, 0o777); err != nil {
		return err
	}
	s := &qa.Summary{}
	for _, e := range drawn {
		sight, err := shown.Look(ctx, b, e, l.options)
		if errors.Is(err, qa.ErrNoFrame) && name == reader { // its service worker sometimes does not answer at first
			fmt.Printf("       %s did not show %s, and is asked once more\n", name, e.URL)
			sight, err = shown.Look(ctx, b, e, l.options)
		}
		var page *qa.Page
		if err != nil {
			page = &qa.Page{URL: e.URL, At: e.At, Err: err.Error()}
		} else if page, err = qa.Judge(archive, shown, e, live[e.URL], sight); err != nil {
			return err
		}
		if err := s.Add(page, report); err != nil {
			return err
		}
	}
	if err := s.Write(report, name); err != nil {
		return err
	}
	n := len(drawn)
	l.say(s.Compared == n, "%s: %d of %d pages shown", name, s.Compared, n)
	l.say(s.Outside == 0, "%s: %d requests left the replay", name, s.Outside)
	l.say(100*s.SameText >= 99*n, "%s: the visible text of %d of %d pages is the same", name, s.SameText, n)
	l.say(100*s.SamePicture >= 97*n, "%s: 99 %% of the pixels of %d of %d pages are the same", name, s.SamePicture, n)
	worst := slices.SortedStableFunc(slices.Values(s.Pages), func(a, b *qa.Page) int {
		return cmp.Compare(min(a.Text, a.Pixels), min(b.Text, b.Pixels))
	})
	for _, p := range worst[:min(5, n)] {
		fmt.Printf("       %s: text %.4f, pixels %.4f, %d not answered %s (%s)\n", p.URL, p.Text, p.Pixels,
			len(p.Unanswered),
			p.Err, filepath.Join(report, p.Pictures))
	}
	return nil
}
