package feeds

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"
	"time"

	"henro/store/report/changes"
)

// Characters that XML has no place for do not end the feed for its readers.
func TestAFeedOfAnythingIsXML(t *testing.T) {
	dir := t.TempDir()
	evil := "a\x1b\x00\x9b<b>]]>&\ufffe\u009bz"
	c := changes.Change{ID: "urn:x", URL: "https://a.test/", Title: evil, Diff: evil}
	if err := changes.Append(dir, []changes.Change{c}); err != nil {
		t.Fatal(err)
	}
	if err := WriteAtom(dir, evil, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, AtomName))
	if err != nil {
		t.Fatal(err)
	}
	var feed atomFeed
	if err := xml.Unmarshal(text, &feed); err != nil || len(feed.Entries) != 1 {
		t.Fatalf("%q: %v", text, err)
	}
	const want = "a\ufffd\ufffd\ufffd<b>]]>&\ufffd\u009bz"
	if e := feed.Entries[0]; e.Title != want || e.Content.Text != want || feed.Title != "Changes of "+want {
		t.Errorf("%q, %q, %q, want %q", feed.Title, e.Title, e.Content.Text, want)
	}
}
