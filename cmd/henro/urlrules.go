package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/master"
	"henro/messages/weburl"
)

func newURLRulesCommand() *cobra.Command {
	var l look
	var posted master.URLRulePosted
	words := map[string]*string{"apply": new(string), "forget": new(string), "learn": new(string)}
	cmd := &cobra.Command{
		Use: "url-rules [HOST]", Short: "List the differences between URLs that do not change pages, or say which do",
		Long: `List the hosts with the differences between their URLs that do not change the page, as --url-rules learns
them: a parameter, the default document of a folder, a slash at the end, the case of the path, the order of parameters.

--forget RULE says that the difference means another page, whatever the pages show: URLs that were not visited for it
are visited then. --apply RULE says that it does not, and --learn RULE leaves it to the pages again. RULE is written as
in the list. All three are kept over restarts.`,
		Example: `  henro host url-rules
  henro host url-rules https://example.org --forget "parameter lang"
  henro host url-rules https://example.org --apply "slash at the end"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			for word, rule := range words {
				if *rule != "" {
					if posted.Word != "" {
						return config.Usage("one of --apply, --forget and --learn at a time")
					}
					posted.Word, posted.Rule = word, *rule
				}
			}
			if len(arguments) > 0 {
				posted.Host = arguments[0]
			}
			if posted.Word == "" {
				return listURLRules(cmd, &l, posted.Host)
			}
			if posted.Host == "" {
				return config.Usage("of which host? henro host url-rules https://example.org --%s %q", posted.Word,
					posted.Rule)
			}
			if err := l.ask(cmd.Context(), http.MethodPost, "/api/url-rules", posted, &posted); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, %s: %s\n", posted.Host, posted.Rule, map[string]string{
				"apply": "applied, whatever the pages show", "forget": "not applied, whatever the pages show",
				"learn": "learnt from the pages"}[posted.Word])
			return nil
		},
	}
	l.register(cmd)
	cmd.Flags().StringVar(words["apply"], "apply", "", "a rule of HOST that holds, whatever the pages show")
	cmd.Flags().StringVar(words["forget"], "forget", "", "a rule of HOST that does not hold, whatever the pages show")
	cmd.Flags().StringVar(words["learn"], "learn", "", "a rule of HOST that is learnt from the pages again")
	cmd.Flags().Bool("json", false, "as JSON")
	return cmd
}

func listURLRules(cmd *cobra.Command, l *look, host string) error {
	all, err := found(l, cmd, "/api/url-rules", (*reading.Crawl).URLRules)
	if err != nil {
		return err
	}
	if host != "" {
		all.Hosts = slices.DeleteFunc(all.Hosts, func(h reading.HostURLRules) bool {
			return h.Host != host && weburl.HostName(h.Host) != host
		})
	}
	return shown(cmd, all, func(w io.Writer, all *reading.URLRulesReported) error {
		for _, h := range all.Hosts {
			fmt.Fprintln(w, h.Host)
			printURLRules(w, "  ", h.Rules)
		}
		return nil
	})
}

func printURLRules(w io.Writer, before string, rules []reading.URLRule) {
	for _, r := range rules {
		word := "learning"
		switch {
		case r.Person == "apply":
			word = "applied, as set by hand"
		case r.Person == "forget":
			word = "not applied, as set by hand"
		case r.Applied:
			word = "applied"
		}
		fmt.Fprintf(w, "%s%s: %s, confirmed %d times of %d, contradicted %d, spared %d URLs, tested %d\n", before,
			r.Rule, word, r.Confirmed, r.Needs, r.Contradicted, r.Spared, r.Tested)
	}
}
