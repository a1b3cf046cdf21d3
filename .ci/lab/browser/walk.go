package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"henro/.ci/lab/tab"
)

// number numbers the controls of a page that can be seen, and stops its parts from being replaced.
const number = `(() => {
	document.getElementById("hold")?.click();
	const all = [...document.querySelectorAll(
		"a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
		.filter(e => e.checkVisibility() && !e.disabled);
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
		if err := b.walkPage(b.path(view)); err != nil {
			all = append(all, fmt.Errorf("%s: %w", view, err))
		}
	}
	return errors.Join(append(all, b.enterHour())...)
}

func (b *browser) walkPage(path string) error {
	var count int
	if err := b.do(b.to(path), chromedp.WaitReady(chromedp.CSS("footer")), tab.Evaluate(number, &count)); err != nil {
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
			all = append(all, fmt.Errorf("control %d of %d after %d, focus shown %v: %s", index, count, next-1, shown, at))
		}
		if next = index + 1; len(all) > 5 {
			break
		}
	}
	if next < count || count < 10 {
		all = append(all, fmt.Errorf("the last control reached is %d of %d", next, count))
	}
	return errors.Join(all...)
}

// enterHour opens the changes of an hour by keyboard.
func (b *browser) enterHour() error {
	var hash, text string
	if err := b.do(b.to("/week"), chromedp.WaitVisible(chromedp.CSS(".heat a")), chromedp.Focus(chromedp.CSS(".heat a")),
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
