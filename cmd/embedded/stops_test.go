package embedded_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/store"
)

// Of three folders of 300 pages one is dead and one has the same text for everything; they are left alone after some of
// each, the good one is read to its end, and so is a folder with a single dead link. The next run of the crawl knows
// it.
func TestFoldersOfBrokenPagesAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: func(path string) (int, string, string) {
			switch {
			case path == "/robots.txt", strings.HasPrefix(path, "/dead/"), path == "/good/7":
				return 404, "", "not here"
			case path == "/":
				return 200, "", crawltest.LinksTo(300, "/dead/", "/soft/", "/good/")
			case strings.HasPrefix(path, "/soft/"):
				return 200, "",
					fmt.Sprintf("<p>Sorry, the page you were looking for is not here.</p><a "+
						"href=\"/login?to=%s\">log in</a>", path)
			case strings.HasPrefix(path, "/login"):
				return 302, "Location: /\r\n", ""
			default:
				return 200, "", "<p>All that is to be said of " + path + "</p>"
			}
		}}
		status := s.Crawl(t, dir, func(o *master.Options) { o.Hosts.PageBudget, o.Hosts.TaskBudget = 40, 40 })
		if status.End != master.Finished {
			t.Error("ended with", status.End)
		}
		if n := s.AskedBelow("/good/"); n != 300 {
			t.Errorf("%d of 300 good pages", n)
		}
		for _, folder := range []string{"/dead/", "/soft/"} {
			if n := s.AskedBelow(folder); n < 10 || n > 120 {
				t.Errorf("%d pages of %s", n, folder)
			}
		}
		if got := strings.Join(crawltest.StopList(t, dir),
			", "); got != "http://a.example/dead/ missing, http://a.example/soft/ alike" {
			t.Errorf("the stop list is %s", got)
		}
		total := &status.Totals
		if total.Skipped[admission.StopList] < 300 || total.Alike == 0 || total.Broken < 550 ||
			total.StopShare() < 0.5 ||
			total.StopShare() > 0.7 {
			t.Errorf("skipped %v, %d alike, %d of %d broken", total.Skipped, total.Alike, total.Broken, total.Tried)
		}
		written := crawltest.SkippedLines(t, dir)
		if written[admission.StopList] < 300 {
			t.Errorf("skipped.jsonl has %v", written)
		}
		t.Logf("asked for %d of /dead/, %d of /soft/; share of stop-listed pages %.2f; skipped.jsonl: %v",
			s.AskedBelow("/dead/"), s.AskedBelow("/soft/"), total.StopShare(), written)

		state, err := store.OpenState(filepath.Join(dir, "state"), store.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		options := master.DefaultOptions()
		settings := master.SettingsOf(&options)
		crawl := &reading.Crawl{State: state, Settings: &settings}
		findings, err := crawl.Rules(&admission.Question{}, "http://a.example/dead/x")
		if err != nil || findings[2].Reason != admission.StopList {
			t.Errorf("why: %+v, %v", findings, err)
		}
	})
}

// By the rule of the thesis one dead link, or one that has moved, is enough for a folder.
func TestOnePageIsEnoughByTheRuleOfTheThesis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: func(path string) (int, string, string) {
			switch {
			case path == "/robots.txt", path == "/dead/7":
				return 404, "", "not here"
			case path == "/":
				return 200, "", crawltest.LinksTo(100, "/dead/", "/moved/", "/good/")
			case path == "/moved/7":
				return 302, "Location: /good/7\r\n", ""
			default:
				return 200, "", "<p>All that is to be said of " + path + "</p>"
			}
		}}
		s.Crawl(t, dir, func(o *master.Options) {
			o.Hosts.Stop.MinBroken = 1
			o.Hosts.PageBudget, o.Hosts.TaskBudget = 12, 12
		})
		if n := s.AskedBelow("/good/"); n != 100 {
			t.Errorf("%d of 100 good pages", n)
		}
		for _, folder := range []string{"/dead/", "/moved/"} {
			if n := s.AskedBelow(folder); n < 8 || n > 40 {
				t.Errorf("%d pages of %s", n, folder)
			}
		}
		if got := strings.Join(crawltest.StopList(t, dir),
			", "); got != "http://a.example/dead/ missing, http://a.example/moved/ moved" {
			t.Errorf("the stop list is %s", got)
		}
	})
}

// The evidence for a folder outlives the process: run by run of four pages, it is stopped after as many as in one run.
func TestEvidenceOfBrokenPagesSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: func(path string) (int, string, string) {
			if path == "/" {
				return 200, "", crawltest.LinksTo(100, "/dead/")
			}
			return 404, "", "not here"
		}}
		asked, runs, end := 0, 0, master.End("")
		for ; end != master.Finished; runs++ {
			if runs > 30 {
				t.Fatalf("not stopped in %d runs of 4 pages, %d asked for; stop list %q", runs, asked,
					crawltest.StopList(t, dir))
			}
			end = s.Crawl(t, dir, func(o *master.Options) {
				o.MaxPages = 4
				o.Hosts.PageBudget, o.Hosts.TaskBudget, o.Hosts.Follow = 2, 2, false
			}).End
			asked += s.AskedBelow("/dead/")
		}
		if got := strings.Join(crawltest.StopList(t, dir), ", "); got != "http://a.example/dead/ missing" ||
			asked < 10 ||
			asked > 14 {
			t.Errorf("%d pages of a dead folder in %d runs; the stop list is %q", asked, runs, got)
		}
	})
}

// A folder that was broken and is mended comes back: its entry ends (here after an hour), and one good page takes it
// off the list.
func TestAFolderThatIsMendedComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		began := time.Now()
		asked := [2]map[string]bool{{}, {}} // before and after it was mended
		s := &crawltest.Site{Answer: func(path string) (int, string, string) {
			mended := time.Since(began) > 30*time.Minute
			switch {
			case path == "/":
				return 200, "", crawltest.LinksTo(60, "/d/")
			case strings.HasPrefix(path, "/d/") && mended:
				asked[1][path] = true
				return 200, "", "<p>All that is to be said of " + path + "</p>"
			case strings.HasPrefix(path, "/d/"):
				asked[0][path] = true
				return 404, "", "not here for now"
			}
			return 404, "", ""
		}}
		s.Crawl(t, dir, func(o *master.Options) {
			o.Hosts.Continuous, o.For, o.Hosts.Stop.FirstSpan = true, 80*time.Minute, time.Hour
			o.Hosts.PageBudget, o.Hosts.TaskBudget = 5, 5
		})
		if len(asked[0]) < 10 || len(asked[0]) > 20 {
			t.Errorf("%d pages were asked for while the folder was broken", len(asked[0]))
		}
		for i := range 60 {
			if path := fmt.Sprintf("/d/%d", i); !asked[0][path] && !asked[1][path] {
				t.Errorf("%s was never asked for", path)
			}
		}
		if got := crawltest.StopList(t, dir); len(got) > 0 {
			t.Errorf("the stop list is %v", got)
		}
	})
}

// Which session ids were taken is on disk: after a restart a maze does not begin anew.
func TestAMazeOfSessionsDoesNotBeginAnewAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		issued := 0
		s := &crawltest.Site{Answer: func(path string) (int, string, string) {
			if path == "/robots.txt" {
				return 404, "", ""
			}
			issued++
			return 200, "", fmt.Sprintf("<p>Room %d</p><a href=\"/room?sid=%032x\">on</a>", issued, issued)
		}}
		limits := func(o *master.Options) { o.Hosts.Admission.Traps.MaxSessions = 3 }
		s.Crawl(t, dir, limits)
		if n := s.AskedBelow("/room"); n != 3 {
			t.Errorf("%d sessions at first, want 3", n)
		}
		s.Seed = "http://a.example/another"
		s.Crawl(t, dir, func(o *master.Options) { limits(o); o.Store.Partitions = 0 })
		if n := s.AskedBelow("/room"); n != 0 || s.Asked["/another"] != 1 {
			t.Errorf("asked for %v after the restart", s.Asked)
		}
	})
}
