package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/actors/figures"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/messages/speech"
	"henro/store/fsync"
)

// timetable is what henro stats has of the timetable of a crawl.
type timetable struct {
	draw        bool
	to          string
	connections int
}

func (t *timetable) register(f *pflag.FlagSet) {
	f.BoolVar(&t.draw, "timetable", false, "draw the timetable instead: a page, and its figures as SVG and CSV")
	f.StringVar(&t.to, "to", "", "with --timetable: `FOLDER` for these (default DIR/report)")
	f.IntVar(&t.connections, "connections", 0, "with --timetable: C, the connections that visit all hosts, of a crawl "+
		"that is not running; 0: as many as it had when it ran")
}

// show draws the timetable of a crawl; with --json it prints the numbers, and writes nothing.
func (t *timetable) show(cmd *cobra.Command, l *look) error {
	if t.connections < 0 {
		return config.Usage("--connections %d: want 0 or more", t.connections)
	}
	return tell(l, cmd, "/api/report", func(c *reading.Crawl) (*figures.Report, error) {
		if t.connections > 0 {
			c.Settings.Politeness.Connections = t.connections
		}
		return c.Report(cmd.Context(), time.Now())
	}, func(w io.Writer, report *figures.Report) error {
		to := cmp.Or(t.to, filepath.Join(l.dir, "report"))
		if err := writeReport(to, nameOf(l.dir), report); err != nil {
			return err
		}
		printReport(w, to, report)
		return nil
	})
}

// writeReport writes the page, the figures and the numbers behind them; the page comes last.
func writeReport(folder, name string, r *figures.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return config.Usage("--to: %v", err)
	}
	files := map[string]func(io.Writer) error{"hosts.csv": r.WriteHosts,
		"report.json": func(w io.Writer) error { return printJSON(w, r) }}
	for _, f := range r.Figures(false) {
		files[f.Name+".svg"], files[f.Name+".csv"] = f.Chart.WriteSVG, f.Chart.WriteCSV
	}
	for name, write := range files {
		if err := writeFile(filepath.Join(folder, name), write); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(folder, "index.html"), func(w io.Writer) error { return r.WriteHTML(w, name) })
}

// nameOf is what a crawl is called by its directory.
func nameOf(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	return filepath.Base(dir)
}

// writeFile writes a file, whole or not at all.
func writeFile(path string, write func(io.Writer) error) error {
	err := fsync.Replace(path, path+".part", 0o666, write)
	if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Op == "open" && at.Path == path+".part" {
		err = config.Usage("%v", err)
	}
	return err
}

// printReport says the most important of it.
func printReport(w io.Writer, folder string, r *figures.Report) {
	fmt.Fprintf(w, "pages     %d visited, %d of them late; %d with a timetable, %d visited once, %d rest\n",
		r.Pages.Visited, r.Pages.Late, r.Pages.Timed, r.Pages.Once, r.Pages.Resting)
	fmt.Fprintf(w, "hosts     %d, %d to be visited again, %d dead; all ask for %s visits a day\n", r.Hosts.Known,
		r.Hosts.Timed, r.Hosts.Dead, figures.PerDay(r.Load))
	var settings strings.Builder
	for _, s := range r.Settings {
		fmt.Fprintf(&settings, " --%s %s", s.Name, s.Value)
	}
	fmt.Fprintf(w, "timetable%s\n", settings.String())
	for _, rule := range r.Rules {
		fmt.Fprintf(w, "          %s every %s, as set by hand\n", rule.Pages, speech.Span(rule.Every))
	}
	if r.Continuous {
		fmt.Fprintf(w, "          %s\n", r.Occupied.Says())
		for _, v := range r.Verdicts {
			if v.Hosts > 0 {
				fmt.Fprintf(w, "          %d %s: %.1f %% of the versions captured\n", v.Hosts, v.Verdict, 100*v.Share())
			}
		}
	}
	for _, f := range r.Figures(false) {
		fmt.Fprintf(w, "%s: %s\n", f.Title, f.Says)
	}
	fmt.Fprintf(w, "report    %s\n", filepath.Join(folder, "index.html"))
}
