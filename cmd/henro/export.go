package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors"
	"henro/actors/stoplist"
	"henro/cmd/config"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// tables are what can be exported, with the thesis' four tables among them: parsed URLs (pages), collected links, the stop list;
// its input URLs are the pages of depth 0.
var tables = []string{"pages", "links", "hosts", "stoplist"}

func newExportCommand() *cobra.Command {
	var what, to, dir string
	cmd := &cobra.Command{
		Use:   "export [flags] FILE",
		Short: "Write pages, links, hosts or the stop list of a crawl to a file",
		Long: `Write a table of a crawl that is not running to a file; - is standard output.

pages     number, url, status, reason, depth, visits, last_visit, next_visit, interval_seconds, change_seconds, digest, place
links     number (of the page), from, to, kind, nofollow, anchor
hosts     host, known, visited, waiting, load_per_second, next_allowed
stoplist  prefix, reason, evidence, at, until, rounds: folders that are left alone, and the broken pages themselves`,
		Example: `  henro export --what links --to csv --dir crawl links.csv
  henro export --what pages --to tsv --dir crawl - | head`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return config.Usage("export to one file: henro export --what links --to csv --dir crawl links.csv (or -)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return export(cmd.OutOrStdout(), what, to, dir, arguments[0])
		},
	}
	cmd.Flags().StringVar(&what, "what", "pages", "pages, links, hosts or stoplist")
	cmd.Flags().StringVar(&to, "to", "csv", "csv or tsv")
	cmd.Flags().StringVar(&dir, "dir", "crawl", "directory of the crawl")
	return cmd
}

// export writes a table; a file is there whole or not at all.
func export(stdout io.Writer, what, to, dir, path string) (err error) {
	write, ok := map[string]func(*store.State, rowWriter) error{
		"pages": exportPages, "links": exportLinks, "hosts": exportHosts, "stoplist": exportStopList,
	}[what]
	if !ok {
		return config.Usage("--what %q: want one of %v", what, tables)
	}
	if to != "csv" && to != "tsv" {
		return config.Usage("--to %q: want csv or tsv", to)
	}
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if errors.Is(err, store.ErrNotFound) {
		return config.Usage("--dir %s holds no crawl", dir)
	} else if errors.Is(err, store.ErrInUse) {
		return config.Usage("--dir %s: %v", dir, err)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()

	out := stdout
	if path != "-" {
		f, err := os.Create(path + ".part")
		if err != nil {
			return config.Usage("%v", err)
		}
		defer os.Remove(f.Name()) // nothing to remove once it is renamed
		defer f.Close()
		out = f
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	rows := rowWriter(tsvWriter{buffered})
	comma := csv.NewWriter(buffered)
	if to == "csv" {
		rows = comma
	}
	if err := write(state, rows); err != nil {
		return err
	}
	comma.Flush()
	if err := errors.Join(comma.Error(), buffered.Flush()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if path == "-" {
		return nil
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// rowWriter takes a table row by row.
type rowWriter interface{ Write(row []string) error }

// tsvWriter writes rows as text/tab-separated-values has them: no quoting, so tabs and line ends in a value become blanks.
type tsvWriter struct{ out *bufio.Writer }

var tsvBlanks = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

func (t tsvWriter) Write(row []string) error {
	for i, value := range row {
		if i > 0 {
			t.out.WriteByte('\t')
		}
		if strings.ContainsAny(value, "\t\n\r") {
			value = tsvBlanks.Replace(value)
		}
		t.out.WriteString(value)
	}
	return t.out.WriteByte('\n') // an error stays with the writer
}

func exportPages(state *store.State, w rowWriter) error {
	if err := w.Write([]string{"number", "url", "status", "reason", "depth", "visits", "last_visit", "next_visit", "interval_seconds", "change_seconds", "digest", "place"}); err != nil {
		return err
	}
	return eachPartition(state, func(p *store.Partition) error {
		return p.EachPage(func(page store.Page, place store.Place) error {
			reason, digest := "", ""
			if page.Reason != 0 {
				reason = messages.Reason(page.Reason).String()
			}
			if page.Digest != [20]byte{} {
				digest = fmt.Sprintf("%x", page.Digest)
			}
			return w.Write([]string{
				number(page.Number), page.URL, strconv.Itoa(int(page.Status)), reason, strconv.Itoa(int(page.Depth)),
				decimal(page.Timing.Visits), moment(page.LastVisit), moment(page.Next), decimal(page.Timing.Interval), decimal(page.Timing.Mean), digest, place.String(),
			})
		})
	})
}

// exportLinks joins the links with the numbers of their pages. The pages of one partition are in memory meanwhile.
func exportLinks(state *store.State, w rowWriter) error {
	if err := w.Write([]string{"number", "from", "to", "kind", "nofollow", "anchor"}); err != nil {
		return err
	}
	type key struct {
		host store.HostID
		fp   uint64
	}
	type source struct{ number, url string }
	return eachPartition(state, func(p *store.Partition) error {
		pages := map[key]source{}
		err := p.EachPage(func(page store.Page, _ store.Place) error {
			if !page.LastVisit.IsZero() {
				pages[key{store.IDOf(store.HostOf(page.URL)), fingerprint.URL(page.URL) &^ 0xff}] = source{number(page.Number), page.URL}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return p.EachLinks(func(host store.HostID, fp uint64, links []outlink.Outlink) error {
			from, ok := pages[key{host, fp &^ 0xff}]
			if !ok {
				return nil
			}
			for i := range links {
				l := &links[i]
				if err := w.Write([]string{from.number, from.url, l.URL, l.Kind.String(), strconv.FormatBool(l.Flags&outlink.NoFollow != 0), l.Anchor}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func exportHosts(state *store.State, w rowWriter) error {
	if err := w.Write([]string{"host", "known", "visited", "waiting", "load_per_second", "next_allowed"}); err != nil {
		return err
	}
	return eachPartition(state, func(p *store.Partition) error {
		return p.EachHost(func(h store.HostRecord) error {
			return w.Write([]string{h.Name, number(h.Known), number(h.Visited), number(h.Waiting), strconv.FormatFloat(h.Load, 'g', -1, 64), moment(h.NextAllowed)})
		})
	})
}

// exportStopList writes the thesis' stop list: the folders, and every URL that was found broken. Such a URL is on the list by its
// record, and not twice on disk.
func exportStopList(state *store.State, w rowWriter) error {
	if err := w.Write([]string{"prefix", "reason", "evidence", "at", "until", "rounds"}); err != nil {
		return err
	}
	return eachPartition(state, func(p *store.Partition) error {
		err := p.EachStop(func(e store.StopEntry) error {
			return w.Write([]string{e.Prefix, e.Reason, e.Evidence, moment(e.At), moment(e.Until), strconv.Itoa(e.Rounds)})
		})
		if err != nil {
			return err
		}
		return p.EachPage(func(page store.Page, _ store.Place) error {
			reason := messages.Reason(page.Reason)
			outcome := actors.StopOutcome(uint32(page.Status), reason)
			if page.LastVisit.IsZero() || outcome == stoplist.Silent || outcome == stoplist.Good {
				return nil
			}
			evidence := fmt.Sprintf("HTTP %d", page.Status)
			if reason != messages.Reason_NONE {
				evidence = reason.String()
			}
			return w.Write([]string{page.URL, outcome.String(), evidence, moment(page.LastVisit), "", ""})
		})
	})
}

func eachPartition(state *store.State, fn func(*store.Partition) error) error {
	for _, p := range state.Partitions {
		if err := fn(p); err != nil {
			return err
		}
	}
	return nil
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func decimal(f float32) string { return strconv.FormatFloat(float64(f), 'g', 6, 32) }

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
