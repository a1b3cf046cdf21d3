// Package changefeed streams what changed over HTTP, as henro feed or henro watch finds it.
package changefeed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"henro/store/report/changes"
)

// AtOnce bounds how many follow the changes of a crawl.
const AtOnce = 16

// respite is after how many looks, some 15 seconds, an empty line shows whether a reader is still there.
const respite = 75

var errCaughtUp = errors.New("all that there is was shown")

// Serve answers with the changes of the crawl in a directory, each a line of JSON: those behind ?since=ID, and with
// ?follow=true on, as they come, until the reader goes.
func Serve(dir string) http.HandlerFunc {
	folder := filepath.Join(dir, changes.Folder)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		control, lines, looks := http.NewResponseController(w), json.NewEncoder(w), 0
		follow, since := r.FormValue("follow") == "true", r.FormValue("since")
		if since == "" && !follow {
			since = "all"
		}
		if control.Flush() != nil && follow {
			return
		}
		visit := func(c *changes.Change) error { return lines.Encode(c) }
		// an error means that the reader is gone, or that the changes cannot be read, of which the answer ends
		_ = Follow(r.Context(), folder, since, visit, func() (err error) {
			if !follow {
				return errCaughtUp
			}
			if looks++; looks%respite == 0 {
				_, err = w.Write([]byte("\n"))
			}
			return cmp.Or(err, control.Flush())
		})
	}
}

// Bounds of Follow.
const (
	followEvery = 200 * time.Millisecond
	followMost  = 10_000 // changes between two looks; of more the latest
	followFew   = 100    // are read first
)

// Follow shows each change behind the one with an id, the earliest first, and goes on as they come until the context
// ends or visit returns an error. Without an id it begins with what comes; of one that is not known any more, with the
// earliest of the latest 10,000. idle is called after each look.
func Follow(ctx context.Context, dir, id string, visit func(*changes.Change) error, idle func() error) error {
	seen, size, begun := time.Time{}, int64(0), id != ""
	for {
		info, err := os.Stat(filepath.Join(dir, changes.LinesName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && (!info.ModTime().Equal(seen) || info.Size() != size) {
			seen, size = info.ModTime(), info.Size()
			var latest []changes.Change
			end := -1
			for most := followFew; end < 0 && most <= followMost; most *= followMost / followFew {
				if latest, err = changes.Recent(dir, most); err != nil {
					return err
				}
				end = slices.IndexFunc(latest, func(c changes.Change) bool { return c.ID == id })
			}
			if end < 0 {
				end = len(latest)
			}
			for i := end - 1; i >= 0 && begun; i-- {
				if err := visit(&latest[i]); err != nil {
					return err
				}
			}
			if len(latest) > 0 {
				id = latest[0].ID
			}
		}
		if begun = true; idle() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}
