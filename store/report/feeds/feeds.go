// Package feeds writes what changed as feeds for readers: Atom (RFC 4287) and JSON Feed 1.1.
package feeds

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"time"

	"henro/store/fsync"
	"henro/store/report/changes"
)

// AtomName is the name of the feed in changes.Folder.
const AtomName = "changes.atom"

// Most is how many changes a feed has.
const Most = 200

// The parts of RFC 4287 that a feed of changes has.
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Updated string      `xml:"updated"`
		Author  atomAuthor  `xml:"author"`
		Entries []atomEntry `xml:"entry"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
	}
	atomEntry struct {
		Category []atomCategory `xml:"category"`
		ID       string         `xml:"id"`
		Title    string         `xml:"title"`
		Updated  string         `xml:"updated"`
		Link     atomLink       `xml:"link"`
		Summary  string         `xml:"summary"`
		Content  atomText       `xml:"content"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// WriteAtom replaces the feed of the latest changes.
func WriteAtom(dir, name string, now time.Time) error {
	latest, err := changes.Recent(dir, Most)
	if err != nil {
		return err
	}
	text, err := Atom(latest, name, now)
	if err != nil {
		return err
	}
	return fsync.WriteFile(filepath.Join(dir, AtomName), text, 0o666)
}

// Atom is a feed of changes, the latest first. updated is when it was, if there are none.
func Atom(latest []changes.Change, name string, updated time.Time) ([]byte, error) {
	feed := atomFeed{ID: changes.IDOf(name, time.Time{}, ""), Title: "Changes of " + name, Author: atomAuthor{"henro"},
		Updated: updated.UTC().Format(time.RFC3339)}
	if len(latest) > 0 {
		feed.Updated = latest[0].At.UTC().Format(time.RFC3339)
	}
	for i := range latest {
		c := &latest[i]
		title := cmp.Or(c.Title, c.URL)
		var tags []atomCategory
		if c.Tag != "" {
			tags = []atomCategory{{c.Tag}}
		}
		feed.Entries = append(feed.Entries, atomEntry{ID: c.ID, Title: title, Category: tags,
			Link: atomLink{"alternate", c.URL}, Updated: c.At.UTC().Format(time.RFC3339),
			Content: atomText{"text", c.Diff},
			Summary: fmt.Sprintf("%d letters came or went since %s", c.Letters, c.Before.UTC().Format(time.RFC3339))})
	}
	text, err := xml.MarshalIndent(&feed, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the feed: %w", err)
	}
	return append([]byte(xml.Header), text...), nil
}

// item is one entry of a JSON Feed.
type item struct {
	ID    string    `json:"id"`
	URL   string    `json:"url"`
	Title string    `json:"title"`
	Text  string    `json:"content_text"`
	At    time.Time `json:"date_published"`
	Tags  []string  `json:"tags"`
}

// JSON is a JSON Feed of changes, the latest first.
func JSON(latest []changes.Change, name string) ([]byte, error) {
	items := []item{}
	for i := range latest {
		c := &latest[i]
		tags := c.Kinds
		if c.Tag != "" {
			tags = append([]string{c.Tag}, tags...)
		}
		items = append(items, item{c.ID, c.URL, cmp.Or(c.Title, c.URL), c.Diff, c.At.UTC(), tags})
	}
	return json.MarshalIndent(map[string]any{"version": "https://jsonfeed.org/version/1.1",
		"title": "Changes of " + name, "items": items}, "", " ")
}
