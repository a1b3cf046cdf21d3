package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/messages/weburl"
)

func newMissingCommand() *cobra.Command {
	var l look
	var asJSON bool
	cmd := &cobra.Command{
		Use: "missing DIR [PREFIX|HOST]", Short: "List the pages that are not whole, and what each of them lacks",
		Long: `List the pages that were archived without something that a browser loads to show them, with the
reason: it waits, robots.txt forbids it, its class is left out by --requisites … What its host answers with 404
or the like is not missing, since a browser gets no more; 429 and 5xx are failures. A page that its scripts
make of what they fetch is listed as well, since they were not run. The last line counts. All is read from the
state, also while the crawl runs.

With a PREFIX of URLs, or a HOST, only pages below it are looked at.`,
		Example: `  henro missing crawl
  henro missing crawl https://example.org/docs/
  henro missing --json crawl | jq -r 'select(.missing) | .missing[] | [.missing, .url] | @tsv' | sort | uniq -c`,
		Args: config.Takes(1, 2,
			"of which crawl? henro missing crawl, or henro missing crawl https://example.org/docs/"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			l.dir = arguments[0]
			prefixes := []string{""}
			if len(arguments) == 2 {
				var err error
				if prefixes, err = prefixesOf(arguments[1]); err != nil {
					return err
				}
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			show := &missingShown{out: out, json: asJSON}
			for _, prefix := range prefixes {
				whole, err := l.door().Missing(cmd.Context(), prefix, show.page)
				if err != nil {
					return errors.Join(lookError(l.dir, err), out.Flush())
				}
				show.count(whole)
			}
			return errors.Join(show.end(), out.Flush())
		},
	}
	l.control.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "a line of JSON for each page, and a last one that counts")
	return cmd
}

// prefixesOf are the prefixes of URLs that a prefix or a host means: a host without a scheme has two.
func prefixesOf(what string) ([]string, error) {
	if u, err := weburl.Parse(what); err == nil {
		return []string{u.String()}, nil
	}
	if strings.ContainsAny(what, "/?# ") || what == "" {
		return nil, config.Usage("%q: want a prefix of URLs such as https://example.org/docs/, or a host", what)
	}
	return []string{"https://" + what + "/", "http://" + what + "/"}, nil
}

// missingShown writes pages that are not whole, and counts all.
type missingShown struct {
	out   *bufio.Writer
	json  bool
	whole reading.Wholeness
}

func (s *missingShown) page(p *reading.PageMissing) error {
	if s.json {
		return json.NewEncoder(s.out).Encode(p)
	}
	fmt.Fprintln(s.out, p.URL)
	for _, r := range p.Missing {
		fmt.Fprintf(s.out, "  %s\n", requisiteLine(r))
	}
	if p.More > 0 {
		fmt.Fprintf(s.out, "  and %d more\n", p.More)
	}
	return nil
}

func (s *missingShown) count(w *reading.Wholeness) {
	reasons := s.whole.Reasons
	if reasons == nil {
		reasons = map[string]uint64{}
	}
	for reason, n := range w.Reasons {
		reasons[reason] += n
	}
	s.whole = reading.Wholeness{Pages: s.whole.Pages + w.Pages, Whole: s.whole.Whole + w.Whole,
		Lacked: s.whole.Lacked + w.Lacked, Reasons: reasons, Seconds: s.whole.Seconds + w.Seconds, At: w.At}
}

// end writes the total.
func (s *missingShown) end() error {
	if s.json {
		return json.NewEncoder(s.out).Encode(&s.whole)
	}
	fmt.Fprintf(s.out, "%d of %d pages are whole (%.2f %%)", s.whole.Whole, s.whole.Pages, 100*s.whole.Share())
	separator := "; missing: "
	for _, reason := range slices.Sorted(maps.Keys(s.whole.Reasons)) {
		fmt.Fprintf(s.out, "%s%s %d", separator, reason, s.whole.Reasons[reason])
		separator = ", "
	}
	_, err := fmt.Fprintln(s.out)
	return err
}
