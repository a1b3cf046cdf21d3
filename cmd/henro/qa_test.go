package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/qa"
	"henro/master"
	"henro/messages/outlink"
)

func TestWithoutABrowserQALooksForRequisitesInTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: answerLacking, Seed: "http://a.example/ depth=1"}
		s.Crawl(t, dir, func(o *master.Options) { o.Hosts.Admission.Requisites = outlink.AllClasses })
		t.Setenv("PATH", "")
		out := said(t, "qa", dir)
		for _, line := range []string{
			"- image    http://down.example/x.png: its last visit failed: ROBOTS_DENIED", "of 3 pages are whole"} {
			if !strings.Contains(out, line) {
				t.Errorf("%q is not in\n%s", line, out)
			}
		}
		report, err := os.ReadFile(filepath.Join(dir, "qa", "index.html"))
		for _, text := range []string{"No Chromium", "<tr><th>pages visited<td>3",
			"<tr><th>missing: ROBOTS_DENIED<td>3", "<h2>http://a.example/</h2><ul><li>",
			"http://down.example/x.png (image): its last visit failed: ROBOTS_DENIED"} {
			if err != nil || !strings.Contains(string(report), text) {
				t.Errorf("%v: %q is not in\n%s", err, text, report)
			}
		}
		if first, second := strings.Index(string(report), "<h2>http://a.example/<"),
			strings.Index(string(report), "<h2>http://a.example/deep<"); first > second {
			t.Errorf("the page that lacks most is not the first:\n%s", report)
		}
		out = said(t, "qa", "--pages", "1", "--to", filepath.Join(dir, "one"), dir)
		if strings.Contains(out, "/6.css") || !strings.Contains(out, "/x.png") ||
			!strings.Contains(out, "of 3 pages are whole") {
			t.Errorf("the worst page alone:\n%s", out)
		}

		packed := filepath.Join(dir, "a.wacz")
		said(t, "wacz", dir, packed)
		if _, err := command(t, "qa", packed); err == nil || !strings.Contains(err.Error(), "no state") {
			t.Errorf("a package without a browser: %v", err)
		}
		summary := &qa.Summary{Pages: []*qa.Page{{Missing: []qa.Lack{{URL: "http://a.example/private.png"},
			{URL: "http://a.example/nobody.png"}}}}}
		nameCauses(t.Context(), logrus.NewEntry(logrus.New()), dir, summary)
		if m := summary.Pages[0].Missing; !strings.Contains(m[0].Cause, "robots.txt") || m[1].Cause == "" {
			t.Errorf("causes: %+v", m)
		}
	})
}
