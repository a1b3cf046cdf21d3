package embedded_test

import (
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave"
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

// bias crawls hosts whose pages change for a time, while one visit in so many comes before a wall (0: none), and
// returns the mean of ln(estimate/truth) of the mean times between changes, and how many visits came before walls.
func bias(t *testing.T, every uint64) (mean float64, walled uint64) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Uint64
		guest := fakeweb.Guest{
			Shape: func(h *fakeweb.Host) {
				h.Pages, h.Changes = 60, fakeweb.Changes{Share: 1, Fastest: 4 * day, Slowest: 30 * day}
			},
			Answer: func(r *fakeweb.Reply) bool {
				if r.Target() == "/robots.txt" || every == 0 || asked.Add(1)%every > 0 {
					return false
				}
				r.HTML(http.StatusOK)
				fmt.Fprintf(r, "%s<!-- ray %d -->", challenge, asked.Load())
				return true
			},
		}
		o := fakeweb.Options{Seed: 31, LogEntries: 1 << 18}
		for n := range 3 {
			guest.Name = fmt.Sprintf("walled%d.test", n)
			o.Guests = append(o.Guests, guest)
		}
		web, err := fakeweb.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.For, o.Store.Partitions = true, 90*day, 2
			o.LeaseFor, o.TickEvery = 2*time.Hour, 30*time.Minute
		})
		e.Seeds = crawltest.GuestSeeds(t, web)
		e.Adjust = func(o *slave.Options) { o.AskEvery = 30 * time.Minute }
		begun := time.Now()
		walled = crawltest.Run(t, e).Totals.Errors[messages.Reason_WALL.String()]
		_, pages := crawltest.StateIn(t, dir)
		judged := 0.0
		for url, page := range pages {
			const long = 400 * 30 * day
			n, err := web.ChangeCount(url, begun, begun.Add(long))
			if err != nil {
				t.Fatal(err)
			}
			if page.Timing.Total > 0 && n > 0 {
				mean += math.Log(float64(page.Timing.Mean) / (long.Seconds() / float64(n)))
				judged++
			}
		}
		if judged < 150 {
			t.Fatalf("%.0f pages have an estimate", judged)
		}
		mean /= judged
	})
	return mean, walled
}

// Walls before one visit in five leave estimates of how often pages change as they are. Over three seeds the mean of
// ln(estimate/truth) was 0.20 without walls and 0.16 with them, and the same seed again differs by 0.03; with walls
// taken for content it was -0.20: go test -run TestWallsBiasNoEstimate -v ./cmd/embedded
func TestWallsBiasNoEstimate(t *testing.T) {
	t.Parallel()
	free, none := bias(t, 0)
	before, walled := bias(t, 5)
	t.Logf("mean of ln(estimate/truth) %.3f, with %d walls %.3f", free, walled, before)
	if none > 0 || walled < 200 || math.Abs(before-free) > 0.15 {
		t.Errorf("a bias of %.3f with %d walls, %.3f with %d", free, none, before, walled)
	}
}

// A log-in that was given and is taken no more is a failure of its host, which says so and rests.
func TestALostLogInIsSaidOfItsHost(t *testing.T) {
	for _, given := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			answer := func(r *fakeweb.Reply) bool {
				if r.Target() == "/robots.txt" {
					return false
				}
				r.HTML(http.StatusOK)
				if r.Target() == "/" {
					fmt.Fprint(r, "<a href=/1>one</a> <a href=/2>two</a> <a href=/3>three</a>")
				} else {
					fmt.Fprint(r, `<title>Members: log in</title><form><input type="password"></form>`)
				}
				return true
			}
			guests := []fakeweb.Guest{{Name: "members.test", Answer: answer}}
			web, err := fakeweb.New(fakeweb.Options{Seed: 1, Guests: guests})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			dir := t.TempDir()
			e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
				if o.Hosts.Retries = 1; given {
					o.Fetch.CookieFile = []byte("members.test\tFALSE\t/\tFALSE\t0\tsession\ts3ss10n\n")
				}
			})
			e.Seeds = crawltest.GuestSeeds(t, web)
			crawltest.Run(t, e)
			hosts, _ := crawltest.StateIn(t, dir)
			failure := hosts["http://members.test"].Failure.Says
			if said := strings.Contains(failure, "the log-in is lost"); said != given {
				t.Errorf("a log-in given: %v, and its host fails with %q", given, failure)
			}
			for i, log := 3, web.Log(); i < len(log); i++ { // behind robots.txt, the root and the first of these
				if gap := log[i].Start.Sub(log[i-1].End); (gap >= time.Minute) != given {
					t.Errorf("a log-in given: %v, and %s is asked for after %v", given, log[i].Path, gap)
				}
			}
		})
	}
}
