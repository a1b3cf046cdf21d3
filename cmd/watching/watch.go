// Package watching holds henro watch: a list of pages is crawled again and again, and what changes on them is told.
package watching

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/cmd/feed"
	"henro/cmd/telling"
	"henro/master"
	"henro/messages/ticks"
	"henro/messages/visible"
	"henro/store/archive/captures"
	"henro/store/fsync"
	"henro/store/report/changes"
	"henro/store/report/news"
)

// Crawl crawls from seeds; beside runs as long, and what it prints stands above the progress.
type Crawl func(cmd *cobra.Command, s *embedded.Settings, seeds []reading.Seed,
	beside func(context.Context, *master.Node, io.Writer)) error

// Open opens the archive of a directory.
type Open func(dir string, notes io.Writer) (*captures.Archive, error)

// NewWatchCommand returns henro watch.
func NewWatchCommand(crawl Crawl, open Open) *cobra.Command {
	s := embedded.Settings{Log: config.Log{Level: "warn"}}
	s.Crawl.Watches = true
	cmd := &cobra.Command{
		Use:   "watch [flags] [LIST]",
		Short: "Watch a list of pages: visit them again and again, and tell what changes",
		Long: `Watch the pages of a list: a crawl of depth 0 with --continuous, which visits each page when it is likely
to have changed, archives it, and prints each change of what matters as henro feed --follow does. It takes all flags
of henro crawl. Started again with the directory alone it goes on; with a list it watches what is in that one. The
list can be changed meanwhile, in an editor or in the dashboard.

LIST is a file, or - for standard input: a page a line, behind which may stand "every 6h", "watch SELECTORS",
"leave SELECTORS" (CSS); or OPML; or what changedetection.io exports, packed or not.`,
		Example: `  henro watch --contact you@example.org list.txt
  echo 'https://example.org/tea every 6h watch #price, .stock' | henro watch tea --contact you@example.org -
  henro watch tea`,
		Args: config.Takes(0, 1, "which list? henro watch --contact you@example.org list.txt"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			w := run{open: open, says: cmd.ErrOrStderr(), live: newLive()}
			if err := config.Load(cmd.Flags(), s.Run.Config, config.Settings()); err != nil {
				return err
			}
			w.dir = s.Crawl.Dir
			receivers, err := telling.ReadReceivers(w.dir, config.FromEnvironment)
			if err != nil {
				return config.Usage("%v", err)
			}
			w.receivers, s.Noise = receivers, w.noise
			name := w.latest()
			if len(arguments) > 0 {
				name = arguments[0]
			}
			if name != "" {
				if err := w.read(cmd, name); err != nil {
					return err
				}
				s.Watched = &w
			}
			if err := s.Crawl.Define(cmd.Flags(), false, func(line string) { cmd.PrintErrln(line) }); err != nil {
				return err
			}
			var urls []string
			for i := range w.list.Pages {
				if p := &w.list.Pages[i]; !p.Paused {
					urls = append(urls, p.URL.String())
				}
			}
			seeds, err := s.Crawl.Seeds(urls, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return crawl(cmd, &s, seeds, w.beside)
		},
	}
	config.AddFlags(cmd, s.Groups()...)
	return cmd
}

// run is one run of henro watch.
type run struct {
	dir  string
	open Open
	says io.Writer

	receivers []*telling.Receiver
	live
}

// read reads the list; pages that were watched and are not in it are excluded from now on.
func (w *run) read(cmd *cobra.Command, name string) error {
	in := io.NopCloser(cmd.InOrStdin())
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return config.Usage("%v", err)
		}
		in = file
	}
	defer in.Close()
	list, err := ReadList(in)
	if err != nil {
		return config.Usage("list %s: %v", name, err)
	}
	for _, note := range list.Notes {
		cmd.PrintErrln(visible.Line(note))
	}
	w.list = list
	d, err := reading.ReadDefinition(w.dir)
	if err != nil {
		return err
	}
	if err := list.writeWatches(w.dir); err != nil {
		return err
	}
	if err := w.note(name); err != nil {
		return err
	}
	before := d.Given["exclude"]
	if cmd.Flag("exclude").Changed {
		before = nil // those that are given count
	}
	excluded := list.excludes(d.Seeds, before)
	w.excluded = excluded
	if slices.Equal(excluded, d.Given["exclude"]) {
		return nil
	}
	if len(excluded) == 0 {
		excluded = []string{""}
	}
	for _, pattern := range excluded {
		if err := cmd.Flags().Set("exclude", pattern); err != nil {
			return err
		}
	}
	return nil
}

// excludes are the patterns that were excluded before, without those of pages that are in the list again, and with
// those of seeds that are not in it any more.
func (l *List) excludes(seeds []reading.Seed, before []string) []string {
	for i := range seeds {
		name := seeds[i].URL.String()
		pattern := "^" + regexp.QuoteMeta(name) + "$"
		is := slices.Index(before, pattern)
		switch {
		case l.known[name] && is >= 0:
			before = slices.Delete(slices.Clone(before), is, is+1)
		case !l.known[name] && is < 0:
			before = append(slices.Clone(before), pattern)
		}
	}
	return before
}

// made begins a file of watches that came from a list.
const made = "# Made from the list of henro watch, and again whenever it reads one. Without this line it is yours.\n"

// writeWatches writes what the list says of pages to the file of watches, unless that is somebody's own.
func (l *List) writeWatches(dir string) error {
	text, err := l.watches(dir)
	if err != nil || text == nil {
		return err
	}
	if err := config.Dir(dir); err != nil {
		return err
	}
	return fsync.WriteFile(filepath.Join(dir, news.WatchesName), text, 0o666)
}

// watches is what is to be written to the file of watches; nil: that is to stay as it is.
func (l *List) watches(dir string) ([]byte, error) {
	path := filepath.Join(dir, news.WatchesName)
	there, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var watches []news.Watch
	for i := range l.Pages {
		r := &l.Pages[i].Watch
		if len(r.Only)+len(r.Leave)+len(r.Ignore)+len(r.Come)+len(r.Tag) > 0 {
			watches = append(watches, *r)
		}
	}
	own := len(there) > 0 && !bytes.HasPrefix(there, []byte(made))
	switch {
	case own && len(watches) > 0:
		return nil, config.Usage("%s is not of a list: write what the list says of %s there, or move it away", path,
			watches[0].Pages)
	case own, len(watches) == 0 && len(there) == 0:
		return nil, nil
	}
	text, err := yaml.Marshal(watches)
	if err != nil {
		return nil, err
	}
	text = append([]byte(made), text...)
	if bytes.Equal(text, there) {
		return nil, nil
	}
	if _, err := news.ParseWatches(bytes.NewReader(text)); err != nil {
		return nil, config.Usage("the list has more than %s holds: %v", path, err)
	}
	return text, nil
}

// retry is how long passes before what was not there yet is looked for again.
const retry = time.Second

// beside tells changes as long as the crawl runs, and sees to pages that are to be visited every so often.
func (w *run) beside(ctx context.Context, node *master.Node, out io.Writer) {
	go w.keep(ctx, node)
	for {
		again, end := context.WithCancel(ctx)
		w.begins(end)
		err := w.tell(again, out)
		end()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue // the watches are others
		}
		if config.Code(err) != config.ExitUsage { // there is no archive yet
			fmt.Fprintf(w.says, "henro watch: changes: %v; trying again\n", err)
		}
		if ticks.Rest(ctx, retry) != nil {
			return
		}
	}
}

// tell tells changes until the context ends, and once more then.
func (w *run) tell(ctx context.Context, out io.Writer) (err error) {
	archive, err := w.open(w.dir, w.says)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	f, err := feed.Open(feed.Options{Crawl: w.dir, Dir: filepath.Join(w.dir, changes.Folder),
		Name:      filepath.Base(filepath.Clean(w.dir)),
		Receivers: w.receivers, Says: w.says,
		Tell: func(c *changes.Change) {
			w.told(c)
			fmt.Fprintln(out, c.Line())
		}}, archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	f.IsPage = w.isPage
	w.follows(f)
	defer w.follows(nil)
	return f.Follow(ctx)
}
