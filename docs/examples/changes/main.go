// Command changes visits a site again at each run, and lists the pages whose content has changed since the last.
//
//	go run ./docs/examples/changes -contact you@example.org https://example.org/
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"

	"henro"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "changes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, arguments []string) error {
	flags := flag.NewFlagSet("changes", flag.ContinueOnError)
	contact := flags.String("contact", "", "URL or mail address by which the site's operator reaches you")
	dir := flags.String("dir", "changes", "directory of the crawl")
	local := flags.Bool("local", false, "the site is on this machine: no rests between requests")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	settings := map[string]any{"depth": -1, "again": true, "requisites": "off"}
	if *local {
		settings["allow-private"], settings["delay"] = true, "0s"
	}
	before, err := digests(*dir)
	if err != nil {
		return err
	}
	if _, err := henro.Crawl(ctx, henro.Options{Dir: *dir, Seeds: flags.Args(), Contact: *contact, Settings: settings,
		Log: os.Stderr}); err != nil {
		return err
	}
	after, err := digests(*dir)
	for _, url := range slices.Sorted(maps.Keys(after)) {
		if before[url] != after[url] {
			fmt.Fprintln(out, url)
		}
	}
	return err
}

// digests are those of all pages that a crawl has archived, by URL; none before its first run.
func digests(dir string) (map[string]string, error) {
	of := map[string]string{}
	results, err := henro.Open(dir)
	if errors.Is(err, henro.ErrNoCrawl) {
		return of, nil
	}
	if err != nil {
		return nil, err
	}
	defer results.Close()
	for page, err := range results.Pages() {
		if err != nil {
			return nil, err
		}
		if page.Digest != "" {
			of[page.URL] = page.Digest
		}
	}
	return of, nil
}
