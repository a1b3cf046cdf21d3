package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/messages/visible"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/slave/render/spoken"
	"henro/store"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/proof/packed"
)

func newWACZCommand() *cobra.Command {
	o := wacz.DefaultOptions()
	var key string
	cmd := &cobra.Command{
		Use:   "wacz [flags] DIR FILE",
		Short: "Pack the archive of a crawl into one WACZ file, which ReplayWeb.page opens",
		Long: `Pack the finished WARC files of a crawl, their index and a list of pages into one file (WACZ ` +
			wacz.Version + `). Any web server can
offer it, and https://replayweb.page or its own copy opens it in a browser. - is standard output.

With --sign it is signed: readers then see that nothing in it was changed since, and who knows your public key,
which is printed, sees that it is yours (anonymous signature of WACZ Signing and Verification 0.1.0).`,
		Example: `  henro wacz crawl crawl.wacz
  henro key signing > wacz.key; henro wacz --sign wacz.key crawl crawl.wacz
  henro wacz --title "Manuals, November 2026" crawl - | ssh archive 'cat > manuals.wacz'`,
		Args: config.Takes(2, 2, "pack which crawl into which file? henro wacz crawl crawl.wacz (or -)"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if key != "" {
				if err := signWith(&o, key); err != nil {
					return err
				}
			}
			bar := newBar(cmd.ErrOrStderr())
			o.Progress = func(done, all int64) { bar.show("wacz", uint64(done), uint64(all)) }
			defer bar.end()
			err := exportWACZ(cmd.OutOrStdout(), cmd.ErrOrStderr(), o, arguments[0], arguments[1])
			if err != nil || o.Key == nil {
				return err
			}
			public, err := wacz.PublicKey(o.Key)
			bar.end()
			fmt.Fprintln(cmd.ErrOrStderr(), "signed; public key:", public)
			return err
		},
	}
	cmd.Flags().StringVar(&o.Title, "title", "", "of the package")
	cmd.Flags().StringVar(&o.Description, "description", "", "of the package")
	cmd.Flags().StringVar(&key, "sign", "", "sign the package with the private key in this `FILE` (henro key signing)")
	return cmd
}

// signWith reads the key that signs.
func signWith(o *wacz.Options, path string) error {
	text, err := config.ReadSecret("sign", path)
	if err != nil {
		return err
	}
	if o.Key, err = wacz.ParseKey(text); err != nil {
		return config.Usage("--sign %s: %v", path, err)
	}
	return nil
}

// exportWACZ packs an archive; a file is there whole or not at all.
func exportWACZ(stdout, notes io.Writer, o wacz.Options, dir, path string) (err error) {
	folder := dir
	if !strings.HasPrefix(dir, bucket.Scheme) {
		if folder, err = reading.ArchiveFolder(dir); err != nil {
			return noArchive(err)
		}
	}
	archive, err := openArchive(folder, notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	archive.Finished()
	seeds, main, err := seedsOf(dir)
	if err != nil {
		return err
	}
	isSeed := func(url string) bool { return seeds[url] }
	if len(seeds) == 0 { // a collection of files, or a crawl that is running: begin at the roots
		isSeed = func(url string) bool { u, err := weburl.Parse(url); return err == nil && u.RequestURI() == "/" }
	}
	o.Software = "henro/" + version
	if o.Others, err = packed.Parts(folder, config.FindBucket, archive.Dir()); err != nil {
		return err
	}
	if u, err := weburl.Parse(main); err == nil {
		if p, err := archive.Closest(u, o.Now); err == nil {
			o.Main = wacz.Page{URL: p.URL, At: p.At}
		}
	}
	lists := wacz.Lists{Pages: pagesOf(archive, true, isSeed),
		Others: pagesOf(archive, false, func(url string) bool { return !isSeed(url) })}
	index, open, err := archive.Packed()
	if err != nil {
		return err
	}
	if o.Open = open; len(index.Files) == 0 {
		return config.Usage("%s holds no finished WARC files yet", folder)
	}
	if path == "-" {
		return wacz.Write(visible.Exact(stdout), folder, index, lists, o)
	}
	return writeFile(path, func(w io.Writer) error { return wacz.Write(w, folder, index, lists, o) })
}

// seedsOf returns the seeds of a crawl and the first of them, or none if there is no state to be read.
func seedsOf(dir string) (map[string]bool, string, error) {
	crawl, err := reading.Open(dir)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrInUse) || errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	} else if err != nil {
		return nil, "", err
	}
	defer crawl.Close()
	seeds, first, number := map[string]bool{}, "", uint64(0)
	for _, p := range crawl.State.Partitions {
		if err := p.Pages.Each(func(page store.Page, _ store.Place) error {
			if page.Depth == 0 {
				seeds[page.URL] = true
				if first == "" || page.Number < number {
					first, number = page.URL, page.Number
				}
			}
			return nil
		}); err != nil {
			return nil, "", fmt.Errorf("look for the seeds: %w", err)
		}
	}
	return seeds, first, nil
}

// pagesOf are the captures of the pages wanted, with their titles and words. begin: they are those that people begin
// at, so redirects count too.
func pagesOf(archive *captures.Archive, begin bool, wanted func(url string) bool) iter.Seq2[wacz.Page, error] {
	return func(yield func(wacz.Page, error) bool) {
		listed := "" // the URL of the last page
		texts, err := spoken.Of(archive)
		if err != nil {
			yield(wacz.Page{}, err)
			return
		}
		err = archive.Entries(func(e cdxj.Entry) bool {
			if strings.HasSuffix(e.URL, "/robots.txt") || !wanted(e.URL) {
				return true
			}
			isPage := e.Status == 200 && isHTML(e.Mime) || begin && e.Status >= 300 && e.Status < 400 &&
				e.Mime != cdxj.Revisit
			if e.Status == 200 && e.Mime == cdxj.Revisit && e.URL != listed { // another URL had its content
				isPage = isHTML(pagetext.Mime(archive, e))
			}
			if !isPage {
				return true
			}
			listed = e.URL
			p := wacz.Page{URL: e.URL, At: e.At}
			if text, err := texts.Read(e); err == nil { // else the page is listed without
				p.Title, p.Text = text.Title, string(text.Words)
			}
			return yield(p, nil)
		})
		if err != nil {
			yield(wacz.Page{}, err)
		}
	}
}

func isHTML(mime string) bool { return mime == "text/html" || mime == "application/xhtml+xml" }
