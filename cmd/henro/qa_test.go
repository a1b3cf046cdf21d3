package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/qa"
	"henro/master"
	"henro/messages/outlink"
)

func TestQANamesWhyTheArchiveLacksSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &crawltest.Site{Answer: answerLacking, Seed: "http://a.example/ depth=1"}
		s.Crawl(t, dir, func(o *master.Options) { o.Hosts.Admission.Requisites = outlink.AllClasses })
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
