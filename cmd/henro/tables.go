package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/store"
	"henro/store/archive/folder"
	"henro/store/report/tables"
)

// tableReader is what every command has that reads the tables of a crawl, running or not. A running crawl sends a copy
// of its state as of one moment, which is read like any other; its archive is read where it lies, as far as WARC files
// are finished.
type tableReader struct {
	look
	warc string
}

func (r *tableReader) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.warc, "warc", "",
		"`FOLDER` of the WARC files; default: warc in the directory of the crawl")
	r.control.register(cmd)
}

// source opens the tables. done removes what was made for them.
func (r *tableReader) source(ctx context.Context, progress io.Writer) (source *tables.Source, done func() error,
	err error) {
	state, running, err := r.open()
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return nil }
	if running {
		if state, remove, err = r.snapshot(ctx, progress); err != nil {
			return nil, nil, err
		}
	}
	source = &tables.Source{State: state, Archive: r.warc}
	if !running {
		source.Cache = filepath.Join(r.dir, "cache")
	}
	if source.Archive == "" {
		source.Archive = filepath.Join(r.dir, "warc")
	} else if _, err := os.Stat(r.warc); err != nil {
		return nil, nil, errors.Join(config.Usage("--warc: %v", err), state.Close(), remove())
	}
	repaired, err := folder.Recover(source.Archive)
	for _, r := range repaired {
		notesTo(progress)(r.String())
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look for files that were left open: %w", err), state.Close(), remove())
	}
	return source, func() error { return errors.Join(state.Close(), remove()) }, nil
}

// snapshot copies the state of a running crawl into a temporary folder.
func (r *tableReader) snapshot(ctx context.Context, progress io.Writer) (state *store.State, remove func() error,
	err error) {
	dir, err := os.MkdirTemp("", "henro-snapshot-*")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	reader, writer := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := unpack(reader, dir)
		reader.CloseWithError(err)
		unpacked <- err
	}()
	n, err := r.fetch(ctx, "/api/backup", writer)
	writer.CloseWithError(err)
	if failed := <-unpacked; err == nil {
		err = failed
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the crawl in %s is running; copy its state: %w", r.dir, err)
	}
	fmt.Fprintf(progress, "the crawl is running: this is its state of now, %s\n", sizeWords(uint64(n)))
	o := store.DefaultOptions()
	o.ReadOnly = true
	state, err = store.OpenState(dir, o)
	return state, func() error { return os.RemoveAll(dir) }, err
}

// unpack writes the files of a backup into a folder.
func unpack(from io.Reader, dir string) error {
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, from) // what pads the archive
			return err
		}
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, filepath.Base(header.Name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
