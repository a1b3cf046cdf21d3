package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/admission"
	"henro/actors/partition"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/slave/pagetext"
	"henro/store/archive/cdxj"
	"henro/store/report/survey"
	"henro/store/report/tables"
)

func newStatsCommand() *cobra.Command {
	var r tableReader
	var sample int
	var timetable timetable
	cmd := &cobra.Command{
		Use:   "stats DIR",
		Short: "Count a crawl: pages, links, hosts, answers, languages; or draw its timetable",
		Long: `Count what a crawl, running or not, has parsed and collected: totals, mean, standard deviation
and range of pages and links, links per page, the share of URLs on the stop list, the correlation of pages and
links over hosts, the largest hosts, status codes, depths, sizes and media types. Languages are those of a
sample of the archived pages, spread evenly over the archive.

With --timetable, draw when pages are visited again, as one HTML page that needs nothing else, with each figure as
SVG and CSV beside it: revisit intervals, how often visits find a change, the access interval that each host's
timetable needs, how fast hosts answer, how much room that leaves (figures 3 to 7 of Tamura and Kitsuregawa), the
age of what is archived; which hosts do not bear their timetable, how they are relieved, and what that costs.`,
		Example: `  henro stats crawl
  henro stats --timetable crawl                 # writes crawl/report/index.html and its figures
  henro stats crawl --json | jq .links_per_page`,
		Args: config.Takes(1, 1, "of which crawl? henro stats crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if r.dir = arguments[0]; timetable.draw {
				return timetable.show(cmd, &r.look)
			}
			return r.read(cmd, func(crawl *reading.Crawl, source *tables.Source) error {
				bar, start := newBar(cmd.ErrOrStderr()), time.Now()
				s, err := survey.Take(cmd.Context(), source, sample, func(table string, rows int64) {
					bar.count(table, rows, start)
				})
				bar.end()
				if err != nil {
					return err
				}
				if len(s.Sample) > 0 {
					if s.Languages, err = languages(source.Archive, s.Sample, cmd.ErrOrStderr()); err != nil {
						return err
					}
				}
				counted, err := count(crawl)
				if err != nil {
					return err
				}
				counted.Survey = s
				return shown(cmd, counted, printSurvey)
			})
		},
	}
	cmd.Flags().Bool("json", false, "all numbers as JSON")
	cmd.Flags().IntVar(&sample, "sample", 500, "archived pages of which the language is guessed; 0: none")
	timetable.register(cmd.Flags())
	r.register(cmd)
	return cmd
}

// counted is a crawl in numbers, with those that its state keeps or that follow from its own rules.
type counted struct {
	*survey.Survey
	Identical      uint64             `json:"identical"` // answers whose payload was archived already
	IdenticalBytes uint64             `json:"identical_bytes"`
	Whole          *reading.Wholeness `json:"whole"`
	Aliases        int                `json:"aliases"`     // hosts that are others under a second name
	AliasPages     uint64             `json:"alias_pages"` // of these, visited at the others instead
}

func count(crawl *reading.Crawl) (*counted, error) {
	totals, err := partition.TotalsOf(crawl.State)
	if err != nil {
		return nil, err
	}
	hosts, err := crawl.Aliases()
	if err != nil {
		return nil, err
	}
	aliases := 0
	for _, host := range hosts.Aliases {
		if host.Person && host.Of != "" {
			aliases++
		}
	}
	whole, err := crawl.Missing("", "", func(*reading.PageMissing) error { return nil })
	return &counted{Identical: totals.Identical, IdenticalBytes: totals.IdenticalBytes, Whole: whole, Aliases: aliases,
		AliasPages: totals.Skipped[admission.AliasHost]}, err
}

// languages guesses those of some captures.
func languages(folder string, sample []cdxj.Entry, notes io.Writer) (counts []survey.Count, err error) {
	archive, err := openArchive(folder, notes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	found := map[string]int64{}
	for _, e := range sample {
		// a capture that cannot be read is henro check's business
		if text, err := pagetext.Read(archive, e); err == nil {
			found[text.Language]++
		}
	}
	return survey.Ranked(found), nil
}

func printSurvey(w io.Writer, s *counted) error {
	fmt.Fprintf(w, "pages     %d known and %d requisites: %d parsed, %d without an answer, %d waiting\n",
		s.Known-s.Requisites, s.Requisites, s.Parsed, s.Failed, s.Waiting)
	if words := wholeWords(s.Whole); words != "" {
		fmt.Fprintln(w, "whole    ", words)
	}
	if s.SameText+s.NearText > 0 {
		fmt.Fprintf(w, "texts     %d pages have the text of an earlier page, %d nearly that of one\n", s.SameText,
			s.NearText)
	}
	if s.Aliases > 0 {
		fmt.Fprintf(w, "aliases   %d hosts are others under a second name; %d of their pages are visited at these\n",
			s.Aliases, s.AliasPages)
	}
	fmt.Fprintf(w, "links     %d collected from %d pages\n", s.Links, s.Linking)
	fmt.Fprintf(w, "hosts     %d; correlation of pages and links over hosts: %.2f\n", s.Hosts, s.Correlation)
	fmt.Fprintf(w, "stopped   %d of the known URLs (%.1f %%), by %d folders and hosts of the stop list; "+
		"%d single URLs on it\n",
		s.Stopped, 100*s.StoppedShare, s.StopList, s.Broken)
	fmt.Fprintf(w, "archive   %d captures, %d of them of content that was stored before, %s of records\n", s.Captures,
		s.Revisits, sizeWords(uint64(s.WARCBytes)))
	if s.Identical > 0 {
		fmt.Fprintf(w, "saved     %s of %d payloads that the archive held already\n", sizeWords(s.IdenticalBytes),
			s.Identical)
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%-24s %10s %12s %12s %10s %10s\n", "", "n", "mean", "sd", "least", "most")
	for _, line := range []struct {
		name string
		of   survey.Spread
	}{{"links of a page", s.LinksPerPage}, {"pages parsed of a host", s.PagesPerHost},
		{"links of a host", s.LinksPerHost}, {"bytes of a record", s.RecordBytes}} {
		fmt.Fprintf(w, "%-24s %10d %12.2f %12.2f %10.0f %10.0f\n", line.name, line.of.N, line.of.Mean, line.of.SD,
			line.of.Least, line.of.Most)
	}
	fmt.Fprintln(w)
	for _, line := range []struct {
		name   string
		counts []survey.Count
	}{{"answers", s.Statuses}, {"depths", s.Depths}, {"links", s.Kinds}, {"media", s.MediaTypes},
		{"languages", s.Languages}} {
		if len(line.counts) > 0 {
			fmt.Fprintf(w, "%-9s %s\n", line.name, countWords(line.counts))
		}
	}
	if len(s.TopHosts) > 0 {
		fmt.Fprintf(w, "\n%10s %10s %10s  host\n", "parsed", "known", "links")
	}
	for _, h := range s.TopHosts {
		fmt.Fprintf(w, "%10d %10d %10d  %s\n", h.Parsed, h.Known, h.Links, h.Name)
	}
	return nil
}

// countWords lists the first of counts.
func countWords(counts []survey.Count) string {
	const most = 12
	var words []string
	for i, c := range counts {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(counts)-most))
			break
		}
		words = append(words, fmt.Sprintf("%s: %d", cmp.Or(c.Name, "unknown"), c.Count))
	}
	return strings.Join(words, ", ")
}
