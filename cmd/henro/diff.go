package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/fingerprint"
	"henro/store/report/brought"
)

func newDiffCommand() *cobra.Command {
	// less than 292 years apart: a time.Duration holds no more
	from, to := time.Unix(0, 0), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	cmd := &cobra.Command{
		Use:   "diff DIR URL",
		Short: "List the versions of a page in the archive, and show what changed",
		Long: `List the captures of a page: when, status, size, and how its content compares with the capture
before: unchanged (a revisit, or the same bytes), same text (only what surrounds it changed), about the same
(fewer than one bit in eight of the fingerprints differ), or changed. With --from and --to, show what changed
in the main text between the captures nearest to two moments, sentence by sentence.`,
		Example: `  henro diff crawl https://example.org/
  henro diff crawl https://example.org/ --from 2026-03-01 --to 2026-03-14T12:00`,
		Args: config.Takes(2, 2, "of which crawl, which page? henro diff crawl https://example.org/"),
		RunE: func(cmd *cobra.Command, arguments []string) (err error) {
			url, err := weburl.Parse(arguments[1])
			if err != nil {
				return config.Usage("page %q: %v", arguments[1], err)
			}
			archive, err := openArchive(arguments[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, archive.Close()) }()
			if !cmd.Flags().Changed("from") && !cmd.Flags().Changed("to") {
				return listVersions(cmd.OutOrStdout(), archive, url)
			}
			return showChange(cmd.OutOrStdout(), archive, url, from, to)
		},
	}
	cmd.Flags().Var((*moments)(&from), "from",
		"`MOMENT` of the earlier version: 2026-03-14, 2026-03-14T12:00, 20260314120000 or RFC 3339, in UTC "+
			"(default: the first)")
	cmd.Flags().Var((*moments)(&to), "to", "`MOMENT` of the later version (default: the last)")
	return cmd
}

// listVersions lists the captures of a page.
func listVersions(w io.Writer, archive *captures.Archive, url weburl.URL) error {
	var before *pagetext.Text
	var digest string
	count, failed := 0, error(nil)
	err := archive.Captures(url, func(e cdxj.Entry) bool {
		if count++; count == 1 {
			fmt.Fprintf(w, "%-20s %6s %9s  %-33s %s\n", "at", "status", "bytes", "digest", "content")
		}
		same := e.Digest == digest || e.Mime == cdxj.Revisit && e.Digest == ""
		text, err := pagetext.Read(archive, e)
		bytes, verdict := "?", ""
		switch {
		case err != nil:
			verdict = err.Error()
		default:
			bytes = fmt.Sprint(text.Bytes)
			verdict = compared(before, text, same && digest != "")
			before, digest = text, e.Digest
		}
		_, failed = fmt.Fprintf(w, "%-20s %6d %9s  %-33s %s\n", e.At.UTC().Format(time.RFC3339), e.Status, bytes,
			e.Digest, verdict)
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if count == 0 {
		return fmt.Errorf("%s: %w", url, captures.ErrNotArchived)
	}
	return nil
}

// nearBits is how many of the 64 bits of two SimHashes may differ between texts that are about the same.
const nearBits = 8

// compared says how a version differs from the one before.
func compared(before, now *pagetext.Text, same bool) string {
	switch {
	case before == nil:
		return "first"
	case same:
		return "unchanged"
	case before.Main == now.Main:
		return "same text"
	}
	bits := fingerprint.Distance(before.Sim, now.Sim)
	if bits < nearBits {
		return fmt.Sprintf("about the same (%d of 64 bits)", bits)
	}
	return fmt.Sprintf("changed (%d of 64 bits)", bits)
}

// showChange shows the difference of two versions.
func showChange(w io.Writer, archive *captures.Archive, url weburl.URL, from, to time.Time) error {
	var versions [2]*pagetext.Text
	var at [2]time.Time
	for i, moment := range [2]time.Time{from, to} {
		place, err := archive.Closest(url, moment)
		if err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
		if versions[i], err = pagetext.Read(archive, place.Entry); err != nil {
			return fmt.Errorf("%s of %s: %w", url, place.At.UTC().Format(time.RFC3339), err)
		}
		at[i] = place.At.UTC()
	}
	if at[0].Equal(at[1]) {
		fmt.Fprintf(w, "both moments are nearest to the capture of %s\n", at[0].Format(time.RFC3339))
		return nil
	}
	change := brought.Diff(url.String(), versions[0].Sentences(), versions[1].Sentences(), at[0], at[1])
	if change == "" {
		fmt.Fprintf(w, "the main text of %s and %s is the same\n", at[0].Format(time.RFC3339),
			at[1].Format(time.RFC3339))
		return nil
	}
	_, err := io.WriteString(w, change)
	return err
}

// moments is a flag that takes a moment as people write it, in UTC.
type moments time.Time

func (m *moments) String() string { return "" }
func (m *moments) Type() string   { return "moment" }

func (m *moments) Set(word string) error {
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05",
		"2006-01-02 15:04", "20060102150405", "20060102"} {
		if at, err := time.Parse(layout, word); err == nil {
			*m = moments(at)
			return nil
		}
	}
	return errors.New("want 2026-03-14, 2026-03-14T12:00, 20260314120000 or RFC 3339")
}
