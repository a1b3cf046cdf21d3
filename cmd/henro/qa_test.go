package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"henro/master"
	"henro/messages/outlink"
)

func TestWithoutABrowserQALooksForRequisitesInTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := &site{answer: answerLacking, seed: "http://a.example/ depth=1"}
		s.crawl(t, dir, func(o *master.Options) { o.Hosts.Admission.Requisites = outlink.AllClasses })
		t.Setenv("PATH", "")
		out := said(t, "qa", dir)
		for _, line := range []string{
			"- image    http://down.example/x.png: its last visit failed: ROBOTS_DENIED", "of 3 pages are whole"} {
			if !strings.Contains(out, line) {
				t.Errorf("%q is not in\n%s", line, out)
			}
		}
	})
}
