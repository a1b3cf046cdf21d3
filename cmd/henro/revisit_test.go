package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"henro/actors/console"
	"henro/master"
)

// A list is given to the crawl in as many parts as it takes, with who says so.
func TestARunningCrawlIsToldOfAList(t *testing.T) {
	const token = "the-token-of-the-crawl-that-runs"
	var parts []master.ChangedPosted
	crawl := httptest.NewServer(console.New(console.Options{Token: token}, []console.Route{{
		Pattern: "POST /api/changed", Body: 1 << 20, Serve: func(w http.ResponseWriter, r *http.Request) {
			var posted master.ChangedPosted
			if err := json.NewDecoder(r.Body).Decode(&posted); err != nil {
				t.Error(err)
			}
			parts = append(parts, posted)
			count := uint64(len(posted.URLs))
			console.Reply(w, master.ChangedAnswer{Known: count - 3, New: 1, Waiting: 1, Foreign: 1})
		}}}))
	defer crawl.Close()
	t.Chdir(t.TempDir())
	list := "# of today\n" + strings.Repeat("https://a.test/ # the first page\n\n", master.ChangedMost+5)
	if err := errors.Join(os.WriteFile("changed.txt", []byte(list), 0o600),
		os.WriteFile("token", []byte(token), 0o600)); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, "revisit", "--master", strings.TrimPrefix(crawl.URL, "http://"), "--token-file", "token",
		"--from", "changed.txt", "--by", "a deploy")
	const says = "told of 9999 known pages and 2 new URLs; 2 wait for their first visit, 2 are of hosts that"
	if err != nil || !strings.Contains(out, says) {
		t.Errorf("%s%v", out, err)
	}
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	if len(parts[0].URLs) != master.ChangedMost || len(parts[1].URLs) != 5 ||
		parts[1].URLs[4] != "https://a.test/" || parts[1].By != "a deploy" {
		t.Errorf("%d URLs, then %+v", len(parts[0].URLs), parts[1])
	}
}
