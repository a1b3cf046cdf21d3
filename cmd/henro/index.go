package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/messages/visible"
	"henro/store"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/folder"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

// index merges the indexes of the WARC files of a folder or a bucket, and says what there was to do.
func index(cmd *cobra.Command, dir string) error {
	if strings.HasPrefix(dir, bucket.Scheme) {
		archive, err := openArchive(dir, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer archive.Close()
		done, err := archive.AddToIndex(cmd.Context())
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files came into its index, which has %d parts; %d lines were written\n",
			dir, done.Files, done.Parts, done.Lines)
		return err
	}
	in, err := archiveFolder(dir)
	if err != nil {
		return err
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

// archiveFolder returns where the WARC files of a crawl lie, finished or not: DIR/warc, or DIR itself, which may be
// anybody's collection.
func archiveFolder(dir string) (string, error) {
	for _, in := range []string{filepath.Join(dir, "warc"), dir} {
		if paths, err := warc.Files(in); err == nil && len(paths) > 0 {
			return in, nil
		}
		if open, err := warc.Leftovers(in, ""); err == nil && len(open) > 0 {
			return in, nil
		}
	}
	if store.Exists(filepath.Join(dir, "state")) {
		return "", config.Usage("%s holds no WARC files: those of a master are with its slaves, and henro "+
			"nodes collect brings them here", dir)
	}
	return "", config.Usage("%s holds no WARC files: neither itself nor its folder warc", dir)
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

// openArchive opens a WACZ file, or the archive that archiveFolder finds. What cannot be read of it is said to notes.
func openArchive(path string, notes io.Writer) (*captures.Archive, error) {
	unread := notesTo(notes)
	if strings.HasPrefix(path, bucket.Scheme) {
		where, err := config.FindBucket(path)
		if err != nil {
			return nil, err
		}
		return captures.OpenBucket(where, unread)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		archive, err := captures.Open(path, unread)
		if errors.Is(err, wacz.ErrNotPackage) {
			err = config.Usage("%s: %v", path, err)
		}
		return archive, err
	}
	in, err := archiveFolder(path)
	if err != nil {
		return nil, err
	}
	return captures.Open(in, unread)
}
