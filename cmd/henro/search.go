package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"henro/cmd/config"
	"henro/messages/weburl"
	"henro/slave/render/spoken"
	"henro/store/archive/cdxj"
	"henro/store/report/search"
)

// searchFlags are those of henro search.
type searchFlags struct {
	q     search.Question
	index bool
	json  bool
}

func newSearchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use: `search DIR ["WORDS"]`, Short: "Find archived pages by the words in their text",
		Long: `Find archived pages by the words in their title and main text, also Japanese, in any version or in those
of some time. --index makes the index, DIR/search.db, or adds the files that came since; nothing else does.
henro replay searches it too.`,
		Example: `  henro search crawl --index
  henro search crawl '東京 "opening hours"'
  henro search crawl --from 2026-03-01 --prefix https://example.org/ prices`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) < 1 || len(arguments) == 1 && !f.index {
				return config.Usage(`search where, for what? henro search crawl "words"`)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return f.run(cmd.Context(), arguments[0], strings.Join(arguments[1:], " "), cmd.OutOrStdout(),
				cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.index, "index", false, "make the index, or bring it up to date, first")
	flags.StringVar(&f.q.Prefix, "prefix", "", "only pages whose `URL` begins so")
	flags.Var((*moments)(&f.q.From), "from",
		"only versions since this `MOMENT`: 2026-03-14, 2026-03-14T12:00 …, in UTC")
	flags.Var((*moments)(&f.q.To), "to", "only versions until this `MOMENT`")
	flags.BoolVar(&f.q.Versions, "versions", false, "every version that fits, not only the best of each page")
	flags.IntVar(&f.q.Most, "most", 20, "answers at most")
	flags.BoolVar(&f.json, "json", false, "a line of JSON for each")
	return cmd
}

func (f *searchFlags) run(ctx context.Context, dir, words string, out, notes io.Writer) (err error) {
	if f.q.Prefix != "" {
		u, err := weburl.Parse(f.q.Prefix)
		if err != nil {
			return config.Usage("--prefix %q: %v", f.q.Prefix, err)
		}
		f.q.Prefix = u.String()
	}
	if f.q.Most < 1 || f.q.Most > 10_000 {
		return config.Usage("--most %d: want 1 to 10000", f.q.Most)
	}
	if f.index {
		if err := indexText(ctx, dir, out, notes); err != nil || words == "" {
			return err
		}
	}
	index, err := search.Open(ctx, beside(dir), false)
	if errors.Is(err, search.ErrNoIndex) {
		return config.Usage("no search index in %s: henro search %s --index makes it", beside(dir), dir)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	f.q.Words = words
	found, err := index.Search(ctx, f.q)
	if errors.Is(err, search.ErrQuery) {
		return config.Usage("%q holds no word", words)
	} else if err != nil {
		return err
	}
	if f.json {
		lines := json.NewEncoder(out)
		for i := range found {
			if err := lines.Encode(&found[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range found {
		fmt.Fprintf(out, "%s  %s\n  %s\n  %s\n", p.URL, p.At.Format(time.RFC3339), p.Title, p.Around)
	}
	if len(found) == 0 {
		fmt.Fprintln(out, "nothing found")
	}
	return nil
}

// indexBatch is how many pages are read side by side and written in one transaction.
const indexBatch = 1000

// indexText takes the pages of files that are not in the index yet.
func indexText(ctx context.Context, dir string, out, notes io.Writer) (err error) {
	archive, err := openArchive(dir, notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	if err := config.Dir(beside(dir)); err != nil {
		return err
	}
	index, err := search.Open(ctx, beside(dir), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	seen, err := index.Files(ctx)
	if err != nil {
		return err
	}
	files := archive.Merged().Files
	texts, err := spoken.Of(archive)
	if err != nil {
		return err
	}
	var waiting []cdxj.Entry
	if err := archive.Entries(func(e cdxj.Entry) bool {
		html := e.Mime == "text/html" || e.Mime == "application/xhtml+xml" || e.Mime == "text/plain"
		if (e.Status == 200 && html || texts.Late(e, seen)) && !seen[e.Filename] {
			waiting = append(waiting, e)
		}
		return true
	}); err != nil {
		return err
	}
	slices.SortFunc(waiting, func(a, b cdxj.Entry) int { // as they lie on the disk
		return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset))
	})
	begun, total, done, bar := time.Now(), 0, 0, newBar(notes)
	defer bar.end()
	for batch := range slices.Chunk(waiting, indexBatch) {
		pages, err := readTexts(ctx, texts, batch)
		if err != nil {
			return err
		}
		added, err := index.Add(ctx, pages)
		if err != nil {
			return fmt.Errorf("write the index: %w", err)
		}
		total, done = total+added, done+len(batch)
		bar.show("pages", uint64(done), uint64(len(waiting)))
	}
	bar.end()
	if _, err := index.Add(ctx, nil, files...); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	_, err = fmt.Fprintf(out, "%d versions of pages indexed in %v\n", total, time.Since(begun).Round(time.Millisecond))
	return err
}

// readTexts reads pages side by side; those that cannot be read are left out.
func readTexts(ctx context.Context, texts *spoken.Texts, entries []cdxj.Entry) ([]search.Page, error) {
	pages := make([]search.Page, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		group.Go(func() error {
			if text, err := texts.Read(e); err == nil {
				pages[i] = search.Page{URL: spoken.Page(e.URL), At: e.At, Title: text.Title, Text: string(text.Words)}
			}
			return ctx.Err()
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(pages, func(p search.Page) bool { return p.URL == "" }), err
}
