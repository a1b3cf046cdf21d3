package main

import (
	"context"
	"os"

	"github.com/chromedp/chromedp"

	"henro/cmd/qa"
)

// browser starts a Chromium for the context that it returns.
func browser(ctx context.Context) (context.Context, func(), error) {
	path, err := qa.FindBrowser()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	return ctx, func() { closeTab(); end() }, chromedp.Do(ctx)
}

// parseHTML is parse5.mjs for Chromium's own parser, whose scripts are off too.
const parseHTML = `(page) => {
	const found = {a: [], frame: [], base: null};
	const look = (markup, silent) => {
		const at = new DOMParser().parseFromString(markup, "text/html");
		const SVG = "http://www.w3.org/2000/svg";
		for (const e of at.querySelectorAll("*")) {
			const isHTML = e.namespaceURI === "http://www.w3.org/1999/xhtml", name = e.localName;
			const quiet = silent || !!e.parentElement?.closest("noscript");
			const value = (name) => e.getAttribute(name);
			if (isHTML && (name === "a" || name === "area")) found.a.push(value("href"));
			if (e.namespaceURI === SVG && name === "a")
				found.a.push(value("href") ?? e.getAttributeNS("http://www.w3.org/1999/xlink", "href"));
			if (isHTML && (name === "frame" || name === "iframe") && !quiet) found.frame.push(value("src"));
			if (isHTML && name === "base" && !quiet) found.base ??= value("href");
			if (isHTML && name === "iframe" && value("srcdoc")) look(value("srcdoc"), quiet);
		}
	};
	look(page, false);
	found.a = found.a.filter((s) => s !== null);
	found.frame = found.frame.filter((s) => s !== null);
	return found;
}`
