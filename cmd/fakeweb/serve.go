package fakeweb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ServeOptions say what Serve serves and where it tells.
type ServeOptions struct {
	Web    Options
	Listen ListenOptions
	// Folder, when set, is where seeds.txt (a URL a line), resolve.txt (NAME:PORT:ADDRESS a line) and, unless
	// Web.LogFile names another, access.log are written before anything is served; with Web.Twins also
	// twins.txt, what a crawl of all hosts finds of them. The folder is made if need be. Empty: the
	// lines go to the output only.
	Folder string
}

// Serve makes a web and serves it on loopback until the context ends. What a crawler needs to find it is written to
// out, a line each: "seed URL" and "resolve NAME:PORT:ADDRESS", then "ready".
func Serve(ctx context.Context, out io.Writer, o ServeOptions) (err error) {
	if o.Folder != "" {
		if err := os.MkdirAll(o.Folder, 0o755); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		if o.Web.LogFile == "" {
			o.Web.LogFile = filepath.Join(o.Folder, "access.log")
		}
	}
	w, err := New(o.Web)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	l, err := w.Listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	seeds, resolve := append(l.Seeds(), l.GuestSeeds()...), l.Resolve()
	if o.Folder != "" {
		if err := errors.Join(writeLines(filepath.Join(o.Folder, "seeds.txt"), seeds),
			writeLines(filepath.Join(o.Folder, "resolve.txt"), resolve)); err != nil {
			return err
		}
		if o.Web.Twins != (Twins{}) {
			lines, err := w.likenesses(seeds)
			if err == nil {
				err = writeLines(filepath.Join(o.Folder, "twins.txt"), lines)
			}
			if err != nil {
				return err
			}
		}
	}
	b := bufio.NewWriter(out)
	for _, seed := range seeds {
		fmt.Fprintf(b, "seed %s\n", seed)
	}
	for _, line := range resolve {
		fmt.Fprintf(b, "resolve %s\n", line)
	}
	fmt.Fprintln(b, "ready")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write seeds: %w", err)
	}
	<-ctx.Done()
	return nil
}

func writeLines(path string, lines []string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write lines: %w", err)
	}
	b := bufio.NewWriter(f)
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	if err := errors.Join(b.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
