package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/actors/reading/far"
	"henro/cmd/config"
	"henro/messages/posted"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/archive/captures"
)

// look reads a crawl from its directory, or asks the process that runs it.
type look struct {
	control
}

// door leads to the crawl.
func (l *look) door() *reading.Door {
	return &reading.Door{Dir: l.dir, Away: l.address != "",
		Ask: func(ctx context.Context, path string) (io.ReadCloser, error) {
			return l.open(ctx, http.MethodGet, path, nil)
		}}
}

// found reads one thing, from the directory or from the running crawl.
func found[T any](l *look, cmd *cobra.Command, path string, find func(*reading.Crawl) (*T, error)) (*T, error) {
	thing, err := reading.Find(cmd.Context(), l.door(), path, find)
	return thing, lookError(l.dir, err)
}

// tell prints what is found.
func tell[T any](l *look, cmd *cobra.Command, path string, find func(*reading.Crawl) (*T, error),
	words func(io.Writer, *T) error) error {
	thing, err := found(l, cmd, path, find)
	if err != nil {
		return err
	}
	return shown(cmd, thing, words)
}

func newPageCommand() *cobra.Command {
	var l look
	cmd := &cobra.Command{
		Use: "page URL", Short: "Say what is known of a page, and when it is due",
		Example: "  henro page https://example.org/ --dir crawl\n  henro page --json https://example.org/ | jq .says",
		Args:    config.Takes(1, 1, "which page? henro page https://example.org/"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := isURL(arguments[0]); err != nil {
				return err
			}
			if is, err := far.In(l.dir, config.FindBucket, notesTo(cmd.ErrOrStderr()), func(a *captures.Archive) error {
				found, err := far.Page(a, arguments[0])
				if err != nil {
					return err
				}
				return shown(cmd, found, printFar)
			}); is {
				return err
			}
			return tell(&l, cmd, "/api/page?url="+url.QueryEscape(arguments[0]),
				func(c *reading.Crawl) (*reading.PageFound, error) { return c.Page(arguments[0]) }, printPage)
		},
	}
	l.register(cmd)
	cmd.Flags().Bool("json", false, "the whole record as JSON")
	return cmd
}

func newHostCommand() *cobra.Command {
	var l look
	cmd := &cobra.Command{
		Use: "host NAME", Short: "Say what is known of a host, or tell the crawl something of one",
		Example: "  henro host example.org --dir crawl\n  henro host exclude https://example.org",
		Args:    config.Takes(1, 1, "which host? henro host example.org"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return tell(&l, cmd, "/api/host?host="+url.QueryEscape(arguments[0]),
				func(c *reading.Crawl) (*reading.HostFound, error) { return c.Host(arguments[0]) }, printHost)
		},
	}
	l.register(cmd)
	cmd.Flags().Bool("json", false, "the whole record as JSON")
	for _, verb := range []*cobra.Command{newAliasCommand(), newExcludeCommand(), newURLRulesCommand()} {
		cmd.AddCommand(takesCrawl(verb, 1))
	}
	return cmd
}

// shown prints a thing in words, or with --json as JSON.
func shown[T any](cmd *cobra.Command, thing T, words func(io.Writer, T) error) error {
	if asJSON, err := cmd.Flags().GetBool("json"); err == nil && asJSON {
		return printJSON(cmd.OutOrStdout(), thing)
	}
	return words(cmd.OutOrStdout(), thing)
}

// isURL says what is wrong with an argument that is to be a URL.
func isURL(argument string) error {
	if _, err := weburl.Parse(argument); err != nil {
		return config.Usage("%q is no URL: want a whole one, such as https://example.org/", argument)
	}
	return nil
}

// printFar says what a bucket tells of a page.
func printFar(w io.Writer, found *reading.PageFound) error {
	fmt.Fprintf(w, "%s\n", posted.Readable(found.Page.URL))
	printCaptures(w, found)
	fmt.Fprintln(w, "state     not in a bucket: its timetable, links and requisites are known where the crawl runs")
	return nil
}

// printPage explains a page in words.
func printPage(w io.Writer, found *reading.PageFound) error {
	p := &found.Page
	fmt.Fprintln(w, posted.Readable(p.URL))
	fmt.Fprintf(w, "number    %d, a %s, %d links from a seed\n", p.Number, found.Role, p.Depth)
	switch {
	case p.LastVisit.IsZero() && found.Place == store.InFresh.String():
		fmt.Fprintf(w, "visited   never: it waits in the frontier, band %d", p.Band)
		if p.Attempts > 0 {
			fmt.Fprintf(w, ", after %d failed visits, the last for %s", p.Attempts, found.Cause)
		}
		fmt.Fprintln(w)
	case p.LastVisit.IsZero():
		fmt.Fprintf(w, "visited   never: %s\n", found.Cause)
	case p.Reason != 0:
		fmt.Fprintf(w, "visited   %s: %s\n", moment(p.LastVisit), found.Cause)
	default:
		fmt.Fprintf(w, "visited   %s: status %d", moment(p.LastVisit), p.Status)
		if !p.CapturedAt.IsZero() {
			fmt.Fprintf(w, ", content of %s", moment(p.CapturedAt))
		}
		if !found.Cause.IsZero() {
			fmt.Fprintf(w, "; %s", found.Cause)
		}
		fmt.Fprintln(w)
	}
	if p.Flags&store.Imported != 0 {
		fmt.Fprintln(w, "imported  what was known of it at first came from an earlier archive")
	}
	if p.Near != "" {
		fmt.Fprintf(w, "near      %s\n", p.Near)
	}
	if p.SameAs != "" {
		fmt.Fprintf(w, "same as   %s\n", p.SameAs)
	}
	if !p.Next.IsZero() {
		fmt.Fprintf(w, "next      %s\n", moment(p.Next))
	}
	printList(w, "use", found.Use, strings.TrimSpace)
	printSays(w, found.Says)
	printCaptures(w, found)
	printRequisites(w, found)
	return nil
}

// printRequisites lists what a page is made of, what is missing first.
func printRequisites(w io.Writer, found *reading.PageFound) {
	printList(w, "made of", found.Requisites, requisiteLine)
	switch {
	case len(found.Requisites) == 0:
	case found.Lacks == 0:
		fmt.Fprintf(w, "%-9s the page is whole\n", "")
	default:
		fmt.Fprintf(w, "%-9s the page is not whole: %d missing\n", "", found.Lacks)
	}
}

// requisiteLine is one requisite in words.
func requisiteLine(r reading.Requisite) string {
	mark, says := "+", ""
	switch {
	case r.Missing != "":
		mark, says = "-", ": "+r.Says.String()
	case r.Status >= 400:
		says = fmt.Sprintf(": status %d", r.Status)
	}
	if r.From != "" {
		says += " (of " + r.From + ")"
	}
	return fmt.Sprintf("%s %-8s %s%s", mark, r.Kind, posted.Readable(r.URL), says)
}

// printCaptures lists what the archive has of a page, the latest first.
func printCaptures(w io.Writer, found *reading.PageFound) {
	printList(w, "captures", found.Captures, func(c reading.Capture) string {
		return fmt.Sprintf("%s  %3d  %8s  %s", moment(c.At), c.Status, sizeWords(uint64(c.Bytes)), c.Change)
	})
	if found.Earlier {
		fmt.Fprintf(w, "%-9s and earlier ones: henro diff DIR %s\n", "", found.Page.URL)
	}
}

// printSays puts the sentences of an explanation below each other.
func printSays(w io.Writer, says []speech.Sentence) {
	printList(w, "why", says, speech.Sentence.String)
}

// printList puts things below each other, in a line each, and a word before the first.
func printList[T any](w io.Writer, word string, things []T, line func(T) string) {
	for _, thing := range things {
		fmt.Fprintf(w, "%-9s %s\n", word, line(thing))
		word = ""
	}
}

func printJSON(w io.Writer, thing any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(thing)
}

// printHost explains a host in words.
func printHost(w io.Writer, h *reading.HostFound) error {
	now := time.Now()
	fmt.Fprintf(w, "%s\npages     %d known, %d visited, %d waiting", h.Name, h.Known, h.Had(), h.Waiting)
	if h.GivenUp > 0 {
		fmt.Fprintf(w, ", %d given up", h.GivenUp)
	}
	fmt.Fprintln(w)
	if h.NextAllowed.After(now) {
		fmt.Fprintf(w, "next      %s\n", moment(h.NextAllowed))
	}
	if s := h.Schedule; s.Worst > 0 {
		rounded := func(d time.Duration) time.Duration { return max(d.Round(time.Millisecond), time.Millisecond) }
		fmt.Fprintf(w, "answers   in %v lately, %v in the mean, %v at worst\n", rounded(s.Latest), rounded(s.Mean),
			rounded(s.Worst))
	}
	if !h.AskedAt.IsZero() {
		fmt.Fprintf(w, "asked     %s\n", moment(h.AskedAt))
	}
	printList(w, "errors", errorLines(h.Errors), strings.TrimSpace)
	if !h.Cause.IsZero() {
		fmt.Fprintf(w, "failed    %s, since %s: %s\n", moment(h.Failure.At), moment(h.Cause.Since), h.Cause)
	}
	printSays(w, h.Says)
	printList(w, "groups", h.Schedule.Groups, func(g reading.Group) string {
		return fmt.Sprintf("%s: %d pages, %d of them a sample; one changes every %s; of %d visits %.0f %% failed, "+
			"%.0f %% found a duplicate; %.1f new links a visit", g.Shape, g.Pages, g.Representatives,
			speech.Say("%s", g.Every), g.Visits, 100*g.Errors, 100*g.Duplicates, g.News)
	})
	for _, e := range h.Stops {
		word := "stop list"
		if !e.Until.IsZero() && !e.Until.After(now) {
			word = "probation"
		}
		until := "for good"
		if !e.Until.IsZero() {
			until = "until " + moment(e.Until)
		}
		fmt.Fprintf(w, "%-9s %s %s, listed %d times in a row: %s\n", word, e.Prefix, until, e.Rounds, e.Evidence)
	}
	printURLRules(w, "URL rule  ", h.URLRules)
	rules := reading.Robots(&h.HostRecord)
	if rules == nil {
		why := "not asked yet"
		if !h.AskedAt.IsZero() {
			why = "could not be fetched"
		}
		fmt.Fprintln(w, "robots    "+why)
		return nil
	}
	fmt.Fprintf(w, "robots    %d rules, until %s\n", rules.Len(), moment(h.RobotsUntil))
	printList(w, "use", rules.Usage("/"), strings.TrimSpace)
	return nil
}

func newBackupCommand() *cobra.Command {
	var l look
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Copy the state to a tar file, also while the crawl runs",
		Long: "Copy the state, as of one moment, to a tar file. Unpacked into the state folder of an empty " +
			"directory, with a copy of crawl.json beside that folder, it is a crawl to resume.",
		Example: "  henro backup --dir crawl state.tar",
		Args:    config.Takes(1, 1, "to which file? henro backup --dir crawl state.tar"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			var n int64
			if err := writeFile(arguments[0], func(w io.Writer) (err error) {
				n, err = l.door().Backup(cmd.Context(), w)
				return lookError(l.dir, err)
			}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s in %s\n", sizeWords(uint64(n)), arguments[0])
			return nil
		},
	}
	l.register(cmd)
	return cmd
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
