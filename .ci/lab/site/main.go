// Command site opens every page of the documents' site in headless Chromium, from its folder and without a server, and
// fails when anything is not as it should be:
//
//   - light and dark, wide and on a phone, nothing is wider than the window and every picture is there;
//   - axe-core finds nothing that keeps anybody from using a page;
//   - the search finds words in English and Japanese, and Enter leads to the first section found, which comes into
//     view;
//   - on a phone the list of pages is one touch away;
//   - the console says nothing, and nothing but files of the site is asked for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	cdplog "github.com/chromedp/cdproto/log"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"henro/.ci/lab/axe"
	"henro/.ci/lab/tab"
)

// patience is how long a loaded machine may take for one page.
const patience = time.Minute

func main() {
	b := &browser{}
	flag.StringVar(&b.axe, "axe", "", "axe.min.js; empty: whether everybody can use the pages is not judged")
	flag.StringVar(&b.pictures, "screenshots", "", "where pictures of some pages are put; empty: none")
	flag.Parse()
	if err := b.run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

type browser struct {
	axe, pictures string

	ctx context.Context
	dir string // of the site

	mu    sync.Mutex
	said  []string // by the console
	asked []string // URLs
}

// looks are the windows in which each page is opened.
var looks = []struct {
	name, scheme  string
	width, height int64
}{{"light", "light", 1280, 860}, {"dark", "dark", 1280, 860}, {"light-phone", "light", 390, 844},
	{"dark-phone", "dark", 390, 844}}

func (b *browser) run(dir string) (err error) {
	if b.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	var pages []string
	err = filepath.WalkDir(b.dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".html" {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if strings.Contains(string(text), `id="search"`) { // else a source file as text
				pages = append(pages, name)
			}
		}
		return err
	})
	if err != nil || len(pages) == 0 {
		return errors.Join(err, fmt.Errorf("%d pages in %s", len(pages), b.dir))
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	ctx, endAll := chromedp.NewExecAllocator(context.Background(), options...)
	defer endAll()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	b.ctx = ctx
	if err := errors.Join(chromedp.Listen(ctx, b.hear), chromedp.Do(ctx,
		tab.Send(network.Enable, network.EnableParams{}), tab.Send(cdplog.Enable, cdp.Empty{}),
		tab.Send(runtime.Enable, cdp.Empty{}))); err != nil {
		return fmt.Errorf("start Chromium: %w", err)
	}
	return errors.Join(b.all(pages), b.quiet(len(pages)))
}

// all opens the pages in each look.
func (b *browser) all(pages []string) (failed error) {
	fail := func(name string, err error) {
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	for i, look := range looks {
		if err := b.do(tab.Send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}}),
			chromedp.EmulateViewport(look.width, look.height)); err != nil {
			return err
		}
		for j, page := range pages {
			name := look.name + " " + strings.TrimPrefix(page, b.dir+"/")
			fail(name, b.look(page))
			if (i+j)%len(looks) == 0 { // they share one style
				fail(name, axe.Judge(b.axe, b.do))
			}
		}
		fail(look.name, b.search(look.width < 600))
		if err := b.take(look.name); err != nil {
			return err
		}
	}
	return failed
}

// quiet tells what was said and asked for that should not have been.
func (b *browser) quiet(pages int) (failed error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.said {
		failed = errors.Join(failed, fmt.Errorf("the console says %s", line))
	}
	for _, asked := range b.asked {
		if !strings.HasPrefix(asked, "file://"+b.dir+"/") {
			failed = errors.Join(failed, fmt.Errorf("%s was asked for", asked))
		}
	}
	if len(b.asked) < pages*len(looks) {
		failed = errors.Join(failed, fmt.Errorf("only %d requests were seen", len(b.asked)))
	}
	if failed == nil {
		fmt.Printf("%d pages in Chromium, light and dark, wide and on a phone\n", pages)
	}
	return failed
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, string(e.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *cdplog.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text+" "+e.Entry.URL)
	}
}

func (b *browser) do(actions ...tab.Step) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// until waits for something to be true of the page, which may be left for another meanwhile.
func (b *browser) until(is string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var now bool
		if err := b.do(tab.Evaluate("!!("+is+")", &now)); err == nil && now {
			return nil
		}
	}
	return errors.New("waited in vain")
}

// flaws are what is wrong with the layout of a page, one a line.
const flaws = `(() => {
	const all = [], width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth > width) {
		all.push("wider than the window: " + document.documentElement.scrollWidth + " of " + width);
	}
	for (const i of document.images) {
		if (!i.complete || !i.naturalWidth) all.push("no picture: " + i.src);
	}
	if (!document.querySelector("h1")) all.push("no title");
	return all.join("\n");
})()`

func (b *browser) look(page string) error {
	var wrong string
	if err := b.do(chromedp.Navigate("file://"+page), chromedp.WaitReady(chromedp.CSS("#menu")),
		tab.Evaluate(flaws, &wrong)); err != nil {
		return err
	}
	if wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// search looks for words, from a page that is not the first.
func (b *browser) search(phone bool) error {
	from := "file://" + filepath.Join(b.dir, "docs", "install.html")
	for _, c := range []struct{ words, leads string }{
		{"making a release", "/docs/install.html"}, {"under wine", "/docs/measured/release.html"},
		{"巡回", "/docs/start.ja.html"},
	} {
		if err := b.do(chromedp.Navigate(from), chromedp.SendKeys(chromedp.CSS("#search"), c.words),
			chromedp.WaitVisible(chromedp.CSS("#found a")),
			chromedp.SendKeys(chromedp.CSS("#search"), kb.Enter)); err != nil {
			return fmt.Errorf("search for %s: %w", c.words, err)
		}
		err := b.until(`document.querySelector(":target") && !document.querySelector("#found a") && (r =>
			r.top >= 0 && r.bottom <= innerHeight)(document.querySelector(":target").getBoundingClientRect())`)
		if err != nil {
			return fmt.Errorf("the section with %s comes into view: %w", c.words, err)
		}
		var at string
		if err := b.do(tab.Into(&at, chromedp.Location())); err != nil || !strings.Contains(at, c.leads) {
			return errors.Join(err, fmt.Errorf("search for %s leads to %s", c.words, at))
		}
	}
	var none string
	if err := b.do(chromedp.Navigate(from), chromedp.SendKeys(chromedp.CSS("#search"), "zyzzyva"),
		tab.Into(&none, chromedp.Text(chromedp.CSS("#found")))); err != nil || none != "Nothing found" {
		return errors.Join(err, fmt.Errorf("search for what is not there says %q", none))
	}
	if phone {
		return errors.Join(b.do(chromedp.Navigate(from), chromedp.Click(chromedp.CSS(".to-menu"))),
			b.until(`(t => t >= 0 && t < innerHeight)(document.querySelector("#menu a").getBoundingClientRect().top)`))
	}
	return nil
}

func (b *browser) take(look string) error {
	if b.pictures == "" {
		return nil
	}
	pages := []string{"index", "docs/start", "docs/start.ja", "docs/install", "docs/flags", "docs/revisit"}
	for _, page := range pages {
		var png []byte
		if err := b.do(chromedp.Navigate("file://"+filepath.Join(b.dir, page+".html")), chromedp.Sleep(time.Second),
			tab.Into(&png, chromedp.CaptureScreenshot())); err != nil {
			return err
		}
		name := strings.ReplaceAll(page, "/", "-") + "-" + look + ".png"
		if err := os.WriteFile(filepath.Join(b.pictures, name), png, 0o644); err != nil {
			return err
		}
	}
	var png []byte
	if err := b.do(chromedp.SendKeys(chromedp.CSS("#search"), "lease"), chromedp.Sleep(time.Second),
		tab.Into(&png, chromedp.CaptureScreenshot())); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.pictures, "search-"+look+".png"), png, 0o644)
}
