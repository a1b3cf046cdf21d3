package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/living"
	"henro/messages/weburl"
	"henro/slave/browser"
	"henro/slave/render/wanted"
)

// none is a browser of tests that show nothing.
type none struct{}

func (none) Render(context.Context, browser.Page, browser.Source) (*browser.Rendering, error) {
	return nil, errors.New("nothing is shown here")
}
func (none) Close() error { return nil }

func quiet(dir string) *Renderer {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return New(none{}, nil, dir, logrus.NewEntry(log))
}

// What is on its way to the archive is waited for until it is synced, until it failed, or as long as a sync may take.
func TestReadWaitsForWhatIsComing(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		end   func(*Renderer, string)
	}{
		"synced": {time.Second, func(r *Renderer, url string) { r.Archived(url, time.Now(), "x.warc.gz", 0) }},
		"failed": {2 * time.Second, func(r *Renderer, url string) { r.Archived(url, time.Time{}, "", 0) }},
		"lost":   {maxSync, func(*Renderer, string) {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, url := quiet(t.TempDir()), weburl.MustParse("http://a.example/x")
				defer r.Close()
				r.Coming(url.String())
				time.AfterFunc(c.after, func() { c.end(r, url.String()) })
				begun := time.Now()
				_, err := r.Read(t.Context(), url)
				if took := time.Since(begun); !errors.Is(err, ErrAbsent) || took != c.after {
					t.Errorf("%v after %v, want %v", err, took, c.after)
				}
			})
		})
	}
}

// asks is a browser whose page asks for some URLs.
type asks []string

func (a asks) Render(ctx context.Context, _ browser.Page, from browser.Source) (*browser.Rendering, error) {
	for _, url := range a {
		from(ctx, &browser.Request{Method: "GET", URL: url, Kind: "fetch"})
	}
	return &browser.Rendering{}, nil
}
func (asks) Close() error { return nil }

// A page waits for what may come: neither for what nobody will ask for, nor for what was asked for and did not come.
func TestAPageWaitsForWhatMayComeAlone(t *testing.T) {
	const page, denied = "http://a.example/", "http://a.example/3"
	const coming, failed = "http://b.example/1", "http://b.example/2"
	r := quiet(t.TempDir())
	defer r.Close()
	r.browser = asks{coming, failed, denied}
	r.Archived(failed, Never, "", 0)
	p := &Page{URL: weburl.MustParse(page)}
	show := func() { // as from the archive
		p.Missing = nil
		never := func(url weburl.URL, kind string) bool { return kind == "fetch" && url.String() == denied }
		r.Run(t.Context(), p, "", never)
	}
	if show(); !slices.Equal(p.Missing, []string{coming}) || p.Stuck || !r.Lacks(t.Context(), page) {
		t.Errorf("it lacks %v, stuck %v", p.Missing, p.Stuck)
	}
	if show(); !p.Stuck {
		t.Error("it lacks the same again, and goes on")
	}
	if r.Archived(coming, Never, "", 0); r.Lacks(t.Context(), page) {
		t.Error("it waits for what will not come")
	}
	if show(); len(p.Missing) > 0 {
		t.Errorf("it lacks %v", p.Missing)
	}
	r.Archived(failed, time.Now(), "x.warc.gz", 7)
	r.Archived(failed, Never, "", 0)
	if e, known := r.find(failed); !known || e.Offset != 7 {
		t.Error("a capture is forgotten for a failure after it")
	}
}

// A page that lacks something new each time, as a list of many pages does, waits as if it were the first time.
func TestAPageThatGoesOnWaitsAsTheFirstTime(t *testing.T) {
	r := quiet(t.TempDir())
	defer r.Close()
	p, has, list := &Page{URL: weburl.MustParse("http://a.example/")}, others{}, asks{}
	r.others = has
	for p.Attempts = range 9 {
		for _, url := range list {
			has[url] = "part"
		}
		list = append(list, fmt.Sprint("http://b.example/", p.Attempts))
		p.Missing, r.browser = nil, list
		if r.Run(t.Context(), p, "", func(weburl.URL, string) bool { return false }); p.Stuck || p.Vain != 0 {
			t.Fatalf("attempt %d: stuck %v, in vain %d", p.Attempts, p.Stuck, p.Vain)
		}
	}
	p.Attempts = 10
	r.Run(t.Context(), p, "", func(weburl.URL, string) bool { return false })
	if !p.Stuck || p.Vain != 2 {
		t.Errorf("it lacks the same again: stuck %v, in vain %d", p.Stuck, p.Vain)
	}
}

// others have what is by them.
type others map[string]string // by URL; "": nothing will come

func (others) Serve(func(context.Context, weburl.URL, bool) (*Page, error)) {}

func (o others) Ask(_ context.Context, url weburl.URL, _ bool) (*Page, error) {
	if body, has := o[url.String()]; has && body == "" {
		return nil, ErrNever
	} else if has {
		return &Page{URL: url, Status: 200, Body: []byte(body)}, nil
	}
	return nil, ErrAbsent
}

// What another slave has is as good as what is here: a page is read there, is shown with it, and waits for it no more.
func TestWhatAnotherSlaveHasIsThere(t *testing.T) {
	r, has := quiet(t.TempDir()), others{}
	defer r.Close()
	const script, failed = "http://b.example/a.js", "http://b.example/gone"
	r.others, r.browser = has, asks{script, failed}
	p := &Page{URL: weburl.MustParse("http://a.example/")}
	show := func() {
		p.Missing = nil
		r.Run(t.Context(), p, "", func(weburl.URL, string) bool { return false })
	}
	if show(); !slices.Equal(p.Missing, []string{script, failed}) || !r.Lacks(t.Context(), p.URL.String()) {
		t.Errorf("nobody has it, and it lacks %v", p.Missing)
	}
	if has[failed] = ""; r.Lacks(t.Context(), p.URL.String()) {
		t.Error("it waits for what another has tried in vain")
	}
	if has[script] = "1"; r.Lacks(t.Context(), p.URL.String()) {
		t.Error("it waits for what another has")
	}
	if show(); len(p.Missing) > 0 {
		t.Errorf("it lacks %v", p.Missing)
	}
	if got, err := r.Read(t.Context(), weburl.MustParse(script)); err != nil || string(got.Body) != "1" {
		t.Errorf("%v %v", got, err)
	}
	r.Archived(script, time.Now(), "x.warc.gz", 0) // here too, but its file is gone
	if got, err := r.Read(t.Context(), weburl.MustParse(script)); err != nil || string(got.Body) != "1" {
		t.Errorf("a capture whose file is gone is not read elsewhere: %v %v", got, err)
	}
}

// The latest capture counts, whatever comes in which order.
func TestTheLatestCaptureIsFound(t *testing.T) {
	r, now := quiet(t.TempDir()), time.Unix(1_000_000, 0)
	defer r.Close()
	r.Archived("http://a.example/", now, "b.warc.gz", 7)
	r.Archived("http://a.example/", now.Add(-time.Hour), "a.warc.gz", 3)
	r.Archived("http://a.example/feed?t=1764200000", now, "c.warc.gz", 9)
	if e, known := r.find("http://a.example/feed?t=1764200999"); !known || e.Offset != 9 {
		t.Errorf("of a URL that is asked for under another time: %v %+v", known, e)
	}
	if e, known := r.find("http://a.example/"); !known || e.Filename != "b.warc.gz" || e.Offset != 7 {
		t.Errorf("%v %+v", known, e)
	}
}

// counts is a browser that shows everything.
type counts int

func (c *counts) Render(context.Context, browser.Page, browser.Source) (*browser.Rendering, error) {
	*c++
	return &browser.Rendering{}, nil
}
func (*counts) Close() error { return nil }

// shower is a lease with a rule that names of each page its data, and what shows its pages.
func shower(t *testing.T, mode string) (*Lease, *counts, others) {
	r, shown, has := quiet(t.TempDir()), new(counts), others{}
	t.Cleanup(func() { r.Close() })
	r.browser, r.others = shown, has
	l := &Lease{Renderer: r, Mode: mode}
	for i := range 3 {
		url := fmt.Sprintf("http://a.example/%d", i)
		l.Learn(&living.Sample{URL: url, HTML: []byte("<p>"), Asked: []string{url + ".json"}})
	}
	return l, shown, has
}

// What rules name for a page that is to be shown is asked for before, once: it may never come.
func TestWhatRulesNameIsAskedForFirst(t *testing.T) {
	const page, part = "http://a.example/7", "http://a.example/7.json"
	never := func(weburl.URL, string) bool { return false }
	for _, mode := range []string{"all", "auto"} {
		for name, c := range map[string]struct {
			attempts uint16
			never    func(weburl.URL, string) bool
			before   func(*Lease, others)
			missing  []string
		}{
			"nothing is known": {1, never, func(l *Lease, _ others) { l.living = living.Host{} }, nil},
			"it has not come":  {1, never, func(*Lease, others) {}, []string{part}},
			"the next time":    {2, never, func(*Lease, others) {}, nil},
			"it is there":      {1, never, func(l *Lease, _ others) { l.Archived(part, Never, "", 0) }, nil},
			"it is coming":     {1, never, func(l *Lease, _ others) { l.Coming(part) }, nil},
			"another has it":   {1, never, func(_ *Lease, has others) { has[part] = "{}" }, nil},
			"nobody may ask": {1, func(url weburl.URL, _ string) bool { return url.String() == part },
				func(*Lease, others) {}, nil},
		} {
			l, shown, has := shower(t, mode)
			has[page] = "<p>"
			l.Patterns = []*regexp.Regexp{regexp.MustCompile("/7$")}
			c.before(l, has)
			got, err := l.Show(t.Context(), weburl.MustParse(page), c.attempts, c.never)
			if err != nil || !slices.Equal(got.Missing, c.missing) || int(*shown) != min(1, 1-len(c.missing)) ||
				got.Waits("http://a.example", false) ||
				got.Waits("http://a.example", true) != (len(c.missing) > 0) ||
				got.Waits("http://b.example", false) != (len(c.missing) > 0) {
				t.Errorf("%s, %s: %v %+v, shown %d times", mode, name, err, got, *shown)
			}
		}
	}
}

// A page uses one of the samples of its lease, however often it is shown; of others beyond these none is.
func TestAPageIsOneSampleHoweverOftenItIsShown(t *testing.T) {
	l, shown, has := shower(t, "auto")
	l.living = living.Host{}
	show := func(i int) {
		url := weburl.MustParse(fmt.Sprintf("http://a.example/page/%d", i))
		has[url.String()] = "<p>"
		if p, err := l.Show(t.Context(), url, 1, func(weburl.URL, string) bool { return false }); err != nil {
			t.Fatal(p, err)
		}
	}
	for range 3 {
		for i := range Samples {
			if l.Full() != (*shown >= Samples) {
				t.Errorf("after %d, full %v", *shown, l.Full())
			}
			show(i)
		}
	}
	if show(Samples); *shown != 3*Samples || !l.Full() {
		t.Errorf("shown %d times, full %v", *shown, l.Full())
	}
}

// What a page lacked and is on its way to the archive has come: it is waited for when the page asks for it.
func TestWhatIsOnItsWayHasCome(t *testing.T) {
	r := quiet(t.TempDir())
	defer r.Close()
	const page, part = "http://a.example/", "http://a.example/part"
	has, most := others{page: "<p>"}, []string{part, part + "2"}
	r.others = has
	r.lacks.Note(wanted.Key(page), most, nil)
	if !r.Lacks(t.Context(), page) {
		t.Error("nothing has come, and it waits for nothing")
	}
	l, never := &Lease{Renderer: r, Mode: "all"}, func(weburl.URL, string) bool { return false }
	p, err := l.Show(t.Context(), weburl.MustParse(page), 2, never)
	if err != nil || !p.Waits("http://a.example", false) {
		t.Errorf("it is shown, and nothing has come: %+v, %v", p, err)
	}
	if r.Coming(part); r.Lacks(t.Context(), page) {
		t.Error("it waits for what is there as soon as it is synced")
	}
	for i := range maxLooked {
		most = append(most, fmt.Sprint(part, i+3))
	}
	has[most[maxLooked]] = "beyond those for which others are asked"
	if r.coming = map[uint64]chan struct{}{}; len(r.lacking(t.Context(), most)) != len(most) {
		t.Error("others are asked for more than is bounded")
	}
	if has[most[maxLooked-1]] = "the last of these"; len(r.lacking(t.Context(), most)) != len(most)-1 {
		t.Error("others are asked for fewer than they may be")
	}
}
