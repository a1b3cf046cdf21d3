package main

import (
	"strings"
	"testing"

	"henro/cmd/config"
)

func TestHelpShowsCommandsAndPages(t *testing.T) {
	for _, c := range []struct{ arguments, has string }{
		{"help", "start.ja       はじめに"},
		{"help crawl", "henro crawl [DIR] SEED…"},
		{"help key new", "henro key new"},
		{"help start", "# First steps"},
		{"help flags", "`--fetch-timeout`"},
	} {
		out, err := command(t, strings.Fields(c.arguments)...)
		if err != nil || !strings.Contains(out, c.has) || strings.Contains(out, "<!--") {
			t.Errorf("henro %s: %v, %q is not in it:\n%.300s", c.arguments, err, c.has, out)
		}
	}
	if _, err := command(t, "help", "pilgrims"); config.Code(err) != config.ExitUsage {
		t.Errorf("help of nothing: %v", err)
	}
}
