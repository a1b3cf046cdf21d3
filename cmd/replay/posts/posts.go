// Package posts finds what an archive has for a request by POST of a page in replay.
package posts

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"time"

	"henro/cmd/replay/origin"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

const (
	maxBody = 1 << 20 // bytes of a body that a page may send
	looked  = 2_000   // lines of the index in which one is looked for that is alike
)

// Closest returns the capture of a request nearest to a moment: of the same request, else of one that differs in case,
// else of one that differs in what keeps caches away. ErrNotArchived: there is none. In the body, origins of the port
// are those that they stand for.
func Closest(a *captures.Archive, port origin.Port, r *http.Request, u weburl.URL,
	at time.Time) (captures.Place, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return captures.Place{}, err
	}
	asked := posted.Request{URL: u, ContentType: r.Header.Get("Content-Type"), Body: port.Told(body)}
	_, query := asked.Query()
	type likeness int
	const (
		none likeness = iota
		busted
		cased
		same
	)
	var found captures.Place
	best, lines, matters := none, 0, origin.Essential(query)
	look := func(key string, alike func(e *cdxj.Entry, body string) likeness) error {
		return a.Lines(key, func(line []byte) bool {
			if lines++; lines > looked || !bytes.HasPrefix(line, []byte(key)) {
				return false
			}
			e, err := cdxj.Parse(line)
			method, body := e.Asked()
			if err != nil || method != http.MethodPost {
				return true
			}
			is := alike(&e, body)
			if is > best || is == best && is > none && e.At.Sub(at).Abs() < found.At.Sub(at).Abs() {
				best, found = is, captures.Place{Entry: e, First: e.At, Last: e.At, Number: 1, Count: 1}
			}
			return true
		})
	}
	for _, key := range []string{asked.Key(), posted.KeyOf(u, http.MethodPost, query)} {
		if err == nil && best < same {
			err = look(key+" ", func(e *cdxj.Entry, body string) likeness {
				if body == query && e.URL == u.String() {
					return same
				}
				return cased
			})
		}
	}
	if err == nil && best == none {
		path, _, _ := strings.Cut(u.IndexKey(), "?")
		err = look(path+"?", func(e *cdxj.Entry, body string) likeness {
			to, bad := weburl.Parse(e.URL)
			if bad == nil && to.Path() == u.Path() && origin.Essential(to.Query()) == origin.Essential(u.Query()) &&
				origin.Essential(body) == matters {
				return busted
			}
			return none
		})
	}
	if best == none {
		err = cmp.Or(err, captures.ErrNotArchived)
	}
	return found, err
}
