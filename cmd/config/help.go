package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group is a part of the flags of a command, under a title of its own in its help.
type Group struct {
	Title    string
	Register func(*pflag.FlagSet)
}

// Everyday are the flags that --help shows, and docs/flags.md before the others; --help all shows them all.
var Everyday = []string{
	"dir", "seeds", "depth", "scope", "include", "exclude", "lang", "contact", "delay", "i-own-these-hosts",
	"resolve", "allow-private", "max-body", "fetch-timeout", "pages", "for", "bytes", "continuous", "again",
	"connections", "listen-http", "token-file", "progress", "config", "log-level",
	"name", "gossip", "actors", "advertise", "join", "key", "collect",
}

// showsAll is how many flags a command may have without hiding any from --help.
const showsAll = 24

// AddFlags adds groups of flags to a command, has its help show them as such, and shells complete their values.
func AddFlags(cmd *cobra.Command, groups ...Group) {
	all, count := false, 0
	sets := make([]*pflag.FlagSet, len(groups))
	for i, group := range groups {
		sets[i] = pflag.NewFlagSet(group.Title, pflag.ContinueOnError)
		sets[i].SortFlags = false
		group.Register(sets[i])
		cmd.Flags().AddFlagSet(sets[i])
		sets[i].VisitAll(func(*pflag.Flag) { count++ })
	}
	complete(cmd)
	cmd.SetHelpFunc(func(c *cobra.Command, arguments []string) {
		all = slices.Contains(arguments, "all")
		fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", strings.TrimSpace(cmp.Or(c.Long, c.Short)), c.UsageString())
	})
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		if c != cmd { // a command below has its own flags
			return new(cobra.Command).UsageFunc()(c)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
		if c.HasExample() {
			fmt.Fprintf(&b, "\nExample:\n%s\n", c.Example)
		}
		for i, group := range groups {
			shown := pflag.NewFlagSet(group.Title, pflag.ContinueOnError)
			shown.SortFlags = false
			sets[i].VisitAll(func(f *pflag.Flag) {
				if all || count <= showsAll || slices.Contains(Everyday, f.Name) {
					shown.AddFlag(f)
				}
			})
			if shown.HasFlags() {
				fmt.Fprintf(&b, "\n%s:\n%s", group.Title, shown.FlagUsages())
			}
		}
		if !all && count > showsAll {
			fmt.Fprintf(&b, "\nOf %d flags these are the ones of every day: %s --help all shows the others, as "+
				"docs/flags.md does.\n", count, c.CommandPath())
		}
		fmt.Fprintf(&b,
			"\nA flag beats its variable %s… in the environment, that beats henro.yaml, that beats the default.\n",
			EnvironmentPrefix)
		_, err := fmt.Fprint(c.OutOrStderr(), b.String())
		return err
	})
}

// Groups returns the flags of a crawl, in the order in which people look for them.
func (c *Crawl) Groups() []Group {
	all := pflag.NewFlagSet("all", pflag.ContinueOnError)
	c.Register(all)
	pick := func(names ...string) func(*pflag.FlagSet) {
		return func(f *pflag.FlagSet) {
			for _, name := range names {
				f.AddFlag(all.Lookup(name))
			}
		}
	}
	return []Group{
		{"What to crawl", pick("dir", "seeds", "depth", "scope", "include", "exclude", "tld", "stop-list", "sitemaps",
			"requisites", "topic-min", "lang")},
		{"What to leave out", pick("mime", "obey", "stop-after", "traps", "host-pages")},
		{"How politely", pick("contact", "delay", "i-own-these-hosts", "profile", "politeness",
			"parallel", "retries", "patience", "window")},
		{"When to come back", pick("continuous", "again", "every", "revisit-min",
			"revisit-max", "revisit-first", "aim", "relief", "estimator")},
		{"How to fetch", pick("fetch-timeout", "max-body", "resolve", "dns", "allow-private",
			"verify-tls", "http1", "proxy", "browser", "render", "behaviour")},
		{"Sites that want more", pick("header", "basic", "cookies", "bot-key")},
		{"When to end", pick("pages", "for", "bytes")},
		{"How to work", pick("frontier", "order", "topic", "near", "url-rules", "aliases", "page-budget")},
	}
}
