package reading

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"henro/store"
)

// Door leads to a crawl: to its directory or, while it runs, to the process that runs it.
type Door struct {
	Dir  string
	Away bool // it runs on another machine
	// Ask asks that process by a path of its API.
	Ask func(ctx context.Context, path string) (io.ReadCloser, error)
}

// answerWait is how long a running crawl may take to find one thing.
const answerWait = 2 * time.Minute

// open opens the crawl; nil: its process is to be asked.
func (d *Door) open() (*Crawl, error) {
	if d.Away {
		return nil, nil
	}
	c, err := Open(d.Dir)
	if errors.Is(err, store.ErrInUse) {
		return nil, nil
	}
	return c, err
}

// ask has the answer of the process to a path read.
func (d *Door) ask(ctx context.Context, path string, read func(io.Reader) error) error {
	answer, err := d.Ask(ctx, path)
	if err != nil {
		return err
	}
	defer answer.Close()
	return read(answer)
}

// through has the crawl read in its directory, or the answer of its process to a path.
func (d *Door) through(ctx context.Context, path string, rests func(*Crawl) error, runs func(io.Reader) error) error {
	c, err := d.open()
	switch {
	case err != nil:
		return err
	case c != nil:
		return errors.Join(rests(c), c.Close())
	}
	return d.ask(ctx, path, runs)
}

// Find finds one thing, for which a running crawl is asked by a path.
func Find[T any](ctx context.Context, d *Door, path string, find func(*Crawl) (*T, error)) (thing *T, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	err = d.through(ctx, path, func(c *Crawl) (err error) {
		if err = c.Unread; err == nil {
			thing, err = find(c)
		}
		return err
	}, func(answer io.Reader) error {
		thing = new(T)
		return decoded(json.NewDecoder(answer).Decode(thing))
	})
	return thing, err
}

func decoded(err error) error {
	if err != nil {
		err = fmt.Errorf("read the answer of the running crawl: %w", err)
	}
	return err
}

// Missing calls visit for the pages below a prefix that are not whole, and counts all.
func (d *Door) Missing(ctx context.Context, prefix string, visit func(*PageMissing) error) (w *Wholeness, err error) {
	err = d.through(ctx, "/api/missing?prefix="+url.QueryEscape(prefix), func(c *Crawl) (err error) {
		if err = c.Unread; err == nil {
			w, err = c.Missing(prefix, "", visit)
		}
		return err
	}, func(answer io.Reader) error {
		for lines := json.NewDecoder(answer); ; {
			var line struct {
				PageMissing
				Wholeness
			}
			switch err := lines.Decode(&line); {
			case err == io.EOF:
				return decoded(errors.New("it ends before its count"))
			case err != nil:
				return decoded(err)
			case line.URL == "":
				w = &line.Wholeness
				return nil
			}
			if err := visit(&line.PageMissing); err != nil {
				return err
			}
		}
	})
	return w, err
}

// Change has the crawl changed in its directory; runs: its process is to do that.
func (d *Door) Change(change func(*Crawl) error) (runs bool, err error) {
	c, err := d.open()
	if c == nil {
		return err == nil, err
	}
	if err = c.Close(); err == nil { // it was open for reading
		c, err = OpenToChange(d.Dir)
	}
	if err != nil {
		return false, err
	}
	return false, errors.Join(change(c), c.Close())
}

// Backup writes the state, as of one moment, as a tar file.
func (d *Door) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	err = d.through(ctx, "/api/backup", func(c *Crawl) (err error) {
		n, err = c.State.Backup(w)
		return err
	}, func(backup io.Reader) (err error) {
		n, err = io.Copy(w, backup)
		return err
	})
	return n, err
}

// Still opens the crawl as of one moment: of one that runs, a copy of its state, which lies in a temporary folder until
// Close.
func (d *Door) Still(ctx context.Context) (c *Crawl, err error) {
	if c, err = d.open(); c != nil || err != nil {
		return c, err
	}
	copied, err := os.MkdirTemp("", "henro-snapshot-*")
	if err == nil {
		err = d.ask(ctx, "/api/backup", func(backup io.Reader) error { return store.Unpack(backup, copied) })
	}
	if err == nil {
		c, err = open(d.Dir, copied, true)
	}
	if err != nil {
		err = fmt.Errorf("the crawl in %s is running; copy its state: %w", d.Dir, err)
		return nil, errors.Join(err, os.RemoveAll(copied))
	}
	c.Copied = copied
	return c, nil
}
