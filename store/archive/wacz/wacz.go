// Package wacz packs an archive into one WACZ 1.1.1 file, which ReplayWeb.page opens from any web server without a
// program beside it, and verifies such files.
//
// A WACZ is a ZIP file of what is there already: the WARC files, stored and not compressed a second time so that a
// reader can take one record out of gigabytes; the index, in gzip members of some thousand lines with a short index
// above it; a list of pages; and a data package that names every part with its digest. It is written in one pass to
// anything that takes bytes, ZIP64 where it must be.
//
// Invariants: what is packed is the files of the merged index and its lines, of one moment, whatever is added
// meanwhile; memory holds one block of the index and the directory of the ZIP.
package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// ErrCompression is returned for an archive with files that a WACZ may not hold: it knows .warc and .warc.gz.
var ErrCompression = errors.New("wacz: only .warc.gz and .warc can be packed")

// Suffix ends the names of packages.
const Suffix = ".wacz"

// Version is that of the specification.
const Version = "1.1.1"

// Options say what the package says of itself.
type Options struct {
	Title       string
	Description string
	Software    string // name/version
	Main        Page   // shown first; none if its URL is empty
	Now         time.Time
	Key         *ecdsa.PrivateKey // signs the package; nil: it is not signed
	// BlockLines is how many lines of the index are packed together. Default 3000, the field's custom: some 300 kB to
	// read for one look-up.
	BlockLines int
	Others     []Other // packed as they are
	// Open opens a WARC file; nil: it is one of the folder.
	Open func(name string) (io.ReadSeekCloser, error)
	// Progress is called with the bytes packed so far; it may be nil.
	Progress func(done, all int64)
}

// Other is a file that is packed beside what a WACZ has anyway.
type Other struct{ Path, File string } // in the package; on disk

// DefaultOptions returns the defaults.
func DefaultOptions() Options { return Options{Now: time.Now(), BlockLines: 3000} }

// Page is one line of the list of pages.
type Page struct {
	URL   string
	At    time.Time // of its capture
	Title string
	Text  string // its words, by which readers search
}

// Lists are the pages that people begin at, and the others.
type Lists struct{ Pages, Others iter.Seq2[Page, error] }

// writer writes one package.
type writer struct {
	zip       *zip.Writer
	o         Options
	resources []resource
	done, all int64
}

type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// Write packs the files that a merged index of dir holds.
func Write(out io.Writer, dir string, m cdxj.Merged, lists Lists, o Options) error {
	if len(m.Files) == 0 {
		return errors.New("wacz: there is no finished file to pack")
	}
	w := &writer{zip: zip.NewWriter(out), o: o}
	for _, name := range m.Files {
		if strings.HasSuffix(name, warc.Zstd.Suffix()) {
			return fmt.Errorf("%w: %s", ErrCompression, name)
		}
		f, err := w.open(dir, name)
		if err != nil {
			return fmt.Errorf("wacz: %w", err)
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("wacz: %w", err)
		}
		w.all += size
	}
	index, err := os.Open(m.Path) // now, so that it is the index of these files
	if err != nil {
		return fmt.Errorf("wacz: %w", err)
	}
	defer index.Close()
	for _, name := range m.Files {
		if err := w.archive(dir, name); err != nil {
			return err
		}
	}
	if err := w.index(index); err != nil {
		return err
	}
	if err := w.pages("pages", "pages", "Pages", lists.Pages); err != nil {
		return err
	}
	if err := w.pages("extraPages", "extra", "Other pages", lists.Others); err != nil {
		return err
	}
	for _, other := range o.Others {
		if err := w.other(other); err != nil {
			return err
		}
	}
	if err := w.about(); err != nil {
		return err
	}
	if err := w.zip.Close(); err != nil {
		return fmt.Errorf("wacz: %w", err)
	}
	return nil
}

// part is one file of the package while it is written.
type part struct {
	to    io.Writer
	sum   hash.Hash
	bytes int64
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	p.sum.Write(b[:n])
	p.bytes += int64(n)
	return n, err
}

// add writes one file and notes what the data package says of it.
func (w *writer) add(path string, method uint16, fill func(io.Writer) error) (resource, error) {
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: path, Method: method, Modified: w.o.Now.UTC()})
	if err != nil {
		return resource{}, fmt.Errorf("wacz: %w", err)
	}
	p := &part{to: to, sum: sha256.New()}
	if err := fill(p); err != nil {
		return resource{}, fmt.Errorf("pack %s: %w", path, err)
	}
	return resource{filepath.Base(path), path, "sha256:" + hex.EncodeToString(p.sum.Sum(nil)), p.bytes}, nil
}

func (w *writer) list(r resource, err error) error {
	if err == nil {
		w.resources = append(w.resources, r)
	}
	return err
}

func (w *writer) open(dir, name string) (io.ReadSeekCloser, error) {
	if w.o.Open != nil {
		return w.o.Open(name)
	}
	return os.Open(filepath.Join(dir, name))
}

func (w *writer) archive(dir, name string) error {
	return w.list(w.add("archive/"+name, zip.Store, func(to io.Writer) error {
		f, err := w.open(dir, name)
		if err != nil {
			return err
		}
		defer f.Close()
		for {
			n, err := io.CopyN(to, f, 8<<20)
			if w.done += n; w.o.Progress != nil {
				w.o.Progress(w.done, w.all)
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}))
}

func (w *writer) other(o Other) error {
	return w.list(w.add(o.Path, zip.Deflate, func(to io.Writer) error {
		f, err := os.Open(o.File)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(to, f)
		return err
	}))
}

// index packs the merged index as blocks of lines, and above them the first key of each.
func (w *writer) index(merged io.Reader) error {
	const name = "index.cdx.gz"
	above := fmt.Appendf(nil, "!meta 0 {\"format\":\"cdxj-gzip-1.0\",\"filename\":%q}\n", name)
	err := w.list(w.add("indexes/"+name, zip.Store, func(to io.Writer) error {
		in := bufio.NewReaderSize(merged, 1<<20)
		var block, packed bytes.Buffer
		zip := gzip.NewWriter(nil)
		var offset int64
		first, lines := "", 0
		flush := func() error {
			if lines == 0 {
				return nil
			}
			packed.Reset()
			zip.Reset(&packed)
			zip.Write(block.Bytes())
			zip.Close() // into memory
			sum := sha256.Sum256(packed.Bytes())
			above = fmt.Appendf(above, "%s {\"offset\":%d,\"length\":%d,\"digest\":\"sha256:%x\",\"filename\":%q}\n",
				first, offset, packed.Len(), sum, name)
			offset += int64(packed.Len())
			block.Reset()
			lines = 0
			_, err := to.Write(packed.Bytes())
			return err
		}
		for {
			line, err := in.ReadSlice('\n')
			if err == io.EOF {
				return flush()
			}
			if err != nil {
				return err
			}
			e, err := cdxj.Parse(line)
			if err != nil {
				return err
			}
			if lines == 0 {
				first = e.Key + " " + cdxj.Stamp(e.At)
			}
			if e.Digest != "" && !strings.Contains(e.Digest, ":") {
				e.Digest = "sha1:" + e.Digest // readers of WACZ want the kind of digest
			}
			block.Write(e.Append(block.AvailableBuffer()))
			if lines++; lines >= w.o.BlockLines {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}))
	if err != nil {
		return err
	}
	return w.list(w.add("indexes/index.idx", zip.Deflate, func(to io.Writer) error {
		_, err := to.Write(above)
		return err
	}))
}

// pages writes a list of pages as JSON lines, the first of which says what it is.
func (w *writer) pages(file, id, title string, pages iter.Seq2[Page, error]) error {
	if pages == nil {
		return nil
	}
	return w.list(w.add("pages/"+file+".jsonl", zip.Deflate, func(to io.Writer) error {
		out := bufio.NewWriter(to)
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		if err := lines.Encode(map[string]any{"format": "json-pages-1.0", "id": id, "title": title,
			"hasText": true}); err != nil {
			return err
		}
		n := 0
		for p, err := range pages {
			if err != nil {
				return err
			}
			n++
			err = lines.Encode(struct {
				ID    string `json:"id"`
				URL   string `json:"url"`
				At    string `json:"ts"`
				Title string `json:"title,omitempty"`
				Text  string `json:"text,omitempty"`
			}{fmt.Sprintf("%s%d", id, n), p.URL, p.At.UTC().Format(time.RFC3339), p.Title, p.Text})
			if err != nil {
				return err
			}
		}
		return out.Flush()
	}))
}

// about writes the data package and its digest, which is signed if there is a key.
func (w *writer) about() error {
	text, err := json.MarshalIndent(struct {
		Profile     string     `json:"profile"`
		Version     string     `json:"wacz_version"`
		Title       string     `json:"title,omitempty"`
		Description string     `json:"description,omitempty"`
		Created     string     `json:"created"`
		Software    string     `json:"software,omitempty"`
		MainURL     string     `json:"mainPageUrl,omitempty"`
		MainDate    string     `json:"mainPageDate,omitempty"`
		Resources   []resource `json:"resources"`
	}{"data-package", Version, w.o.Title, w.o.Description, w.o.Now.UTC().Format(time.RFC3339), w.o.Software,
		w.o.Main.URL, date(w.o.Main.At), w.resources}, "", "  ")
	if err != nil {
		return err
	}
	put := func(path string, text []byte) (resource, error) {
		return w.add(path, zip.Deflate, func(to io.Writer) error { _, err := to.Write(text); return err })
	}
	r, err := put(dataPackage, text)
	if err != nil {
		return err
	}
	digest := struct {
		Path   string      `json:"path"`
		Hash   string      `json:"hash"`
		Signed *signedData `json:"signedData,omitempty"`
	}{Path: r.Path, Hash: r.Hash}
	if w.o.Key != nil {
		if digest.Signed, err = sign(r.Hash, w.o); err != nil {
			return err
		}
	}
	if text, err = json.MarshalIndent(digest, "", "  "); err == nil {
		_, err = put(dataPackageDigest, text)
	}
	return err
}

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
