package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"

	"henro/cmd/qa"
)

func TestQANamesWhyTheArchiveLacksSomething(t *testing.T) {
	dir := copyOf(t, "lacking", crawlLacking)
	synctest.Test(t, func(t *testing.T) { // the moments of the crawl
		t.Setenv("PATH", "")
		if _, err := command(t, "qa", dir); err == nil || !strings.Contains(err.Error(), "henro missing") {
			t.Errorf("without a browser: %v", err)
		}
		summary := &qa.Summary{Pages: []*qa.Page{{Missing: []qa.Lack{{URL: "http://a.example/private.png"},
			{URL: "http://a.example/nobody.png"}}}}}
		nameCauses(t.Context(), logrus.NewEntry(logrus.New()), dir, summary)
		if m := summary.Pages[0].Missing; !strings.Contains(m[0].Cause, "robots.txt") || m[1].Cause == "" {
			t.Errorf("causes: %+v", m)
		}
	})
}
