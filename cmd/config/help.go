package config

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group is a part of the flags of a command, under a title of its own in its help.
type Group struct {
	Title    string
	Register func(*pflag.FlagSet)
}

// AddFlags adds groups of flags to a command, has its help show them as such, and shells complete their values.
func AddFlags(cmd *cobra.Command, groups ...Group) {
	sets := make([]*pflag.FlagSet, len(groups))
	for i, group := range groups {
		sets[i] = pflag.NewFlagSet(group.Title, pflag.ContinueOnError)
		sets[i].SortFlags = false
		group.Register(sets[i])
		cmd.Flags().AddFlagSet(sets[i])
	}
	complete(cmd)
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n", c.UseLine())
		if c.HasExample() {
			fmt.Fprintf(&b, "\nExample:\n%s\n", c.Example)
		}
		for i, group := range groups {
			fmt.Fprintf(&b, "\n%s:\n%s", group.Title, sets[i].FlagUsages())
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
			"max-redirects", "obey-nofollow", "lang", "lang-beyond", "json-ld")},
		{"What to leave out", pick("mime", "obey-noindex", "stop-after", "trap-url", "trap-depth", "trap-repeats",
			"trap-growth", "trap-sessions", "host-pages")},
		{"How politely", pick("contact", "delay", "i-own-these-hosts", "profile", "politeness", "retries", "retry-wait",
			"patience", "relief")},
		{"How to fetch", pick("fetch-timeout", "max-body", "resolve", "dns", "allow-private",
			"allow-address", "verify-tls", "http1")},
		{"When to end", pick("pages", "for", "bytes", "continuous")},
		{"How to work", pick("frontier", "slots-b", "slots-h", "order", "partitions", "page-budget", "lease")},
	}
}
