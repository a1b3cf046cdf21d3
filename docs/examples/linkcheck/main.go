// Command linkcheck crawls a site and lists its broken links, each with a page that has it.
//
//	go run ./docs/examples/linkcheck -contact you@example.org https://example.org/
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"henro"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "linkcheck:", err)
		os.Exit(1)
	}
}

var errBroken = errors.New("links are broken")

func run(ctx context.Context, out io.Writer, arguments []string) error {
	flags := flag.NewFlagSet("linkcheck", flag.ContinueOnError)
	contact := flags.String("contact", "", "URL or mail address by which the site's operator reaches you")
	dir := flags.String("dir", "linkcheck", "directory of the crawl")
	local := flags.Bool("local", false, "the site is on this machine: no rests between requests")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	settings := map[string]any{"depth": -1, "again": true, "verify-tls": true}
	if *local {
		settings["allow-private"], settings["delay"] = true, "0s"
	}
	summary, err := henro.Crawl(ctx, henro.Options{Dir: *dir, Seeds: flags.Args(), Contact: *contact,
		Settings: settings, Log: os.Stderr})
	if err != nil {
		return err
	}
	results, err := henro.Open(*dir)
	if err != nil {
		return err
	}
	defer results.Close()
	causes := map[string]string{}
	for page, err := range results.Pages() {
		if err != nil {
			return err
		}
		if page.Cause != "" {
			causes[page.URL] = page.Cause
		}
	}
	broken := 0
	for link, err := range results.Links() {
		if err != nil {
			return err
		}
		if cause := causes[link.To]; cause != "" {
			fmt.Fprintf(out, "%s: %s links to %s %q\n", cause, link.From, link.To, link.Anchor)
			broken++
		}
	}
	fmt.Fprintf(out, "%d pages, %d links, %d broken\n", summary.Pages, summary.Links, broken)
	if broken > 0 {
		return errBroken
	}
	return nil
}
