// Package looks finds the pictures that a browser took of a page, and says which of them show it before and with a
// version: resource records, named as Browsertrix-crawler does.
package looks

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// Picture is one of a page.
type Picture struct {
	URL    string // of the page
	Width  int    // of the window, in CSS pixels
	At     time.Time
	Digest string
	Node   string // with which slave it lies; "": here
}

// Look is how a page looked before and with a version, in a window of one width.
type Look struct {
	Width         int
	Before, After Picture
}

// kinds are what names of pictures begin with, by width.
var kinds = []struct {
	width int
	name  string
}{{1280, "urn:view:"}, {390, "urn:view-390:"}}

// Path is where pictures are shown.
const Path = "/picture"

// Bytes are those of a picture that are shown.
const Bytes = 32 << 20

// Path is where the picture is shown.
func (p Picture) Path() string {
	query := url.Values{"url": {p.URL}, "width": {strconv.Itoa(p.Width)}, "at": {cdxj.Stamp(p.At)}}
	if p.Node != "" {
		query.Set("node", p.Node)
	}
	return Path + "?" + query.Encode()
}

// Asked is the picture that a request asks for, as Path has it.
func Asked(r *http.Request) (Picture, error) {
	p := Picture{URL: r.FormValue("url"), Node: r.FormValue("node")}
	var err error
	if p.At, err = cdxj.ParseStamp(r.FormValue("at")); err == nil {
		p.Width, err = strconv.Atoi(r.FormValue("width"))
	}
	if err != nil || p.name() == "" {
		return p, fmt.Errorf("no such picture: %w", captures.ErrNotArchived)
	}
	return p, nil
}

// name is that of the record; "": there are none of this width.
func (p Picture) name() string {
	for _, kind := range kinds {
		if kind.width == p.Width {
			return kind.name + p.URL
		}
	}
	return ""
}

// is reports whether an entry is that of a picture with a name.
func is(e *cdxj.Entry, name string) bool { return e.URL == name && IsPicture(e.Mime) }

// IsPicture reports whether a type is that of pictures.
func IsPicture(mime string) bool { return strings.HasPrefix(mime, "image/") }

// Of are the pictures of a page in an archive, in the order of their moments; of each width the latest, at most so
// many.
func Of(a *captures.Archive, page string, most int) (all []Picture, err error) {
	return each(page, func(name string) (found []cdxj.Entry, err error) {
		err = under(a, name, func(e cdxj.Entry) bool {
			found = append(found, e)
			found = found[max(0, len(found)-most):]
			return true
		})
		return found, err
	})
}

// In is Of for a folder of WARC files, of which some may still grow.
func In(dir, page string, most int) (all []Picture, err error) {
	return each(page, func(name string) ([]cdxj.Entry, error) {
		found, _, err := cdxj.Latest(dir, cdxj.RawKey(name), func(e *cdxj.Entry) bool { return is(e, name) }, most)
		slices.Reverse(found)
		return found, err
	})
}

func each(page string, of func(name string) ([]cdxj.Entry, error)) (all []Picture, err error) {
	for _, kind := range kinds {
		found, err := of(kind.name + page)
		if err != nil {
			return nil, fmt.Errorf("pictures of %s: %w", page, err)
		}
		for i := range found {
			all = append(all, Picture{URL: page, Width: kind.width, At: found[i].At, Digest: found[i].Digest})
		}
	}
	return all, nil
}

// under shows the captures of pictures with a name.
func under(a *captures.Archive, name string, visit func(cdxj.Entry) bool) error {
	return a.Under(cdxj.RawKey(name)+" ", func(e cdxj.Entry) bool { return !is(&e, name) || visit(e) })
}

// Pair are the looks of each of the versions, which are in the order of their moments, where pictures of it differ from
// the last before it.
func Pair(versions []time.Time, all []Picture) [][]Look {
	looks := make([][]Look, len(versions))
	for _, kind := range kinds {
		for i, at := range versions {
			look := Look{Width: kind.width}
			for _, p := range all {
				switch {
				case p.Width != kind.width:
				case p.At.Before(at):
					look.Before = p
				case i+1 < len(versions) && !p.At.Before(versions[i+1]):
				case look.After.URL == "":
					look.After = p
				}
			}
			if look.Before.URL != "" && look.After.URL != "" && look.Before.Digest != look.After.Digest {
				looks[i] = append(looks[i], look)
			}
		}
	}
	return looks
}

// Show shows a picture of an archive.
func Show(a *captures.Archive, p Picture, take func(mime string, body io.Reader) error) error {
	var found cdxj.Entry
	err := under(a, p.name(), func(e cdxj.Entry) bool {
		if e.At.Equal(p.At) {
			found = e
		}
		return found.URL == ""
	})
	if err == nil && found.URL == "" {
		err = captures.ErrNotArchived
	}
	if err != nil {
		return err
	}
	c, err := a.Read(found)
	if err != nil {
		return fmt.Errorf("picture %s: %w", found.URL, err)
	}
	defer c.Close()
	return take(found.Mime, c.Body)
}

// Read is Show for a folder of WARC files, of which some may still grow: the type and the bytes of a picture, of which
// there may be at most so many.
func Read(dir string, p Picture, most int64) (mime string, body []byte, err error) {
	name := p.name()
	found, _, err := cdxj.Latest(dir, cdxj.RawKey(name), func(e *cdxj.Entry) bool {
		return is(e, name) && e.At.Equal(p.At)
	}, 1)
	if err == nil && len(found) == 0 {
		err = captures.ErrNotArchived
	}
	if err != nil {
		return "", nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	file := filepath.Base(found[0].Filename)
	f, err := captures.OpenFile(root, file)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	record, err := warc.At(f, found[0].Offset)
	if err != nil {
		return "", nil, fmt.Errorf("%s: the record at %d: %w", file, found[0].Offset, err)
	}
	if body, err = io.ReadAll(io.LimitReader(record, most+1)); err == nil && int64(len(body)) > most {
		err = fmt.Errorf("the picture has more than %d MB", most>>20)
	}
	return found[0].Mime, body, err
}

// Send answers with a picture.
func Send(w http.ResponseWriter, mime string, status int, body io.Reader) error {
	h := w.Header()
	h.Set("Content-Type", mime)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	_, err := io.Copy(w, io.LimitReader(body, Bytes))
	return err
}
