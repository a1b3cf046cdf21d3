package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"henro/.ci/lab/axe"
	"henro/.ci/lab/process"
	"henro/.ci/lab/tab"
)

// number numbers the controls of a page that can be seen, and stops its parts from being replaced.
const number = `(() => {
	document.getElementById("hold")?.click();
	const all = [...document.querySelectorAll(
		"a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
		.filter(e => e.checkVisibility() && !e.disabled && e.tabIndex >= 0);
	all.forEach((e, i) => e.dataset.walk = i);
	return all.length;
})()`

// here says which control has the focus, and whether that can be seen; "": none of them.
const here = `(() => {
	const e = document.activeElement, style = getComputedStyle(e);
	if (!e.dataset.walk) return "";
	const shown = e.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
	return e.dataset.walk + " " + shown + " " + e.outerHTML.slice(0, 100);
})()`

// walk goes through every page by Tab.
func (b *browser) walk() error {
	var all []error
	for _, view := range everyPage {
		if err := b.walkPage(b.path(view), 10); err != nil {
			all = append(all, fmt.Errorf("%s: %w", view, err))
		}
	}
	return errors.Join(append(all, b.enterHour())...)
}

// walkPage goes through a page, which has so many controls at least.
func (b *browser) walkPage(path string, least int) error {
	var count int
	if err := b.do(b.to(path), chromedp.WaitReady(chromedp.CSS("main")), tab.Evaluate(number, &count)); err != nil {
		return err
	}
	var all []error
	next := 0
	for range count + 5 { // whatever else takes the focus, such as what scrolls
		var at string
		if err := b.do(chromedp.KeyEvent(kb.Tab), tab.Evaluate(here, &at)); err != nil {
			return err
		}
		if at == "" {
			continue
		}
		var index int
		var shown bool
		if _, err := fmt.Sscan(at, &index, &shown); err != nil {
			return err
		}
		if next == count && index == 0 {
			break
		}
		if index != next || !shown {
			all = append(all, fmt.Errorf("control %d of %d after %d, focus shown %v: %s", index, count, next-1,
				shown, at))
		}
		if next = index + 1; len(all) > 5 {
			break
		}
	}
	if next < count || count < least {
		all = append(all, fmt.Errorf("the last control reached is %d of %d", next, count))
	}
	return errors.Join(all...)
}

// enterHour opens the changes of an hour by keyboard.
func (b *browser) enterHour() error {
	var hash, text string
	if err := b.do(b.to("/week"), chromedp.WaitVisible(chromedp.CSS(".heat a")),
		chromedp.Focus(chromedp.CSS(".heat a")),
		chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#hour")),
		tab.Evaluate("location.hash", &hash)); err != nil {
		return fmt.Errorf("an hour of the week: %w", err)
	}
	text, err := b.text("#hour")
	if err != nil || hash != "#hour" || !strings.Contains(text, "春の祭り") {
		return errors.Join(err, fmt.Errorf("the hour is at %q and says %q", hash, text))
	}
	return nil
}

// versions looks at the calendar of a page that has changed in a replay of the crawl.
func (b *browser) versions() error {
	address, err := process.FreePort()
	if err != nil {
		return err
	}
	if _, err := b.group.Start("replay", filepath.Join(b.bin, "henro"), "replay", filepath.Join(b.dir, "crawl"),
		"--listen", address); err != nil {
		return err
	}
	dashboard := b.base
	b.base = "http://" + address
	b.mu.Lock()
	b.bases = append(b.bases, b.base)
	b.mu.Unlock()
	defer func() { b.base = dashboard }()
	path := "/web/*/" + b.seeds[0]
	if err := until(b.ctx, func() bool { _, err := b.get(b.base + path); return err == nil }); err != nil {
		return fmt.Errorf("the replay: %w", err)
	}
	var all []error
	for i, scheme := range []string{"light", "dark"} {
		if err := errors.Join(b.look(scheme, []string{"en", "ja"}[i], []int64{1280, 390}[i], 860),
			b.do(b.to(path), chromedp.WaitVisible(chromedp.CSS(".line li a")))); err != nil {
			return err
		}
		n, err := b.countLooks()
		if n != 2 {
			err = errors.Join(err, fmt.Errorf("%d pairs of pictures, want 2", n))
		}
		all = append(all, err, b.openLooks(), axe.Judge(b.axe, b.do))
	}
	if err := b.everywhere("replay-versions", func() error { return b.do(b.to(path)) }); err != nil {
		return err
	}
	all = append(all, b.look("light", "en", 1280, 860), b.walkPage(path, 5))
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("the versions of a page: %w", err)
	}
	var shown string
	const note = `document.querySelector(".line li a").addEventListener("click", e => {
		e.preventDefault(); // captures are not looked at here
		document.title = e.currentTarget.pathname;
	})`
	if err := b.do(b.to(path), chromedp.Evaluate[chromedp.Void](note), chromedp.Focus(chromedp.CSS(".line li a")),
		chromedp.KeyEvent(kb.Enter), tab.Evaluate("document.title", &shown)); err != nil ||
		!strings.HasPrefix(shown, "/web/2") {
		return errors.Join(err, fmt.Errorf("a version is shown at %q", shown))
	}
	return nil
}
