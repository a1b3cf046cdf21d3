package embedded_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"henro/actors/admission"
	"henro/cmd/embedded/crawltest"
	"henro/master"
)

// However a redirect is met, inside a lease or by the host that admits it, one setting says how many are followed in a
// row.
func TestOneSettingLimitsRedirectsInARow(t *testing.T) {
	for _, tt := range []struct{ limit, follow int }{{0, 0}, {2, 0}, {2, 1}, {30, 0}, {30, 1}} {
		t.Run(fmt.Sprintf("%d with follow %d", tt.limit, tt.follow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &crawltest.Site{Answer: func(path string) (int, string, string) {
					if path == "/robots.txt" {
						return 404, "", ""
					}
					var step int
					fmt.Sscanf(path, "/%d", &step)
					return 302, fmt.Sprintf("Location: /%d\r\n", step+1), ""
				}}
				status := s.Crawl(t, t.TempDir(), func(o *master.Options) {
					o.Hosts.Admission.MaxRedirects, o.Hosts.Follow = tt.limit, tt.follow == 1
				})
				if n := len(s.Asked) - 2; n != tt.limit { // beside the root and robots.txt
					t.Errorf("%d redirects were followed, want %d", n, tt.limit)
				}
				if status.Totals.Skipped[admission.Redirects] == 0 {
					t.Error("nothing is counted as skipped")
				}
			})
		})
	}
}

// The stop list of the operator may name folders. A slave that follows links inside a lease keeps out of them too.
func TestAFolderOfTheStopListGivenBeforehandIsNotFollowedInsideALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &crawltest.Site{
			Answer: crawltest.Pages(map[string]string{"/": `<a href=/open>o</a> <a href=/private/a>p</a>`,
				"/open": `<a href=/private/b>p</a>`, "/private/a": "x", "/private/b": "x"})}
		s.Crawl(t, t.TempDir(), func(o *master.Options) { o.Scope.Portals = []string{"http://a.example/private/"} })
		if s.Asked["/open"] != 1 || s.AskedBelow("/private") > 0 {
			t.Errorf("asked for %v", s.Asked)
		}
	})
}

// Pages that turn out to be closer to a seed have their links judged again, by the session ids that their host has
// shown: each page of a maze would bring new ones otherwise.
func TestLinksJudgedAgainMeetTheSessionsOfTheirHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Seed: "http://a.example/start depth=1", Answer: func(path string) (int, string, string) {
			switch {
			case path == "/start" || path == "/":
				return 200, "", crawltest.LinksTo(5, "/hub")
			case strings.HasPrefix(path, "/hub"):
				var b strings.Builder
				for i := range 10 {
					fmt.Fprintf(&b, "<a href=\"/room?sid=%s%031x\">on</a>", path[4:], i)
				}
				return 200, "", b.String()
			case strings.HasPrefix(path, "/room"):
				return 200, "", "a room"
			}
			return 404, "", ""
		}}
		limits := func(o *master.Options) { o.Hosts.Admission.Traps.MaxSessions = 3 }
		s.Crawl(t, dir, limits)
		if hubs, rooms := s.AskedBelow("/hub"), s.AskedBelow("/room"); hubs != 5 || rooms != 0 {
			t.Errorf("%d hubs and %d rooms at first, want 5 and 0", hubs, rooms)
		}
		s.Seed = "http://a.example/ depth=2"
		s.Crawl(t, dir, func(o *master.Options) { limits(o); o.Store.Partitions = 0 })
		if hubs, rooms := s.AskedBelow("/hub"), s.AskedBelow("/room"); hubs != 0 || rooms != 3 {
			t.Errorf("%d hubs and %d rooms with more depth, want 0 and 3", hubs, rooms)
		}
	})
}
