package config

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// words are the values of the flags that take one of a few.
var words = map[string][]string{
	"scope":      {"host", "domain", "prefix", "any"},
	"profile":    {"polite", "archive"},
	"politeness": {"host", "ip", "domain"},
	"mime":       {"all", "html"},
	"browser":    {"off", "auto", "all"},
	"near":       {"off", "mark"},
	"url-rules":  {"off", "learn", "apply"},
	"sitemaps":   {"auto", "on", "off"},
	"aliases":    {"off", "mark"},
	"relief":     {"none", "stretch", "delay", "optimal", "news", "freshness", "age", "template"},
	"estimator":  {"drift", "eq4", "eq4-cumulative"},
	"frontier":   {"host", "ranked", "thesis", "thesis-whole"},
	"order":      {"breadth", "inlinks", "opic"},
	"log-level":  {"error", "warn", "info", "debug", "trace"},
	"progress":   {"auto", "off"},
}

// checkWords refuses other values. That of log-level may be any that logrus knows.
func checkWords(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		may := words[f.Name]
		if may != nil && f.Name != "log-level" && !slices.Contains(may, f.Value.String()) && err == nil {
			last := len(may) - 1
			err = Usage("--%s %q: want %s or %s", f.Name, f.Value, strings.Join(may[:last], ", "), may[last])
		}
	})
	return err
}

// complete lets a shell complete the values of flags: one of a few words, or a directory.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		suggest := cobra.FixedCompletions(slices.Clone(words[f.Name]),
			cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
		switch {
		case kind == "DIR":
			suggest = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case kind == "FILE":
			suggest = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, suggest); err != nil {
			panic(err) // a flag of another name, or a second time: neither happens
		}
	})
}
