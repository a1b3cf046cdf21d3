package timeline

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// Look is how a page looked before and with a version, in a window of one width.
type Look struct {
	Width         int // CSS pixels
	Before, After Picture
}

// Picture is one of those that a browser took of a page: a resource record, named as Browsertrix-crawler does.
type Picture struct {
	At   time.Time
	Path string // at which Show answers with it

	digest string
}

// kinds are the names of pictures by their width, and what a name begins with.
var kinds = []struct {
	width int
	name  string
}{{1280, "urn:view:"}, {390, "urn:view-390:"}}

// PicturePath is where Show answers.
const PicturePath = "/picture"

// Bounds of pictures: of a page at each width, the latest; and bytes of one.
const (
	pictures     = 1000
	pictureBytes = 32 << 20
)

// picturesOf are the pictures of a page that have a name, in the order of their moments.
func picturesOf(a *captures.Archive, name string) (all []Picture, err error) {
	err = entries(a, name, func(e *cdxj.Entry) bool {
		query := url.Values{"of": {name}, "at": {cdxj.Stamp(e.At)}}
		all = append(all, Picture{e.At, PicturePath + "?" + query.Encode(), e.Digest})
		all = all[max(0, len(all)-pictures):]
		return true
	})
	return all, err
}

// entries shows the captures of what is no URL of the web.
func entries(a *captures.Archive, name string, visit func(*cdxj.Entry) bool) error {
	key := cdxj.RawKey(name) + " "
	return a.Lines(key, func(line []byte) bool {
		if !strings.HasPrefix(string(line), key) {
			return false
		}
		e, err := cdxj.Parse(line)
		return err != nil || e.URL != name || !strings.HasPrefix(e.Mime, "image/") || visit(&e)
	})
}

// look adds the pictures of the versions, which are in the order of their moments, where they differ.
func (l *Timeline) look(a *captures.Archive, u weburl.URL) error {
	for _, kind := range kinds {
		all, err := picturesOf(a, kind.name+u.String())
		if err != nil {
			return err
		}
		for i := range l.Versions {
			look, v := Look{Width: kind.width}, &l.Versions[i]
			for _, p := range all {
				switch {
				case p.At.Before(v.At):
					look.Before = p
				case i+1 < len(l.Versions) && !p.At.Before(l.Versions[i+1].At):
				case look.After.Path == "":
					look.After = p
				}
			}
			if look.Before.Path != "" && look.After.Path != "" && look.Before.digest != look.After.digest {
				v.Looks = append(v.Looks, look)
			}
		}
	}
	return nil
}

// Show answers with a picture.
func Show(w http.ResponseWriter, r *http.Request, a *captures.Archive) error {
	name, found := r.FormValue("of"), cdxj.Entry{}
	if !strings.HasPrefix(name, kinds[0].name) && !strings.HasPrefix(name, kinds[1].name) {
		return captures.ErrNotArchived
	}
	if err := entries(a, name, func(e *cdxj.Entry) bool {
		if cdxj.Stamp(e.At) == r.FormValue("at") {
			found = *e
		}
		return found.URL == ""
	}); err != nil {
		return err
	}
	if found.URL == "" {
		return captures.ErrNotArchived
	}
	c, err := a.Read(found)
	if err != nil {
		return fmt.Errorf("picture %s: %w", name, err)
	}
	defer c.Close()
	h := w.Header()
	h.Set("Content-Type", found.Mime)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'")
	_, err = io.Copy(w, io.LimitReader(c.Body, pictureBytes))
	return err
}
