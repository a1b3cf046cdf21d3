package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"

	"henro/.ci/lab/tab"
)

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
				if err := b.do(tab.Into(&png, chromedp.FullScreenshot(100))); err != nil {
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
