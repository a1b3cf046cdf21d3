package verdict

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// NoneOpen says which files of an archive were not finished.
func NoneOpen(dir string) error {
	open, err := filepath.Glob(filepath.Join(dir, "*"+warc.OpenSuffix))
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("left open: %s", strings.Join(open, " "))
	}
	return err
}

// readArchives reads every record of every file and every line of every index, and returns how often each URL was
// captured, and how many revisit records there are. Each of these must refer to a capture of its payload in one of the
// files.
func readArchives(dirs []string) (archived map[string]int, revisits int, err error) {
	archived = map[string]int{}
	held, referred := map[payload]bool{}, map[payload]string{}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, NoneOpen(dir))
		files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		errs = append(errs, err)
		for _, name := range files {
			if err := readArchive(name, archived, func(e *warc.Entry) {
				switch e.Type() {
				case warc.Response:
					held[payload{e.TargetURI(), e.Header.Get("WARC-Date"), e.Header.Get("WARC-Payload-Digest")}] = true
				case warc.Revisit:
					revisits++
					referred[payload{e.Header.Get("WARC-Refers-To-Target-URI"), e.Header.Get("WARC-Refers-To-Date"),
						e.Header.Get("WARC-Payload-Digest")}] = e.TargetURI()
				}
			}); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	for to, from := range referred {
		if !held[to] {
			errs = append(errs, fmt.Errorf("a revisit of %s refers to %s of %s, which is not there", from,
				to.url, to.at))
		}
	}
	return archived, revisits, errors.Join(errs...)
}

// payload is what a response holds and a revisit refers to.
type payload struct{ url, at, digest string }

func readArchive(name string, archived map[string]int, seen func(*warc.Entry)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	captures := map[int64]string{}
	walked, err := warc.Walk(f, func(e *warc.Entry) error {
		seen(e)
		if entry, ok, err := cdxj.Of(e, filepath.Base(name)); err == nil && ok {
			captures[e.Offset] = entry.URL
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, span := range walked.Damaged {
		return fmt.Errorf("%d bytes damaged at %d: %w", span.Length, span.Offset, span.Err)
	}
	index, err := os.ReadFile(cdxj.Path(name))
	if errors.Is(err, fs.ErrNotExist) && len(captures) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	for line := range strings.Lines(string(index)) {
		entry, err := cdxj.Parse([]byte(strings.TrimRight(line, "\n")))
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		if captures[entry.Offset] != entry.URL {
			return fmt.Errorf("index: %s is not at %d", entry.URL, entry.Offset)
		}
		archived[entry.URL]++
		delete(captures, entry.Offset)
	}
	if len(captures) > 0 {
		return fmt.Errorf("%d captures are not in the index", len(captures))
	}
	return nil
}
