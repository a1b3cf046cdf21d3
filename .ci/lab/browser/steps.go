package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"henro/.ci/lab/axe"
	"henro/.ci/lab/tab"
	"henro/store/report/changes"
)

// browser is Chromium with one page.
type browser struct {
	*trial
	ctx   context.Context
	close func()

	mu    sync.Mutex
	said  []string             // by the console
	asked []string             // URLs
	sent  map[string]time.Time // when a URL was asked for last
	bases []string             // of the dashboards
}

func open(ctx context.Context, t *trial) (*browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 860))
	ctx, endAll := chromedp.NewExecAllocator(ctx, options...)
	ctx, end := chromedp.NewContext(ctx)
	b := &browser{trial: t, ctx: ctx, close: func() { end(); endAll() }, sent: map[string]time.Time{},
		bases: []string{t.base}}
	err := errors.Join(chromedp.Listen(ctx, b.hear), chromedp.Do(ctx, tab.Send(network.Enable, network.EnableParams{}),
		tab.Send(cdplog.Enable, cdp.Empty{}), tab.Send(runtime.Enable, cdp.Empty{})))
	if err != nil {
		b.close()
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	return b, nil
}

// hear writes down what the console says and what is asked for.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
		b.sent[e.Request.URL] = time.Now()
	case *network.EventWebSocketCreated:
		b.asked = append(b.asked, e.URL)
	case *runtime.EventConsoleAPICalled:
		for _, argument := range e.Args {
			b.said = append(b.said, fmt.Sprintf("%s: %s", e.Type, argument.Value))
		}
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *cdplog.EventEntryAdded:
		if strings.HasPrefix(e.Entry.URL, b.base+"/events") && strings.Contains(e.Entry.Text, "net::ERR_") {
			return // a stream that broke off since one end stood still; it is opened again
		}
		b.said = append(b.said, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	}
}

func (b *browser) do(actions ...tab.Step) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		err := chromedp.Do(ctx, actions...)
		if err == nil || ctx.Err() != nil || !renewed(err) {
			return err
		}
	}
}

// renewed reports whether an element was replaced by a newer one between being found and being used: then nothing was
// done to it.
func renewed(err error) bool {
	var said *cdproto.Error
	return errors.As(err, &said) && (strings.Contains(said.Message, "node with given id") ||
		strings.Contains(said.Message, "box model") || strings.Contains(said.Message, "is not attached"))
}

func (b *browser) to(path string) tab.Step { return chromedp.Navigate(b.base + path) }

// text reads what an element says, in one look: between two of them a newer one may take its place, and the older says
// nothing then.
func (b *browser) text(selector string) (text string, err error) {
	look := fmt.Sprintf("document.querySelector(%q)?.innerText.trim() ?? ''", selector)
	if late := until(b.ctx, func() bool {
		err = b.do(tab.Evaluate(look, &text))
		return err == nil && text != ""
	}); late != nil {
		err = errors.Join(err, fmt.Errorf("%s says nothing: %w", selector, late))
	}
	return text, err
}

func (b *browser) figuresMove() error {
	if err := b.do(b.to("/"), chromedp.WaitVisible(chromedp.CSS("#chart .uplot canvas"))); err != nil {
		return err
	}
	before, err := b.text("[data-figure=pages] .note")
	if err != nil {
		return err
	}
	return until(b.ctx, func() bool {
		now, err := b.text("[data-figure=pages] .note")
		return err == nil && now != before
	})
}

func (b *browser) findHost() error {
	// The second key counts for a second and a half, which a machine that stands still may miss: then it holds the
	// figures still.
	if err := until(b.ctx, func() bool {
		var path string
		return b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("h"), chromedp.Sleep(300*time.Millisecond),
			tab.Evaluate("location.pathname", &path)) == nil && path == "/hosts"
	}); err != nil {
		return fmt.Errorf("g h: %w", err)
	}
	if err := b.do(b.to("/hosts"),
		chromedp.WaitVisible(chromedp.CSS(".hosts tbody tr:nth-child(9) th a"))); err != nil {
		return err
	}
	first, err := b.text(".hosts tbody tr:nth-child(9) th a")
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(first, ".")
	if err := b.do(chromedp.KeyEvent("/"), chromedp.WaitReady(chromedp.CSS("#q:focus")),
		// chromedp types the slash although the page forbids it, which no keyboard does
		chromedp.Evaluate[chromedp.Void](`document.getElementById("q").value = ""`),
		chromedp.KeyEvent(name+kb.Enter), chromedp.WaitVisible(chromedp.CSS("input[value='"+name+"']"))); err != nil {
		return fmt.Errorf("search for %s: %w", name, err)
	}
	if found, err := b.text(".hosts tbody"); err != nil || !strings.Contains(found, first) {
		return errors.Join(err, fmt.Errorf("the search for %s shows %q", name, found))
	}
	if err := b.do(chromedp.Focus(chromedp.CSS(".hosts tbody th a")), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(chromedp.CSS(".crumbs"))); err != nil {
		return err
	}
	if title, err := b.text("h1"); err != nil || title != first {
		return errors.Join(err, fmt.Errorf("the host %s is called %q", first, title))
	}
	// The host is known from the start; its first page has a life once its turn has come.
	var life string
	err = until(b.ctx, func() bool {
		err := b.do(b.to("/page?url="+url.QueryEscape("http://"+first+"/")),
			chromedp.WaitVisible(chromedp.CSS(".life")))
		if err == nil {
			life, err = b.text(".life")
		}
		return err == nil && strings.Contains(life, "Content archived")
	})
	if err != nil {
		err = fmt.Errorf("the life of its first page: %q: %w", life, err)
	}
	return err
}

func (b *browser) state(want string) error {
	return until(b.ctx, func() bool {
		got, err := b.text("#state")
		return err == nil && got == want
	})
}

// sentAt is when the browser last asked for a path.
func (b *browser) sentAt(path string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent[b.base+path]
}

func (b *browser) pause() error {
	if err := b.do(b.to("/"), chromedp.Click(chromedp.CSS("#pause"))); err != nil {
		return err
	}
	if err := b.state("Paused"); err != nil {
		return err
	}
	if err := b.silent(b.ctx, b.sentAt("/do/pause"), ""); err != nil {
		return err
	}
	if err := b.do(chromedp.Click(chromedp.CSS("#resume"))); err != nil {
		return err
	}
	resumed := time.Now()
	return errors.Join(b.state("Running"), until(b.ctx, func() bool {
		count, err := b.requests(resumed, "")
		return err == nil && count > 10
	}))
}

func (b *browser) addSeed() error {
	host := strings.TrimSuffix(strings.TrimPrefix(b.late, "http://"), "/")
	if before, err := b.requests(time.Time{}, host); err != nil || before > 0 {
		return errors.Join(err, fmt.Errorf("%s was asked %d times before", host, before))
	}
	if err := b.do(b.to("/"), chromedp.Click(chromedp.CSS("#seeds")),
		chromedp.SendKeys(chromedp.CSS("#seed-text"), b.late),
		chromedp.Click(chromedp.CSS(".sheet button.primary")),
		chromedp.WaitVisible(chromedp.CSS(".said"))); err != nil {
		return err
	}
	return until(b.ctx, func() bool { // its robots.txt, and a page
		count, err := b.requests(time.Time{}, host)
		return err == nil && count >= 2
	})
}

// everyPage are all views, with something to see.
var everyPage = []string{"/", "/hosts", "/host", "/page", "/nodes", "/revisit", "/fetches", "/failed", "/missing",
	"/changes", "/week", "/watched", "/log", "/help"}

// path is the address of a view, with a host or a page where it needs one.
func (b *browser) path(view string) string {
	switch view {
	case "/host":
		return "/host?name=" + url.QueryEscape(strings.TrimSuffix(b.seeds[0], "/"))
	case "/page":
		return "/page?url=" + url.QueryEscape(b.seeds[0])
	case "/week": // of the hour of the change that is there
		at := b.changed.Local()
		return fmt.Sprintf("/week?day=%d&hour=%d", (int(at.Weekday())+6)%7, at.Hour())
	case "/failed":
		return "/failed?cause=HTTP+404"
	}
	return view
}

func (b *browser) withoutScript() error {
	folder := filepath.Join(b.dir, "crawl", changes.Folder) // as henro feed leaves it
	b.changed = time.Now().Add(-time.Hour)
	change := changes.Change{ID: "1", URL: b.seeds[0], Title: "春の祭り <Spring>", At: b.changed,
		Before: time.Now().Add(-25 * time.Hour), Letters: 33,
		Diff: "@@ -1,2 +1,2 @@\n The festival begins at noon.\n-It rains.\n+The sun shines on the hills.\n"}
	if err := cmp.Or(os.MkdirAll(folder, 0o755), changes.Append(folder, []changes.Change{change})); err != nil {
		return err
	}
	if err := b.depict(b.seeds[0]); err != nil {
		return err
	}
	if err := b.do(tab.Send(emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: true})); err != nil {
		return err
	}
	for _, view := range everyPage {
		if err := b.do(b.to(b.path(view))); err != nil {
			return fmt.Errorf("%s: %w", view, err)
		}
		var html string
		if err := b.do(tab.Into(&html, chromedp.OuterHTML(chromedp.CSS("main")))); err != nil || len(html) < 400 {
			return errors.Join(err, fmt.Errorf("%s has little to say: %q", view, html))
		}
	}
	for _, step := range []struct{ button, then string }{{"#pause", "#resume"}, {"#resume", "#pause"}} {
		if err := b.do(b.to("/"), chromedp.Click(chromedp.CSS(step.button)),
			chromedp.WaitVisible(chromedp.CSS(".said"))); err != nil {
			return fmt.Errorf("press %s: %w", step.button, err)
		}
		if err := until(b.ctx, func() bool { // without a script a page is as it was when it was asked for
			var nodes []*chromedp.Node
			err := b.do(b.to("/"), tab.Into(&nodes, chromedp.Nodes(chromedp.CSSAll(step.then), chromedp.AtLeast(0))))
			return err == nil && len(nodes) == 1
		}); err != nil {
			return fmt.Errorf("%s after %s was pressed: %w", step.then, step.button, err)
		}
	}
	return b.do(tab.Send(emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: false}))
}

// looks at pages in a scheme of colours and a language.
func (b *browser) look(scheme, language string, width, height int64) error {
	return b.do(tab.Send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}}),
		tab.Send(network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}}),
		chromedp.EmulateViewport(width, height))
}

func (b *browser) accessible() error {
	var all []error
	for i, view := range everyPage {
		for j, scheme := range []string{"light", "dark"} {
			width, height := int64(1280), int64(860)
			if (i+j)%2 == 1 {
				width, height = 390, 844
			}
			if err := errors.Join(b.look(scheme, []string{"en", "ja"}[j], width, height),
				b.do(b.to(b.path(view)), chromedp.WaitReady(chromedp.CSS("footer")))); err != nil {
				return err
			}
			hold := `document.getElementById("hold").click()` // no part is to be replaced while it is judged
			if err := errors.Join(b.do(chromedp.Evaluate[chromedp.Void](hold)), b.openLooks(),
				axe.Judge(b.axe, b.do)); err != nil {
				all = append(all, fmt.Errorf("%s %s: %w", view, scheme, err))
			}
			if n, err := b.countLooks(); view == "/page" && (n != 2 || err != nil) {
				all = append(all, fmt.Errorf("%s has %d pairs of pictures, want 2: %w", view, n, err))
			}
		}
	}
	return errors.Join(append(all, b.look("light", "en", 1280, 860))...)
}

func (b *browser) screenshots() error {
	for _, view := range everyPage {
		name := cmp.Or(strings.Trim(view, "/"), "now")
		if err := b.everywhere(name, func() error {
			return b.do(b.to(b.path(view)), chromedp.WaitReady(chromedp.CSS("footer")),
				chromedp.Sleep(2*time.Second))
		}); err != nil {
			return err
		}
	}
	if b.pictures == "" {
		return nil
	}
	for _, p := range []picture{
		{"dashboard", "/", "light", "en", 1280, 1010}, {"dashboard-dark", "/", "dark", "ja", 1280, 800},
		{"dashboard-hosts", "/hosts", "light", "en", 1280, 720},
		{"dashboard-phone", "/", "light", "en", 390, 844}, {"dashboard-page", "/page", "light", "en", 1280, 860},
		{"dashboard-fetches", "/fetches", "light", "en", 1280, 720},
		{"dashboard-phone-hosts", "/hosts", "dark", "ja", 390, 844},
	} {
		if err := b.take(p); err != nil {
			return err
		}
	}
	return b.look("light", "en", 1280, 860)
}

// picture is one page as somebody sees it.
type picture struct {
	name, view, scheme, language string
	width, height                int64
}

func (b *browser) take(p picture) error {
	var png []byte
	if err := errors.Join(b.look(p.scheme, p.language, p.width, p.height),
		b.do(b.to(b.path(p.view)), chromedp.Sleep(3*time.Second),
			tab.Into(&png, chromedp.CaptureScreenshot()))); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.pictures, p.name+".png"), png, 0o644)
}

func (b *browser) quiet() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []error
	for _, line := range b.said {
		all = append(all, fmt.Errorf("the console says %s", line))
	}
	for _, asked := range b.asked {
		if !slices.ContainsFunc(b.bases, func(base string) bool { return strings.HasPrefix(asked, base+"/") }) {
			all = append(all, fmt.Errorf("%s was asked for", asked))
		}
	}
	if len(b.asked) < 50 {
		all = append(all, fmt.Errorf("only %d requests were seen", len(b.asked)))
	}
	return errors.Join(all...)
}

// drillDown sorts hosts by a click, and goes from a cause of errors to its hosts and to its URLs, one of which is in
// the list of the latest fetches or was before.
func (b *browser) drillDown() error {
	for _, column := range []string{"errors", "took", "asked", "waiting"} {
		head := ".hosts thead a[href*='sort=-" + column + "&']"
		if err := b.do(b.to("/hosts?sort=host"), chromedp.Click(chromedp.CSS(head)),
			chromedp.WaitVisible(chromedp.CSS(".hosts thead th[aria-sort=descending]"))); err != nil {
			return fmt.Errorf("sort by %s: %w", column, err)
		}
	}
	if err := until(b.ctx, func() bool {
		var there bool
		err := b.do(b.to("/"), tab.Evaluate("!!document.querySelector('#errors tbody td a')", &there))
		return err == nil && there
	}); err != nil {
		return fmt.Errorf("no error on the first page: %w", err)
	}
	if err := b.do(chromedp.Click(chromedp.CSS("#errors tbody th a")),
		chromedp.WaitVisible(chromedp.CSS(".hosts tbody tr"))); err != nil {
		return fmt.Errorf("the hosts of a cause: %w", err)
	}
	if err := b.do(b.to("/"), chromedp.Click(chromedp.CSS("#errors tbody td a")),
		chromedp.WaitVisible(chromedp.CSS("#urls tbody tr th a"))); err != nil {
		return fmt.Errorf("the URLs of a cause: %w", err)
	}
	return b.do(b.to("/fetches"), chromedp.WaitVisible(chromedp.CSS("#latest tbody tr th a")))
}

// revisit has the pages of a host visited now.
func (b *browser) revisit() error {
	name := strings.TrimSuffix(b.seeds[2], "/")
	return b.do(b.to("/host?name="+url.QueryEscape(name)), chromedp.Click(chromedp.CSS("#revisit")),
		chromedp.Click(chromedp.CSS(".menu[open] .sheet button")),
		chromedp.WaitVisible(chromedp.CSS(".said")))
}

func (b *browser) exclude() error {
	name := strings.TrimSuffix(b.seeds[1], "/")
	host := strings.TrimPrefix(name, "http://")
	if err := b.do(b.to("/host?name="+url.QueryEscape(name)), chromedp.Click(chromedp.CSS("#exclude")),
		chromedp.Click(chromedp.CSS(".sheet .danger")), chromedp.WaitVisible(chromedp.CSS("#admit"))); err != nil {
		return err
	}
	if err := b.silent(b.ctx, b.sentAt("/do/exclude"), host); err != nil {
		return err
	}
	return b.do(chromedp.Click(chromedp.CSS("#admit")), chromedp.WaitVisible(chromedp.CSS("#exclude")))
}
