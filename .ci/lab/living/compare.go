package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"henro/cmd/qa"
	"henro/cmd/replay"
	"henro/messages/weburl"
	"henro/store/archive/captures"
)

// What the pages of a kind of crawl must come to.
const (
	equalWords    = 0.99 // of pages have all words
	equalPixels   = 0.97 // of the pixels of a page …
	equalPictures = 0.95 // … on so many pages
	answered      = 0.99 // of requests
	fewRendered   = 0.10 // of the visits of the large site
	faster        = 5    // than rendering everything
)

// row is what came of one crawl of one site.
type row struct {
	site, way              string
	pages, words, pictures int // compared; with all words; with equal pixels
	asked, archived        int // by live pages, with an answer; of these, in the archive
	replayed, answered     int // by the replay's pages, for captures; of these, answered, or not live either
	left                   int // requests of the replay that went elsewhere
	visits, rendered       int
	took                   time.Duration
	manners                Manners
	notes                  []string
}

const header = "site       browser pages  words pixels archived answered  left  visits rendered  pages/s " +
	"requests  robots excl guard twice early"

func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

func (r *row) rate() float64 { return float64(r.visits) / r.took.Seconds() }

func (r *row) String() string {
	m := r.manners
	return fmt.Sprintf("%-10s %-7s %5d %6s %6s %8s %8s %5d %7d %8s %8.1f %8d %7d %4d %5d %5d %5d", r.site, r.way,
		r.pages, share(r.words, r.pages), share(r.pictures, r.pages), share(r.archived, r.asked),
		share(r.answered, r.replayed), r.left, r.visits, share(r.rendered, r.visits), r.rate(), m.Requests, m.Robots,
		m.Excluded, m.Guarded, m.Twice, m.Early)
}

// add takes in what came of another site.
func (r *row) add(o *row) {
	r.pages, r.words, r.pictures = r.pages+o.pages, r.words+o.words, r.pictures+o.pictures
	r.asked, r.archived = r.asked+o.asked, r.archived+o.archived
	r.replayed, r.answered = r.replayed+o.replayed, r.answered+o.answered
	r.left, r.visits, r.rendered, r.took = r.left+o.left, r.visits+o.visits, r.rendered+o.rendered, r.took+o.took
	m, n := &r.manners, o.manners
	m.Requests, m.Robots, m.Excluded = m.Requests+n.Requests, m.Robots+n.Robots, m.Excluded+n.Excluded
	m.Guarded, m.Twice, m.Early = m.Guarded+n.Guarded, m.Twice+n.Twice, m.Early+n.Early
	m.Lost += n.Lost
}

// tabs is how many pages are looked at side by side, each in a browser of its own: most of a look is waiting.
const tabs = 2

// look shows pages in browsers that end with it, and hands each to see, by its place in the list.
func (l *lab) look(ctx context.Context, rules string, pages int,
	see func(ctx context.Context, b *qa.Browser, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	next := make(chan int)
	group.Go(func() error {
		defer close(next)
		for i := range pages {
			select {
			case next <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range min(tabs, pages) {
		group.Go(func() error {
			b, err := qa.Start(ctx, l.path, rules)
			if err != nil {
				return err
			}
			defer b.Close()
			for i := range next {
				if err := see(ctx, b, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// try crawls a site in one way and compares its pages.
func (l *lab) try(ctx context.Context, s *Site, way string) (*row, error) {
	r := &row{site: s.Name, way: way}
	dir := filepath.Join(l.dir, s.Name+"-"+way)
	var err error
	if r.took, r.manners, err = l.crawl(ctx, s, way, dir); err != nil {
		return nil, err
	}
	r.notes = append(r.notes, r.manners.worst...)
	if r.manners.Lost > 0 {
		r.note("%d asked again, since they came at most %v before henro was killed", r.manners.Lost,
			r.manners.Oldest.Round(time.Millisecond))
	}
	if l.slaves > 0 {
		if err := l.sayParts(s, way, dir); err != nil {
			return nil, err
		}
	}
	if len(r.manners.Agents) > 1 {
		r.notes = append(r.notes, fmt.Sprintf("%d user agents: %q", len(r.manners.Agents), r.manners.Agents))
	}
	if r.visits, r.rendered, err = l.visits(ctx, dir); err != nil || l.options.Pages == 0 || l.bounded(way) {
		return r, err
	}
	if s.Name == "tried" && way != "off" {
		if err := l.unplayed(ctx, s, dir); err != nil {
			return r, err
		}
	}
	archive, err := captures.Open(filepath.Join(dir, "warc"), func(string) {})
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	return r, l.compare(ctx, s, archive, filepath.Join(dir, "living"), r)
}

// show serves the archive until the context ends.
func show(ctx context.Context, archive *captures.Archive) (qa.Shown, error) {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	content, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return qa.Shown{}, err
	}
	at := replay.Listeners{Own: own, Content: []net.Listener{content}}
	go func() { _ = replay.NewServer(archive, replay.Options{}, logrus.NewEntry(logrus.New())).Serve(ctx, at) }()
	return qa.Shown{Address: at.Address, Asked: at.Asked}, nil
}

// sample are the pages of a site that are compared: the first, which links to all others, and some by lot.
func (l *lab) sample(s *Site) []string {
	pages := slices.Clone(s.Pages[1:])
	random := rand.New(rand.NewPCG(l.options.Seed, 0))
	random.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	return append(s.Pages[:1:1], pages[:min(len(pages), l.options.Pages-1)]...)
}

func (l *lab) compare(ctx context.Context, s *Site, archive *captures.Archive, report string, r *row) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shown, err := show(ctx, archive)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(report, 0o777); err != nil {
		return err
	}
	views, err := l.views(ctx, s)
	if err != nil {
		return err
	}
	// To this browser every name but those of the replay leads into the trap.
	l.web.take()
	rules := fmt.Sprintf("MAP * %s:%d, EXCLUDE 127.0.0.1, EXCLUDE *.localhost", trapAt, l.port)
	err = l.look(ctx, rules, len(views), func(ctx context.Context, b *qa.Browser, i int) (err error) {
		v := views[i]
		place, err := archive.Closest(v.url, time.Now())
		if errors.Is(err, captures.ErrNotArchived) {
			return nil
		} else if err != nil {
			return err
		}
		sight, err := shown.Look(ctx, b, place.Entry, l.options)
		if err != nil {
			v.page = &qa.Page{URL: v.url.String(), At: place.At, Err: err.Error()}
			return ctx.Err()
		}
		v.answers(shown, sight)
		v.page, err = qa.Judge(archive, shown, place.Entry, v.live, sight)
		return err
	})
	if err != nil {
		return err
	}
	for _, a := range l.web.take() {
		if !errand(a.host) {
			r.left++
			r.note("left for %s %s%s", a.method, a.host, a.path)
		}
	}
	summary := &qa.Summary{}
	for _, v := range views {
		r.take(v)
		if v.page != nil {
			if err := summary.Add(v.page, report); err != nil {
				return err
			}
		}
	}
	return summary.Write(report, s.Name)
}

// view is a page, as it is live and, unless the archive lacks it, compared.
type view struct {
	url  weburl.URL
	live *qa.Sight
	page *qa.Page
	// shown are the addresses, without their queries, that the replay answered; silent are requests that it did not,
	// though live they got an answer, of so many.
	shown   map[string]bool
	silent  []qa.Lack
	replays int
}

// answers notes what the replay answered.
func (v *view) answers(shown qa.Shown, sight *qa.Sight) {
	live := map[string]bool{}
	for _, q := range v.live.Requests {
		live[bare(q.URL)] = live[bare(q.URL)] || isAnswer(q)
	}
	v.shown = map[string]bool{}
	for _, q := range sight.Requests {
		u, what := shown.Asked(q.URL)
		if what != replay.Captured || isPreflight(q.Type, q.Status) {
			continue
		}
		v.replays++
		if isAnswer(q) {
			v.shown[bare(u.String())] = true
		} else if live[bare(u.String())] {
			v.silent = append(v.silent, qa.Lack{URL: u.String()})
		}
	}
}

// isAnswer reports whether a request of a page got what it asked for; of an answer a script may leave the body unread.
func isAnswer(q qa.Request) bool {
	unread := q.Type == "Fetch" && q.Err == "net::ERR_ABORTED"
	return !q.Refused && !isPreflight(q.Type, q.Status) && (q.Err == "" || unread) && q.Status >= 200 && q.Status < 400
}

// views opens the sample live, in browsers that are gone afterwards: nothing of theirs is taken for the replay's.
func (l *lab) views(ctx context.Context, s *Site) ([]*view, error) {
	if views := l.seen[s]; views != nil {
		again := make([]*view, len(views))
		for i, v := range views {
			again[i] = &view{url: v.url, live: v.live}
		}
		return again, nil
	}
	rules, err := qa.ResolverRules(l.resolve())
	if err != nil {
		return nil, err
	}
	var views []*view
	for _, path := range l.sample(s) {
		u, err := weburl.Parse(l.root(s) + path)
		if err != nil {
			return nil, err
		}
		views = append(views, &view{url: u})
	}
	l.seen[s] = views
	rules += ",MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost"
	return views, l.look(ctx, rules, len(views), func(ctx context.Context, b *qa.Browser, i int) (err error) {
		views[i].live, err = b.Look(ctx, qa.View{Address: views[i].url.String(), Width: l.options.Width,
			Height: l.options.Height, Limit: l.options.Limit})
		return err
	})
}

// errand reports whether the browser itself asks there, whatever it shows.
func errand(host string) bool {
	return slices.ContainsFunc([]string{".google.com", ".googleapis.com", ".gvt1.com"},
		func(name string) bool { return strings.HasSuffix("."+host, name) })
}

// take takes in how a page compares.
func (r *row) take(v *view) {
	n, path, p := requests(v.live), v.url.Path(), v.page
	r.pages++
	r.asked += n
	if p == nil || p.Err != "" { // the page itself got no answer
		r.replayed++
		if p == nil {
			r.note("%s: not archived", path)
		} else {
			r.note("%s: %s", path, p.Err)
		}
		return
	}
	if p.Text == 1 {
		r.words++
	}
	if p.Pixels >= equalPixels {
		r.pictures++
	}
	// Not what got no answer live either, nor what the replay finds by another query or by what was sent.
	missing := slices.DeleteFunc(slices.Clone(p.Missing), func(lack qa.Lack) bool {
		return lack.Type == "Preflight" || lack.Reason == "the live answer was 204" || v.shown[bare(lack.URL)] ||
			!strings.HasPrefix(lack.Reason, "the live answer was 2") &&
				!strings.HasPrefix(lack.Reason, "the live answer was 3")
	})
	r.archived += n - min(n, len(missing))
	r.replayed, r.answered = r.replayed+v.replays, r.answered+v.replays-len(v.silent)
	r.left += len(p.Outside)
	if p.Text < 1 || p.Pixels < equalPixels || len(p.Outside)+len(missing)+len(v.silent) > 0 {
		r.note("%s: words %.3f, pixels %.3f%s%s%s", path, p.Text, p.Pixels, urls("not archived", missing),
			urls("not answered", v.silent), urls("left", p.Outside))
	}
}

// isPreflight reports whether a request is the question whether a page may ask, which a replay need not put.
func isPreflight(kind string, status int64) bool {
	return kind == "Preflight" || kind == "Other" && status == http.StatusNoContent
}

func bare(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return address
}

// requests counts those that a live page got an answer to.
func requests(live *qa.Sight) (n int) {
	for _, q := range live.Requests {
		if isAnswer(q) {
			n++
		}
	}
	return n
}

// maxNotes bounds what is printed of a site.
const maxNotes = 6

func (r *row) note(format string, values ...any) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, fmt.Sprintf(format, values...))
	}
}

func urls(what string, lacks []qa.Lack) string {
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s (%s)", len(lacks), what, lacks[0].URL)
}

// table prints all rows and their sums, and holds them against the bars.
func (l *lab) table(rows []*row, ways []string) {
	fmt.Println("\n" + header)
	for _, way := range ways {
		sum := &row{site: "all", way: way}
		for _, r := range rows {
			if r.way == way {
				fmt.Println(r)
				sum.add(r)
			}
		}
		fmt.Printf("%s\n\n", sum)
		l.judge(sum)
	}
	l.large(rows)
}

// judge holds what came of all sites against the bars.
func (l *lab) judge(sum *row) {
	say := func(ok, bar bool, format string, values ...any) {
		l.say(ok, bar, "--browser %s: %s", sum.way, fmt.Sprintf(format, values...))
	}
	say(sum.manners.ok(), false, "nothing past robots.txt, --exclude and the guard, nothing twice or early")
	if l.options.Pages == 0 || l.bounded(sum.way) {
		return
	}
	say(sum.left == 0, false, "%d requests left the replay", sum.left)
	if sum.way == "off" {
		return // what it lacks is what the others are for
	}
	say(reaches(sum.words, sum.pages, equalWords), true, "all words on %s %% of %d pages: %g are wanted",
		share(sum.words, sum.pages), sum.pages, 100*equalWords)
	say(reaches(sum.pictures, sum.pages, equalPictures), true,
		"%g %% of the pixels on %s %% of the pages: %g are wanted", 100*equalPixels,
		share(sum.pictures, sum.pages), 100*equalPictures)
	say(reaches(sum.archived, sum.asked, answered), true, "%s %% of the live requests are archived: %g are wanted",
		share(sum.archived, sum.asked), 100*answered)
	say(reaches(sum.answered, sum.replayed, answered), true,
		"%s %% of the replay's requests are answered: %g are wanted", share(sum.answered, sum.replayed), 100*answered)
}

func reaches(part, whole int, bar float64) bool { return float64(part) >= bar*float64(whole) }

// large holds the crawls of the large site against each other.
func (l *lab) large(rows []*row) {
	of := map[string]*row{}
	for _, r := range rows {
		if r.site == "big" {
			of[r.way] = r
		}
	}
	auto, all, off := of["auto"], of["all"], of["off"]
	if auto == nil {
		return
	}
	l.say(float64(auto.rendered) <= fewRendered*float64(auto.visits), true,
		"big: %s %% of %d visits rendered: %g at most are wanted", share(auto.rendered, auto.visits), auto.visits,
		100*fewRendered)
	if off != nil {
		fmt.Printf("      big: %.2f of the pages/s of rendering nothing\n", auto.rate()/off.rate())
	}
	if all != nil {
		l.say(auto.rate() >= faster*all.rate(), true,
			"big: %.1f times the pages/s of rendering everything: %d are wanted", auto.rate()/all.rate(), faster)
	}
}
