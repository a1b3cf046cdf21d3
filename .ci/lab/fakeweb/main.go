// Command fakeweb serves a web of made-up hosts on loopback until it is interrupted. Pages and links follow from the
// seed and the options alone. It prints a seed and a --resolve value for every host, then "ready"; with --folder they
// are files too, beside an access log by which the politeness of a crawler can be measured, and twins.txt, which says
// of each page which text it has, if hosts have pages in common (--aliases and the flags below it).
//
//	go run ./.ci/lab/fakeweb --hosts 20 --pages 50 --folder web &
//	henro crawl --allow-private --delay 0 --seeds web/seeds.txt $(sed 's/^/--resolve /' web/resolve.txt)
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"henro/cmd/fakeweb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "fakeweb:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o := fakeweb.ServeOptions{Web: fakeweb.DefaultOptions()}
	f := pflag.NewFlagSet("fakeweb", pflag.ContinueOnError)
	etags := register(f, &o)
	if err := f.Parse(args); err != nil {
		return err
	}
	w := &o.Web
	if !f.Changed("domains") {
		w.Domains = min(w.Domains, max(w.Hosts, 1))
	}
	if f.Changed("etags") {
		w.Validators = fakeweb.Validators{ETag: *etags}
	}
	err := fakeweb.Serve(ctx, os.Stdout, o) // which checks the options
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

func register(f *pflag.FlagSet, o *fakeweb.ServeOptions) (etags *float64) {
	w := &o.Web
	f.Uint64Var(&w.Seed, "seed", w.Seed, "names the web: equal options and seed give equal bytes")
	f.IntVar(&w.Hosts, "hosts", 10, "hosts")
	f.IntVar(&w.Domains, "domains", 4, "registrable domains that the hosts are spread over")
	f.IntVar(&w.Pages, "pages", 100, "pages of a host")
	f.IntVar(&w.Degree, "degree", 12, "links of a page")
	f.Float64Var(&w.CrossShare, "cross", 0.1, "share of links that lead to other hosts")
	f.IntVar(&w.Depth, "layers", w.Depth, "layers of pages below the root of a host; 0 follows from --degree")
	f.IntVar(&w.PageBytes, "page-bytes", 4096, "bytes of a page, in the mean")
	f.IntVar(&w.TemplateBytes, "template-bytes", 0,
		"bytes of the style sheet and the image of every page, the same on all hosts; 0: some 100")
	f.DurationVar(&w.Latency.Mean, "latency", 0, "time a host takes before it answers, in the mean")
	f.Float64Var(&w.Latency.Spread, "latency-spread", 0, "sd of its logarithm over hosts")
	f.Float64Var(&w.Latency.Jitter, "latency-jitter", w.Latency.Jitter, "sd of its logarithm within a host")
	f.Float64Var(&w.Pareto, "pareto", w.Pareto,
		"shape of the distribution of host sizes, above 1; 0: all hosts have --pages")
	f.Float64Var(&w.Robots.Delayed, "crawl-delays", w.Robots.Delayed,
		"share of hosts whose robots.txt asks for a delay of 2 s")
	f.Float64Var(&w.Errors.NotFound, "not-found", 0, "share of pages that answer 404")
	f.Float64Var(&w.Errors.Internal, "internal", 0, "share of pages that answer 500")
	f.Float64Var(&w.Errors.Timeout, "never-answering", 0, "share of pages that never answer")
	f.Float64Var(&w.Faults.Silent, "silent-hosts", 0, "share of hosts that never answer")
	f.Float64Var(&w.Faults.Dead, "dead-hosts", 0, "share of hosts that refuse connections")
	f.Float64Var(&w.Traps.Calendar, "calendars", 0, "share of hosts with an endless calendar")
	f.Float64Var(&w.Traps.Sessions, "mazes", 0, "share of hosts with a session id maze")
	f.Float64Var(&w.Changes.Share, "changing", 0, "share of pages that change")
	f.DurationVar(&w.Changes.Fastest, "change-fastest", time.Hour,
		"mean time between changes of the page that changes most often")
	f.DurationVar(&w.Changes.Slowest, "change-slowest", w.Changes.Slowest,
		"the same of the page that changes least often; all others lie between, spread evenly on the logarithm")
	etags = f.Float64("etags", 0,
		"share of hosts that send ETags and answer 304, the others sending no validators (default: 0.2 ETag, "+
			"0.2 Last-Modified, 0.3 both)")
	f.Float64Var(&w.TrivialShare, "moving-bars", w.TrivialShare,
		"share of hosts with a date and a counter in the navigation bar that move without the text")
	f.Float64Var(&w.RedirectShare, "redirects", 0, "share of pages reached through a redirect")
	f.Float64Var(&w.Japanese, "japanese", 0, "share of hosts in Japanese, in three encodings")
	flagsOfTwins(f, w)
	f.Float64Var(&w.Hints.Indexed, "indexed-sitemaps", 0,
		"share of hosts whose sitemap is an index of compressed parts")
	f.Float64Var(&w.Hints.Feeds, "feeds", 0, "share of hosts with an RSS or Atom feed of their latest changes")
	f.Float64Var(&w.Hints.Lying, "lying-sitemaps", 0, "share of hosts that say of every page that it has just changed")
	f.StringVar(&o.Folder, "folder", "", "write seeds.txt, resolve.txt and access.log into `DIR`")
	f.IntVar(&o.Listen.Addresses, "addresses", 1, "loopback addresses the hosts are spread over, from 127.0.0.1 on")
	f.Uint16Var(&o.Listen.Port, "port", 0, "port on every address; 0 is one that is free")
	return etags
}

// flagsOfTwins are those of pages that have something in common, or look as if they had.
func flagsOfTwins(f *pflag.FlagSet, w *fakeweb.Options) {
	f.Float64Var(&w.Traps.SoftNotFound, "soft-not-found", 0,
		"share of hosts on which what does not exist answers 200 and the words \"not found\"")
	f.Float64Var(&w.Twins.Aliases, "aliases", 0,
		"share of hosts that answer under www.NAME and hostNNNN.copies.test too")
	f.Float64Var(&w.Twins.Moved, "moved", 0,
		"share of hosts a quarter of whose links name other hosts, which redirect to the same path, to the root, or "+
			"to either")
	f.Float64Var(&w.Twins.Counters, "counters", 0, "share of hosts on whose root words are others at each visit")
	f.Float64Var(&w.Twins.Mirrors, "mirrors", 0,
		"share of hosts with a folder /mirror/ that has the pages of the next host")
	f.Float64Var(&w.Twins.Dust, "dust", 0,
		"share of hosts a quarter of whose links have session ids, tracking parameters, default documents or a slash "+
			"at the end")
	f.Float64Var(&w.Twins.Variants, "variants", 0,
		"share of hosts half of whose links have a sort order, a number ?p=N, parameters in another order or "+
			"capitals, for the same page")
	f.Float64Var(&w.Twins.Lookalikes, "lookalikes", 0,
		"share of those on which capitals name other pages, and sort orders and numbers do for a quarter of the pages")
	f.Float64Var(&w.Twins.Near, "near", 0, "share of hosts with copies of half of their pages in which words differ")
	f.Float64Var(&w.Twins.Templates, "templates", 0,
		"share of hosts whose pages are items, which never change, and lists, which change most often")
	f.Float64Var(&w.Twins.Parked, "parked", 0, "share of hosts that are for sale and have the same four pages")
	f.Float64Var(&w.Twins.Fronts, "fronts", 0, "share of hosts whose root is the same page, and all else is not")
	f.Float64Var(&w.Twins.Translations, "translations", 0,
		"share of hosts that answer in Japanese under ja.NAME, with the same paths")
}
