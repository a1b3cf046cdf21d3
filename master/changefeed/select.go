package changefeed

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"henro/actors/console"
	"henro/store/report/changes"
	"henro/store/report/feeds"
	"henro/store/report/news"
)

// selection says which changes a reader wants: of pages, with a tag, in which all words stand.
type selection struct {
	pages news.Pages
	tag   string // "": any
	words []string
}

// maxWords bounds the words of a selection.
const maxWords = 50

// parseSelection reads what is asked for. pages: a URL, all that begin so (*), or a host; "", as of tag: all.
func parseSelection(pages, tag, query string) (s *selection, err error) {
	s = &selection{pages: "*", tag: tag, words: strings.Fields(strings.ToLower(query))}
	if len(s.words) > maxWords {
		return nil, fmt.Errorf("q has %d words, want at most %d", len(s.words), maxWords)
	}
	if pages != "" {
		if s.pages, err = news.ParsePages(pages); err != nil {
			return nil, fmt.Errorf("pages=%q: %w", pages, err)
		}
	}
	return s, nil
}

// has reports whether a reader wants a change. A nil selection has all.
func (s *selection) has(c *changes.Change) bool {
	if s == nil {
		return true
	}
	if !s.pages.Has(c.URL) || s.tag != "" && s.tag != c.Tag {
		return false
	}
	text := strings.ToLower(c.Title + "\n" + c.URL + "\n" + c.Diff)
	return !slices.ContainsFunc(s.words, func(word string) bool { return !strings.Contains(text, word) })
}

// feed are the latest changes of a stream.
type feed []changes.Change

// add takes a change of a stream.
func (f *feed) add(c *changes.Change) error {
	if *f = append(*f, *c); len(*f) >= 10*feeds.Most {
		f.settle()
	}
	return nil
}

// settle leaves the latest, the latest first.
func (f *feed) settle() {
	slices.SortStableFunc(*f, func(a, b changes.Change) int { return b.At.Compare(a.At) })
	*f = slices.Clone((*f)[:min(len(*f), feeds.Most)])
}

// serveFeed answers with the latest changes as a feed for readers: atom (RFC 4287), or json (JSON Feed 1.1).
func (s *stream) serveFeed(w http.ResponseWriter, r *http.Request, format, name string) {
	types := map[string]string{"atom": "application/atom+xml", "json": "application/feed+json"}
	if types[format] == "" {
		console.Fail(w, http.StatusBadRequest, fmt.Errorf("format=%q: want atom or json", format))
		return
	}
	var latest feed
	s.follow, s.fresh, s.cursor, s.take = false, earliest, cursor{}, latest.add
	s.run(r.Context())
	latest.settle()
	var text []byte
	var err error
	if format == "atom" {
		text, err = feeds.Atom(latest, name, time.Unix(0, 0))
	} else {
		text, err = feeds.JSON(latest, name)
	}
	if err != nil {
		console.Fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", types[format])
	_, _ = io.Copy(w, bytes.NewReader(text)) // an error means that the reader is gone
}
