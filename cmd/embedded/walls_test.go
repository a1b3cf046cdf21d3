package embedded_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// challenge is a page of a vendor, the same wherever it stands, long enough to be stored once.
var challenge = `<html><head><title>Just a moment...</title><style>` + strings.Repeat("*{margin:0}", 200) +
	`</style></head><body><a href="/trap">x</a><script>window._cf_chl_opt={}</script></body></html>`

// A wall is a failure with its cause: it is archived as it came, whole each time, and nothing is learnt of it: no link,
// no text, no digest. The host rests after it. A log-in page that a redirect leads to is one without a rest.
func TestWallsAreNeverContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := func(r *fakeweb.Reply) bool {
			var n int
			_, err := fmt.Sscanf(r.Target(), "/%d", &n)
			switch {
			case r.Target() == "/robots.txt":
				return false
			case r.Target() == "/account":
				r.HTML(http.StatusFound)
				r.Header("Location", "/login?next=/account")
			case strings.HasPrefix(r.Target(), "/login"):
				r.HTML(http.StatusOK)
				fmt.Fprint(r, `<title>Sign in</title><a href=/trap>x</a><form><input type="password"></form>`)
			case err == nil && n%3 == 0 && n > 0:
				r.HTML(http.StatusOK)
				fmt.Fprint(r, challenge)
			default:
				r.HTML(http.StatusOK)
				fmt.Fprintf(r, "<title>Page %d</title><p>%s</p><a href=/account>mine</a>", n,
					strings.Repeat(fmt.Sprintf("Words of page %d. ", n), 100))
				for i := 1; i <= 9; i++ {
					fmt.Fprintf(r, `<a href="/%d">a page</a> `, i)
				}
			}
			return true
		}
		guests := []fakeweb.Guest{{Name: "walled.test", Answer: answer}}
		web, err := fakeweb.New(fakeweb.Options{Seed: 1, Guests: guests})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) { o.Hosts.Retries = 1 })
		e.Seeds = crawltest.GuestSeeds(t, web)
		status := crawltest.Run(t, e)
		if got := status.Totals.Errors[messages.Reason_WALL.String()]; got < 3*2+1 { // each again, but the log-in page
			t.Errorf("%d visits came before a wall: %v", got, status.Totals.Errors)
		}
		_, pages := crawltest.StateIn(t, dir)
		for url, page := range pages {
			path := strings.TrimPrefix(url, "http://walled.test")
			want, says := messages.Reason_NONE, ""
			switch path {
			case "/3", "/6", "/9":
				want, says = messages.Reason_WALL, "wall: challenge"
			case "/login?next=/account":
				want, says = messages.Reason_WALL, "wall: log-in"
			case "/trap":
				t.Error("a link on a wall was followed")
			}
			if messages.Reason(page.Reason) != want || page.Says != says {
				t.Errorf("%s: %v, %q", path, messages.Reason(page.Reason), page.Says)
			}
			if want != messages.Reason_NONE && (page.MainDigest|page.SimHash != 0 || page.Digest != [20]byte{}) {
				t.Errorf("%s: what is on a wall was learnt: %+v", path, page)
			}
		}
		walled := false
		var rest time.Duration
		log := web.Log()
		for i, entry := range log {
			if walled {
				gap := entry.Start.Sub(log[i-1].End)
				if gap < time.Minute {
					t.Errorf("%s was asked for %v after a wall", entry.Path, gap)
				}
				rest = max(rest, gap)
			}
			walled = slices.Contains([]string{"/3", "/6", "/9"}, entry.Path)
		}
		if rest < 2*time.Minute {
			t.Errorf("the longest rest was %v: they do not grow", rest)
		}
		archive, err := captures.Open(filepath.Join(dir, "warc"), func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		for path, want := range map[string]int{"/6": 2, "/1": 1, "/login?next=/account": 1} {
			versions := 0
			err := archive.Captures(weburl.MustParse("http://walled.test"+path), func(e cdxj.Entry) bool {
				if versions++; e.Mime == cdxj.Revisit {
					t.Errorf("%s was stored by reference", path)
				}
				text, err := pagetext.Read(archive, e)
				if (err == nil) != (path != "/6") { // that a redirect led to a log-in page is not known there
					t.Errorf("%s of the archive reads %v, %v", path, text, err)
				}
				return true
			})
			if err != nil || versions != want {
				t.Errorf("the archive has %s %d times, %v", path, versions, err)
			}
		}
	})
}
