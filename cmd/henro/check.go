package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// dirArgument is the one argument of commands about a crawl that is not running.
func dirArgument(use string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) != 1 {
			return config.Usage("of which crawl? %s", use)
		}
		return nil
	}
}

func newCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIR",
		Short: "Verify the state and the WARC files of a crawl that is not running",
		Long: `Read the whole state of a crawl and compare everything in it with everything else, and read every record
of its WARC files and their indexes. Nothing is written. Exit code 4 and a list when something is damaged.`,
		Example: "  henro check crawl",
		Args:    dirArgument("henro check crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return check(cmd.OutOrStdout(), newBar(cmd.ErrOrStderr()), arguments[0])
		},
	}
}

func check(out io.Writer, bar *bar, dir string) error {
	report, err := store.Check(filepath.Join(dir, "state"), func(done, all uint64) { bar.show("state", done, all) })
	if err != nil {
		bar.end()
		return lookError(dir, err)
	}
	problems := report.Problems
	records, archived, err := checkArchive(filepath.Join(dir, "warc"), bar)
	bar.end()
	if err != nil {
		return err
	}
	problems = append(problems, archived...)
	s := report.Stats
	fmt.Fprintf(out, "state    %d URLs of %d hosts, %d visited, %d waiting, %s\narchive  %d records\n", s.Known,
		s.Hosts, s.Visited, s.Waiting, sizeWords(uint64(s.Bytes)), records)
	if len(problems) == 0 {
		fmt.Fprintln(out, "clean")
		return nil
	}
	for _, problem := range problems {
		fmt.Fprintln(out, "damaged: "+problem)
	}
	if report.More > 0 {
		fmt.Fprintf(out, "and %d more\n", report.More)
	}
	return &config.Exit{Code: config.ExitDamaged,
		Err: fmt.Errorf("%d damages found; restore a backup, or begin anew with the same seeds",
			len(problems)+report.More)}
}

// maxListed bounds the damages listed.
const maxListed = 100

// checkArchive reads every record, and looks up every line of the indexes in what it read. Files that still grow belong
// to a crawl that was killed: its next start cuts them back to their last whole record, so only their finished siblings
// are judged.
func checkArchive(dir string, bar *bar) (records uint64, problems []string, err error) {
	files, err := warc.Files(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, nil, fmt.Errorf("list the archive: %w", err)
	}
	note := func(format string, args ...any) {
		if len(problems) < maxListed {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	for i, name := range files {
		offsets := map[int64]bool{}
		walked, err := walkFile(name, offsets)
		records += uint64(walked.Records)
		if err != nil {
			note("%s: %v", filepath.Base(name), err)
		}
		for _, span := range walked.Damaged {
			note("%s: %d bytes at %d: %v", filepath.Base(name), span.Length, span.Offset, span.Err)
		}
		index := cdxj.Path(name)
		if err := checkIndex(index, offsets); errors.Is(err, fs.ErrNotExist) {
			note("%s: it has no index", filepath.Base(name))
		} else if err != nil {
			note("%s: %v", filepath.Base(index), err)
		}
		bar.show("archive", uint64(i+1), uint64(len(files)))
	}
	return records, problems, nil
}

// walkFile reads every record of a file, and notes where each begins.
func walkFile(name string, offsets map[int64]bool) (warc.Walked, error) {
	f, err := os.Open(name)
	if err != nil {
		return warc.Walked{}, err
	}
	defer f.Close()
	return warc.Walk(f, func(entry *warc.Entry) error {
		offsets[entry.Offset] = true
		return nil
	})
}

// checkIndex looks up every line of an index in what its file holds.
func checkIndex(name string, offsets map[int64]bool) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		entry, err := cdxj.Parse([]byte(strings.TrimRight(line, "\n")))
		if err != nil {
			return err
		}
		if !offsets[entry.Offset] {
			return fmt.Errorf("%s at %d: no record begins there", entry.URL, entry.Offset)
		}
	}
	return nil
}

func newRepairCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "repair DIR",
		Short: "Make the indexes of the WARC files of a crawl again, and its state small",
		Long: `Give every finished WARC file without an index one, also those of other writers; merge the indexes into
warc/index.cdxj; and rewrite the state without its free space. The crawl must not be running. A folder of WARC
files without a state is indexed alone.`,
		Example: "  henro repair crawl",
		Args:    dirArgument("henro repair crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			dir := arguments[0]
			if store.Exists(filepath.Join(dir, "state")) {
				if err := compact(cmd, dir); err != nil {
					return err
				}
				if _, err := archiveFolder(dir); err != nil {
					return nil // its WARC files are elsewhere, or there are none yet
				}
			}
			return index(cmd.OutOrStdout(), dir)
		},
	}
}

// newCompactCommand is half of repair, as it was called before.
func newCompactCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compact DIR", Short: "Rewrite the state of a crawl that is not running without its free space",
		Hidden:  true,
		Example: "  henro compact crawl",
		Args:    dirArgument("henro compact crawl"),
		RunE:    func(cmd *cobra.Command, arguments []string) error { return compact(cmd, arguments[0]) },
	}
}

func compact(cmd *cobra.Command, dir string) error {
	bar := newBar(cmd.ErrOrStderr())
	before, after, err := store.Compact(filepath.Join(dir, "state"),
		func(done, all int) { bar.show("state", uint64(done), uint64(all)) })
	bar.end()
	if err != nil {
		return lookError(dir, err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s before, %s after\n", sizeWords(uint64(before)), sizeWords(uint64(after)))
	return nil
}

// lookError gives an error of looking into a directory its exit code.
func lookError(dir string, err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return config.Usage("%s holds no crawl: %v", dir, err)
	}
	return config.StateError(dir, err)
}
