package changefeed

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/master/lending"
	"henro/store/report/changes"
	"henro/store/report/feeds"
)

// A reader gets what it asked for, as lines or as a feed that is well-formed whatever the pages say.
func TestAReaderSelects(t *testing.T) {
	dir := t.TempDir()
	var all []changes.Change
	for n := range 300 {
		at := time.Date(2026, 3, 14, 12, n, 0, 0, time.UTC)
		page := fmt.Sprintf("https://%s.test/tea/%d", []string{"a", "b"}[n%2], n)
		all = append(all, changes.Change{ID: changes.IDOf(page, at, ""), URL: page, At: at,
			Diff: "+Salt costs " + fmt.Sprint(n)})
	}
	all[40].Tag = "salt"
	all[297].Title, all[297].Diff = "<b>\x01]]>&", "+Pepper & \x1b"
	if err := changes.Append(filepath.Join(dir, changes.Folder), all); err != nil {
		t.Fatal(err)
	}
	system := actor.NewActorSystem()
	defer system.Shutdown()
	serve := Serve(dir, system, func(context.Context) ([]lending.SlaveStatus, error) { return nil, nil })
	for _, c := range []struct {
		query       string
		code, count int
		first       string
	}{
		{"pages=a.test", 200, 150, all[0].URL},
		{"pages=https://b.test/tea/*&q=SALT+costs", 200, 149, all[1].URL},
		{"q=pepper", 200, 1, all[297].URL},
		{"tag=salt", 200, 1, all[40].URL},
		{"tag=salt&pages=b.test", 200, 0, ""},
		{"format=atom&tag=salt", 200, 1, all[40].URL},
		{"pages=a%20b", 400, 0, ""},
		{"format=rss", 400, 0, ""},
		{"format=atom", 200, feeds.Most, all[299].URL},
		{"format=json", 200, feeds.Most, all[299].URL},
		{"format=atom&pages=b.test&q=pepper", 200, 1, all[297].URL},
		{"format=json&q=nowhere", 200, 0, ""},
		{"format=atom&q=nowhere", 200, 0, ""},
	} {
		w := httptest.NewRecorder()
		serve(w, httptest.NewRequest("GET", "/api/changes?"+c.query, nil))
		if w.Code != c.code || w.Code == http.StatusBadRequest {
			if w.Code != c.code {
				t.Errorf("%s: %d %s", c.query, w.Code, w.Body)
			}
			continue
		}
		var urls []string
		values, _ := url.ParseQuery(c.query)
		var err error
		switch values.Get("format") {
		case "atom":
			var read struct {
				Entries []struct {
					Link struct {
						Href string `xml:"href,attr"`
					} `xml:"link"`
				} `xml:"entry"`
			}
			err = xml.Unmarshal(w.Body.Bytes(), &read)
			for _, e := range read.Entries {
				urls = append(urls, e.Link.Href)
			}
		case "json":
			var read struct{ Items []struct{ URL string } }
			err = json.Unmarshal(w.Body.Bytes(), &read)
			for _, i := range read.Items {
				urls = append(urls, i.URL)
			}
		default:
			for lines := json.NewDecoder(w.Body); lines.More() && err == nil; {
				var read changes.Change
				err = lines.Decode(&read)
				urls = append(urls, read.URL)
			}
		}
		if err != nil || len(urls) != c.count || len(urls) > 0 && urls[0] != c.first {
			t.Errorf("%s: %d, the first %v, %v; want %d, %s", c.query, len(urls), urls[:min(1, len(urls))], err,
				c.count, c.first)
		}
	}
}
