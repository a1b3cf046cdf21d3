package dashboard

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"henro/messages/weburl"
	"henro/store/archive/cdxj"
	"henro/store/report/changes"
)

// TestTheLifeOfAPageHasItsCaptures, with links to where they are shown while they are.
func TestTheLifeOfAPageHasItsCaptures(t *testing.T) {
	f := newFake(t, nil)
	f.dir = t.TempDir()
	warc := filepath.Join(f.dir, "warc")
	if err := os.Mkdir(warc, 0o755); err != nil {
		t.Fatal(err)
	}
	page := weburl.MustParse(somePage)
	var index []byte
	for i, c := range []struct{ digest, mime string }{{"A", "text/html"}, {"A", cdxj.Revisit}, {"B", "text/html"},
		{"B", "text/html"}} {
		e := cdxj.Entry{Key: page.IndexKey(), URL: page.String(), At: time.Date(2030, 3, 1+i, 12, 0, 0, 0, time.UTC),
			Status: 200, Digest: c.digest, Mime: c.mime, Offset: int64(i), Length: 1000, Filename: "h.warc.gz"}
		index = e.Append(index)
	}
	for day, digest := range []string{"A", "B", "B"} {
		e := cdxj.Entry{URL: "urn:view:" + page.String(), At: time.Date(2030, 3, 2+day, 12, 0, 9, 0, time.UTC),
			Key: "urn:view:" + page.String(), Digest: digest, Mime: "image/png", Filename: "h.warc.gz",
			Offset: int64(10 + day)}
		index = e.Append(index)
	}
	note := filepath.Join(warc, ReplayNote)
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(warc, "h.cdxj"), index)
	at := time.Date(2030, 3, 3, 12, 0, 0, 0, time.UTC)
	for _, page := range []string{somePage, "https://other.test/"} {
		told := changes.Change{ID: changes.IDOf(page, at, ""), URL: page, At: at,
			Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-Salt costs 1 €\n+Salt costs 2 €\n"}
		if err := changes.Append(filepath.Join(f.dir, changes.Folder), []changes.Change{told}); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	for _, c := range []struct{ says, note, link string }{
		{"no replay runs", "", ""},
		{"one runs", address + "\n", "http://" + address + "/web/20300304120000/" + somePage},
		{"one of another machine is claimed", "192.0.2.1:80", ""},
		{"the note is none", "javascript:alert(1)", ""},
		{"one has ended without a word", "127.0.0.1:1", ""},
	} {
		if c.note != "" {
			write(note, []byte(c.note))
		}
		d := board(t, f)
		_, doc := get(t, d, "/page?url="+url.QueryEscape(somePage), "en")
		var said []string
		doc.Find(".captures tbody .tag").Each(func(_ int, s *goquery.Selection) { said = append(said, s.Text()) })
		if got, want := strings.Join(said, " "), "unchanged changed unchanged first"; got != want {
			t.Errorf("%s: changes %q, want %q", c.says, got, want)
		}
		if looks := doc.Find(".captures .brought .look"); looks.Length() != 1 || looks.Find("img").Length() != 4 ||
			!strings.Contains(looks.Find("summary").Text(), "1280") {
			t.Errorf("%s: how it looked: %q", c.says, looks.Text())
		}
		if got := doc.Find(".captures .brought").First().Text(); got != "Salt costs 12 €" {
			t.Errorf("%s: the versions brought %q", c.says, got)
		}
		if link, _ := doc.Find(".captures tbody a").First().Attr("href"); link != c.link {
			t.Errorf("%s: link %q, want %q", c.says, link, c.link)
		}
	}
}
