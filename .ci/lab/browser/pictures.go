package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"henro/.ci/lab/tab"
)

// depict archives pictures of a page, as a slave with a browser does: before it was captured, and now.
func (b *browser) depict(page string) error {
	var records bytes.Buffer
	var index []string
	for i, at := range []time.Time{time.Now().Add(-25 * time.Hour).UTC(), time.Now().UTC()} {
		for name, size := range map[string]image.Point{"urn:view:": {1280, 720}, "urn:view-390:": {390, 844}} {
			shown := image.NewRGBA(image.Rectangle{Max: size})
			draw.Draw(shown, shown.Rect, image.White, image.Point{}, draw.Src)
			block := image.Rect(40, 60+i*120, size.X-40, 160+i*120)
			draw.Draw(shown, block, image.NewUniform(color.RGBA{0x39, 0x55, 0x8f, 0xff}), image.Point{}, draw.Src)
			var body bytes.Buffer
			if err := png.Encode(&body, shown); err != nil {
				return err
			}
			begin := records.Len()
			fmt.Fprintf(&records, "WARC/1.1\r\nWARC-Type: resource\r\n"+
				"WARC-Record-ID: <urn:uuid:%08d-0000-4000-8000-%012d>\r\n"+
				"WARC-Target-URI: %s%s\r\nWARC-Date: %s\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n",
				i, size.X, name, page, at.Format(time.RFC3339), body.Len())
			records.Write(body.Bytes())
			records.WriteString("\r\n\r\n")
			index = append(index, fmt.Sprintf(`%s %s {"url":"%s","mime":"image/png","digest":"%d-%d",`+
				`"length":"%d","offset":"%d","filename":"pictures.warc"}`+"\n", name+page, at.Format("20060102150405"),
				name+page, i, size.X, records.Len()-begin, begin))
		}
	}
	slices.Sort(index)
	folder := filepath.Join(b.dir, "crawl", "warc")
	return errors.Join(os.WriteFile(filepath.Join(folder, "pictures.warc"), records.Bytes(), 0o600),
		os.WriteFile(filepath.Join(folder, "pictures.cdxj"), []byte(strings.Join(index, "")), 0o600))
}

// openLooks opens the pictures of versions, if the page has some, and waits until they are there.
func (b *browser) openLooks() error {
	const open = `(() => {
		document.querySelectorAll("details.look").forEach(look => look.open = true);
		const all = [...document.querySelectorAll("details.look img")];
		all.forEach(picture => picture.loading = "eager");
		return all.every(picture => picture.complete && picture.naturalWidth > 0);
	})()`
	if err := until(b.ctx, func() bool {
		var there bool
		return b.do(tab.Evaluate(open, &there)) == nil && there
	}); err != nil {
		return fmt.Errorf("pictures of versions: %w", err)
	}
	return nil
}

// countLooks says how many pairs of pictures a page shows.
func (b *browser) countLooks() (n int, err error) {
	return n, b.do(tab.Evaluate(`document.querySelectorAll("details.look img[alt='']").length`, &n))
}

// everywhere takes pictures of a page as everybody may see it: wide and narrow, light and dark, in both languages.
func (b *browser) everywhere(name string, show func() error) error {
	if b.screens == "" {
		return nil
	}
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			for _, language := range []string{"en", "ja"} {
				if err := errors.Join(b.look(scheme, language, width, 860), show(), b.openLooks()); err != nil {
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
