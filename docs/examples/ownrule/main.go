// Command ownrule crawls a site with a rule of its own: links to pages with a query are followed from the front page
// only.
//
//	go run ./docs/examples/ownrule -contact you@example.org https://example.org/
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"

	"henro"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ownrule:", err)
		os.Exit(1)
	}
}

// admit is asked of every link that scope, depth, robots.txt and the other rules take.
func admit(from, to string) bool {
	page, err := url.Parse(from)
	if err != nil {
		return false
	}
	link, err := url.Parse(to)
	return err == nil && (link.RawQuery == "" || page.Path == "/")
}

func run(ctx context.Context, out io.Writer, arguments []string) error {
	flags := flag.NewFlagSet("ownrule", flag.ContinueOnError)
	contact := flags.String("contact", "", "URL or mail address by which the site's operator reaches you")
	dir := flags.String("dir", "ownrule", "directory of the crawl")
	local := flags.Bool("local", false, "the site is on this machine: no rests between requests")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	settings := map[string]any{"depth": -1}
	if *local {
		settings["allow-private"], settings["delay"] = true, "0s"
	}
	summary, err := henro.Crawl(ctx, henro.Options{Dir: *dir, Seeds: flags.Args(), Contact: *contact,
		Settings: settings, Admit: admit, Log: os.Stderr})
	if err != nil {
		return err
	}
	skipped, err := json.Marshal(summary.Skipped)
	fmt.Fprintf(out, "%d pages, ended: %s, links not taken: %s\n", summary.Pages, summary.End, skipped)
	return err
}
