package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/config"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
	"henro/store/report/changes"
	"henro/store/report/tables"
)

// While a crawl without an end runs, and none of its WARC files is finished, diff, search, feed and the table of
// captures have what it has archived, also what came since they were asked last.
func TestWhatACrawlHasArchivedIsReadWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const page = "http://news.example/"
		price := 0
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<title>Prices</title><main><p>One sentence stands. Salt costs %d coins.</p></main>", price)
		})
		dir := t.TempDir()
		read := func(versions int) {
			t.Helper()
			if files, err := warc.Files(filepath.Join(dir, "warc")); err != nil || len(files) > 0 {
				t.Fatalf("%v are finished, %v", files, err)
			}
			out, err := command(t, "diff", dir, page)
			if n := strings.Count(out, "\n") - 1; err != nil || n != versions { // a heading comes first
				t.Errorf("henro diff lists %d versions, want %d: %s%v", n, versions, out, err)
			}
			f := searchFlags{index: true}
			f.q.Most, f.q.Versions = 20, true
			var found bytes.Buffer
			if err := f.run(t.Context(), dir, "salt", &found, io.Discard); err != nil ||
				strings.Count(found.String(), page) != versions {
				t.Errorf("henro search finds, want %d: %s%v", versions, found.String(), err)
			}
			var told feedFlags
			told.o.Least = 1
			if err := told.run(t.Context(), dir, io.Discard, io.Discard); err != nil {
				t.Error(err)
			}
			changed, err := changes.Recent(filepath.Join(dir, changes.Folder), 10)
			if err != nil || len(changed) != versions-1 {
				t.Errorf("henro feed tells %d changes of %d versions, %v", len(changed), versions, err)
			}
			rows := 0
			for _, url := range []*string{nil, new(string)} {
				q := tables.All
				if url != nil {
					*url = page
					q.URL = url
				}
				if err := tables.Captures().Each(&tables.Source{Archive: filepath.Join(dir, "warc")}, q,
					func(row tables.Row) error {
						if row.Value(0).Text == page {
							rows++
						}
						return nil
					}); err != nil {
					t.Error(err)
				}
			}
			if rows != 2*versions {
				t.Errorf("the table of captures has the page %d times in two looks, want %d", rows, 2*versions)
			}
			err = exportWACZ(io.Discard, io.Discard, wacz.DefaultOptions(), dir, "-")
			if config.Code(err) != config.ExitUsage {
				t.Errorf("nothing that is finished is packed: %v", err)
			}
		}
		e := crawltest.At(t, dir, site, func(o *master.Options) { o.Hosts.Continuous = true }, page)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := e.Run(ctx, func(inner context.Context, node *master.Node) error {
			time.Sleep(10 * time.Second)
			read(1)
			for price = 1; price < 3; price++ {
				if _, err := node.Revisit(inner, &master.RevisitPosted{Pages: page, Now: true}); err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Second)
				read(price + 1)
			}
			cancel()
			<-inner.Done()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
