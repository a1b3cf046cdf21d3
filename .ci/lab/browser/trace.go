package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// traced records the mailboxes of a master and its slaves, and looks at the page that a recording becomes: it has
// messages of every node, steps through them, and goes from one to its cause on another node.
func (b *browser) traced() error {
	henro, file := filepath.Join(b.bin, "henro"), filepath.Join(b.dir, "mailboxes.jsonl")
	for _, arguments := range [][]string{
		{"trace", "--record", file, "--for", "5s", "--most", "5000", "--master", strings.TrimPrefix(b.base, "http://")},
		{"trace", "--replay", file},
	} {
		if out, err := exec.CommandContext(b.ctx, henro, arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("henro %s: %w: %s", strings.Join(arguments, " "), err, out)
		}
	}
	b.mu.Lock()
	b.bases = append(b.bases, "file://"+b.dir)
	b.mu.Unlock()
	page := "file://" + strings.TrimSuffix(file, ".jsonl") + ".html"
	if err := b.do(chromedp.Navigate(page), chromedp.WaitVisible("#drawing .event",
		chromedp.ByQuery)); err != nil {
		return fmt.Errorf("the page of the recording: %w", err)
	}
	var nodes int
	if err := b.do(chromedp.Evaluate(`new Set(events.map(e => e.node)).size`, &nodes)); err != nil || nodes != 4 {
		return errors.Join(err, fmt.Errorf("messages of %d nodes were recorded, want a master and 3 slaves", nodes))
	}
	// what a slave reports is handled by the master, which the slave's own message caused
	var across int
	if err := b.do(chromedp.Evaluate(`events.filter(e => e.by >= 0 && events[e.by].node != e.node).length`,
		&across)); err != nil || across == 0 {
		return errors.Join(err, fmt.Errorf("%d messages have their cause on another node", across))
	}
	var first, stepped, cause string
	if err := b.do(
		chromedp.SendKeys("#search", "report", chromedp.ByQuery),
		chromedp.Evaluate(`document.activeElement.blur();
			pick(events.find(e => e.by >= 0 && events[e.by].node != e.node).i)`, nil),
		chromedp.Text("#about", &first, chromedp.ByQuery),
		chromedp.KeyEvent(kb.ArrowDown), chromedp.Text("#about", &stepped, chromedp.ByQuery),
		chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowLeft), chromedp.Text("#about", &cause,
			chromedp.ByQuery)); err != nil {
		return err
	}
	if first == "" || first == cause || first == stepped {
		return fmt.Errorf("keys lead nowhere: %q, down %q, to its cause %q", first, stepped, cause)
	}
	return b.everywhere("trace", func() error {
		return b.do(chromedp.Navigate(page), chromedp.WaitVisible("#drawing .event",
			chromedp.ByQuery))
	})
}

// everywhere takes pictures of a page as everybody may see it: wide and narrow, light and dark, in both languages.
func (b *browser) everywhere(name string, show func() error) error {
	if b.screens == "" {
		return nil
	}
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			for _, language := range []string{"en", "ja"} {
				if err := errors.Join(b.look(scheme, language, width, 860), show()); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				var png []byte
				if err := b.do(chromedp.FullScreenshot(&png, 100)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				file := fmt.Sprintf("%s-%d-%s-%s.png", name, width, scheme, language)
				if err := os.WriteFile(filepath.Join(b.screens, file), png, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return b.look("light", "en", 1280, 860)
}
