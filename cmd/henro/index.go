package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/messages/visible"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/folder"
	"henro/store/archive/wacz"
	"henro/store/report/tables"
)

// index merges the indexes of the WARC files of a folder or a bucket, and says what there was to do.
func index(cmd *cobra.Command, dir string) error {
	if strings.HasPrefix(dir, bucket.Scheme) {
		where, err := config.FindBucket(dir)
		if err != nil {
			return err
		}
		done, err := bucket.AddToIndex(cmd.Context(), where)
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files came into its index, which has %d parts; %d lines were written\n",
			dir, done.Files, done.Parts, done.Lines)
		return err
	}
	in, err := reading.ArchiveFolder(dir)
	if err != nil {
		return noArchive(err)
	}
	start := time.Now()
	m, err := folder.Refresh(in)
	if err != nil {
		return err
	}
	for _, r := range m.Repaired {
		notesTo(cmd.ErrOrStderr())(r.String())
	}
	for _, what := range m.Unread {
		notesTo(cmd.ErrOrStderr())(what)
	}
	info, err := os.Stat(m.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files, %d of them new, %d without an index until now; %s in %v\n",
		m.Path, len(m.Files), m.Added, m.Indexed, sizeWords(uint64(info.Size())),
		time.Since(start).Round(time.Millisecond))
	return nil
}

// beside is where what is made of an archive is kept: its folder or, of a bucket, one here that is called as that of
// the bucket is.
func beside(archive string) string {
	if at, far := strings.CutPrefix(archive, bucket.Scheme); far {
		return path.Base(path.Clean(at))
	}
	return archive
}

// notesTo says what of an archive cannot be read, and what was repaired.
func notesTo(w io.Writer) func(what string) {
	return func(what string) { fmt.Fprintln(w, "archive:", visible.Line(what)) }
}

// openArchive opens an archive for a command. What cannot be read of it is said to notes.
func openArchive(path string, notes io.Writer) (*captures.Archive, error) {
	archive, err := reading.OpenArchive(path, config.FindBucket, notesTo(notes))
	return archive, noArchive(err)
}

// noArchive has what was named and holds no archive end a command as a wrong argument does.
func noArchive(err error) error {
	if errors.Is(err, reading.ErrNoArchive) || errors.Is(err, wacz.ErrNotPackage) ||
		errors.Is(err, tables.ErrNoState) {
		return config.Usage("%v", err)
	}
	return err
}
